"""What models say of complete rows: each variable given all the others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from feldspar._jobs import resolve_jobs
from feldspar.features import core_codes, refuse_missing
from feldspar.schema import Schema
from feldspar.table import Table

if TYPE_CHECKING:
    from feldspar import _core

__all__ = ["ConditionalModel", "Conditionals", "check_weight_left"]

# Rows that are scored at once: what is known of each of their variables takes far more memory than
# the scores, and is not kept. Enough for many threads to share.
_BLOCK_ROWS = 1 << 16


class _Core(Protocol):
    """What the compiled models have in common."""

    def log_conditionals(self, codes: _core.CodeArray, n_threads: int) -> _core.FloatArray: ...
    def observed_log_conditionals(
        self, codes: _core.CodeArray, n_threads: int
    ) -> _core.FloatArray: ...


class ConditionalModel(ABC):
    """A model with a conditional distribution of every variable given all the others."""

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The variables."""

    @property
    @abstractmethod
    def _conditional_core(self) -> _Core:
        """The compiled model."""

    def score_samples(self, X: object, *, n_jobs: int | None = None) -> npt.NDArray[np.float64]:
        """Return the pseudo-log-likelihood of each row: the sum of ``log P(x_v | rest)``."""
        table = Table.of(X, schema=self.schema)
        refuse_missing(table)
        threads = resolve_jobs(n_jobs)
        scores = np.empty(len(table))
        for start in range(0, len(table), _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            codes = table.codes[rows].astype(np.int32)
            per_variable = self._conditional_core.observed_log_conditionals(codes, threads)
            scores[rows] = per_variable.sum(axis=1)
        return scores

    def score(
        self,
        X: object,
        y: object = None,
        *,
        sample_weight: npt.ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> float:
        """Return the mean pseudo-log-likelihood (PLL) per example, by weight where there are any.

        ``y`` is there for scikit-learn's sake and not looked at.
        """
        table = Table.of(X, schema=self.schema, sample_weight=sample_weight)
        check_weight_left("X", table)
        return float(np.average(self.score_samples(table, n_jobs=n_jobs), weights=table.weights))

    def conditionals(self, X: object, *, n_jobs: int | None = None) -> Conditionals:
        """Return ``P(X_v = a | rest of the row)`` for every row, variable and value."""
        codes = core_codes(Table.of(X, schema=self.schema))
        logs = self._conditional_core.log_conditionals(codes, resolve_jobs(n_jobs))
        return Conditionals(self.schema, np.exp(logs))


def check_weight_left(name: str, table: Table) -> None:
    """Refuse rows that all have weight 0, over which there is no mean.

    A table cannot be made of such rows, but a selection from one may leave no others.
    """
    if not table.weights.any():
        raise ValueError(
            f"{name}: the weights of all {len(table)} rows are 0; expected at least one above"
        )


@dataclass(frozen=True, eq=False)
class Conditionals(Mapping[str, npt.NDArray[np.float64]]):
    """The conditional distribution of every variable on every row, by name or index.

    ``conditionals["cancer"]`` is an array of rows x values. ``probabilities`` holds all variables
    side by side.
    """

    schema: Schema
    probabilities: npt.NDArray[np.float64] = field(repr=False)

    def __getitem__(self, variable: str | int) -> npt.NDArray[np.float64]:
        """Return the probabilities of one variable's values, a row for each example."""
        try:
            v = self.schema.index(variable)
        except ValueError as error:  # what mappings promise, and `in` and `get` rely on
            raise KeyError(str(error)) from None
        first = sum(self.schema.cardinalities[:v])
        return self.probabilities[:, first : first + self.schema.cardinalities[v]]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the variables' names."""
        return iter(self.schema.names)

    def __len__(self) -> int:
        """Return the number of variables."""
        return len(self.schema)
