"""What holds for every learner: the battery, and the search they share."""

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import feldspar as fs
from feldspar import _core
from feldspar.learners._base import MarkovLearner
from feldspar.learners._clock import Clock
from feldspar.learners._logistic import JoinedPath
from feldspar.learners.l1_neighborhood import RULES


def _rows(n: int, seed: int) -> np.ndarray[Any, Any]:
    """Five variables, one of them with three values: a chain, and an exclusive or."""
    random = np.random.default_rng(seed)
    a = random.random(n) < 0.4
    b = np.where(random.random(n) < 0.8, a, ~a)
    c = random.integers(0, 3, n)
    d = (a ^ (c == 2)) ^ (random.random(n) < 0.1)
    e = random.random(n) < 0.3
    return np.column_stack([a, b, c, d, e]).astype(int)


TRAIN, VALID = _rows(400, 1), _rows(200, 2)
NAMES = ["a", "b", "c", "d", "e"]


def _tables() -> tuple[fs.Table, fs.Table]:
    train = fs.Table.from_array(TRAIN, names=NAMES)
    return train, fs.Table.from_array(VALID, schema=train.schema)


# Each with little to tune, and with something.
LEARNERS: dict[str, MarkovLearner] = {
    "DTSL": fs.DTSL(kappa=[0.1, 1.0], conversion=["prune", "nonzero"], prior_sd=[1.0, 0.1]),
    "L1Neighborhood": fs.L1Neighborhood(C=[0.05, 1.0], rule=["or", "and"], prior_sd=[1.0, 0.1]),
    "L1Neighborhood-ebic": fs.L1Neighborhood(selection="ebic", prior_sd=[1.0, 0.1]),
    "DN2MN-relearn": fs.DN2MN(kappa=[0.1, 1.0], relearn=True, prior_sd=[1.0, 0.1]),
    "DTL1": fs.DTL1(
        dtsl=fs.DTSL(kappa=0.1, conversion="prune", prior_sd=[1.0, 0.1]),
        l1=fs.L1Neighborhood(C=[0.05, 1.0], rule="or", prior_sd=1.0),
        prior_sd=[1.0, 0.1],
    ),
    "Grafting": fs.Grafting(l1=[20.0, 5.0], prior_sd=[10.0, 1.0]),
    "BLM": fs.BLM(alpha=[0.5, 2.0], prior_sd=[1.0, 0.1]),
    "DTBLM": fs.DTBLM(
        dtsl=fs.DTSL(kappa=0.1, conversion="prune", prior_sd=[1.0, 0.1]),
        alpha=[0.5, 2.0],
        prior_sd=[1.0, "dtsl"],
    ),
    "TopDown": fs.TopDown(alpha=[0.5, 2.0], additions=3, prior_sd=[1.0, 0.1]),
    "BUSL": fs.BUSL(alpha=[0.1, 0.01], rule=["or", "and"], prior_sd=[1.0, 0.1]),
    "GSSL": fs.GSSL(n_generated=[500, 2000], threshold=[2, 9], prior_sd=[1.0, 0.1], l1=[0.5, 1.0]),
}
every_learner = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS.keys())


def _fitted(learner: MarkovLearner, **params: Any) -> MarkovLearner:
    train, valid = _tables()
    return clone(learner).set_params(**params).fit(train, X_valid=valid)


def _same(one: fs.MarkovNetwork, other: fs.MarkovNetwork) -> bool:
    return one.features == other.features and one.weights.tolist() == other.weights.tolist()


@every_learner
def test_what_a_fit_leaves(learner: MarkovLearner) -> None:
    fitted = _fitted(learner)
    _, valid = _tables()
    assert fitted.schema_.names == tuple(NAMES)
    assert fitted.n_features_in_ == 5
    weights = [row for row in fitted.trials_ if row["stage"] == "weights"]
    final = [row for row in weights if "learner" not in row]
    scores = [row["valid_pll"] for row in final if row.get("status") != "skipped"]
    assert fitted.score(valid) == pytest.approx(max(scores), abs=1e-12)
    assert fitted.valid_pll_ == fitted.score(valid)
    assert {"prior_sd"} <= set(fitted.best_params_)
    for row in fitted.trials_:
        assert row["seconds"] >= 0
        assert row["n_features"] >= 0
    seconds = fitted.fit_seconds_
    assert seconds["structure"] > 0
    assert seconds["weights"] > 0
    assert seconds["structure"] + seconds["weights"] <= seconds["total"]
    assert len(pd.DataFrame(fitted.trials_)) == len(fitted.trials_)


