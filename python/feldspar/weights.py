"""Weight learning by pseudo-likelihood."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from feldspar import _core
from feldspar._caution import warn_user
from feldspar._jobs import resolve_jobs
from feldspar._progress import progress_bar
from feldspar._random import RandomState, core_seed
from feldspar.features import (
    Conjunction,
    FeatureSet,
    core_dataset,
    core_float,
    core_int,
    core_word,
)
from feldspar.missing import counted_rows, pseudo_likelihood
from feldspar.network import MarkovNetwork
from feldspar.table import Table
from feldspar.training import TrainingReport

if TYPE_CHECKING:
    from typing import Self

OnInterrupt = Literal["return", "raise"]
Objective = Literal["pll", "likelihood"]
Inference = Literal["auto", "exact", "bp", "gibbs"]

# What the optimizer gets where the index has used up the time limit: it stops at its first look at
# the clock, and the result says why.
_LEAST_SECONDS = 1e-9


class PseudoLikelihood:
    """The pseudo-log-likelihood of a feature set's weights on data, as a function.

    Indexing the features is done once; evaluations are then cheap. Learners and ``learn_weights``
    stand on it; it is public for those who bring their own optimizer.

    Parameters
    ----------
    features : FeatureSet or iterable of conjunctions
    X : table, frame or array
        The rows; identical ones are merged. Where entries are missing, the terms count whose
        variable and all that shares features with it are known, and a warning says so.
    sample_weight : array of float, optional
    n_jobs : int, optional

    Examples
    --------
    >>> data = [[0, 0], [1, 1], [1, 1], [0, 1]]
    >>> pll = PseudoLikelihood([[(0, 1)], [(1, 1)], [(0, 1), (1, 1)]], data)
    >>> value, gradient = pll.value_and_gradient([0.0, 0.0, 0.0])
    >>> round(value, 4), gradient.tolist()
    (-5.5452, [0.0, 1.0, 1.5])
    """

    def __init__(
        self,
        features: FeatureSet | Iterable[Conjunction],
        X: object,
        *,
        sample_weight: npt.ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        started = time.perf_counter()
        table, feature_set = table_and_features(features, X, sample_weight)
        core = pseudo_likelihood(table, feature_set, resolve_jobs(n_jobs))
        self._fill(feature_set, core, n_jobs, started)

    @classmethod
    def _of_core(
        cls,
        features: FeatureSet,
        data: _core.Dataset | Table,
        n_jobs: int | None = None,
        *,
        for_scoring: bool = False,
    ) -> Self:
        """Index features on data that are merged already, for those who index them often.

        Data with gaps cannot be merged and come as a table. What is only scored with is indexed
        sooner, and weights cannot be learned with it.
        """
        started = time.perf_counter()
        threads = resolve_jobs(n_jobs)
        core = (
            pseudo_likelihood(data, features, threads, warn=False)
            if isinstance(data, Table)
            else _core.PseudoLikelihood(features._core, data, for_scoring, threads)
        )
        likelihood = cls.__new__(cls)
        likelihood._fill(features, core, n_jobs, started)
        return likelihood

    def _fill(
        self,
        features: FeatureSet,
        core: _core.PseudoLikelihood,
        n_jobs: int | None,
        started: float,
    ) -> None:
        self._features = features
        self.n_jobs = n_jobs
        self._core = core
        self.index_seconds = time.perf_counter() - started

    @property
    def features(self) -> FeatureSet:
        """The features that the weights belong to."""
        return self._features

    @property
    def total_weight(self) -> float:
        """Number (or total weight) of the examples; with gaps, of the variable that has most."""
        return self._core.total_weight

    @property
    def statistics(self) -> _core.IndexStatistics:
        """What the index holds and how large it is."""
        return self._core.statistics

    def value_and_gradient(self, weights: npt.ArrayLike) -> tuple[float, npt.NDArray[np.float64]]:
        """Return the PLL (a sum over examples and variables) and its gradient."""
        array = _vector("weights", weights, len(self.features))
        return self._core.value_and_gradient(array, resolve_jobs(self.n_jobs))


def learn_weights(
    features: FeatureSet | Iterable[Conjunction],
    X: object,
    *,
    prior_sd: float | None = 1.0,
    l1: float = 0.0,
    objective: Objective = "pll",
    inference: Inference = "auto",
    sample_weight: npt.ArrayLike | None = None,
    initial_weights: npt.ArrayLike | None = None,
    max_iterations: int = 1000,
    tolerance: float = 1e-7,
    time_limit: float | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
    on_interrupt: OnInterrupt = "return",
) -> MarkovNetwork:
    """Return the network whose weights maximise the penalised pseudo-likelihood, or likelihood.

    Maximises ``PLL(w) - sum(w**2) / (2 * prior_sd**2) - l1 * sum(abs(w))``, PLL summed over
    examples, by L-BFGS or Newton-CG, or by OWL-QN where ``l1`` is positive. With
    ``objective="likelihood"`` the log-likelihood takes the place of the PLL; every evaluation is
    then an inference.

    Parameters
    ----------
    features : FeatureSet or iterable of conjunctions
        Conjunctions are written as for :class:`feldspar.FeatureSet`, and then speak of the schema
        of ``X``.
    X : table, frame or array
        The rows; identical ones are merged. Gaps are dealt with as in
        :class:`feldspar.PseudoLikelihood`.
    prior_sd : float or None
        Standard deviation of the Gaussian prior on each weight; ``None`` for no prior.
    l1 : float
        Strength of the L1 penalty; drives weights to exactly zero.
    objective : {"pll", "likelihood"}
    inference : {"auto", "exact", "bp", "gibbs"}
        Where the likelihood's expectations come from: ``"exact"`` by a junction tree; ``"bp"`` by
        belief propagation, log Z being the Bethe estimate and weights at which it does not converge
        not entered; ``"gibbs"`` from samples; ``"auto"`` is exact where tables are small enough,
        else belief propagation.
    sample_weight : array of float, optional
    initial_weights : array of float, optional
        Where to start; zeros if left out.
    max_iterations : int
    tolerance : float
        Stop when the objective, per example, is estimated to be this close to its optimum.
    time_limit : float, optional
        Seconds for index and optimisation together; when they are over, the best weights so far are
        returned with a warning. The index is always finished; if that takes all the time, the
        weights stay where they start.
    random_state : int, numpy.random.Generator or numpy.random.RandomState, optional
        For Gibbs samples.
    n_jobs : int, optional
        Threads. The result does not depend on it.
    verbose : bool
        Show a progress bar on a terminal.
    on_interrupt : {"return", "raise"}
        What Ctrl-C does: return the best network so far with a warning, or raise.

    Returns
    -------
    MarkovNetwork
        ``network.training_`` tells status, iterations, objective, gradient norm and seconds.

    Examples
    --------
    >>> import feldspar as fs
    >>> X = [[0, 0], [1, 1], [1, 1], [0, 1], [1, 0], [0, 0]]
    >>> network = fs.learn_weights([[(0, 1)], [(1, 1)], [(0, 1), (1, 1)]], X, prior_sd=2.0)
    >>> network.training_.status
    'converged'
    >>> network.weights.round(2).tolist()
    [-0.39, -0.39, 0.92]
    """
    started = time.perf_counter()
    penalties = _penalties([prior_sd], [l1])
    options = _options(max_iterations, tolerance, time_limit)
    check_on_interrupt(on_interrupt)
    check_objective(objective)
    if objective == "pll":
        likelihood = PseudoLikelihood(features, X, sample_weight=sample_weight, n_jobs=n_jobs)
        _deduct(options, time.perf_counter() - started)
        networks = _fit(likelihood, penalties, initial_weights, options, n_jobs, verbose)
    else:
        inferred = _InferredLikelihood(
            *table_and_features(features, X, sample_weight), inference, random_state, n_jobs
        )
        networks = inferred.fit(penalties, initial_weights, options, verbose)
    raise_interrupted(networks, on_interrupt)
    warn_unless_converged(networks)
    return networks[0]


def learn_weight_path(
    features: FeatureSet | Iterable[Conjunction] | PseudoLikelihood,
    X: object = None,
    *,
    prior_sd: float | Sequence[float | None] | None = 1.0,
    l1: float | Sequence[float] = 0.0,
    objective: Objective = "pll",
    inference: Inference = "auto",
    sample_weight: npt.ArrayLike | None = None,
    initial_weights: npt.ArrayLike | None = None,
    max_iterations: int = 1000,
    tolerance: float = 1e-7,
    time_limit: float | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
    on_interrupt: OnInterrupt = "return",
) -> list[MarkovNetwork]:
    """Return one network for each penalty of a path, solved with one index and warm starts.

    ``prior_sd`` and ``l1`` are single values or sequences; two sequences go together pair by pair.
    The path is solved from the strongest penalty to the weakest, each from the solution before;
    networks come in the order asked for. Other parameters are those of `learn_weights`;
    ``time_limit`` is for the whole path.

    ``features`` may be a `PseudoLikelihood` already made. Then ``X`` and ``sample_weight`` are left
    out, its index takes nothing from the time limit, and its ``n_jobs`` is used unless another is
    given.

    Examples
    --------
    >>> X = [[0, 0], [1, 1], [1, 1], [0, 1], [1, 0], [0, 0]]
    >>> path = learn_weight_path([[(0, 1)], [(0, 1), (1, 1)]], X, prior_sd=[10.0, 1.0, 0.1])
    >>> [round(float(network.weights[1]), 2) for network in path]
    [0.92, 0.44, 0.01]
    """
    started = time.perf_counter()
    penalties = _penalties(prior_sd, l1)
    options = _options(max_iterations, tolerance, time_limit)
    check_on_interrupt(on_interrupt)
    check_objective(objective)
    if objective == "pll":
        likelihood = _likelihood(features, X, sample_weight, n_jobs)
        _deduct(options, time.perf_counter() - started)
        networks = _fit(likelihood, penalties, initial_weights, options, n_jobs, verbose)
    else:
        if isinstance(features, PseudoLikelihood) or X is None:
            raise TypeError("objective 'likelihood': expected features and X")
        inferred = _InferredLikelihood(
            *table_and_features(features, X, sample_weight), inference, random_state, n_jobs
        )
        networks = inferred.fit(penalties, initial_weights, options, verbose)
    raise_interrupted(networks, on_interrupt)
    warn_unless_converged(networks)
    return networks


class WeightRun:
    """Weight learning under one prior that can be taken further later, for learners.

    Parameters
    ----------
    likelihood : PseudoLikelihood
    prior_sd : float or None
    initial_weights : array of float or None
        Where to start; zeros if ``None``.
    max_iterations : int
        For all calls of `advance` together.
    verbose : bool
    earlier : TrainingReport, optional
        Of a run that led to ``initial_weights`` and that this one goes on from.
    """

    def __init__(
        self,
        likelihood: PseudoLikelihood,
        *,
        prior_sd: float | None,
        initial_weights: npt.ArrayLike | None,
        max_iterations: int,
        verbose: bool,
        earlier: TrainingReport | None = None,
    ) -> None:
        self.likelihood = likelihood
        self._verbose = verbose
        self._max_iterations = core_int("max_iterations", max_iterations)
        self._core = _core.WeightRun(
            likelihood._core,
            _penalties(prior_sd, 0.0)[0],
            _start(initial_weights, likelihood.features),
        )
        self._report = earlier

    def advance(self, *, tolerance: float, time_limit: float | None) -> MarkovNetwork:
        """Go on until the objective is this close to its optimum; return where that led.

        The report is that of all calls together. There are no warnings.
        """
        before = self._report
        done = 0 if before is None else before.iterations
        options = _options(max(self._max_iterations - done, 0), tolerance, time_limit)
        if self._max_iterations < 0:  # the core says what is wrong with it
            options.max_iterations = self._max_iterations
        threads = resolve_jobs(self.likelihood.n_jobs)
        with progress_bar("weights", shown=self._verbose) as progress:
            fit = self._core.advance(options, threads, progress)
        likelihood = self.likelihood
        network = network_of_fit(
            likelihood.features, fit, likelihood.total_weight, likelihood.index_seconds
        )
        assert network.training_ is not None
        self._report = network.training_.after(before)
        network.training_ = self._report
        network.metadata["training"] = self._report.to_dict()
        return network


def fit_path(
    likelihood: PseudoLikelihood,
    *,
    prior_sd: Sequence[float | None],
    l1: float | Sequence[float] = 0.0,
    initial_weights: npt.ArrayLike | None,
    max_iterations: int,
    tolerance: float,
    time_limit: float | None,
    verbose: bool,
) -> list[MarkovNetwork]:
    """Do what `learn_weight_path` does, for learners: no warnings, the reports tell it all."""
    penalties = _penalties(prior_sd, l1)
    options = _options(max_iterations, tolerance, time_limit)
    return _fit(likelihood, penalties, initial_weights, options, None, verbose)


def _likelihood(
    features: FeatureSet | Iterable[Conjunction] | PseudoLikelihood,
    X: object,
    sample_weight: npt.ArrayLike | None,
    n_jobs: int | None,
) -> PseudoLikelihood:
    if not isinstance(features, PseudoLikelihood):
        if X is None:
            raise TypeError("X is missing: expected rows to learn from, or a PseudoLikelihood")
        return PseudoLikelihood(features, X, sample_weight=sample_weight, n_jobs=n_jobs)
    if X is not None or sample_weight is not None:
        raise ValueError(
            "X and sample_weight: expected neither beside a PseudoLikelihood, which has its own"
        )
    return features


def table_and_features(
    features: FeatureSet | Iterable[Conjunction],
    X: object,
    sample_weight: npt.ArrayLike | None,
) -> tuple[Table, FeatureSet]:
    """Return data and features under one schema: the features' where they have one."""
    known = features.schema if isinstance(features, FeatureSet) else None
    table = Table.of(X, schema=known, sample_weight=sample_weight)
    if table.has_missing:  # gaps of rows that do not count are none
        table = counted_rows(table)
    if isinstance(features, FeatureSet):
        return table, features
    return table, FeatureSet(table.schema, features)


