"""Multi-valued data end to end: every learner and every method of inference on the survey."""

from __future__ import annotations

import itertools
from typing import Any, get_args

import numpy as np
import pytest
from sklearn.base import clone

import feldspar as fs
from feldspar import checks
from feldspar.inference import Method
from random_networks import every_state

SURVEY = fs.datasets.load("survey")
TRUTH = fs.MarkovNetwork.from_terms(SURVEY.schema, fs.datasets.survey_terms())
LEARNERS = checks.all_learners()
EVIDENCE = {"smoker": "current", "exercise": "never", "sleep": "bad"}


def test_the_survey_is_drawn_from_its_network() -> None:
    states = every_state(SURVEY.schema)
    logs = TRUTH.log_potential(states, n_jobs=1)
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    rows = np.concatenate([part.to_numpy() for part in (SURVEY.train, SURVEY.valid, SURVEY.test)])
    for v, w in itertools.combinations(range(len(SURVEY.schema)), 2):
        sizes = [SURVEY.schema.cardinalities[u] for u in (v, w)]
        cells = np.ravel_multi_index((states[:, v], states[:, w]), sizes)
        expected = np.bincount(cells, weights=chances)
        observed = np.bincount(
            np.ravel_multi_index((rows[:, v], rows[:, w]), sizes), minlength=len(expected)
        )
        # Five standard errors of a share.
        room = 5 * np.sqrt(expected * (1 - expected) / len(rows))
        assert (np.abs(observed / len(rows) - expected) < room).all()


def test_the_survey_is_always_the_same() -> None:
    again = fs.datasets.load("survey")
    assert again.train == SURVEY.train
    assert (len(again.train), len(again.valid), len(again.test)) == (2000, 500, 500)
    share = np.mean([t.to_numpy()[:, -1] for t in (SURVEY.valid, SURVEY.test)])
    assert fs.datasets.info("survey").density == pytest.approx(share, abs=0.05)


def test_answers_may_be_missing() -> None:
    table = fs.datasets.make_survey(500, missing=0.2, random_state=1)
    assert (table.to_numpy() < 0).mean() == pytest.approx(0.2, abs=0.03)
    for wrong in ({"n": 0}, {"missing": 1.0}, {"missing": -0.1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            fs.datasets.make_survey(**wrong)


@pytest.fixture(scope="module")
def independent() -> float:
    atoms = fs.FeatureSet.conjunctions(SURVEY.train, order=1)
    return fs.learn_weights(atoms, SURVEY.train, n_jobs=1).score(SURVEY.test)


# Those that start from non-zero values, or from few rows of quick settings, need not find out what
# makes "poor", a code 0, more probable.
NO_EFFECT_ON_ZERO = {"BLM", "BUSL", "GSSL", "Independent", "TopDown"}


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner(name: str, independent: float) -> None:
    learner = clone(LEARNERS[name]).fit(SURVEY.train.to_frame(), X_valid=SURVEY.valid)
    assert learner.schema_ == SURVEY.schema
    score = learner.score(SURVEY.test)
    assert score < TRUTH.score(SURVEY.test) + 0.05  # nobody beats the truth but by chance
    # The learner of independent variables has nothing to gain; all others do.
    assert score > independent - 0.01
    if name != "Independent":
        assert score > independent + 0.03
    if not hasattr(learner, "network_"):
        assert len(learner.sample(3, random_state=0)) == 3
        return
    network = learner.network_
    chance = network.marginals(EVIDENCE).probability("health", "poor")
    if name not in NO_EFFECT_ON_ZERO:
        assert chance > 1.3 * network.marginals().probability("health", "poor")
    assert network.edge_strengths().to_frame().shape[1] == 5
    holes = fs.datasets.make_survey(20, missing=0.3, random_state=2).to_frame()
    assert not fs.Table.from_frame(network.impute(holes), schema=network.schema).has_missing


OPTIONS: dict[str, dict[str, Any]] = {
    "gibbs": {"random_state": 0},
    "mcsat": {"random_state": 0, "n_samples": 4000},
}
# How far from the exact answer: sampling error, and the errors of message passing and mean field.
ROOM = {"auto": 1e-9, "exact": 1e-9, "bp": 0.03, "meanfield": 0.2, "gibbs": 0.03, "mcsat": 0.05}


@pytest.mark.parametrize("method", get_args(Method))
def test_every_method_of_inference(method: Any) -> None:
    states = every_state(SURVEY.schema)
    known = {SURVEY.schema.index(name): label for name, label in EVIDENCE.items()}
    for v, label in known.items():
        states = states[states[:, v] == SURVEY.schema.code(v, label)]
    chances = np.exp(TRUTH.log_potential(states, n_jobs=1))
    chances /= chances.sum()
    found = TRUTH.marginals(EVIDENCE, method, n_jobs=1, **OPTIONS.get(method, {}))
    for v, size in enumerate(SURVEY.schema.cardinalities):
        expected = np.bincount(states[:, v], weights=chances, minlength=size)
        np.testing.assert_allclose(found[v], expected, atol=ROOM[method])


@pytest.mark.parametrize("method", ["auto", "exact", "max-product", "icm"])
def test_every_way_to_the_most_probable_state(method: str) -> None:
    states = every_state(SURVEY.schema)
    for name, label in EVIDENCE.items():
        states = states[states[:, SURVEY.schema.index(name)] == SURVEY.schema.code(name, label)]
    best = TRUTH.log_potential(states, n_jobs=1).max()
    found = TRUTH.most_probable(EVIDENCE, method, n_jobs=1)
    assert found.log_potentials[0] == pytest.approx(best)
    assert found.state["sleep"] == "bad"


def test_log_partition_samples_and_files(tmp_path: Any) -> None:
    logs = TRUTH.log_potential(every_state(SURVEY.schema), n_jobs=1)
    expected = float(np.logaddexp.reduce(logs))
    assert float(TRUTH.log_partition("exact")) == pytest.approx(expected)
    assert float(TRUTH.log_partition("ais", random_state=0)) == pytest.approx(expected, abs=0.05)
    drawn = TRUTH.sample(2000, EVIDENCE, random_state=0)
    share = (drawn.to_frame()["health"] == "poor").mean()
    assert share == pytest.approx(TRUTH.marginals(EVIDENCE).probability("health", "poor"), abs=0.05)
    score = TRUTH.cmll(SURVEY.test[:50], n_chains=2, n_samples=200)
    assert score.mean < 0
    for suffix in (".json", ".mn", ".uai"):
        TRUTH.save(tmp_path / f"truth{suffix}")
        again = fs.MarkovNetwork.load(tmp_path / f"truth{suffix}")
        codes = SURVEY.test.to_numpy()
        assert again.score(codes) == pytest.approx(TRUTH.score(codes))
