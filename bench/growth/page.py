"""The page: a picture and two tables for each axis, written from results alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from growth import charts, plan
from growth.fits import Exponents, exponents
from growth.measure import ROUNDS
from growth.plan import Axis, Series
from growth.results import Results

# By how much a fitted exponent may exceed what the algorithm explains: measurements are noisy, and
# what no longer fits into the processor's caches costs more each.
MARGIN = 0.2
# Less memory than this is what the allocator happens to have at hand.
_LEAST_BYTES = 2e6

_BEYOND = """\
Steps cost more each where the data outgrow the processor's caches; other work on the machine adds
noise."""
_INTRODUCTION = """\
# How cost grows

<!-- Written by `python bench/growth --page`; do not edit. -->

Time and memory against rows, variables, features and values per variable, on one thread. A cost
that grows as size^e is a straight line of slope e where both scales are logarithmic. The exponent e
is fitted by least squares to all sizes, and to the upper half of their range, where fixed costs
no longer show. It stands beside the largest exponent that the algorithm explains.

- Seconds are of the processor, the fewest of up to {rounds} rounds; inputs are made outside the
  timed part.
- Memory is the peak of the process during the work, less what an idle interpreter has after its
  imports. The inputs of the work are included. Every point has a process of its own. Exponents
  leave out points below {least} MB."""


def write_page(results: Results, path: Path, point_seconds: float) -> None:
    """Write the page, and its pictures into a folder of the page's name beside it."""
    for axis in plan.AXES:
        charts.draw(axis, results, path.with_suffix("") / f"{axis.name}.svg")
    path.write_text(page_text(results, path.stem, point_seconds), encoding="utf-8")


def page_text(results: Results, folder: str, point_seconds: float) -> str:
    """Return the page; pictures are in ``folder``."""
    made_with = ", ".join(f"{name} {value}" for name, value in results.made_with.items())
    parts = [
        _INTRODUCTION.format(least=f"{_LEAST_BYTES / 1e6:.0f}", rounds=ROUNDS),
        f"Made with {made_with}.",
        _verdict(results),
    ]
    for axis in plan.AXES:
        parts += _section(axis, results, folder, point_seconds)
    return "\n\n".join(parts) + "\n"


def _verdict(results: Results) -> str:
    above = [
        f"- {plan.TASKS[one.task]}, by {plan.axis(one.axis).title.lower()}: {what} "
        f"{_number(found)} where {_number(explained)} is explained"
        for one in plan.SERIES
        for what, found, explained in (
            ("seconds", time_exponents(results, one).upper, one.time),
            ("memory", memory_exponents(results, one).upper, one.memory),
        )
        if exceeds(found, explained)
    ]
    if not above:
        return (
            "Nothing grows faster than its algorithm: over the upper half of the sizes, no "
            f"exponent is more than {MARGIN} above what is explained."
        )
    lead = f"More than {MARGIN} above what is explained, over the upper half of the sizes:"
    return "\n".join([lead, "", *above, "", _BEYOND])


def time_exponents(results: Results, series: Series) -> Exponents:
    """Return the exponents of a series' seconds."""
    return exponents(results.times(series))


def memory_exponents(results: Results, series: Series) -> Exponents:
    """Return the exponents of a series' memory."""
    return exponents(results.memory(series), floor=_LEAST_BYTES)


def exceeds(found: float | None, explained: float) -> bool:
    """Tell whether growth is faster than it should be."""
    return found is not None and found > explained + MARGIN


def _section(axis: Axis, results: Results, folder: str, point_seconds: float) -> list[str]:
    series = [one for one in plan.SERIES if one.axis == axis.name]
    parts = [
        f"## {axis.title}",
        axis.setting,
        f"![Seconds and memory against {axis.title.lower()}]({folder}/{axis.name}.svg)",
        _exponent_table(series, results),
        "Seconds and MB:",
        _cost_table(axis, series, results),
    ]
    left_out = [
        f"{plan.TASKS[one.task]} from {_count(missing[0])}"
        for one in series
        if (missing := _missing(axis, one, results))
    ]
    if left_out:
        parts.append(f"Left out, as a point may take {point_seconds:g} s: {'; '.join(left_out)}.")
    return parts


def _missing(axis: Axis, series: Series, results: Results) -> list[int]:
    done = dict(results.times(series))
    return [size for size in axis.sizes if size not in done]


def _exponent_table(series: Sequence[Series], results: Results) -> str:
    lines = []
    for one in series:
        seconds, memory = time_exponents(results, one), memory_exponents(results, one)
        lines.append(
            [
                plan.TASKS[one.task],
                one.reason,
                _number(one.time),
                _number(seconds.whole),
                _judged(seconds.upper, one.time),
                _number(one.memory),
                _judged(memory.upper, one.memory),
            ]
        )
    header = ["task", "what it should grow as", "seconds: explained", "all sizes", "upper half"]
    return _table([*header, "memory: explained", "upper half"], lines, texts=2)


def _cost_table(axis: Axis, series: Sequence[Series], results: Results) -> str:
    lines = []
    for one in series:
        seconds, memory = dict(results.times(one)), dict(results.memory(one))
        cells = [
            f"{_seconds(seconds[size])}, {_megabytes(memory[size])}" if size in seconds else "–"
            for size in axis.sizes
        ]
        lines.append([plan.TASKS[one.task], *cells])
    return _table(["task", *(_count(size) for size in axis.sizes)], lines, texts=1)


def _table(header: Sequence[str], lines: Iterable[Sequence[str]], *, texts: int) -> str:
    """Return a table whose first columns are texts and the others numbers."""
    rules = ["---"] * texts + ["---:"] * (len(header) - texts)
    return "\n".join(f"| {' | '.join(line)} |" for line in [header, rules, *lines])


def _judged(found: float | None, explained: float) -> str:
    return f"**{_number(found)}**" if exceeds(found, explained) else _number(found)


def _number(exponent: float | None) -> str:
    return "–" if exponent is None else f"{exponent:.2f}".replace("-", "−")


def _seconds(seconds: float) -> str:
    return f"{seconds:.2g}" if seconds < 10 else f"{seconds:.0f}"


def _megabytes(count: float) -> str:
    return f"{count / 1e6:,.0f}"


def _count(size: int) -> str:
    return f"{size:,}"
