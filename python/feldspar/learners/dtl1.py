"""DT+L1: the union of tree features and pairwise features (Lowd and Davis 2014)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from feldspar._random import RandomState
from feldspar.learners._base import PRIOR_SDS, MarkovLearner, part
from feldspar.learners._search import Search
from feldspar.learners.dtsl import DTSL
from feldspar.learners.l1_neighborhood import L1Neighborhood
from feldspar.network import MarkovNetwork
from feldspar.weights import OnInterrupt


class DTL1(MarkovLearner):
    """Learns with DTSL and with L1 neighbourhoods, and relearns the weights of both together.

    Trees find interactions of many variables; L1 finds many weak pairwise ones. Their union is
    often better than either. ``time_limit`` is for all three steps together, the steps' own limits
    hold besides; ``n_jobs`` and ``verbose`` hold for all of them.

    Parameters
    ----------
    dtsl : DTSL, optional
        How the trees are learned and tuned; ``DTSL()`` if left out.
    l1 : L1Neighborhood, optional
        How the neighbourhoods are learned and tuned; ``L1Neighborhood()`` if left out.
    prior_sd : float, None or sequence of them
        Standard deviation of the Gaussian prior on the weights of the union.
    exhaustive : bool
        Learn the weights of every setting to the tolerance. If not, those of settings that cannot
        be the best any more are given up early; ``trials_`` tells which.
    ...

    Attributes
    ----------
    dtsl_network_, l1_network_ : MarkovNetwork
        The best network of each step.

    References
    ----------
    D. Lowd and J. Davis. Improving Markov network structure learning using decision trees.
    Journal of Machine Learning Research 15 (2014).

    Examples
    --------
    >>> import feldspar as fs
    >>> digits = fs.datasets.load("digits")
    >>> learner = fs.DTL1(
    ...     dtsl=fs.DTSL(kappa=0.01, conversion="prune-5", prior_sd=1.0),
    ...     l1=fs.L1Neighborhood(C=0.1, rule="and", prior_sd=1.0),
    ...     prior_sd=[1.0, 0.1],
    ... )
    >>> network = learner.fit(digits.train, X_valid=digits.valid).network_
    >>> len(network.features) > len(learner.dtsl_network_.features)
    True
    """

    def __init__(
        self,
        *,
        dtsl: DTSL | None = None,
        l1: L1Neighborhood | None = None,
        prior_sd: float | Sequence[float | None] | None = PRIOR_SDS,
        max_iterations: int = 1000,
        tolerance: float = 1e-5,
        exhaustive: bool = False,
        time_limit: float | None = None,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
        on_interrupt: OnInterrupt = "return",
    ) -> None:
        self.dtsl = dtsl
        self.l1 = l1
        self.prior_sd = prior_sd
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.exhaustive = exhaustive
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.on_interrupt = on_interrupt

    def _steps(self) -> dict[str, MarkovLearner]:
        """Return copies of both learners that run as this one does."""
        steps: dict[str, MarkovLearner] = {
            "dtsl": part("dtsl", self.dtsl, DTSL()),
            "l1": part("l1", self.l1, L1Neighborhood()),
        }
        for step in steps.values():
            step.set_params(n_jobs=self.n_jobs, verbose=self.verbose)
            if self.exhaustive:
                step.set_params(exhaustive=True)
        return steps

    def _has_choice(self) -> bool:
        return super()._has_choice() or any(s._has_choice() for s in self._steps().values())

    def _search(self, search: Search) -> None:
        best: dict[str, MarkovNetwork] = {}
        params: dict[str, object] = {}
        for name, step in self._steps().items():
            own = step._search_as_part(search, name)
            assert own.network is not None
            best[name] = own.network
            params[name] = own.params
        self.dtsl_network_, self.l1_network_ = best["dtsl"], best["l1"]
        union = best["dtsl"].features | best["l1"].features
        start = np.zeros(len(union))
        start[: len(best["dtsl"].features)] = best["dtsl"].weights
        search.learn_weights(union, params, self._weight_settings(), initial_weights=start)
