"""GSSL: what is generated, what is tried, what is left out."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import feldspar as fs


def _rows(n: int, seed: int) -> np.ndarray[Any, Any]:
    """Six variables, the fourth with three values."""
    random = np.random.default_rng(seed)
    a = random.random(n) < 0.5
    b = a ^ (random.random(n) < 0.2)
    c = (a & b) ^ (random.random(n) < 0.1)
    d = np.where(c, random.integers(0, 3, n), random.integers(0, 2, n))
    e, f = random.random((2, n)) < 0.3
    return np.column_stack([a, b, c, d, e, f]).astype(int)


TRAIN, VALID = _rows(300, 1), _rows(150, 2)
SMALL: dict[str, Any] = {"n_generated": 500, "threshold": 2, "initial": "full"}


def _sizes(learner: fs.GSSL) -> dict[tuple[Any, ...], int]:
    """Return the number of features before selection, by setting."""
    return {
        (row["initial"], row["n_generated"], row["threshold"]): row["n_features"]
        for row in learner.trials_
        if row["stage"] == "structure"
    }


def test_features_without_weight_are_dropped_and_nothing_else() -> None:
    learner = fs.GSSL(**SMALL, prior_sd=0.5, l1=3.0, tolerance=1e-9).fit(TRAIN)
    network = learner.network_
    assert (network.weights != 0).all()
    generated = _sizes(learner)[("full", 500, 2)]
    assert 0 < len(network.features) < generated
    again = fs.learn_weights(network.features, TRAIN, prior_sd=0.5, l1=3.0, tolerance=1e-9)
    np.testing.assert_allclose(again.weights, network.weights, atol=1e-3)
    assert learner.best_params_ == {**SMALL, "prior_sd": 0.5, "l1": 3.0}


def test_what_was_dropped_has_no_slope_above_the_penalty() -> None:
    from feldspar import _core
    from feldspar.features import core_dataset

    table = fs.Table.of(TRAIN)
    learner = fs.GSSL(**SMALL, prior_sd=0.5, l1=3.0, tolerance=1e-10).fit(TRAIN)
    core = _core.generate_features(core_dataset(table), False, [500], [2], 0, None)[0][0]
    features = fs.FeatureSet._of_core(table.schema, core)
    weights = np.zeros(len(features))
    places = features.positions(learner.network_.features)
    assert (places >= 0).all()
    weights[places] = learner.network_.weights
    _, gradient = fs.PseudoLikelihood(features, TRAIN).value_and_gradient(weights)
    slope = gradient - weights / 0.5**2
    assert np.abs(slope[weights == 0]).max() < 3.0 + 0.05
    np.testing.assert_allclose(slope[places], 3.0 * np.sign(weights[places]), atol=0.05)


def test_one_run_of_generation_gives_what_separate_runs_give() -> None:
    grid = {"n_generated": [300, 900], "threshold": [1, 4], "initial": ["positive", "full"]}
    together = _sizes(fs.GSSL(**grid, prior_sd=1.0, l1=1.0).fit(TRAIN, X_valid=VALID))
    for initial, size, threshold in product(("positive", "full"), (300, 900), (1, 4)):
        alone = fs.GSSL(
            n_generated=size, threshold=threshold, initial=initial, prior_sd=1.0, l1=1.0
        ).fit(TRAIN)
        key = (initial, size, threshold)
        assert _sizes(alone) == {key: together[key]}


def test_the_stages_and_the_grid() -> None:
    params: dict[str, Any] = {
        "n_generated": [300, 900],
        "threshold": [2, 8],
        "initial": "full",
        "prior_sd": [0.1, 0.5, 1.0],
        "l1": [1.0, 3.0],
    }

    def tried(tuning: str) -> tuple[fs.GSSL, list[dict[str, Any]]]:
        learner = fs.GSSL(**params, tuning=tuning, exhaustive=True).fit(TRAIN, X_valid=VALID)
        rows = [row for row in learner.trials_ if row["stage"] == "weights"]
        assert learner.score(VALID) == max(row["valid_pll"] for row in rows)
        return learner, rows

    _, grid = tried("grid")
    assert len(grid) == 4 * 6
    staged, rows = tried("staged")
    assert len(rows) == 4 + 5
    assert {(row["prior_sd"], row["l1"]) for row in rows[:4]} == {(0.5, 3.0)}
    best = max(rows[:4], key=lambda row: row["valid_pll"])
    for name in ("n_generated", "threshold", "initial"):
        assert {row[name] for row in rows[4:]} == {best[name]}
        assert staged.best_params_[name] == best[name]
    # Warm starts lead to the same optimum.
    same = [row for row in grid if all(row[k] == best[k] for k in [*SMALL, "prior_sd", "l1"])]
    assert same[0]["valid_pll"] == pytest.approx(best["valid_pll"], abs=2e-3)


def _skipped(learner: fs.GSSL) -> list[dict[str, Any]]:
    return [row for row in learner.trials_ if row.get("status") == "skipped"]


def test_what_lies_beyond_the_best_is_skipped() -> None:
    noise = np.random.default_rng(3).integers(0, 2, (60, 8))  # the more features, the worse
    train, valid = noise[:40], noise[40:]
    sets: dict[str, Any] = {"n_generated": [100, 300, 1000], "threshold": [2, 0], "initial": "full"}
    every = fs.GSSL(**sets, tuning="grid", exhaustive=True).fit(train, X_valid=valid)
    some = fs.GSSL(**sets, tuning="grid").fit(train, X_valid=valid)
    assert some.best_params_ == every.best_params_
    assert some.best_params_["n_generated"] == 100
    assert {row["n_generated"] for row in _skipped(some)} >= {1000}
    assert not _skipped(every)
    assert len(every.trials_) == len(some.trials_)  # those that were skipped are told of

    one: dict[str, Any] = {"n_generated": 300, "threshold": 0, "initial": "full"}
    wide = fs.GSSL(**one, prior_sd=[0.1, 1.0, 10.0], l1=[0.01, 0.1, 1.0], tuning="grid")
    wide.fit(train, X_valid=valid)
    assert wide.best_params_["prior_sd"] == 0.1
    assert {(row["prior_sd"], row["l1"]) for row in _skipped(wide)} >= {(10.0, 1.0), (10.0, 0.01)}
    assert not any(row["prior_sd"] == 1.0 and row["l1"] == 1.0 for row in _skipped(wide))
    settings = [(row["prior_sd"], row["l1"]) for row in wide.trials_ if row["stage"] == "weights"]
    assert len(settings) == len(set(settings)) == 9


@pytest.mark.parametrize("values", [0, 1])
def test_the_kind_of_initial_features_that_does_better_is_followed_first(values: int) -> None:
    # Rows in which three variables are equal, mostly with this value, and noise.
    rng = np.random.default_rng(5)
    shared = np.where(rng.random(400) < 0.8, values, rng.integers(0, 2, 400))
    rows = np.column_stack([shared, shared, shared, rng.integers(0, 2, (400, 3))])
    rows[:, :3] ^= (rng.random((400, 3)) < 0.1).astype(int)
    learner = fs.GSSL(n_generated=[200, 2000], threshold=[4, 1], prior_sd=1.0, l1=1.0)
    learner.fit(rows[:300], X_valid=rows[300:])
    weights = [row for row in learner.trials_ if row["stage"] == "weights"]
    first = weights[:2]
    assert {row["initial"] for row in first} == {"positive", "full"}
    assert {(row["n_generated"], row["threshold"]) for row in first} == {(200, 4)}
    better = max(first, key=lambda row: row["valid_pll"])
    assert weights[2]["initial"] == better["initial"]
    assert len(weights) == 2 * 4


def test_equal_feature_sets_are_tried_once() -> None:
    short = [[0, 1], [1, 1], [1, 0], [1, 1]]  # nothing to generalise: no size makes a difference
    learner = fs.GSSL(n_generated=[10, 20, 30], threshold=[0, 1], prior_sd=1.0, l1=0.1)
    learner.fit(short, X_valid=short)
    stages = [(row["initial"], row["stage"]) for row in learner.trials_]
    assert stages.count(("positive", "structure")) == 6
    assert stages.count(("positive", "weights")) == 2


def test_the_seed_decides() -> None:
    one, same, other = (fs.GSSL(**SMALL, l1=1.0, prior_sd=1.0, random_state=s) for s in (1, 1, 2))
    networks = [learner.fit(TRAIN).network_ for learner in (one, same, other)]
    assert networks[0].features == networks[1].features
    assert networks[0].weights.tolist() == networks[1].weights.tolist()
    assert networks[0].features != networks[2].features


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_generated": 0}, "n_generated: expected at least 1"),
        ({"threshold": -1}, "threshold: expected at least 0"),
        ({"initial": "negative"}, "initial: expected one of"),
        ({"tuning": "random"}, "tuning: expected one of"),
        ({"l1": -1.0}, "l1"),
        ({"l1": []}, "l1: expected a value or several"),
    ],
)
def test_bad_parameters_are_named(params: dict[str, Any], message: str) -> None:
    learner = fs.GSSL(**{**SMALL, **params})
    with pytest.raises(ValueError, match=message):
        learner.fit(TRAIN, X_valid=VALID)


def test_independent_variables_keep_their_frequencies() -> None:
    weights = np.arange(len(TRAIN)) % 4
    learner = fs.Independent(prior_sd=None, tolerance=1e-12).fit(TRAIN, sample_weight=weights)
    conditionals = learner.network_.conditionals(TRAIN[:1])
    for v in range(TRAIN.shape[1]):
        counts = np.bincount(TRAIN[:, v], weights=weights)
        np.testing.assert_allclose(conditionals[v][0], counts / counts.sum(), atol=1e-5)
    assert all(learner.network_.markov_blanket(v) == () for v in range(6))
    assert fs.Independent().fit(TRAIN, X_valid=VALID).best_params_["prior_sd"] in (100, 10, 1, 0.1)


def test_one_kind_of_initial_features_is_enough_when_the_time_is_over() -> None:
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        learner = fs.GSSL(n_generated=500, threshold=2, time_limit=1e-6).fit(TRAIN, X_valid=VALID)
    assert [key[0] for key in _sizes(learner)] == ["positive"]
    assert learner.network_.schema == fs.Table.of(TRAIN).schema
