"""The common frame of feldspar's own files, ``.json``: what they have in front, and how they fail.

A document is an object with ``format``, ``version``, ``feldspar`` (the version of the program that
wrote it, for people), ``schema``, ``metadata`` and what the format adds, long lists one entry a
line. Floats are written with as many digits as make them read back exactly.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from feldspar import _core
from feldspar.io.source import ModelFileError
from feldspar.io.terms import Term, Test
from feldspar.schema import Schema

__all__ = ["Document", "document_text", "json_text", "line_list", "term_text"]


# For files that are given to the wrong one.
_READERS = {
    "feldspar-dependency-network": "feldspar.DependencyNetwork.load",
    "feldspar-markov-network": "feldspar.MarkovNetwork.load",
}


def document_text(
    format: str,
    version: int,
    schema: Schema,
    metadata: Mapping[str, object],
    parts: Mapping[str, str],
) -> str:
    """Return the text of a file; ``parts`` are JSON already.

    Raises
    ------
    ValueError
        If metadata or labels are not JSON: other types, or numbers that are not finite.
    """
    texts = {
        "format": json_text("format", format),
        "version": json_text("version", version),
        "feldspar": json_text("feldspar", _core.__version__),
        "schema": _entry_lines("schema", schema.to_dict()),
        "metadata": _entry_lines("metadata", metadata),
        **parts,
    }
    body = ",\n".join(f'  "{key}": {text}' for key, text in texts.items())
    return f"{{\n{body}\n}}\n"


def json_text(part: str, value: object) -> str:
    """Return a value as JSON; an error names the part of the file that it was to become."""
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{part} cannot be written as JSON: {error}") from None


def line_list(texts: Iterable[str], indent: str = "  ") -> str:
    """Return a list of JSON texts, each on a line of its own."""
    lines = [f"{indent}  {text}" for text in texts]
    return "[\n" + ",\n".join(lines) + f"\n{indent}]" if lines else "[]"


def term_text(tests: Iterable[Test], weight: float) -> str:
    """Return a weighted conjunction: ``{"weight": 0.5, "tests": [[0, 1], [3, [0, 2]]]}``."""
    return json.dumps({"weight": weight, "tests": [_plain_test(test) for test in tests]})


def _entry_lines(part: str, entries: Mapping[str, object]) -> str:
    lines = [
        f"    {json_text(part, key)}: {json_text(part, value)}" for key, value in entries.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n  }" if lines else "{}"


def _plain_test(test: Test) -> list[int | list[int]]:
    variable, admitted = test
    return [variable, admitted if isinstance(admitted, int) else sorted(admitted)]


class Document:
    """A parsed file whose parts are checked as they are asked for; errors name the part.

    Parameters
    ----------
    name : str
        What errors call the file, usually the path.
    text : str
        The whole file.
    format : str
        What the file must say that it is.
    version : int
        The latest version of the format that is known.
    """

    def __init__(self, name: str, text: str, *, format: str, version: int) -> None:
        self._name = name
        self._content = self._parse(text)
        self._check_format(format, version)
        self.schema = self._read_schema()
        self._cardinalities = self.schema.cardinalities

    def _parse(self, text: str) -> Mapping[str, Any]:
        try:
            content = json.loads(text)
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            message = f"{self._name}, {place}: not JSON: {error.msg}"
            raise ModelFileError(message) from None
        except (ValueError, RecursionError) as error:  # numbers too long, lists nested too deeply
            raise self.error("the file", str(error)) from None
        if not isinstance(content, dict):
            raise self.wrong("the file", "an object", content)
        return content

    def _check_format(self, format: str, latest: int) -> None:
        if (found := self._content.get("format")) != format:
            problem = f'not a feldspar network: expected "format": "{format}", got {found!r}'
            if isinstance(found, str) and found in _READERS:
                problem = f"expected {format!r}, got {found!r}, which {_READERS[found]} reads"
            raise self.error("format", problem)
        version = self._content.get("version")
        if not _is_integer(version) or version < 1:
            raise self.wrong("version", "an integer of at least 1", version)
        if version > latest:
            writer = self._content.get("feldspar")
            raise self.error(
                "version",
                f"the file has version {version} of the format, written by feldspar {writer}; "
                f"this feldspar ({_core.__version__}) reads up to version {latest}: "
                "upgrade it",
            )

    def _read_schema(self) -> Schema:
        content = self.part("schema", dict, "an object")
        try:
            return Schema.from_dict(content)
        except (KeyError, TypeError, ValueError) as error:
            raise self.error("schema", str(error)) from error

    def part(self, key: str, kind: type | tuple[type, ...], expected: str) -> Any:
        """Return an entry of the file; ``expected`` is what to call its type."""
        if key not in self._content:
            raise self.error(key, f"missing, expected {expected}")
        if not isinstance(self._content[key], kind):
            raise self.wrong(key, expected, self._content[key])
        return self._content[key]

    def terms(self, place: str, features: Sequence[object]) -> list[Term]:
        """Return weighted conjunctions in the form that `term_text` writes."""
        return [self._term(f"{place}[{i}]", feature) for i, feature in enumerate(features)]

    def _term(self, place: str, feature: object) -> Term:
        if not isinstance(feature, dict) or feature.keys() != {"weight", "tests"}:
            raise self.wrong(place, 'an object with "weight" and "tests"', feature)
        weight = self.finite(f"{place}.weight", feature["weight"])
        return self._tests(f"{place}.tests", feature["tests"]), weight

    def finite(self, place: str, number: object) -> float:
        """Return a number as a float."""
        value = _finite_float(number)
        if value is None:
            raise self.wrong(place, "a finite number", number)
        return value

    def _tests(self, place: str, tests: object) -> tuple[Test, ...]:
        if not isinstance(tests, list) or not tests:
            raise self.wrong(place, "a list of at least one test", tests)
        checked = tuple(self._test(f"{place}[{i}]", test) for i, test in enumerate(tests))
        if len({variable for variable, _ in checked}) < len(checked):
            raise self.wrong(place, "at most one test of each variable", tests)
        return checked

    def _test(self, place: str, test: object) -> Test:
        if not isinstance(test, list) or len(test) != 2:
            raise self.wrong(place, "[variable, value] or [variable, [values]]", test)
        variable = self.number(f"{place}[0]", "a variable", test[0], len(self._cardinalities))
        cardinality = self._cardinalities[variable]
        what = f"a value of variable {variable}"
        if not isinstance(test[1], list):
            return variable, self.number(f"{place}[1]", what, test[1], cardinality)
        values = frozenset(
            self.number(f"{place}[1][{i}]", what, value, cardinality)
            for i, value in enumerate(test[1])
        )
        if not 0 < len(values) < cardinality:
            raise self.wrong(f"{place}[1]", "some values of the variable, not all", test[1])
        return variable, values

    def number(self, place: str, what: str, number: object, end: int) -> int:
        """Return an integer from 0 to ``end - 1``."""
        if not _is_integer(number) or not 0 <= number < end:
            raise self.wrong(place, f"{what}, an integer from 0 to {end - 1}", number)
        return number

    def wrong(self, place: str, expected: str, got: object) -> ModelFileError:
        """Return an error that says what was expected in a place and what stands there."""
        shown = json.dumps(got)
        if len(shown) > 60:
            shown = shown[:57] + "..."
        return self.error(place, f"expected {expected}, got {shown}")

    def error(self, place: str, problem: str) -> ModelFileError:
        """Return an error that names a place of the file."""
        return ModelFileError(f"{self._name}, {place}: {problem}")


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _finite_float(value: object) -> float | None:
    """Return a JSON number as a float, or None if it is none or does not fit."""
    if not isinstance(value, float) and not _is_integer(value):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
