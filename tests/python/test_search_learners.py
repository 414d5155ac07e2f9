"""BLM, DTBLM and TopDown: what is special about them. The battery is in test_learners.py."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import feldspar as fs
from feldspar.io.source import ModelFileError
from feldspar.learners import _bottom_up
from feldspar.learners._search import Search


def _rows(n: int, seed: int) -> np.ndarray[Any, Any]:
    """Eight variables, one of three values, that hang together in groups."""
    random = np.random.default_rng(seed)
    a, b = random.random(n) < 0.4, random.random(n) < 0.5
    noise = random.random((n, 4)) < 0.15
    c = (a & b) ^ noise[:, 0]
    d = (a | b) ^ noise[:, 1]
    e = np.where(noise[:, 2], random.integers(0, 3, n), a.astype(int) + b)
    f = (e == 2) ^ noise[:, 3]
    g, h = random.random(n) < 0.2, random.random(n) < 0.7
    return np.column_stack([a, b, c, d, e, f, g, h]).astype(int)


TRAIN, VALID = _rows(600, 1), _rows(300, 2)


def _same(one: fs.MarkovNetwork, other: fs.MarkovNetwork) -> bool:
    return one.features == other.features and one.weights.tolist() == other.weights.tolist()


def test_larger_alpha_is_simpler() -> None:
    tests = [
        int(fs.BLM(alpha=alpha).fit(TRAIN).network_.features.lengths.sum())
        for alpha in (0.5, 5.0, 500.0)
    ]
    assert tests[0] > tests[1] > tests[2]
    assert tests[2] == 9  # the features of single variables stay


def test_options_reach_the_search() -> None:
    plain = fs.BLM(alpha=1.0)
    network = clone(plain).fit(TRAIN).network_
    for params in (
        {"initial": "full"},
        {"distance": "hamming"},
        {"neighbors": [1]},
        {"relearn_every": 1},
        {"prior_sd": 0.2},
    ):
        other = clone(plain).set_params(**params).fit(TRAIN).network_
        assert not _same(network, other), params


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": -1.0}, "alpha must be finite and not negative"),
        ({"alpha": "much"}, "alpha: expected a number"),
        ({"relearn_every": 0}, "relearn_every must be at least 1"),
        ({"neighbors": [5, 2]}, "neighbors must ascend, got 2 after 5"),
        ({"neighbors": []}, "neighbors: expected 1 to 254"),
        ({"distance": "euclid"}, "distance: expected one of 'gvdm', 'hamming'"),
        ({"power": 0}, "power must be at least 1"),
        ({"initial": "some"}, "initial: expected one of 'positive', 'full'"),
        ({"checkpoint_every": -1.0}, "checkpoint_every must not be negative"),
    ],
)
def test_bad_parameters_are_named(params: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        fs.BLM(**{"alpha": 1.0, **params}).fit(TRAIN)


def test_dtblm_is_never_worse_than_its_start() -> None:
    trees = fs.DTSL(kappa=0.1, conversion="prune", prior_sd=1.0)
    for alpha in (0.1, 2.0, 500.0):  # the last removes everything
        learner = fs.DTBLM(dtsl=trees, alpha=alpha).fit(TRAIN, X_valid=VALID)
        assert learner.score(VALID) >= learner.dtsl_network_.score(VALID)
        assert len(learner.network_.features) <= len(learner.dtsl_network_.features) + 9
    assert _same(learner.network_, learner.dtsl_network_)
    assert set(learner.best_params_) == {"dtsl", "prior_sd"}


def test_dtblm_starts_from_what_dtsl_finds() -> None:
    """Also where DTSL learns the weights of several settings loosely before it decides."""
    dtsl = fs.DTSL(kappa=0.1, conversion=["prune", "nonzero"], prior_sd=[1.0, 0.1])
    found = clone(dtsl).fit(TRAIN, X_valid=VALID).network_
    start = fs.DTBLM(dtsl=dtsl, alpha=1.0).fit(TRAIN, X_valid=VALID).dtsl_network_
    assert _same(start, found)


def test_a_prior_to_take_over_where_there_is_none() -> None:
    closed_form: Any = fs.DN2MN(relearn=False)
    with pytest.raises(ValueError, match=r"prior_sd: DN2MN\(.*has no prior to take over"):
        fs.DTBLM(dtsl=closed_form, alpha=1.0).fit(TRAIN, X_valid=VALID)


def test_dtblm_takes_the_prior_of_its_start() -> None:
    trees = fs.DTSL(kappa=0.1, conversion="prune", prior_sd=0.3)
    learner = fs.DTBLM(dtsl=trees, alpha=1.0, prior_sd=["dtsl", 2.0, 0.3]).fit(TRAIN, X_valid=VALID)
    priors = [row["prior_sd"] for row in learner.trials_ if row.get("alpha") and "status" in row]
    assert priors == [0.3, 2.0]
    with pytest.raises(ValueError, match="expected numbers, None or 'dtsl', got 'best'"):
        learner.set_params(prior_sd="best").fit(TRAIN)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (fs.TopDown(tests=["positive", "some"]), "tests: expected one of 'positive', 'full'"),
        (fs.TopDown(additions=[5, 2.5]), "additions: expected an integer"),
        (fs.TopDown(prior_sd=[1.0, "wide"]), "prior_sd: expected a number"),
        (fs.BUSL(alpha=[0.01, "low"]), "alpha: expected a number"),
        (fs.BUSL(prior_sd=[1.0, "wide"]), "prior_sd: expected a number"),
    ],
)
def test_no_search_begins_before_all_settings_are_read(
    learner: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = []
    monkeypatch.setattr(Search, "add_structure_trial", lambda *_, **__: begun.append(1))
    with pytest.raises((TypeError, ValueError), match=message):
        learner.fit(TRAIN, X_valid=VALID)
    assert not begun


def test_top_down_adds_what_gains() -> None:
    one, many = (fs.TopDown(alpha=3.0, additions=n).fit(TRAIN).network_ for n in (1, 10))
    alone = fs.learn_weights(fs.FeatureSet.conjunctions(TRAIN, order=1), TRAIN)
    for network in (one, many):
        assert network.features.lengths.max() > 1
        assert network.score(VALID) > alone.score(VALID) + 0.5
    # Nothing that no row shows.
    matched = [
        np.logical_and.reduce([np.isin(TRAIN[:, v], list(_values(a))) for v, a in feature])
        for feature in many.features
    ]
    assert all(rows.any() for rows in matched)


def test_top_down_learns_what_excludes_what_from_tests_of_every_value() -> None:
    rng = np.random.default_rng(0)
    indicators = np.eye(4, dtype=np.int64)[:, :3]  # of one thing with four values
    train, valid = (indicators[rng.integers(4, size=400)] for _ in range(2))
    learner = fs.TopDown(alpha=3.0, tests=["positive", "full"]).fit(train, X_valid=valid)
    assert learner.best_params_["tests"] == "full"
    plls = {row["tests"]: row["valid_pll"] for row in learner.trials_ if "status" in row}
    assert plls["full"] > plls["positive"] + 0.1
    with pytest.raises(ValueError, match="tests: expected one of 'positive', 'full', got 'all'"):
        learner.set_params(tests="all").fit(train)


def _values(admitted: int | frozenset[int]) -> frozenset[int]:
    return admitted if isinstance(admitted, frozenset) else frozenset({admitted})


@pytest.mark.parametrize(
    "learner", [fs.BLM(alpha=1.0), fs.TopDown(alpha=1.0)], ids=["BLM", "TopDown"]
)
def test_an_interrupted_search_keeps_what_it_has(
    learner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from feldspar.learners._clock import Clock

    looks = []

    def interrupted(self: Clock) -> float | None:
        looks.append(None)
        if len(looks) > 3:
            raise KeyboardInterrupt
        return None

    monkeypatch.setattr(Clock, "seconds_left", property(interrupted))
    with pytest.warns(UserWarning, match="interrupted; the best network so far is kept"):
        network = learner.fit(TRAIN).network_
    assert len(network.features) >= 9
    assert np.isfinite(network.score(VALID))


CHILD = """
    import os, signal, sys
    import numpy as np
    import feldspar as fs
    from feldspar.io import files

    writes = 0
    fsync = os.fsync

    def die_in_the_middle(descriptor):
        global writes
        writes += 1
        if writes == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)  # written, and not yet renamed
        fsync(descriptor)

    files.os.fsync = die_in_the_middle
    learner = fs.BLM(
        alpha=[1.0, 2.0], relearn_every=5, checkpoint=sys.argv[2], checkpoint_every=0.0
    )
    learner.fit(np.load(sys.argv[1]), X_valid=np.load(sys.argv[1])[:100])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("n_writes", [2, 30])
