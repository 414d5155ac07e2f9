"""L1-penalised regressions of all variables: scikit-learn's optima and the conditions of one."""

from __future__ import annotations

import signal
from functools import cache

import numpy as np
import pytest
import sklearn
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from feldspar import _core

PATH = np.array([0.001, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0])
SKLEARN = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
L1 = {"l1_ratio": 1.0} if SKLEARN >= (1, 8) else {"penalty": "l1"}


def options(**settings):
    result = _core.L1Options()
    for name, value in settings.items():
        setattr(result, name, value)
    return result


def fit(codes, cardinalities, c_values=PATH, weights=None, n_threads=1, **settings):
    data = _core.Dataset.merge(cardinalities, np.ascontiguousarray(codes, np.int32), weights)
    return _core.L1Path.fit(data, np.asarray(c_values, float), options(**settings), n_threads, None)


def chain(seed, n_rows, cardinalities):
    """Rows in which every variable depends on the one before it."""
    rng = np.random.default_rng(seed)
    codes = np.empty((n_rows, len(cardinalities)), np.int32)
    for v, cardinality in enumerate(cardinalities):
        codes[:, v] = rng.integers(0, cardinality, n_rows)
        if v > 0:
            keep = rng.random(n_rows) < 0.5
            codes[keep, v] = codes[keep, v - 1] % cardinality
    return codes


def indicators(codes, cardinalities, target):
    """Columns X_j = u for the other variables and non-zero values, and what they stand for."""
    names = [(j, u) for j, c in enumerate(cardinalities) if j != target for u in range(1, c)]
    return np.column_stack([codes[:, j] == u for j, u in names]).astype(float), names


def dense(path, target, c, cardinalities):
    """Intercepts and a matrix of weights, values of the target x indicators."""
    _, names = indicators(np.zeros((1, len(cardinalities))), cardinalities, target)
    place = {name: i for i, name in enumerate(names)}
    matrix = np.zeros((cardinalities[target], len(names)))
    for variable, value, target_value, weight in zip(*path.weights(target, c), strict=True):
        matrix[target_value, place[variable, value]] = weight
    return path.intercepts(target, c), matrix


def objective(X, y, intercepts, matrix, C, weights=1.0, penalized_intercept=False):
    log_p = log_softmax(X @ matrix.T + intercepts, axis=1)
    loss = -np.sum(weights * log_p[np.arange(len(y)), y])
    return C * loss + np.abs(matrix).sum() + penalized_intercept * np.abs(intercepts).sum()


def violation(X, y, intercepts, matrix, C, weights=1.0):
    """Return the largest component of the subgradient of C * loss + |w|."""
    p = np.exp(log_softmax(X @ matrix.T + intercepts, axis=1))
    p[np.arange(len(y)), y] -= 1.0
    residuals = C * np.asarray(weights)[..., None] * p
    if len(intercepts) == 2:
        residuals, matrix = residuals[:, 1:], matrix[1:]
    gradient = residuals.T @ X
    outside = np.where(
        matrix != 0, np.abs(gradient + np.sign(matrix)), np.maximum(np.abs(gradient) - 1, 0)
    )
    return max(outside.max(), np.abs(residuals.sum(axis=0)).max())


def liblinear(X, y, C, weights=None):
    model = LogisticRegression(solver="liblinear", C=C, tol=1e-9, max_iter=100_000, **L1)
    model.fit(X, y, sample_weight=weights)
    intercepts = np.array([0.0, model.intercept_[0]])
    return objective(
        X,
        y,
        intercepts,
        np.vstack([np.zeros(X.shape[1]), model.coef_]),
        C,
        1.0 if weights is None else weights,
        penalized_intercept=True,
    )


@pytest.mark.parametrize("solver", ["coordinate", "owlqn"])
@pytest.mark.parametrize("weighted", [False, True])
def test_objective_equals_liblinear(solver, weighted):
    cardinalities = [2] * 8
    codes = chain(1, 300, cardinalities)
    weights = np.random.default_rng(2).uniform(0.1, 3, 300) if weighted else None
    path = fit(codes, cardinalities, weights=weights, penalize_intercept=True, solver=solver)
    for target in range(8):
        X, _ = indicators(codes, cardinalities, target)
        for c, C in enumerate(PATH):
            expected = liblinear(X, codes[:, target], C, weights)
            assert path.objective(target, c) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("target", [0, 7, 15])