@every_learner
def test_it_learns_something(learner: MarkovLearner) -> None:
    _, valid = _tables()
    atoms = fs.FeatureSet.conjunctions(TRAIN, order=1)
    independent = fs.learn_weights(atoms, TRAIN)
    assert _fitted(learner).score(valid) > independent.score(VALID) + 0.2


@every_learner
def test_the_learner_is_an_estimator(learner: MarkovLearner) -> None:
    fresh = clone(learner)
    assert repr(fresh)
    with pytest.raises(NotFittedError):
        fresh.score(VALID)
    fitted = fresh.fit(TRAIN, X_valid=VALID)
    assert fitted is fresh
    again = pickle.loads(pickle.dumps(fitted))
    assert again.score(VALID) == fitted.score(VALID)
    np.testing.assert_array_equal(fitted.score_samples(VALID), fitted.network_.score_samples(VALID))


@every_learner
def test_the_number_of_threads_changes_nothing(learner: MarkovLearner) -> None:
    one, two = (_fitted(learner, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert _same(one.network_, two.network_)
    assert one.best_params_ == two.best_params_


@every_learner
def test_frames_tables_and_arrays_are_one(learner: MarkovLearner) -> None:
    train, valid = _tables()
    frame, frame_valid = (pd.DataFrame(rows, columns=NAMES) for rows in (TRAIN, VALID))
    one = clone(learner).fit(train, X_valid=valid).network_
    other = clone(learner).fit(frame, X_valid=frame_valid).network_
    assert other.schema.names == tuple(NAMES)
    assert one.weights.tolist() == other.weights.tolist()


@every_learner
def test_a_weight_is_so_many_rows(learner: MarkovLearner) -> None:
    times = np.arange(len(TRAIN)) % 3
    weighted = clone(learner).fit(TRAIN, X_valid=VALID, sample_weight=times).network_
    repeated = clone(learner).fit(np.repeat(TRAIN, times, axis=0), X_valid=VALID).network_
    assert weighted.features == repeated.features
    np.testing.assert_allclose(weighted.weights, repeated.weights, atol=1e-10)


@every_learner
def test_held_out_rows_follow_the_seed(learner: MarkovLearner) -> None:
    def fit(seed: int) -> fs.MarkovNetwork:
        return clone(learner).set_params(random_state=seed).fit(TRAIN).network_

    assert _same(fit(1), fit(1))
    assert not _same(fit(1), fit(2))


@every_learner
def test_time_that_is_over_leaves_a_network(learner: MarkovLearner) -> None:
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        fitted = _fitted(learner, time_limit=1e-6)
    assert len(fitted.network_.weights) == len(fitted.network_.features)


@every_learner
@pytest.mark.parametrize("limit", [0, -1.0])
def test_a_time_limit_must_be_positive(learner: MarkovLearner, limit: float) -> None:
    with pytest.raises(ValueError, match="time_limit must be positive"):
        _fitted(learner, time_limit=limit)


@every_learner
def test_ctrl_c_keeps_the_best_so_far(
    learner: MarkovLearner, monkeypatch: pytest.MonkeyPatch
) -> None:
    from feldspar.learners._search import Search

    take, offered = Search._take, []

    def interrupted(self: Search, contender: Any) -> None:
        take(self, contender)
        offered.append(contender.network)
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "_take", interrupted)
    with pytest.warns(UserWarning, match="interrupted; the best network so far is kept"):
        fitted = _fitted(learner)
    assert len(offered) == 1
    assert _same(fitted.network_, offered[0])
    with pytest.raises(KeyboardInterrupt):
        _fitted(learner, on_interrupt="raise")


@every_learner
def test_bad_parameters_are_named(learner: MarkovLearner) -> None:
    for name, value in {"prior_sd": -1.0, "on_interrupt": "ignore", "max_iterations": -1}.items():
        with pytest.raises(ValueError, match=name):
            _fitted(learner, **{name: value})
    with pytest.raises(ValueError, match="prior_sd: expected a value or several"):
        _fitted(learner, prior_sd=[])


@every_learner
def test_numbers_of_numpy_can_be_saved(learner: MarkovLearner, tmp_path: Path) -> None:
    # As GridSearchCV sets them from an array.
    fitted = _fitted(learner, prior_sd=np.int64(1))
    fitted.network_.save(tmp_path / "network.json")
    again = fs.MarkovNetwork.load(tmp_path / "network.json")
    assert again.metadata["learner"]["prior_sd"] == 1


@every_learner
def test_an_infinite_prior_is_none(learner: MarkovLearner, tmp_path: Path) -> None:
    fitted = _fitted(learner, prior_sd=np.inf, tolerance=0.01)
    assert fitted.best_params_["prior_sd"] is None
    fitted.network_.save(tmp_path / "network.json")


def test_one_row_cannot_be_held_out() -> None:
    with pytest.raises(ValueError, match="X has 1 sample, too few"):
        fs.DTSL().fit(TRAIN[:1])


def test_without_a_choice_all_rows_are_used() -> None:
    learner = fs.DTSL(kappa=0.1, conversion="prune", prior_sd=1.0).fit(TRAIN)
    assert learner.valid_pll_ is None
    assert all(row["valid_pll"] is None for row in learner.trials_)
    by_hand = fs.learn_weights(learner.network_.features, TRAIN, prior_sd=1.0, tolerance=1e-5)
    np.testing.assert_array_equal(learner.network_.weights, by_hand.weights)


def test_only_the_network_that_is_kept_must_converge() -> None:
    learner = fs.DTSL(kappa=0.1, conversion="prune", prior_sd=[1.0, 1e-3], max_iterations=4)
    learner.set_params(exhaustive=True)
    # So narrow a prior leaves nothing to do but is far from the best.
    with pytest.warns(ConvergenceWarning, match="max_iterations after 4"):
        learner.fit(TRAIN, X_valid=VALID)
    statuses = {row["prior_sd"]: row.get("status") for row in learner.trials_[-2:]}
    assert statuses[1e-3] == "converged"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.set_params(prior_sd=1e-3).fit(TRAIN, X_valid=VALID)


@pytest.mark.parametrize(
    "learner",
    [learner for learner in LEARNERS.values() if "exhaustive" in learner.get_params()],
    ids=lambda learner: type(learner).__name__,
)
def test_what_is_given_up_could_not_have_won(learner: MarkovLearner) -> None:
    exhaustive = _fitted(learner, exhaustive=True)
    raced = _fitted(learner)
    assert raced.best_params_ == exhaustive.best_params_
    assert raced.network_.features == exhaustive.network_.features
    assert raced.network_.training_.converged
    assert raced.score(VALID) == pytest.approx(exhaustive.score(VALID), abs=1e-3)
    early = {"given_up", "skipped"}
    assert not early & {row.get("status") for row in exhaustive.trials_}


def test_settings_that_cannot_win_are_given_up() -> None:
    learner = fs.DTSL(kappa=0.1, conversion=["prune", "nonzero"], prior_sd=[None, 1.0, 0.1, 1e-3])
    learner.fit(TRAIN, X_valid=VALID)
    rows = [row for row in learner.trials_ if row["stage"] == "weights"]
    by_setting = {(row["conversion"], row["prior_sd"]): row for row in rows}
    assert len(rows) == len(by_setting) == 8
    assert by_setting["prune", 1e-3]["status"] == "given_up"
    best = by_setting[learner.best_params_["conversion"], learner.best_params_["prior_sd"]]
    assert best["status"] == "converged"
    assert best["iterations"] == learner.network_.training_.iterations


def _noise(n: int, seed: int) -> np.ndarray[Any, Any]:
    """Twelve variables of which the first two belong together: more edges only fit noise."""
    random = np.random.default_rng(seed)
    rows = random.integers(0, 2, (n, 12))
    rows[:, 1] = np.where(random.random(n) < 0.9, rows[:, 0], rows[:, 1])
    return rows


SIMPLE_FIRST = {"C": [0.05, 0.1, 10.0, 100.0], "alpha": [100.0, 4.0, 1.0, 0.7, 0.5]}


@pytest.mark.parametrize(
    ("learner", "name"),
    [
        (fs.L1Neighborhood(rule="or", prior_sd=10.0), "C"),
        (fs.DN2MN(cpd="logistic"), "C"),
        (fs.DependencyNetwork(cpd="logistic"), "C"),
        (fs.BLM(), "alpha"),
        (fs.TopDown(additions=3), "alpha"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_values_beyond_the_best_are_skipped(learner: Any, name: str) -> None:
    train, valid = _noise(100, 1), _noise(100, 2)
    values = SIMPLE_FIRST[name]
    learner = clone(learner).set_params(**{name: sorted(values, key=lambda value: value % 7)})
    every = clone(learner).set_params(exhaustive=True).fit(train, X_valid=valid)
    some = clone(learner).fit(train, X_valid=valid)
    assert some.best_params_ == every.best_params_
    skipped = [
        row[name]
        for row in some.trials_
        if row["stage"] == "structure" and row.get("status") == "skipped"
    ]
    assert skipped
    assert values.index(some.best_params_[name]) < values.index(skipped[0])
    assert skipped == values[-len(skipped) :]
    assert not [row for row in every.trials_ if row.get("status") == "skipped"]
    assert {row[name] for row in every.trials_} == set(values)


@pytest.mark.parametrize("learner", [fs.L1Neighborhood, fs.DN2MN, fs.DependencyNetwork])
def test_values_of_c_that_leave_nothing_end_no_search(learner: Any) -> None:
    one = learner(C=[1e-6, 1e-5, 1e-4, 1.0])
    if learner is not fs.L1Neighborhood:
        one.set_params(cpd="logistic")
    assert one.fit(TRAIN, X_valid=VALID).best_params_["C"] == 1.0


def test_an_exhaustive_search_skips_nothing() -> None:
    learner = fs.DTSL(kappa=0.1, conversion="prune", prior_sd=[None, 10.0, 1.0, 0.1, 0.01])
    statuses = [
        [
            row["status"]
            for row in learner.set_params(exhaustive=exhaustive).fit(TRAIN, X_valid=VALID).trials_
            if row["stage"] == "weights"
        ]
        for exhaustive in (True, False)
    ]
    assert statuses[0] == ["converged"] * 5
    assert statuses[1] != statuses[0]


def test_the_clock_tells_stages_apart() -> None:
    clock = Clock(None)
    with clock.stage("structure"):
        pass
    assert clock.seconds_left is None
    assert not clock.is_over
    assert set(clock.seconds()) == {"structure", "weights", "total"}
    part = Clock(100.0).part(1.0)
    left = part.seconds_left
    assert left is not None
    assert left <= 1.0
    assert Clock(1e-9).is_over


@pytest.mark.parametrize("learner", [fs.DTL1(), fs.DTBLM()])
def test_parameters_of_a_learner_that_was_left_out(learner: MarkovLearner) -> None:
    with pytest.raises(
        ValueError, match=r"dtsl__kappa: dtsl is None, .* set_params\(dtsl=\.\.\., dts"
    ):
        learner.set_params(dtsl__kappa=0.5)
    learner.set_params(dtsl=fs.DTSL(), dtsl__kappa=0.5)
    assert learner.set_params(dtsl__prior_sd=1.0).get_params()["dtsl__kappa"] == 0.5
    with pytest.raises(ValueError, match="Invalid parameter 'nobody'"):
        learner.set_params(nobody__kappa=0.5)


def test_one_row_that_counts_cannot_be_held_out() -> None:
    with pytest.raises(ValueError, match="X has 1 sample of a weight above 0, too few"):
        fs.Independent().fit([[0, 1], [1, 1]], sample_weight=[0, 1])


def _few_that_count() -> tuple[fs.Table, np.ndarray[Any, Any]]:
    random = np.random.default_rng(1)
    rows = random.integers(0, 3, (60, 4))
    rows[:, 1] = np.where(random.random(60) < 0.7, rows[:, 0], rows[:, 1])
    return fs.Table.from_array(rows), (random.random(60) < 0.2).astype(float)


@pytest.mark.parametrize(
    "learner",
    [fs.Independent(), fs.DTSL(), fs.L1Neighborhood(C=[0.1, 1.0]), fs.BLM(alpha=[1.0, 10.0])],
    ids=lambda learner: type(learner).__name__,
)
def test_a_row_of_weight_0_is_no_row(learner: MarkovLearner) -> None:
    table, weights = _few_that_count()
    for seed in range(5):
        learner.set_params(n_jobs=1, random_state=seed)
        weighted = clone(learner).fit(table, sample_weight=weights)
        without = clone(learner).fit(table[weights > 0])
        assert weighted.best_params_ == without.best_params_
        assert weighted.valid_pll_ == without.valid_pll_
        assert weighted.network_.features == without.network_.features
        np.testing.assert_array_equal(weighted.network_.weights, without.network_.weights)


@pytest.mark.parametrize(
    "learner",
    [
        fs.DN2MN(cpd="logistic", C=[0.1, 1.0, 10.0], exhaustive=True),
        fs.L1Neighborhood(C=[0.1, 1.0, 10.0], exhaustive=True),
        fs.L1Neighborhood(C=[0.1, 1.0, 10.0], selection="ebic"),
    ],
    ids=["DN2MN", "L1Neighborhood", "L1Neighborhood-ebic"],
)
def test_when_the_time_is_over_no_further_regressions_are_solved(learner: MarkovLearner) -> None:
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        learner.set_params(time_limit=1e-6, n_jobs=1).fit(TRAIN, X_valid=VALID)
    solved = [row["C"] for row in learner.trials_ if "C" in row and "rule" not in row]
    assert solved[:1] == [0.1]
    assert 1.0 not in solved


def test_joined_regressions_answer_as_a_path_does() -> None:
    random = np.random.default_rng(3)
    cardinalities = [3, 1, 2, 4, 2]
    codes = random.integers(0, cardinalities, (300, 5))
    copied = random.random(300) < 0.6
    codes[copied, 2] = codes[copied, 0] % 2
    codes[copied, 3] = codes[copied, 0]
    data = _core.Dataset.merge(cardinalities, codes.astype(np.int32), None)
    values = [0.01, 0.1, 1.0]
    whole = _core.L1Path.fit(data, np.array(values), _core.L1Options(), 1, None)
    single = [_core.L1Path.fit(data, np.array([C]), _core.L1Options(), 1, None) for C in values]
    joined = JoinedPath(cardinalities, single)
    assert joined.choose_by_ebic(0.25) == whole.choose_by_ebic(0.25)
    for choice in (whole.choose_by_ebic(0.25), [0] * 5, [2] * 5, [2, 0, 1, 0, 2]):
        for rule in RULES:
            for ours, theirs in zip(
                joined.edges(choice, rule), whole.edges(choice, rule), strict=True
            ):
                np.testing.assert_array_equal(ours, theirs)
            ours = joined.features_by_choice(choice, rule).flatten()
            theirs = whole.features_by_choice(choice, rule).flatten()
            for a, b in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("learner", "settings"),
    [
        (fs.Independent(prior_sd=[0.1, np.inf]), {"prior_sd": None}),
        (fs.DTSL(kappa=np.float32(0.5), conversion="prune", prior_sd=np.int64(2)), {"kappa": 0.5}),
        (fs.TopDown(alpha=1.0, additions=np.array([3])[0]), {"additions": 3}),
    ],
)
def test_networks_are_saved_whatever_numbers_they_were_learned_with(learner, settings, tmp_path):
    network = learner.fit(TRAIN, X_valid=VALID).network_
    network.save(tmp_path / "network.json")
    told = fs.MarkovNetwork.load(tmp_path / "network.json").metadata["learner"]
    assert settings.items() <= told.items()


def test_an_infinite_prior_can_be_kept_in_a_checkpoint(tmp_path):
    learner = fs.BLM(alpha=3.0, neighbors=2, prior_sd=np.inf, checkpoint=tmp_path / "blm.json")
    assert learner.fit(TRAIN, X_valid=VALID).best_params_["prior_sd"] is None
