"""Markov networks in feldspar's own format, ``.json``: complete, exact and readable.

::

    {
      "format": "feldspar-markov-network",
      "version": 1,
      "feldspar": "0.1.0",
      "schema": {...},
      "metadata": {...},
      "features": [
        {"weight": 0.25, "tests": [[0, 1], [3, [0, 2]]]},
        ...
      ]
    }

A test is a variable and a value, or a variable and a list of values, all by number; the schema has
their names and labels. Floats are written with as many digits as make them read back exactly.
``version`` counts changes that older programs cannot read; ``feldspar`` is the version of the
program that wrote the file, for people.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, TypeGuard

from feldspar import _core
from feldspar.io.files import Target, atomic_write, read_text, source_name
from feldspar.io.source import ModelFileError
from feldspar.io.terms import Term, Test
from feldspar.network import MarkovNetwork
from feldspar.schema import Label, Schema

__all__ = ["FORMAT", "VERSION", "format_native", "read_native", "write_native"]

FORMAT = "feldspar-markov-network"
VERSION = 1


def write_native(network: MarkovNetwork, path: Target) -> None:
    """Write a network with everything it knows to a ``.json`` file, whole or not at all.

    Parameters
    ----------
    network : MarkovNetwork
        What to write.
    path : str or Path
        The file; an old one is replaced.

    Raises
    ------
    ValueError
        If the metadata or the labels are not JSON: other types, or numbers that are not finite.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import feldspar as fs
    >>> from feldspar.io.native import read_native, write_native
    >>> network = fs.MarkovNetwork.from_terms(fs.Schema([2, 3]), [([(0, 1), (1, {0, 2})], 0.1)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.json")
    ...     write_native(network, path)
    ...     print(path.read_text().splitlines()[-3].strip())
    ...     read_native(path).weights.tolist()
    {"weight": 0.1, "tests": [[0, 1], [1, [0, 2]]]}
    [0.1]
    """
    atomic_write(path, format_native(network))


def format_native(network: MarkovNetwork) -> str:
    """Return the text of a ``.json`` file: one feature a line."""
    parts = {
        "format": _json("format", FORMAT),
        "version": _json("version", VERSION),
        "feldspar": _json("feldspar", _core.__version__),
        "schema": _entry_lines("schema", network.schema.to_dict()),
        "metadata": _entry_lines("metadata", network.metadata),
        "features": _feature_lines(network),
    }
    body = ",\n".join(f'  "{key}": {text}' for key, text in parts.items())
    return f"{{\n{body}\n}}\n"


def _json(part: str, value: object) -> str:
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{part} cannot be written as JSON: {error}") from None


def _entry_lines(part: str, entries: Mapping[str, object]) -> str:
    lines = [f"    {_json(part, key)}: {_json(part, value)}" for key, value in entries.items()]
    return "{\n" + ",\n".join(lines) + "\n  }" if lines else "{}"


def _feature_lines(network: MarkovNetwork) -> str:
    lines = [
        "    " + json.dumps({"weight": weight, "tests": [_json_test(test) for test in tests]})
        for tests, weight in zip(network.features, network.weights.tolist(), strict=True)
    ]
    return "[\n" + ",\n".join(lines) + "\n  ]" if lines else "[]"


def _json_test(test: Test) -> list[int | list[int]]:
    variable, admitted = test
    return [variable, admitted if isinstance(admitted, int) else sorted(admitted)]


def read_native(path: Target) -> MarkovNetwork:
    """Read a network from a ``.json`` file.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    MarkovNetwork
        Equal to what was written: schema with labels, features, weights, metadata.

    Raises
    ------
    ModelFileError
        If the file is not JSON (naming line and column), is something else than a network, comes
        from a newer version, or has a wrong entry (named like ``features[12].tests[0]``).

    Examples
    --------
    See `write_native`.
    """
    return _Document(source_name(path), read_text(path)).network()


class _Document:
    """A parsed file whose parts are checked as they are asked for; errors name the part."""

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._content = self._parse(text)
        self._check_format()
        self._schema = self._read_schema()
        self._cardinalities = self._schema.cardinalities

    def network(self) -> MarkovNetwork:
        features = self._part("features", list, "a list")
        terms = [self._term(f"features[{i}]", feature) for i, feature in enumerate(features)]
        metadata = self._part("metadata", dict, "an object")
        # A network takes values by label: a code might be the label of another value.
        labelled = [([self._labelled(test) for test in tests], weight) for tests, weight in terms]
        return MarkovNetwork.from_terms(self._schema, labelled, metadata=metadata)

    def _labelled(self, test: Test) -> tuple[int, Label | frozenset[Label]]:
        variable, admitted = test
        labels = self._schema.labels[variable]
        if isinstance(admitted, int):
            return variable, labels[admitted]
        return variable, frozenset(labels[value] for value in admitted)

    def _parse(self, text: str) -> Mapping[str, Any]:
        try:
            content = json.loads(text)
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            message = f"{self._name}, {place}: not JSON: {error.msg}"
            raise ModelFileError(message) from None
        except (ValueError, RecursionError) as error:  # numbers too long, lists nested too deeply
            raise self._error("the file", str(error)) from None
        if not isinstance(content, dict):
            raise self._wrong("the file", "an object", content)
        return content

    def _check_format(self) -> None:
        if (found := self._content.get("format")) != FORMAT:
            problem = f'not a feldspar network: expected "format": "{FORMAT}", got {found!r}'
            raise self._error("format", problem)
        version = self._content.get("version")
        if not _is_integer(version) or version < 1:
            raise self._wrong("version", "an integer of at least 1", version)
        if version > VERSION:
            writer = self._content.get("feldspar")
            raise self._error(
                "version",
                f"the file has version {version} of the format, written by feldspar {writer}; "
                f"this feldspar ({_core.__version__}) reads up to version {VERSION}: "
                "upgrade it",
            )

    def _read_schema(self) -> Schema:
        content = self._part("schema", dict, "an object")
        try:
            return Schema.from_dict(content)
        except (KeyError, TypeError, ValueError) as error:
            raise self._error("schema", str(error)) from error

    def _part(self, key: str, kind: type, expected: str) -> Any:
        if key not in self._content:
            raise self._error(key, f"missing, expected {expected}")
        if not isinstance(self._content[key], kind):
            raise self._wrong(key, expected, self._content[key])
        return self._content[key]

    def _term(self, place: str, feature: object) -> Term:
        if not isinstance(feature, dict) or feature.keys() != {"weight", "tests"}:
            raise self._wrong(place, 'an object with "weight" and "tests"', feature)
        weight = _finite_float(feature["weight"])
        if weight is None:
            raise self._wrong(f"{place}.weight", "a finite number", feature["weight"])
        return self._tests(f"{place}.tests", feature["tests"]), weight

    def _tests(self, place: str, tests: object) -> tuple[Test, ...]:
        if not isinstance(tests, list) or not tests:
            raise self._wrong(place, "a list of at least one test", tests)
        checked = tuple(self._test(f"{place}[{i}]", test) for i, test in enumerate(tests))
        if len({variable for variable, _ in checked}) < len(checked):
            raise self._wrong(place, "at most one test of each variable", tests)
        return checked

    def _test(self, place: str, test: object) -> Test:
        if not isinstance(test, list) or len(test) != 2:
            raise self._wrong(place, "[variable, value] or [variable, [values]]", test)
        variable = self._number(f"{place}[0]", "a variable", test[0], len(self._cardinalities))
        cardinality = self._cardinalities[variable]
        what = f"a value of variable {variable}"
        if not isinstance(test[1], list):
            return variable, self._number(f"{place}[1]", what, test[1], cardinality)
        values = frozenset(
            self._number(f"{place}[1][{i}]", what, value, cardinality)
            for i, value in enumerate(test[1])
        )
        if not 0 < len(values) < cardinality:
            raise self._wrong(f"{place}[1]", "some values of the variable, not all", test[1])
        return variable, values

    def _number(self, place: str, what: str, number: object, end: int) -> int:
        if not _is_integer(number) or not 0 <= number < end:
            raise self._wrong(place, f"{what}, an integer from 0 to {end - 1}", number)
        return number

    def _wrong(self, place: str, expected: str, got: object) -> ModelFileError:
        shown = json.dumps(got)
        if len(shown) > 60:
            shown = shown[:57] + "..."
        return self._error(place, f"expected {expected}, got {shown}")

    def _error(self, place: str, problem: str) -> ModelFileError:
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