def test_a_killed_search_goes_on_to_the_same_end(tmp_path: Path, n_writes: int) -> None:
    rows, path = tmp_path / "rows.npy", tmp_path / "checkpoint.json"
    np.save(rows, TRAIN)
    child = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILD), rows, path, str(n_writes)],
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert child.returncode == -signal.SIGKILL
    searches = json.loads(path.read_text())["searches"]
    assert not searches[-1]["position"]["finished"]
    changes = searches[-1]["position"]["n_changes"]

    learner = fs.BLM(alpha=[1.0, 2.0], relearn_every=5)
    whole = clone(learner).fit(TRAIN, X_valid=TRAIN[:100])
    resumed = learner.set_params(checkpoint=path).fit(TRAIN, X_valid=TRAIN[:100])
    assert _same(resumed.network_, whole.network_)
    assert resumed.best_params_ == whole.best_params_
    after = json.loads(path.read_text())["searches"]
    assert all(search["position"]["finished"] for search in after)
    assert after[len(searches) - 1]["position"]["n_changes"] > changes
    assert [p.name for p in tmp_path.glob("*.json")] == ["checkpoint.json"]

    # Once more from a file where all is done.
    assert _same(clone(learner).fit(TRAIN, X_valid=TRAIN[:100]).network_, whole.network_)