def _penalties(
    prior_sd: float | Sequence[float | None] | None, l1: float | Sequence[float]
) -> list[_core.Penalty]:
    sds = [math.inf if sd is None else core_float("prior_sd", sd) for sd in listed(prior_sd)]
    l1s = [core_float("l1", strength) for strength in listed(l1)]
    for name, values in (("prior_sd", sds), ("l1", l1s)):
        if not values:
            raise ValueError(f"{name}: expected at least one value, got none")
    if len(sds) == 1:
        sds *= len(l1s)
    if len(l1s) == 1:
        l1s *= len(sds)
    if len(sds) != len(l1s):
        raise ValueError(
            f"prior_sd has {len(sds)} values and l1 has {len(l1s)}; expected as many, or one"
        )
    return [_core.Penalty(sd, strength) for sd, strength in zip(sds, l1s, strict=True)]


def listed(values: Any) -> list[Any]:
    """Return one value or several as a list, numbers of NumPy as plain ones, fit for files."""
    if isinstance(values, np.ndarray):
        values = values.tolist()  # a plain number where the array has no dimensions
    several = isinstance(values, Iterable) and not isinstance(values, str)
    members = values if several else [values]
    return [value.item() if isinstance(value, np.generic) else value for value in members]


def _options(
    max_iterations: int, tolerance: float, time_limit: float | None
) -> _core.FitWeightsOptions:
    options = _core.FitWeightsOptions()
    options.max_iterations = core_int("max_iterations", max_iterations)
    options.tolerance = core_float("tolerance", tolerance)
    if time_limit is not None:
        options.max_seconds = core_float("time_limit", time_limit)
        if not options.max_seconds > 0:  # the core would call it max_seconds
            raise ValueError(f"time_limit must be positive, got {time_limit}")
    return options


