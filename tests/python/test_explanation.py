"""Explanations: contributions that add up to what the network says."""

from __future__ import annotations

import math

import numpy as np
import pytest

import feldspar as fs
from random_networks import random_network


@pytest.mark.parametrize("seed", range(4))
def test_contributions_add_up_to_the_log_odds(seed: int) -> None:
    network = random_network(seed, n_variables=6, n_features=40, longest=4)
    random = np.random.default_rng(seed)
    sizes = network.schema.cardinalities
    for _ in range(5):
        row = [int(random.integers(size)) for size in sizes]
        conditionals = network.conditionals([row], n_jobs=1)
        for v, size in enumerate(sizes):
            chances = conditionals[v][0]
            value, against = random.choice(size, 2, replace=False).tolist()
            found = network.explain(row, v, value, against=against)
            expected = math.log(chances[value]) - math.log(chances[against])
            assert found.log_odds == pytest.approx(expected, abs=1e-10)
            assert found.log_odds == math.fsum(c.log_odds for c in found.contributions)
            assert found.probability == pytest.approx(chances[value])
            assert math.fsum(found.by_variable().values()) == pytest.approx(found.log_odds)
            sizes_ = [abs(c.log_odds) for c in found.contributions]
            assert sizes_ == sorted(sizes_, reverse=True)
            # By default: the most probable value, against the next.
            second, first = np.sort(chances)[-2:].tolist()
            usual = network.explain(row, v)
            assert usual.probability == pytest.approx(first)
            assert usual.log_odds == pytest.approx(math.log(first / second), abs=1e-10)


@pytest.fixture
def network() -> fs.MarkovNetwork:
    labels = [["no", "yes"], ["no", "yes"], ["young", "old"], ["none", "some", "daily"]]
    schema = fs.Schema([2, 2, 2, 3], names=["smoker", "cancer", "age", "sport"], labels=labels)
    return fs.MarkovNetwork.from_terms(
        schema,
        [
            ([("cancer", "yes")], -3.0),
            ([("smoker", "yes"), ("cancer", "yes")], 1.5),
            ([("smoker", "yes"), ("age", "old"), ("cancer", "yes")], 1.0),
            ([("age", "old"), ("sport", {"some", "daily"})], -0.5),
        ],
    )


def test_names_labels_and_words(network: fs.MarkovNetwork) -> None:
    found = network.explain({"smoker": "yes", "age": "old"}, "cancer", "yes")
    assert [c.log_odds for c in found.contributions] == [-3.0, 1.5, 1.0]
    assert found.by_variable() == {"(alone)": -3.0, "smoker": 2.0, "age": 0.5}
    assert repr(found).splitlines() == [
        "cancer: yes rather than no, log-odds -0.500 (P(yes | rest) = 0.378)",
        "    -3.000  cancer=yes",
        "    +1.500  smoker=yes & cancer=yes",
        "    +1.000  smoker=yes & cancer=yes & age=old",
    ]
    frame = found.to_frame()
    assert list(frame.columns) == ["feature", "description", "log_odds"]
    assert frame["log_odds"].sum() == pytest.approx(found.log_odds)


def test_many_contributions_are_summed_up_in_words() -> None:
    network = random_network(0, n_variables=6, n_features=200, longest=3)
    found = network.explain([0] * 6, 0)
    assert len(found.contributions) > 10
    assert "more together" in repr(found).splitlines()[-1]


def test_only_the_blanket_must_be_known(network: fs.MarkovNetwork) -> None:
    assert network.explain({"age": "old"}, "sport").value == "none"
    with pytest.raises(
        ValueError, match="row: smoker, age are not known and share features with 'c"
    ):
        network.explain({"sport": "daily"}, "cancer")


@pytest.mark.parametrize(
    ("row", "target", "options", "message"),
    [
        ({"smoker": "yes"}, "cancr", {}, "no variable is called 'cancr'; did you mean cancer"),
        ([[0, 0, 0, 0]] * 2, "cancer", {}, "row: expected one row, got 2"),
        ({"smoker": [0.5, 0.5], "age": "old"}, "cancer", {}, "soft evidence"),
        ([0, 0, 0, 0], "cancer", {"value": "maybe"}, "has no value 'maybe': expected no, yes"),
        (
            [0, 0, 0, 0],
            "cancer",
            {"value": "yes", "against": "yes"},
            "against: expected another value than 'yes'",
        ),
    ],
)
def test_what_cannot_be_explained(network, row, target, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        network.explain(row, target, **options)
