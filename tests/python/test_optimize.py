"""The optimizers for functions written in Python: agreement with SciPy, promises to users."""

import dataclasses
import doctest
import inspect
import math
import signal

import numpy as np
import pytest
import scipy.optimize

import feldspar.optimize
from feldspar import _core
from feldspar.optimize import minimize


class Bowl:
    """Half the squared distance to `target`; counts its calls."""

    def __init__(self, target):
        self.target = np.asarray(target, dtype=float)
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return 0.5 * np.sum((x - self.target) ** 2), x - self.target


def random_logistic(seed, n_rows=200, n_columns=15, ridge=0.1):
    """A regularised logistic loss with columns of differing scale, and its inverse diagonal."""
    generator = np.random.default_rng(seed)
    scales = np.logspace(0, 1, n_columns)
    rows = generator.normal(size=(n_rows, n_columns)) * scales
    labels = np.where(rows @ (generator.normal(size=n_columns) / scales) > 0, 1.0, -1.0)
    labels[: n_rows // 5] *= -1

    def loss(x):
        margins = labels * (rows @ x)
        value = np.logaddexp(0, -margins).sum() + 0.5 * ridge * x @ x
        weights = scipy.special.expit(-margins) * labels
        return value, ridge * x - rows.T @ weights

    return loss, 1 / (0.25 * (rows**2).sum(axis=0) + ridge)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("preconditioned", [False, True])
def test_smooth_optimum_equals_scipy(seed, preconditioned):
    loss, inverse_diagonal = random_logistic(seed)
    x0 = np.zeros(15)
    expected = scipy.optimize.minimize(
        loss, x0, jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-8, "maxiter": 5000}
    )
    result = minimize(
        loss,
        x0,
        gradient_tolerance=1e-7,
        inverse_diagonal=inverse_diagonal if preconditioned else None,
    )
    assert result.status == "converged"
    assert result.value == pytest.approx(expected.fun, rel=1e-10)
    np.testing.assert_allclose(result.x, expected.x, atol=1e-5)
    assert np.abs(loss(result.x)[1]).max() == result.gradient_norm <= 1e-7


@pytest.mark.parametrize("seed", range(3))
def test_penalised_optimum_equals_scipy_on_split_variables(seed):
    # |x| = p + q with x = p - q and p, q >= 0 is smooth with bounds, which L-BFGS-B can do.
    loss, inverse_diagonal = random_logistic(seed)
    l1 = np.linspace(0, 40, 15)

    def split_loss(pq):
        value, gradient = loss(pq[:15] - pq[15:])
        return value + l1 @ (pq[:15] + pq[15:]), np.concatenate([gradient + l1, l1 - gradient])

    expected = scipy.optimize.minimize(
        split_loss,
        np.zeros(30),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * 30,
        options={"ftol": 0, "gtol": 1e-9, "maxiter": 20000, "maxfun": 40000},
    )
    result = minimize(
        loss, np.zeros(15), l1=l1, gradient_tolerance=1e-7, inverse_diagonal=inverse_diagonal
    )
    assert result.status == "converged"
    assert result.value == pytest.approx(expected.fun, rel=1e-9)
    assert 0 < np.count_nonzero(result.x) < 15


def test_a_scalar_penalty_is_the_same_for_all():
    loss, _ = random_logistic(1)
    a = minimize(loss, np.zeros(15), l1=2.0)
    b = minimize(loss, np.zeros(15), l1=np.full(15, 2.0))
    np.testing.assert_array_equal(a.x, b.x)


def test_result_has_all_fields_and_is_read_only():
    fun = Bowl([1.0, -2.0, 3.0])
    result = minimize(fun, [0, 0, 0])
    assert result.converged
    assert result.evaluations == fun.calls
    assert result.message.startswith("The gradient, the distance to the optimum or the relative")
    assert result.seconds >= 0
    assert result.history.dtype.names == (
        "iteration",
        "value",
        "gradient_norm",
        "step",
        "evaluations",
        "seconds",
    )
    assert result.history["iteration"].tolist() == list(range(result.iterations + 1))
    assert result.history["value"][0] == 7.0
    assert result.history["value"][-1] == result.value
    assert "status='converged'" in repr(result)
    with pytest.raises(ValueError, match="read-only"):
        result.x[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        result.history["value"][0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.value = 0.0


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        ({"max_iterations": 2}, "max_iterations"),
        ({"max_evaluations": 4}, "max_evaluations"),
        ({"max_seconds": 0.0}, "time_limit"),
        ({"gradient_tolerance": 0.0}, "stalled"),
        ({"gradient_tolerance": 0.0, "relative_decrease": 1e-6}, "converged"),
    ],
)
def test_status_says_why_it_ended(limits, status):
    loss, _ = random_logistic(2)
    result = minimize(loss, np.ones(15), **limits)
    assert result.status == status
    assert result.converged == (status == "converged")
    assert loss(result.x)[0] == pytest.approx(result.value)
    assert result.value <= loss(np.ones(15))[0]


