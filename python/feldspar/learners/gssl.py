"""GSSL: features generated at random, selected by an L1 penalty (Van Haaren and Davis 2012)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, ClassVar, Literal, TypeAlias

from feldspar import _core
from feldspar._progress import progress_bar
from feldspar._random import RandomState, core_seed
from feldspar.features import FeatureSet, core_float, core_int
from feldspar.learners._base import MarkovLearner, one_of
from feldspar.learners._race import Contender
from feldspar.learners._search import (
    Search,
    Step,
    WeightSettings,
    carried_over,
    narrowest_first,
)
from feldspar.network import MarkovNetwork
from feldspar.weights import OnInterrupt, PseudoLikelihood

Initial: TypeAlias = Literal["positive", "full"]
INITIALS: tuple[Initial, ...] = ("positive", "full")
Tuning: TypeAlias = Literal["staged", "grid"]
TUNINGS: tuple[Tuning, ...] = ("staged", "grid")

Penalty: TypeAlias = tuple[float | None, float]  # prior_sd and l1


class GSSL(MarkovLearner):
    """Learns a Markov network from random generalisations of the examples.

    Each distinct example is a long conjunction. A conjunction is drawn, some of its tests are
    dropped, and the result is put beside the others, to be drawn in turn; that is done millions of
    times. What was generated often is likely to be frequent in the data: conjunctions generated
    more than ``threshold`` times become features, and an L1 penalty on the weights selects among
    them. Nothing is searched for; nearly all of the time goes into learning weights.

    Parameters
    ----------
    n_generated : int or sequence of int
        How many conjunctions to generate, equal ones counted each time.
    threshold : int or sequence of int
        A conjunction generated more often than this is a feature.
    initial : {"positive", "full"} or a sequence of both
        What an example becomes: a test for each variable whose value is not 0 (the first value), or
        one for each variable.
    prior_sd : float, None or sequence of them
        Standard deviation of the Gaussian prior on each weight; ``None`` for no prior.
    l1 : float or sequence of float
        Strength of the L1 penalty, which holds besides the prior.
    tuning : {"staged", "grid"}
        Which settings are tried. ``"grid"``: all penalties for each feature set (``n_generated``,
        ``threshold``, ``initial``), as in the paper. ``"staged"``: the middle values of
        ``prior_sd`` and ``l1`` for each; then all penalties for the best of the feature sets.
    exhaustive : bool
        Leave nothing out. If not, larger numbers, smaller thresholds, wider priors and weaker L1
        penalties are skipped once one of them has made things worse; ``trials_`` tells which.
    ...

    Notes
    -----
    The network has the features of non-zero weight only. Feature sets are tried from small to
    large, each starting from the weights of the one before; of several kinds of ``initial``
    features, the one whose smallest set does best comes first. Equal feature sets are tried once.
    The time limit does not cut generation short: that of the first kind of ``initial`` features is
    always finished; a kind whose turn comes after the limit is left out.

    References
    ----------
    J. Van Haaren and J. Davis. Markov network structure learning: a randomized feature generation
    approach. Proceedings of the 26th AAAI Conference on Artificial Intelligence (2012).

    Examples
    --------
    >>> import feldspar as fs
    >>> digits = fs.datasets.load("digits")
    >>> learner = fs.GSSL(n_generated=20_000, threshold=[5, 10], initial="positive", l1=5.0)
    >>> learner = learner.fit(digits.train, X_valid=digits.valid)
    >>> learner.best_params_["threshold"]
    5
    """

    _quick: ClassVar[Mapping[str, Any]] = {"n_generated": (2_000, 10_000)}
    _tuned: ClassVar[tuple[str, ...]] = ("n_generated", "threshold", "initial", "prior_sd", "l1")

    def __init__(
        self,
        *,
        n_generated: int | Sequence[int] = (500_000, 1_000_000, 2_000_000, 5_000_000),
        threshold: int | Sequence[int] = (1, 2, 5),
        initial: str | Sequence[str] = INITIALS,
        prior_sd: float | Sequence[float | None] | None = (0.1, 0.5, 1.0),
        l1: float | Sequence[float] = (1.0, 5.0, 10.0),
        tuning: str = "staged",
        max_iterations: int = 1000,
        tolerance: float = 1e-5,
        exhaustive: bool = False,
        time_limit: float | None = None,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
        on_interrupt: OnInterrupt = "return",
    ) -> None:
        self.n_generated = n_generated
        self.threshold = threshold
        self.initial = initial
        self.prior_sd = prior_sd
        self.l1 = l1
        self.tuning = tuning
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.exhaustive = exhaustive
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.on_interrupt = on_interrupt

    def _search(self, search: Search) -> None:
        tuning = one_of("tuning", self.tuning, TUNINGS)
        whole = self._penalties()
        penalties = [[self._middle_penalty()]] if tuning == "staged" else whole
        initials = [one_of("initial", word, INITIALS) for word in self._choices("initial")]
        selection = _Selection(search, self._weight_settings())
        generated: list[list[list[_FeatureSet]]] = []
        for initial in initials:
            if not (generated and search.clock.is_over):
                generated.append(self._feature_sets(search, initial))
        for chains in selection.most_promising_first(generated, penalties):
            selection.try_sets(chains, penalties)
        if tuning == "staged" and selection.best is not None and not search.clock.is_over:
            selection.try_penalties(selection.best, whole)

    def _penalties(self) -> list[list[Penalty]]:
        """Return, for each prior from the narrowest on, L1 penalties from the strongest on."""
        sds = self._choices("prior_sd")
        l1s = sorted({core_float("l1", l1) for l1 in self._choices("l1")}, reverse=True)
        return [[(sds[i], l1) for l1 in l1s] for i in narrowest_first(sds)]

    def _middle_penalty(self) -> Penalty:
        sds, l1s = self._choices("prior_sd"), self._choices("l1")
        return sds[len(sds) // 2], core_float("l1", l1s[len(l1s) // 2])

    def _feature_sets(self, search: Search, initial: Initial) -> list[list[_FeatureSet]]:
        """Generate the distinct feature sets: for each threshold from the largest on, growing."""
        sizes = sorted({core_int("n_generated", n) for n in self._choices("n_generated")})
        thresholds = sorted(
            {core_int("threshold", t) for t in self._choices("threshold")}, reverse=True
        )
        for name, least, smallest in (
            ("n_generated", 1, sizes[0]),
            ("threshold", 0, thresholds[-1]),
        ):
            if smallest < least:
                raise ValueError(f"{name}: expected at least {least}, got {smallest}")
        started = time.perf_counter()
        with (
            search.clock.stage("structure"),
            progress_bar("features", shown=self.verbose) as progress,
        ):
            generated = _core.generate_features(
                search.data.dataset,
                initial == "positive",
                sizes,
                thresholds,
                core_seed(self.random_state),
                progress,
            )
        seconds = time.perf_counter() - started
        # A set is part of those of smaller thresholds, and of the same threshold and larger sizes:
        # with as many features it is the same.
        chains: list[list[_FeatureSet]] = [[] for _ in thresholds]
        smaller_size = [-1] * len(thresholds)
        for size, by_threshold in zip(sizes, generated, strict=True):
            larger_threshold = -1
            for i, core in enumerate(by_threshold):
                params = {"initial": initial, "n_generated": size, "threshold": thresholds[i]}
                search.add_structure_trial(
                    params, valid_pll=None, n_features=len(core), seconds=seconds
                )
                seconds = 0.0  # one run makes them all
                if len(core) not in (larger_threshold, smaller_size[i]):
                    features = FeatureSet._of_core(search.data.train.schema, core)
                    chains[i].append(_FeatureSet(params, features))
                larger_threshold = smaller_size[i] = len(core)
        return chains


@dataclass(frozen=True, eq=False)
class _FeatureSet:
    """What was generated with a setting."""

    params: dict[str, Any]
    features: FeatureSet


class _Selection:
    """Tries feature sets and penalties, both from simple to complex, and knows the best set."""

    def __init__(self, search: Search, settings: WeightSettings) -> None:
        self._search = search
        self._settings = settings
        self._tried: dict[tuple[_FeatureSet, Penalty], list[Contender]] = {}
        self._last: dict[Initial, MarkovNetwork] = {}
        self.best: _FeatureSet | None = None

    def most_promising_first(
        self,
        generated: Sequence[Sequence[Sequence[_FeatureSet]]],
        penalties: Sequence[Sequence[Penalty]],
    ) -> list[Sequence[Sequence[_FeatureSet]]]:
        """Sort what several kinds of initial features came to by how the smallest set of each does.

        A time limit may end the search within the first of them.
        """
        if len(generated) == 1:
            return list(generated)

        def merit(chains: Sequence[Sequence[_FeatureSet]]) -> float:
            tries = self.try_penalties(chains[0][0], penalties)
            return max((t.valid_pll for t in tries if t.valid_pll is not None), default=-math.inf)

        return sorted(generated, key=merit, reverse=True)

    def try_sets(
        self, chains: Sequence[Sequence[_FeatureSet]], penalties: Sequence[Sequence[Penalty]]
    ) -> None:
        """Try feature sets with these penalties."""

        def skip(growing: Sequence[_FeatureSet]) -> None:
            for own in growing:
                self._skip(own, penalties)

        def attempt(growing: Sequence[_FeatureSet]) -> list[Contender]:
            return self._walk(
                growing,
                lambda own: self.try_penalties(own, penalties),
                lambda own: self._skip(own, penalties),
            )

        self._walk(chains, attempt, skip)

    def try_penalties(
        self, own: _FeatureSet, penalties: Sequence[Sequence[Penalty]]
    ) -> list[Contender]:
        """Try the penalties with a feature set, those that were not tried with it before."""

        @cache
        def likelihood() -> PseudoLikelihood:
            with self._search.clock.stage("weights"):
                return PseudoLikelihood._of_core(
                    own.features, self._search.data.for_weights, self._settings.n_jobs
                )

        def attempt(weakening: Sequence[Penalty]) -> list[Contender]:
            return self._walk(
                weakening,
                lambda penalty: self._select(own, likelihood, penalty),
                lambda penalty: self._skip(own, [[penalty]]),
            )

        return self._walk(penalties, attempt, lambda weakening: self._skip(own, [weakening]))

    def _select(
        self, own: _FeatureSet, likelihood: Callable[[], PseudoLikelihood], penalty: Penalty
    ) -> list[Contender]:
        if (own, penalty) in self._tried:
            return self._tried[own, penalty]
        sd, l1 = penalty
        initial = own.params["initial"]
        best_before = self._search.network
        tries = self._search.select_features(
            likelihood(),
            own.params,
            self._settings,
            prior_sd=sd,
            l1=l1,
            initial_weights=carried_over(self._last.get(initial), own.features),
        )
        self._tried[own, penalty] = tries
        self._last[initial] = tries[-1].network
        if self._search.network is not best_before:
            self.best = own
        return tries

    def _skip(self, own: _FeatureSet, penalties: Sequence[Sequence[Penalty]]) -> None:
        for sd, l1 in chain.from_iterable(penalties):
            if (own, (sd, l1)) not in self._tried:
                self._search.skip_weights(
                    {**own.params, "prior_sd": sd, "l1": l1}, n_features=len(own.features)
                )

    def _walk(
        self,
        path: Sequence[Step],
        attempt: Callable[[Step], list[Contender]],
        skip: Callable[[Step], None],
    ) -> list[Contender]:
        return self._search.walk(path, attempt, skip, exhaustive=self._settings.exhaustive)