def test_objective_equals_liblinear_on_nltcs(benchmark, target):
    codes = benchmark("nltcs").train.to_numpy()
    cardinalities = [2] * 16
    path = fit(codes, cardinalities, penalize_intercept=True)
    X, _ = indicators(codes, cardinalities, target)
    for c in (1, 4, 6):
        expected = liblinear(X, codes[:, target], PATH[c])
        assert path.objective(target, c) == pytest.approx(expected, rel=1e-6)


def test_multinomial_objective_equals_saga():
    cardinalities = [3, 2, 4]
    codes = chain(3, 250, cardinalities)
    path = fit(codes, cardinalities, [0.05, 0.5])
    for target in (0, 2):
        X, _ = indicators(codes, cardinalities, target)
        y = codes[:, target]
        for c, C in enumerate([0.05, 0.5]):
            model = LogisticRegression(
                solver="saga", C=C, tol=1e-9, max_iter=20_000, random_state=0, **L1
            ).fit(X, y)
            expected = objective(X, y, model.intercept_, model.coef_, C)
            assert path.objective(target, c) == pytest.approx(expected, rel=1e-6)
            own = dense(path, target, c, cardinalities)
            assert objective(X, y, *own, C) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", ["nltcs", "dna", "jester"])
def test_benchmarks_meet_the_optimality_conditions(benchmark, name):
    codes = benchmark(name).train.to_numpy()
    # of the large sets some variables, so that the test stays fast
    codes = codes[:, :16] if name == "nltcs" else codes[:, ::5]
    cardinalities = [2] * codes.shape[1]
    path = fit(codes, cardinalities)
    assert {path.status(t, c) for t in range(len(cardinalities)) for c in range(7)} == {"converged"}
    assert path.violations.max() <= 5e-7
    for target in range(0, len(cardinalities), 3):
        X, _ = indicators(codes, cardinalities, target)
        y = codes[:, target]
        for c, C in enumerate(PATH):
            own = dense(path, target, c, cardinalities)
            assert violation(X, y, *own, C) < 6e-7
            assert path.objective(target, c) == pytest.approx(objective(X, y, *own, C), rel=1e-10)


def test_both_solvers_agree_on_nltcs(benchmark):
    codes = benchmark("nltcs").train.to_numpy()
    one, other = (fit(codes, [2] * 16, solver=s) for s in ("coordinate", "owlqn"))
    np.testing.assert_allclose(one.objectives, other.objectives, rtol=1e-9)


@cache
def mixed():
    cardinalities = [2, 3, 1, 4, 2]
    return chain(4, 400, cardinalities), cardinalities


def test_weights_and_conditions_with_many_values():
    codes, cardinalities = mixed()
    weights = np.random.default_rng(5).uniform(0.0, 2.0, len(codes))
    path = fit(codes, cardinalities, weights=weights, tolerance=1e-8)
    for target in (0, 1, 3, 4):
        X, _ = indicators(codes, cardinalities, target)
        for c, C in enumerate(PATH):
            own = dense(path, target, c, cardinalities)
            assert violation(X, codes[:, target], *own, C, weights) < 1e-8


def test_tables_tell_what_the_fits_tell():
    codes, cardinalities = mixed()
    path = fit(codes, cardinalities)
    assert path.n_values == 7
    np.testing.assert_array_equal(path.c_values, PATH)
    np.testing.assert_array_equal(_core.L1Path.default_c_values(), PATH)
    for table in (path.objectives, path.training_log_likelihoods, path.violations, path.seconds):
        assert table.shape == (5, 7)
    for target in range(5):
        for c in range(7):
            weights = path.weights(target, c)[3]
            assert path.n_nonzeros[target, c] == len(weights)
            assert path.objectives[target, c] == path.objective(target, c)
            value = PATH[c] * -path.training_log_likelihoods[target, c] + np.abs(weights).sum()
            assert path.objective(target, c) == pytest.approx(value, rel=1e-12)
    assert path.iterations.max() > 0


def test_scores_of_other_rows():
    codes, cardinalities = mixed()
    path = fit(codes[:300], cardinalities)
    rest, weights = codes[300:], np.linspace(0.5, 2.0, 100)
    scores = path.log_likelihoods(np.ascontiguousarray(rest), weights, 1)
    for c in range(7):
        expected = 0.0
        for target in (0, 1, 3, 4):
            X, _ = indicators(rest, cardinalities, target)
            intercepts, matrix = dense(path, target, c, cardinalities)
            log_p = log_softmax(X @ matrix.T + intercepts, axis=1)
            expected += weights @ log_p[np.arange(100), rest[:, target]]
        assert scores[c] == pytest.approx(expected, rel=1e-12)


