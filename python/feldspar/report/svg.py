"""Charts as SVG text, coloured by the page they stand in.

They take no colours of their own but the page's variables (``--ink``, ``--s0`` ...), so that one
drawing serves light and dark; they need no library, no script and no network. Every point has a
``<title>``: what a mouse, or a screen reader, is told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt

N_COLOURS = 8

_ROW = 26
_LABELS = 170
_BARS = 520  # two charts of bars stand side by side on a laptop
_WIDTH = 640
_TEXT = 7.2  # about the width of a character at the pages' font size


@dataclass(frozen=True)
class Bar:
    """A labelled number, with its standard error where there is one."""

    label: str
    value: float
    error: float | None = None


@dataclass(frozen=True)
class Series:
    """Points of one colour; joined by a line if the chart joins them."""

    label: str
    x: Sequence[float]
    y: Sequence[float]


def dot_chart(bars: Sequence[Bar], *, title: str, digits: int = 3) -> str:
    """Draw scores as dots with whiskers of one standard error, a row each.

    Scores have no natural zero, so that bars would mislead.

    Examples
    --------
    >>> text = dot_chart([Bar("a", -2.0, 0.1), Bar("b", -1.5)], title="PLL")
    >>> text.count("<circle"), text.startswith("<svg")
    (2, True)
    """
    low = min(bar.value - (bar.error or 0) for bar in bars)
    high = max(bar.value + (bar.error or 0) for bar in bars)
    axis = _Axis.over(low, high, _labels_width(bars), _BARS - 60)
    height = _ROW * len(bars)
    parts = [axis.grid(height)]
    for place, bar in enumerate(bars):
        y = _ROW * (place + 0.5)
        x = axis.at(bar.value)
        parts.append(_row_label(bar.label, axis.left, y))
        if bar.error is not None:
            ends = axis.at(bar.value - bar.error), axis.at(bar.value + bar.error)
            parts.append(_line(ends[0], y, ends[1], y, f"stroke{place % N_COLOURS} whisker"))
        told = f"{bar.label}: {bar.value:.{digits}f}"
        told += "" if bar.error is None else f" ± {bar.error:.{digits}f}"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="fill{place % N_COLOURS}">'
            f"<title>{escape(told)}</title></circle>"
        )
        end = x if bar.error is None else axis.at(bar.value + bar.error)
        parts.append(_text(max(x + 5, end) + 6, y + 4, f"{bar.value:.{digits}f}", "value"))
    return _svg(_BARS, height + 26, title, parts)


def bar_chart(bars: Sequence[Bar], *, title: str, digits: int = 2) -> str:
    """Draw amounts (seconds, numbers of features) as bars from zero.

    Examples
    --------
    >>> bar_chart([Bar("a", 2.0), Bar("b", 4.0)], title="seconds").count("<rect")
    2
    """
    axis = _Axis.over(0.0, max(bar.value for bar in bars) or 1.0, _labels_width(bars), _BARS - 70)
    height = _ROW * len(bars)
    parts = [axis.grid(height)]
    for place, bar in enumerate(bars):
        y = _ROW * place
        told = f"{bar.value:,.{digits}f}"
        width = max(axis.at(bar.value) - axis.left, 1.0)
        parts.append(_row_label(bar.label, axis.left, y + _ROW / 2))
        parts.append(
            f'<rect x="{axis.left:.1f}" y="{y + 5}" width="{width:.1f}" height="{_ROW - 10}" '
            f'rx="2" class="fill{place % N_COLOURS}"><title>{escape(bar.label)}: {told}</title>'
            "</rect>"
        )
        parts.append(_text(axis.left + width + 6, y + _ROW / 2 + 4, told, "value"))
    return _svg(_BARS, height + 26, title, parts)


def point_chart(
    series: Sequence[Series],
    *,
    title: str,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    joined: bool = False,
) -> str:
    """Draw points, or lines through them, with a legend.

    Examples
    --------
    >>> curve = Series("a", [10, 100, 1000], [-3.0, -2.0, -1.8])
    >>> drawn = point_chart([curve], title="", x_label="rows", y_label="PLL", log_x=True)
    >>> drawn.count("<circle")  # three points, and the legend
    4
    """
    xs = [math.log10(x) if log_x else x for one in series for x in one.x]
    ys = [y for one in series for y in one.y]
    across = _Axis.over(min(xs), max(xs), 64, _WIDTH - 36, whole=log_x)
    height = 260
    up = _Axis.over(min(ys), max(ys), height - 8, 8)
    parts = [across.grid(height, power=log_x), up.rows(across.left, across.right)]
    for number, one in enumerate(series):
        places = [
            (across.at(math.log10(x) if log_x else x), up.at(y))
            for x, y in zip(one.x, one.y, strict=True)
        ]
        if joined:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            style = f"line stroke{number % N_COLOURS}"
            parts.append(f'<polyline points="{path}" class="{style}"/>')
        for (x, y), told_x, told_y in zip(places, one.x, one.y, strict=True):
            told = escape(f"{one.label}: {told_x:g}, {told_y:.4f}")
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="fill{number % N_COLOURS} point">'
                f"<title>{told}</title></circle>"
            )
    parts.append(_text((across.left + across.right) / 2, height + 36, x_label, "axis middle"))
    parts.append(
        f'<text transform="translate(14 {height / 2}) rotate(-90)" class="axis middle">'
        f"{escape(y_label)}</text>"
    )
    legend, rows = _legend([one.label for one in series], across.left, height + 48)
    return _svg(_WIDTH, height + 48 + 20 * rows, title, [*parts, legend])


def graph(
    names: Sequence[str],
    edges: Sequence[tuple[int, int, float, int]],
    *,
    title: str,
    size: int = 460,
) -> str:
    """Draw a network: the width of an edge is its strength, its colour and dashes the sign.

    Parameters
    ----------
    names : sequence of str
        Of the nodes.
    edges : sequence of (int, int, float, int)
        Two nodes, a strength, and a sign: 1, -1 or 0 for none.
    title : str
    size : int
        Width and height in pixels.

    Examples
    --------
    >>> graph(["a", "b"], [(0, 1, 2.0, -1)], title="").count('class="edge against"')
    1
    """
    places = _layout(len(names), edges) * (size / 2 - 46) + size / 2
    strongest = max((strength for _, _, strength, _ in edges), default=1.0) or 1.0
    parts = []
    for first, second, strength, sign in edges:
        (x1, y1), (x2, y2) = places[first], places[second]
        width = 0.8 + 5 * strength / strongest
        kind = ("edge neutral", "edge", "edge against")[sign]
        told = escape(f"{names[first]} – {names[second]}: {strength:.3f}")
        parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}" '
            f'style="stroke-width:{width:.1f}"><title>{told}</title></line>'
        )
    for name, (x, y) in zip(names, places, strict=True):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="node"/>')
        parts.append(_text(x, y - 9, name, "middle node-name"))
    return _svg(size, size, title, parts)


def pixels(
    image: npt.NDArray[np.float64],
    *,
    title: str,
    unknown: npt.NDArray[np.bool_] | None = None,
    cell: int = 8,
) -> str:
    """Draw a small grey image (0 is paper, 1 is ink); cells that are not known are hatched.

    Examples
    --------
    >>> pixels(np.array([[0.0, 1.0]]), title="one dark pixel").count("<rect")
    2
    """
    rows, columns = image.shape
    parts = [f'<rect width="{columns * cell}" height="{rows * cell}" class="paper"/>']
    for row in range(rows):
        for column in range(columns):
            hidden = unknown is not None and bool(unknown[row, column])
            if hidden or image[row, column] > 0:
                look = 'class="unknown"' if hidden else f'opacity="{image[row, column]:.2f}"'
                look = look if hidden else f'class="ink" {look}'
                parts.append(
                    f'<rect x="{column * cell}" y="{row * cell}" width="{cell}" '
                    f'height="{cell}" {look}/>'
                )
    return _svg(columns * cell, rows * cell, title, parts, kind="pixels")


@dataclass(frozen=True)
class _Axis:
    """A scale with round ticks; `left` may be larger than `right`, for axes that go up."""

    low: float
    high: float
    left: float
    right: float
    ticks: tuple[float, ...]

    @classmethod
    def over(
        cls, low: float, high: float, left: float, right: float, *, whole: bool = False
    ) -> _Axis:
        if high - low < 1e-12 * max(abs(high), 1.0):
            low, high = low - 0.5, high + 0.5
        raw = (high - low) / 5
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw * 0.999)
        step = max(step, 1.0) if whole else step
        first = math.floor(low / step + 1e-9)
        last = math.ceil(high / step - 1e-9)
        ticks = tuple(step * i for i in range(first, last + 1))
        return cls(ticks[0], ticks[-1], left, right, ticks)

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.left + share * (self.right - self.left)

    def grid(self, height: float, *, power: bool = False) -> str:
        parts = []
        for tick in self.ticks:
            x = self.at(tick)
            name = f"{10**tick:,.0f}" if power else _tick_name(tick, self.ticks)
            parts.append(_line(x, 0, x, height, "grid"))
            parts.append(_text(x, height + 17, name, "tick middle"))
        return "".join(parts)

    def rows(self, left: float, right: float) -> str:
        parts = []
        for tick in self.ticks:
            y = self.at(tick)
            parts.append(_line(left, y, right, y, "grid"))
            parts.append(_text(left - 6, y + 4, _tick_name(tick, self.ticks), "tick end"))
        return "".join(parts)


def _tick_name(tick: float, ticks: Sequence[float]) -> str:
    step = abs(ticks[1] - ticks[0])
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{tick:,.{decimals}f}" if tick else "0"  # also for -0.0, which has no sign to show


def _layout(n: int, edges: Sequence[tuple[int, int, float, int]]) -> npt.NDArray[np.float64]:
    """Place nodes by springs (Fruchterman and Reingold 1991), from a circle: always the same."""
    angles = 2 * np.pi * np.arange(n) / max(n, 1)
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    if n < 3:
        return places * 0.6
    ideal = 1.6 / math.sqrt(n)
    pull = np.zeros((n, n))
    for first, second, *_ in edges:
        pull[first, second] = pull[second, first] = 1.0
    for step in np.linspace(0.15, 0.003, 300):
        away = places[:, None] - places[None]
        distance = np.maximum(np.hypot(away[..., 0], away[..., 1]), 1e-3)
        force = ideal**2 / distance - pull * distance**2 / ideal
        np.fill_diagonal(force, 0.0)
        move = (away / distance[..., None] * force[..., None]).sum(axis=1) - 1.5 * places
        length = np.maximum(np.hypot(move[:, 0], move[:, 1]), 1e-9)
        places = places + move / length[:, None] * np.minimum(length, step)[:, None]
    places = places - (places.max(axis=0) + places.min(axis=0)) / 2
    extent: npt.NDArray[np.float64] = places / max(float(np.abs(places).max()), 1e-9)
    return extent


def _labels_width(bars: Sequence[Bar]) -> float:
    return min(_LABELS, 22 + _TEXT * max(len(bar.label) for bar in bars))


def _row_label(label: str, left: float, y: float) -> str:
    longest = int((_LABELS - 22) / _TEXT)
    shown = label if len(label) <= longest else label[: longest - 1] + "…"
    return _text(left - 10, y + 4, shown, "end")


def _legend(labels: Sequence[str], left: float, top: float) -> tuple[str, int]:
    parts, x, row = [], left, 0
    for number, label in enumerate(labels):
        width = 28 + _TEXT * len(label)
        if x > left and x + width > _WIDTH:
            x, row = left, row + 1
        y = top + 20 * row
        parts.append(f'<circle cx="{x + 5:.1f}" cy="{y}" r="4" class="fill{number % N_COLOURS}"/>')
        parts.append(_text(x + 14, y + 4, label, ""))
        x += width
    return "".join(parts), row + 1


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(text)}</text>'


def _svg(
    width: float, height: float, title: str, parts: Sequence[str], *, kind: str = "chart"
) -> str:
    label = f' role="img" aria-label="{escape(title, quote=True)}"' if title else ' role="img"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" class="{kind}"{label}>{"".join(parts)}</svg>'
    )
