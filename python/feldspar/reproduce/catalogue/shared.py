"""What the experiments are put together from: learners, measures, columns, notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from feldspar.datasets._catalogue import benchmark_names
from feldspar.reproduce._experiment import Column, Measure, Options, Row
from feldspar.reproduce._runner import MissingError, Runner
from feldspar.reproduce._units import LearnerSpec, Unit, cmll_unit, fit_unit

Value = Callable[[Runner, Row, Options], float]

NCMLL = Measure("NCMLL", is_score=True, per_variable=True)
NPLL = Measure("NPLL", is_score=True, per_variable=True)
CMLL = Measure("CMLL", is_score=True)
PLL = Measure("PLL", is_score=True)
SECONDS = Measure("seconds", 2, "ratio")
STRUCTURE = Measure("seconds of structure", 2, "ratio")
WEIGHTS = Measure("seconds of weights", 2, "ratio")
MINUTES = Measure("minutes", 3, "ratio")
FEATURES = Measure("features", 0)
GENERATED = Measure("features before weight learning", 0)
AFTER = Measure("features after weight learning", 0)
LENGTH = Measure("mean feature length", 2)

# ---- learners, by the names that the papers use ----

# Defaults of the learners are the papers' grids; what is given here is what an experiment changes.
LEARNERS: Mapping[str, tuple[str, LearnerSpec]] = {
    "dp": ("DP", LearnerSpec("TopDown")),
    "blm": ("BLM", LearnerSpec("BLM")),
    "l1": ("L1", LearnerSpec("L1Neighborhood")),
    "dtsl": ("DTSL", LearnerSpec("DTSL")),
    "dtblm": ("DT-BLM", LearnerSpec("DTBLM")),
    "dtl1": ("DT+L1", LearnerSpec("DTL1")),
    "gssl": ("GSSL", LearnerSpec("GSSL")),
    "busl": ("BUSL", LearnerSpec("BUSL")),
    "atomic": ("Atomic", LearnerSpec("Independent")),
}

SIX = ("dp", "blm", "l1", "dtsl", "dtblm", "dtl1")


def fit_of(method: str) -> Callable[[Row], Unit]:
    """Return what gives a row's unit of learning with a method."""
    _, spec = LEARNERS[method]
    return lambda row: fit_unit(method, spec, row.dataset, share=row.settings.get("share"))


def number_of(unit: Callable[[Row], Unit], *path: str) -> Value:
    """Return the number at a path in a unit's values."""

    def value(runner: Runner, row: Row, options: Options) -> float:
        return number_at(runner.values(unit(row)), *path)

    return value


def score_of(unit: Callable[[Row], Unit], name: str) -> Value:
    """Return the CMLL, or NCMLL, of the network that a unit learned."""

    def value(runner: Runner, row: Row, options: Options) -> float:
        return number_at(runner.values(cmll_unit(unit(row), options.cmll)), name)

    return value


def number_at(values: Any, *path: str) -> float:
    """Return the number at a path in nested mappings; that there is none is no error of ours."""
    for name in path:
        if not isinstance(values, Mapping) or name not in values:
            raise MissingError(f"the learner does not tell {'.'.join(path)}")
        values = values[name]
    if values is None:
        raise MissingError(f"{path[-1]} is not finite")
    return float(values)


def rows_of(names: tuple[str, ...]) -> tuple[Row, ...]:
    """Return a row for each data set."""
    return tuple(Row(name, name) for name in names)


TWENTY = rows_of(tuple(benchmark_names()))


def columns_of(
    methods: tuple[str, ...], measure: Measure, *path: str, paper: str | None = None
) -> tuple[Column, ...]:
    """Return a column for each method: the number at a path in what its unit found.

    ``paper`` is the name of the published column, with ``{}`` for the method's.
    """
    return tuple(
        Column(
            method,
            LEARNERS[method][0],
            measure,
            measured(measure, fit_of(method), *path),
            None if paper is None else paper.format(method),
        )
        for method in methods
    )


def measured(measure: Measure, unit: Callable[[Row], Unit], *path: str) -> Value:
    """Return what gives a number: from the unit, or from the score of what it learned."""
    return score_of(unit, *path) if measure in (CMLL, NCMLL) else number_of(unit, *path)


# ---- what is to be said of many ----

GIBBS_NOTE = (
    "The four groups of variables of CMLL are ours, drawn with seed 0 (the paper does not list its "
    "own); 10 chains of 100 + 1,000 sweeps as in the paper. Groups matter: with others the NCMLL "
    "of one network of nltcs is anything from −0.331 to −0.311. DTSL's network of accidents has "
    "−0.171 to −0.160 with random groups and −0.133 with groups that keep apart what depends on "
    "each other, found by exchanging variables (bench/quality/cmll_groups.py); the paper's numbers "
    "lie between. So differences to the paper mean less than those between our methods."
)
FIGURE_NOTE = "The paper draws these numbers and does not print them: there is nothing to subtract."
DTBLM_NOTE = (
    "DT-BLM takes the prior that is best for DTSL instead of tuning its own; the paper finds "
    "that four times faster."
)
TIME_NOTE = (
    "Times are of different machines and programs; the ratio says how much sooner a reader of "
    "today has the result, not which algorithm is faster."
)