def test_callback_sees_every_iteration_and_may_stop():
    loss, _ = random_logistic(3)
    seen = []
    result = minimize(loss, np.zeros(15), callback=lambda *args: seen.append(args))
    assert seen == list(zip(result.history["iteration"], result.history["value"], strict=True))

    result = minimize(loss, np.zeros(15), callback=lambda iteration, _: iteration == 3)
    assert result.status == "interrupted"
    assert result.iterations == 3
    assert result.value == result.history["value"][-1]


class Refusal(Exception):
    pass


def test_exceptions_of_the_function_and_the_callback_pass_through():
    def fails_later(x):
        if x[0] != 0:
            raise Refusal("at the second call")
        return Bowl([1.0])(x)

    def fails(iteration, value):
        raise Refusal("callback")

    with pytest.raises(Refusal, match="second call"):
        minimize(fails_later, [0.0])
    with pytest.raises(Refusal, match="callback"):
        minimize(Bowl([1.0]), [0.0], callback=fails)


def test_ctrl_c_arrives():
    def interrupted(x):
        signal.raise_signal(signal.SIGINT)
        return Bowl([1.0])(x)

    with pytest.raises(KeyboardInterrupt):
        minimize(interrupted, [0.0])


def test_the_function_may_keep_and_change_what_it_gets():
    points = []

    def greedy(x):
        value, gradient = Bowl([2.0, 3.0])(x)
        points.append(x.copy())
        x[:] = np.nan
        return value, gradient

    result = minimize(greedy, [0.0, 0.0])
    assert result.converged
    np.testing.assert_allclose(result.x, [2.0, 3.0], atol=1e-5)
    assert len({tuple(point) for point in points}) == len(points)


def test_x0_is_left_alone():
    x0 = np.zeros(2)
    minimize(Bowl([2.0, 3.0]), x0)
    np.testing.assert_array_equal(x0, [0, 0])


def test_values_that_are_not_finite_shorten_the_step():
    def barrier(x):
        with np.errstate(invalid="ignore"):
            return -np.log(1 - x[0]) - 3 * x[0], 1 / (1 - x) - 3

    result = minimize(barrier, [0.0], inverse_diagonal=[100.0])
    assert result.converged
    assert result.x[0] == pytest.approx(2 / 3, abs=1e-4)


def test_single_precision_functions_converge_with_more_noise():
    target = np.linspace(-1, 1, 20).astype(np.float32)

    def single(x):
        difference = x.astype(np.float32) - target
        value = np.float32(1e3) + np.float32(0.5) * np.sum(difference**2 * np.arange(1, 21))
        return float(np.float32(value)), difference * np.arange(1, 21)

    result = minimize(single, np.zeros(20), gradient_tolerance=1e-4, value_noise=1e-6)
    assert result.converged


def test_no_coordinates():
    result = minimize(lambda x: (1.5, x), [])
    assert result.converged
    assert result.value == 1.5
    assert result.x.shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"x0": [[0.0]]}, ValueError, r"x0 must have one dimension, got shape \(1, 1\)"),
        ({"x0": 1.0}, ValueError, r"x0 must have one dimension, got shape \(\)"),
        ({"x0": ["a"]}, TypeError, "x0 must be an array of numbers"),
        ({"x0": [0.0, math.nan]}, ValueError, r"x0\[1\] must be finite, got nan"),
        ({"l1": -1.0}, ValueError, r"l1\[0\] must be finite and at least 0, got -1"),
        ({"l1": [1.0]}, ValueError, "l1 must have the objective's dimension 2, got 1"),
        ({"inverse_diagonal": [1.0, -1.0]}, ValueError, r"inverse_diagonal\[1\] must be positive"),
        ({"memory": 0}, ValueError, "memory must be at least 1, got 0"),
        ({"memory": 2.5}, TypeError, "memory must be of type int, got 2.5"),
        ({"max_seconds": "1"}, TypeError, "max_seconds must be of type float, got '1'"),
        ({"fun": lambda x: 1.0}, TypeError, r"must return a pair \(value, gradient\), got 1.0"),
        ({"fun": lambda x: (x, x)}, TypeError, r"value must be a number, got shape \(2,\)"),
        ({"fun": lambda x: (1.0, x[:1])}, ValueError, "gradient must have 2 entries, got 1"),
        ({"fun": lambda x: (math.nan, x)}, ArithmeticError, "at x0 is not finite"),
    ],
)
def test_errors_name_the_parameter(arguments, error, message):
    usual = {"fun": Bowl([1.0, 2.0]), "x0": [0.0, 0.0]}
    with pytest.raises(error, match=message):
        minimize(**(usual | arguments))


def test_defaults_are_those_of_the_core():
    options = _core.OptimizeOptions()
    shown = {
        name: parameter.default
        for name, parameter in inspect.signature(minimize).parameters.items()
        if hasattr(options, name)
    }
    assert shown == {name: getattr(options, name) for name in shown}
    assert len(shown) == sum(not name.startswith("_") for name in dir(options))


def test_examples_run():
    assert doctest.testmod(feldspar.optimize).failed == 0
