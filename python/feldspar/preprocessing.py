"""Continuous columns into discrete ones: cut on the training data, applied to the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from feldspar.table import Table

if TYPE_CHECKING:
    from feldspar.transformers import Binarizer, Discretizer, Strategy, Threshold

__all__ = ["Binarizer", "Discretizer", "binarize", "discretize"]


@overload
def discretize(
    train: object,
    *,
    bins: int = 4,
    strategy: Strategy = "quantile",
    columns: Sequence[str | int] | None = None,
    weights: str | None = None,
) -> Table: ...


@overload
def discretize(
    train: object,
    other: object,
    /,
    *others: object,
    bins: int = 4,
    strategy: Strategy = "quantile",
    columns: Sequence[str | int] | None = None,
    weights: str | None = None,
) -> tuple[Table, ...]: ...


def discretize(
    train: object,
    *others: object,
    bins: int = 4,
    strategy: Strategy = "quantile",
    columns: Sequence[str | int] | None = None,
    weights: str | None = None,
) -> Table | tuple[Table, ...]:
    """Cut continuous columns into intervals that are found on the training data.

    Parameters
    ----------
    train : data frame, table or array-like
        The data that the cuts are found on. The numbers of a table are its labels.
    *others : data frames, tables or array-likes
        More data with the same columns; values beyond those of ``train`` fall into the first or
        last interval.
    bins, strategy, columns
        As in :class:`feldspar.transformers.Discretizer`.
    weights : str, optional
        The column of each data frame that holds the rows' weights: it becomes no variable, and has
        no say in where the cuts are.

    Returns
    -------
    Table or tuple of Table
        One table for each argument; just the table if there is one.

    Examples
    --------
    >>> train, test = discretize([[0.1], [0.4], [0.6], [0.9]], [[-5.0], [0.7]], bins=2)
    >>> train.schema.labels[0], test.to_numpy().ravel()
    (('(-inf, 0.5)', '[0.5, inf)'), array([0, 1]))
    """
    from feldspar.transformers import Discretizer

    return _apply(
        Discretizer(bins=bins, strategy=strategy, columns=columns), weights, (train, *others)
    )


@overload
def binarize(
    train: object,
    *,
    threshold: Threshold = "median",
    columns: Sequence[str | int] | None = None,
    weights: str | None = None,
) -> Table: ...


@overload
def binarize(
    train: object,
    other: object,
    /,
    *others: object,
    threshold: Threshold = "median",
    columns: Sequence[str | int] | None = None,
    weights: str | None = None,
) -> tuple[Table, ...]: ...


def binarize(
    train: object,
    *others: object,
    threshold: Threshold = "median",
    columns: Sequence[str | int] | None = None,
    weights: str | None = None,
) -> Table | tuple[Table, ...]:
    """Turn numeric columns into binary ones: below the threshold, or not.

    Parameters
    ----------
    train : data frame, table or array-like
        The data that the thresholds are found on. The numbers of a table are its labels.
    *others : data frames, tables or array-likes
        More data with the same columns.
    threshold, columns
        As in :class:`feldspar.transformers.Binarizer`.
    weights : str, optional
        The column of each data frame that holds the rows' weights: it becomes no variable, and has
        no say in where the cuts are.

    Returns
    -------
    Table or tuple of Table
        One table for each argument; just the table if there is one.

    Examples
    --------
    >>> binarize([[0, 12], [9, 3]], threshold=8).to_numpy()
    array([[0, 1],
           [1, 0]])
    """
    from feldspar.transformers import Binarizer

    return _apply(Binarizer(threshold=threshold, columns=columns), weights, (train, *others))


def _apply(
    transformer: Binarizer | Discretizer, weights: str | None, data: tuple[object, ...]
) -> Table | tuple[Table, ...]:
    if weights is None:
        transformer.fit(data[0])
        tables = tuple(transformer.transform(X) for X in data)
    else:
        from feldspar._frames import split_weights

        parts = [split_weights(X, weights) for X in data]
        transformer.fit(parts[0][0])
        cut = [(transformer.transform(frame), own) for frame, own in parts]
        tables = tuple(Table(table.codes, table.schema, own) for table, own in cut)
    return tables if len(data) > 1 else tables[0]


def __getattr__(name: str) -> Any:
    """Import the transformers, and with them scikit-learn, when they are first asked for."""
    if name in ("Binarizer", "Discretizer"):
        from feldspar import transformers

        return getattr(transformers, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
