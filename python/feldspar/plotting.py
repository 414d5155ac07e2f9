"""Pictures with matplotlib: graphs, bars and curves of plain values.

What the methods called ``plot`` of networks, answers and learners draw with. Colours: blue for what
goes up or together, red for the opposite, grey for what has no sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "draw_contributions",
    "draw_distributions",
    "draw_frequencies",
    "draw_graph",
    "draw_learning_curve",
    "draw_trials",
]

_POSITIVE, _NEGATIVE, _NEUTRAL = "#2f6fb0", "#c0504d", "#7f7f7f"
_MAX_WIDTH = 5.0
_MAX_DISTRIBUTIONS = 12

Floats = npt.NDArray[np.float64]


def draw_graph(
    edges: Sequence[tuple[str, str, float, int]],
    *,
    n_edges: int,
    names: Sequence[str],
    labels: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw edges (first, second, strength, sign) and the variables they join.

    Parameters
    ----------
    edges : sequence of tuples
        Those to draw, of ``n_edges`` that there are.
    n_edges : int
    names : sequence of str
        All variables.
    labels : bool
        Write the names.
    ax : matplotlib.axes.Axes, optional
    """
    shown = [name for name in names if any(name in edge[:2] for edge in edges)]
    place = {name: i for i, name in enumerate(shown)}
    ends = np.array([(place[a], place[b]) for a, b, _, _ in edges], dtype=np.intp).reshape(-1, 2)
    at = _layout(len(shown), ends)
    side = float(np.clip(2.5 + 0.8 * np.sqrt(len(shown)), 5.5, 12))
    ax = _axes(ax, (side, side))
    strongest = max((strength for *_, strength, _ in edges), default=1.0) or 1.0
    # The strongest come last, on top.
    for (i, j), (_, _, strength, sign) in reversed(list(zip(ends, edges, strict=True))):
        share = strength / strongest
        ax.plot(
            *at[[i, j]].T,
            color={1: _POSITIVE, -1: _NEGATIVE}.get(sign, _NEUTRAL),
            linewidth=0.4 + _MAX_WIDTH * share,
            alpha=0.35 + 0.6 * share,
            solid_capstyle="round",
            zorder=1,
        )
    if labels:
        size = float(np.clip(11 - 0.05 * len(shown), 6, 10))
        box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "#404040"}
        for name, (x, y) in zip(shown, at, strict=True):
            ax.text(x, y, name, ha="center", va="center", fontsize=size, bbox=box, zorder=3)
    else:
        ax.scatter(at[:, 0], at[:, 1], s=30, color="white", edgecolors="#404040", zorder=3)
    ax.set_title(_graph_title(len(edges), n_edges, len(shown), len(names)), fontsize=10)
    ax.set_axis_off()
    ax.margins(0.12)
    ax.set_aspect("equal", adjustable="datalim")
    _graph_legend(ax, edges, strongest)
    return ax


def _graph_title(drawn: int, n_edges: int, shown: int, n_variables: int) -> str:
    which = f"{n_edges} edges" if drawn == n_edges else f"the {drawn} strongest of {n_edges} edges"
    left_out = n_variables - shown
    if drawn == n_edges:
        return f"{which}; {left_out} unconnected variables not shown" if left_out else which
    return f"{which}; {shown} of {n_variables} variables"


def _graph_legend(ax: Axes, edges: Sequence[tuple[str, str, float, int]], strongest: float) -> None:
    from matplotlib.lines import Line2D

    kinds = [
        (1, _POSITIVE, "go together"),
        (-1, _NEGATIVE, "exclude each other"),
        (0, _NEUTRAL, "no sign (several values)"),
    ]
    present = {sign for *_, sign in edges}
    lines = [
        Line2D([], [], color=colour, linewidth=3, label=label)
        for sign, colour, label in kinds
        if sign in present
    ]
    if not lines:
        return
    ax.legend(
        handles=lines,
        title=f"widest edge: strength {strongest:.2g}",
        fontsize=8,
        title_fontsize=8,
        loc="lower center",
        bbox_to_anchor=(0.5, -0.09),
        ncols=len(lines),
        frameon=False,
    )


