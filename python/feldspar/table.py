"""Rows of discrete data that know what their columns mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from feldspar._arrays import (
    MISSING,
    Codes,
    Weights,
    check_codes,
    check_weights,
    code_dtype,
    integer_codes,
)
from feldspar._random import RandomState, generator
from feldspar.schema import Label, Schema, known_label, listing

if TYPE_CHECKING:
    from feldspar._frames import Backend

RowSelection: TypeAlias = (
    slice
    | Sequence[int]
    | Sequence[bool]
    | npt.NDArray[np.integer[Any]]
    | npt.NDArray[np.bool_]
    | tuple[Any, EllipsisType]
)


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Table:
    """An immutable table of discrete data: codes, their schema, and a weight for each row.

    Make one with :meth:`from_array`, :meth:`from_frame`, :meth:`of` or
    :func:`feldspar.read_table`. A table has at least one row and one column.

    Attributes
    ----------
    schema : Schema
        Names, numbers of values and labels of the columns.
    codes : numpy.ndarray
        The codes, rows by variables, -1 where missing; read-only, in the smallest integer type that
        holds them. :meth:`to_numpy` gives a copy in NumPy's usual integer type.

    Examples
    --------
    >>> table = Table.from_array([[0, 2], [1, 0], [1, -1]], names=["rain", "wind"])
    >>> table
    Table(3 rows x 2 variables: rain (2), wind (3); 1 missing entry)
    >>> table[:2].to_numpy()
    array([[0, 2],
           [1, 0]])
    """

    schema: Schema
    codes: Codes
    _weights: Weights | None

    def __init__(
        self, codes: object, schema: Schema, sample_weight: npt.ArrayLike | None = None
    ) -> None:
        checked = integer_codes(codes, schema.names)
        check_codes(checked, schema)
        weights = None if sample_weight is None else check_weights(sample_weight, len(checked))
        self._fill(checked, schema, weights)

    def _fill(
        self, codes: npt.NDArray[np.integer[Any]], schema: Schema, weights: Weights | None
    ) -> None:
        """Store parts known to be good; the codes are copied, so that nobody else holds them."""
        own = np.array(codes, dtype=code_dtype(max(schema.cardinalities)), order="C")
        own.flags.writeable = False
        if weights is not None:
            weights.flags.writeable = False
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "codes", own)
        object.__setattr__(self, "_weights", weights)

    @classmethod
    def _of_parts(
        cls, codes: npt.NDArray[np.integer[Any]], schema: Schema, weights: Weights | None
    ) -> Table:
        table = cls.__new__(cls)
        table._fill(codes, schema, weights)
        return table

    @classmethod
    def from_array(
        cls,
        X: object,
        *,
        names: Iterable[str] | None = None,
        cardinalities: Iterable[int] | None = None,
        labels: Iterable[Iterable[Label] | None] | None = None,
        schema: Schema | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Table:
        """Make a table from a 2-D array of integer codes.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_variables)
            Codes 0, 1, ...; -1 is a missing entry. Truth values and whole floats will do.
        names : iterable of str, optional
            The names of the columns; ``v0``, ``v1``, ... if left out.
        cardinalities : iterable of int, optional
            The number of values of each column. If neither these nor labels are given, a column
            has as many values as its largest code tells, and at least two: a column of zeros
            among binary data is still binary.
        labels : iterable of iterables, optional
            What each column's codes stand for.
        schema : Schema, optional
            All three of the above at once.
        sample_weight : array-like of shape (n_rows,), optional
            How much each row counts; 1 if left out.

        Raises
        ------
        ValueError
            Naming row and column of an entry that is no code or that the schema does not have.

        Examples
        --------
        >>> Table.from_array([[0, 0], [1, 0]]).schema.cardinalities
        (2, 2)
        """
        if schema is not None:
            if not (names is None and cardinalities is None and labels is None):
                raise ValueError("schema: expected either a schema or names, cardinalities, labels")
            return cls(X, schema, sample_weight)
        given_names = _listed(names)
        codes = integer_codes(X, given_names)
        given_labels = _listed(labels)
        if isinstance(given_labels, list):
            given_labels = [_listed(ls) for ls in given_labels]
        if cardinalities is None:
            cardinalities = _infer_cardinalities(codes, given_labels)
        return cls(codes, Schema(cardinalities, given_names, given_labels), sample_weight)

    @classmethod
    def from_frame(
        cls, frame: object, *, schema: Schema | None = None, weights: str | None = None
    ) -> Table:
        """Make a table from a data frame (pandas, polars, pyarrow, ...).

        The labels of a column are its categories in their order (categorical columns), False and
        True (boolean ones), or its distinct values, sorted (integers and texts; whole floats are
        integers). Nulls are missing entries. Unlike in arrays, -1 is a value like any other, and a
        column with a single value has cardinality 1.

        Parameters
        ----------
        frame : data frame
            One column per variable.
        schema : Schema, optional
            Columns are matched by name and values by label; a value without a code is an error.
        weights : str, optional
            The column that holds the rows' weights.

        Raises
        ------
        ValueError
            Naming row and column of a value that the schema does not have or that is continuous.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"wind": ["gale", "calm", None], "rain": [True, False, True]})
        >>> table = Table.from_frame(frame)
        >>> table.schema.labels
        (('calm', 'gale'), (False, True))
        >>> table.to_numpy()
        array([[ 1,  1],
               [ 0,  0],
               [-1,  1]])
        """
        from feldspar import _frames

        wrapped = _frames.as_frame(frame)
        if wrapped is None:
            raise TypeError(f"frame: expected a data frame, got {type(frame).__name__}")
        columns = _frames.columns_of(wrapped)
        n_rows = wrapped.shape[0]
        row_weights = _frames.take_weights(columns, weights, n_rows)
        if not columns:
            raise ValueError("the data frame has no columns besides the weights")
        if schema is None:
            codes, schema = _frames.encode_frame(columns)
        else:
            codes = _frames.encode_frame_as(columns, schema)
        return cls._of_parts(np.column_stack(codes), schema, row_weights)

    @classmethod
    def of(
        cls,
        X: object,
        schema: Schema | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Table:
        """Make a table from whatever holds data: a table, a data frame, an array, a list of rows.

        Parameters
        ----------
        X : Table, data frame or array-like
            The data; a table is returned as it is when nothing is to be changed.
        schema : Schema, optional
            The variables that ``X`` must have. Arrays hold its codes; in tables and frames columns
            are matched by name and values by label.
        sample_weight : array-like of shape (n_rows,), optional
            How much each row counts. A table's own weights are multiplied by it.

        Examples
        --------
        >>> train = Table.of([[0, 1], [2, 0]])
        >>> len(Table.of([[1, 1]], schema=train.schema))
        1
        """
        if isinstance(X, Table):
            table = X if schema is None else X.with_schema(schema)
        elif isinstance(X, np.ndarray | list | tuple):
            table = cls.from_array(X, schema=schema)
        else:
            from feldspar import _frames

            is_frame = _frames.as_frame(X) is not None
            make = cls.from_frame if is_frame else cls.from_array
            table = make(X, schema=schema)
        return table if sample_weight is None else table._reweighted(sample_weight)

    @property
    def weights(self) -> Weights:
        """How much each row counts: float64, read-only, ones if no weights were given."""
        if self._weights is not None:
            return self._weights
        ones = np.ones(len(self))
        ones.flags.writeable = False
        return ones

    @property
    def has_weights(self) -> bool:
        """Whether the rows carry weights of their own."""
        return self._weights is not None

    @property
    def has_missing(self) -> bool:
        """Whether any entry is missing."""
        return bool((self.codes == MISSING).any())

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of variables."""
        return self.codes.shape[0], self.codes.shape[1]

    @property
    def ndim(self) -> int:
        """Two, as of the array that a table turns into: scikit-learn asks for it."""
        return self.codes.ndim

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.codes)

    def __getitem__(self, rows: RowSelection) -> Table:
        """Return the selected rows (a slice, a mask or positions), at least one."""
        chosen: Any = rows
        if isinstance(chosen, tuple) and len(chosen) == 2 and chosen[1] is Ellipsis:
            chosen = chosen[0]  # scikit-learn's way to say "these rows" when it divides data
        if not isinstance(chosen, slice):
            chosen = np.asarray(chosen)
            if chosen.size == 0:  # an empty list says nothing about its type
                chosen = chosen.astype(np.intp)
            if chosen.ndim != 1 or chosen.dtype.kind not in "biu":
                raise TypeError(
                    "rows are selected by a slice, a mask or a list of positions, "
                    "e.g. table[3:4] for one row"
                )
        codes = self.codes[chosen]
        if len(codes) == 0:
            raise ValueError(f"the selection leaves none of the {len(self)} rows")
        return self._of_parts(codes, self.schema, self._selected_weights(chosen))

    def _selected_weights(self, rows: Any) -> Weights | None:
        return None if self._weights is None else np.array(self._weights[rows])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return (
            self.schema == other.schema
            and np.array_equal(self.codes, other.codes)
            and np.array_equal(self.weights, other.weights)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        columns = [
            f"{name} ({cardinality})"
            for name, cardinality in zip(self.schema.names, self.schema.cardinalities, strict=True)
        ]
        notes = [listing(columns)]
        n_missing = int((self.codes == MISSING).sum())
        if n_missing:
            notes.append(f"{n_missing} missing {'entry' if n_missing == 1 else 'entries'}")
        if self._weights is not None:
            notes.append(f"total weight {self._weights.sum():g}")
        size = f"{_counted(len(self), 'row')} x {_counted(len(self.schema), 'variable')}"
        return f"Table({size}: {'; '.join(notes)})"

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """Return the codes for ``np.asarray``, as int64 unless another type is asked for."""
        wanted = np.dtype(np.int64 if dtype is None else dtype)
        if copy is False and wanted != self.codes.dtype:
            raise ValueError(f"the codes are {self.codes.dtype}; as {wanted} they must be copied")
        converted: npt.NDArray[Any] = self.codes.astype(wanted, copy=bool(copy))
        return converted

    def to_numpy(self) -> npt.NDArray[np.int64]:
        """Return the codes as a new int64 array, rows by variables, -1 where missing."""
        return np.array(self.codes, dtype=np.int64)

    def to_frame(self, backend: Backend = "pandas", *, weights: str | None = None) -> Any:
        """Return the table as a data frame with labels, null where missing.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Which library's data frame.
        weights : str, optional
            Adds the rows' weights as a column of this name.

        Examples
        --------
        >>> Table.from_array([[1], [-1]], names=["rain"], labels=[["no", "yes"]]).to_frame()
          rain
        0  yes
        1  NaN
        """
        from feldspar._frames import decode_frame

        return decode_frame(self, backend, weights)

    def with_schema(self, schema: Schema) -> Table:
        """Return the same data under another schema of the same variables.

        Columns are matched by name and values by label, so that tables read from different
        files become comparable.

        Raises
        ------
        ValueError
            If a variable is missing or left over, or a value that occurs has no such label.

        Examples
        --------
        >>> ours = Schema([3], names=["wind"], labels=[["calm", "breeze", "gale"]])
        >>> theirs = Table.from_array([[0], [1]], names=["wind"], labels=[["gale", "calm"]])
        >>> theirs.with_schema(ours).to_numpy().ravel()
        array([2, 0])
        """
        if schema == self.schema:
            return self
        if set(schema.names) != set(self.schema.names):
            raise ValueError(
                f"the table has the variables {listing(self.schema.names)}; "
                f"expected {listing(schema.names)}"
            )
        columns = [self._recoded(self.schema.index(name), schema) for name in schema.names]
        return self._of_parts(np.column_stack(columns), schema, self._selected_weights(slice(None)))

    def _among(self, schema: Schema) -> Table:
        """Return rows of some of a schema's variables as rows of all; the others are missing."""
        if schema == self.schema:
            return self
        codes = np.full((len(self), len(schema)), -1, dtype=np.int32)
        codes[:, [schema.index(name) for name in self.schema.names]] = self.codes
        return self._of_parts(codes, schema, self._selected_weights(slice(None)))

    def _recoded(self, position: int, schema: Schema) -> Codes:
        """Return one column's codes under another schema."""
        name = self.schema.names[position]
        lookup = schema.codes_of_labels[schema.index(name)]
        unseen = -2
        # One entry more: -1 (missing) finds the last one.
        own = self.schema.labels[position]
        translation = [lookup.get(known_label(label, lookup), unseen) for label in own]
        codes: Codes = np.array([*translation, MISSING], dtype=np.int32)[self.codes[:, position]]
        if (codes == unseen).any():
            row = int(np.argmax(codes == unseen))
            label = own[self.codes[row, position]]
            raise ValueError(
                f"row {row}, column {name!r}: unseen value {label!r}, "
                f"expected {listing(list(lookup))}"
            )
        return codes

    def distinct(self) -> Table:
        """Return the distinct rows in ascending order, their weights added up.

        Missing entries come first. The result does not depend on the order of the rows.

        Examples
        --------
        >>> merged = Table.from_array([[1, 0], [0, 1], [1, 0]]).distinct()
        >>> merged.to_numpy(), merged.weights
        (array([[0, 1],
               [1, 0]]), array([1., 2.]))
        """
        # As big-endian unsigned numbers, rows compare like strings of bytes, in one go.
        unsigned = f">u{self.codes.dtype.itemsize}"
        shifted = np.ascontiguousarray((self.codes.astype(np.int32) + 1).astype(unsigned))
        row_bytes = shifted.view(np.dtype((np.void, shifted.strides[0]))).ravel()
        _, first, group = np.unique(row_bytes, return_index=True, return_inverse=True)
        weights = np.bincount(group.ravel(), weights=self._weights, minlength=len(first))
        return self._of_parts(self.codes[first], self.schema, weights.astype(np.float64))

    def split(self, fraction: float, random_state: RandomState = None) -> tuple[Table, Table]:
        """Divide the rows at random into two tables, each in the original order.

        Parameters
        ----------
        fraction : float
            The first table's part of the rows, between 0 and 1; both tables get at least one row.
        random_state : int, numpy.random.Generator or numpy.random.RandomState, optional
            The same integer gives the same division.

        Examples
        --------
        >>> first, second = Table.from_array(np.eye(10, dtype=int)).split(0.7, random_state=0)
        >>> len(first), len(second)
        (7, 3)
        """
        if not 0 < fraction < 1:
            raise ValueError(f"fraction: expected a number between 0 and 1, got {fraction}")
        if len(self) < 2:
            raise ValueError("a table of one row cannot be split")
        size = min(max(round(fraction * len(self)), 1), len(self) - 1)
        order = generator(random_state).permutation(len(self))
        return self[np.sort(order[:size])], self[np.sort(order[size:])]

    def _reweighted(self, sample_weight: npt.ArrayLike) -> Table:
        factors = check_weights(sample_weight, len(self))
        weights = factors if self._weights is None else factors * self._weights
        # Both may be fine and never positive in the same row.
        checked = check_weights(weights, len(self), "sample_weight times the table's weights")
        return self._of_parts(self.codes, self.schema, checked)


def _listed(items: Any) -> Any:
    """Return items as a list; what has no items, or no order, is left for the schema to refuse."""
    kept = items is None or isinstance(items, str | Mapping | set | frozenset)
    return items if kept else list(items)


def _infer_cardinalities(codes: npt.NDArray[np.integer[Any]], labels: Any) -> list[int]:
    seen = [max(2, int(highest) + 1) for highest in codes.max(axis=0)]
    if not isinstance(labels, list) or len(labels) != len(seen):
        return seen
    return [n if ls is None else len(ls) for n, ls in zip(seen, labels, strict=True)]


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
