"""The stubs say what the compiled core offers: the same names and the same parameters, both ways.

pybind11 writes each signature into the first lines of the docstring; the stubs are read as syntax
trees. Types are left to mypy.
"""

import ast
import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from feldspar import _core

Parameters = list[tuple[str, ...]]

SIGNATURE = re.compile(r"^(?:\d+\. )?(?P<name>\w+)\((?P<parameters>.*)\) -> ", re.MULTILINE)
# Members that pybind11 gives to every enumeration.
ENUM_MEMBERS = {"__init__", "name", "value"}


def stub_tree() -> ast.Module:
    package = importlib.util.find_spec("feldspar")
    assert package is not None
    assert package.origin is not None
    return ast.parse(Path(package.origin).with_name("_core.pyi").read_text("utf-8"))


def is_public(name: str) -> bool:
    return not name.startswith("_") or name == "__version__"


def is_own(name: str) -> bool:
    return name == "__init__" or not name.startswith("_")


def assigned_names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []


def is_alias(node: ast.stmt) -> bool:
    """Tell type aliases (`Array: TypeAlias = ...`) apart: they exist for the checker only."""
    return (
        isinstance(node, ast.AnnAssign)
        and isinstance(node.annotation, ast.Name)
        and node.annotation.id == "TypeAlias"
    )


def stub_names(body: list[ast.stmt]) -> set[str]:
    return {name for node in body if not is_alias(node) for name in assigned_names(node)}


def stub_classes() -> dict[str, ast.ClassDef]:
    return {node.name: node for node in stub_tree().body if isinstance(node, ast.ClassDef)}


def core_classes() -> dict[str, type]:
    return {
        name: item
        for name, item in vars(_core).items()
        if is_public(name) and isinstance(item, type)
    }


def stub_parameters(body: list[ast.stmt], name: str) -> Parameters:
    """Return the parameter names of each overload, `self` left out."""
    functions = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == name]
    return sorted(parameter_names(function) for function in functions)


def parameter_names(function: ast.FunctionDef) -> tuple[str, ...]:
    arguments = function.args
    names = [a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]
    return tuple(name for name in names if name not in {"self", "cls"})


def core_parameters(item: Any) -> Parameters:
    """Return the same as `stub_parameters`, from the signatures in a docstring of pybind11."""
    signatures = SIGNATURE.finditer(item.__doc__ or "")
    return sorted(
        split_parameters(match["parameters"])
        for match in signatures
        if match["parameters"] != "*args, **kwargs"
    )


def split_parameters(text: str) -> tuple[str, ...]:
    """Split at the commas outside brackets and strings and keep the names."""
    parts, depth, start, quote = [], 0, 0, ""
    for i, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    names = [re.split(r"[:=]", part, maxsplit=1)[0].strip() for part in parts]
    return tuple(name for name in names if name not in {"", "self", "*", "/"})


def test_module_names_agree() -> None:
    stub = {name for name in stub_names(stub_tree().body) if is_public(name)}
    core = {name for name in vars(_core) if is_public(name)}
    assert stub == core


def core_members(cls: type) -> set[str]:
    """Return what a bound class offers of its own."""
    members = {member for member in vars(cls) if is_own(member)}
    if hasattr(cls, "__members__"):
        return members - ENUM_MEMBERS
    if not core_parameters(cls.__init__):
        # Only functions of the core make such objects: the constructor is there, and refuses.
        return members - {"__init__"}
    return members


@pytest.mark.parametrize("name", sorted(core_classes()))
def test_class_members_agree(name: str) -> None:
    assert name in stub_classes(), f"{name} is not a class in the stubs"
    stub = {member for member in stub_names(stub_classes()[name].body) if is_own(member)}
    assert stub == core_members(core_classes()[name])


def functions() -> list[tuple[str, list[ast.stmt], Any]]:
    """Return every bound function and method with the stub statements it should be found in."""
    body = stub_tree().body
    found = [
        (name, body, item)
        for name, item in vars(_core).items()
        if is_public(name) and callable(item) and not isinstance(item, type)
    ]
    for class_name, cls in core_classes().items():
        members = stub_classes()[class_name].body if class_name in stub_classes() else []
        found += [
            (f"{class_name}.{name}", members, getattr(cls, name))
            for name in sorted(core_members(cls))
            if core_parameters(getattr(cls, name))
        ]
    return found


@pytest.mark.parametrize(
    ("name", "body", "item"), [pytest.param(*entry, id=entry[0]) for entry in functions()]
)
def test_parameters_agree(name: str, body: list[ast.stmt], item: Any) -> None:
    assert core_parameters(item), f"{name} has no signature in its docstring"
    assert stub_parameters(body, name.rpartition(".")[2]) == core_parameters(item)


def test_signatures_are_read_right() -> None:
    assert split_parameters("self: C, a: tuple[int, str], *, b: str = 'x,y'") == ("a", "b")
    assert split_parameters("") == ()
