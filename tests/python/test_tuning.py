"""Choosing penalties on validation data."""

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import feldspar as fs
from feldspar.tuning import tune_weights

RANDOM = np.random.RandomState(3)
X = (RANDOM.rand(30, 4) < 0.3).astype(int)
FEATURES = fs.FeatureSet.conjunctions(X, order=2)


def test_one_setting_is_learn_weights_on_all_rows() -> None:
    tuned = tune_weights(FEATURES, X, prior_sd=0.5, l1=2.0)
    expected = fs.learn_weights(FEATURES, X, prior_sd=0.5, l1=2.0)
    np.testing.assert_array_equal(tuned.network.weights, expected.weights)
    assert [trial.valid_pll for trial in tuned.trials] == [None]


@pytest.mark.parametrize(
    "name",
    ["prior_sd", "l1", "sample_weight", "max_iterations", "tolerance", "time_limit", "n_jobs"],
)
def test_defaults_are_those_of_learn_weights(name: str) -> None:
    ours, theirs = (
        inspect.signature(function).parameters[name].default
        for function in (tune_weights, fs.learn_weights)
    )
    assert ours == theirs


def test_the_best_on_validation_data_is_kept() -> None:
    valid = (RANDOM.rand(500, 4) < 0.3).astype(int)
    sds = [10.0, 0.01, 0.3, None]
    tuned = tune_weights(FEATURES, X, X_valid=valid, prior_sd=sds)
    scores = [fs.learn_weights(FEATURES, X, prior_sd=sd).score(valid) for sd in sds]
    assert [trial.valid_pll for trial in tuned.trials] == pytest.approx(scores, abs=1e-4)
    assert tuned.best == int(np.argmax(scores)) == 2
    assert tuned.network.score(valid) == tuned.trials[2].valid_pll


def test_all_combinations_are_tried_in_order() -> None:
    tuned = tune_weights(FEATURES, X, X_valid=X, prior_sd=[1.0, None], l1=[0.0, 1.0, 50.0])
    tried = [(trial.prior_sd, trial.l1) for trial in tuned.trials]
    assert tried == [(sd, l1) for sd in (1.0, None) for l1 in (0.0, 1.0, 50.0)]
    assert tuned.trials[2].n_features < tuned.trials[0].n_features == len(FEATURES)


@pytest.mark.filterwarnings("ignore::feldspar.missing.MissingValuesWarning")
def test_complete_rows_are_held_out() -> None:
    codes = np.random.RandomState(0).randint(2, size=(100, 2))
    codes[2:, 1] = -1
    table = fs.Table.from_array(codes)
    features = fs.FeatureSet.conjunctions(table[:2], order=1)
    tuned = tune_weights(features, table, prior_sd=[1.0, 0.1])
    assert all(trial.valid_pll is not None for trial in tuned.trials)


def test_without_validation_data_a_tenth_is_held_out() -> None:
    tuned = tune_weights(FEATURES, X, prior_sd=[1.0, 0.1], random_state=5)
    valid, train = fs.Table.of(X).split(0.1, 5)
    assert len(valid) == 3
    by_hand = tune_weights(FEATURES, train, X_valid=valid, prior_sd=[1.0, 0.1])
    np.testing.assert_array_equal(tuned.network.weights, by_hand.network.weights)
    assert [t.valid_pll for t in tuned.trials] == [t.valid_pll for t in by_hand.trials]


def test_of_equals_the_first_is_kept() -> None:
    assert tune_weights(FEATURES, X, X_valid=X, prior_sd=[1.0, 1.0]).best == 0


def test_trials_are_plain() -> None:
    trial = tune_weights(FEATURES, X).trials[0].to_dict()
    assert trial["status"] == "converged"
    assert trial["n_features"] == len(FEATURES)


def test_an_empty_grid_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        tune_weights(FEATURES, X, prior_sd=[])


@pytest.mark.parametrize("values", [np.float32(0.5), np.array(0.5), np.int64(1), (0.5,)])
def test_one_value_may_come_in_many_forms(values: Any) -> None:
    tuned = tune_weights(FEATURES, X, prior_sd=values, l1=values)
    assert [(t.prior_sd, t.l1) for t in tuned.trials] == [(float(np.ravel(values)[0]),) * 2]


# Under the labels (1, 0) a code and the label of the same name are different values.


@pytest.fixture
def reversed_schema() -> fs.Schema:
    return fs.Schema([2] * 4, labels=[[1, 0]] * 4)


def test_arrays_hold_the_codes_of_the_features_schema(reversed_schema: fs.Schema) -> None:
    features = fs.FeatureSet.conjunctions(fs.Table.of(X, reversed_schema), order=2)
    tuned = tune_weights(features, X, X_valid=X, prior_sd=[1.0, 0.1])
    expected = fs.learn_weight_path(features, X, prior_sd=[1.0, 0.1])
    assert tuned.network.schema == reversed_schema
    np.testing.assert_array_equal(tuned.network.weights, expected[tuned.best].weights)
    assert [t.valid_pll for t in tuned.trials] == [network.score(X) for network in expected]


def test_validation_arrays_hold_the_codes_of_the_training_data(reversed_schema: fs.Schema) -> None:
    train = fs.Table.of(X, reversed_schema)
    conjunctions = [[(v, 0)] for v in range(4)]
    tuned = tune_weights(conjunctions, train, X_valid=X, prior_sd=[1.0, 0.1])
    assert tuned.trials[tuned.best].valid_pll == tuned.network.score(train)


# Weights of rows, and time


def test_sample_weight_counts() -> None:
    weights = np.linspace(0.1, 3.0, len(X))
    tuned = tune_weights(FEATURES, X, sample_weight=weights)
    expected = fs.learn_weights(FEATURES, X, sample_weight=weights)
    np.testing.assert_array_equal(tuned.network.weights, expected.weights)


def test_rows_held_out_keep_their_weights() -> None:
    weights = np.linspace(0.1, 3.0, len(X))
    tuned = tune_weights(FEATURES, X, sample_weight=weights, prior_sd=[1.0, 0.1], random_state=5)
    valid, _ = fs.Table.of(X, FEATURES.schema, weights).split(0.1, 5)
    assert tuned.trials[tuned.best].valid_pll == tuned.network.score(valid)


def test_validation_rows_without_weight_are_refused() -> None:
    table = fs.Table.of(X, sample_weight=np.arange(len(X)) > 2)
    with pytest.raises(ValueError, match="validation data: the weights of all 3 rows are 0; exp"):
        tune_weights(FEATURES, X, X_valid=table[:3], prior_sd=[1.0, 0.1])


def test_time_limit_ends_it() -> None:
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        tuned = tune_weights(FEATURES, X, X_valid=X, prior_sd=[1.0, 0.1], time_limit=1e-9)
    assert [trial.status for trial in tuned.trials] == ["time_limit"] * 2


def test_rows_of_weight_0_are_not_held_out() -> None:
    table = fs.Table.from_array(np.random.default_rng(1).integers(0, 3, (60, 4)))
    weights = np.r_[np.ones(9), np.zeros(51)]
    atoms = fs.FeatureSet.conjunctions(table, order=1)
    for seed in range(5):
        weighted, without = (
            fs.tune_weights(
                atoms, X, sample_weight=w, prior_sd=[0.1, 1.0], random_state=seed, n_jobs=1
            )
            for X, w in ((table, weights), (table[:9], None))
        )
        assert weighted.best == without.best
        np.testing.assert_array_equal(weighted.network.weights, without.network.weights)
