"""Data frames to codes and back, whichever library they come from."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import narwhals
import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from feldspar._arrays import MISSING, Codes, Weights, check_weights
from feldspar.schema import Label, Labels, Schema, known_label, listing, plain_label

if TYPE_CHECKING:
    from feldspar.table import Table

Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]
Frame: TypeAlias = "nw.DataFrame[Any]"
# The plain class: that of `stable.v2` derives from it, and so do the columns of any frame.
Column: TypeAlias = "narwhals.Series[Any]"


def as_frame(X: object) -> Frame | None:
    """Return ``X`` behind the common interface if it is a data frame, else ``None``."""
    native: Any = X
    try:
        frame = nw.from_native(native, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise _duplicates(native) from error
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("X is a lazy frame; expected data: pass X.collect()")
    return frame if isinstance(frame, nw.DataFrame) else None


def series_as_evidence(X: object) -> Mapping[Any, Any] | npt.NDArray[Any] | None:
    """Return a series by its index where it has one, else its values; ``None``: no series."""
    native: Any = X
    series = nw.from_native(native, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return None
    return dict(native.items()) if hasattr(native, "index") else series.to_numpy()


def is_frame(X: object) -> bool:
    """Tell data frames from arrays and lists of rows."""
    return not isinstance(X, np.ndarray | list | tuple) and as_frame(X) is not None


def columns_of(frame: Frame) -> dict[str, Column]:
    """Return the columns by name; a name that is no text (pandas allows it) becomes text."""
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        raise ValueError(
            f"the data frame is empty: {frame.shape[0]} rows, {frame.shape[1]} columns"
        )
    try:
        columns = {str(column.name): _plain_column(column) for column in frame.iter_columns()}
    except nw.exceptions.DuplicateError as error:
        raise _duplicates(frame.to_native()) from error
    if len(columns) < frame.shape[1]:
        raise ValueError(f"column names must differ as text, got {listing(frame.columns)}")
    return columns


def _plain_column(column: Column) -> Column:
    """Return a column of Arrow in a frame of pandas as Arrow's own where it is a dictionary.

    To pandas it is no categorical: it would tell no categories.
    """
    if not (column.implementation.is_pandas_like() and isinstance(column.dtype, nw.Categorical)):
        return column
    native: Any = column.to_native()
    if not hasattr(native.dtype, "pyarrow_dtype"):
        return column
    arrow: Column = nw.from_native(native.array.__arrow_array__(), series_only=True)
    return arrow.alias(column.name)


def _duplicates(native: Any) -> ValueError:
    names = list(native.column_names if hasattr(native, "column_names") else native.columns)
    twice = list(dict.fromkeys(name for name in names if names.count(name) > 1))
    return ValueError(
        f"the data frame has more than one column {listing([repr(name) for name in twice])}; "
        "expected names that differ"
    )


def take_weights(columns: dict[str, Column], name: str | None, n_rows: int) -> Weights | None:
    """Remove the weights' column from ``columns`` and return what it holds."""
    if name is None:
        return None
    if name not in columns:
        raise ValueError(f"weights: no column is called {name!r}; got {listing(list(columns))}")
    return check_weights(columns.pop(name).to_numpy(), n_rows, f"weights column {name!r}")


def split_weights(X: object, name: str) -> tuple[Any, Weights]:
    """Return a data frame without its column of weights, and what that column holds."""
    frame = as_frame(X) if is_frame(X) else None
    if frame is None:
        raise TypeError(f"weights: an array has no names of columns, got {name!r}")
    columns = columns_of(frame)
    weights = take_weights(columns, name, frame.shape[0])
    assert weights is not None
    return frame.select([column.name for column in columns.values()]).to_native(), weights


def encode_frame(columns: dict[str, Column]) -> tuple[list[Codes], Schema]:
    """Return the codes of each column and the schema that they define."""
    encoded = [encode(name, column) for name, column in columns.items()]
    labels = [labels for _, labels in encoded]
    schema = Schema([len(ls) for ls in labels], names=list(columns), labels=labels)
    return [codes for codes, _ in encoded], schema


