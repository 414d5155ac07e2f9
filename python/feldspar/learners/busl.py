"""BUSL for propositional data: blankets by tests, then features by gain (Mihalkova and Mooney)."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from feldspar import _core
from feldspar._jobs import resolve_jobs
from feldspar._progress import progress_bar
from feldspar._random import RandomState
from feldspar.features import FeatureSet, core_float, core_int
from feldspar.learners._base import MarkovLearner, one_of
from feldspar.learners._search import Search
from feldspar.learners.l1_neighborhood import RULES
from feldspar.network import MarkovNetwork
from feldspar.weights import OnInterrupt

TESTS = ("g", "chi2")


class BUSL(MarkovLearner):
    """Learns which variables interact by tests, and then which conjunctions of them to add.

    Tests of conditional independence find the Markov blanket of each variable (Grow-Shrink). The
    blankets make a graph; candidates are the conjunctions of non-zero values of variables that are
    all joined to each other. Starting from independent variables, those that gain most are added,
    all weights are learned anew, and so on until none gains enough; with rows to choose by, the
    round that predicts them best is kept. A baseline: simple, and blind to interactions that no
    pair of variables shows.

    Parameters
    ----------
    alpha : float or sequence of float
        Variables are dependent where the test's p is below this.
    rule : {"and", "or"} or a sequence of both
        Two variables are joined if each is in the other's blanket, or if either is.
    prior_sd : float, None or sequence of them
        Standard deviation of the Gaussian prior on each weight; ``None`` for no prior.
    min_gain : float
        What a feature must add to the penalised pseudo-log-likelihood of all rows together, the
        other weights held fixed.
    max_length : int
        Most variables in a feature.
    min_support : float
        Least number (or weight) of rows on which a feature holds.
    test : {"g", "chi2"}
        The likelihood-ratio test, or Pearson's.
    min_weight_per_degree : float
        A test with fewer rows (or less weight) for each degree of freedom does not judge, and the
        variables count as independent.
    max_blanket : int
        Most variables in a blanket.
    max_additions : int
        How many features are added between two relearnings of all weights.
    ...

    Attributes
    ----------
    blankets_ : dict of float to list of tuple of int
        For each ``alpha`` the blanket that was found for each variable, before they were made
        consistent.

    References
    ----------
    L. Mihalkova and R. J. Mooney. Bottom-up learning of Markov logic network structure. Proceedings
    of the 24th International Conference on Machine Learning (2007).
    D. Margaritis and S. Thrun. Bayesian network induction via local neighborhoods. Advances in
    Neural Information Processing Systems 12 (1999), for Grow-Shrink.

    Examples
    --------
    >>> import feldspar as fs
    >>> digits = fs.datasets.load("digits")
    >>> learner = fs.BUSL(alpha=0.001, rule="and", prior_sd=1.0, max_length=2)
    >>> learner = learner.fit(digits.train)
    >>> learner.network_.markov_blanket("p34")
    ('p24', 'p33', 'p44', 'digit')
    """

    _tuned: ClassVar[tuple[str, ...]] = ("alpha", "rule", "prior_sd")

    def __init__(
        self,
        *,
        alpha: float | Sequence[float] = (0.05, 0.01, 0.001),
        rule: str | Sequence[str] = RULES,
        prior_sd: float | Sequence[float | None] | None = 1.0,
        min_gain: float = 3.0,
        max_length: int = 3,
        min_support: float = 10.0,
        test: str = "g",
        min_weight_per_degree: float = 5.0,
        max_blanket: int = 20,
        max_additions: int = 100,
        max_iterations: int = 1000,
        tolerance: float = 1e-5,
        time_limit: float | None = None,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
        on_interrupt: OnInterrupt = "return",
    ) -> None:
        self.alpha = alpha
        self.rule = rule
        self.prior_sd = prior_sd
        self.min_gain = min_gain
        self.max_length = max_length
        self.min_support = min_support
        self.test = test
        self.min_weight_per_degree = min_weight_per_degree
        self.max_blanket = max_blanket
        self.max_additions = max_additions
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.on_interrupt = on_interrupt

    def _search(self, search: Search) -> None:
        self.blankets_: dict[float, list[tuple[int, ...]]] = {}
        rules = [one_of("rule", rule, RULES) for rule in self._choices("rule")]
        alphas = [core_float("alpha", alpha) for alpha in self._choices("alpha")]
        sds = [
            None if sd is None else core_float("prior_sd", sd) for sd in self._choices("prior_sd")
        ]
        tried: set[bytes] = set()
        for alpha in alphas:
            for rule in rules:
                if search.clock.is_over and search.network is not None:
                    return
                candidates, graph = self._candidates(search, alpha, rule)
                if graph in tried:  # both rules, and levels near each other, may agree
                    continue
                tried.add(graph)
                for prior_sd in sds:
                    params = {"alpha": alpha, "rule": rule}
                    self._add_greedily(search, candidates, params, prior_sd)

    def _candidates(self, search: Search, alpha: float, rule: str) -> tuple[FeatureSet, bytes]:
        """Return the conjunctions to choose from, and the graph that they come from."""
        started = time.perf_counter()
        with search.clock.stage("structure"):
            if alpha not in self.blankets_:
                with progress_bar("blankets", shown=self.verbose) as progress:
                    blankets = _core.grow_shrink(
                        search.data.dataset,
                        alpha,
                        one_of("test", self.test, TESTS),
                        core_float("min_weight_per_degree", self.min_weight_per_degree),
                        _positive("max_blanket", self.max_blanket),
                        resolve_jobs(self.n_jobs),
                        progress,
                    )
                self.blankets_[alpha] = [tuple(blanket) for blanket in blankets]
            edges = _core.consistent_edges([list(b) for b in self.blankets_[alpha]], rule)
            core = _core.clique_conjunctions(
                search.data.dataset,
                *edges,
                core_int("max_length", self.max_length),
                core_float("min_support", self.min_support),
            )
        search.add_structure_trial(
            {"alpha": alpha, "rule": rule},
            valid_pll=None,
            n_features=len(core),
            seconds=time.perf_counter() - started,
        )
        graph = b"".join(ends.tobytes() for ends in edges)
        return FeatureSet._of_core(search.data.train.schema, core), graph

    def _add_greedily(
        self, search: Search, candidates: FeatureSet, params: dict[str, Any], prior_sd: float | None
    ) -> None:
        # Every round goes on from the weights of the last, so that none is left unfinished.
        settings = replace(self._weight_settings(), prior_sd=[prior_sd], exhaustive=True)
        features = FeatureSet.conjunctions(search.data.train, order=1)
        tries = search.learn_weights(features, params, settings)
        if not tries:  # the time is over
            return
        network = tries[0].network
        left = np.ones(len(candidates), dtype=np.bool_)
        while left.any() and not search.clock.is_over:
            with search.clock.stage("structure"):
                pool = candidates.select(left)
                chosen, weights = self._best_additions(search, network, pool, prior_sd)
                if not len(chosen):
                    return
                added = np.zeros(len(pool), dtype=np.bool_)
                added[chosen] = True
                start = np.zeros(len(pool))
                start[chosen] = weights
                left[np.flatnonzero(left)[chosen]] = False
                features = network.features | pool.select(added)
            tries = search.learn_weights(
                features,
                params,
                settings,
                initial_weights=np.concatenate([network.weights, start[added]]),
            )
            if not tries:
                return
            network = tries[0].network

    def _best_additions(
        self, search: Search, network: MarkovNetwork, pool: FeatureSet, prior_sd: float | None
    ) -> tuple[Any, Any]:
        with progress_bar("additions", shown=self.verbose) as progress:
            chosen, weights, _ = _core.best_additions(
                search.data.dataset,
                network._core,
                pool._core,
                math.inf if prior_sd is None else prior_sd,
                core_float("min_gain", self.min_gain),
                _positive("max_additions", self.max_additions),
                resolve_jobs(self.n_jobs),
                progress,
            )
        return chosen, weights


def _positive(name: str, value: int) -> int:
    number = core_int(name, value)
    if number < 1:
        raise ValueError(f"{name}: expected at least 1, got {value}")
    return number
