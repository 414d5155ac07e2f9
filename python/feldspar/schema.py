"""What the variables of a data set are called and which values they take."""

from __future__ import annotations

import datetime
import difflib
from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, TypeGuard

import numpy as np

Label: TypeAlias = Hashable
Labels: TypeAlias = tuple[Label, ...]

MAX_CARDINALITY = 65535
_LISTED = 10
# Those of pandas (Timestamp, Timedelta) are among them.
_TIMES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
_MIDNIGHT = " 00:00:00"


@dataclass(frozen=True, init=False, repr=False)
class Schema:
    """Names, numbers of values and value labels of the variables, in their order.

    Values are coded 0 ... cardinality - 1; a label is what the user calls a code. A schema is
    immutable and hashable: equal schemas describe the same variables.

    Parameters
    ----------
    cardinalities : iterable of int
        How many values each variable has, 1 ... 65535.
    names : iterable of str, optional
        Distinct names; ``v0``, ``v1``, ... if left out.
    labels : iterable of iterables of hashables, optional
        The labels of each variable's codes, in the order of the codes; the codes themselves
        if left out (for one variable: if ``None`` stands in its place).

    Examples
    --------
    >>> schema = Schema([2, 3], names=["rain", "wind"], labels=[None, ["calm", "breeze", "gale"]])
    >>> schema.index("wind"), schema.code("wind", "gale"), schema.label("wind", 0)
    (1, 2, 'calm')
    >>> schema
    Schema(2 variables: rain (2), wind (3))
    """

    names: tuple[str, ...]
    cardinalities: tuple[int, ...]
    labels: tuple[Labels, ...]

    def __init__(
        self,
        cardinalities: Iterable[int],
        names: Iterable[str] | None = None,
        labels: Iterable[Iterable[Label] | None] | None = None,
    ) -> None:
        given = tuple(cardinalities)
        if not given:
            raise ValueError("cardinalities: expected at least one variable, got none")
        called = _checked_names(names, len(given))
        sizes = tuple(map(_cardinality, range(len(given)), called, given))
        # A frozen dataclass refuses plain assignment, also to its own constructor.
        object.__setattr__(self, "cardinalities", sizes)
        object.__setattr__(self, "names", called)
        object.__setattr__(self, "labels", _checked_labels(labels, self.names, sizes))

    def __len__(self) -> int:
        """Return the number of variables."""
        return len(self.cardinalities)

    def __repr__(self) -> str:
        shown = [f"{n} ({c})" for n, c in zip(self.names, self.cardinalities, strict=True)]
        noun = "variable" if len(self) == 1 else "variables"
        return f"Schema({len(self)} {noun}: {listing(shown)})"

    def index(self, variable: str | int) -> int:
        """Return the position of a variable given by its name or its position.

        Raises
        ------
        ValueError
            If there is no such variable; close names are offered.
        """
        if isinstance(variable, str):
            if variable in self._positions:
                return self._positions[variable]
            close = difflib.get_close_matches(variable, self.names, n=3)
            hint = f"did you mean {listing(close)}?" if close else f"got {listing(self.names)}"
            raise ValueError(f"no variable is called {variable!r}; {hint}")
        if not _is_integer(variable):
            raise TypeError(f"a variable is given by name or position, got {variable!r}")
        if not 0 <= variable < len(self):
            raise ValueError(f"no variable {variable}: expected 0 ... {len(self) - 1}")
        return int(variable)

    def code(self, variable: str | int, value: Label) -> int:
        """Return the code of a variable's value.

        A label is looked up first. Where no label is an integer, an integer is taken for
        the code itself.

        Raises
        ------
        ValueError
            If it is neither; the expected labels are listed.
        """
        position = self.index(variable)
        lookup = self.codes_of_labels[position]
        known = known_label(value, lookup)
        if known in lookup:
            return lookup[known]
        if _is_integer(value) and not any(_is_integer(label) for label in lookup):
            code = int(value)
            if 0 <= code < self.cardinalities[position]:
                return code
        expected = listing(self.labels[position])
        raise ValueError(
            f"variable {self.names[position]!r} has no value {known!r}: expected {expected}"
        )

    def label_of_text(self, variable: str | int, text: str) -> Label:
        """Return the label that a text stands for, the text itself where there is none.

        Examples
        --------
        >>> schema = Schema([2, 2], names=["rain", "wind"], labels=[[False, True], [3, 4]])
        >>> schema.label_of_text("rain", "true"), schema.label_of_text("wind", "4")
        (True, 4)
        """
        labels = self.labels[self.index(variable)]
        if text in labels:  # as it is, blanks included
            return text
        spelled = (label for label in labels if text in spellings(label))
        return next(spelled, known_label(text, labels))

    def label(self, variable: str | int, code: int) -> Label:
        """Return the label of a variable's code."""
        position = self.index(variable)
        if not 0 <= code < self.cardinalities[position]:
            raise ValueError(
                f"variable {self.names[position]!r} has no code {code}: "
                f"expected 0 ... {self.cardinalities[position] - 1}"
            )
        return self.labels[position][code]

    def select(self, positions: Iterable[int]) -> Schema:
        """Return the schema of some of the variables, in the order given.

        Examples
        --------
        >>> Schema([2, 3, 4], names=["rain", "wind", "sky"]).select([2, 0])
        Schema(2 variables: sky (4), rain (2))
        """
        kept = list(positions)
        return Schema(
            [self.cardinalities[v] for v in kept],
            names=[self.names[v] for v in kept],
            labels=[self.labels[v] for v in kept],
        )

    @cached_property
    def codes_of_labels(self) -> tuple[dict[Label, int], ...]:
        """For each variable, the code of each label."""
        return tuple({label: code for code, label in enumerate(ls)} for ls in self.labels)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as lists and plain values, fit for JSON.

        Labels that are the codes themselves are written as ``None``.

        Raises
        ------
        ValueError
            If a label is neither text, number, truth value nor ``None``.

        Examples
        --------
        >>> Schema([2, 2], labels=[None, ["no", "yes"]]).to_dict()["labels"]
        [None, ['no', 'yes']]
        """
        return {
            "names": list(self.names),
            "cardinalities": list(self.cardinalities),
            "labels": [_plain(n, ls) for n, ls in zip(self.names, self.labels, strict=True)],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Schema:
        """Return the schema that :meth:`to_dict` wrote."""
        expected = {"names", "cardinalities", "labels"}
        if set(content) != expected:
            raise ValueError(
                f"a schema has the keys {listing(sorted(expected))}, got {listing(sorted(content))}"
            )
        return cls(content["cardinalities"], names=content["names"], labels=content["labels"])


def spellings(label: Label) -> tuple[str, ...]:
    """Return the texts that stand for a label in files and commands, where blanks do not count.

    Examples
    --------
    >>> spellings(3), spellings(" a"), spellings(True)
    (('3',), ('a',), ('True', 'true', 'TRUE'))
    """
    text = str(label).strip()
    return (text, text.lower(), text.upper()) if isinstance(label, bool) else (text,)


def plain_label(label: Label) -> Label:
    """Return a label as schemas keep it: dates and intervals as text, which files can hold.

    A date and its midnight are one text, whatever type holds them.

    Examples
    --------
    >>> import pandas as pd
    >>> plain_label(pd.Interval(0, 1)), plain_label(pd.Period("2020-01")), plain_label("low")
    ('(0, 1]', '2020-01', 'low')
    >>> plain_label(pd.Timestamp("2020-07-01")), plain_label(np.datetime64("2020-07-01T12"))
    ('2020-07-01', '2020-07-01 12:00:00')
    """
    if isinstance(label, np.datetime64):
        label = _python_date(label)
    # Those of pandas go by their names: pandas is imported only where it is used.
    is_text = isinstance(label, _TIMES) or type(label).__name__ in ("Interval", "Period")
    return str(label).removesuffix(_MIDNIGHT) if is_text else label


def known_label(value: Label, labels: Container[Label]) -> Label:
    """Return the one of some labels that a value stands for; if there is none, the value as one.

    Examples
    --------
    >>> known_label("2020-07-01 00:00:00", ["2020-07-01"]), known_label("low", ["high"])
    ('2020-07-01', 'low')
    """
    label = plain_label(value)
    if not isinstance(label, str) or label in labels:
        return label
    date = _other_spelling(label)
    return date if date in labels else label


def listing(items: Sequence[object]) -> str:
    """Join items for a message, leaving out what would not be read anyway.

    Examples
    --------
    >>> listing(["a", 1])
    'a, 1'
    >>> listing(range(99))
    '0, 1, 2, 3, 4, 5, 6, 7, 8, ..., 98'
    """
    if len(items) > _LISTED:
        return f"{', '.join(map(str, items[: _LISTED - 1]))}, ..., {items[-1]}"
    return ", ".join(map(str, items))


def _other_spelling(text: str) -> str:
    """Return a date with its midnight, and a midnight as the date alone.

    pandas writes one or the other, depending on the rest of the column.
    """
    date = text.removesuffix(_MIDNIGHT)
    return text + _MIDNIGHT if date == text else date


def _python_date(moment: np.datetime64) -> Label:
    """Return what Python has for a moment; text for nanoseconds, itself for months and years."""
    exact = moment.astype("datetime64[us]")
    is_longer = np.datetime_data(moment.dtype)[0] in ("Y", "M")
    if is_longer:
        return moment
    return str(moment).replace("T", " ") if exact != moment else exact.item()


def _is_integer(value: object) -> TypeGuard[int]:
    """Tell whether a value counts something; to Python, truth values are integers too."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _cardinality(position: int, name: str, value: object) -> int:
    place = f"cardinalities[{position}] ({name!r})"
    if not _is_integer(value):
        raise TypeError(f"{place}: expected an integer, got {value!r}")
    if not 1 <= value <= MAX_CARDINALITY:
        hint = "; leave columns of identifiers out" if value > 1 else ""
        raise ValueError(f"{place}: expected 1 ... {MAX_CARDINALITY} values, got {value}{hint}")
    return int(value)


