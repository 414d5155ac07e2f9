"""How sure the edges of a learned network are: learning again from resampled rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from feldspar._caution import warn_user
from feldspar._progress import progress_bar
from feldspar._random import RandomState, generator
from feldspar.features import core_int
from feldspar.learners._base import MarkovLearner, one_of
from feldspar.missing import MissingValuesWarning, counted_rows, gaps
from feldspar.network import MarkovNetwork
from feldspar.schema import Schema
from feldspar.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Resampling: TypeAlias = Literal["bootstrap", "subsample"]
_RESAMPLINGS = ("bootstrap", "subsample")
_SHOWN_EDGES = 40


@dataclass(frozen=True, eq=False)
class EdgeStability:
    """How often each edge was found.

    Attributes
    ----------
    schema : Schema
    n : int
        How many networks were learned.
    frequencies : array of float64 of shape (n_variables, n_variables)
        The share of the networks with an edge between two variables; symmetric.
    """

    schema: Schema
    n: int
    frequencies: npt.NDArray[np.float64]

    def edges(self, threshold: float = 0.0) -> list[tuple[str, str, float]]:
        """Return the edges with a frequency above a threshold, the most frequent first."""
        names = self.schema.names
        first, second = np.nonzero(np.triu(self.frequencies > threshold, k=1))
        found = [
            (names[i], names[j], float(self.frequencies[i, j]))
            for i, j in zip(first.tolist(), second.tolist(), strict=True)
        ]
        return sorted(found, key=lambda edge: -edge[2])  # stable: then in the order of the schema

    def to_frame(self, threshold: float = 0.0) -> Any:
        """Return the edges as a pandas data frame: ``first``, ``second``, ``frequency``."""
        import pandas as pd

        return pd.DataFrame(self.edges(threshold), columns=["first", "second", "frequency"])

    def plot(self, *, top: int = _SHOWN_EDGES, ax: Axes | None = None) -> Axes:
        """Draw the most frequent edges as bars.

        Needs matplotlib (the extra ``plot``).
        """
        from feldspar.plotting import draw_frequencies

        edges = self.edges()[: core_int("top", top)]
        bars = [(f"{first} – {second}", frequency) for first, second, frequency in edges]
        return draw_frequencies(bars, xlabel=f"share of {self.n} networks with the edge", ax=ax)


def stability_selection(
    learner: MarkovLearner,
    X: object,
    n: int = 100,
    *,
    X_valid: object = None,
    sample_weight: npt.ArrayLike | None = None,
    resampling: Resampling = "bootstrap",
    random_state: RandomState = 0,
    verbose: bool = False,
) -> EdgeStability:
    """Learn networks from resampled rows and count in how many of them each edge is.

    Parameters
    ----------
    learner : a learner of Markov networks
        It is copied for each sample and itself left as it is. A learner with nothing to tune is
        fastest: say, with the settings that a tuned one has found (``best_params_``). Ctrl-C ends
        everything, whatever its ``on_interrupt``.
    X : table, frame or array
        Rows; of those with gaps a part is used, as in ``fit``.
    n : int
        Number of networks.
    X_valid : table, frame or array, optional
        For learners that tune; the same for all.
    sample_weight : array of float, optional
        How much each row of ``X`` counts.
    resampling : {"bootstrap", "subsample"}
        As many rows drawn with replacement, or half of the rows drawn without. Rows drawn several
        times are never divided between training and validation.
    random_state : int, numpy.random.Generator or numpy.random.RandomState, optional
    verbose : bool
        Show progress on a terminal.

    References
    ----------
    N. Meinshausen and P. Buehlmann. Stability selection. Journal of the Royal Statistical Society,
    Series B 72 (2010).

    Examples
    --------
    >>> import feldspar as fs
    >>> digits = fs.datasets.load("digits")
    >>> learner = fs.L1Neighborhood(C=0.05, rule="and", prior_sd=1.0)
    >>> stability = fs.stability_selection(learner, digits.valid, n=5)
    >>> first, second, frequency = stability.edges()[0]
    >>> frequency
    1.0
    """
    count = core_int("n", n)
    if count < 1:
        raise ValueError(f"n: expected at least 1 network, got {n}")
    one_of("resampling", resampling, _RESAMPLINGS)
    if not isinstance(learner, MarkovLearner):
        raise TypeError(
            f"learner: expected a learner of Markov networks, got {type(learner).__name__}"
        )
    table = counted_rows(Table.of(X, sample_weight=sample_weight))
    random = generator(random_state)
    found = np.zeros((len(table.schema), len(table.schema)))
    if table.has_missing:
        warn_user(
            f"X has {gaps(table)}; rows with gaps are learned from in part",
            MissingValuesWarning,
        )
    with progress_bar("stability", shown=verbose) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingValuesWarning)  # once for all is enough
        for done in range(count):
            drawn = _draw(random, len(table), resampling)
            # A network that Ctrl-C left half learned is none to count.
            copy = clone(learner).set_params(on_interrupt="raise")
            fitted = copy.fit(table, X_valid=X_valid, sample_weight=drawn)
            found += edge_matrix(fitted.network_)
            if progress is not None:
                progress("networks", done + 1, count, float("nan"))
    return EdgeStability(table.schema, count, found / count)


def edge_matrix(network: MarkovNetwork) -> npt.NDArray[np.bool_]:
    """Return which pairs of variables share a feature of non-zero weight."""
    from scipy.sparse import csr_array

    begin, variables, _, _ = network.features._core.flatten()
    shape = (len(network.features), len(network.schema))
    tests = csr_array((np.ones(len(variables), dtype=np.int64), variables, begin), shape=shape)
    tests = tests[np.flatnonzero(network.weights)]
    shared: npt.NDArray[np.bool_] = (tests.T @ tests).toarray() > 0
    np.fill_diagonal(shared, False)
    return shared


def _draw(
    random: np.random.Generator | np.random.RandomState, n_rows: int, resampling: str
) -> npt.NDArray[np.float64]:
    """Return how often each row is drawn."""
    if resampling == "subsample":
        drawn = random.permutation(n_rows)[: (n_rows + 1) // 2]
    else:
        drawn = random.choice(n_rows, n_rows)
    return np.bincount(drawn, minlength=n_rows).astype(np.float64)
