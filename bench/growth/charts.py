"""Pictures: seconds and memory of all tasks along an axis, both scales logarithmic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl

from growth import plan
from growth.fits import Point
from growth.plan import Axis, TaskName
from growth.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "osD^vP"


def draw(axis: Axis, results: Results, path: Path) -> None:
    """Write the picture of an axis."""
    from matplotlib.figure import Figure

    # Text stays text, and the same figures give the same file.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "growth", "font.size": 9}):
        figure = Figure(figsize=(9.5, 4.2), layout="constrained")
        seconds, memory = figure.subplots(1, 2)
        series = [one for one in plan.SERIES if one.axis == axis.name]
        _panel(seconds, axis, {one.task: results.times(one) for one in series}, "seconds")
        megabytes = {
            one.task: [(size, cost / 1e6) for size, cost in results.memory(one) if cost > 0]
            for one in series
        }
        _panel(memory, axis, megabytes, "MB above an idle interpreter")
        handles, labels = seconds.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=8)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None, "Creator": None})


def _panel(ax: Axes, axis: Axis, curves: dict[TaskName, list[Point]], ylabel: str) -> None:
    for task, points in curves.items():
        number = list(plan.TASKS).index(task)
        ax.plot(
            [size for size, _ in points],
            [cost for _, cost in points],
            color=mpl.colormaps["tab20"](2 * number % 20 + number // 10),
            marker=_MARKERS[number % len(_MARKERS)],
            markersize=4,
            linewidth=1.2,
            label=plan.TASKS[task],
        )
    ax.set_xscale("log")
    ax.set_yscale("log")
    _guides(ax, axis, [point for points in curves.values() for point in points])
    ax.set_xticks(axis.sizes, [_short(size) for size in axis.sizes])
    ax.minorticks_off()
    ax.set_xlabel(axis.title.lower())
    ax.set_ylabel(ylabel)
    ax.spines[["top", "right"]].set_visible(False)


def _short(size: int) -> str:
    for unit, sign in ((1_000_000, "M"), (1_000, "k")):
        if size >= unit:
            return f"{size / unit:g}{sign}"
    return str(size)


def _guides(ax: Axes, axis: Axis, points: Sequence[Point]) -> None:
    """Draw what linear and quadratic growth look like, up to the largest point."""
    if not points:
        return
    at, top = axis.sizes[-1], max(cost for _, cost in points)
    bottom = min(cost for _, cost in points)
    for exponent, name in ((1, "linear"), (2, "quadratic")):
        left = max(axis.sizes[0], at * (bottom / top) ** (1 / exponent))
        ax.plot(
            [left, at],
            [top * (left / at) ** exponent, top],
            color="#b0b0b0",
            linestyle=":" if exponent == 1 else "--",
            linewidth=1,
            zorder=0,
            label=name,
        )
