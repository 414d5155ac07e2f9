"""How often edges come back: counts by hand, both ways of resampling, the table and the plot."""

from __future__ import annotations

from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pytest

import feldspar as fs
from feldspar.learners.stability import EdgeStability, edge_matrix

mpl.use("Agg")
SCHEMA = fs.Schema([2, 2, 2, 2], names=["a", "b", "c", "d"])
LEARNER = fs.L1Neighborhood(C=0.3, rule="and", prior_sd=1.0)


def _rows(n: int = 300) -> fs.Table:
    random = np.random.default_rng(0)
    a, c = random.integers(0, 2, (2, n))
    b = np.where(random.random(n) < 0.9, a, 1 - a)
    d = random.integers(0, 2, n)
    return fs.Table.from_array(np.column_stack([a, b, c, d]), schema=SCHEMA)


def test_edges_join_variables_of_one_feature_with_weight() -> None:
    terms = [([("a", 1), ("b", 1), ("c", 1)], 1.0), ([("c", 1), ("d", 1)], 0.0), ([("d", 1)], 2.0)]
    joined = edge_matrix(fs.MarkovNetwork.from_terms(SCHEMA, terms))
    expected = np.zeros((4, 4), dtype=bool)
    expected[:3, :3] = ~np.eye(3, dtype=bool)
    np.testing.assert_array_equal(joined, expected)


@pytest.mark.parametrize("resampling", ["bootstrap", "subsample"])
def test_a_strong_edge_comes_back_and_a_chance_one_does_not(resampling: str) -> None:
    found = fs.stability_selection(LEARNER, _rows(), n=8, resampling=resampling)  # type: ignore[arg-type]
    assert found.edges(threshold=0.9)[0] == ("a", "b", 1.0)
    assert found.frequencies[2, 3] < 1.0
    np.testing.assert_array_equal(found.frequencies, found.frequencies.T)
    assert (found.frequencies * 8 == np.round(found.frequencies * 8)).all()
    again = fs.stability_selection(LEARNER, _rows(), n=8, resampling=resampling)  # type: ignore[arg-type]
    np.testing.assert_array_equal(again.frequencies, found.frequencies)
    assert not hasattr(LEARNER, "network_")


def test_table_and_plot_show_the_most_frequent_first() -> None:
    frequencies = np.zeros((4, 4))
    frequencies[0, 1] = frequencies[1, 0] = 0.5
    frequencies[2, 3] = frequencies[3, 2] = 0.75
    stability = EdgeStability(SCHEMA, 4, frequencies)
    assert stability.edges() == [("c", "d", 0.75), ("a", "b", 0.5)]
    assert stability.edges(threshold=0.5) == [("c", "d", 0.75)]
    assert stability.to_frame()["frequency"].tolist() == [0.75, 0.5]
    axes = stability.plot(top=1)
    assert [bar.get_width() for bar in axes.patches] == [0.75]


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="n: expected at least 1"):
        fs.stability_selection(LEARNER, _rows(), n=0)
    with pytest.raises(ValueError, match="resampling: expected one of"):
        fs.stability_selection(LEARNER, _rows(), n=1, resampling="jackknife")  # type: ignore[arg-type]


def test_ctrl_c_ends_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with a learner that would itself keep the best network so far."""
    from feldspar.learners._search import Search

    take, taken = Search._take, []

    def interrupted(self: Search, contender: Any) -> None:
        take(self, contender)
        taken.append(contender)
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "_take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fs.stability_selection(LEARNER, _rows(), n=3)
    assert len(taken) == 1
    assert LEARNER.on_interrupt == "return"


@pytest.mark.parametrize("resampling", ["bootstrap", "subsample"])
def test_rows_of_weight_0_are_not_drawn(resampling: Literal["bootstrap", "subsample"]) -> None:
    table = fs.Table.from_array(np.random.default_rng(1).integers(0, 2, (60, 4)))
    weights = np.r_[np.zeros(30), np.ones(30)]
    learner = fs.L1Neighborhood(C=[0.1, 1.0], rule="and", n_jobs=1)  # tunes, on rows held out
    weighted, without = (
        fs.stability_selection(learner, X, n=10, sample_weight=w, resampling=resampling)
        for X, w in ((table, weights), (table[30:], None))
    )
    np.testing.assert_array_equal(weighted.frequencies, without.frequencies)
