"""The handwritten digits that come with scikit-learn, as discrete data."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from feldspar.datasets._catalogue import DatasetInfo
from feldspar.datasets._split import DataSplit
from feldspar.schema import Schema
from feldspar.table import Table

_SIDE = 8
_DARK = 8  # of 16 shades
_SEED = 0


def digits_info() -> DatasetInfo:
    """Return sizes and source of the digits; the density is that of the pixels."""
    return DatasetInfo(
        name="digits",
        train=1258,
        valid=180,
        test=359,
        variables=_SIDE * _SIDE + 1,
        density=0.323,
        source="scikit-learn's load_digits: 8 x 8 pixels, dark (shade 8 of 16 or more) or not, "
        "and the digit; the split is ours, 70/10/20 within each digit, fixed",
    )


def load_digits() -> DataSplit:
    """Return the digits, divided 70/10/20 within each digit, always alike."""
    from sklearn import datasets as sklearn_datasets

    shades, digits = sklearn_datasets.load_digits(return_X_y=True)
    schema = _schema()
    codes = np.column_stack([shades >= _DARK, digits])
    parts = (Table(codes[rows], schema) for rows in _split_rows(digits))
    train, valid, test = parts
    return DataSplit("digits", train, valid, test, digits_info().description)


def _schema() -> Schema:
    pixels = [f"p{row}{column}" for row in range(_SIDE) for column in range(_SIDE)]
    return Schema([2] * len(pixels) + [10], names=[*pixels, "digit"])


def _split_rows(digits: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], ...]:
    # RandomState, unlike Generator, promises the same numbers in every version of NumPy.
    random = np.random.RandomState(_SEED)
    parts: list[list[npt.NDArray[np.intp]]] = [[], [], []]
    for digit in range(10):
        rows = random.permutation(np.flatnonzero(digits == digit))
        cuts = np.round(np.array([0.7, 0.8]) * len(rows)).astype(int)
        for part, piece in zip(parts, np.split(rows, cuts), strict=True):
            part.append(piece)
    return tuple(np.sort(np.concatenate(part)) for part in parts)