def test_edges_and_features():
    codes, cardinalities = mixed()
    path = fit(codes, cardinalities)
    choice = [3] * 5
    linked = {(t, int(v)) for t in range(5) for v in path.weights(t, 3)[0]}
    pairs = [(i, j) for i in range(5) for j in range(i + 1, 5)]
    for rule, wanted in [("and", all), ("or", any)]:
        expected = [(i, j) for i, j in pairs if wanted([(i, j) in linked, (j, i) in linked])]
        assert list(zip(*path.edges(choice, rule), strict=True)) == expected
        features = path.features(3, rule)
        n_pairs = sum((cardinalities[i] - 1) * (cardinalities[j] - 1) for i, j in expected)
        assert len(features) == 7 + n_pairs
        for a, b in zip(
            features.flatten(), path.features_by_choice(choice, rule).flatten(), strict=True
        ):
            np.testing.assert_array_equal(a, b)


def test_ebic():
    codes, cardinalities = mixed()
    path = fit(codes, cardinalities)
    candidates = 7 - (np.array(cardinalities) - 1)
    price = np.log(400) + 2 * 0.25 * np.log(candidates)
    expected = -2 * path.training_log_likelihoods + path.n_nonzeros * price[:, None]
    np.testing.assert_allclose(path.ebic(0.25), expected, rtol=1e-13)
    assert path.choose_by_ebic(0.25) == list(expected.argmin(axis=1))


def test_the_dependency_network_has_the_conditionals():
    codes, cardinalities = mixed()
    path = fit(codes, cardinalities)
    network = path.to_dependency_network([4] * 5)
    own = network.observed_log_conditionals(codes, 1).sum(axis=0)
    np.testing.assert_allclose(own, path.training_log_likelihoods[:, 4], atol=1e-9)
    chosen = path.to_dependency_network([4, 0, 0, 0, 4])
    mixed_own = chosen.observed_log_conditionals(codes, 1).sum(axis=0)
    expected = [path.training_log_likelihoods[t, c] for t, c in enumerate([4, 0, 0, 0, 4])]
    np.testing.assert_allclose(mixed_own, expected, atol=1e-9)


def test_threads_change_nothing():
    codes, cardinalities = mixed()
    one, many = (fit(codes, cardinalities, n_threads=n) for n in (1, 4))
    np.testing.assert_array_equal(one.objectives, many.objectives)
    for target in range(5):
        for a, b in zip(one.weights(target, 6), many.weights(target, 6), strict=True):
            np.testing.assert_array_equal(a, b)


def test_progress_and_interruption():
    codes, cardinalities = mixed()
    data = _core.Dataset.merge(cardinalities, codes, None)
    reports = []
    _core.L1Path.fit(data, PATH, options(), 1, lambda *report: reports.append(report))
    assert [report[:3] for report in reports] == [("l1", float(i), 5.0) for i in range(1, 6)]

    def interrupt(*_):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        _core.L1Path.fit(data, PATH, options(), 1, interrupt)


@pytest.mark.parametrize(
    ("c_values", "settings", "message"),
    [
        ([], {}, "c_values: none given"),
        ([1.0, -1.0], {}, "c_values: number 1 is -1; expected a positive, finite number"),
        ([np.nan], {}, "c_values: number 0 is nan"),
        ([1.0], {"tolerance": 0.0}, "tolerance must be positive, got 0"),
        ([1.0], {"max_iterations": 0}, "max_iterations must be at least 1, got 0"),
    ],
)
def test_bad_arguments_are_named(c_values, settings, message):
    codes, cardinalities = mixed()
    with pytest.raises(ValueError, match=message):
        fit(codes, cardinalities, c_values, **settings)


def test_bad_names_and_places_are_named():
    codes, cardinalities = mixed()
    with pytest.raises(ValueError, match="solver must be 'coordinate' or 'owlqn', got 'saga'"):
        options(solver="saga")
    path = fit(codes, cardinalities)
    with pytest.raises(ValueError, match="rule must be 'and' or 'or', got 'xor'"):
        path.features(0, "xor")
    with pytest.raises(ValueError, match="c_index 7 does not exist; the path has 7 values"):
        path.features(7, "and")
    with pytest.raises(ValueError, match="target 5 does not exist; there are 5 variables"):
        path.weights(5, 0)
    with pytest.raises(ValueError, match="choice: got 2 for 5 variables"):
        path.edges([0, 0], "and")
