"""The folders of the C++ core form layers: includes point one way, and some doors exist only once.

The table is the one of docs/developer/tour.md. Only text is read; nothing has to be compiled.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
INCLUDE = ROOT / "cpp" / "include"
LIBRARY = INCLUDE / "feldspar"
UMBRELLA = "feldspar/feldspar.hpp"

NOUNS = {"base", "data", "feature", "model"}
MAY_INCLUDE = {
    "base": set(),
    "data": {"base"},
    "feature": {"base", "data"},
    "optim": {"base"},
    "model": {"base", "data", "feature"},
    "objective": {"base", "data", "feature", "optim"},
    "infer": NOUNS,
    "learn": NOUNS | {"optim", "objective", "infer"},
}
# An objective knows what the optimizers ask of it, and none of the optimizers.
OPTIM_FOR_OBJECTIVES = {"feldspar/optim/objective.hpp"}
# Third parties, by how the include starts.
THIRD_PARTY = {
    "Eigen/": {"optim", "objective", "infer", "learn"},
    "omp.h": {"base"},
    "unistd.h": {"base"},
}

INCLUDE_LINE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
OPENMP = re.compile(r"#\s*pragma\s+omp\b|#\s*include\s*[<\"]omp\.h|\bomp_\w+\s*\(")
PRINTING = re.compile(
    r"#\s*include\s*<(iostream|cstdio|stdio\.h|print)>|\bstd::(cout|cerr|clog|print|println)\b"
    r"|(?<!\w)f?printf\s*\(|\bputs\s*\(|\bpy::print\s*\("
)
PYTHON = re.compile(r"pybind11|\bPython\.h\b|\bPy[A-Z]\w+\s*\(|\bpy::")


class Include(NamedTuple):
    """One #include: where it stands and what it names."""

    file: Path
    line: int
    target: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}: includes <{self.target}>"


def headers() -> list[Path]:
    return sorted(LIBRARY.rglob("*.hpp"))


def sources(*folders: str) -> list[Path]:
    return sorted(
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".hpp", ".cpp", ".h"}
    )


def without_comments(path: Path) -> str:
    """Return the text with comments blanked out, line numbers unchanged."""
    return COMMENT.sub(lambda match: "\n" * match.group().count("\n"), path.read_text("utf-8"))


def places(path: Path, pattern: re.Pattern[str]) -> Iterator[str]:
    text = without_comments(path)
    for match in pattern.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield f"{path.relative_to(ROOT)}:{line}: {match.group().strip()}"


def includes_of(path: Path) -> list[Include]:
    text = without_comments(path)
    return [
        Include(path, text.count("\n", 0, match.start(1)) + 1, match.group(1))
        for match in INCLUDE_LINE.finditer(text)
    ]


def layer_of(header: Path) -> str:
    return header.relative_to(LIBRARY).parts[0]


def allowed(layer: str, target: str) -> bool:
    """Tell whether a header of `layer` may include `target`."""
    if target.startswith("feldspar/"):
        other = target.split("/")[1]
        if layer == "objective" and other == "optim":
            return target in OPTIM_FOR_OBJECTIVES
        return other == layer or other in MAY_INCLUDE[layer]
    for start, layers in THIRD_PARTY.items():
        if target.startswith(start):
            return layer in layers
    return is_standard(target)


def is_standard(target: str) -> bool:
    # Headers of the compilers' intrinsics count as the standard library: base/ wraps them.
    return "/" not in target and ("." not in target or target in {"immintrin.h", "intrin.h"})


def inner_headers() -> list[Path]:
    return [header for header in headers() if header != INCLUDE / UMBRELLA]


def test_there_are_headers_to_look_at() -> None:
    assert {"base", "data"} <= {layer_of(header) for header in inner_headers()}


def test_every_header_lives_in_a_layer() -> None:
    strays = [header for header in inner_headers() if layer_of(header) not in MAY_INCLUDE]
    assert not strays, f"not in one of the layers {sorted(MAY_INCLUDE)}: {strays}"


@pytest.mark.parametrize("header", inner_headers(), ids=lambda path: str(path.relative_to(LIBRARY)))
def test_includes_point_down(header: Path) -> None:
    layer = layer_of(header)
    wrong = [
        str(include)
        for include in includes_of(header)
        if include.target != UMBRELLA and not allowed(layer, include.target)
    ]
    assert not wrong, f"{layer}/ may include {sorted(MAY_INCLUDE[layer]) or 'nothing of ours'}"


def test_nobody_of_us_includes_the_umbrella() -> None:
    files = [*inner_headers(), *sources("bindings", "tests/cpp", "bench")]
    users = [str(i) for path in files for i in includes_of(path) if i.target == UMBRELLA]
    assert not users


def test_umbrella_includes_every_header() -> None:
    included = {include.target for include in includes_of(INCLUDE / UMBRELLA)}
    assert included == {header.relative_to(INCLUDE).as_posix() for header in inner_headers()}


def test_our_own_headers_are_included_by_full_name() -> None:
    relative = [
        str(include)
        for header in headers()
        for include in includes_of(header)
        if (header.parent / include.target).is_file()
    ]
    assert not relative


def test_headers_have_an_include_guard() -> None:
    assert not [str(path) for path in headers() if "#pragma once" not in path.read_text("utf-8")]


def test_openmp_has_one_door() -> None:
    door = LIBRARY / "base" / "parallel.hpp"
    assert list(places(door, OPENMP)), "the pattern no longer finds OpenMP where it is"
    others = (path for path in sources("cpp", "bindings") if path != door)
    assert not [place for path in others for place in places(path, OPENMP)]


def test_python_stays_in_the_bindings() -> None:
    assert list(places(ROOT / "bindings" / "bindings.hpp", PYTHON))
    assert not [place for path in sources("cpp") for place in places(path, PYTHON)]


def test_pybind11_comes_through_bindings_hpp() -> None:
    door = ROOT / "bindings" / "bindings.hpp"
    includes = (i for path in sources("bindings") if path != door for i in includes_of(path))
    assert not [str(include) for include in includes if include.target.startswith("pybind11/")]


def test_the_core_never_prints() -> None:
    assert not [place for path in sources("cpp", "bindings") for place in places(path, PRINTING)]


@pytest.mark.parametrize(
    ("layer", "target", "expected"),
    [
        ("base", "vector", True),
        ("base", "feldspar/base/types.hpp", True),
        ("base", "feldspar/data/schema.hpp", False),
        ("base", "Eigen/Core", False),
        ("optim", "Eigen/Core", True),
        ("optim", "feldspar/feature/feature_set.hpp", False),
        ("objective", "feldspar/optim/objective.hpp", True),
        ("objective", "feldspar/optim/lbfgs.hpp", False),
        ("model", "feldspar/learn/fit_weights.hpp", False),
        ("learn", "feldspar/infer/gibbs.hpp", True),
        ("learn", "feldspar/evaluate/scores.hpp", False),
        ("data", "boost/any.hpp", False),
        ("data", "stdio.h", False),
    ],
)
def test_the_table_itself(layer: str, target: str, expected: bool) -> None:
    assert allowed(layer, target) is expected


@pytest.mark.parametrize(
    "line",
    [
        "#include <iostream>",
        "  std::cout << 1;",
        'std::printf("x");',
        'fprintf(stderr, "x");',
        'py::print("x");',
    ],
)
def test_printing_is_recognised(line: str) -> None:
    assert PRINTING.search(line)


@pytest.mark.parametrize("line", ["std::snprintf(buffer, 8, format);", "blueprint(x);"])
def test_formatting_is_not_printing(line: str) -> None:
    assert not PRINTING.search(line)
