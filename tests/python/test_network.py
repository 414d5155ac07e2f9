"""What a network says of rows, of its structure and of itself, against enumeration."""

from __future__ import annotations

import math
import pickle
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given

import feldspar as fs
from feldspar import conditionals
from feldspar.training import TrainingReport
from random_networks import every_state, networks

FloatArray = npt.NDArray[np.float64]

SCHEMA = fs.Schema(
    [2, 3, 2, 2],
    names=["rain", "wind", "wet", "moon"],
    labels=[None, ["no", "some", "much"]] + [None] * 2,
)


@pytest.fixture
def network() -> fs.MarkovNetwork:
    """A chain rain - wind - wet, the last link through a set; the moon stands alone."""
    return fs.MarkovNetwork.from_terms(
        SCHEMA,
        [
            ([("rain", 1)], -0.5),
            ([("moon", 1)], 0.25),
            ([("rain", 1), ("wind", "much")], 1.5),
            ([("wind", {"some", "much"}), ("wet", 1)], -2.0),
            ([("rain", 1), ("moon", 1)], 0.0),
        ],
        metadata={"season": "autumn"},
    )


# Oracles: one state and one feature at a time


def holds(feature: fs.features.Feature, state: npt.NDArray[np.int64]) -> bool:
    return all(
        state[variable] in value if isinstance(value, frozenset) else state[variable] == value
        for variable, value in feature
    )


def log_potential(network: fs.MarkovNetwork, state: npt.NDArray[np.int64]) -> float:
    pairs = zip(network.features, network.weights.tolist(), strict=True)
    return sum(weight for feature, weight in pairs if holds(feature, state))


def conditional(
    network: fs.MarkovNetwork, state: npt.NDArray[np.int64], variable: int
) -> FloatArray:
    """P(X_variable | rest) from the joint distribution's values along one axis."""
    potentials = []
    for value in range(network.schema.cardinalities[variable]):
        other = state.copy()
        other[variable] = value
        potentials.append(log_potential(network, other))
    shifted = np.exp(np.array(potentials) - max(potentials))
    return shifted / shifted.sum()


@given(networks())
def test_log_potential_by_enumeration(network: fs.MarkovNetwork) -> None:
    states = every_state(network.schema)
    expected = [log_potential(network, state) for state in states]
    np.testing.assert_allclose(network.log_potential(states), expected, rtol=0, atol=1e-10)


@given(networks())
def test_conditionals_by_enumeration(network: fs.MarkovNetwork) -> None:
    states = every_state(network.schema)
    conditionals = network.conditionals(states)
    assert conditionals.probabilities.shape == (len(states), sum(network.schema.cardinalities))
    for variable, name in enumerate(network.schema.names):
        expected = np.array([conditional(network, state, variable) for state in states])
        np.testing.assert_allclose(conditionals[name], expected, rtol=0, atol=1e-10)


@given(networks())
def test_pseudo_likelihood_by_enumeration(network: fs.MarkovNetwork) -> None:
    states = every_state(network.schema)
    expected = [
        sum(np.log(conditional(network, state, v)[state[v]]) for v in range(len(network.schema)))
        for state in states
    ]
    np.testing.assert_allclose(network.score_samples(states), expected, rtol=1e-10, atol=1e-10)


def test_pseudo_likelihood_agrees_with_the_learners_objective(network: fs.MarkovNetwork) -> None:
    states = every_state(SCHEMA)
    weights = np.random.default_rng(0).uniform(0, 2, len(states))
    objective = fs.PseudoLikelihood(network.features, states, sample_weight=weights)
    value, _ = objective.value_and_gradient(network.weights)
    assert value == pytest.approx(weights @ network.score_samples(states), rel=1e-12)


# Scores


def test_rows_are_scored_in_blocks(
    network: fs.MarkovNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = every_state(SCHEMA)
    at_once = network.score_samples(states)
    monkeypatch.setattr(conditionals, "_BLOCK_ROWS", 5)
    assert len(states) % 5
    np.testing.assert_array_equal(network.score_samples(states), at_once)
    states[7, 1] = -1
    with pytest.raises(ValueError, match="first in row 7, column 'wind'"):
        network.score_samples(states)


def test_score_is_the_mean(network: fs.MarkovNetwork) -> None:
    states = every_state(SCHEMA)[:5]
    assert network.score(states) == pytest.approx(network.score_samples(states).mean())


def test_score_goes_by_weight(network: fs.MarkovNetwork) -> None:
    states = every_state(SCHEMA)[:3]
    table = fs.Table.from_array(states, schema=SCHEMA, sample_weight=[1.0, 2.0, 0.0])
    expected = (network.score_samples(states) * [1, 2, 0]).sum() / 3
    assert network.score(table) == pytest.approx(expected)
    assert network.score(states, sample_weight=[2.0, 4.0, 0.0]) == pytest.approx(expected)


def test_score_of_rows_without_weight(network: fs.MarkovNetwork) -> None:
    weights = [0.0, 0.0, 1.0]
    table = fs.Table.from_array(every_state(SCHEMA)[:3], schema=SCHEMA, sample_weight=weights)
    with pytest.raises(ValueError, match="X: the weights of all 2 rows are 0; expected at least"):
        network.score(table[:2])


def test_rows_are_matched_by_label(network: fs.MarkovNetwork) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"moon": [1], "wind": ["much"], "wet": [0], "rain": [1]})
    assert network.log_potential(frame).tolist() == network.log_potential([[1, 2, 0, 1]]).tolist()


