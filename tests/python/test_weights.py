"""Weight learning finds the optimum of the right objective, and says how it went."""

from __future__ import annotations

import inspect
import itertools
import math
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.optimize
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

import feldspar as fs
from feldspar import _core
from feldspar.features import Feature

FloatArray = npt.NDArray[np.float64]
# Tight enough that only rounding is left; it must be met, since warnings are errors.
TIGHT = 1e-15


# The same objective in NumPy: every variable set to every value in turn


@dataclass(frozen=True)
class Problem:
    """Features, weighted rows, and their pseudo-likelihood written down once more."""

    features: fs.FeatureSet
    table: fs.Table

    @cached_property
    def _indicators(self) -> list[FloatArray]:
        """For each variable: values x rows x features, 1 where a feature would hold."""
        return [
            np.array([self._holding(v, value) for value in range(cardinality)])
            for v, cardinality in enumerate(self.table.schema.cardinalities)
        ]

    def _holding(self, variable: int, value: int) -> FloatArray:
        codes = self.table.to_numpy()
        codes[:, variable] = value
        return np.column_stack([self._holds(codes, feature) for feature in self.features])

    @staticmethod
    def _holds(codes: npt.NDArray[np.int64], feature: Feature) -> FloatArray:
        tests = [
            np.isin(codes[:, v], list(a) if isinstance(a, frozenset) else [a]) for v, a in feature
        ]
        return np.logical_and.reduce(tests).astype(np.float64)

    def value_and_gradient(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Return the pseudo-log-likelihood, a sum over rows, and its gradient."""
        value, gradient = 0.0, np.zeros(len(weights))
        rows = np.arange(len(self.table))
        for indicators, observed in zip(self._indicators, self.table.codes.T, strict=True):
            logits = indicators @ weights
            log_probability = logits - logsumexp(logits, axis=0)
            value += self.table.weights @ log_probability[observed, rows]
            expected = np.einsum("ar,arj->rj", np.exp(log_probability), indicators)
            gradient += self.table.weights @ (indicators[observed, rows] - expected)
        return value, gradient

    def penalized(self, weights: FloatArray, prior_sd: float | None, l1: float) -> float:
        """Return what `learn_weights` maximises, per example."""
        precision = 0.0 if prior_sd is None else prior_sd**-2
        penalty = 0.5 * precision * weights @ weights + l1 * np.abs(weights).sum()
        value, _ = self.value_and_gradient(weights)
        return float(value - penalty) / self.table.weights.sum()

    def scipy_optimum(self, prior_sd: float | None, l1: float = 0.0) -> float:
        """Return the best objective that L-BFGS-B finds.

        For the L1 term to be smooth, weights are written as p - n with p, n >= 0.
        """
        n = len(self.features)
        precision = 0.0 if prior_sd is None else prior_sd**-2

        def negative(parts: FloatArray) -> tuple[float, FloatArray]:
            weights = parts[:n] - parts[n:]
            value, gradient = self.value_and_gradient(weights)
            slope = precision * weights - gradient
            total = 0.5 * precision * weights @ weights + l1 * parts.sum() - value
            return float(total), np.concatenate([slope + l1, l1 - slope])

        def smooth(weights: FloatArray) -> tuple[float, FloatArray]:
            value, slopes = negative(np.concatenate([weights, np.zeros(n)]))
            return value, slopes[:n]

        limits = {"maxiter": 100_000, "maxfun": 100_000, "ftol": 0.0, "gtol": 1e-9}
        result = (
            scipy.optimize.minimize(
                negative,
                np.zeros(2 * n),
                jac=True,
                method="L-BFGS-B",
                options=limits,
                bounds=[(0, None)] * (2 * n),
            )
            if l1
            else scipy.optimize.minimize(
                smooth, np.zeros(n), jac=True, method="L-BFGS-B", options=limits
            )
        )
        return float(-result.fun) / self.table.weights.sum()

    def learn(self, **options: Any) -> fs.MarkovNetwork:
        return fs.learn_weights(self.features, self.table, n_jobs=1, **options)


def random_problem(
    seed: int, cardinalities: list[int], n_rows: int = 60, *, weighted: bool = False
) -> Problem:
    """Random rows and up to 30 random conjunctions of up to three tests of sets of values."""
    rng = np.random.default_rng(seed)
    table = fs.Table.from_array(
        rng.integers(0, cardinalities, (n_rows, len(cardinalities))),
        cardinalities=cardinalities,
        sample_weight=rng.uniform(0.1, 3.0, n_rows) if weighted else None,
    )
    terms = [
        ([(int(v), random_values(rng, cardinalities[v])) for v in scope], 1.0)
        for scope in (rng.permutation(len(cardinalities))[: rng.integers(1, 4)] for _ in range(30))
    ]
    return Problem(fs.MarkovNetwork.from_terms(table.schema, terms).features, table)


def random_values(rng: np.random.Generator, cardinality: int) -> frozenset[int]:
    size = int(rng.integers(1, cardinality))
    return frozenset(rng.permutation(cardinality)[:size].tolist())


PROBLEMS = [
    pytest.param(random_problem(0, [2] * 6), id="binary"),
    pytest.param(random_problem(1, [2] * 6, weighted=True), id="binary, weighted"),
    pytest.param(random_problem(2, [3, 2, 4, 2, 5]), id="multi-valued"),
    pytest.param(random_problem(3, [3, 2, 4, 2, 5], weighted=True), id="multi-valued, weighted"),
]


# The objective


@pytest.mark.parametrize("problem", PROBLEMS)
def test_value_and_gradient_agree_with_numpy(problem: Problem) -> None:
    weights = np.random.default_rng(9).normal(size=len(problem.features))
    likelihood = fs.PseudoLikelihood(problem.features, problem.table, n_jobs=1)
    value, gradient = likelihood.value_and_gradient(weights)
    expected_value, expected_gradient = problem.value_and_gradient(weights)
    assert value == pytest.approx(expected_value, rel=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_gradient_by_four_point_differences(problem: Problem) -> None:
    weights = np.random.default_rng(9).normal(size=len(problem.features))
    likelihood = fs.PseudoLikelihood(problem.features, problem.table, n_jobs=1)
    _, gradient = likelihood.value_and_gradient(weights)

    def value_at(j: int, step: float) -> float:
        moved = weights.copy()
        moved[j] += step
        return likelihood.value_and_gradient(moved)[0]

    h = 1e-3
    for j in range(len(weights)):
        inner = value_at(j, h) - value_at(j, -h)
        outer = value_at(j, 2 * h) - value_at(j, -2 * h)
        difference = (8 * inner - outer) / (12 * h)
        assert gradient[j] == pytest.approx(difference, rel=1e-6, abs=1e-6)


def test_likelihood_tells_its_size() -> None:
    likelihood = fs.PseudoLikelihood([[(0, 1)]], [[0], [1], [1]], sample_weight=[1, 2, 0.5])
    assert likelihood.total_weight == 3.5
    assert likelihood.statistics.bytes > 0


# The optimum


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(
    ("prior_sd", "l1"),
    [(1.0, 0.0), (None, 0.0), (None, 1.5), (0.7, 1.5)],
    ids=["gaussian", "none", "L1", "both"],
)
def test_objective_equals_scipys(problem: Problem, prior_sd: float | None, l1: float) -> None:
    network = problem.learn(prior_sd=prior_sd, l1=l1, tolerance=TIGHT)
    assert network.training_ is not None
    expected = problem.scipy_optimum(prior_sd, l1)
    assert network.training_.objective == pytest.approx(expected, rel=1e-8)
    assert problem.penalized(network.weights, prior_sd, l1) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_smooth_optimum_has_no_gradient(problem: Problem) -> None:
    network = problem.learn(prior_sd=2.0, tolerance=TIGHT)
    _, gradient = problem.value_and_gradient(network.weights)
    slope = (gradient - network.weights / 4) / problem.table.weights.sum()
    assert np.abs(slope).max() < 1e-6
    assert network.training_ is not None
    assert network.training_.gradient_norm == pytest.approx(np.abs(slope).max(), abs=1e-9)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("prior_sd", [None, 1.0], ids=["L1", "both"])
def test_l1_optimum_fulfils_the_subgradient_condition(
    problem: Problem, prior_sd: float | None
) -> None:
    l1 = 3.0
    network = problem.learn(prior_sd=prior_sd, l1=l1, tolerance=TIGHT)
    weights = network.weights
    _, gradient = problem.value_and_gradient(weights)
    slope = gradient - (0.0 if prior_sd is None else weights / prior_sd**2)
    zero = weights == 0
    assert zero.any()
    assert not zero.all()
    np.testing.assert_allclose(slope[~zero], l1 * np.sign(weights[~zero]), atol=1e-4)
    assert np.abs(slope[zero]).max() <= l1 + 1e-4


def test_enough_l1_leaves_nothing() -> None:
    problem = random_problem(4, [2, 3, 2])
    _, gradient = problem.value_and_gradient(np.zeros(len(problem.features)))
    above = problem.learn(prior_sd=None, l1=1.01 * np.abs(gradient).max())
    below = problem.learn(prior_sd=None, l1=0.99 * np.abs(gradient).max())
    assert np.count_nonzero(above.weights) == 0
    assert np.count_nonzero(below.weights) > 0


def test_independent_features_learn_log_odds() -> None:
    X = np.array([[0, 0, 2], [1, 0, 1], [1, 0, 0], [1, 1, 1]])
    features = [[(0, 1)], [(1, 1)], [(2, 1)], [(2, 2)]]
    network = fs.learn_weights(features, X, prior_sd=None, tolerance=TIGHT, n_jobs=1)
    expected = [math.log(3), -math.log(3), math.log(2), 0.0]
    np.testing.assert_allclose(network.weights, expected, atol=1e-7)


def test_features_as_plain_conjunctions_take_the_data_s_schema() -> None:
    table = fs.Table.from_array([[0, 1], [1, 0], [1, 1]], names=["a", "b"])
    network = fs.learn_weights([[("a", 1), ("b", 1)]], table, n_jobs=1)
    assert network.schema == table.schema
    assert list(network.features) == [((0, 1), (1, 1))]


def test_a_table_s_own_weights_count() -> None:
    problem = random_problem(5, [2, 3, 2], weighted=True)
    codes, weights = problem.table.to_numpy(), problem.table.weights
    passed = fs.learn_weights(problem.features, codes, sample_weight=weights, n_jobs=1)
    assert np.array_equal(passed.weights, problem.learn().weights)
    assert not np.array_equal(passed.weights, fs.learn_weights(problem.features, codes).weights)


# Paths and warm starts


@pytest.mark.parametrize(
    "path",
    [
        {"prior_sd": [10.0, 0.1, None, 1.0]},
        {"prior_sd": None, "l1": [0.5, 8.0, 2.0]},
        {"prior_sd": [1.0, 2.0], "l1": [4.0, 1.0]},
        {"prior_sd": np.array([1.0, 0.5]), "l1": np.float32(0.5)},
    ],
    ids=["gaussian", "L1", "pairs", "NumPy"],
)
def test_path_equals_single_fits(path: dict[str, Any]) -> None:
    problem = random_problem(6, [2, 3, 2, 2])
    networks = fs.learn_weight_path(problem.features, problem.table, tolerance=TIGHT, **path)
    sds, l1s = np.broadcast_arrays(path["prior_sd"], path.get("l1", 0.0))
    assert len(networks) == sds.size
    for network, prior_sd, l1 in zip(networks, sds, l1s, strict=True):
        assert network.training_ is not None
        assert (network.training_.prior_sd, network.training_.l1) == (prior_sd, l1)
        # Weights may differ where features are redundant; what they reach may not.
        single = problem.learn(prior_sd=prior_sd, l1=float(l1), tolerance=TIGHT)
        assert single.training_ is not None
        assert network.training_.objective == pytest.approx(single.training_.objective, rel=1e-9)
        expected = problem.penalized(network.weights, prior_sd, float(l1))
        assert network.training_.objective == pytest.approx(expected, rel=1e-12)


def test_path_on_an_index_already_made() -> None:
    problem = random_problem(6, [2, 3, 2, 2])
    likelihood = fs.PseudoLikelihood(problem.features, problem.table)
    (network,) = fs.learn_weight_path(likelihood, prior_sd=0.5)
    assert np.array_equal(network.weights, problem.learn(prior_sd=0.5).weights)
    with pytest.raises(ValueError, match="expected neither beside a PseudoLikelihood"):
        fs.learn_weight_path(likelihood, problem.table)


@pytest.mark.parametrize(("n_jobs", "expected"), [(None, 1), (2, 2)])
def test_an_index_already_made_brings_its_number_of_threads(
    monkeypatch: pytest.MonkeyPatch, n_jobs: int | None, expected: int
) -> None:
    problem = random_problem(6, [2, 3, 2, 2])
    likelihood = fs.PseudoLikelihood(problem.features, problem.table, n_jobs=1)
    asked: list[int | None] = []
    monkeypatch.setattr("feldspar.weights.resolve_jobs", lambda n: asked.append(n) or 1)
    fs.learn_weight_path(likelihood, n_jobs=n_jobs)
    assert asked == [expected]


def test_the_features_of_an_index_cannot_be_exchanged() -> None:
    likelihood = fs.PseudoLikelihood([[(0, 1)]], [[0], [1]])
    with pytest.raises(AttributeError, match="features"):
        likelihood.features = fs.FeatureSet(fs.Schema([2]))  # type: ignore[misc]


def test_warm_start_at_the_optimum_is_done_at_once() -> None:
    problem = random_problem(7, [2, 3, 2, 2])
    cold = problem.learn()
    warm = problem.learn(initial_weights=cold.weights)
    assert cold.training_ is not None
    assert cold.training_.iterations > 0
    assert warm.training_ is not None
    assert warm.training_.iterations == 0
    np.testing.assert_allclose(warm.weights, cold.weights, rtol=1e-12)


# How it went


def test_training_report() -> None:
    problem = random_problem(8, [2, 3, 2, 2])
    network = problem.learn(prior_sd=0.5)
    report = network.training_
    assert report is not None
    assert report.status == "converged"
    assert report.evaluations >= report.iterations > 0
    assert report.objective == pytest.approx(problem.penalized(network.weights, 0.5, 0.0))
    steps = [step for step, _, _ in report.history]
    values = [value for _, value, _ in report.history]
    assert steps == list(range(report.iterations + 1))
    assert values[0] == pytest.approx(-math.log(2 * 3 * 2 * 2))
    assert values[-1] == pytest.approx(report.objective)
    assert values == sorted(values)
    assert network.metadata["training"] == report.to_dict()


def test_iteration_limit_warns_and_says_so() -> None:
    with pytest.warns(ConvergenceWarning, match=r"max_iterations after 2 iterations") as caught:
        network = random_problem(8, [2, 3, 2, 2]).learn(prior_sd=None, max_iterations=2)
    assert Path(caught[0].filename) == Path(__file__), "the warning points at the caller"
    assert network.training_ is not None
    assert network.training_.status == "max_iterations"
    assert not network.training_.converged
    assert network.training_.iterations == 2
    assert network.training_.history[-1][1] > network.training_.history[0][1]


def test_path_warns_for_each_member_at_the_caller() -> None:
    problem = random_problem(8, [2, 3, 2, 2])
    with pytest.warns(ConvergenceWarning, match="max_iterations") as caught:
        fs.learn_weight_path(
            problem.features, problem.table, prior_sd=[5.0, 10.0], max_iterations=1
        )
    assert [Path(warning.filename) for warning in caught] == [Path(__file__)] * 2


def test_time_limit_returns_the_best_so_far() -> None:
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        network = random_problem(8, [2, 3, 2, 2]).learn(time_limit=1e-9)
    assert network.training_ is not None
    assert network.training_.status == "time_limit"
    assert len(network.weights) == len(network.features)


@pytest.mark.parametrize("learn", [fs.learn_weights, fs.learn_weight_path])
def test_time_limit_covers_the_index(
    monkeypatch: pytest.MonkeyPatch, learn: Callable[..., object]
) -> None:
    clock = itertools.count(step=10.0)  # ten seconds go by between any two looks
    monkeypatch.setattr("feldspar.weights.time", SimpleNamespace(perf_counter=clock.__next__))
    problem = random_problem(8, [2, 3, 2, 2])
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        learn(problem.features, problem.table, time_limit=20.0)
    learn(problem.features, problem.table, time_limit=1000.0)


def test_an_index_already_made_takes_nothing_from_the_time_limit() -> None:
    problem = random_problem(8, [2, 3, 2, 2])
    likelihood = fs.PseudoLikelihood(problem.features, problem.table)
    likelihood.index_seconds = 1000.0
    (network,) = fs.learn_weight_path(likelihood, time_limit=60.0)
    assert network.training_ is not None
    assert network.training_.converged


def test_verbose_prints_nothing_where_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    random_problem(8, [2, 3, 2, 2]).learn(verbose=True)
    assert capfd.readouterr() == ("", "")


def test_verbose_draws_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(sys.stderr, "write", written.append)
    random_problem(8, [2, 3, 2, 2]).learn(verbose=True)
    assert "weights: optimize" in "".join(written)


# Ctrl-C


@pytest.fixture
def long_problem() -> Problem:
    """Seconds of work: rows that hardly merge, and a tolerance that is out of reach."""
    codes = np.random.default_rng(0).integers(0, 2, (30_000, 30))
    table = fs.Table.from_array(codes)
    return Problem(fs.FeatureSet.conjunctions(table, order=3, min_support=1), table)


LONG: dict[str, Any] = {
    "prior_sd": None,
    "tolerance": 1e-300,
    "max_iterations": 10**6,
    "time_limit": 60.0,
}


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send SIGINT after one step, the way Ctrl-C comes: from outside, into the compiled code."""

    def interrupt_once(stage: str, done: float, total: float, value: float) -> None:
        if done == 1:
            threading.Thread(target=signal.raise_signal, args=[signal.SIGINT]).start()

    monkeypatch.setattr(
        "feldspar.weights.progress_bar", lambda title, shown: nullcontext(interrupt_once)
    )


@contextmanager
def pytest_unharmed() -> Iterator[None]:
    """Turn an interrupt that should have been handled into a failure: pytest itself would stop."""
    try:
        yield
    except KeyboardInterrupt:
        pytest.fail("the interrupt was raised")


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.usefixtures("interrupted")
def test_interrupt_returns_the_best_so_far(
    long_problem: Problem, tmp_path: Path, n_jobs: int
) -> None:
    likelihood = fs.PseudoLikelihood(long_problem.features, long_problem.table)
    with pytest_unharmed(), pytest.warns(ConvergenceWarning, match="interrupted after"):
        (network,) = fs.learn_weight_path(likelihood, n_jobs=n_jobs, **LONG)
    assert network.training_ is not None
    assert network.training_.status == "interrupted"
    assert network.training_.iterations >= 1
    assert network.training_.history[-1][1] > network.training_.history[0][1]
    network.save(tmp_path / "interrupted.json")
    saved = fs.MarkovNetwork.load(tmp_path / "interrupted.json")
    assert np.array_equal(saved.weights, network.weights)
    assert saved.metadata["training"]["gradient_norm"] is None


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.usefixtures("interrupted")
def test_interrupt_raises_if_asked(long_problem: Problem, n_jobs: int) -> None:
    likelihood = fs.PseudoLikelihood(long_problem.features, long_problem.table)
    with pytest.raises(KeyboardInterrupt):
        fs.learn_weight_path(likelihood, on_interrupt="raise", n_jobs=n_jobs, **LONG)


@pytest.mark.usefixtures("interrupted")
def test_interrupted_path_keeps_what_was_done(long_problem: Problem, tmp_path: Path) -> None:
    likelihood = fs.PseudoLikelihood(long_problem.features, long_problem.table)
    path = {**LONG, "prior_sd": [2.0, 1.0, 3.0]}
    with pytest_unharmed(), pytest.warns(ConvergenceWarning, match="interrupted"):
        networks = fs.learn_weight_path(likelihood, n_jobs=1, **path)
    reports = [network.training_ for network in networks]
    assert [report and report.status for report in reports] == ["interrupted"] * 3
    assert [report and report.prior_sd for report in reports] == [2.0, 1.0, 3.0]
    # The strongest penalty comes first; the others were not begun, and have no objective.
    assert [bool(report and math.isnan(report.objective)) for report in reports] == [
        True,
        False,
        True,
    ]
    networks[0].save(tmp_path / "not begun.json")
    saved = fs.MarkovNetwork.load(tmp_path / "not begun.json")
    assert np.array_equal(saved.weights, networks[0].weights)
    assert saved.metadata["training"]["objective"] is None


# Defaults


@pytest.mark.parametrize("learn", [fs.learn_weights, fs.learn_weight_path])
def test_defaults_are_those_of_the_core(learn: Callable[..., object]) -> None:
    defaults = {name: p.default for name, p in inspect.signature(learn).parameters.items()}
    options = _core.FitWeightsOptions()
    assert defaults["max_iterations"] == options.max_iterations
    assert defaults["tolerance"] == options.tolerance
    assert defaults["time_limit"] is None
    assert options.max_seconds == math.inf
    assert (defaults["prior_sd"], defaults["l1"]) == (1.0, 0.0)


def test_both_functions_have_the_same_defaults() -> None:
    single = inspect.signature(fs.learn_weights).parameters
    path = inspect.signature(fs.learn_weight_path).parameters
    assert list(single) == list(path)
    for name in itertools.islice(single, 2, None):
        assert single[name].default == path[name].default
