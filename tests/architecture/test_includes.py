"""Every header includes what it uses.

Of the standard library and Eigen it includes that itself, and nothing else; of ours, itself or by
what it includes. The compiler would see the latter, too (``feldspar_headers_alone``, a part of
``make test`` but not of its build under the sanitizers); here it takes a second.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "cpp" / "include"
HEADERS = sorted(ROOT.rglob("*.hpp"))

# What the code base uses of each standard header. A new name is added where cppreference has it.
NAMES = {
    "algorithm": """adjacent_find all_of any_of binary_search clamp copy copy_n count equal fill
        fill_n find find_if is_sorted lower_bound max max_element merge min minmax mismatch none_of
        nth_element partial_sort replace set_intersection sort stable_sort transform unique
        upper_bound""",
    "array": "array",
    "atomic": "atomic memory_order_acquire memory_order_relaxed memory_order_release",
    "bit": "bit_cast bit_ceil bit_width countr_zero endian popcount rotl",
    "charconv": "from_chars",
    "chrono": "chrono",
    "cmath": """abs ceil copysign exp expm1 floor frexp ilogb isfinite isinf isnan ldexp lgamma log
        log10 log1p nearbyint pow sqrt tanh""",
    "concepts": "convertible_to same_as unsigned_integral",
    "condition_variable": "condition_variable",
    "cstddef": "ptrdiff_t size_t",
    "cstdint": "int32_t int64_t uint16_t uint32_t uint64_t uint8_t",
    "cstdlib": "getenv",
    "cstring": "memcpy",
    "exception": "current_exception exception exception_ptr rethrow_exception",
    "functional": "function greater",
    "iterator": "back_inserter",
    "limits": "numeric_limits",
    "locale": "locale",
    "map": "map",
    "memory": "make_shared make_unique shared_ptr unique_ptr",
    "mutex": "call_once lock_guard mutex once_flag try_to_lock unique_lock",
    "new": "align_val_t",
    "numeric": "accumulate iota partial_sum",
    "optional": "nullopt optional",
    "ranges": "views",
    "set": "set",
    "span": "span",
    "sstream": "istringstream ostringstream",
    "stdexcept": "invalid_argument runtime_error",
    "string": "string",
    "string_view": "string_view",
    "system_error": "errc system_error",
    "thread": "this_thread thread",
    "tuple": "tie tuple",
    "type_traits": "bool_constant conditional_t false_type integral_constant is_same_v true_type",
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_set",
    "utility": "as_const exchange move pair swap",
    "variant": "get_if variant visit",
    "vector": "vector",
}
# In every header that has something to do with them.
ANYWHERE = {"erase", "erase_if", "get", "ranges"}

HOME = {name: header for header, names in NAMES.items() for name in names.split()}


def code_of(path: Path) -> str:
    """Return a header without comments and texts."""
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r'"(?:\\.|[^"\\])*"', '""', code)


def used(code: str) -> set[str]:
    """Return the standard names in it; of ``std::ranges`` what follows."""
    return set(re.findall(r"\bstd::(?:ranges::)?(\w+)", code))


@pytest.mark.parametrize("path", HEADERS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_standard_headers(path: Path) -> None:
    code = code_of(path)
    names = used(code)
    unknown = sorted(names - HOME.keys() - ANYWHERE)
    assert not unknown, f"not in NAMES: {unknown}"
    included = set(re.findall(r"#include <([a-z_]+)>", code))
    needed = {HOME[name] for name in names - ANYWHERE}
    assert not needed - included, f"does not include {sorted(needed - included)}"
    idle = (included & NAMES.keys()) - needed
    assert not idle, f"includes {sorted(idle)} and uses nothing of it"
    assert ("Eigen::" in code) == ("#include <Eigen/" in code)


# Namespaces are not indented: what begins in the first column is at their level.
TYPE = re.compile(
    r"^(?:class|struct|enum class|concept|using|typedef [^;]*?|(?:inline )?constexpr [\w:<>]+)"
    r" ((?:[A-Z]|k[A-Z])\w*)\b(?!;)",
    re.MULTILINE,
)
FUNCTION = re.compile(r"^(?!#|using|namespace)(?:[\w:<>&*,\[\]]+ )+[&*]?([a-z]\w*)\(", re.MULTILINE)
# What a header may call so without meaning a function of another.
OWN_TYPE = re.compile(
    r"\b(?:class|class\.\.\.|struct|enum class|using|typename) (\w+)|\b(k[A-Z]\w*)[ \[]"
)
OWN_FUNCTION = re.compile(
    r"^ +(?:[\w:<>&*,\[\]]+ )+[&*]?(\w+)\(|\bauto (\w+) =|&+ (\w+)[,)]", re.MULTILINE
)
# Members that are called like functions, and a compiler's word.
NOT_FUNCTIONS = {"condition", "log_potentials", "__attribute__"}

CODE = {path: code_of(path) for path in HEADERS}
INCLUDES = {
    path: {ROOT / name for name in re.findall(r"#include <(feldspar/[^>]+)>", code)}
    for path, code in CODE.items()
}
DEFINED = defaultdict(set)
for _path, _code in CODE.items():
    for _name in TYPE.findall(_code) + FUNCTION.findall(_code):
        DEFINED[_name].add(_path)


@cache
def reached(path: Path) -> frozenset[Path]:
    """Return a header and all that comes with it."""
    return frozenset({path}.union(*(reached(other) for other in INCLUDES[path])))


@pytest.mark.parametrize("path", HEADERS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_our_headers(path: Path) -> None:
    code = CODE[path]
    own = {
        name
        for pattern in (OWN_TYPE, OWN_FUNCTION)
        for found in pattern.findall(code)
        for name in found
    }
    types = re.findall(r"(?<![\w.])(?<!->)((?:[A-Z]|k[A-Z])\w*)", code)
    calls = re.findall(r"(?<![\w.:>])(?:detail::)?([a-z]\w*)\(", code)
    for name in {*types, *calls} - own - NOT_FUNCTIONS:
        homes = DEFINED.get(name)
        assert not homes or homes & reached(path), (
            f"uses {name} and includes none of {sorted(home.name for home in homes)}"
        )


def test_names_are_found() -> None:
    assert DEFINED["PseudoLikelihood"] == {ROOT / "feldspar/objective/pseudo_likelihood.hpp"}
    assert DEFINED["for_each_bit"] == {ROOT / "feldspar/base/bits.hpp"}
    assert DEFINED["kLanes"] == {ROOT / "feldspar/objective/logistic.hpp"}
    assert len(DEFINED) > 600