def draw_contributions(
    bars: Sequence[tuple[str, float]], *, title: str, ax: Axes | None = None
) -> Axes:
    """Draw signed amounts as bars to the right and to the left, the first on top."""
    ax = _axes(ax, (7, 1.2 + 0.3 * len(bars)))
    amounts = [amount for _, amount in bars]
    colours = [_POSITIVE if amount >= 0 else _NEGATIVE for amount in amounts]
    ax.barh(range(len(bars)), amounts, color=colours)
    ax.set_yticks(range(len(bars)), [_shortened(name) for name, _ in bars])
    ax.invert_yaxis()
    ax.axvline(0, color="#404040", linewidth=0.8)
    ax.set_xlabel("log-odds")
    ax.set_title(title, fontsize=10)
    return ax


def draw_distributions(
    distributions: Mapping[str, tuple[Sequence[object], Floats]], *, ax: Axes | None = None
) -> Axes:
    """Draw distributions, name to (labels, probabilities), as groups of bars below each other."""
    shown = list(distributions.items())[:_MAX_DISTRIBUTIONS]
    n_bars = sum(len(labels) for _, (labels, _) in shown)
    ax = _axes(ax, (6, 1.0 + 0.24 * (n_bars + len(shown))))
    height = 0
    ticks: list[tuple[float, str]] = []
    for name, (labels, probabilities) in shown:
        places = height + np.arange(len(labels))
        ax.barh(places, probabilities, color=_POSITIVE)
        ticks += [(float(y), f"{name} = {label}") for y, label in zip(places, labels, strict=True)]
        height += len(labels) + 1
    for y, probability in zip(
        [y for y, _ in ticks], np.concatenate([p for _, (_, p) in shown]), strict=True
    ):
        ax.text(float(probability) + 0.01, y, f"{probability:.2f}", va="center", size=8)
    ax.set_yticks([y for y, _ in ticks], [text for _, text in ticks])
    ax.invert_yaxis()
    ax.set_xlim(0, 1.12)
    ax.set_xticks(np.linspace(0, 1, 6))
    ax.set_xlabel("probability")
    if len(distributions) > len(shown):
        ax.set_title(f"the first {len(shown)} of {len(distributions)} variables", fontsize=10)
    return ax


