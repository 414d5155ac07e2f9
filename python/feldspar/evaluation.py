"""How well a network predicts data, with the uncertainty of the answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from feldspar.conditionals import ConditionalModel, check_weight_left
from feldspar.table import Table

__all__ = ["Score", "pseudo_log_likelihood"]


@dataclass(frozen=True, eq=False)
class Score:
    """The mean of a score over examples; ``float(score)`` is the mean.

    Attributes
    ----------
    mean : float
        Mean per example, by weight where the examples have weights.
    stderr : float
        Standard error of the mean, a weight counting as so many examples; NaN for a single one.
    per_example : array of float64
    n_variables : int
    """

    mean: float
    stderr: float
    per_example: npt.NDArray[np.float64]
    n_variables: int

    @property
    def normalized(self) -> float:
        """Mean per example and variable: the N of NPLL."""
        return self.mean / self.n_variables

    def __float__(self) -> float:
        """Return the mean."""
        return self.mean


def pseudo_log_likelihood(
    network: ConditionalModel, X: object, *, n_jobs: int | None = None
) -> Score:
    """Return the PLL, the sum over variables of ``log P(x_v | rest)``, of each row and on average.

    Parameters
    ----------
    network : MarkovNetwork or DependencyNetwork
    X : table, frame or array
        Complete rows.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Examples
    --------
    >>> import feldspar as fs
    >>> coin = fs.learn_weights([[(0, 1)]], [[0], [1], [1], [1]], prior_sd=None)
    >>> score = pseudo_log_likelihood(coin, [[0], [1]])
    >>> round(score.mean, 3), round(score.stderr, 3)
    (-0.837, 0.549)
    """
    table = Table.of(X, schema=network.schema)
    check_weight_left("X", table)
    per_example = network.score_samples(table, n_jobs=n_jobs)
    mean = float(np.average(per_example, weights=table.weights))
    stderr = _standard_error(per_example, table.weights, mean)
    return Score(mean, stderr, per_example, len(network.schema))


def _standard_error(
    values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], mean: float
) -> float:
    total = float(weights.sum())
    if total <= 1:
        return float("nan")
    variance = float(weights @ (values - mean) ** 2) / (total - 1)
    return float(np.sqrt(variance / total))
