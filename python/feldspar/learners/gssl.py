"""GSSL: features generated at random, selected by an L1 penalty (Van Haaren and Davis 2012)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from feldspar import _core
from feldspar._progress import progress_bar
from feldspar._random import RandomState, core_seed
from feldspar.features import FeatureSet, core_float, core_int
from feldspar.learners._base import MarkovLearner, one_of
from feldspar.learners._search import Search, carried_over
from feldspar.network import MarkovNetwork
from feldspar.weights import OnInterrupt

Initial: TypeAlias = Literal["positive", "full"]
INITIALS: tuple[Initial, ...] = ("positive", "full")
Tuning: TypeAlias = Literal["staged", "grid"]
TUNINGS: tuple[Tuning, ...] = ("staged", "grid")

Penalties: TypeAlias = list[tuple[float | None, float]]


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
        Which settings are tried. ``"grid"``: all combinations, as in the paper. ``"staged"``: each
        feature set (``n_generated``, ``threshold``, ``initial``) with the middle values of
        ``prior_sd`` and ``l1``; then all penalties for the best of the feature sets.
    ...

    Notes
    -----
    The network has the features of non-zero weight only. Feature sets are tried from small to
    large, each starting from the weights of the one before. Equal feature sets are tried once.

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

    _quick: ClassVar[Mapping[str, Any]] = {"n_generated": (1000, 2000)}
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
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.on_interrupt = on_interrupt

    def _search(self, search: Search) -> None:
        tuning = one_of("tuning", self.tuning, TUNINGS)
        penalties = self._penalties()
        middle = self._middle_penalty()
        first = [middle] if tuning == "staged" else penalties
        best: tuple[float, FeatureSet, dict[str, object]] | None = None
        last: MarkovNetwork | None = None
        for features, params in self._feature_sets(search):
            if search.clock.is_over and search.network is not None:
                return
            start = carried_over(last, features)
            tried = len(search.trials)
            last = self._select(search, features, params, first, start)[-1]
            scores = [row["valid_pll"] for row in search.trials[tried:]]
            if scores and (best is None or (scores[0] is not None and max(scores) > best[0])):
                best = (-np.inf if scores[0] is None else max(scores), features, params)
        rest = [penalty for penalty in penalties if penalty not in first]
        if best is None or not rest or search.clock.is_over:
            return
        start = carried_over(search.network, best[1])
        self._select(search, best[1], best[2], rest, start)

    def _penalties(self) -> Penalties:
        return list(product(self._choices("prior_sd"), self._choices("l1")))

    def _middle_penalty(self) -> tuple[float | None, float]:
        sds, l1s = self._choices("prior_sd"), self._choices("l1")
        return sds[len(sds) // 2], l1s[len(l1s) // 2]

    def _select(
        self,
        search: Search,
        features: FeatureSet,
        params: dict[str, object],
        penalties: Penalties,
        start: npt.NDArray[np.float64] | None,
    ) -> list[MarkovNetwork]:
        return search.select_features(
            features,
            params,
            self._weight_settings().with_priors([sd for sd, _ in penalties]),
            l1=[strength for _, strength in penalties],
            initial_weights=start,
        )

    def _feature_sets(self, search: Search) -> Iterator[tuple[FeatureSet, dict[str, object]]]:
        """Generate the distinct feature sets to try: for each kind of examples, growing ones."""
        initials = [one_of("initial", initial, INITIALS) for initial in self._choices("initial")]
        sizes = sorted({core_int("n_generated", n) for n in self._choices("n_generated")})
        thresholds = sorted({core_int("threshold", t) for t in self._choices("threshold")})
        for name, least, numbers in (("n_generated", 1, sizes), ("threshold", 0, thresholds)):
            if numbers[0] < least:
                raise ValueError(f"{name}: expected at least {least}, got {numbers[0]}")
        for strength in self._choices("l1"):
            core_float("l1", strength)
        seed = core_seed(self.random_state)
        for initial in initials:
            started = time.perf_counter()
            with (
                search.clock.stage("structure"),
                progress_bar("features", shown=self.verbose) as progress,
            ):
                generated = _core.generate_features(
                    search.data.dataset,
                    initial == "positive",
                    sizes,
                    thresholds[::-1],
                    seed,
                    progress,
                )
            seconds = time.perf_counter() - started
            # A set is part of those of smaller thresholds, and of the same threshold and larger
            # sizes: with as many features it is the same.
            smaller_size = dict.fromkeys(thresholds, -1)
            for size, by_threshold in zip(sizes, generated, strict=True):
                larger_threshold = -1
                for threshold, core in zip(thresholds[::-1], by_threshold, strict=True):
                    params: dict[str, object] = {
                        "initial": initial,
                        "n_generated": size,
                        "threshold": threshold,
                    }
                    search.add_structure_trial(
                        params, valid_pll=None, n_features=len(core), seconds=seconds
                    )
                    seconds = 0.0  # one run makes them all
                    parts = (larger_threshold, smaller_size[threshold])
                    larger_threshold = smaller_size[threshold] = len(core)
                    if len(core) not in parts:
                        yield FeatureSet._of_core(search.data.train.schema, core), params
