"""How well a network predicts data, with the uncertainty of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from feldspar._random import RandomState, core_seed, generator
from feldspar.conditionals import ConditionalModel, check_weight_left
from feldspar.evidence import UNKNOWN
from feldspar.features import core_codes
from feldspar.inference import Marginals, Method, marginals
from feldspar.inference.running import Running
from feldspar.network import MarkovNetwork
from feldspar.schema import Schema
from feldspar.table import Table

__all__ = [
    "PairedTest",
    "Score",
    "compare_scores",
    "conditional_marginal_log_likelihood",
    "pseudo_log_likelihood",
]


_GROUPS = 4  # of variables, as the papers divide them


@dataclass(frozen=True, eq=False)
class Score:
    """The mean of a score over examples; ``float(score)`` is the mean.

    Attributes
    ----------
    mean : float
        Mean per example, by weight where the examples have weights.
    stderr : float
        Standard error of the mean, a weight counting as so many examples; NaN for a single one,
        and where the mean is infinite.
    per_example : array of float64
    n_variables : int
    """

    mean: float
    stderr: float
    per_example: npt.NDArray[np.float64] = field(repr=False)
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
    if not isinstance(network, ConditionalModel):
        raise TypeError(_no_network("a MarkovNetwork or a DependencyNetwork", network))
    table = Table.of(X, schema=network.schema)
    check_weight_left("X", table)
    return _score(network.score_samples(table, n_jobs=n_jobs), table)


def conditional_marginal_log_likelihood(
    network: MarkovNetwork,
    X: object,
    *,
    groups: int | Sequence[Sequence[str | int]] | None = None,
    split: Literal["random", "contiguous"] = "random",
    reverse: bool = False,
    method: Method = "gibbs",
    random_state: RandomState = 0,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    **options: Any,
) -> Score:
    """Return the CMLL: how well groups of variables are predicted from all the others.

    The variables are divided into groups. Each in turn is hidden, and the log-probabilities of its
    values given the rest are added up, each variable on its own.

    Parameters
    ----------
    network : MarkovNetwork
    X : table, frame or array
        Complete rows.
    groups : int or sequence of sequences of variables, optional
        Number of groups, or the groups themselves. Four if left out, as in the papers; fewer where
        there are fewer variables.
    split : {"random", "contiguous"}
        How the variables are divided: by a random permutation, or in the order of the schema.
    reverse : bool
        Lee et al. (2007): each group in turn is all that is known. Every variable is then asked for
        several times, and counts with the mean of its log-probabilities.
    method : str
        How the probabilities are found, as in :meth:`feldspar.MarkovNetwork.marginals`. The papers
        use Gibbs sampling with 10 chains of 100 + 1,000 sweeps: the default.
    random_state : int, numpy.random.Generator or numpy.random.RandomState, optional
        For the division, and for methods that sample.
    time_limit : float, optional
        Seconds, for all groups together; `TimeoutError` if they do not suffice.
    n_jobs : int, optional
        Threads. The result does not depend on it.
    verbose : bool
        Show progress on a terminal.
    **options
        Of the method, like ``n_chains``, ``burn_in`` and ``n_samples``.

    Examples
    --------
    >>> import feldspar as fs
    >>> digits = fs.datasets.load("digits")
    >>> atoms = fs.FeatureSet.conjunctions(digits.train, order=1)
    >>> network = fs.learn_weights(atoms, digits.train)
    >>> score = conditional_marginal_log_likelihood(network, digits.test[:50], n_samples=10)
    >>> abs(score.mean - network.score(digits.test[:50])) < 1e-9  # nothing depends on anything
    True
    """
    if not isinstance(network, MarkovNetwork):
        raise TypeError(_no_network("a MarkovNetwork", network))
    table = Table.of(X, schema=network.schema)
    check_weight_left("X", table)
    codes = core_codes(table)
    random = generator(random_state)
    parts = _groups(network.schema, groups, split, random)
    if method in ("auto", "gibbs", "mcsat"):
        options = {"random_state": core_seed(random), **options}
    first_value = np.concatenate([[0], np.cumsum(network.schema.cardinalities)[:-1]])
    running = Running.of(time_limit=time_limit, n_jobs=n_jobs, verbose=verbose)
    total = np.zeros(len(table))
    for part in parts:
        hidden = np.setdiff1d(np.arange(codes.shape[1]), part) if reverse else part
        evidence = codes.copy()
        evidence[:, hidden] = UNKNOWN
        found = marginals(
            network,
            Table._of_parts(evidence, network.schema, None),
            method,
            time_limit=running.seconds_left,
            n_jobs=n_jobs,
            verbose=verbose,
            **options,
        )
        _check_finished(found)
        observed = found.probabilities[
            np.arange(len(table))[:, None], first_value[hidden] + codes[:, hidden]
        ]
        with np.errstate(divide="ignore"):  # plain counts without smoothing may say 0
            total += np.log(observed).sum(axis=1)
    return _score(total / (len(parts) - 1 if reverse else 1), table)


def _no_network(expected: str, got: object) -> str:
    """Say what is wrong, and where the network is that may have been meant."""
    hint = ""
    if isinstance(got, ConditionalModel):
        hint = ": its to_markov makes one"
    elif hasattr(got, "fit"):
        hint = ": that of a learner is its network_"
    return f"network: expected {expected}, got {type(got).__name__}{hint}"


def _check_finished(found: Marginals) -> None:
    """A score needs all rows: part of the marginals is no part of a score."""
    status = found.diagnostics.status
    if status == "interrupted":
        raise KeyboardInterrupt
    if status == "time_limit":
        raise TimeoutError("the time limit was over before all rows of a group were done")


def _groups(
    schema: Schema,
    groups: int | Sequence[Sequence[str | int]] | None,
    split: str,
    random: np.random.Generator | np.random.RandomState,
) -> list[npt.NDArray[np.int64]]:
    """Return which variables are hidden together."""
    n = len(schema)
    if n < 2:
        raise ValueError(f"CMLL needs at least 2 variables, got {n}")
    if groups is None:
        groups = min(_GROUPS, n)
    if isinstance(groups, int | np.integer):
        if not 2 <= groups <= n:
            raise ValueError(f"groups: expected 2 to {n}, the number of variables, got {groups}")
        if split not in ("random", "contiguous"):
            raise ValueError(f"split: expected 'random' or 'contiguous', got {split!r}")
        order = random.permutation(n) if split == "random" else np.arange(n)
        return [np.sort(part) for part in np.array_split(order, int(groups))]
    parts = [np.array([schema.index(v) for v in part], dtype=np.int64) for part in groups]
    flat = sorted(int(v) for part in parts for v in part)
    if len(parts) < 2 or flat != list(range(n)):
        raise ValueError(
            f"groups: expected at least 2 that hold each of the {n} variables once, "
            f"got {len(parts)} with {len(flat)} variables, {len(set(flat))} of them different"
        )
    return parts


@dataclass(frozen=True)
class PairedTest:
    """Two models compared over data sets by the Wilcoxon signed-rank test.

    Attributes
    ----------
    n : int
        Number of data sets.
    wins, losses, ties : int
        Of the first model.
    p_value : float
        Two-sided: how likely differences as consistent as these are if the models are equally good;
        NaN if there is no difference at all.
    """

    n: int
    wins: int
    losses: int
    ties: int
    p_value: float


def compare_scores(first: npt.ArrayLike, second: npt.ArrayLike) -> PairedTest:
    """Compare two models by their scores on the same data sets, higher being better.

    Examples
    --------
    >>> compare_scores([-4.9, -9.1, -36.0, -49.0, -57.0], [-5.0, -9.2, -36.2, -49.1, -57.3])
    PairedTest(n=5, wins=5, losses=0, ties=0, p_value=0.0625)
    """
    one, other = (np.asarray(scores, dtype=np.float64) for scores in (first, second))
    if one.ndim != 1 or one.shape != other.shape or not len(one):
        raise ValueError(
            "first and second: expected as many scores of each, one for each data set, got shapes "
            f"{one.shape} and {other.shape}"
        )
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise ValueError("first and second: expected finite scores")
    differences = one - other
    p_value = float("nan")
    if differences.any():
        from scipy.stats import wilcoxon

        p_value = float(wilcoxon(differences).pvalue)
    return PairedTest(
        n=len(one),
        wins=int((differences > 0).sum()),
        losses=int((differences < 0).sum()),
        ties=int((differences == 0).sum()),
        p_value=p_value,
    )


def _score(per_example: npt.NDArray[np.float64], table: Table) -> Score:
    counts = table.weights > 0  # an infinite score of weight 0 would leave no mean
    values, weights = per_example[counts], table.weights[counts]
    mean = float(np.average(values, weights=weights))
    stderr = _standard_error(values, weights, mean)
    return Score(mean, stderr, per_example, len(table.schema))


def _standard_error(
    values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], mean: float
) -> float:
    total = float(weights.sum())
    if total <= 1 or not np.isfinite(mean):
        return float("nan")
    variance = float(weights @ (values - mean) ** 2) / (total - 1)
    return float(np.sqrt(variance / total))