def test_conditionals_by_name_and_index(network: fs.MarkovNetwork) -> None:
    conditionals = network.conditionals([[1, 2, 0, 1], [0, 0, 0, 0]])
    assert list(conditionals) == ["rain", "wind", "wet", "moon"]
    assert len(conditionals) == 4
    assert conditionals["wind"].shape == (2, 3)
    assert np.array_equal(conditionals["wind"], conditionals[1])
    assert "wind" in conditionals
    assert "sun" not in conditionals


def test_conditionals_of_an_unknown_variable(network: fs.MarkovNetwork) -> None:
    with pytest.raises(KeyError, match="no variable is called 'sun'; got rain, wind, wet, moon"):
        network.conditionals([[1, 2, 0, 1]])["sun"]


# Construction


def test_equal_terms_add_up_and_constants_vanish() -> None:
    network = fs.MarkovNetwork.from_terms(
        fs.Schema([2, 3]),
        [
            ([(0, 1), (1, 2)], 1.0),
            ([], 5.0),
            ([(1, 2), (0, 1)], 0.5),
            ([(0, 0), (0, 1)], 7.0),
            ([(1, {0, 1, 2})], 3.0),
        ],
    )
    assert list(network.features) == [((0, 1), (1, 2))]
    assert network.weights.tolist() == [1.5]


def test_a_network_without_features_is_uniform() -> None:
    network = fs.MarkovNetwork.from_terms(fs.Schema([2, 4]), [])
    assert network.score([[1, 3]]) == pytest.approx(-np.log(8))


def test_weights_are_read_only_and_a_copy() -> None:
    given_weights = np.array([1.0])
    network = fs.MarkovNetwork(fs.FeatureSet(fs.Schema([2]), [[(0, 1)]]), given_weights)
    given_weights[0] = 2.0
    assert network.weights.tolist() == [1.0]
    for same in (network, pickle.loads(pickle.dumps(network))):
        with pytest.raises(ValueError, match="read-only"):
            same.weights[0] = 3.0