def test_a_time_limit_leaves_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from feldspar.learners._clock import Clock

    learner = fs.BLM(alpha=1.0, relearn_every=5)
    whole = clone(learner).fit(TRAIN).network_
    path = tmp_path / "checkpoint.json"
    learner.set_params(checkpoint=path)
    looks = iter([None] * 4)  # then the time is over
    with monkeypatch.context() as patch:
        patch.setattr(Clock, "seconds_left", property(lambda self: next(looks, 1e-9)))
        with pytest.warns(ConvergenceWarning):
            clone(learner).fit(TRAIN)
    assert not json.loads(path.read_text())["searches"][0]["position"]["finished"]
    assert _same(learner.fit(TRAIN).network_, whole)


def test_dtblm_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    trees = fs.DTSL(kappa=1.0, conversion="prune", prior_sd=1.0)
    path = tmp_path / "checkpoint.json.gz"
    learner = fs.DTBLM(dtsl=trees, alpha=1.0, checkpoint=path)
    whole = clone(learner).fit(TRAIN, X_valid=VALID).network_
    assert _same(clone(learner).fit(TRAIN, X_valid=VALID).network_, whole)


@pytest.mark.parametrize("learner", [fs.BLM(alpha=1.0), fs.DTBLM(alpha=1.0)])
def test_a_folder_that_is_not_there_is_told_before_the_search(
    learner: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []
    monkeypatch.setattr(_bottom_up, "_run", lambda *_: begun.append(1))
    monkeypatch.setattr(Search, "add_structure_trial", lambda *_, **__: begun.append(1))
    path = tmp_path / "none" / "search.json"
    with pytest.raises(FileNotFoundError, match="none does not exist"):
        clone(learner).set_params(checkpoint=path).fit(TRAIN, X_valid=VALID)
    assert not begun


def test_a_checkpoint_of_other_start_weights_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.json"

    def learner(prior_sd: float) -> fs.DTBLM:  # the trees' features are the same for all priors
        trees = fs.DTSL(kappa=1.0, conversion="default", prior_sd=prior_sd)
        return fs.DTBLM(dtsl=trees, alpha=1.0, prior_sd=1.0, checkpoint=path, n_jobs=1)

    learner(0.02).fit(TRAIN)
    with pytest.raises(ValueError, match=r"checkpoint.json: .* start_weights was '\w+' there"):
        learner(5.0).fit(TRAIN)
    learner(0.02).fit(TRAIN)


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.json"
    learner = fs.BLM(alpha=5.0, checkpoint=path)
    learner.fit(TRAIN)
    with pytest.raises(ValueError, match=r"checkpoint.json: .* data was '\w+' there"):
        clone(learner).fit(VALID)
    with pytest.raises(ValueError, match="distance was 'gvdm' there and is 'hamming' here"):
        clone(learner).set_params(distance="hamming").fit(TRAIN)
    with pytest.raises(ValueError, match="its variables or values differ"):
        clone(learner).fit(TRAIN[:, :5])
    path.write_text(path.read_text()[:200])
    with pytest.raises(ModelFileError, match=r"checkpoint\.json"):
        clone(learner).fit(TRAIN)
    path.write_text("[]")
    with pytest.raises(ModelFileError, match="expected an object"):
        clone(learner).fit(TRAIN)
