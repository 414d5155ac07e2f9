"""Conjunctive features and sets of them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from feldspar import _core
from feldspar._arrays import MISSING
from feldspar._identifiers import warn_of_identifiers
from feldspar.schema import Label, Schema, listing
from feldspar.table import Table

if TYPE_CHECKING:
    from typing import Self

# What the core says instead of a feature's number.
ALWAYS_TRUE, NEVER_TRUE = -1, -2

# The core counts iterations and lengths in 32 bits.
_LARGEST_INTEGER = 2**31 - 1
_FILL_GAPS = "impute fills gaps"

# A test as users write it: variable by name or index, value by label or code, or a set of values.
Test: TypeAlias = tuple["str | int", "Label | set[Any] | frozenset[Any]"]
Conjunction: TypeAlias = Iterable[Test]


class CodedTest(tuple[int, "int | frozenset[int]"]):
    """A test as feldspar returns it: codes, and a set only where several values are admitted.

    It is a plain pair, but remembers that it speaks of codes: integers that users write may be
    labels, and under a schema with labels like ``(1, 0)`` the two must not be confused.
    """

    __slots__ = ()


Feature: TypeAlias = tuple[CodedTest, ...]


class FeatureSet(Sequence[Feature]):
    """Distinct conjunctive features over the variables of a schema, in the order they came.

    A feature holds on a row if all of its tests do, and a test holds if its variable has the value,
    or one of the values, that it names. Whichever way a feature was written, it has one form: at
    most one test per variable (several are intersected), in the order of the schema. A feature that
    came before is not kept again.

    Parameters
    ----------
    schema : Schema
        The variables.
    conjunctions : iterable of conjunctions
        Each an iterable of ``(variable, value)`` pairs: variable by name or index, value by label
        or code, or a ``set`` of them. An integer is a label where the variable has integer labels,
        else a code; in features that a feature set returned it is the code, whatever the labels.

    Examples
    --------
    >>> schema = Schema([2, 3], names=["rain", "wind"], labels=[None, ["calm", "breeze", "gale"]])
    >>> features = FeatureSet(schema, [[("rain", 1)], [("wind", {"breeze", "gale"}), ("rain", 1)]])
    >>> features[1]
    ((0, 1), (1, frozenset({1, 2})))
    >>> print(features.describe(1))
    rain=1 & wind in {breeze, gale}
    """

    def __init__(self, schema: Schema, conjunctions: Iterable[Conjunction] = ()) -> None:
        flat = _flat_conjunctions(schema, conjunctions)
        core, numbers = _core.FeatureSet.build(list(schema.cardinalities), *flat)
        _refuse_constants(schema, flat, numbers)
        self._fill(schema, core)

    def _fill(self, schema: Schema, core: _core.FeatureSet) -> None:
        self._schema = schema
        self._core = core

    @classmethod
    def _of_core(cls, schema: Schema, core: _core.FeatureSet) -> Self:
        features = cls.__new__(cls)
        features._fill(schema, core)
        return features

    @classmethod
    def conjunctions(
        cls,
        X: object,
        *,
        order: int = 2,
        min_support: float = 0.0,
        supported_from: int = 1,
    ) -> Self:
        """All conjunctions of non-zero values of up to ``order`` variables.

        For binary data these are ``X_i = 1``, ``X_i = 1 & X_j = 1`` and so on: the features of an
        Ising model for ``order=2``.

        Parameters
        ----------
        X : table, frame or array
            The data; it gives the schema and the support.
        order : int
            Most variables in a feature.
        min_support : float
            Least number (or weight) of examples on which a feature must hold.
        supported_from : int
            Shortest length to which ``min_support`` applies.

        Examples
        --------
        >>> len(FeatureSet.conjunctions([[0, 1, 1], [1, 1, 0], [0, 0, 1]], order=2))
        6
        """
        longest = core_int("order", order)
        shortest = core_int("supported_from", supported_from)
        support = core_float("min_support", min_support)
        table = Table.of(X)
        warn_of_identifiers(table)
        core = _core.FeatureSet.conjunctions(core_dataset(table), longest, support, shortest)
        return cls._of_core(table.schema, core)

    @property
    def schema(self) -> Schema:
        """The variables."""
        return self._schema

    def __len__(self) -> int:
        """Return the number of features."""
        return len(self._core)

    @overload
    def __getitem__(self, index: int) -> Feature: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Feature, ...]: ...
    def __getitem__(self, index: int | slice) -> Feature | tuple[Feature, ...]:
        """Return one feature, or a tuple of them, as tuples of ``(variable, value or set)``."""
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        _, variables, value_begin, values = self._flat
        return tuple(
            CodedTest((variables[t], _admitted(values[value_begin[t] : value_begin[t + 1]])))
            for t in self._tests(index)
        )

    def _tests(self, index: int) -> range:
        """Return where a feature's tests are in the flat arrays."""
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(f"feature {index} does not exist; there are {len(self)}")
        begin = self._flat[0]
        return range(begin[position], begin[position + 1])

    def __iter__(self) -> Iterator[Feature]:
        """Iterate over the features."""
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        """Tell whether both hold the same features in the same order over the same schema."""
        if not isinstance(other, FeatureSet):
            return NotImplemented
        return self.schema == other.schema and self._flat == other._flat

    __hash__ = None  # type: ignore[assignment]

    def __or__(self, other: FeatureSet) -> FeatureSet:
        """Return the union: these features, then those of ``other`` that are new."""
        if not isinstance(other, FeatureSet):
            return NotImplemented
        if self.schema != other.schema:
            raise ValueError(
                f"the feature sets have different schemas: {self.schema!r} and {other.schema!r}; "
                "expected the same variables with the same values"
            )
        flat = _concatenate(self._core.flatten(), other._core.flatten())
        core, _ = _core.FeatureSet.build(list(self.schema.cardinalities), *flat)
        return FeatureSet._of_core(self.schema, core)

    def select(self, which: npt.ArrayLike) -> FeatureSet:
        """Return some of the features, in their order.

        Parameters
        ----------
        which : array of bool
            One for each feature.

        Examples
        --------
        >>> features = FeatureSet.conjunctions([[0, 1], [1, 1]], order=2)
        >>> features.select(features.lengths > 1)[0]
        ((0, 1), (1, 1))
        """
        mask = np.asarray(which)
        if mask.dtype != np.bool_ or mask.shape != (len(self),):
            raise ValueError(
                f"which: expected {len(self)} booleans, one per feature, got {mask.dtype} of shape "
                f"{mask.shape}"
            )
        flat = _selected(self._core.flatten(), mask)
        core, _ = _core.FeatureSet.build(list(self.schema.cardinalities), *flat)
        return FeatureSet._of_core(self.schema, core)

    def positions(self, other: FeatureSet) -> npt.NDArray[np.int64]:
        """Return where each feature of ``other`` is in this set, -1 where it is not.

        Examples
        --------
        >>> atoms = FeatureSet.conjunctions([[0, 1], [1, 1]], order=1)
        >>> FeatureSet.conjunctions([[0, 1], [1, 1]], order=2).positions(atoms).tolist()
        [0, 1]
        >>> atoms.positions(FeatureSet(atoms.schema, [[(0, 1), (1, 1)], [(1, 1)]])).tolist()
        [-1, 1]
        """
        flat = _concatenate(self._core.flatten(), other._core.flatten())
        _, numbers = _core.FeatureSet.build(list(self.schema.cardinalities), *flat)
        places = numbers[len(self) :].astype(np.int64)
        places[places >= len(self)] = -1
        return places

    def __repr__(self) -> str:
        """Return the number of features and of variables."""
        longest = int(self.lengths.max(initial=0))
        return (
            f"FeatureSet({len(self)} features of up to {longest} of {len(self.schema)} variables)"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return plain parts: the compiled set is rebuilt from them."""
        return {"schema": self.schema, "flat": self._core.flatten()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Rebuild the compiled set."""
        core, _ = _core.FeatureSet.build(list(state["schema"].cardinalities), *state["flat"])
        self._fill(state["schema"], core)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of tests of each feature."""
        begin = np.asarray(self._flat[0], dtype=np.int64)
        return begin[1:] - begin[:-1]

    def variables(self, index: int) -> tuple[int, ...]:
        """Return the variables that a feature tests."""
        variables = self._flat[1]
        return tuple(variables[t] for t in self._tests(index))

    def describe(self, index: int) -> str:
        """Return a feature in words, with names and labels."""
        return " & ".join(self._describe_test(v, value) for v, value in self[index])

    def _describe_test(self, variable: int, value: int | frozenset[int]) -> str:
        name, labels = self.schema.names[variable], self.schema.labels[variable]
        if isinstance(value, int):
            return f"{name}={labels[value]}"
        return f"{name} in {{{', '.join(str(labels[code]) for code in sorted(value))}}}"

    def _admits(self, tests: npt.NDArray[np.int64], cardinality: int) -> npt.NDArray[np.bool_]:
        """Return, for tests of a variable given by their places, which values each admits."""
        values, owner = self._values_of(tests)
        admitted = np.zeros((len(tests), cardinality), dtype=bool)
        admitted[owner, values] = True
        return admitted

    def _holds(
        self, tests: npt.NDArray[np.int64], codes: npt.NDArray[np.integer[Any]]
    ) -> npt.NDArray[np.bool_]:
        """Return which tests, given by their places, hold on a row of codes."""
        _, variables, _, _ = self._arrays
        values, owner = self._values_of(tests)
        holds = np.zeros(len(tests), dtype=bool)
        holds[owner[values == codes[variables[tests]][owner]]] = True
        return holds

    def _values_of(
        self, tests: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.int64]]:
        """Return the values that tests admit, one after the other, and whose each is."""
        _, _, value_begin, values = self._arrays
        first, counts = value_begin[tests], value_begin[tests + 1] - value_begin[tests]
        owner = np.repeat(np.arange(len(tests)), counts)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        return values[first[owner] + within], owner

    @cached_property
    def _arrays(self) -> _core.FlatConjunctions:
        return self._core.flatten()

    @cached_property
    def _flat(self) -> tuple[list[int], list[int], list[int], list[int]]:
        begin, variables, value_begin, values = self._arrays
        return begin.tolist(), variables.tolist(), value_begin.tolist(), values.tolist()


def core_dataset(table: Table) -> _core.Dataset:
    """Return the compiled data set of a table; missing entries are refused by name."""
    return _core.Dataset.merge(
        list(table.schema.cardinalities),
        # What fills gaps is a network, which there may not be yet.
        core_codes(table, hint="leave out those with gaps"),
        np.ascontiguousarray(table.weights, dtype=np.float64) if table.has_weights else None,
    )


def core_codes(table: Table, *, hint: str = _FILL_GAPS) -> npt.NDArray[np.int32]:
    """Return a table's codes for the core; missing entries are refused by name."""
    refuse_missing(table, hint=hint)
    return table.codes.astype(np.int32)


def refuse_missing(table: Table, *, hint: str = _FILL_GAPS) -> None:
    """Raise ``ValueError`` where entries are missing, naming the first and the columns."""
    if not table.has_missing:
        return
    missing = table.codes == MISSING
    row, column = (int(i) for i in np.argwhere(missing)[0])
    columns = [table.schema.names[v] for v in np.flatnonzero(missing.any(axis=0))]
    noun = "column" if len(columns) == 1 else "columns"
    raise ValueError(
        f"missing values in {len(columns)} {noun} ({', '.join(columns[:5])}"
        f"{', ...' if len(columns) > 5 else ''}), first in row {row}, "
        f"column {table.schema.names[column]!r}; expected complete rows ({hint})"
    )


def core_int(name: str, value: SupportsIndex) -> int:
    """Return a parameter that must be a whole number, as the core takes it."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected an integer, got {value!r}") from None
    if abs(number) > _LARGEST_INTEGER:
        raise ValueError(f"{name}: expected an integer of 32 bits, got {number}")
    return number


def core_float(name: str, value: object) -> float:
    """Return a parameter that must be a number, as the core takes it."""
    if not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name}: expected a number, got {value!r}")
    return float(value)


def core_word(name: str, value: object) -> str:
    """Return a parameter that must be one of the core's words, which it checks."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a word, got {value!r}")
    return value


def build(
    schema: Schema, conjunctions: Iterable[Conjunction]
) -> tuple[_core.FeatureSet, npt.NDArray[np.int64]]:
    """Return the compiled set and, per conjunction, its feature's number.

    `ALWAYS_TRUE` or `NEVER_TRUE` stands in the place of a number where there is no such feature.
    """
    flat = _flat_conjunctions(schema, conjunctions)
    return _core.FeatureSet.build(list(schema.cardinalities), *flat)


def _refuse_constants(
    schema: Schema, flat: _core.FlatConjunctions, numbers: npt.NDArray[np.int64]
) -> None:
    useless = np.flatnonzero(numbers < 0)
    if not useless.size:
        return
    place = int(useless[0])
    begin, variables, _, _ = flat
    tested = [schema.names[v] for v in np.unique(variables[begin[place] : begin[place + 1]])]
    what = "always true" if numbers[place] == ALWAYS_TRUE else "never true"
    why = f"whatever the value of {listing(tested)}" if tested else "since it tests nothing"
    raise ValueError(
        f"features[{place}] is {what} {why}; expected a conjunction that some examples could "
        "fulfil and others not"
    )


def _flat_conjunctions(
    schema: Schema, conjunctions: Iterable[Conjunction]
) -> _core.FlatConjunctions:
    flat = FlatTests(schema)
    for place, conjunction in enumerate(_checked_conjunctions(conjunctions)):
        try:
            flat.append(conjunction)
        except (TypeError, ValueError) as error:
            raise type(error)(f"features[{place}]: {error}") from error
    return flat.arrays()


def _checked_conjunctions(conjunctions: Iterable[Conjunction]) -> Iterable[Conjunction]:
    given: object = conjunctions
    if isinstance(given, Iterable):
        return conjunctions
    got = f"{given!r:.60}"
    if hasattr(given, "features"):  # most likely a network
        got = f"a {type(given).__name__}: pass its .features"
    raise TypeError(f"features: expected a FeatureSet or conjunctions, got {got}")


class FlatTests:
    """Conjunctions on their way into the flat arrays of the core."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._begin = [0]
        self._variables: list[int] = []
        self._value_begin = [0]
        self._values: list[int] = []

    def append(self, conjunction: Conjunction) -> None:
        """Add a conjunction as users write it."""
        for test in _iterated(conjunction):
            variable, value = _pair(test)
            position = self._position(variable)
            members = value if isinstance(value, set | frozenset) else (value,)
            read = self._checked if isinstance(test, CodedTest) else self._code
            self._values.extend(read(position, member) for member in members)
            self._variables.append(position)
            self._value_begin.append(len(self._values))
        self._begin.append(len(self._variables))

    def _position(self, variable: str | int) -> int:
        # Plain indexes are most of what comes in bulk; everything else goes the explaining way.
        if type(variable) is int and 0 <= variable < len(self._schema):
            return variable
        return self._schema.index(variable)

    def _code(self, position: int, value: Label) -> int:
        try:
            code = self._schema.codes_of_labels[position].get(value)
        except TypeError:
            raise TypeError(
                f"variable {self._schema.names[position]!r}: expected a value or a set of values, "
                f"got {value!r}"
            ) from None
        return self._schema.code(position, value) if code is None else code

    def _checked(self, position: int, code: int) -> int:
        """Return a code; the feature may have been made under another schema."""
        self._schema.label(position, code)
        return code

    def arrays(self) -> _core.FlatConjunctions:
        """Return what was added."""
        return (
            np.asarray(self._begin, dtype=np.int64),
            np.asarray(self._variables, dtype=np.uint32),
            np.asarray(self._value_begin, dtype=np.int64),
            np.asarray(self._values, dtype=np.uint16),
        )


def _iterated(conjunction: object) -> Iterator[object]:
    if isinstance(conjunction, str) or not isinstance(conjunction, Iterable):
        raise TypeError(f"expected a sequence of (variable, value) pairs, got {conjunction!r}")
    return iter(conjunction)


def _pair(test: Any) -> tuple[Any, Any]:
    try:
        variable, value = test
    except (TypeError, ValueError):
        raise TypeError(f"expected a (variable, value) pair, got {test!r}") from None
    return variable, value


def _concatenate(
    first: _core.FlatConjunctions, second: _core.FlatConjunctions
) -> _core.FlatConjunctions:
    begin, variables, value_begin, values = first
    more_begin, more_variables, more_value_begin, more_values = second
    return (
        np.concatenate([begin, begin[-1] + more_begin[1:]]),
        np.concatenate([variables, more_variables]),
        np.concatenate([value_begin, value_begin[-1] + more_value_begin[1:]]),
        np.concatenate([values, more_values]),
    )


def _selected(flat: _core.FlatConjunctions, mask: npt.NDArray[np.bool_]) -> _core.FlatConjunctions:
    """Return the conjunctions of a mask."""
    begin, variables, value_begin, values = flat
    lengths, sizes = np.diff(begin), np.diff(value_begin)
    tests = np.repeat(mask, lengths)
    return (
        np.concatenate([[0], np.cumsum(lengths[mask])]).astype(begin.dtype),
        variables[tests],
        np.concatenate([[0], np.cumsum(sizes[tests])]).astype(value_begin.dtype),
        values[np.repeat(tests, sizes)],
    )


def _admitted(values: list[int]) -> int | frozenset[int]:
    return values[0] if len(values) == 1 else frozenset(values)
