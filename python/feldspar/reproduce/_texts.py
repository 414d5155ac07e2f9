"""The results of experiments as tables of text, and as a page of Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from feldspar.evaluation import PairedTest
from feldspar.reproduce._experiment import Measure
from feldspar.reproduce._outcome import Cell, ExperimentResult, Test

_COMPARED = {"difference": "ours − paper", "ratio": "paper / ours", "none": ""}


def shown_number(value: float | None, measure: Measure) -> str:
    """Return a number as its measure is written; nothing for one that is not there."""
    return "" if value is None else f"{value:,.{measure.digits}f}".replace("-", "−")


def shown_cell(cell: Cell) -> str:
    """Return our number; a star marks what a time limit cut short."""
    return shown_number(cell.ours, cell.column.measure) + "*" * cell.is_limited


def shown_comparison(cell: Cell) -> str:
    """Return how ours compares with the paper's."""
    found, measure = cell.compared, cell.column.measure
    if found is None:
        return ""
    if measure.compared == "ratio":
        return f"{found:,.0f} ×" if found >= 10 else f"{found:,.2g} ×"
    rounded = round(found, measure.digits) + 0.0  # no minus before a zero
    return f"{rounded:+,.{measure.digits}f}".replace("-", "−")


def measure_table(
    result: ExperimentResult, measure: Measure
) -> tuple[list[str], list[list[str]]] | None:
    """Return the table of one measure: for each method paper, ours and their comparison.

    Methods without a single number of ours are left out; ``None`` if that leaves nothing.
    """
    by_column = {
        column: cells
        for column, cells in result.of(measure).items()
        if any(cell.ours is not None for cell in cells.values())
    }
    if not by_column:
        return None
    header, rows = ["data set"], [[row.label] for row in result.rows]
    for column, cells in by_column.items():
        has_paper = any(cell.paper is not None for cell in cells.values())
        compares = has_paper and measure.compared != "none"
        header += [f"{column.title} paper"] * has_paper + [f"{column.title} ours"]
        header += [_COMPARED[measure.compared]] * compares
        for row in rows:
            cell = cells.get(row[0])
            if has_paper:
                row.append(shown_number(None if cell is None else cell.paper, measure))
            row.append("" if cell is None else shown_cell(cell))
            if compares:
                row.append("" if cell is None else shown_comparison(cell))
    kept = [row for row in rows if _has_ours(row[0], by_column.values())]
    return header, kept


def _has_ours(label: str, columns: Iterable[Mapping[str, Cell]]) -> bool:
    return any(cells[label].ours is not None for cells in columns if label in cells)


def summary_table(
    result: ExperimentResult, measure: Measure
) -> tuple[list[str], list[list[str]]] | None:
    """Return on how many data sets we do better than the paper, or how much sooner."""
    rows = []
    any_stopped = any(cell.is_limited for cell in result.cells)
    for column in result.of(measure):
        if measure.is_score:
            counts = result.standing(column)
            stopped = counts.pop("stopped")
            if sum(counts.values()):
                shown = [*counts.values(), stopped] if any_stopped else counts.values()
                rows.append([column.title, *map(str, shown)])
        elif measure.compared == "ratio":
            ratio = result.mean_ratio(column)
            if ratio is not None:
                rows.append([column.title, f"{ratio:,.0f} ×" if ratio >= 10 else f"{ratio:.2g} ×"])
    if not rows:
        return None
    if measure.is_score:
        header = ["method", "better", "equal within 0.001 per variable", "worse"]
        return [*header, "of these stopped *"] if any_stopped else header, rows
    return ["method", "paper / ours, geometric mean"], rows


def tests_table(tests: Sequence[Test]) -> tuple[list[str], list[list[str]]]:
    """Return the Wilcoxon tests: wins, losses, ties and p of ours and of the paper's numbers."""
    header = ["measure", "first", "second", "ours", "paper, same sets", "paper, all its sets"]
    rows = [
        [
            test.measure.name,
            test.first,
            test.second,
            shown_test(test.ours),
            shown_test(test.paper),
            shown_test(test.paper_all),
        ]
        for test in tests
    ]
    return header, rows


def shown_test(test: PairedTest | None) -> str:
    """Return a test in one cell."""
    if test is None:
        return ""
    p = "no difference" if math.isnan(test.p_value) else f"p = {test.p_value:.2g}"
    return f"{test.wins}:{test.losses}:{test.ties}, {p}"