def draw_learning_curve(
    history: Sequence[tuple[int, float, float]], *, title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw the objective of an optimisation by iteration."""
    ax = _axes(ax, (6, 3.5))
    if history:
        iterations, objectives, _ = zip(*history, strict=True)
        ax.plot(iterations, objectives, color=_POSITIVE, marker=".", markersize=4)
    ax.set_xlabel("iteration")
    ax.set_ylabel("objective per example")
    ax.set_title(title, fontsize=10)
    return ax


def draw_trials(
    trials: Iterable[Mapping[str, Any]], *, title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw the validation score of the networks that were tried, the number of features below it.

    A trial is a mapping as in ``trials_``; those that were not validated are left out.
    """
    rows = [
        row
        for row in trials
        if row["stage"] == "weights" and row["valid_pll"] is not None and "learner" not in row
    ]
    if not rows:
        raise ValueError(
            "there is nothing to draw: no network was validated; expected several values for a "
            "parameter, or X_valid"
        )
    scores = np.array([row["valid_pll"] for row in rows])
    sizes = np.array([row["n_features"] for row in rows])
    ax = _axes(ax, (7, 1.4 + 0.26 * len(rows)))
    places = np.arange(len(rows))
    top = int(scores.argmax())
    spread = float(np.ptp(scores)) or 1.0
    ax.hlines(places, scores.min() - 0.1 * spread, scores, color="#d0d0d0", zorder=1)
    ax.scatter(scores, places, color=_POSITIVE, zorder=2, s=24)
    ax.scatter(scores[top], top, color=_POSITIVE, zorder=3, s=90, marker="*", label="best")
    for y, score, size in zip(places.tolist(), scores.tolist(), sizes.tolist(), strict=True):
        ax.annotate(
            f"{size:,} features",
            (score, y),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            size=7,
            color="#606060",
        )
    ax.set_yticks(places, [_settings(row) for row in rows], fontsize=8)
    ax.invert_yaxis()
    ax.set_xlim(scores.min() - 0.1 * spread, scores.max() + 0.25 * spread)
    ax.set_xlabel("validation PLL per row")
    ax.legend(loc="best", fontsize=8)
    ax.set_title(title, fontsize=10)
    return ax


def draw_frequencies(
    bars: Sequence[tuple[str, float]], *, xlabel: str, ax: Axes | None = None
) -> Axes:
    """Draw shares, 0 to 1, as bars, the first on top."""
    ax = _axes(ax, (6, 1 + 0.22 * len(bars)))
    ax.barh(range(len(bars)), [share for _, share in bars], color=_POSITIVE)
    ax.set_yticks(range(len(bars)), [name for name, _ in bars])
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.set_xlabel(xlabel)
    return ax


_NO_SETTINGS = {
    "stage",
    "valid_pll",
    "n_features",
    "seconds",
    "status",
    "iterations",
    "evaluations",
}


def _settings(trial: Mapping[str, Any]) -> str:
    """Return the settings of a trial in a few words."""
    parts = []
    for name, value in trial.items():
        if name in _NO_SETTINGS:
            continue
        if isinstance(value, Mapping):
            inner = ", ".join(f"{k}={_short(v)}" for k, v in value.items())
            parts.append(f"{name}({inner})")
        else:
            parts.append(f"{name}={_short(value)}")
    return _shortened(", ".join(parts), 60)


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _shortened(text: str, longest: int = 48) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return where to draw; a new figure unless there is a place already."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plot needs matplotlib: pip install matplotlib") from error
    if ax is not None:
        return ax
    _, new = plt.subplots(figsize=size, layout="constrained")
    return new


def _layout(n_nodes: int, ends: npt.NDArray[np.intp]) -> Floats:
    """Return places of a graph's nodes by stress majorisation (Gansner, Koren and North 2004).

    Distances on the page follow distances in the graph. Starts on a circle: nothing is random.
    """
    angles = 2 * np.pi * np.arange(n_nodes) / max(n_nodes, 1)
    at = np.column_stack([np.cos(angles), np.sin(angles)])
    if n_nodes < 3:
        return at
    wanted = _graph_distances(n_nodes, ends)
    weights = wanted**-2.0
    np.fill_diagonal(weights, 0.0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian)
    at = at * wanted.max() / 2
    for _ in range(100):
        gaps = np.linalg.norm(at[:, np.newaxis] - at, axis=2)
        np.fill_diagonal(gaps, 1.0)
        pull = -weights * wanted / np.maximum(gaps, 1e-9)
        np.fill_diagonal(pull, 0.0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        moved = inverse @ pull @ at
        settled = np.abs(moved - at).max() < 1e-4 * wanted.max()
        at = moved
        if settled:
            break
    return _spread(at)


def _spread(at: Floats, gap: float = 0.45) -> Floats:
    """Push nodes apart that are closer than names need; one edge is about 1 long."""
    for _ in range(50):
        between = at[:, np.newaxis] - at
        distances = np.linalg.norm(between, axis=2)
        np.fill_diagonal(distances, np.inf)
        if distances.min() >= gap:
            break
        lacking = np.clip(gap - distances, 0, None) / np.maximum(distances, 1e-9)
        at = at + 0.5 * (lacking[:, :, np.newaxis] * between).sum(axis=1)
    return at


def _graph_distances(n_nodes: int, ends: npt.NDArray[np.intp]) -> Floats:
    """Return the lengths of shortest paths; a little more than the longest between parts."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    graph = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes))
    found: Floats = shortest_path(graph, directed=False, unweighted=True)
    apart = np.isinf(found)
    found[apart] = found[~apart].mean() + 1.0
    np.fill_diagonal(found, 1.0)
    return found
