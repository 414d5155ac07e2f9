"""Hypothesis strategies for networks of a few variables with any number of values."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from feldspar.features import Feature
from feldspar.network import MarkovNetwork
from feldspar.schema import Schema

finite_weights = st.floats(min_value=-40.0, max_value=40.0, allow_nan=False)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """Up to four variables with two to four values each."""
    return Schema(draw(st.lists(st.integers(2, 4), min_size=1, max_size=4)))


@st.composite
def networks(
    draw: st.DrawFn,
    schema: st.SearchStrategy[Schema] | None = None,
    weights: st.SearchStrategy[float] = finite_weights,
) -> MarkovNetwork:
    """Up to six conjunctions of sets of values, with repeats and contradictions among them."""
    drawn = draw(schemas() if schema is None else schema)
    terms = draw(st.lists(st.tuples(conjunctions(drawn), weights), max_size=6))
    return MarkovNetwork.from_terms(drawn, terms)


def conjunctions(schema: Schema) -> st.SearchStrategy[list[tuple[int, Any]]]:
    """Up to four tests by label; a variable may come twice, a set of values is never empty."""
    tests = st.integers(0, len(schema) - 1).flatmap(
        lambda variable: st.tuples(st.just(variable), _admitted(schema.labels[variable]))
    )
    return st.lists(tests, min_size=1, max_size=4)


def _admitted(labels: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    values = st.sampled_from(labels)
    return values | st.frozensets(values, min_size=1)


def every_state(schema: Schema) -> npt.NDArray[np.int64]:
    """All joint values of the variables, one a row."""
    return np.array(list(itertools.product(*map(range, schema.cardinalities))), dtype=np.int64)


def weights_by_feature(network: MarkovNetwork) -> dict[Feature, float]:
    """The network as a dictionary, since the order of its features carries no meaning."""
    return dict(zip(network.features, network.weights.tolist(), strict=True))


def random_network(seed: int, *, n_variables: int, n_features: int, longest: int) -> MarkovNetwork:
    """Conjunctions of values and sets of values, over variables with two to four values."""
    random = np.random.default_rng(seed)
    schema = Schema(random.choice([2, 2, 2, 3, 4], n_variables).tolist())
    terms = []
    for _ in range(n_features):
        length = int(random.integers(1, longest + 1))
        tests: list[tuple[int, Any]] = []
        for v in random.choice(n_variables, length, replace=False).tolist():
            size = schema.cardinalities[v]
            admitted = random.choice(size, int(random.integers(1, size)), replace=False).tolist()
            tests.append((v, frozenset(admitted)))
        terms.append((tests, float(random.normal())))
    return MarkovNetwork.from_terms(schema, terms)
