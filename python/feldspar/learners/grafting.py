"""L1-penalised likelihood with incremental feature introduction (Lee, Ganapathi, Koller 2007)."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from sklearn.exceptions import ConvergenceWarning

from feldspar import _core
from feldspar._caution import warn_user
from feldspar._jobs import resolve_jobs
from feldspar._progress import progress_bar
from feldspar._random import RandomState
from feldspar.features import Conjunction, FeatureSet, core_float, core_int, core_word
from feldspar.learners._base import MarkovLearner, one_of
from feldspar.learners._search import Search
from feldspar.weights import Inference, OnInterrupt, expectation_options, network_of_fit

Scheme: TypeAlias = Literal["gain", "grad", "simple"]
PenaltyName: TypeAlias = Literal["l1", "l2", "none"]
PENALTIES: tuple[PenaltyName, ...] = ("l1", "l2", "none")

# Gradients of features that do not matter are of the order of the square root of the number of
# rows; these are the multiples of it that are tried.
L1_FACTORS = (1.0, 0.5, 0.2, 0.1, 0.05)
# The least gradient that is worth a feature without L1, likewise.
GRADIENT_FACTOR = 0.5


@dataclass(frozen=True)
class GraftingCertificate:
    """How far a network is from the optimum over the whole pool.

    Attributes
    ----------
    threshold : float
        What gradients of features left out may have: the L1 penalty, or without one
        ``min_gradient``.
    largest_gradient : float
        The largest of them, in examples: how much the number of examples on which a feature holds
        differs from what the network expects. NaN where the run ended before it was computed.
    violation : float
        By how much it is above the threshold. At 0 (and with exact inference) no other network
        with features of the pool has a larger penalised likelihood.
    n_inactive : int
        Features of the pool that were left out.
    """

    threshold: float
    largest_gradient: float
    violation: float
    n_inactive: int


class Grafting(MarkovLearner):
    """Learns structure and weights together, by the penalised likelihood of a pool of features.

    Features of the pool enter the network a few at a time: the weights of those in it are learned
    by maximum likelihood, the gradients of all the others computed, and the best whose gradient is
    beyond the penalty introduced, until there are none. With ``penalty="l1"`` and exact inference
    the result is the optimum over the whole pool, whichever way features came in; features of
    weight 0 are left out. The penalty is annealed: it starts where nothing enters and falls to its
    value, so that several values of ``l1`` are one run.

    The features for single non-zero values are always in the network, without L1 penalty.
    Settings are chosen by the PLL of the validation rows.

    Parameters
    ----------
    scheme : {"gain", "grad", "simple"}
        By what features are introduced: how much each would gain on its own, the size of its
        gradient, or the mutual information of its variables.
    penalty : {"l1", "l2", "none"}
        L1, with ``prior_sd`` beside it; only the Gaussian prior; nothing.
    l1 : float or sequence of float, optional
        The L1 penalty, counted against the log-likelihood summed over rows. Left out:
        the square root of the number of rows times 1, 0.5, 0.2, 0.1 and 0.05.
    prior_sd : float, None or sequence of them
        Standard deviation of the Gaussian prior on each weight. Beside an L1 penalty it only
        keeps weights finite, those of values that never occur for one.
    features : FeatureSet or iterable of conjunctions, optional
        The pool. Left out: all pairs of non-zero values. A pool of pairs that
        :class:`L1Neighborhood` finds is a good choice where there are many variables.
    inference : {"auto", "exact", "bp", "gibbs"}
        Where expectations come from: exact where tables are small enough and else belief
        propagation, or one of them, or Gibbs samples.
    n_add : int
        How many features are introduced at a time.
    max_features : int, optional
        How many are introduced at most.
    anneal : float
        What the L1 penalty is multiplied by on its way down; 0 for no annealing.
    min_gradient : float, optional
        Without L1: the least gradient, in rows, of a feature to be introduced. Left out: half the
        square root of the number of rows.
    relearn : bool
        Whether to learn the weights of the features that were found anew, by the pseudo-likelihood
        with ``prior_sd`` and without L1, which shrinks them: fewer features then do as well. Of
        several values of ``prior_sd`` the largest goes with the L1 penalty.
    max_table_entries : float
        Of exact inference; where more are needed the run ends.
    n_states : int
        Gibbs samples for one estimate.
    ...

    Attributes
    ----------
    certificate_ : GraftingCertificate
        Of the best network.
    stop_ : str
        Why features were no longer introduced to it: ``"optimum"``, ``"max_features"``,
        ``"inference"`` (there is none for more), ``"time_limit"`` or ``"interrupted"``.
    inference_ : str
        The method that was used in the end.
    n_inferences_ : int
        Runs of inference for the weights, for all settings together.

    References
    ----------
    S.-I. Lee, V. Ganapathi and D. Koller. Efficient structure learning of Markov networks using
    L1-regularization. Advances in Neural Information Processing Systems 19 (2007).

    Examples
    --------
    >>> import feldspar as fs
    >>> X = [[0, 0, 0], [1, 1, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0], [0, 1, 1]] * 20
    >>> learner = fs.Grafting(l1=12.0).fit(X)
    >>> [feature for feature in learner.network_.features if len(feature) == 2]
    [((0, 1), (1, 1))]
    >>> learner.stop_, learner.certificate_.largest_gradient < 12.0
    ('optimum', True)
    """

    _tuned: ClassVar[tuple[str, ...]] = ("l1", "prior_sd")

    def __init__(
        self,
        *,
        scheme: Scheme = "gain",
        penalty: PenaltyName = "l1",
        l1: float | Sequence[float] | None = None,
        prior_sd: float | Sequence[float | None] | None = 10.0,
        features: FeatureSet | Iterable[Conjunction] | None = None,
        inference: Inference = "auto",
        n_add: int = 10,
        max_features: int | None = None,
        anneal: float = 0.5,
        min_gradient: float | None = None,
        relearn: bool = False,
        max_table_entries: float = 2**22,
        n_states: int = 10_000,
        max_iterations: int = 1000,
        tolerance: float = 1e-7,
        time_limit: float | None = None,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
        on_interrupt: OnInterrupt = "return",
    ) -> None:
        self.scheme = scheme
        self.penalty = penalty
        self.l1 = l1
        self.prior_sd = prior_sd
        self.features = features
        self.inference = inference
        self.n_add = n_add
        self.max_features = max_features
        self.anneal = anneal
        self.min_gradient = min_gradient
        self.relearn = relearn
        self.max_table_entries = max_table_entries
        self.n_states = n_states
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.on_interrupt = on_interrupt

    def _has_choice(self) -> bool:
        penalty = one_of("penalty", self.penalty, PENALTIES)
        has_prior = self.relearn or penalty != "none"
        names = ["l1"] * (penalty == "l1") + ["prior_sd"] * has_prior
        default_path = penalty == "l1" and self.l1 is None
        return default_path or any(len(self._choices(name)) > 1 for name in names)

    def _learns_weights_apart(self) -> bool:
        return self.relearn

    def _search(self, search: Search) -> None:
        schema = search.data.train.schema
        total_weight = float(search.data.train.weights.sum())
        penalties = self._penalties(total_weight)
        options = self._options(search.clock.seconds_left, total_weight)
        threads = resolve_jobs(self.n_jobs)
        started = time.perf_counter()
        with search.clock.stage("structure"):
            pool = self._pool(search)
            with progress_bar("grafting", shown=self.verbose) as progress:
                fits = _core.learn_by_grafting(
                    search.data.dataset, pool._core, penalties, options, threads, progress
                )
        seconds = time.perf_counter() - started
        self.n_inferences_ = max(fit.n_inferences for _, fit in fits)
        for _, fit in fits:
            features = FeatureSet._of_core(schema, fit.features)
            params = self._params(fit)
            violation = None if math.isnan(fit.violation) else fit.violation
            search.add_structure_trial(
                {**params, "stop": fit.stop, "violation": violation},
                valid_pll=None,
                n_features=len(features),
                seconds=seconds / len(fits),
            )
            before = search.network
            try:
                if self.relearn and not (search.clock.is_over and before is not None):
                    search.learn_weights(features, params, self._weight_settings())
                elif not math.isnan(fit.fit.objective):  # an interruption left it some time
                    with search.clock.stage("weights"):
                        network = network_of_fit(features, fit.fit, total_weight, 0.0)
                        search.offer(network, params, n_jobs=self.n_jobs)
            finally:
                if search.network is not before:
                    self._keep(fit)
        if self.stop_ == "inference":
            warn_user(
                f"no more features could be introduced: {self._message}; expected a larger "
                "penalty, another inference or more table entries",
                ConvergenceWarning,
            )
        if any(fit.stop == "interrupted" for _, fit in fits):
            raise KeyboardInterrupt

    def _keep(self, fit: _core.GraftingFit) -> None:
        self.certificate_ = GraftingCertificate(
            fit.threshold, fit.largest_gradient, fit.violation, fit.n_inactive
        )
        self.stop_ = fit.stop
        self.inference_ = fit.method
        self._message = fit.message

    def _pool(self, search: Search) -> FeatureSet:
        if self.features is None:
            core = _core.FeatureSet.conjunctions(search.data.dataset, 2, 0.0, 1)
            return FeatureSet._of_core(search.data.train.schema, core)
        schema = search.data.train.schema
        if not isinstance(self.features, FeatureSet):
            return FeatureSet(schema, self.features)
        if self.features.schema != schema:
            raise ValueError("features: their schema is not that of X")
        return self.features

    def _penalties(self, total_weight: float) -> list[_core.Penalty]:
        l1s: list[float] = [0.0]
        if self.penalty == "l1":
            default = [factor * math.sqrt(total_weight) for factor in L1_FACTORS]
            l1s = (
                default
                if self.l1 is None
                else [core_float("l1", value) for value in self._choices("l1")]
            )
            for value in l1s:
                if not (value > 0 and math.isfinite(value)):
                    raise ValueError(f"l1: expected positive numbers, got {value}")
        sds = [
            math.inf if sd is None else core_float("prior_sd", sd)
            for sd in self._choices("prior_sd")
        ]
        if self.penalty == "none":
            sds = [math.inf]
        if self.relearn:  # the others are for the weights
            sds = [max(sds)]
        return [_core.Penalty(sd, l1) for l1 in l1s for sd in sds]

    def _options(self, seconds: float | None, total_weight: float) -> _core.GraftingOptions:
        weights = _core.FitWeightsOptions()
        weights.max_iterations = core_int("max_iterations", self.max_iterations)
        weights.tolerance = core_float("tolerance", self.tolerance)
        if seconds is not None:
            weights.max_seconds = seconds
        inference = expectation_options(self.inference, self.random_state)
        inference.max_table_entries = core_float("max_table_entries", self.max_table_entries)
        inference.n_states = core_int("n_states", self.n_states)
        options = _core.GraftingOptions()
        options.scheme = core_word("scheme", self.scheme)
        options.n_add = core_int("n_add", self.n_add)
        options.anneal = core_float("anneal", self.anneal)
        if self.max_features is not None:
            most = core_int("max_features", self.max_features)
            if most < 0:  # the core counts without sign
                raise ValueError(f"max_features: expected at least 0, got {most}")
            options.max_features = most
        options.min_gradient = (
            GRADIENT_FACTOR * math.sqrt(total_weight)
            if self.min_gradient is None
            else core_float("min_gradient", self.min_gradient)
        )
        options.weights = weights
        options.inference = inference
        return options

    def _params(self, fit: _core.GraftingFit) -> dict[str, Any]:
        params: dict[str, Any] = {"scheme": self.scheme, "penalty": self.penalty}
        if self.penalty == "l1":
            params["l1"] = fit.fit.penalty.l1
        return params
