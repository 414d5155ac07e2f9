"""Checks that turn what users pass as arrays into codes and weights, or name the offending place.

Rows and columns are counted from 0, as in the arrays themselves.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from feldspar.schema import MAX_CARDINALITY, Schema, listing

Codes: TypeAlias = npt.NDArray[np.signedinteger[Any]]
Weights: TypeAlias = npt.NDArray[np.float64]

MISSING = -1


def code_dtype(cardinality: int) -> type[np.signedinteger[Any]]:
    """Return the smallest signed type that holds the codes 0 ... cardinality - 1 and -1."""
    for dtype in (np.int8, np.int16):
        if cardinality - 1 <= np.iinfo(dtype).max:
            return dtype
    return np.int32


def matrix_of(X: object) -> npt.NDArray[Any]:
    """Return ``X`` as a 2-D array of numbers with at least one row and one column."""
    if hasattr(X, "toarray"):
        raise TypeError("X is a sparse matrix; expected dense data: pass X.toarray()")
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError(
            "X is a masked array; expected a plain one: pass X.filled(-1), or X.filled(numpy.nan) "
            "where numbers are to be cut into intervals"
        )
    if X is None or isinstance(X, str | bytes | os.PathLike | Mapping):
        hint = {"dict": ": pass pandas.DataFrame(X)", "NoneType": ""}.get(
            type(X).__name__, ": files are read by feldspar.read_table"
        )
        raise TypeError(f"X: expected a table, a data frame or a 2-D array, got {X!r:.60}{hint}")
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise ValueError(_ragged(X) or f"X cannot be made an array: {error}") from error
    if array.ndim != 2:
        hint = ""
        if hasattr(X, "to_frame"):
            row = ", X.to_frame().T for one row" if hasattr(X, "T") else ""  # pandas has rows too
            hint = f" Pass X.to_frame() for one column{row}."
        elif array.ndim == 1 and isinstance(array.flat[0] if array.size else None, Mapping):
            hint = " Pass pandas.DataFrame(X)."
        elif array.ndim == 1:
            hint = " Reshape your data, e.g. by X.reshape(1, -1) for one row."
        elif hasattr(X, "train"):
            hint = " Pass its .train."
        raise ValueError(f"X: expected a 2-D array, got {array.ndim}-D.{hint}")
    # The wording of these two is the one that scikit-learn's estimator checks look for.
    for axis, noun in enumerate(("sample(s)", "feature(s)")):
        if array.shape[axis] == 0:
            raise ValueError(
                f"X has 0 {noun} (shape={array.shape}) while a minimum of 1 is required."
            )
    return _numeric(array)


def integer_codes(X: object, names: Sequence[str] | None = None) -> npt.NDArray[np.integer[Any]]:
    """Return ``X`` as a 2-D array of integers, each -1 (missing) or a code."""
    array = matrix_of(X)
    if array.dtype.kind == "b":
        return array.astype(np.int8)
    if array.dtype.kind == "f":
        _refuse(~np.isfinite(array), array, "an integer code, or -1 if missing", names)
        expected = "an integer code (feldspar.discretize makes codes of numbers)"
        _refuse(array != np.floor(array), array, expected, names)
    # Two numbers tell whether all is well; only else are the entries looked at one by one.
    if array.min() < MISSING:
        expected = "a code >= 0, or -1 if missing"
        _refuse(array < MISSING, array, expected, names, "Negative values in data: ")
    if array.max() >= MAX_CARDINALITY:
        _refuse(array >= MAX_CARDINALITY, array, f"a code <= {MAX_CARDINALITY - 1}", names)
    return array if array.dtype.kind in "iu" else array.astype(np.int32)


def check_codes(
    codes: npt.NDArray[np.integer[Any]],
    schema: Schema,
    place: Callable[[int], str] = "row {}".format,
) -> None:
    """Raise ``ValueError`` unless every code is one of its variable's, or -1.

    ``place`` says what messages call a row.
    """
    if codes.shape[1] != len(schema):
        raise ValueError(
            f"expected {len(schema)} columns ({listing(schema.names)}), got {codes.shape[1]}"
        )
    highest = codes.max(axis=0)
    for column in np.flatnonzero(highest >= np.array(schema.cardinalities)):
        cardinality = schema.cardinalities[column]
        row = int(np.argmax(codes[:, column] >= cardinality))
        labels = schema.labels[column]
        meaning = "" if labels == tuple(range(cardinality)) else f" ({listing(labels)})"
        raise ValueError(
            f"{place(row)}, column {column} ({schema.names[column]!r}): unseen value "
            f"{codes[row, column]}, expected 0 ... {cardinality - 1}{meaning}, or -1 if missing"
        )


def check_weights(weights: object, n_rows: int, name: str = "sample_weight") -> Weights:
    """Return row weights as a fresh read-only array, or name the row that has a bad one."""
    try:
        array = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: expected numbers, one per row: {error}") from error
    if array.shape != (n_rows,):
        raise ValueError(
            f"{name}: expected {n_rows} weights, one per row, got an array of shape {array.shape}"
        )
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{name}: row {row}: expected a finite weight >= 0, got {array[row]}")
    if not array.any():
        raise ValueError(f"{name}: all {n_rows} weights are zero; expected at least one above")
    array.flags.writeable = False
    return array


def _refuse(
    bad: npt.NDArray[np.bool_],
    array: npt.NDArray[Any],
    expected: str,
    names: Sequence[str] | None,
    headline: str = "",
) -> None:
    if not bad.any():
        return
    row, column = (int(i) for i in np.argwhere(bad)[0])
    called = f" ({names[column]!r})" if names is not None and column < len(names) else ""
    value = array[row, column]
    got = "NaN" if value != value else str(value)
    raise ValueError(
        f"{headline}row {row}, column {column}{called}: expected {expected}, got {got}"
    )


def _numeric(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: expected integer codes")
    if array.dtype.kind == "O":
        return _numeric_objects(array)
    raise ValueError(
        f"X: expected integer codes, got values of type {array.dtype} such as {array.flat[0]!r}; "
        "labels go into a data frame (Table.from_frame)"
    )


def _numeric_objects(array: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Convert entry by entry, so that an error can name its place."""
    numbers = np.empty(array.shape)
    for (row, column), value in np.ndenumerate(array):
        if value is None or type(value).__name__ == "NAType":  # that of pandas
            raise TypeError(
                f"row {row}, column {column}: expected a number, got {value}; a missing entry is "
                "-1, or NaN where numbers are to be cut into intervals"
            )
        try:
            numbers[row, column] = float(value)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"row {row}, column {column}: expected a number: {error}; labels go into a data "
                "frame (Table.from_frame)"
            ) from error
    return numbers


def _ragged(X: object) -> str | None:
    """Say which row has the wrong length, if that is what is wrong with a list of rows."""
    if not isinstance(X, Sequence) or not all(isinstance(row, Sequence) for row in X):
        return None
    for number, row in enumerate(X):
        if len(row) != len(X[0]):
            return f"row {number}: expected {len(X[0])} values as in row 0, got {len(row)}"
    return None
