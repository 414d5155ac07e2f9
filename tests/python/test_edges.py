"""Edge strengths against their definition, by enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import feldspar as fs
from feldspar.edges import Edge
from random_networks import random_network


def enumerated(network: fs.MarkovNetwork, i: int, j: int) -> tuple[float, float]:
    """RMS and mean log odds ratio over all pairs of values and all states of the others."""
    sizes = network.schema.cardinalities
    others = [v for v in range(len(sizes)) if v not in (i, j)]
    squares, ratios = [], []
    for state in itertools.product(*(range(sizes[v]) for v in others)):
        row = np.zeros(len(sizes), dtype=int)
        row[others] = state
        rows = np.repeat(row[np.newaxis], sizes[i] * sizes[j], axis=0)
        rows[:, i] = np.repeat(np.arange(sizes[i]), sizes[j])
        rows[:, j] = np.tile(np.arange(sizes[j]), sizes[i])
        logs = network.log_potential(rows, n_jobs=1).reshape(sizes[i], sizes[j])
        for a, other_a in itertools.permutations(range(sizes[i]), 2):
            for b, other_b in itertools.permutations(range(sizes[j]), 2):
                ratio = logs[a, b] + logs[other_a, other_b] - logs[a, other_b] - logs[other_a, b]
                squares.append(ratio**2)
        ratios.append(logs[1, 1] + logs[0, 0] - logs[1, 0] - logs[0, 1])
    return math.sqrt(np.mean(squares)), float(np.mean(ratios))


@pytest.mark.parametrize("seed", range(4))
def test_strengths_are_what_they_are_said_to_be(seed: int) -> None:
    network = random_network(seed, n_variables=5, n_features=25, longest=4)
    names = network.schema.names
    edges = {(edge.first, edge.second): edge for edge in network.edge_strengths()}
    assert edges
    for i, j in itertools.combinations(range(5), 2):
        strength, ratio = enumerated(network, i, j)
        edge = edges.get((names[i], names[j]))
        if edge is None:
            assert strength == pytest.approx(0, abs=1e-12)
            continue
        assert edge.strength == pytest.approx(strength, rel=1e-9, abs=1e-9)
        if network.schema.cardinalities[i] == network.schema.cardinalities[j] == 2:
            assert edge.log_odds_ratio == pytest.approx(ratio, rel=1e-9, abs=1e-9)
        else:
            assert edge.log_odds_ratio is None
            assert edge.sign == 0


def test_many_contexts_of_one_edge() -> None:
    random = np.random.default_rng(0)
    terms = []
    for _ in range(600):
        others = random.choice(np.arange(2, 9), int(random.integers(1, 6)), replace=False)
        tests = [(v, int(random.integers(2))) for v in (0, 1, *others.tolist())]
        terms.append((tests, float(random.normal())))
    network = fs.MarkovNetwork.from_terms(fs.Schema([2] * 9), terms)
    edge = next(e for e in network.edge_strengths() if (e.first, e.second) == ("v0", "v1"))
    assert edge.n_features > 400  # more than are compared at a time
    strength, ratio = enumerated(network, 0, 1)
    assert edge.strength == pytest.approx(strength)
    assert edge.log_odds_ratio == pytest.approx(ratio)


def test_an_ising_network_has_the_weights_of_its_pairs() -> None:
    terms = [([(0, 1)], 9.0), ([(0, 1), (1, 1)], -1.5), ([(1, 1), (2, 1)], 2.0)]
    edges = fs.MarkovNetwork.from_terms(fs.Schema([2, 2, 2]), terms).edge_strengths()
    assert list(edges) == [Edge("v1", "v2", 2.0, 2.0, 1), Edge("v0", "v1", 1.5, -1.5, 1)]
    assert [edge.sign for edge in edges] == [1, -1]


def test_an_interaction_without_a_mean_direction_is_seen() -> None:
    # v0 and v1 go together if v2, and exclude each other if not.
    terms = [([(0, 1), (1, 1), (2, a)], 4.0 if a else -4.0) for a in (0, 1)]
    terms += [([(0, 0), (1, 0), (2, a)], 4.0 if a else -4.0) for a in (0, 1)]
    edges = fs.MarkovNetwork.from_terms(fs.Schema([2, 2, 2]), terms).edge_strengths()
    first = next(edge for edge in edges if (edge.first, edge.second) == ("v0", "v1"))
    assert first.strength == pytest.approx(8.0)
    assert first.log_odds_ratio == pytest.approx(0.0)


def test_the_same_distribution_has_the_same_strengths() -> None:
    schema = fs.Schema([2, 3])
    one = fs.MarkovNetwork.from_terms(schema, [([(0, 1), (1, 2)], 1.0)])
    other = fs.MarkovNetwork.from_terms(
        schema, [([(1, 2)], 1.0), ([(0, 0), (1, 2)], -1.0)]
    )  # as one, written by the other value
    assert one.edge_strengths()[0].strength == pytest.approx(other.edge_strengths()[0].strength)


def test_no_edges() -> None:
    network = fs.MarkovNetwork.from_terms(fs.Schema([2, 2]), [([(0, 1)], 1.0)])
    edges = network.edge_strengths()
    assert len(edges) == 0
    assert len(edges.to_frame()) == 0
    unused = fs.MarkovNetwork(fs.FeatureSet(fs.Schema([2, 2]), [[(0, 1), (1, 1)]]), [0.0])
    assert list(unused.edge_strengths()) == []
    empty = fs.MarkovNetwork(fs.FeatureSet(fs.Schema([2, 2])), [])
    assert list(empty.edge_strengths()) == []


def test_frame_repr_and_graph() -> None:
    network = random_network(1, n_variables=6, n_features=30, longest=3)
    edges = network.edge_strengths()
    frame = edges.to_frame()
    assert list(frame.columns) == list(Edge._fields)
    assert frame["strength"].is_monotonic_decreasing
    assert repr(edges).splitlines()[0].startswith(f"{len(edges)} edges")
    graph = network.to_networkx()
    assert graph.number_of_edges() == len(edges)
    for edge in edges:
        attributes = graph.edges[edge.first, edge.second]
        assert attributes["strength"] == edge.strength
        assert attributes["sign"] == edge.sign
        assert attributes["n_features"] == edge.n_features
    plain = network.to_networkx(strengths=False)
    assert set(plain.edges) == set(graph.edges)
    assert not any("strength" in attributes for *_, attributes in plain.edges(data=True))