def _checked_names(names: Iterable[str] | None, n_variables: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"v{position}" for position in range(n_variables))
    if isinstance(names, str):
        raise TypeError(f"names: expected a sequence of names, got the single name {names!r}")
    given = tuple(names)
    if len(given) != n_variables:
        raise ValueError(f"names: expected {n_variables}, one per variable, got {len(given)}")
    seen: dict[str, int] = {}
    for position, name in enumerate(given):
        if not isinstance(name, str):
            raise TypeError(f"names[{position}]: expected text, got {name!r}")
        if name in seen:
            raise ValueError(f"names[{position}]: {name!r} is also the name of {seen[name]}")
        seen[name] = position
    return given


def _checked_labels(
    labels: Iterable[Iterable[Label] | None] | None,
    names: tuple[str, ...],
    cardinalities: tuple[int, ...],
) -> tuple[Labels, ...]:
    if isinstance(labels, Mapping):  # of which only the keys would be seen
        raise TypeError("labels: expected those of each variable in their order, got a mapping")
    given = [None] * len(names) if labels is None else list(labels)
    if len(given) != len(names):
        raise ValueError(f"labels: expected {len(names)}, one per variable, got {len(given)}")
    return tuple(map(_checked_variable_labels, given, names, cardinalities))


def _checked_variable_labels(given: Iterable[Label] | None, name: str, cardinality: int) -> Labels:
    if given is None:
        return tuple(range(cardinality))
    if isinstance(given, str | Mapping | set | frozenset):  # a set has no order of its own
        raise TypeError(f"labels of {name!r}: expected a sequence of labels, got {given!r}")
    labels = tuple(_python_value(label) for label in given)
    for label in labels:
        if not isinstance(label, Hashable):
            raise TypeError(f"labels of {name!r}: {label!r} cannot be a label: it may change")
    if len(labels) != cardinality:
        raise ValueError(f"labels of {name!r}: expected {cardinality}, got {len(labels)}")
    if len(set(labels)) != cardinality:
        twice = next(label for i, label in enumerate(labels) if label in labels[:i])
        raise ValueError(f"labels of {name!r}: {twice!r} occurs more than once")
    return labels


def _python_value(label: Any) -> Any:
    """Turn a NumPy scalar into the Python value it stands for; dates and intervals into text."""
    plain: Any = plain_label(label)
    return plain.item() if hasattr(plain, "dtype") and hasattr(plain, "item") else plain


def _plain(name: str, labels: Labels) -> list[Label] | None:
    if all(type(label) is int and label == code for code, label in enumerate(labels)):
        return None
    for label in labels:
        if not (label is None or isinstance(label, str | int | float)):
            raise ValueError(
                f"labels of {name!r}: {label!r} cannot be written; "
                "expected text, a number, a truth value or None"
            )
    return list(labels)
