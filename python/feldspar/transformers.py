"""scikit-learn transformers that cut continuous columns into discrete ones.

They live apart from :mod:`feldspar.preprocessing`, which shows them too, because
scikit-learn takes longer to import than the rest of the package.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from feldspar._arrays import Codes
from feldspar._caution import warn_user
from feldspar._columns import Columns, columns_from
from feldspar._cuts import STRATEGIES, Floats, interval_labels, interval_of, threshold_cut
from feldspar._frames import is_frame
from feldspar.schema import Labels, Schema, listing
from feldspar.table import Table

Strategy: TypeAlias = Literal["quantile", "uniform", "kmeans"]
Threshold: TypeAlias = float | Literal["median", "mean"]


class _CuttingTransformer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[misc,call-arg]
    """What both transformers share: cuts for some columns, labels for the others."""

    columns: Sequence[str | int] | None

    def __sklearn_tags__(self) -> Any:
        """Return the tags: gaps are welcome, and what comes out is a table of its own types."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X: object, y: object = None) -> Self:
        """Find the cuts of the columns that need some, and the labels of the others.

        Parameters
        ----------
        X : data frame, table or array-like of shape (n_rows, n_columns)
            NaN and null are missing entries; so is -1 in the discrete columns of an array. The
            numbers of a table are its labels.
        y : None
            Ignored.
        """
        self._check_parameters()
        source = columns_from(X)
        chosen = self._chosen(source)
        self.cuts_: dict[str, Floats] = {}
        labels: list[Labels] = []
        for name in source.names:
            if chosen is None or name in chosen:
                cuts = self._cuts_of(name, source, asked=chosen is not None)
                if cuts is not None:
                    self.cuts_[name] = cuts
                    labels.append(interval_labels(cuts))
                    continue
            elif not isinstance(X, Table):  # whose values are discrete, whatever they are
                _refuse_fractions(name, source.numbers(name))
            labels.append(source.labels(name))
        self.schema_ = Schema([len(ls) for ls in labels], names=source.names, labels=labels)
        self.n_features_in_ = len(labels)
        return self

    def transform(self, X: object) -> Table:
        """Return the data as a table of the training data's schema.

        Parameters
        ----------
        X : data frame, table or array-like of shape (n_rows, n_columns)
            Columns as in :meth:`fit`. A table keeps its weights.
        """
        check_is_fitted(self)
        source = columns_from(X)
        if len(source.names) != self.n_features_in_ and not is_frame(X):
            # The wording is the one that scikit-learn's estimator checks look for.
            raise ValueError(
                f"X has {len(source.names)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        if set(source.names) != set(self.schema_.names):
            raise ValueError(
                f"expected the columns {listing(self.schema_.names)}, got {listing(source.names)}"
            )
        codes = [self._codes_of(name, source) for name in self.schema_.names]
        weights = X.weights if isinstance(X, Table) and X.has_weights else None
        return Table(np.column_stack(codes), self.schema_, weights)

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[Any]:
        """Return the names of the columns; they stay what they were."""
        check_is_fitted(self)
        return np.array(self.schema_.names, dtype=object)

    def _codes_of(self, name: str, source: Columns) -> Codes:
        if name not in self.cuts_:
            return source.codes(name, self.schema_.codes_of_labels[self.schema_.index(name)])
        numbers = source.numbers(name)
        if numbers is None:
            raise TypeError(f"column {name!r}: expected numbers, as in the training data")
        return interval_of(numbers, self.cuts_[name])

    def _chosen(self, source: Columns) -> set[str] | None:
        if self.columns is None:
            return None
        columns: object = self.columns
        if isinstance(columns, str) or not isinstance(columns, Iterable):
            raise TypeError(f"columns: expected a list of names or positions, got {columns!r}")
        # The schema only lends its search by name or position, with its messages.
        known = Schema([1] * len(source.names), names=source.names)
        return {known.names[known.index(column)] for column in columns}

    def _cuts_of(self, name: str, source: Columns, *, asked: bool) -> Floats | None:
        """Return the cuts of a column, or ``None`` if it is to be left alone."""
        numbers = source.numbers(name)
        if numbers is None:
            if asked:
                raise TypeError(f"columns: {name!r} holds no numbers and cannot be cut")
            return None
        values = numbers[~np.isnan(numbers)]
        gaps = values == source.gap
        # Beside zeros these are codes, and -1 a missing one.
        codes = values[~gaps] if (values == 0).any() else values
        if not (asked or self._needs_cuts(codes)):
            return None
        counts = gaps.any() and values.min() == source.gap and not _is_fraction(values).any()
        if counts and not np.isin(values, (-1, 1)).all():  # those would be signs
            warn_user(
                f"column {name!r} is cut, and -1 is a number there; expected NaN if it marks a "
                "missing entry"
            )
        if len(values) == 0:
            raise ValueError(f"column {name!r}: all values are missing; drop the column")
        cuts = self._find_cuts(values)
        if len(cuts) == 0:
            warn_user(
                f"column {name!r} is constant ({values[0]:g}) in the training data and gets a "
                "single value; drop it, since nothing can be learned from it",
            )
        return cuts

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise unless the parameters make sense."""

    @abstractmethod
    def _needs_cuts(self, values: Floats) -> bool:
        """Tell whether a numeric column is cut when the user names no columns."""

    @abstractmethod
    def _find_cuts(self, values: Floats) -> Floats:
        """Return the cuts of a column whose values, missing ones left out, are given."""


class Discretizer(_CuttingTransformer):
    """Cut continuous columns into intervals, a scikit-learn transformer.

    Columns that hold fractions are cut; all others are left as they are. :meth:`transform`
    returns a :class:`feldspar.Table`, with intervals such as ``[0.5, 1.2)`` as labels.

    Parameters
    ----------
    bins : int
        How many intervals a column gets at most; fewer where values repeat.
    strategy : {"quantile", "uniform", "kmeans"}
        Equally many values in each, equally wide, or around centres of clusters.
    columns : sequence of str or int, optional
        The columns to cut, by name or position, if not those that hold fractions.

    Attributes
    ----------
    cuts_ : dict of str to numpy.ndarray
        The cuts of each column that was cut.
    schema_ : Schema
        The variables of the tables that :meth:`transform` returns.

    Examples
    --------
    >>> cutter = Discretizer(bins=2, strategy="uniform").fit([[0.0, 1], [0.2, 0], [1.0, 1]])
    >>> cutter.cuts_
    {'v0': array([0.5])}
    >>> cutter.transform([[0.7, 0]]).to_numpy()
    array([[1, 0]])
    """

    def __init__(
        self,
        bins: int = 4,
        strategy: Strategy = "quantile",
        columns: Sequence[str | int] | None = None,
    ) -> None:
        self.bins = bins
        self.strategy = strategy
        self.columns = columns

    def _check_parameters(self) -> None:
        bins: object = self.bins
        if not isinstance(bins, int | np.integer) or bins < 2:
            raise ValueError(f"bins: expected an integer >= 2, got {bins!r}")
        if self.strategy not in STRATEGIES:
            raise ValueError(
                f"strategy: expected {listing(list(STRATEGIES))}, got {self.strategy!r}"
            )

    def _needs_cuts(self, values: Floats) -> bool:
        return bool(_is_fraction(values).any())

    def _find_cuts(self, values: Floats) -> Floats:
        return STRATEGIES[self.strategy](values, self.bins)


class Binarizer(_CuttingTransformer):
    """Turn numeric columns into binary ones, a scikit-learn transformer.

    A value is 1 if it is at least the threshold. Columns of numbers are cut, except, where the
    threshold is found from the data, those that hold only 0 and 1; columns of truth values,
    text and categories are left as they are. In arrays of integers -1 is a missing entry.

    Parameters
    ----------
    threshold : {"median", "mean"} or float
        Where to cut: at each column's own median or mean, or at one number for all. A median that
        no value lies below, as in columns of mostly zeros, parts the lowest value from the rest.
    columns : sequence of str or int, optional
        The columns to cut, by name or position, if not those said above.

    Attributes
    ----------
    cuts_ : dict of str to numpy.ndarray
        The cut of each column that was cut.
    schema_ : Schema
        The variables of the tables that :meth:`transform` returns.

    Examples
    --------
    >>> Binarizer().fit([[1.5], [2.5], [9.0]]).cuts_
    {'v0': array([2.5])}
    """

    def __init__(
        self, threshold: Threshold = "median", columns: Sequence[str | int] | None = None
    ) -> None:
        self.threshold = threshold
        self.columns = columns

    def _check_parameters(self) -> None:
        threshold: object = self.threshold
        if isinstance(threshold, str) and threshold in ("median", "mean"):
            return
        numbers = int | float | np.integer | np.floating
        if not isinstance(threshold, numbers) or not np.isfinite(threshold):
            raise ValueError(
                f"threshold: expected 'median', 'mean' or a finite number, got {threshold!r}"
            )

    def _needs_cuts(self, values: Floats) -> bool:
        return not isinstance(self.threshold, str) or not np.isin(values, (0, 1)).all()

    def _find_cuts(self, values: Floats) -> Floats:
        if not isinstance(self.threshold, str):
            # The user's number holds even if all values lie on one side of it.
            return np.array([float(self.threshold)])
        at = np.median(values) if self.threshold == "median" else np.mean(values)
        return threshold_cut(values, float(at))


def _is_fraction(values: Floats) -> npt.NDArray[np.bool_]:
    """Return which values are no whole numbers; those that are missing are not."""
    fractions: npt.NDArray[np.bool_] = (values != np.floor(values)) & ~np.isnan(values)
    return fractions


def _refuse_fractions(name: str, numbers: Floats | None) -> None:
    """Refuse to leave a column as it is that cannot be."""
    if numbers is None or not _is_fraction(numbers).any():
        return
    row = int(np.argmax(_is_fraction(numbers)))
    raise ValueError(
        f"columns: {name!r} holds fractions too, {numbers[row]:g} in row {row}; expected it among "
        "the columns to cut, or left out of the data"
    )
