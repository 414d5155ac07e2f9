"""What is known before a question is asked."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from feldspar._frames import series_as_evidence
from feldspar.schema import Label, Schema, listing, plain_label
from feldspar.table import Table

# A value that is known, or how likely an observation is under each of the values.
Observation: TypeAlias = "Label | Mapping[Any, float] | npt.ArrayLike"

UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class Evidence:
    """Rows of evidence, as the core takes them.

    Attributes
    ----------
    schema : Schema
    codes : array of int32 of shape (n_rows, n_variables)
        -1 where a value is not known.
    log_likelihoods : array of float64 of shape (n_rows, n_values) or None
        Soft evidence: the values of all variables side by side.
    is_single : bool
        Whether one row was given as such, not a table that happens to have one.
    """

    schema: Schema
    codes: npt.NDArray[np.int32]
    log_likelihoods: npt.NDArray[np.float64] | None
    is_single: bool

    @classmethod
    def of(cls, schema: Schema, evidence: object = None) -> Evidence:
        """Read evidence.

        Parameters
        ----------
        schema : Schema
        evidence : mapping, row, table, frame or array, optional
            A mapping from variables, by name or index, to values, by label or code; a mapping from
            values to likelihoods (or a pandas series with values as its index), or an array with a
            likelihood for each value, is soft evidence.
            A row has a code for every variable, or -1, ``None`` or NaN for unknown; only text,
            which cannot be a code, is a label there. Tables, frames and 2-D arrays are many rows
            (see :func:`partial_rows`). ``None``: nothing is known.

        Examples
        --------
        >>> schema = Schema([2, 3], names=["rain", "wind"])
        >>> Evidence.of(schema, {"wind": 2}).codes.tolist()
        [[-1, 2]]
        """
        if evidence is None:
            return cls._single(schema, {})
        if isinstance(evidence, Mapping):
            return cls._single(schema, evidence)
        if hasattr(evidence, "items") and getattr(evidence, "ndim", 0) == 1:  # a row of pandas
            return cls._single(schema, dict(evidence.items()))
        if _is_row(evidence):
            row = list(evidence)  # type: ignore[call-overload]
            return cls(schema, _row_codes(schema, row), None, is_single=True)
        if isinstance(evidence, str | bytes):
            raise TypeError(
                f"evidence: expected a mapping such as {{{schema.names[0]!r}: value}}, a row or a "
                f"table, got {evidence!r}"
            )
        codes = partial_rows(schema, evidence).codes.astype(np.int32)
        return cls(schema, codes, None, is_single=False)

    @classmethod
    def _single(cls, schema: Schema, observations: Mapping[Any, Any]) -> Evidence:
        codes = np.full((1, len(schema)), UNKNOWN, dtype=np.int32)
        soft: npt.NDArray[np.float64] | None = None
        seen: set[int] = set()
        for variable, observation in observations.items():
            v = schema.index(variable)
            if v in seen:
                raise ValueError(f"evidence: {schema.names[v]!r} is given twice")
            seen.add(v)
            if _is_missing(observation):
                continue
            series = series_as_evidence(observation)
            if series is not None:
                observation = series
            if isinstance(observation, Mapping | list | tuple | np.ndarray):
                if soft is None:
                    soft = np.zeros((1, sum(schema.cardinalities)))
                first = sum(schema.cardinalities[:v])
                last = first + schema.cardinalities[v]
                soft[0, first:last] = _log_likelihoods(schema, v, observation)
            elif isinstance(observation, Hashable):
                codes[0, v] = schema.code(v, observation)
            else:
                raise TypeError(
                    f"evidence: {schema.names[v]!r}: expected a value, or a likelihood for each "
                    f"of its values, got {observation!r}"
                )
        return cls(schema, codes, soft, is_single=True)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.codes)

    @property
    def hidden(self) -> npt.NDArray[np.bool_]:
        """Which entries are not known."""
        unknown: npt.NDArray[np.bool_] = self.codes < 0
        return unknown


def partial_rows(schema: Schema, X: object) -> Table:
    """Return rows that need not know everything.

    What is missing is not known; nor is a variable for which a table or a frame has no column, such
    as the one to be predicted.

    Parameters
    ----------
    schema : Schema
    X : table, frame or array

    Examples
    --------
    >>> schema = Schema([2, 3], names=["rain", "wind"])
    >>> partial_rows(schema, Table.from_array([[2], [0]], names=["wind"])).to_numpy().tolist()
    [[-1, 2], [-1, 0]]
    """
    columns = _columns(X)
    if columns is None or columns == set(schema.names):
        return Table.of(X, schema=schema)
    unexpected = sorted(columns.difference(schema.names))
    if unexpected:
        kind = "table" if isinstance(X, Table) else "data frame"
        raise ValueError(
            f"the {kind} has unexpected {listing(unexpected)}; expected columns among "
            f"{listing(schema.names)}"
        )
    present = [v for v, name in enumerate(schema.names) if name in columns]
    return Table.of(X, schema=schema.select(present))._among(schema)


def _columns(X: object) -> set[str] | None:
    """Return the names of the columns, ``None`` if they have none."""
    if isinstance(X, Table):
        return set(X.schema.names)
    from feldspar import _frames

    frame = _frames.as_frame(X) if _frames.is_frame(X) else None
    return None if frame is None else set(_frames.columns_of(frame))


def _is_row(evidence: object) -> bool:
    """Tell a row, of codes and ``None``, from a table of rows."""
    if isinstance(evidence, np.ndarray):
        return evidence.ndim == 1 and not isinstance(evidence, np.ma.MaskedArray)
    if isinstance(evidence, list | tuple):
        return not any(
            isinstance(entry, Iterable) and not isinstance(entry, str) for entry in evidence
        )
    return False


def _row_codes(schema: Schema, row: list[Any]) -> npt.NDArray[np.int32]:
    """Return a row by position as codes, whatever holds it: integers are codes also in lists."""
    if len(row) != len(schema):
        raise ValueError(
            f"evidence: expected a row of {len(schema)} values, one for each variable, "
            f"got {len(row)}"
        )
    codes: list[Any] = []
    for v, value in enumerate(row):
        if _is_missing(value):
            codes.append(UNKNOWN)
        elif isinstance(label := plain_label(value), str):
            codes.append(schema.code(v, label))
        else:
            codes.append(value)
    return Table.from_array([codes], schema=schema).codes.astype(np.int32)


def _is_missing(value: object) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # those of pandas
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _numbers(name: str, likelihoods: Any) -> npt.NDArray[np.float64]:
    try:
        return np.asarray(likelihoods, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"evidence: {name!r}: expected one value, or a likelihood for each value, "
            f"got {likelihoods!r}"
        ) from error


def _log_likelihoods(
    schema: Schema, variable: int, observation: Mapping[Any, Any] | npt.ArrayLike
) -> npt.NDArray[np.float64]:
    name, cardinality = schema.names[variable], schema.cardinalities[variable]
    if isinstance(observation, Mapping):
        likelihoods = np.zeros(cardinality)
        given = {schema.code(variable, value): chance for value, chance in observation.items()}
        if len(given) != cardinality:
            raise ValueError(
                f"evidence: soft evidence on {name!r} names {len(given)} of its {cardinality} "
                "values; expected a likelihood for each"
            )
        for code, chance in given.items():
            likelihoods[code] = _numbers(name, chance)
    else:
        likelihoods = _numbers(name, observation)
        if likelihoods.shape != (cardinality,):
            raise ValueError(
                f"evidence: soft evidence on {name!r} has shape {likelihoods.shape}; expected "
                f"{cardinality} likelihoods, one for each value"
            )
    if not (np.isfinite(likelihoods).all() and (likelihoods > 0).all()):
        raise ValueError(
            f"evidence: soft evidence on {name!r} is {likelihoods.tolist()}; expected positive "
            "likelihoods (a value that is impossible cannot be said: give those that are left as "
            "small a likelihood as you mean)"
        )
    logs: npt.NDArray[np.float64] = np.log(likelihoods / likelihoods.max())
    return logs
