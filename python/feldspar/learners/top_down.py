"""Top-down induction of features (Della Pietra, Della Pietra and Lafferty 1997)."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, product
from typing import Any, ClassVar

from feldspar import _core
from feldspar._jobs import resolve_jobs
from feldspar._progress import progress_bar
from feldspar._random import RandomState
from feldspar.features import FeatureSet, core_float, core_int
from feldspar.learners._base import MarkovLearner, one_of
from feldspar.learners._race import Contender
from feldspar.learners._search import Search
from feldspar.network import MarkovNetwork
from feldspar.weights import OnInterrupt


class TopDown(MarkovLearner):
    """Learns a Markov network by conjoining its features, the most useful first.

    The network starts with the features of single variables. In each round, every feature is
    conjoined with every other, and the conjunctions that gain most are added, as long as they gain
    more than ``alpha`` for each of their tests: in the penalised PLL of the training rows, all
    other weights held fixed. Only conjunctions that hold on some training row are candidates. All
    weights are relearned after each round.

    Parameters
    ----------
    alpha : float or sequence of float
        What a test costs, in units of log-likelihood (a sum over rows). Larger is simpler.
    additions : int or sequence of int
        Most features that a round adds; 1 is the original algorithm. Each must still gain in the
        network with those added before it.
    tests : {"positive", "full"} or a sequence of both
        What features are conjoined with, besides each other: tests of all values but the first
        (of what is there, in sparse data), as in the papers, or of every value. Values that
        exclude each other, such as indicators of one thing, need the second: no row shows them
        together, but rows show one without the other. It takes longer.
    prior_sd : float, None or sequence of them
        Standard deviation of the Gaussian prior on each weight, in the search and after it.
    exhaustive : bool
        Try every alpha, and learn all weights to the tolerance. If not, alphas smaller than one
        that made things worse for certain are skipped; ``trials_`` tells which.
    ...

    References
    ----------
    S. Della Pietra, V. Della Pietra and J. Lafferty. Inducing features of random fields. IEEE
    Transactions on Pattern Analysis and Machine Intelligence 19 (1997).

    J. Davis and P. Domingos. Bottom-up learning of Markov network structure. ICML 2010.

    Examples
    --------
    >>> import feldspar as fs
    >>> digits = fs.datasets.load("digits")
    >>> learner = fs.TopDown(alpha=30.0, additions=20).fit(digits.train)
    >>> len(learner.network_.features) > 64, learner.best_params_
    (True, {'alpha': 30.0, 'additions': 20, 'tests': 'positive', 'prior_sd': 1.0})
    """

    _quick: ClassVar[Mapping[str, Any]] = {"alpha": 10.0, "additions": 20}
    _tuned: ClassVar[tuple[str, ...]] = ("alpha", "additions", "tests", "prior_sd")

    def __init__(
        self,
        *,
        alpha: float | Sequence[float] = (10.0, 3.0, 1.0, 0.3),
        additions: int | Sequence[int] = 10,
        tests: str | Sequence[str] = "positive",
        prior_sd: float | Sequence[float | None] | None = 1.0,
        max_iterations: int = 1000,
        tolerance: float = 1e-5,
        exhaustive: bool = False,
        time_limit: float | None = None,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
        on_interrupt: OnInterrupt = "return",
    ) -> None:
        self.alpha = alpha
        self.additions = additions
        self.tests = tests
        self.prior_sd = prior_sd
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.exhaustive = exhaustive
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.on_interrupt = on_interrupt

    def _search(self, search: Search) -> None:
        alphas = sorted({core_float("alpha", a) for a in self._choices("alpha")}, reverse=True)
        paths = [
            [
                {"alpha": alpha, "additions": additions, "tests": tests, "prior_sd": sd}
                for alpha in alphas
            ]
            for additions, tests, sd in product(
                self._choices("additions"), self._choices("tests"), self._choices("prior_sd")
            )
        ]
        for setting in chain.from_iterable(paths):
            self._options(setting)  # refuses what is wrong before a search begins
        for path in paths:
            search.walk(
                path, partial(self._conjoin, search), search.skip, exhaustive=self.exhaustive
            )

    def _conjoin(self, search: Search, setting: dict[str, Any]) -> list[Contender]:
        """Search with one setting and learn the weights of what is found."""
        started = time.perf_counter()
        with search.clock.stage("structure"):
            network, status = self._run(search, self._options(setting))
        search.add_structure_trial(
            setting,
            valid_pll=None,
            n_features=len(network.features),
            seconds=time.perf_counter() - started,
        )
        if status == "interrupted":
            search.offer(network, setting, n_jobs=self.n_jobs)
            raise KeyboardInterrupt
        return search.learn_weights(
            network.features,
            {name: setting[name] for name in ("alpha", "additions", "tests")},
            self._weight_settings().with_priors([setting["prior_sd"]]),
            initial_weights=network.weights,
        )

    def _options(self, setting: dict[str, Any]) -> _core.TopDownOptions:
        options = _core.TopDownOptions()
        options.alpha = core_float("alpha", setting["alpha"])
        options.additions = core_int("additions", setting["additions"])
        options.positive = one_of("tests", setting["tests"], ("positive", "full")) == "positive"
        sd = setting["prior_sd"]
        options.prior_sd = math.inf if sd is None else core_float("prior_sd", sd)
        weights = _core.FitWeightsOptions()
        weights.max_iterations = core_int("max_iterations", self.max_iterations)
        weights.tolerance = core_float("tolerance", self.tolerance)
        options.weights = weights
        return options

    def _run(
        self, search: Search, options: _core.TopDownOptions
    ) -> tuple[MarkovNetwork, _core.SearchStatus]:
        """Run one search to its end, or to that of the time; return what it has reached."""
        threads = resolve_jobs(self.n_jobs)
        core = _core.TopDownSearch(search.data.dataset, options)
        status: _core.SearchStatus = "advanced"
        try:
            with progress_bar("conjoining", shown=self.verbose) as progress:
                while status == "advanced":
                    left = search.clock.seconds_left
                    status = core.advance(math.inf if left is None else left, threads, progress)
        except KeyboardInterrupt:  # between two rounds; within one the status tells
            status = "interrupted"
        features = FeatureSet._of_core(search.data.train.schema, core.features)
        return MarkovNetwork(features, core.weights), status