def _deduct(options: _core.FitWeightsOptions, seconds: float) -> None:
    """Leave the optimizer what is left of the time limit."""
    options.max_seconds = max(options.max_seconds - seconds, _LEAST_SECONDS)


def check_on_interrupt(on_interrupt: str) -> None:
    """Refuse what is no way to answer Ctrl-C."""
    if on_interrupt not in ("return", "raise"):
        raise ValueError(f"on_interrupt must be 'return' or 'raise', got {on_interrupt!r}")


def check_objective(objective: str) -> None:
    """Refuse what cannot be maximised."""
    if objective not in ("pll", "likelihood"):
        raise ValueError(f"objective must be 'pll' or 'likelihood', got {objective!r}")


def _vector(name: str, values: npt.ArrayLike, size: int) -> npt.NDArray[np.float64]:
    array = np.ascontiguousarray(values, dtype=np.float64)
    if np.shape(values) != (size,):
        raise ValueError(
            f"{name}: expected {size} numbers, one per feature, got shape {np.shape(values)}"
        )
    return array


def _fit(
    likelihood: PseudoLikelihood,
    penalties: list[_core.Penalty],
    initial_weights: npt.ArrayLike | None,
    options: _core.FitWeightsOptions,
    n_jobs: int | None,
    verbose: bool,
) -> list[MarkovNetwork]:
    start = _start(initial_weights, likelihood.features)
    threads = resolve_jobs(likelihood.n_jobs if n_jobs is None else n_jobs)
    with progress_bar("weights", shown=verbose) as progress:
        fits = _core.fit_weight_path(likelihood._core, penalties, start, options, threads, progress)
    return [
        network_of_fit(likelihood.features, fit, likelihood.total_weight, likelihood.index_seconds)
        for fit in fits
    ]