def encode_frame_as(columns: dict[str, Column], schema: Schema) -> list[Codes]:
    """Return the codes of each column under a given schema; columns are matched by name."""
    missing = [name for name in schema.names if name not in columns]
    expected = set(schema.names)
    extra = [name for name in columns if name not in expected]
    if missing or extra:
        problems = [f"lacks {listing(missing)}"] * bool(missing)
        problems += [f"has unexpected {listing(extra)}"] * bool(extra)
        raise ValueError(
            f"the data frame {' and '.join(problems)}; expected {listing(schema.names)}"
        )
    return [
        encode_as(name, columns[name], lookup)
        for name, lookup in zip(schema.names, schema.codes_of_labels, strict=True)
    ]


def encode(name: str, column: Column) -> tuple[Codes, Labels]:
    """Return a column's codes and the labels they stand for.

    Categories keep their order; truth values are False, True; numbers and texts are sorted.
    """
    values, labels = _values_and_labels(name, column)
    if not labels:
        raise ValueError(
            f"column {name!r}: all values are missing, so its labels are unknown; expected some "
            "values, or a categorical column: leave the column out"
        )
    if isinstance(values, np.ndarray):
        codes: Codes = np.searchsorted(np.array(labels), values).astype(np.int32)
        return codes, labels
    lookup = {label: code for code, label in enumerate(labels)}
    return _look_up(name, values, lookup), labels


def encode_as(name: str, column: Column, lookup: dict[Label, int]) -> Codes:
    """Return a column's codes when the code of each label is known."""
    kind = column.dtype
    if (kind.is_float() or kind.is_decimal()) and any(isinstance(v, float) for v in lookup):
        numbers = numbers_of(name, column)  # labels may be fractions, where categories were
        assert numbers is not None
        return _look_up(name, [None if np.isnan(x) else x for x in numbers.tolist()], lookup)
    return _look_up(name, _values(name, column, dates=all(map(_is_date, lookup))), lookup)


def numbers_of(name: str, column: Column) -> npt.NDArray[np.float64] | None:
    """Return a numeric column as floats, NaN where missing; ``None`` if it is not numeric."""
    if not column.dtype.is_numeric():
        return None
    numbers = column.cast(nw.Float64).to_numpy().astype(np.float64)
    numbers[column.is_null().to_numpy()] = np.nan
    if np.isinf(numbers).any():
        row = int(np.argmax(np.isinf(numbers)))
        raise ValueError(
            f"row {row}, column {name!r}: expected a finite number, got {numbers[row]}"
        )
    return numbers


def _values_and_labels(
    name: str, column: Column
) -> tuple[Sequence[Label | None] | npt.NDArray[np.integer[Any]], Labels]:
    dtype = column.dtype
    if isinstance(dtype, nw.Enum) or (
        isinstance(dtype, nw.Categorical) and _has_categories(column)
    ):
        return _values(name, column), tuple(column.cat.get_categories().to_list())
    if isinstance(dtype, nw.Boolean):
        return _values(name, column), (False, True)
    if dtype.is_integer() and not column.is_null().any():
        # Whole columns at once: integers are the common case, and may be many.
        integers = column.to_numpy()
        return integers, tuple(np.unique(integers).tolist())
    values = _values(name, column)
    return values, _sorted_labels(name, values)


def _is_date(label: Label) -> bool:
    """Tell whether a label is a date or a moment as schemas keep them."""
    text = str(label)
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return isinstance(label, str) and text[4] == "-" and text[10:11] in ("", " ")


def _has_categories(column: Column) -> bool:
    """Tell whether a categorical column has a list of categories.

    That of polars has not: what is known are the values that occur, and their order is that of the
    rows. It is read as text is. ``Enum`` has a list.
    """
    return not column.implementation.is_polars()


