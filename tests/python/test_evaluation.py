"""Scores with their uncertainty."""

import math
from typing import Any

import numpy as np
import pytest

import feldspar as fs
from feldspar.evaluation import conditional_marginal_log_likelihood, pseudo_log_likelihood

X = np.array([[0, 0], [1, 1], [1, 1], [0, 1], [1, 0], [0, 0]])
NETWORK = fs.learn_weights(fs.FeatureSet.conjunctions(X, order=2), X)


def test_mean_and_standard_error() -> None:
    score = pseudo_log_likelihood(NETWORK, X)
    samples = NETWORK.score_samples(X)
    np.testing.assert_array_equal(score.per_example, samples)
    assert float(score) == score.mean == pytest.approx(samples.mean(), abs=1e-14)
    assert score.stderr == pytest.approx(samples.std(ddof=1) / math.sqrt(6), abs=1e-14)
    assert score.normalized == score.mean / 2


def test_representations_do_not_grow_with_the_rows() -> None:
    many = np.tile(X, (100, 1))
    for answer in (pseudo_log_likelihood(NETWORK, many), NETWORK.conditionals(many)):
        assert "array" not in repr(answer)
    assert "history" not in repr(NETWORK.training_)


def test_merged_rows_score_like_all_rows() -> None:
    merged = pseudo_log_likelihood(NETWORK, fs.Table.of(X).distinct())
    plain = pseudo_log_likelihood(NETWORK, X)
    assert len(merged.per_example) == 4
    assert merged.mean == pytest.approx(plain.mean, abs=1e-14)
    assert merged.stderr == pytest.approx(plain.stderr, abs=1e-14)


def test_one_row_has_no_standard_error() -> None:
    assert math.isnan(pseudo_log_likelihood(NETWORK, X[:1]).stderr)


def test_rows_without_weight_have_no_score() -> None:
    table = fs.Table.of(X, sample_weight=[0, 0, 1, 1, 1, 1])
    with pytest.raises(ValueError, match="X: the weights of all 2 rows are 0; expected at least"):
        pseudo_log_likelihood(NETWORK, table[:2])


def test_what_is_no_network_is_told_where_one_is() -> None:
    learner = fs.Independent(prior_sd=1.0).fit(X)
    trees = fs.DependencyNetwork(kappa=0.1).fit(X)
    with pytest.raises(TypeError, match="got Independent: that of a learner is its network_"):
        pseudo_log_likelihood(learner, X)
    with pytest.raises(TypeError, match="got Independent: that of a learner is its network_"):
        conditional_marginal_log_likelihood(learner, X, groups=2)
    with pytest.raises(TypeError, match="a MarkovNetwork, got DependencyNetwork: its to_markov"):
        conditional_marginal_log_likelihood(trees, X, groups=2)
    with pytest.raises(TypeError, match="or a DependencyNetwork, got ndarray"):
        pseudo_log_likelihood(X, NETWORK)  # type: ignore[arg-type]


def test_rows_that_a_network_holds_impossible() -> None:
    """Probabilities below what a number can hold: the score is infinite, unless they count 0."""
    terms: list[Any] = [([(0, a), (1, a)], 900.0) for a in (0, 1)]
    agree = fs.MarkovNetwork.from_terms(fs.Schema([2, 2]), terms)
    rows = np.array([[0, 0], [0, 1]])
    score = agree.cmll(rows, groups=2)
    assert (score.mean, math.isnan(score.stderr)) == (-math.inf, True)
    weighed = agree.cmll(fs.Table.of(rows, schema=agree.schema, sample_weight=[2, 0]), groups=2)
    assert (weighed.mean, weighed.stderr) == (0, 0)


@pytest.mark.parametrize(("n", "groups"), [(2, 2), (3, 3), (5, 4)])
def test_cmll_has_four_groups_where_there_are_variables_enough(n: int, groups: int) -> None:
    schema = fs.Schema([2] * n)
    network = fs.MarkovNetwork.from_terms(
        schema, [([(v, 1), (v + 1, 1)], 1.0) for v in range(n - 1)]
    )
    rows = np.random.default_rng(0).integers(0, 2, (6, n))
    found = network.cmll(rows, method="exact").mean
    assert found == network.cmll(rows, groups=groups, method="exact").mean
    with pytest.raises(ValueError, match=f"groups: expected 2 to {n}"):
        network.cmll(rows, groups=n + 1)


def test_cmll_of_a_single_variable() -> None:
    coin = fs.MarkovNetwork.from_terms(fs.Schema([2]), [([(0, 1)], 1.0)])
    with pytest.raises(ValueError, match="CMLL needs at least 2 variables, got 1"):
        coin.cmll([[0], [1]])
