"""The number of threads changes how long it takes, and not a single bit of what comes out."""

from __future__ import annotations

import multiprocessing
import sys
import threading
import warnings
from functools import cache

import numpy as np
import pytest

import feldspar as fs

N_VARIABLES = 24


@cache
def table(cardinality: int) -> fs.Table:
    rng = np.random.default_rng(cardinality)
    shape = (2000, N_VARIABLES)
    codes = np.where(rng.random(shape) < 0.1, 0, rng.integers(1, cardinality, shape))
    return fs.Table.from_array(codes, sample_weight=np.linspace(0.5, 2.0, 2000))


@cache
def feature_set(kind: str, cardinality: int) -> fs.FeatureSet:
    """Pairs go into the wide index, long conjunctions into the narrow ones.

    Also together, as long as few variables need both: data are dense, conjunctions are not.
    """
    if kind == "mixed":
        return feature_set("wide", cardinality) | feature_set("narrow", cardinality)
    data = table(cardinality)
    if kind == "wide":
        return fs.FeatureSet.conjunctions(data, order=2)
    rng = np.random.default_rng(0)
    scopes = [rng.permutation(6)[: rng.integers(3, 6)] for _ in range(150)]
    rows = data.to_numpy()
    return fs.FeatureSet(
        data.schema,
        [[(v, rows[r, v]) for v in scope] for r, scope in enumerate(scopes)],
    )


KINDS = pytest.mark.parametrize("kind", ["wide", "narrow", "mixed"])
CARDINALITIES = pytest.mark.parametrize("cardinality", [2, 3], ids=["binary", "three values"])


@KINDS
@CARDINALITIES
def test_the_kinds_are_what_they_say(kind: str, cardinality: int) -> None:
    likelihood = fs.PseudoLikelihood(feature_set(kind, cardinality), table(cardinality))
    statistics = likelihood.statistics
    assert (statistics.n_wide_lookups > 0) == (kind in ("wide", "mixed"))
    assert (statistics.n_narrow_lookups > 0) == (kind in ("narrow", "mixed"))


@KINDS
@CARDINALITIES
@pytest.mark.parametrize(("prior_sd", "l1"), [(1.0, 0.0), (None, 8.0)], ids=["L2", "L1"])
def test_learned_weights(kind: str, cardinality: int, prior_sd: float | None, l1: float) -> None:
    one, two = (
        fs.learn_weights(
            feature_set(kind, cardinality),
            table(cardinality),
            prior_sd=prior_sd,
            l1=l1,
            tolerance=1e-5,
            n_jobs=n_jobs,
        )
        for n_jobs in (1, 2)
    )
    assert np.count_nonzero(one.weights) > 0
    assert np.array_equal(one.weights, two.weights)
    assert one.training_ is not None
    assert two.training_ is not None
    assert one.training_.objective == two.training_.objective
    assert one.training_.iterations == two.training_.iterations


@KINDS
@CARDINALITIES
@pytest.mark.parametrize("n_jobs", [2, 3, -1, None])
def test_value_and_gradient(kind: str, cardinality: int, n_jobs: int | None) -> None:
    features = feature_set(kind, cardinality)
    weights = np.random.default_rng(1).normal(size=len(features))
    one, many = (
        fs.PseudoLikelihood(features, table(cardinality), n_jobs=n).value_and_gradient(weights)
        for n in (1, n_jobs)
    )
    assert one[0] == many[0]
    assert np.array_equal(one[1], many[1])


@CARDINALITIES
def test_scores(cardinality: int) -> None:
    features, data = feature_set("mixed", cardinality), table(cardinality)
    weights = np.random.default_rng(1).normal(size=len(features))
    network = fs.MarkovNetwork(features, weights)
    assert np.array_equal(
        network.score_samples(data, n_jobs=1), network.score_samples(data, n_jobs=2)
    )
    assert np.array_equal(
        network.log_potential(data, n_jobs=1), network.log_potential(data, n_jobs=2)
    )
    assert np.array_equal(
        network.conditionals(data, n_jobs=1).probabilities,
        network.conditionals(data, n_jobs=2).probabilities,
    )


def test_one_likelihood_used_by_two_python_threads() -> None:
    features = feature_set("mixed", 2)
    likelihood = fs.PseudoLikelihood(features, table(2), n_jobs=1)
    points = np.random.default_rng(2).normal(size=(6, len(features)))
    expected = [likelihood.value_and_gradient(point)[0] for point in points]
    got = [0.0] * len(points)

    def evaluate(first: int) -> None:
        for i in range(first, len(points), 2):
            got[i], _ = likelihood.value_and_gradient(points[i])

    threads = [threading.Thread(target=evaluate, args=(first,)) for first in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == expected


def _learned(n_jobs: int) -> list[float]:
    network = fs.learn_weights(feature_set("mixed", 2), table(2), tolerance=1e-4, n_jobs=n_jobs)
    return [float(w) for w in network.weights]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_forked_process_has_threads_of_its_own() -> None:
    expected = _learned(2)  # this process has helpers now; the child inherits none
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's own: forks and threads
        with multiprocessing.get_context("fork").Pool(1) as pool:
            assert pool.apply_async(_learned, (2,)).get(timeout=60) == expected