def _values(name: str, column: Column, *, dates: bool = False) -> Sequence[Label | None]:
    """Return a column as plain Python values, ``None`` where missing.

    Parameters
    ----------
    name : str
    column : narwhals.Series
    dates : bool
        Whether dates will do: there are labels to know them by.
    """
    dtype = column.dtype
    if dtype.is_float() or dtype.is_decimal():
        return _integral_values(name, column)
    known = isinstance(dtype, nw.Categorical | nw.Enum | nw.Boolean | nw.String | nw.Object)
    known = known or (dates and isinstance(dtype, nw.Date | nw.Datetime))
    if not (known or dtype.is_integer() or isinstance(dtype, nw.Unknown)):
        raise TypeError(
            f"column {name!r} has type {dtype}; expected categories, truth values, integers or text"
        )
    null = column.is_null().to_list()
    pairs = zip(column.to_list(), null, strict=True)
    # Sparse columns give numbers of NumPy.
    return [
        None if is_null else value.item() if isinstance(value, np.generic) else value
        for value, is_null in pairs
    ]


def _integral_values(name: str, column: Column) -> list[Label | None]:
    numbers = numbers_of(name, column)
    assert numbers is not None
    fractional = numbers != np.floor(numbers)
    fractional &= ~np.isnan(numbers)
    if fractional.any():
        row = int(np.argmax(fractional))
        raise ValueError(
            f"row {row}, column {name!r}: expected discrete values, got {numbers[row]}; "
            "cut continuous columns into intervals with feldspar.discretize or feldspar.binarize"
        )
    return [None if np.isnan(number) else int(number) for number in numbers]


def _sorted_labels(name: str, values: Sequence[Label | None]) -> Labels:
    kinds = {type(value) for value in values if value is not None}
    if not kinds <= {bool} and not kinds <= {int} and not kinds <= {str}:
        got = listing(sorted(kind.__name__ for kind in kinds))
        advice = ""
        if float in kinds and kinds <= {float, int}:
            advice = "; make it a column of numbers, as astype(float) does in pandas"
        raise TypeError(
            f"column {name!r} mixes or holds values of type {got}; "
            "expected only truth values, only integers or only text" + advice
        )
    distinct: set[Any] = {value for value in values if value is not None}
    return (False, True) if kinds == {bool} else tuple(sorted(distinct))


def _look_up(
    name: str, values: Sequence[Label | None] | npt.NDArray[Any], lookup: dict[Label, int]
) -> Codes:
    unseen = -2
    table: dict[Label | None, int] = {None: MISSING, **lookup}
    for value in set(values) - table.keys():  # dates and intervals are known by their texts
        table[value] = lookup.get(known_label(value, lookup), unseen)
    codes = np.fromiter((table[v] for v in values), np.int32, count=len(values))
    if (codes == unseen).any():
        row = int(np.argmax(codes == unseen))
        raise ValueError(
            f"row {row}, column {name!r}: unseen value {plain_label(values[row])!r}, "
            f"expected {listing(list(lookup))}"
        )
    return codes


def decode_frame(table: Table, backend: Backend, weights: str | None) -> Any:
    """Return the table as a data frame of the library asked for, labels and nulls in place."""
    builders: dict[str, Callable[[Codes, Labels], Any]] = {
        "pandas": _pandas_column,
        "polars": _polars_column,
        "pyarrow": _pyarrow_column,
    }
    if backend not in builders:
        raise ValueError(f"backend: expected {listing(list(builders))}, got {backend!r}")
    build = builders[backend]
    columns = {
        name: build(table.codes[:, position], table.schema.labels[position])
        for position, name in enumerate(table.schema.names)
    }
    if weights is not None:
        if weights in columns:
            raise ValueError(f"weights: {weights!r} is already the name of a variable")
        columns[weights] = table.weights
    return _assemble(columns, backend)


def fill_frame(X: object, holes: npt.NDArray[np.bool_], filled: Table) -> Any:
    """Return a data frame with its missing entries replaced by those of a table made from it.

    Types, order of the columns and index stay; only a type that cannot hold a label gives way.

    Parameters
    ----------
    X : data frame
    holes : array of bool
        Where entries are missing, rows by the table's variables.
    filled : Table
    """
    frame = as_frame(X)
    assert frame is not None
    native: Any = frame.to_native()
    if frame.implementation.is_pandas_like():
        native = native.copy()
    for name, column in columns_of(frame).items():
        v = filled.schema.index(name)
        if not holes[:, v].any():
            continue
        labels = _own_labels(name, column, filled.schema.labels[v])
        values = column.to_list()
        for row in np.flatnonzero(holes[:, v]).tolist():
            values[row] = labels[filled.codes[row, v]]
        native = _with_column(native, frame.implementation, column, values, labels)
    return native


