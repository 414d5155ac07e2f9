"""The plots of the papers, drawn with our numbers. Needs matplotlib; touches no global state."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from feldspar.reproduce._experiment import Column, Measure
from feldspar.reproduce._outcome import Cell, ExperimentResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKERS = "osx+D^v*"


def draw(result: ExperimentResult) -> Figure | None:
    """Draw an experiment in the paper's form; ``None`` if there is nothing to draw.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install matplotlib") from error
    form = FORMS[result.experiment.figure]
    if form is None or not any(cell.ours is not None for cell in result.cells):
        return None
    figure = form(result)
    if figure is not None:
        title = f"{result.experiment.name}: {result.experiment.title}"
        width = int(11 * figure.get_figwidth())  # characters that fit
        figure.suptitle(textwrap.fill(title, width), fontsize=11)
    return figure


def picture(figure: Figure, format: str) -> bytes:
    """Return a figure as the content of a file; the same figure gives the same bytes."""
    import matplotlib as mpl

    buffer = io.BytesIO()
    stamp = {"Date": None} if format == "svg" else {"Software": None}
    with mpl.rc_context({"svg.hashsalt": "feldspar"}):
        figure.savefig(buffer, format=format, dpi=120, metadata=stamp)
    return buffer.getvalue()


def _known(
    result: ExperimentResult, measure: Measure
) -> tuple[list[str], dict[Column, dict[str, Cell]]]:
    """Return the rows and columns that have numbers of ours."""
    columns = {
        column: {label: cell for label, cell in cells.items() if cell.ours is not None}
        for column, cells in result.of(measure).items()
    }
    columns = {column: cells for column, cells in columns.items() if cells}
    rows = [row.label for row in result.rows if any(row.label in c for c in columns.values())]
    return rows, columns


def _new(width: float, height: float, n: int = 1) -> tuple[Figure, list[Any]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height * n), layout="constrained")
    axes = figure.subplots(n, 1, squeeze=False)
    return figure, [axis for row in axes for axis in row]


def _bars(
    axis: Any, rows: list[str], series: Mapping[str, list[float]], label: str, *, log: bool
) -> None:
    width = 0.8 / max(len(series), 1)
    for number, (title, values) in enumerate(series.items()):
        places = np.arange(len(rows)) + (number - (len(series) - 1) / 2) * width
        axis.bar(places, values, width, label=title)
    if log:
        axis.set_yscale("log")
    axis.set_xticks(range(len(rows)), rows, rotation=45, ha="right")
    axis.set_ylabel(label)
    axis.axhline(0, color="black", linewidth=0.8)
    # Above the bars, which would be hidden by it.
    axis.legend(fontsize=8, ncols=6, loc="lower left", bbox_to_anchor=(0, 1), frameon=False)


def _relative(result: ExperimentResult) -> Figure | None:
    """Figures 2 and 5 of Lowd and Davis (2014): negative scores less the base method's."""
    measure = result.experiment.measures[0]
    rows, columns = _known(result, measure)
    base = result.experiment.base
    # Each group of methods has its own base: DTSL DEFAULT and DT-BLM DEFAULT.
    groups: dict[Column, list[Column]] = {}
    for column in columns:
        zeros = [c for c in columns if c.title in (base, f"{_stem(column)} {base}")]
        if zeros:
            groups.setdefault(zeros[0], []).append(column)
    groups = {own: [c for c in members if c is not own] for own, members in groups.items()}
    groups = {own: members for own, members in groups.items() if members}
    if not groups:
        return None
    figure, axes = _new(11, 3.4, len(groups))
    for axis, (own, members) in zip(axes, groups.items(), strict=True):
        series = {c.title: [_gap(columns, own, c, label) for label in rows] for c in members}
        _bars(axis, rows, series, f"−{measure.name} less that of {own.title}", log=False)
    return figure


def _stem(column: Column) -> str:
    return column.title.split(" ")[0]


def _gap(
    columns: Mapping[Column, Mapping[str, Cell]], base: Column, column: Column, label: str
) -> float:
    one, zero = columns[column].get(label), columns[base].get(label)
    if one is None or zero is None or one.ours is None or zero.ours is None:
        return math.nan
    return zero.ours - one.ours


def _measures(result: ExperimentResult, *, log: bool) -> Figure | None:
    """Figures 3, 4, 6 and 7 of Lowd and Davis (2014): a bar for each method and data set."""
    measures = [m for m in result.experiment.measures if _known(result, m)[0]]
    figure, axes = _new(11, 3.4, len(measures))
    for axis, measure in zip(axes, measures, strict=True):
        rows, columns = _known(result, measure)
        series = {
            column.title: [_ours(cells, label) for label in rows]
            for column, cells in columns.items()
        }
        _bars(axis, rows, series, measure.name, log=log and measure.digits == 0)
    return figure


def _ours(cells: Mapping[str, Cell], label: str) -> float:
    cell = cells.get(label)
    return math.nan if cell is None or cell.ours is None else cell.ours


def _scaled(result: ExperimentResult) -> Figure | None:
    """Figure 1 of Lowd (2012): bars divided by the tallest of their data set."""
    measures = [m for m in result.experiment.measures if _known(result, m)[0]]
    figure, axes = _new(11, 3.6, len(measures))
    for axis, measure in zip(axes, measures, strict=True):
        rows, columns = _known(result, measure)
        tallest = {
            label: max(abs(_ours(cells, label)) for cells in columns.values()) for label in rows
        }
        series = {
            column.title: [_ours(cells, label) / (tallest[label] or 1.0) for label in rows]
            for column, cells in columns.items()
        }
        _bars(axis, rows, series, f"{measure.name}, scaled", log=False)
        for place, label in enumerate(rows):
            axis.annotate(f"{tallest[label]:.3f}", (place, 1.02), ha="center", fontsize=7)
        axis.set_ylim(top=1.25)
    return figure