def expectation_options(inference: str, random_state: RandomState) -> _core.ExpectationOptions:
    """Return how likelihoods are to be inferred."""
    options = _core.ExpectationOptions()
    options.method = core_word("inference", inference)
    options.seed = core_seed(random_state)
    return options


class _InferredLikelihood:
    """The likelihood of a feature set with the inference it needs."""

    def __init__(
        self,
        table: Table,
        features: FeatureSet,
        inference: str,
        random_state: RandomState,
        n_jobs: int | None,
    ) -> None:
        started = time.perf_counter()
        self._features = features
        self._threads = resolve_jobs(n_jobs)
        options = expectation_options(inference, random_state)
        data = core_dataset(table)
        self._core = _core.Likelihood(features._core, data, options, self._threads)
        self._index_seconds = time.perf_counter() - started

    def fit(
        self,
        penalties: list[_core.Penalty],
        initial_weights: npt.ArrayLike | None,
        options: _core.FitWeightsOptions,
        verbose: bool,
    ) -> list[MarkovNetwork]:
        """Return a network for each penalty."""
        _deduct(options, self._index_seconds)
        start = _start(initial_weights, self._features)
        with progress_bar("weights", shown=verbose) as progress:
            fits = _core.fit_likelihood_path(
                self._core, penalties, start, options, self._threads, progress
            )
        total = self._core.total_weight
        return [network_of_fit(self._features, fit, total, self._index_seconds) for fit in fits]