def _own_labels(name: str, column: Column, labels: Labels) -> Labels:
    """Return labels as a column has them: where it holds dates or intervals, those of the text."""
    dtype = column.dtype
    if isinstance(dtype, nw.Date | nw.Datetime):
        return tuple(_moment(name, dtype, label) for label in labels)
    if isinstance(dtype, nw.Object):
        known: Sequence[Any] = [value for value in column.to_list() if isinstance(value, Hashable)]
    elif isinstance(dtype, nw.Categorical | nw.Enum) and _has_categories(column):
        known = column.cat.get_categories().to_list()
    else:
        return labels  # nothing that could be a date or an interval
    lookup = set(labels)
    own = {known_label(value, lookup): value for value in known}
    return tuple(own.get(label, label) for label in labels)


def _moment(name: str, dtype: nw.Date | nw.Datetime, label: Label) -> datetime.date:
    """Return the date or the moment that a label tells, as a column of the type can hold it."""
    moment = datetime.datetime.fromisoformat(str(label))
    own: datetime.date = moment.date()
    zone = None
    if isinstance(dtype, nw.Datetime):
        step = {"s": 1_000_000, "ms": 1000}.get(dtype.time_unit, 1)
        own = moment.replace(microsecond=moment.microsecond // step * step)
        zone = dtype.time_zone
    if (moment.tzinfo is None) != (zone is None) or known_label(own, {label}) != label:
        raise ValueError(
            f"column {name!r} has type {dtype}, which cannot hold {label!r}; "
            "expected a finer type, or text"
        )
    return own


def _with_column(
    native: Any, kind: nw.Implementation, column: Column, values: list[Any], labels: Labels
) -> Any:
    """Return a frame with a column's values replaced."""
    name = column.name
    dtype: Any = column.dtype
    backend: Any = kind
    if kind.is_pandas_like():
        dtype = native[name].dtype
        if hasattr(dtype, "categories"):
            lacking = [label for label in labels if label not in dtype.categories]
            dtype = native[name].cat.add_categories(lacking).dtype
        native[name] = type(native[name])(values, index=native.index, dtype=dtype, name=name)
        return native
    if kind.is_pyarrow():
        import pyarrow as pa

        place = native.column_names.index(name)
        return native.set_column(place, name, pa.array(values, type=native.schema.types[place]))
    if isinstance(dtype, nw.Enum):
        known = list(dtype.categories)
        dtype = nw.Enum([*known, *(str(label) for label in labels if label not in known)])
    series = nw.new_series(name, values, dtype, backend=backend)
    return nw.from_native(native).with_columns(series).to_native()


def _assemble(columns: dict[str, Any], backend: Backend) -> Any:
    if backend == "pandas":
        import pandas as pd

        return pd.DataFrame(columns)
    if backend == "polars":
        import polars as pl

        return pl.DataFrame(columns)
    import pyarrow as pa

    return pa.table(columns)


def _pandas_column(codes: Codes, labels: Labels) -> Any:
    import pandas as pd

    categories: Any = list(labels)
    return pd.Categorical.from_codes(codes.tolist(), categories=categories)


def _polars_column(codes: Codes, labels: Labels) -> Any:
    import polars as pl

    values = [None if code == MISSING else labels[code] for code in codes.tolist()]
    if all(isinstance(label, str) for label in labels):
        return pl.Series(values, dtype=pl.Enum([str(label) for label in labels]))
    return pl.Series(values)


def _pyarrow_column(codes: Codes, labels: Labels) -> Any:
    import pyarrow as pa

    indices = pa.array(codes.astype(np.int32), mask=codes == MISSING)
    return pa.DictionaryArray.from_arrays(indices, pa.array(list(labels)))