def experiment_markdown(result: ExperimentResult, picture: str | None = None) -> str:
    """Return an experiment as a section of Markdown."""
    experiment = result.experiment
    lines = [f"## {experiment.name}", "", f"{experiment.title}.", ""]
    lines += [f"The paper: {claim}\n" for claim in experiment.claims]
    n_ours = sum(cell.ours is not None for cell in result.cells)
    if not n_ours:
        lines += ["Nothing of it has been run.", ""]
    for measure in experiment.measures:
        found = measure_table(result, measure)
        if found is None:
            continue
        lines += [f"### {measure.name}", "", *_markdown_table(*found), ""]
        summary = summary_table(result, measure)
        if summary is not None:
            lines += [*_markdown_table(*summary), ""]
    if any(cell.is_limited for cell in result.cells):
        lines += [
            (
                "\\* Stopped by its time limit: the score is that of the best network so far, the "
                "time says nothing; tests over data sets leave both out."
            ),
            "",
        ]
    tests = result.tests()
    if tests:
        lines += ["### Wilcoxon signed-rank tests over data sets", ""]
        lines += ["Wins, losses and ties of the first, two-sided p. Times by their logarithms.", ""]
        lines += [*_markdown_table(*tests_table(tests), text=3), ""]
    if picture is not None and n_ours:
        lines += [f"![{experiment.title}]({picture})", ""]
    if experiment.departures:
        lines += ["Where this is not the paper's protocol:", ""]
        lines += [f"- {text}" for text in experiment.departures] + [""]
    missing = result.missing()
    if missing:
        lines += [f"Missing, {len(result.cells) - n_ours} of {len(result.cells)} numbers:", ""]
        for reason, methods in missing.items():
            lines += [f"- {reason}: {_where(methods, len(result.rows))}"]
        lines.append("")
    return "\n".join(lines)


def results_page(
    results: Sequence[ExperimentResult],
    pictures: Mapping[str, str],
    *,
    origins: Sequence[str] = (),
    guide: str | None = None,
) -> str:
    """Return the page of all experiments.

    Parameters
    ----------
    results : sequence of ExperimentResult
    pictures : mapping
        Where the plot of an experiment is, by the experiment's name.
    origins : sequence of str
        What the results were made with.
    guide : str, optional
        Where a reader is told how.
    """
    run = [result for result in results if any(cell.ours is not None for cell in result.cells)]
    rows = []
    for result in results:
        n_ours = sum(cell.ours is not None for cell in result.cells)
        name = result.experiment.name
        link = f"[{name}](#{name})" if n_ours else name  # what was not run has no section
        rows.append([link, result.experiment.title, f"{n_ours} of {len(result.cells)}"])
    cmll = dict(results[0].options.cmll) if results else {}
    lines = [
        "# The papers' results, and ours",
        "",
        "<!-- Written by `feldspar reproduce --page`; do not edit. -->",
        "",
        "Every number here comes from a results file of `feldspar reproduce`"
        + (f" ([how]({guide}))." if guide else "."),
        "",
        f"Scores are means over test rows. CMLL: {_settings(cmll)}.",
        "",
        *(f"Made with {origin}." for origin in origins),
        "",
        *_markdown_table(["experiment", "what", "numbers"], rows, text=2),
        "",
        *(
            experiment_markdown(result, pictures.get(result.experiment.name))
            for result in results
            if result in run
        ),
    ]
    if len(run) < len(results):
        lines += ["## Not run", ""]
        for result in results:
            if result in run:
                continue
            reasons = "; ".join(result.missing())
            lines.append(
                f'- <a id="{result.experiment.name}"></a>{result.experiment.name}: {reasons}'
            )
        lines.append("")
    return "\n".join(lines)


def _markdown_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, text: int = 1
) -> list[str]:
    rule = ["---" if place < text else "---:" for place in range(len(header))]
    return [f"| {' | '.join(cells)} |" for cells in (header, rule, *rows)]


def _where(methods: dict[str, list[str]], n_rows: int) -> str:
    """Return which methods on which data sets; methods with the same ones together."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for method, rows in methods.items():
        groups.setdefault(tuple(rows), []).append(method)
    parts = []
    for shared, names in groups.items():
        everywhere = len(shared) == n_rows and n_rows > 1
        where = "everywhere" if everywhere else "on " + ", ".join(shared)
        parts.append(f"{', '.join(names)} {where}")
    return "; ".join(parts)


def _settings(settings: Mapping[str, object]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in settings.items())
