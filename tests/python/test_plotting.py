"""Pictures: what is drawn, what is left out and said to be, and what is refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest

import feldspar as fs
from random_networks import random_network

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def pyplot() -> Iterator[None]:
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def drawn(ax) -> str:
    """Render, so that what only fails when drawn fails here; return the title."""
    ax.figure.canvas.draw()
    return ax.get_title()


def test_a_small_graph_is_drawn_whole() -> None:
    terms = [([(0, 1), (1, 1)], 2.0), ([(1, 1), (2, 1)], -1.0), ([(2, 1), (3, 2)], 0.5)]
    network = fs.MarkovNetwork.from_terms(fs.Schema([2, 2, 2, 3, 2]), terms)
    ax = network.plot()
    assert drawn(ax) == "3 edges; 1 unconnected variables not shown"
    assert sorted(text.get_text() for text in ax.texts) == ["v0", "v1", "v2", "v3"]
    widths = [line.get_linewidth() for line in ax.lines]
    assert widths == sorted(widths)  # the strongest last, on top
    colours = {line.get_color() for line in ax.lines}
    assert len(colours) == 3  # together, apart, no sign


def test_a_large_graph_shows_its_strongest_part_and_says_so() -> None:
    network = random_network(0, n_variables=20, n_features=120, longest=2)
    edges = network.edge_strengths()
    ax = network.plot(max_edges=7)
    shown = {name for edge in edges[:7] for name in edge[:2]}
    assert drawn(ax) == f"the 7 strongest of {len(edges)} edges; {len(shown)} of 20 variables"
    assert {text.get_text() for text in ax.texts} == shown
    assert len(ax.lines) == 7
    with pytest.raises(ValueError, match="max_edges: expected at least 1, got 0"):
        network.plot(max_edges=0)


def test_names_do_not_lie_on_each_other() -> None:
    star = [([(0, 1), (v, 1)], 1.0) for v in range(1, 40)]
    ax = fs.MarkovNetwork.from_terms(fs.Schema([2] * 40), star).plot()
    places = np.array([text.get_position() for text in ax.texts])
    gaps = np.linalg.norm(places[:, None] - places, axis=2)[~np.eye(len(places), dtype=bool)]
    assert gaps.min() > 0.3


def test_a_graph_without_edges() -> None:
    network = fs.MarkovNetwork.from_terms(fs.Schema([2, 2]), [([(0, 1)], 1.0)])
    assert drawn(network.plot()) == "0 edges; 2 unconnected variables not shown"


def test_marginals() -> None:
    network = random_network(1, n_variables=5, n_features=10, longest=2)
    found = network.marginals({0: 1})
    ax = found.plot(["v1", 2])
    drawn(ax)
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths, [*found["v1"], *found["v2"]])
    many = network.marginals([[-1] * 5, [0] * 5])
    widths = [bar.get_width() for bar in many.plot(["v1"], row=1).patches]
    np.testing.assert_allclose(widths, many["v1"][1])
    with pytest.raises(ValueError, match=r"row: expected 0 \.\.\. 1, got 2"):
        many.plot(row=2)
    wide = random_network(2, n_variables=14, n_features=5, longest=2)
    assert drawn(wide.marginals().plot()) == "the first 12 of 14 variables"


def test_explanation_learning_curve_and_trials() -> None:
    rows = np.random.default_rng(0).integers(0, 2, (100, 4))
    learner = fs.L1Neighborhood(C=[0.1, 1.0], rule="or", prior_sd=[1.0, 0.1], n_jobs=1).fit(rows)
    network = learner.network_
    ax = network.explain(rows[0], 0).plot(top=1)
    assert drawn(ax).startswith("v0: ")
    ax = network.training_.plot()
    assert drawn(ax).startswith("converged after")
    assert ax.lines[0].get_ydata().tolist() == [step[1] for step in network.training_.history]
    ax = learner.plot_trials()
    assert drawn(ax) == "L1Neighborhood: what was tried"
    tried = [row for row in learner.trials_ if row["stage"] == "weights"]
    assert len(ax.get_yticks()) == len(tried)
    with pytest.raises(ValueError, match="nothing to draw: no network was validated"):
        fs.L1Neighborhood(C=0.1, rule="or", prior_sd=1.0).fit(rows).plot_trials()


def test_a_place_to_draw_is_used() -> None:
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 2)
    network = random_network(1, n_variables=5, n_features=10, longest=2)
    assert network.plot(ax=axes[0]) is axes[0]
    assert network.marginals().plot(ax=axes[1]) is axes[1]


def test_without_matplotlib_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = random_network(1, n_variables=5, n_features=10, longest=2)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        network.plot()
