"""Learning from rows with gaps: which terms count, and what is said about it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import feldspar as fs
from feldspar.missing import known_terms
from random_networks import random_network

# A chain: the conditional of v0 needs v1 and nothing else.
CHAIN = fs.Schema([2, 3, 2, 2], names=["a", "b", "c", "d"])
FEATURES = fs.FeatureSet(
    CHAIN,
    [
        [("a", 1)],
        [("b", 1)],
        [("a", 1), ("b", 2)],
        [("b", {0, 2}), ("c", 1)],
        [("c", 1), ("d", 1)],
    ],
)


def holes(codes: np.ndarray, share: float, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.where(random.random(codes.shape) < share, -1, codes)


def sum_of_known(network: fs.MarkovNetwork, table: fs.Table) -> float:
    """The sum over known terms, one by one."""
    total = 0.0
    scopes = {v: {v} for v in range(len(network.schema))}
    for feature in network.features:
        scope = {v for v, _ in feature}
        for v in scope:
            scopes[v] |= scope
    for row, weight in zip(table.to_numpy(), table.weights, strict=True):
        filled = network.conditionals(np.maximum(row, 0)[np.newaxis], n_jobs=1)
        for v, scope in scopes.items():
            if all(row[u] >= 0 for u in scope):
                total += weight * np.log(filled[v][0, row[v]])
    return total


@pytest.mark.parametrize("seed", range(3))
def test_the_objective_is_the_sum_of_known_terms(seed: int) -> None:
    network = random_network(seed, n_variables=6, n_features=8, longest=2)
    drawn = network.sample(40, random_state=seed).to_numpy()
    times = np.random.default_rng(seed).integers(0, 3, 40)
    table = fs.Table(holes(drawn, 0.2, seed), network.schema, sample_weight=times)
    known = known_terms(table, network.features)
    complete = ~(table.to_numpy() < 0).any(axis=1)
    assert known[complete].all()
    assert known[~complete].any()
    with pytest.warns(fs.MissingValuesWarning):
        pll = fs.PseudoLikelihood(network.features, table, n_jobs=1)
    value, gradient = pll.value_and_gradient(network.weights)
    assert value == pytest.approx(sum_of_known(network, table))
    step = 1e-5
    for j in range(len(network.weights)):
        moved = [
            network.weights + sign * step * np.eye(len(network.weights))[j] for sign in (1, -1)
        ]
        up, down = (pll.value_and_gradient(weights)[0] for weights in moved)
        assert gradient[j] == pytest.approx((up - down) / (2 * step), abs=1e-5)


def test_the_objective_is_told_per_example_of_the_variable_that_has_most() -> None:
    truth = fs.MarkovNetwork(FEATURES, [0.5, -0.3, 1.0, 0.8, -1.0])
    codes = truth.sample(60, random_state=0).to_numpy()
    weights = np.random.default_rng(0).integers(1, 4, 60)
    table = fs.Table(holes(codes, 0.2, 0), CHAIN, sample_weight=weights)
    with pytest.warns(fs.MissingValuesWarning):
        network = fs.learn_weights(FEATURES, table, prior_sd=1.0, n_jobs=1)
    most = (known_terms(table, FEATURES) * weights[:, np.newaxis]).sum(axis=0).max()
    penalty = 0.5 * float(network.weights @ network.weights)
    assert network.training_ is not None
    expected = (sum_of_known(network, table) - penalty) / most
    assert network.training_.objective == pytest.approx(expected)


def test_gaps_out_of_reach_cost_nothing() -> None:
    truth = fs.MarkovNetwork(FEATURES, [0.5, -0.3, 1.0, 0.8, -1.0])
    codes = truth.sample(500, random_state=0).to_numpy()
    gaps = codes.copy()
    gaps[:, 3] = -1  # d, which only c needs
    table = fs.Table(gaps, CHAIN)
    known = known_terms(table, FEATURES)
    assert known.all(axis=0).tolist() == [True, True, False, False]
    with pytest.warns(fs.MissingValuesWarning, match=r"1 column: d \(500\); 1000 of 2000 cond"):
        network = fs.learn_weights(FEATURES, table, prior_sd=1.0)
    # Nothing is known of the feature of c and d, and what there is to learn is learned.
    assert network.weights[4] == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(network.weights[:3], truth.weights[:3], atol=0.4)


def test_more_is_learned_than_from_complete_rows() -> None:
    truth = fs.MarkovNetwork(FEATURES, [0.5, -0.3, 1.0, 0.8, -1.0])
    errors = []
    for seed in range(5):
        codes = truth.sample(600, random_state=seed).to_numpy()
        table = fs.Table(holes(codes, 0.3, seed), CHAIN)
        with pytest.warns(fs.MissingValuesWarning):
            every = fs.learn_weights(FEATURES, table, prior_sd=None)
        complete = ~(table.to_numpy() < 0).any(axis=1)
        few = fs.learn_weights(FEATURES, table[complete], prior_sd=None)
        errors.append([np.linalg.norm(n.weights - truth.weights) for n in (every, few)])
    assert np.mean(errors, axis=0)[0] < np.mean(errors, axis=0)[1]


def test_learners_take_structure_from_complete_rows_and_weights_from_all() -> None:
    table = fs.datasets.make_survey(600, missing=0.05, random_state=0)
    learner = fs.L1Neighborhood(C=0.1, rule="and", prior_sd=1.0, n_jobs=1)
    with pytest.warns(fs.MissingValuesWarning, match=r"9 columns: age \(.*\d+ of 600 rows that"):
        network = learner.fit(table.to_frame()).network_
    complete = table[~(table.to_numpy() < 0).any(axis=1)]
    structure = learner.fit(complete).network_.features
    assert network.features == structure
    with pytest.warns(fs.MissingValuesWarning):
        expected = fs.learn_weights(structure, table, prior_sd=1.0, tolerance=1e-5, n_jobs=1)
    np.testing.assert_array_equal(network.weights, expected.weights)


@pytest.mark.parametrize(
    ("learner", "uses_all"),
    [
        (fs.DTSL(kappa=0.1, conversion="prune", prior_sd=1.0), True),
        (fs.DN2MN(kappa=0.1), False),
        (fs.DN2MN(kappa=0.1, relearn=True, prior_sd=1.0), True),
        (fs.Grafting(l1=20.0), False),
        (fs.Grafting(l1=20.0, relearn=True, prior_sd=1.0), True),
        (fs.DependencyNetwork(kappa=0.1), False),
    ],
)
def test_learners_tell_whether_weights_come_from_rows_with_gaps(
    learner: Any, uses_all: bool
) -> None:
    truth = fs.MarkovNetwork(FEATURES, [0.5, -0.3, 1.0, 0.8, -1.0])
    codes = truth.sample(300, random_state=0).to_numpy()
    table = fs.Table(holes(codes, 0.1, 0), CHAIN)
    complete = table[~(table.to_numpy() < 0).any(axis=1)]
    with pytest.warns(fs.MissingValuesWarning) as told:
        score = clone(learner).fit(table).score(complete)
    assert (score != clone(learner).fit(complete).score(complete)) == uses_all
    message = str(told[0].message)
    assert ("weights also from the others" in message) == uses_all
    assert (f"all is learned from the {len(complete)} of 300 rows" in message) != uses_all


def test_validation_rows_with_gaps() -> None:
    train = fs.datasets.make_survey(300, random_state=0)
    valid = fs.datasets.make_survey(100, missing=0.05, random_state=1)
    complete = valid[~(valid.to_numpy() < 0).any(axis=1)]
    learner = fs.L1Neighborhood(C=0.1, rule="and", prior_sd=[1.0, 0.1], n_jobs=1)
    told = rf"X_valid has missing values in 9 columns: .*; the {len(complete)} of 100 rows that are"
    with pytest.warns(fs.MissingValuesWarning, match=told):
        score = learner.fit(train, X_valid=valid).score(complete)
    best = max(row["valid_pll"] for row in learner.trials_ if "prior_sd" in row)
    assert score == pytest.approx(best, rel=1e-12)
    with pytest.warns(fs.MissingValuesWarning, match=told):
        tuned = fs.tune_weights(
            learner.network_.features, train, X_valid=valid, prior_sd=[1.0, 0.1], n_jobs=1
        )
    assert tuned.trials[tuned.best].valid_pll == pytest.approx(tuned.network.score(complete))
    with pytest.raises(ValueError, match="the validation data: none of the 3 rows is complete"):
        learner.fit(train, X_valid=np.full((3, 9), -1))


def test_validation_rows_with_gaps_that_do_not_count_are_not_told_of() -> None:
    train = fs.datasets.make_survey(300, random_state=0)
    valid = fs.datasets.make_survey(100, missing=0.05, random_state=1)
    counts = ~(valid.to_numpy() < 0).any(axis=1)
    valid = fs.Table(valid.to_numpy(), valid.schema, sample_weight=counts)
    learner = fs.L1Neighborhood(C=0.1, rule="and", prior_sd=[1.0, 0.1], n_jobs=1)
    learner.fit(train, X_valid=valid)  # a warning would be an error
    assert learner.valid_pll_ == pytest.approx(learner.score(valid[counts]))


@pytest.mark.parametrize("objective", ["pll", "likelihood"])
def test_rows_with_gaps_that_do_not_count_are_no_rows(objective: Any) -> None:
    rows = np.array([[0, 0], [1, 1], [0, 1], [1, -1], [-1, 0]] * 4)
    complete = (rows >= 0).all(axis=1)
    features = [[(0, 1)], [(0, 1), (1, 1)]]
    # No MissingValuesWarning: all that counts is complete.
    weighted = fs.learn_weights(features, rows, objective=objective, sample_weight=complete)
    alone = fs.learn_weights(features, rows[complete], objective=objective)
    np.testing.assert_array_equal(weighted.weights, alone.weights)
