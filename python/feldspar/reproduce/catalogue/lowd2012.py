"""Lowd (2012): dependency networks made Markov networks, DN2MN."""

from __future__ import annotations

from feldspar.datasets._catalogue import benchmark_names
from feldspar.reproduce._experiment import Column, Experiment, Measure, Options, Row
from feldspar.reproduce._kinds import CONVERSIONS
from feldspar.reproduce._papers import published
from feldspar.reproduce._runner import Runner
from feldspar.reproduce._units import LearnerSpec, Unit, fit_unit
from feldspar.reproduce.catalogue.shared import (
    CMLL,
    FIGURE_NOTE,
    GIBBS_NOTE,
    PLL,
    TIME_NOTE,
    WEIGHTS,
    Value,
    measured,
    number_at,
    number_of,
    rows_of,
)

_TREE_SDS = (0.05, 0.1, 0.2, 0.5, 1.0)
_LOGISTIC_SDS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_MAX_ITERATIONS = 100

_TITLES = {
    "tree_lw": "tree LW",
    "tree_dn2mn": "tree DN2MN",
    "lr_lw": "LR LW",
    "lr_dn2mn": "LR DN2MN",
}


def _source(row: Row, cpd: str) -> Unit:
    """Return the unit that learns a dependency network and converts it in every way."""
    spec = LearnerSpec("DependencyNetwork", {"cpd": cpd})
    return Unit("conversions", f"dn-{cpd}", row.dataset, {}, spec)


def _fit(method: str, row: Row, runner: Runner) -> Unit:
    """Return the unit that makes a Markov network of the dependency network that validates best."""
    if method == "tree_lw":
        params = {"conversion": "default", "prior_sd": _TREE_SDS, "max_iterations": _MAX_ITERATIONS}
        return fit_unit(method, LearnerSpec("DTSL", params), row.dataset)
    if method == "lr_lw":
        # The L1 penalty is the dependency network's; the Markov network has its pairs.
        C = number_at(runner.values(_source(row, "logistic")), "best_params", "C")
        pairs = {
            "C": C,
            "rule": "or",
            "prior_sd": _LOGISTIC_SDS,
            "max_iterations": _MAX_ITERATIONS,
        }
        return fit_unit(method, LearnerSpec("L1Neighborhood", pairs), row.dataset)
    cpd = "tree" if method == "tree_dn2mn" else "logistic"
    return fit_unit(method, LearnerSpec("DN2MN", {"cpd": cpd}), row.dataset)


def _columns(measure: Measure, paper: str, *path: str) -> list[Column]:
    def value(method: str) -> Value:
        def found(runner: Runner, row: Row, options: Options) -> float:
            unit = _fit(method, row, runner)
            return measured(measure, lambda _: unit, *path)(runner, row, options)

        return found

    return [
        Column(method, title, measure, value(method), paper.format(*method.split("_")))
        for method, title in _TITLES.items()
    ]


def _conversion_columns(cpd: str) -> list[Column]:
    measure = Measure(f"NPLL lost, {cpd} conditionals", 4)
    return [
        Column(
            f"dn-{cpd}",
            title,
            measure,
            number_of(lambda row: _source(row, cpd), "npll_lost", title),
        )
        for title, *_ in CONVERSIONS
    ]


def lowd2012() -> list[Experiment]:
    """Return the experiments of this paper."""
    printed = published("lowd2012_table4_pll_cmll")
    rows = rows_of(tuple(name for name in benchmark_names() if name in printed))
    tests = (("tree_dn2mn", "tree_lw"), ("lr_dn2mn", "lr_lw"))
    return [
        Experiment(
            "lowd2012-table4",
            "PLL and CMLL of dependency networks made Markov networks: weight learning or DN2MN",
            rows,
            (
                *_columns(PLL, "{}_pll_{}", "pll"),
                *_columns(CMLL, "{}_cmll_{}", "cmll"),
            ),
            table="lowd2012_table4_pll_cmll",
            tests=tests,
            claims=(
                (
                    "With trees the two do not differ significantly; with logistic regressions "
                    "DN2MN is better in PLL on 10 data sets and in CMLL on 9 (p < 0.05)."
                ),
            ),
            departures=(GIBBS_NOTE,),
        ),
        Experiment(
            "lowd2012-table5",
            "Seconds from a dependency network to a Markov network",
            rows,
            tuple(_columns(WEIGHTS, "{}_{}", "seconds", "weights")),
            table="lowd2012_table5_seconds",
            tests=tests,
            departures=(
                TIME_NOTE,
                "The paper's times include reading the data and writing the model; ours do not.",
            ),
        ),
        Experiment(
            "lowd2012-figure1",
            "NPLL lost by converting a dependency network, by orders and base states",
            rows,
            (*_conversion_columns("tree"), *_conversion_columns("logistic")),
            figure="scaled-bars",
            departures=(
                FIGURE_NOTE,
                "One base state is the most frequent value of each variable.",
            ),
        ),
    ]
