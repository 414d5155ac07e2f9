"""An experiment carried out: cells, tests, counts, what is missing and why; and its texts."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from feldspar.datasets import info
from feldspar.evaluation import PairedTest, compare_scores
from feldspar.reproduce._experiment import Column, Experiment, Measure, Options, Row, selected
from feldspar.reproduce._papers import published
from feldspar.reproduce._runner import MissingError, Runner

# Scores per variable that are closer than this count as equal: the papers print three decimals.
EQUAL_WITHIN = 0.001


@dataclass(frozen=True)
class Cell:
    """A number of ours beside the paper's.

    Attributes
    ----------
    row : Row
    column : Column
    ours, paper : float or None
    missing : str
        Why there is no number of ours.
    is_limited : bool
        Whether a learner that it comes from was stopped by its time limit.
    """

    row: Row
    column: Column
    ours: float | None
    paper: float | None
    missing: str = ""
    is_limited: bool = False

    @property
    def compared(self) -> float | None:
        """Ours less the paper's; of times, the paper's over ours.

        The time of a learner that was stopped says when it was stopped, and is not compared.
        """
        if self.ours is None or self.paper is None:
            return None
        match self.column.measure.compared:
            case "difference":
                return self.ours - self.paper
            case "ratio" if self.ours > 0 and not self.is_limited:
                return self.paper / self.ours
        return None

    @property
    def per_variable(self) -> float | None:
        """The difference of scores, per variable."""
        found = self.compared
        if found is None or not self.column.measure.is_score:
            return None
        measure = self.column.measure
        return found if measure.per_variable else found / info(self.row.dataset).variables


@dataclass(frozen=True)
class Test:
    """A Wilcoxon signed-rank test over data sets, ours and the paper's.

    Attributes
    ----------
    measure : Measure
    first, second : str
        Titles of the two methods; ``wins`` are of the first.
    ours : PairedTest
    paper : PairedTest or None
        With the paper's numbers, on the same data sets.
    paper_all : PairedTest or None
        With the paper's numbers, on all of its data sets.
    """

    measure: Measure
    first: str
    second: str
    ours: PairedTest
    paper: PairedTest | None
    paper_all: PairedTest | None


@dataclass(frozen=True)
class ExperimentResult:
    """An experiment carried out, as far as it went.

    Attributes
    ----------
    experiment : Experiment
    cells : tuple of Cell
        By row, then by column.
    options : Options
    """

    experiment: Experiment
    cells: tuple[Cell, ...]
    options: Options

    @property
    def is_complete(self) -> bool:
        """Whether no number is missing."""
        return all(cell.ours is not None for cell in self.cells)

    def of(self, measure: Measure) -> dict[Column, dict[str, Cell]]:
        """Return the cells of a measure by column and row label."""
        found: dict[Column, dict[str, Cell]] = {}
        for cell in self.cells:
            if cell.column.measure == measure:
                found.setdefault(cell.column, {})[cell.row.label] = cell
        return found

    @property
    def rows(self) -> list[Row]:
        """The rows that were asked for."""
        return list({cell.row.label: cell.row for cell in self.cells}.values())

    def tests(self) -> list[Test]:
        """Return the tests that the paper makes, with our numbers and with its own."""
        return list(self._tests())

    def _tests(self) -> Iterator[Test]:
        for measure in self.experiment.measures:
            # Times are compared by their logarithms, as in the papers; shorter is better.
            sign = 1.0 if measure.is_score else -1.0
            if not measure.is_score and measure.compared != "ratio":
                continue
            columns = {column.method: column for column in self.of(measure)}
            for first, second in self.experiment.tests:
                if first not in columns or second not in columns:
                    continue
                pair = columns[first], columns[second]
                ours, paper = self._paired(pair, sign)
                if len(ours) < 2:
                    continue
                yield Test(
                    measure,
                    pair[0].title,
                    pair[1].title,
                    compare_scores(*np.array(ours).T),
                    compare_scores(*np.array(paper).T) if len(paper) == len(ours) else None,
                    self._paper_test(pair, sign),
                )

    def _paired(
        self, pair: tuple[Column, Column], sign: float
    ) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        ours, paper = [], []
        cells = self.of(pair[0].measure)
        for label, one in cells[pair[0]].items():
            other = cells[pair[1]].get(label)
            if other is None or one.ours is None or other.ours is None:
                continue
            if one.is_limited or other.is_limited:  # not what these methods reach
                continue
            ours.append((_oriented(one.ours, sign), _oriented(other.ours, sign)))
            if one.paper is not None and other.paper is not None:
                paper.append((_oriented(one.paper, sign), _oriented(other.paper, sign)))
        return ours, paper

    def _paper_test(self, pair: tuple[Column, Column], sign: float) -> PairedTest | None:
        table = self.experiment.table
        names = pair[0].paper, pair[1].paper
        if table is None or names[0] is None or names[1] is None:
            return None
        pairs = [
            (_oriented(row[names[0]], sign), _oriented(row[names[1]], sign))
            for row in published(table).values()
        ]
        return compare_scores(*np.array(pairs).T)

    def standing(self, column: Column) -> dict[str, int]:
        """Return on how many data sets ours is better than, equal to, worse than the paper's.

        And how many of these come from learners that were stopped by their time limit.
        """
        counts = {"better": 0, "equal": 0, "worse": 0, "stopped": 0}
        for cell in self.of(column.measure).get(column, {}).values():
            gap = cell.per_variable
            if gap is not None:
                counts[
                    "equal" if abs(gap) <= EQUAL_WITHIN else "better" if gap > 0 else "worse"
                ] += 1
                counts["stopped"] += cell.is_limited
        return counts

    def mean_ratio(self, column: Column) -> float | None:
        """Return the geometric mean of the paper's times over ours."""
        cells = self.of(column.measure).get(column, {}).values()
        ratios = [cell.compared for cell in cells if cell.compared]
        return math.exp(float(np.mean(np.log(ratios)))) if ratios else None

    def missing(self) -> dict[str, dict[str, list[str]]]:
        """Return what is missing: reasons, and for each the methods with their rows."""
        found: dict[str, dict[str, list[str]]] = {}
        for cell in self.cells:
            if cell.ours is None:
                rows = found.setdefault(cell.missing, {}).setdefault(cell.column.title, [])
                if cell.row.label not in rows:
                    rows.append(cell.row.label)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "experiment": self.experiment.name,
            "title": self.experiment.title,
            "cmll": dict(self.options.cmll),
            "complete": self.is_complete,
            "cells": [
                {
                    "row": cell.row.label,
                    "dataset": cell.row.dataset,
                    "method": cell.column.method,
                    "title": cell.column.title,
                    "measure": cell.column.measure.name,
                    "paper": cell.paper,
                    "ours": cell.ours,
                    cell.column.measure.compared: cell.compared,
                    "missing": cell.missing or None,
                    "hit_time_limit": cell.is_limited,
                }
                for cell in self.cells
            ],
            "tests": [
                {
                    "measure": test.measure.name,
                    "first": test.first,
                    "second": test.second,
                    "ours": _plain_test(test.ours),
                    "paper": _plain_test(test.paper),
                    "paper_all_data_sets": _plain_test(test.paper_all),
                }
                for test in self.tests()
            ],
            "departures": list(self.experiment.departures),
        }

    def to_csv(self) -> str:
        """Return the cells as CSV, a line each."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["row", "method", "measure", "paper", "ours", "compared", "missing"])
        for cell in self.cells:
            numbers = ["" if v is None else repr(v) for v in (cell.paper, cell.ours, cell.compared)]
            writer.writerow(
                [
                    cell.row.label,
                    cell.column.title,
                    cell.column.measure.name,
                    *numbers,
                    cell.missing,
                ]
            )
        return text.getvalue()


def carry_out(
    experiment: Experiment,
    runner: Runner,
    options: Options,
    *,
    datasets: Sequence[str] = (),
    methods: Sequence[str] = (),
) -> ExperimentResult:
    """Fill the cells of an experiment, row by row; what cannot be had says why.

    Parameters
    ----------
    experiment : Experiment
    runner : Runner
    options : Options
    datasets, methods : sequence of str
        Which ones; all if left out. Those that the experiment does not have are an error.
    """
    kept_sets = selected(datasets, experiment.datasets, "data set")
    kept_methods = selected(methods, experiment.methods, "method")
    cells = []
    for row in experiment.rows:
        if row.dataset not in kept_sets:
            continue
        for column in experiment.columns:
            if column.method not in kept_methods:
                continue
            paper = experiment.printed(row, column)
            before = runner.limits_hit
            try:
                ours = column.value(runner, row, options)
                is_limited = runner.limits_hit > before
                cells.append(Cell(row, column, ours, paper, is_limited=is_limited))
            except MissingError as reason:
                cells.append(Cell(row, column, None, paper, str(reason)))
    return ExperimentResult(experiment, tuple(cells), options)


def _oriented(value: float, sign: float) -> float:
    return value if sign > 0 else -math.log(max(value, 1e-9))


def _plain_test(test: PairedTest | None) -> dict[str, Any] | None:
    if test is None:
        return None
    plain = dict(vars(test))
    plain["p_value"] = None if math.isnan(test.p_value) else test.p_value
    return plain