def _start(
    initial_weights: npt.ArrayLike | None, features: FeatureSet
) -> npt.NDArray[np.float64] | None:
    if initial_weights is None:
        return None
    return _vector("initial_weights", initial_weights, len(features))


def raise_interrupted(networks: Iterable[MarkovNetwork], on_interrupt: OnInterrupt) -> None:
    """Raise after an interruption, where that was asked for."""
    if on_interrupt == "raise" and any(map(is_interrupted, networks)):
        raise KeyboardInterrupt


def is_interrupted(network: MarkovNetwork) -> bool:
    """Tell whether Ctrl-C ended the learning of a network's weights."""
    return network.training_ is not None and network.training_.status == "interrupted"


def network_of_fit(
    features: FeatureSet, fit: _core.WeightFit, total_weight: float, index_seconds: float
) -> MarkovNetwork:
    """Return the network of weights that were learned, with the report on it."""
    report = TrainingReport(
        status=fit.status,
        message=fit.message,
        objective=fit.objective,
        gradient_norm=fit.gradient_norm,
        iterations=fit.iterations,
        evaluations=fit.evaluations,
        seconds=fit.seconds,
        index_seconds=index_seconds,
        prior_sd=None if math.isinf(fit.penalty.prior_sd) else fit.penalty.prior_sd,
        l1=fit.penalty.l1,
        history=tuple((step, -value / total_weight, at) for step, value, at in fit.history),
    )
    network = MarkovNetwork(features, fit.weights, metadata={"training": report.to_dict()})
    network.training_ = report
    return network


def warn_unless_converged(networks: Iterable[MarkovNetwork]) -> None:
    """Warn of weights that are not the best there are."""
    for network in networks:
        report = network.training_
        if report is None or report.converged:
            continue
        from sklearn.exceptions import ConvergenceWarning

        message = (
            f"weight learning did not converge ({report.status} after {report.iterations} "
            f"iterations): {report.message}"
        )
        if report.status != "interrupted":
            message += (
                f" Gradient norm {report.gradient_norm:.2g} per example; more iterations, a prior "
                "or a larger tolerance may help."
            )
        warn_user(message, ConvergenceWarning)
