"""The binding of decision trees: shapes, arrays out and in, errors; C++ tests hold the numbers."""

from __future__ import annotations

import numpy as np
import pytest

from feldspar import _core

CARDINALITIES = [2, 3, 2, 4]
KAPPAS = np.array([1.0, 0.1, 1e-2, 1e-3, 1e-4])


@pytest.fixture(scope="module")
def codes() -> _core.CodeArray:
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, c, 800) for c in CARDINALITIES]
    columns[2] = np.where(rng.random(800) < 0.8, columns[0], columns[2])
    columns[3] = np.where(rng.random(800) < 0.7, columns[1] + columns[2], columns[3])
    return np.ascontiguousarray(np.stack(columns, axis=1), dtype=np.int32)


@pytest.fixture(scope="module")
def trees(codes: _core.CodeArray) -> _core.Trees:
    data = _core.Dataset.merge(CARDINALITIES, codes, None)
    return _core.Trees.grow(data, 1.0, 10.0, 1.0, 1, None)


def arrays(trees: _core.Trees) -> _core.FlatTrees:
    return trees.to_dependency_network().flatten()[0]


def test_conditionals_are_distributions_and_score_the_rows(
    trees: _core.Trees, codes: _core.CodeArray
) -> None:
    logs = trees.to_dependency_network().log_conditionals(codes, 1)
    assert logs.shape == (800, sum(CARDINALITIES))
    offsets = np.concatenate([[0], np.cumsum(CARDINALITIES)])
    sums = np.add.reduceat(np.exp(logs), offsets[:-1], axis=1)
    np.testing.assert_allclose(sums, 1.0, rtol=1e-12)
    observed = np.take_along_axis(logs, offsets[:-1] + codes, axis=1)
    weights = np.linspace(0.0, 2.0, 800)
    scores = trees.log_likelihoods(codes, weights, KAPPAS, 2)
    np.testing.assert_allclose(scores[0], weights @ observed.sum(axis=1), rtol=1e-12)
    for kappa, score in zip(KAPPAS, scores, strict=True):
        alone = trees.pruned(kappa).log_likelihoods(codes, weights, np.ones(1), 1)
        np.testing.assert_allclose(alone, score, rtol=1e-12)


def test_pruned_trees_are_those_grown_with_the_kappa(
    trees: _core.Trees, codes: _core.CodeArray
) -> None:
    data = _core.Dataset.merge(CARDINALITIES, codes, None)
    leaves = []
    for kappa in KAPPAS:
        grown = _core.Trees.grow(data, kappa, 10.0, 1.0, 2, None)
        for ours, theirs in zip(arrays(trees.pruned(kappa)), arrays(grown), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        leaves.append(grown.n_leaves)
    assert leaves == sorted(leaves, reverse=True)
    assert leaves[0] > leaves[-1] > len(CARDINALITIES)


def test_features_of_each_conversion(trees: _core.Trees) -> None:
    counts = {
        name: len(trees.features(name, None))
        for name in ("default", "prune", "prune-10", "prune-5", "nonzero")
    }
    assert 0 < counts["nonzero"] < counts["default"] < counts["prune"]
    assert counts["prune-5"] <= counts["prune-10"] <= counts["prune"]
    others = trees.features("nonzero", np.array([1, 1, 1, 1], dtype=np.uint16))
    assert len(others) > 0
    with pytest.raises(ValueError, match="expected default, prune, prune-10, prune-5 or nonzero"):
        trees.features("leaves", None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="zero_values: variable 0 has no value 2"):
        trees.features("nonzero", np.array([2, 0, 0, 0], dtype=np.uint16))


def test_progress_is_reported_and_may_stop(codes: _core.CodeArray) -> None:
    data = _core.Dataset.merge(CARDINALITIES, codes, None)
    seen: list[tuple[str, float, float]] = []
    _core.Trees.grow(data, 1.0, 10.0, 1.0, 1, lambda *report: seen.append(report[:3]))
    assert seen == [("trees", float(done), 4.0) for done in range(1, 5)]

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _core.Trees.grow(data, 1.0, 10.0, 1.0, 1, stop)


def test_wrong_arguments_are_named(trees: _core.Trees, codes: _core.CodeArray) -> None:
    data = _core.Dataset.merge(CARDINALITIES, codes, None)
    with pytest.raises(ValueError, match="kappa must be above 0 and at most 1, got 2"):
        _core.Trees.grow(data, 2.0, 10.0, 1.0, 1, None)
    with pytest.raises(ValueError, match="min_leaf_weight"):
        _core.Trees.grow(data, 1.0, -1.0, 1.0, 1, None)
    with pytest.raises(ValueError, match="leaf_prior must be positive"):
        _core.Trees.grow(data, 1.0, 10.0, 0.0, 1, None)
    with pytest.raises(ValueError, match="table of 4 columns"):
        trees.log_likelihoods(codes[:, :3].copy(), None, KAPPAS, 1)
    with pytest.raises(ValueError, match="weights: got 3"):
        trees.log_likelihoods(codes, np.ones(3), KAPPAS, 1)
