"""Data that may be continuous, column by column, from data frames, arrays and tables alike."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from feldspar import _frames
from feldspar._arrays import MISSING, Codes, matrix_of
from feldspar.schema import Label, Labels, Schema
from feldspar.table import Table


class Columns(Protocol):
    """Columns that can be asked for numbers, or for labels and codes."""

    names: list[str]
    gap: float | None  # the number that also marks a missing entry where columns are discrete

    def numbers(self, name: str) -> npt.NDArray[np.float64] | None:
        """Return the column as floats, NaN where missing; ``None`` if it holds no numbers."""

    def labels(self, name: str) -> Labels:
        """Return the labels of a discrete column."""

    def codes(self, name: str, lookup: dict[Label, int]) -> Codes:
        """Return the codes of a discrete column whose labels are known."""


class FrameColumns:
    """The columns of a data frame."""

    gap: float | None = None

    def __init__(self, frame: _frames.Frame) -> None:
        self._columns = _frames.columns_of(frame)
        self.names = list(self._columns)

    def numbers(self, name: str) -> npt.NDArray[np.float64] | None:
        """Return the column as floats, or ``None``."""
        return _frames.numbers_of(name, self._columns[name])

    def labels(self, name: str) -> Labels:
        """Return the labels that :meth:`Table.from_frame` would find."""
        return _frames.encode(name, self._columns[name])[1]

    def codes(self, name: str, lookup: dict[Label, int]) -> Codes:
        """Return the codes; a value without one is an error."""
        return _frames.encode_as(name, self._columns[name], lookup)


class ArrayColumns:
    """The columns of an array of numbers; discrete ones hold codes, -1 or NaN where missing."""

    gap: float | None = float(MISSING)

    def __init__(self, X: object) -> None:
        self._array = np.asarray(matrix_of(X), dtype=np.float64)
        self.names = [f"v{position}" for position in range(self._array.shape[1])]
        infinite = np.argwhere(np.isinf(self._array))
        if len(infinite):
            row, column = infinite[0]
            raise ValueError(
                f"row {row}, column {column}: expected a finite number or NaN, "
                f"got {self._array[row, column]}"
            )

    def numbers(self, name: str) -> npt.NDArray[np.float64]:
        """Return the column; every column of an array holds numbers."""
        return self._array[:, self.names.index(name)]

    def labels(self, name: str) -> Labels:
        """Return the codes themselves, as many as :meth:`Table.from_array` would find."""
        return self._table(name).schema.labels[0]

    def codes(self, name: str, lookup: dict[Label, int]) -> Codes:
        """Return the column; whether these are codes of the labels is for the table to say."""
        return self._table(name).codes[:, 0]

    def _table(self, name: str) -> Table:
        column = np.nan_to_num(self.numbers(name), nan=MISSING)
        try:
            return Table.from_array(column[:, np.newaxis], names=[name])
        except ValueError as error:
            here = str(error).replace("column 0", f"column {self.names.index(name)}")
            raise ValueError(f"{here}; columns=[...] names columns of numbers to cut") from error


class TableColumns:
    """The columns of a table; its numbers are its labels, where all of these are numbers."""

    gap: float | None = None

    def __init__(self, table: Table) -> None:
        self._table = table
        self.names = list(table.schema.names)

    def numbers(self, name: str) -> npt.NDArray[np.float64] | None:
        """Return the column as floats, or ``None``."""
        labels = self.labels(name)
        if any(type(label) not in (int, float) for label in labels):  # truth values are no numbers
            return None
        # One entry more: -1 (missing) finds the last one.
        numbers = np.array([*labels, np.nan], dtype=np.float64)
        return numbers[self._table.codes[:, self.names.index(name)]]

    def labels(self, name: str) -> Labels:
        """Return the labels of the schema."""
        return self._table.schema.labels[self.names.index(name)]

    def codes(self, name: str, lookup: dict[Label, int]) -> Codes:
        """Return the codes; a value without one is an error."""
        own = Schema([len(lookup)], names=[name], labels=[list(lookup)])
        return self._table._recoded(self.names.index(name), own)


def columns_from(X: object) -> Columns:
    """Return the columns of a data frame, an array or a table."""
    if isinstance(X, Table):
        return TableColumns(X)
    frame = None if isinstance(X, np.ndarray | list | tuple) else _frames.as_frame(X)
    return ArrayColumns(X) if frame is None else FrameColumns(frame)
