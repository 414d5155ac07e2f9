"""Grafting and likelihood learning: enumeration, the certificate, schemes, limits."""

import itertools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

import feldspar as fs
from feldspar import _core

Rows = npt.NDArray[np.int64]


def _chain(n_rows: int, n_variables: int, seed: int = 0, cardinality: int = 2) -> Rows:
    """Each variable is mostly the one before."""
    random = np.random.default_rng(seed)
    rows = random.integers(0, cardinality, (n_rows, n_variables))
    for v in range(1, n_variables):
        copied = random.random(n_rows) < 0.6
        rows[copied, v] = rows[copied, v - 1]
    return rows


CHAIN = _chain(600, 8)
MIXED = _chain(500, 4, seed=1, cardinality=3)


def _edges(network: fs.MarkovNetwork) -> set[tuple[int, ...]]:
    return {tuple(sorted({int(v) for v, _ in f})) for f in network.features if len(f) == 2}


def _weights(network: fs.MarkovNetwork) -> dict[Any, float]:
    return dict(zip(network.features, network.weights.tolist(), strict=True))


def _largest_difference(one: fs.MarkovNetwork, other: fs.MarkovNetwork) -> float:
    a, b = _weights(one), _weights(other)
    return max(abs(a.get(f, 0.0) - b.get(f, 0.0)) for f in {*a, *b})