def _times(result: ExperimentResult) -> Figure | None:
    """Figure 10 of Lowd and Davis (2014): seconds of each method against those of one."""
    measure = result.experiment.measures[0]
    _, columns = _known(result, measure)
    base = next((c for c in columns if c.title == result.experiment.base), None)
    if base is None or len(columns) < 2:
        return _against_paper(result)
    figure, (axis,) = _new(6.4, 5.6)
    others = [column for column in columns if column is not base]
    for column, marker in zip(others, _MARKERS, strict=False):
        shared = [label for label in columns[column] if label in columns[base]]
        axis.loglog(
            [columns[base][label].ours for label in shared],
            [columns[column][label].ours for label in shared],
            marker,
            label=column.title,
            fillstyle="none",
        )
    _identity(axis)
    axis.set_xlabel(f"seconds of {base.title}")
    axis.set_ylabel("seconds")
    axis.legend(fontsize=8)
    return figure


def _against_paper(result: ExperimentResult) -> Figure | None:
    """Ours against the paper's, a panel for each measure; the line is where they are equal."""
    measures = [
        m
        for m in result.experiment.measures
        if any(
            c.paper is not None for cells in _known(result, m)[1].values() for c in cells.values()
        )
    ]
    if not measures:
        return None
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2 * len(measures), 4.8), layout="constrained")
    axes = figure.subplots(1, len(measures), squeeze=False)[0]
    for axis, measure in zip(axes, measures, strict=True):
        _, columns = _known(result, measure)
        for (column, cells), marker in zip(columns.items(), _MARKERS, strict=False):
            both = [c for c in cells.values() if c.paper is not None]
            paper, ours = [c.paper for c in both], [c.ours for c in both]
            axis.plot(paper, ours, marker, label=column.title, fillstyle="none")
        if measure.compared == "ratio":
            axis.set_xscale("log")
            axis.set_yscale("log")
        _identity(axis)
        axis.set_xlabel(f"{measure.name} in the paper")
        axis.set_ylabel(f"{measure.name}, ours")
        axis.legend(fontsize=8)
    return figure


def _identity(axis: Any) -> None:
    low = min(axis.get_xlim()[0], axis.get_ylim()[0])
    high = max(axis.get_xlim()[1], axis.get_ylim()[1])
    axis.plot([low, high], [low, high], color="grey", linewidth=0.8, zorder=0)


def _curves(result: ExperimentResult) -> Figure | None:
    """Figures 8 and 9 of Lowd and Davis (2014): a panel for each data set."""
    from matplotlib.figure import Figure

    from feldspar.datasets import info

    measure = result.experiment.measures[0]
    _, columns = _known(result, measure)
    cells = [cell for own in columns.values() for cell in own.values()]
    sizes: dict[str, set[float]] = {}
    for cell in cells:
        sizes.setdefault(cell.row.dataset, set()).add(cell.row.settings["share"])
    names = [name for name in sizes if len(sizes[name]) > 1] or list(sizes)  # a point is no curve
    across = min(4, len(names))
    down = math.ceil(len(names) / across)
    figure = Figure(figsize=(3.4 * across, 2.6 * down + 0.6), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for axis, name in zip(axes, names, strict=False):
        for (column, own), marker in zip(columns.items(), _MARKERS, strict=False):
            points = sorted(
                (cell.row.settings["share"] * info(name).train / 1000, cell.ours)
                for cell in own.values()
                if cell.row.dataset == name and cell.ours is not None
            )
            x, y = zip(*points, strict=True) if points else ((), ())
            axis.plot(x, y, f"{marker}-", label=column.title, fillstyle="none", linewidth=1)
        axis.set_title(name, fontsize=9)
        axis.tick_params(labelsize=7)
    for axis in axes[len(names) :]:
        axis.set_axis_off()
    axes[0].legend(fontsize=7)
    figure.supxlabel("thousands of training rows", fontsize=9)
    figure.supylabel(measure.name, fontsize=9)
    return figure


def _lines(result: ExperimentResult) -> Figure | None:
    """Figure 1 of Lee et al. (2007): a line for each method, a panel for each measure."""
    from matplotlib.figure import Figure

    measures = [m for m in result.experiment.measures if _known(result, m)[0]]
    figure = Figure(figsize=(5.2 * len(measures), 4.0), layout="constrained")
    axes = figure.subplots(1, len(measures), squeeze=False)[0]
    for axis, measure in zip(axes, measures, strict=True):
        rows, columns = _known(result, measure)
        for (column, cells), marker in zip(columns.items(), _MARKERS, strict=False):
            x = [int(label.split()[-1]) for label in rows if label in cells]
            y = [cells[label].ours for label in rows if label in cells]
            axis.plot(x, y, f"{marker}-", label=column.title, fillstyle="none")
        axis.set_xlabel(rows[0].rsplit(" ", 1)[0])
        axis.set_ylabel(measure.name)
        axis.legend(fontsize=8)
    return figure


FORMS: Mapping[str, Callable[[ExperimentResult], Figure | None] | None] = {
    "relative": _relative,
    "bars": lambda result: _measures(result, log=False),
    "log-bars": lambda result: _measures(result, log=True),
    "scaled-bars": _scaled,
    "times": _times,
    "paper-against-ours": _against_paper,
    "curves": _curves,
    "lines": _lines,
    "none": None,
}
