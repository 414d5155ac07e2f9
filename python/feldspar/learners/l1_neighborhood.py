"""Neighbourhood selection by L1-penalised logistic regression (Ravikumar et al. 2010)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, TypeAlias

from feldspar import _core
from feldspar._random import RandomState
from feldspar.features import FeatureSet, core_float
from feldspar.learners._base import PRIOR_SDS, MarkovLearner, one_of
from feldspar.learners._logistic import (
    C_VALUES,
    JoinedPath,
    PathSettings,
    ascending,
    fit_one_by_one,
    fit_path,
    has_weights,
)
from feldspar.learners._race import Contender
from feldspar.learners._search import Search, WeightSettings
from feldspar.weights import OnInterrupt

Rule: TypeAlias = Literal["or", "and"]
RULES: tuple[Rule, ...] = ("or", "and")
SELECTIONS = ("validation", "ebic")
Selection = Literal["validation", "ebic"]


class L1Neighborhood(MarkovLearner):
    """Learns a pairwise Markov network: which variables interact, then the weights.

    Each variable is predicted from all the others by L1-penalised logistic regression; variables
    with non-zero weights are its neighbours. Two variables are joined if either is the other's
    neighbour (``"or"``) or both are (``"and"``). The network has a feature for each non-zero value
    and, per edge, for each pair of non-zero values.

    Parameters
    ----------
    C : float or sequence of float
        What the loss counts against the L1 penalty: ``C * loss + sum(abs(w))``. Smaller is sparser.
        Tried from small to large; once a larger one has made the network worse for certain, those
        still larger are skipped.
    rule : {"or", "and"} or a sequence of both
        When two variables are joined.
    prior_sd : float, None or sequence of them
        Standard deviation of the Gaussian prior on the network's weights.
    selection : {"validation", "ebic"}
        How ``C`` is chosen: one for all variables by the validation PLL of the network, or one for
        each variable by the extended Bayesian information criterion on the training data.
    gamma : float
        Of the EBIC: how much it counts that there are many predictors to choose from; 0 is the BIC.
    solver : {"coordinate", "owlqn"}
        Of the regressions. Both find the same weights; the first is faster, and leaves variables of
        many values to the second.
    exhaustive : bool
        Try every setting, and learn all weights to the tolerance. If not, settings that cannot be
        the best any more are given up early; ``trials_`` tells which.
    ...

    References
    ----------
    P. Ravikumar, M. J. Wainwright and J. D. Lafferty. High-dimensional Ising model selection using
    L1-regularized logistic regression. Annals of Statistics 38 (2010).
    C. D. van Borkulo et al. A new method for constructing networks from binary data. Scientific
    Reports 4 (2014), for the EBIC.

    Examples
    --------
    >>> import feldspar as fs
    >>> digits = fs.datasets.load("digits")
    >>> learner = fs.L1Neighborhood(C=[0.01, 0.1], rule="and", prior_sd=1.0)
    >>> learner = learner.fit(digits.train, X_valid=digits.valid)
    >>> learner.best_params_["C"]
    0.1
    """

    _tuned: ClassVar[tuple[str, ...]] = ("C", "rule", "prior_sd")

    def __init__(
        self,
        *,
        C: float | Sequence[float] = C_VALUES,
        rule: str | Sequence[str] = RULES,
        prior_sd: float | Sequence[float | None] | None = PRIOR_SDS,
        selection: Selection = "validation",
        gamma: float = 0.25,
        solver: str = "coordinate",
        max_iterations: int = 1000,
        tolerance: float = 1e-5,
        exhaustive: bool = False,
        time_limit: float | None = None,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
        on_interrupt: OnInterrupt = "return",
    ) -> None:
        self.C = C
        self.rule = rule
        self.prior_sd = prior_sd
        self.selection = selection
        self.gamma = gamma
        self.solver = solver
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.exhaustive = exhaustive
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.on_interrupt = on_interrupt

    def _has_choice(self) -> bool:
        chosen_by_rows = ("rule", "prior_sd") if self.selection == "ebic" else self._tuned
        return any(len(self._choices(name)) > 1 for name in chosen_by_rows)

    def _search(self, search: Search) -> None:
        one_of("selection", self.selection, SELECTIONS)
        rules = [one_of("rule", rule, RULES) for rule in self._choices("rule")]
        settings = self._weight_settings()
        path_settings = PathSettings(
            C=self._choices("C"), solver=self.solver, n_jobs=self.n_jobs, verbose=self.verbose
        )
        graphs = _Graphs(search, rules, settings)
        if self.selection == "ebic":
            gamma = core_float("gamma", self.gamma)
            path = fit_path(search, path_settings)
            graphs.learn(path, path.choose_by_ebic(gamma), {"gamma": gamma})
            return
        regressions = fit_one_by_one(search, path_settings)

        def attempt(setting: dict[str, Any]) -> list[Contender]:
            path = next(regressions)
            tries = graphs.learn(path.core, [0] * len(search.data.train.schema), setting)
            return tries if has_weights(path.core) else []

        values = [{"C": value} for value in ascending(path_settings)]
        search.walk(values, attempt, search.skip, exhaustive=self.exhaustive)


class _Graphs:
    """Learns the weights of graphs, of each once."""

    def __init__(self, search: Search, rules: Sequence[Rule], settings: WeightSettings) -> None:
        self._search = search
        self._rules = rules
        self._settings = settings
        self._known: set[bytes] = set()
        self._last: list[Contender] = []  # of the graph before, which has most edges in common

    def learn(
        self, path: _core.L1Path | JoinedPath, choice: list[int], params: dict[str, Any]
    ) -> list[Contender]:
        """Learn the weights for each rule, the C of each variable being chosen."""
        search = self._search
        tries: list[Contender] = []
        for rule in self._rules:
            if search.clock.is_over and search.network is not None:
                break
            started = time.perf_counter()
            with search.clock.stage("structure"):
                graph = b"".join(ends.tobytes() for ends in path.edges(choice, rule))
                core = path.features_by_choice(choice, rule)
                features = FeatureSet._of_core(search.data.train.schema, core)
            own = {**params, "rule": rule}
            search.add_structure_trial(
                own,
                valid_pll=None,
                n_features=len(features),
                seconds=time.perf_counter() - started,
            )
            # Neighbouring values of C, and both rules, often give the same graph.
            if graph not in self._known:
                self._known.add(graph)
                self._last = search.learn_weights(features, own, self._settings, similar=self._last)
                tries += self._last
        return tries
