"""What scikit-learn is told about estimators of discrete data."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from feldspar import _frames
from feldspar._arrays import matrix_of
from feldspar.schema import Schema, listing
from feldspar.table import Table
from feldspar.weights import listed


class DiscreteEstimator(BaseEstimator):  # type: ignore[misc]
    """A scikit-learn estimator whose data are codes 0, 1, ... or labelled columns.

    scikit-learn's own checks and meta-estimators read the tags: arrays hold whole numbers (floats
    such as those of ``KBinsDiscretizer`` will do), none of them negative but for -1, a missing
    entry. Everything else, NaN included, is refused by name.
    """

    def __sklearn_tags__(self) -> Any:
        """Return the tags that apply to discrete data."""
        tags = super().__sklearn_tags__()
        tags.estimator_type = "density_estimator"
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of a learner within this one by names such as ``dtsl__kappa``."""
        own = {**self.get_params(deep=False), **params}
        for key in params:
            name, is_nested, _ = key.partition("__")
            if is_nested and name in own and not hasattr(own[name], "set_params"):
                raise ValueError(
                    f"{key}: {name} is {own[name]!r}, which has no parameters; expected a learner "
                    f"in its place: set_params({name}=..., {key}=...)"
                )
        super().set_params(**params)
        return self

    def _choices(self, name: str) -> list[Any]:
        """Return the values of a parameter to try, in the order given."""
        values = listed(getattr(self, name))
        if not values:
            raise ValueError(f"{name}: expected a value or several, got none")
        return values

    def _check_width(self, X: object) -> None:
        """Refuse an array with another number of columns, in the words scikit-learn looks for."""
        if isinstance(X, Table) or _frames.is_frame(X):
            return  # these are matched by name, which says more
        width = matrix_of(X).shape[1]
        if width != self.n_features_in_:
            raise ValueError(
                f"X has {width} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input: {listing(self.schema_.names)}"
            )

    def _remember_columns(self, X: object, schema: Schema) -> None:
        """Keep what scikit-learn asks for: how many columns, and their names if they had any."""
        self.schema_ = schema
        self.n_features_in_ = len(schema)
        self.__dict__.pop("feature_names_in_", None)
        if isinstance(X, Table) or _frames.is_frame(X):
            self.feature_names_in_ = np.array(schema.names, dtype=object)


def refuse_rows(y: object) -> None:
    """Refuse rows in the place of ``y``, which is ignored: they would be validation rows.

    Classes, a column of them at most, are what scikit-learn's tools put there.
    """
    if isinstance(y, list | tuple):
        is_wide = any(isinstance(row, list | tuple) and len(row) > 1 for row in y)
    else:
        shape: Any = getattr(y, "shape", ())
        is_wide = len(shape) == 2 and shape[1] > 1
    if is_wide or isinstance(y, Table) or _frames.is_frame(y):
        raise TypeError(
            "y: expected nothing, got a table; validation rows go by name: fit(X, X_valid=...)"
        )