@pytest.mark.parametrize("rows", [CHAIN, MIXED], ids=["binary", "multi-valued"])
def test_maximum_likelihood_is_that_of_enumeration(rows: Rows) -> None:
    weights = np.random.default_rng(2).random(len(rows))
    features = fs.FeatureSet.conjunctions(rows, order=2)
    network = fs.learn_weights(
        features,
        rows,
        prior_sd=2.0,
        objective="likelihood",
        inference="exact",
        sample_weight=weights,
        tolerance=1e-14,
    )
    states = np.array(list(itertools.product(*(range(int(c) + 1) for c in rows.max(axis=0)))))

    def matrix(X: Rows) -> npt.NDArray[np.float64]:
        return np.array(
            [np.all([X[:, v] == value for v, value in f], axis=0) for f in features], dtype=float
        ).T

    all_states, counts = matrix(states), weights @ matrix(rows)

    def loss(w: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        logs = all_states @ w
        log_z = np.logaddexp.reduce(logs)
        expected = np.exp(logs - log_z) @ all_states
        total = weights.sum()
        value = total * log_z - counts @ w + w @ w / 8
        return float(value), total * expected - counts + w / 4

    best = minimize(loss, np.zeros(len(features)), jac=True, method="L-BFGS-B", tol=1e-14)
    np.testing.assert_allclose(network.weights, best.x, atol=1e-3)
    assert network.training_ is not None
    assert network.training_.objective == pytest.approx(-best.fun / weights.sum(), abs=1e-9)


@pytest.mark.parametrize("rows", [CHAIN, MIXED], ids=["binary", "multi-valued"])
def test_every_scheme_finds_the_same_optimum(rows: Rows) -> None:
    weights = np.random.default_rng(3).random(len(rows))
    networks = []
    for scheme in ("gain", "grad", "simple"):
        learner = fs.Grafting(
            scheme=scheme, l1=8.0, prior_sd=None, inference="exact", tolerance=1e-13, n_add=2
        ).fit(rows, sample_weight=weights)
        assert learner.stop_ == "optimum"
        assert learner.certificate_.violation < 1e-3
        assert 0 < learner.certificate_.largest_gradient <= 8.001
        assert learner.inference_ == "exact"
        networks.append(learner.network_)
    assert _largest_difference(networks[0], networks[1]) < 1e-5
    assert _largest_difference(networks[0], networks[2]) < 1e-5


def test_it_finds_the_chain() -> None:
    learner = fs.Grafting(l1=[40.0, 10.0]).fit(CHAIN, X_valid=_chain(300, 8, seed=9))
    pairs = {f: abs(w) for f, w in _weights(learner.network_).items() if len(f) == 2}
    strongest = sorted(pairs, key=lambda f: -pairs[f])[:7]
    assert {tuple(v for v, _ in f) for f in strongest} == {(v, v + 1) for v in range(7)}
    assert len(pairs) < 28
    rows = [row for row in learner.trials_ if row["stage"] == "weights"]
    assert [row["l1"] for row in rows] == [40.0, 10.0]
    assert learner.best_params_["l1"] == 10.0


def test_gibbs_and_belief_propagation_agree_with_exact_on_a_chain() -> None:
    pool = [[(v, 1), (v + 1, 1)] for v in range(7)]
    exact = fs.Grafting(l1=20.0, features=pool, inference="exact").fit(CHAIN)
    bp = fs.Grafting(l1=20.0, features=pool, inference="bp").fit(CHAIN)
    assert _largest_difference(exact.network_, bp.network_) < 1e-3  # a tree: nothing is lost
    gibbs = fs.Grafting(l1=20.0, features=pool, inference="gibbs", n_states=4000).fit(CHAIN)
    assert gibbs.inference_ == "gibbs"
    assert _edges(gibbs.network_) == _edges(exact.network_)
    assert _largest_difference(exact.network_, gibbs.network_) < 0.25


def test_a_pool_of_ones_own() -> None:
    pool = [[(0, 1), (1, 1), (2, 1)], [(0, 1), (7, 1)], [(3, 0), (4, 0)]]
    learner = fs.Grafting(l1=1.0, features=pool).fit(CHAIN)
    kept = {f for f in learner.network_.features if len(f) > 1}
    assert kept <= set(fs.FeatureSet(learner.schema_, pool))
    assert kept
    as_set = fs.Grafting(l1=1.0, features=fs.FeatureSet(learner.schema_, pool)).fit(CHAIN)
    assert as_set.network_.features == learner.network_.features
    with pytest.raises(ValueError, match="features: their schema is not that of X"):
        fs.Grafting(l1=1.0, features=fs.FeatureSet.conjunctions(MIXED)).fit(CHAIN)


def test_without_l1_features_stay() -> None:
    sparse = fs.Grafting(penalty="l2", min_gradient=20.0).fit(CHAIN)
    dense = fs.Grafting(penalty="none", min_gradient=0.0).fit(CHAIN)
    assert _edges(sparse.network_) < _edges(dense.network_)
    assert sparse.certificate_.largest_gradient <= 20.1
    assert sparse.network_.training_.prior_sd == 10.0
    assert dense.network_.training_.prior_sd is None
    limited = fs.Grafting(penalty="none", max_features=3).fit(CHAIN)
    assert limited.stop_ == "max_features"
    assert len(_edges(limited.network_)) == 3
    assert limited.certificate_.violation > 0


def test_no_room_for_more_features_is_no_reason_for_other_weights() -> None:
    limited = fs.Grafting(l1=5.0, prior_sd=None, max_features=3).fit(CHAIN)
    assert limited.stop_ == "max_features"
    assert limited.network_.training_.l1 == limited.certificate_.threshold == 5.0
    pairs = [f for f in limited.network_.features if len(f) > 1]
    alone = fs.Grafting(l1=5.0, prior_sd=None, features=pairs).fit(CHAIN)
    assert alone.network_.features == limited.network_.features
    np.testing.assert_allclose(limited.network_.weights, alone.network_.weights, atol=5e-3)


def test_a_time_limit_counts_sampling_too() -> None:
    pairs = fs.FeatureSet.conjunctions(CHAIN, order=2)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        network = fs.learn_weights(
            pairs, CHAIN, objective="likelihood", inference="gibbs", time_limit=1e-3
        )
    assert network.training_.status == "time_limit"


def test_weights_learned_anew_are_those_of_the_pseudo_likelihood() -> None:
    valid = _chain(300, 8, seed=9)
    learner = fs.Grafting(l1=[40.0, 10.0], relearn=True, prior_sd=1.0).fit(CHAIN, X_valid=valid)
    network = learner.network_
    by_hand = fs.learn_weights(network.features, CHAIN, prior_sd=1.0)
    np.testing.assert_array_equal(network.weights, by_hand.weights)
    assert learner.certificate_.threshold == learner.best_params_["l1"]
    assert learner.best_params_["l1"] == 40.0  # nothing to shrink: the sparser one is better


@pytest.mark.parametrize("penalty", ["l2", "none"])
def test_priors_of_weights_learned_anew_are_chosen_by_rows_held_out(penalty: Any) -> None:
    learner = fs.Grafting(penalty=penalty, relearn=True, prior_sd=[1.0, 0.01, 10.0]).fit(CHAIN)
    assert learner.valid_pll_ is not None
    scores = {row["prior_sd"]: row["valid_pll"] for row in learner.trials_ if "prior_sd" in row}
    assert scores[learner.best_params_["prior_sd"]] == max(scores.values())


def test_exact_inference_that_becomes_too_wide_is_told() -> None:
    with pytest.warns(ConvergenceWarning, match="max_table_entries is 30"):
        learner = fs.Grafting(l1=2.0, inference="exact", max_table_entries=30).fit(CHAIN)
    assert learner.stop_ == "inference"
    assert learner.network_.score(CHAIN) < 0


def test_defaults_follow_the_number_of_rows() -> None:
    learner = fs.Grafting(scheme="grad").fit(CHAIN)
    tried = [row["l1"] for row in learner.trials_ if row["stage"] == "weights"]
    np.testing.assert_allclose(tried, np.sqrt(540) * np.array([1.0, 0.5, 0.2, 0.1, 0.05]))


def test_ctrl_c_in_the_middle_keeps_what_was_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(stage: str, done: float, total: float, value: float) -> None:
        if stage == "grafting" and done >= 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(
        "feldspar.learners.grafting.progress_bar", lambda title, shown: nullcontext(interrupt)
    )
    learner = fs.Grafting(l1=1.0, n_add=2)
    with pytest.warns(UserWarning, match="interrupted; the best network so far is kept"):
        learner.fit(CHAIN)
    assert learner.stop_ == "interrupted"
    assert 0 < len(_edges(learner.network_)) < 12
    with pytest.raises(KeyboardInterrupt):
        fs.Grafting(l1=1.0, n_add=2, on_interrupt="raise").fit(CHAIN)


def test_defaults_are_those_of_the_core() -> None:
    learner, core = fs.Grafting(), _core.GraftingOptions()
    for name in ("scheme", "n_add", "anneal"):
        assert getattr(learner, name) == getattr(core, name)
    assert learner.inference == core.inference.method
    assert learner.max_table_entries == core.inference.max_table_entries
    assert learner.n_states == core.inference.n_states
    assert learner.tolerance == core.weights.tolerance
    assert learner.max_iterations == core.weights.max_iterations


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scheme", "best"),
        ("penalty", "l3"),
        ("inference", "mcmc"),
        ("l1", -1.0),
        ("n_add", 0),
        ("anneal", 1.0),
        ("min_gradient", -1.0),
        ("n_states", 0),
    ],
)
def test_bad_parameters_are_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        fs.Grafting(**{name: value}).fit(CHAIN[:50])


def test_bad_words_for_weights_are_named() -> None:
    with pytest.raises(ValueError, match="objective must be 'pll' or 'likelihood', got 'mle'"):
        fs.learn_weights([[(0, 1)]], CHAIN, objective="mle")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="inference must be"):
        fs.learn_weights([[(0, 1)]], CHAIN, objective="likelihood", inference="x")  # type: ignore[arg-type]


def test_the_reference_of_nltcs(benchmark: Callable[[str], fs.datasets.DataSplit]) -> None:
    data = benchmark("nltcs")
    features = fs.FeatureSet.conjunctions(data.train, order=2)
    network = fs.learn_weights(features, data.train, prior_sd=None, objective="likelihood")
    assert network.log_likelihood(data.test).mean() == pytest.approx(-6.0284, abs=1e-4)
    assert network.score(data.test) == pytest.approx(-4.9501, abs=1e-4)