@pytest.mark.parametrize("name", ["schema", "features", "weights"])
def test_parts_cannot_be_exchanged(network: fs.MarkovNetwork, name: str) -> None:
    for same in (network, pickle.loads(pickle.dumps(network))):
        with pytest.raises(AttributeError, match=name):
            setattr(same, name, getattr(same, name))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], "weights: got 2 for 1 features"),
        ([np.nan], "weights: feature 0 has weight nan; expected a finite number"),
        ([[1.0]], r"weights must be one-dimensional, got shape \(1, 1\)"),
    ],
)
def test_bad_weights(weights: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fs.MarkovNetwork(fs.FeatureSet(fs.Schema([2]), [[(0, 1)]]), weights)


def test_metadata_is_a_copy() -> None:
    metadata = {"season": "autumn"}
    network = fs.MarkovNetwork.from_terms(fs.Schema([2]), [([(0, 1)], 1.0)], metadata=metadata)
    metadata["season"] = "spring"
    assert network.metadata == {"season": "autumn"}


# Structure


@pytest.mark.parametrize(
    ("variable", "blanket"),
    [
        ("rain", ("wind",)),
        ("wind", ("rain", "wet")),
        (2, ("wind",)),
        ("moon", ()),  # its only link has weight zero
    ],
)
def test_markov_blanket(
    network: fs.MarkovNetwork, variable: str | int, blanket: tuple[str, ...]
) -> None:
    assert network.markov_blanket(variable) == blanket


def test_graph() -> None:
    pytest.importorskip("networkx")
    network = fs.MarkovNetwork.from_terms(
        SCHEMA,
        [
            ([("rain", 1), ("wind", 1)], 0.5),
            ([("rain", 1), ("wind", 2), ("wet", 1)], -3.0),
            ([("moon", 1), ("wet", 1)], 0.0),
        ],
    )
    graph = network.to_networkx()
    assert dict(graph.nodes(data="cardinality")) == {"rain": 2, "wind": 3, "wet": 2, "moon": 2}
    edges = {frozenset(edge) for edge in graph.edges}
    assert edges == {frozenset(e) for e in [("rain", "wind"), ("rain", "wet"), ("wind", "wet")]}
    attributes = graph.edges["rain", "wind"]
    assert (attributes["n_features"], attributes["max_abs_weight"]) == (2, 3.0)
    attributes = graph.edges["rain", "wet"]
    assert (attributes["n_features"], attributes["max_abs_weight"]) == (1, 3.0)
    # Three in one of three states of the wind: the mean is 1, the mean square is 3.
    assert attributes["strength"] == pytest.approx(3**0.5)
    assert attributes["sign"] == -1


def test_graph_without_networkx(network: fs.MarkovNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match=r"needs networkx: pip install networkx"):
        network.to_networkx()


# Words


def test_summary(network: fs.MarkovNetwork) -> None:
    assert network.summary().splitlines() == [
        "Markov network over 4 variables (up to 3 values), 5 features, 4 with non-zero weight",
        "  2 features with 1 test",
        "  3 features with 2 tests",
        "Heaviest features:",
        "    -2.000  wind in {some, much} & wet=1",
        "    +1.500  rain=1 & wind=much",
        "    -0.500  rain=1",
        "    +0.250  moon=1",
        "    +0.000  rain=1 & moon=1",
    ]
    assert repr(network) == "MarkovNetwork(4 variables, 5 features)"


def test_summary_shows_the_ten_heaviest_and_the_training() -> None:
    X = np.random.default_rng(0).integers(0, 2, (50, 12))
    network = fs.learn_weights([[(v, 1)] for v in range(12)], X, prior_sd=2.0, n_jobs=1)
    lines = network.summary().splitlines()
    assert lines[2].startswith("Training: converged after ")
    assert lines[2].endswith("per example (prior sd 2)")
    assert lines[3] == "Heaviest features:"
    sizes = [abs(float(line.split()[0])) for line in lines[4:]]
    assert len(sizes) == 10
    assert sizes == sorted(sizes, reverse=True)


def test_summary_without_features() -> None:
    summary = fs.MarkovNetwork.from_terms(fs.Schema([2]), []).summary()
    assert summary == (
        "Markov network over 1 variables (up to 2 values), 0 features, 0 with non-zero weight"
    )


REPORT = TrainingReport(
    status="converged",
    message="",
    objective=-1.5,
    gradient_norm=0.0,
    iterations=7,
    evaluations=8,
    seconds=0.25,
    index_seconds=0.0,
    prior_sd=None,
    l1=2.0,
    history=(),
)


def test_training_report_keeps_no_nan() -> None:
    unknown = replace(REPORT, objective=math.nan, gradient_norm=math.nan)
    assert unknown.to_dict() == {**REPORT.to_dict(), "objective": None, "gradient_norm": None}
    assert REPORT.to_dict()["objective"] == -1.5


def test_training_report_in_words() -> None:
    assert REPORT.converged
    assert REPORT.describe() == (
        "converged after 7 iterations, 0.25 s; objective -1.500000 per example (no prior, L1 2)"
    )


# Keeping it


@pytest.mark.parametrize("suffix", ["json", "mn", "uai"])
def test_save_and_load(network: fs.MarkovNetwork, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"model.{suffix}"
    network.save(path)
    states = every_state(SCHEMA)
    loaded = fs.MarkovNetwork.load(path)
    np.testing.assert_allclose(
        loaded.score_samples(states), network.score_samples(states), rtol=1e-12
    )


def test_json_keeps_everything(network: fs.MarkovNetwork, tmp_path: Path) -> None:
    network.save(tmp_path / "model.json")
    loaded = fs.MarkovNetwork.load(tmp_path / "model.json")
    assert loaded.features == network.features
    assert np.array_equal(loaded.weights, network.weights)
    assert loaded.metadata == {"season": "autumn"}


def test_pickle(network: fs.MarkovNetwork) -> None:
    loaded = pickle.loads(pickle.dumps(network))
    assert loaded.features == network.features
    assert np.array_equal(loaded.weights, network.weights)
    assert loaded.metadata == network.metadata
    states = every_state(SCHEMA)
    assert np.array_equal(loaded.score_samples(states), network.score_samples(states))


def test_a_file_keeps_the_training_report_in_short(tmp_path: Path) -> None:
    network = fs.learn_weights([[(0, 1)], [(0, 1), (1, 1)]], [[0, 0], [1, 1], [1, 0], [1, 1]])
    network.save(tmp_path / "model.json")
    loaded = fs.MarkovNetwork.load(tmp_path / "model.json")
    assert network.training_ is not None
    assert loaded.training_ is None
    assert loaded.metadata["training"] == network.training_.to_dict()


@pytest.mark.parametrize("suffix", ["mn", "uai"])
def test_names_can_be_put_back(tmp_path: Path, suffix: str) -> None:
    """Also where labels are the codes of other values."""
    schema = fs.Schema([3, 2], names=["grade", "passed"], labels=[[1, 2, 0], [True, False]])
    terms = [([("grade", {1, 0}), ("passed", True)], 0.5), ([("grade", 2)], -1.0)]
    network = fs.MarkovNetwork.from_terms(schema, terms)
    network.save(tmp_path / f"model.{suffix}")
    nameless = fs.MarkovNetwork.load(tmp_path / f"model.{suffix}")
    pairs = zip(nameless.features, nameless.weights, strict=True)
    named = fs.MarkovNetwork.from_terms(schema, pairs)
    states = every_state(schema)
    np.testing.assert_allclose(named.score_samples(states), network.score_samples(states))


def test_pickle_keeps_the_training_report() -> None:
    network = fs.learn_weights([[(0, 1)]], [[0], [1], [1]], n_jobs=1)
    assert pickle.loads(pickle.dumps(network)).training_ == network.training_
