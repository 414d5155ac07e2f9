"""BUSL: structures that are known, and what its parameters say."""

from itertools import pairwise
from typing import Any

import pytest

import feldspar as fs

TREE = [(0, 1), (1, 2), (1, 3), (3, 4), (5, 6)]


def _network() -> fs.MarkovNetwork:
    """Eight variables, two of them with three values; one is alone."""
    schema = fs.Schema([2, 2, 3, 2, 2, 2, 3, 2])
    terms: list[Any] = [([(v, 1)], -0.3) for v in range(8)]
    for a, b in TREE:
        terms.append(([(a, 1), (b, 1)], 1.6))
        if schema.cardinalities[b] == 3:
            terms.append(([(a, 1), (b, 2)], -1.6))
    return fs.MarkovNetwork.from_terms(schema, terms)


NETWORK = _network()
TRAIN = NETWORK.sample(4000, random_state=1)
VALID = NETWORK.sample(1000, random_state=2)


@pytest.mark.parametrize("test", ["g", "chi2"])
@pytest.mark.parametrize("rule", ["or", "and"])
def test_a_known_structure_is_found(test: str, rule: str) -> None:
    learner = fs.BUSL(alpha=1e-4, rule=rule, test=test, prior_sd=1.0).fit(TRAIN)
    found = {
        tuple(sorted((v, w)))
        for v in range(8)
        for w in map(learner.schema_.index, learner.network_.markov_blanket(v))
    }
    assert found == set(TREE)
    assert learner.blankets_[1e-4][7] == ()
    truth = NETWORK.score(VALID)
    assert learner.score(VALID) == pytest.approx(truth, abs=0.02)


def test_each_round_gains_and_the_last_leaves_nothing_to_gain() -> None:
    from feldspar import _core
    from feldspar.features import core_dataset

    learner = fs.BUSL(alpha=0.01, rule="or", prior_sd=1.0, max_additions=2, tolerance=1e-8)
    learner.fit(TRAIN)
    rows = [row for row in learner.trials_ if row["stage"] == "weights"]
    counts = [row["n_features"] for row in rows]
    assert counts[0] == sum(c - 1 for c in NETWORK.schema.cardinalities)
    assert all(1 <= more - less <= 2 for less, more in pairwise(counts))
    assert len(learner.network_.features) == counts[-1]
    table = core_dataset(TRAIN)
    edges = _core.consistent_edges([list(b) for b in learner.blankets_[0.01]], "or")
    core = _core.clique_conjunctions(table, *edges, 3, 10.0)
    pool = fs.FeatureSet._of_core(TRAIN.schema, core)
    left = pool.select(learner.network_.features.positions(pool) < 0)
    network = learner.network_._core
    assert not len(_core.best_additions(table, network, left._core, 1.0, 3.0, 5, 1, None)[0])


def test_graphs_that_agree_are_tried_once() -> None:
    learner = fs.BUSL(alpha=[1e-4, 1e-5], rule=["or", "and"], prior_sd=1.0)
    learner.fit(TRAIN, X_valid=VALID)
    stages = [row["stage"] for row in learner.trials_]
    assert stages.count("structure") == 4
    independent = [row for row in learner.trials_ if row["stage"] == "weights"]
    assert sum(row["n_features"] == 10 for row in independent) < 4
    assert set(learner.blankets_) == {1e-4, 1e-5}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": 0.0}, "alpha must be between 0 and 1"),
        ({"rule": "xor"}, "rule: expected one of"),
        ({"test": "t"}, "test: expected one of"),
        ({"min_gain": 0.0}, "min_gain must be positive"),
        ({"max_length": 1}, "max_length must be at least 2"),
        ({"min_support": 0.0}, "min_support must be positive"),
        ({"max_blanket": 0}, "max_blanket: expected at least 1"),
        ({"max_additions": 0}, "max_additions: expected at least 1"),
        ({"min_weight_per_degree": -1.0}, "min_weight_per_degree must not be negative"),
    ],
)
def test_bad_parameters_are_named(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fs.BUSL(**params).fit(TRAIN, X_valid=VALID)
