"""Lowd (2012): dependency networks made Markov networks, DN2MN."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from feldspar.datasets._catalogue import benchmark_names
from feldspar.reproduce._experiment import Column, Experiment, Measure, Row
from feldspar.reproduce._kinds import CONVERSIONS
from feldspar.reproduce._papers import published
from feldspar.reproduce._units import LearnerSpec, Unit, fit_unit
from feldspar.reproduce.catalogue.shared import (
    CMLL,
    FIGURE_NOTE,
    GIBBS_NOTE,
    PLL,
    TIME_NOTE,
    WEIGHTS,
    Value,
    number_of,
    rows_of,
    score_of,
)

_TREE_SDS = (0.05, 0.1, 0.2, 0.5, 1.0)
_LOGISTIC_SDS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_PENALTIES = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)

_LOWD2012: Mapping[str, tuple[str, LearnerSpec]] = {
    "tree_lw": (
        "tree LW",
        LearnerSpec(
            "DTSL", {"conversion": "default", "prior_sd": _TREE_SDS, "max_iterations": 100}
        ),
    ),
    "tree_dn2mn": ("tree DN2MN", LearnerSpec("DN2MN", {"cpd": "tree"})),
    "lr_lw": (
        "LR LW",
        LearnerSpec(
            "L1Neighborhood",
            {
                "C": tuple(1 / penalty for penalty in reversed(_PENALTIES)),
                "rule": "or",
                "prior_sd": _LOGISTIC_SDS,
                "max_iterations": 100,
            },
        ),
    ),
    "lr_dn2mn": ("LR DN2MN", LearnerSpec("DN2MN", {"cpd": "logistic"})),
}


def lowd2012() -> list[Experiment]:
    """Return the experiments of this paper."""
    printed = published("lowd2012_table4_pll_cmll")
    rows = rows_of(tuple(name for name in benchmark_names() if name in printed))

    def unit(method: str) -> Callable[[Row], Unit]:
        return lambda row: fit_unit(method, _LOWD2012[method][1], row.dataset)

    def columns(measure: Measure, value: Callable[[str], Value], paper: str) -> list[Column]:
        return [
            Column(method, title, measure, value(method), paper.format(*method.split("_")))
            for method, (title, _) in _LOWD2012.items()
        ]

    def conversions(cpd: str) -> list[Column]:
        method = f"dn-{cpd}"
        spec = LearnerSpec("DependencyNetwork", {"cpd": cpd})
        measure = Measure(f"NPLL lost, {cpd} conditionals", 4)

        def own(row: Row) -> Unit:
            return Unit("conversions", method, row.dataset, {}, spec)

        return [
            Column(method, title, measure, number_of(own, "npll_lost", title))
            for title, *_ in CONVERSIONS
        ]

    tests = (("tree_dn2mn", "tree_lw"), ("lr_dn2mn", "lr_lw"))
    return [
        Experiment(
            "lowd2012-table4",
            "PLL and CMLL of dependency networks made Markov networks: weight learning or DN2MN",
            rows,
            (
                *columns(PLL, lambda method: number_of(unit(method), "pll"), "{}_pll_{}"),
                *columns(CMLL, lambda method: score_of(unit(method), "cmll"), "{}_cmll_{}"),
            ),
            table="lowd2012_table4_pll_cmll",
            tests=tests,
            claims=(
                (
                    "With trees the two do not differ significantly; with logistic regressions "
                    "DN2MN is better in PLL on 10 data sets and in CMLL on 9 (p < 0.05)."
                ),
            ),
            departures=(
                GIBBS_NOTE,
                (
                    "LR LW chooses the L1 penalty by the validation PLL of the Markov network, "
                    "not of the dependency network."
                ),
            ),
        ),
        Experiment(
            "lowd2012-table5",
            "Seconds from a dependency network to a Markov network",
            rows,
            tuple(columns(WEIGHTS, lambda m: number_of(unit(m), "seconds", "weights"), "{}_{}")),
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
            (*conversions("tree"), *conversions("logistic")),
            figure="scaled-bars",
            departures=(
                FIGURE_NOTE,
                "One base state is the most frequent value of each variable.",
            ),
        ),
    ]
