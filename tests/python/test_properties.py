"""What must not matter does not: the order of rows, how repeats are written, names of values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import feldspar as fs
from feldspar.features import Feature
from random_networks import every_state, networks, schemas, weights_by_feature

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Example:
    """Features, and rows of data to learn their weights from."""

    features: fs.FeatureSet
    rows: Codes

    @property
    def schema(self) -> fs.Schema:
        return self.features.schema

    def learn(self, rows: Codes, **options: Any) -> fs.MarkovNetwork:
        return learn(self.features, rows, **options)


def learn(features: fs.FeatureSet, rows: Codes, **options: Any) -> fs.MarkovNetwork:
    """Learn to the last digits, so that two ways to the same optimum can be compared."""
    return fs.learn_weights(features, rows, tolerance=1e-15, n_jobs=1, **options)


@st.composite
def examples(draw: st.DrawFn) -> Example:
    features = draw(networks(schemas())).features
    states = every_state(features.schema)
    rows = draw(st.lists(st.integers(0, len(states) - 1), min_size=1, max_size=12))
    return Example(features, states[rows])


penalties = st.sampled_from([{"prior_sd": 1.0}, {"prior_sd": 0.5, "l1": 0.3}])
few = settings(max_examples=40)


@few
@given(examples(), penalties, st.randoms(use_true_random=False))
def test_order_of_rows(example: Example, penalty: dict[str, float], random: Random) -> None:
    order = random.sample(range(len(example.rows)), len(example.rows))
    shuffled = example.learn(example.rows[order], **penalty)
    assert np.array_equal(shuffled.weights, example.learn(example.rows, **penalty).weights)


@few
@given(examples(), penalties, st.lists(st.integers(1, 3), min_size=12, max_size=12))
def test_repeats_as_weights(
    example: Example, penalty: dict[str, float], repeats: list[int]
) -> None:
    counts = np.array(repeats[: len(example.rows)])
    repeated = example.learn(np.repeat(example.rows, counts, axis=0), **penalty)
    weighted = example.learn(example.rows, sample_weight=counts, **penalty)
    np.testing.assert_allclose(repeated.weights, weighted.weights, rtol=0, atol=1e-9)


@few
@given(examples(), penalties)
def test_rows_of_weight_zero(example: Example, penalty: dict[str, float]) -> None:
    states = every_state(example.schema)
    padded = np.concatenate([example.rows, states])
    weights = np.repeat([1.0, 0.0], [len(example.rows), len(states)])
    network = example.learn(padded, sample_weight=weights, **penalty)
    assert np.array_equal(network.weights, example.learn(example.rows, **penalty).weights)


def renamed(feature: Feature, permutations: list[Codes]) -> list[tuple[int, frozenset[int]]]:
    return [
        (v, frozenset(int(permutations[v][code]) for code in codes_of(value)))
        for v, value in feature
    ]


def codes_of(value: int | frozenset[int]) -> frozenset[int]:
    return value if isinstance(value, frozenset) else frozenset([value])


@few
@given(examples(), penalties, st.integers(0, 2**32 - 1))
def test_names_of_values(example: Example, penalty: dict[str, float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    permutations = [rng.permutation(c) for c in example.schema.cardinalities]
    rows = np.column_stack([p[example.rows[:, v]] for v, p in enumerate(permutations)])
    features = fs.FeatureSet(
        example.schema, [renamed(feature, permutations) for feature in example.features]
    )
    network = learn(features, rows, **penalty)
    expected = example.learn(example.rows, **penalty)
    np.testing.assert_allclose(network.weights, expected.weights, rtol=0, atol=1e-5)
    np.testing.assert_allclose(
        network.score_samples(rows), expected.score_samples(example.rows), rtol=0, atol=1e-5
    )


@few
@given(examples(), penalties, st.integers(0, 2**32 - 1))
def test_order_of_variables(example: Example, penalty: dict[str, float], seed: int) -> None:
    """Column i of the new table is column order[i] of the old one."""
    order = np.random.default_rng(seed).permutation(len(example.schema))
    place = np.argsort(order)
    schema = fs.Schema([example.schema.cardinalities[v] for v in order])
    features = fs.FeatureSet(
        schema, [[(int(place[v]), codes_of(a)) for v, a in f] for f in example.features]
    )
    network = learn(features, example.rows[:, order], **penalty)
    expected = example.learn(example.rows, **penalty)
    np.testing.assert_allclose(network.weights, expected.weights, rtol=0, atol=1e-5)


@few
@given(networks())
def test_json_is_the_identity(network: fs.MarkovNetwork) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        network.save(path)
        loaded = fs.MarkovNetwork.load(path)
    assert loaded.features == network.features
    assert np.array_equal(loaded.weights, network.weights)


@few
@pytest.mark.parametrize("suffix", ["mn", "uai"])
@given(network=networks())
def test_other_formats_keep_the_distribution(suffix: str, network: fs.MarkovNetwork) -> None:
    states = every_state(network.schema)
    with TemporaryDirectory() as folder:
        path = Path(folder, f"model.{suffix}")
        network.save(path)
        loaded = fs.MarkovNetwork.load(path)
    np.testing.assert_allclose(
        loaded.score_samples(states), network.score_samples(states), rtol=1e-9, atol=1e-9
    )


@few
@given(networks())
def test_features_come_back_as_they_were(network: fs.MarkovNetwork) -> None:
    terms = zip(network.features, network.weights.tolist(), strict=True)
    again = fs.MarkovNetwork.from_terms(network.schema, terms)
    assert weights_by_feature(again) == weights_by_feature(network)
