"""The baseline: every variable on its own."""

from __future__ import annotations

import time
from collections.abc import Sequence

from feldspar._random import RandomState
from feldspar.features import FeatureSet
from feldspar.learners._base import PRIOR_SDS, MarkovLearner
from feldspar.learners._search import Search
from feldspar.weights import OnInterrupt


class Independent(MarkovLearner):
    """Learns the network in which all variables are independent.

    It has a feature for each value but the first of each variable, and with them the marginal
    distributions of the variables. Whatever a structure learner finds, it should do better.

    Parameters
    ----------
    prior_sd : float, None or sequence of them
        Standard deviation of the Gaussian prior on each weight; ``None`` for no prior, and then
        the probabilities are the relative frequencies.
    ...

    Examples
    --------
    >>> import feldspar as fs
    >>> digits = fs.datasets.load("digits")
    >>> learner = fs.Independent(prior_sd=1.0).fit(digits.train)
    >>> learner.network_.markov_blanket("p34")
    ()
    """

    def __init__(
        self,
        *,
        prior_sd: float | Sequence[float | None] | None = PRIOR_SDS,
        max_iterations: int = 1000,
        tolerance: float = 1e-5,
        time_limit: float | None = None,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
        on_interrupt: OnInterrupt = "return",
    ) -> None:
        self.prior_sd = prior_sd
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.on_interrupt = on_interrupt

    def _search(self, search: Search) -> None:
        settings = self._weight_settings()
        started = time.perf_counter()
        with search.clock.stage("structure"):
            features = atoms(search)
        search.add_structure_trial(
            {},
            valid_pll=None,
            n_features=len(features),
            seconds=time.perf_counter() - started,
        )
        search.learn_weights(features, {}, settings)


def atoms(search: Search) -> FeatureSet:
    """Return the features of single values, but for each variable's first."""
    return FeatureSet.conjunctions(search.data.train, order=1)
