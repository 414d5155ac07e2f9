"""Lowd and Davis (2014): decision trees, DTSL, DT-BLM, DT+L1."""

from __future__ import annotations

from collections.abc import Callable

from feldspar.datasets._catalogue import benchmark_names
from feldspar.reproduce._experiment import Column, Experiment, Measure, Row
from feldspar.reproduce._units import LearnerSpec, Unit, fit_unit
from feldspar.reproduce.catalogue.shared import (
    DTBLM_NOTE,
    FEATURES,
    FIGURE_NOTE,
    GIBBS_NOTE,
    LEARNERS,
    LENGTH,
    NCMLL,
    NPLL,
    SECONDS,
    SIX,
    STRUCTURE,
    TIME_NOTE,
    TWENTY,
    WEIGHTS,
    columns_of,
    number_of,
    score_of,
)

_CONVERSION_NAMES = ("default", "nonzero", "prune", "prune-10", "prune-5")
# ---- Lowd and Davis (2014) ----


def _converted(method: str, conversion: str) -> tuple[str, str, Callable[[Row], Unit]]:
    """Return name, title and unit of a tree learner with one way to make features."""
    dtsl = LearnerSpec("DTSL", {"conversion": conversion})
    spec = dtsl if method == "dtsl" else LearnerSpec("DTBLM", {"dtsl": dtsl})
    name = f"{method}-{conversion}"
    title = f"{LEARNERS[method][0]} {conversion.upper()}"
    return method, title, lambda row: fit_unit(name, spec, row.dataset)


def _conversion_columns(
    methods: tuple[str, ...], measure: Measure, *path: str, printed: bool = False
) -> tuple[Column, ...]:
    columns = []
    for method in methods:
        for conversion in _CONVERSION_NAMES:
            own, title, unit = _converted(method, conversion)
            value = score_of(unit, *path) if measure is NCMLL else number_of(unit, *path)
            paper = f"{method}_{conversion.replace('-', '')}" if printed else None
            columns.append(Column(own, title, measure, value, paper))
    return tuple(columns)


_CURVE_SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)


def lowd2014() -> list[Experiment]:
    """Return the experiments of this paper."""
    table3 = (
        *columns_of(SIX, NCMLL, "ncmll", paper="ncmll_{}"),
        *columns_of(SIX, NPLL, "npll", paper="npll_{}"),
    )
    split = ("l1", "dtsl")
    curves = ("dtl1", "dtblm", "dtsl", "l1")
    return [
        Experiment(
            "lowd2014-table2",
            "NCMLL of DTSL and DT-BLM with each conversion of trees to features",
            TWENTY,
            _conversion_columns(("dtsl", "dtblm"), NCMLL, "ncmll", printed=True),
            table="lowd2014_table2_ncmll_conversions",
            figure="relative",
            base="DEFAULT",
            claims=("PRUNE is better than DEFAULT on 15 data sets for DTSL, on 18 for DT-BLM.",),
            departures=(GIBBS_NOTE, DTBLM_NOTE),
        ),
        Experiment(
            "lowd2014-table3",
            "Test set NCMLL and NPLL of all algorithms",
            TWENTY,
            table3,
            table="lowd2014_table3_ncmll_npll",
            tests=(
                ("dtsl", "dp"),
                ("dtsl", "blm"),
                ("dtblm", "dtsl"),
                ("dtl1", "dtsl"),
                ("dtl1", "l1"),
                ("dtsl", "l1"),
                ("dtblm", "l1"),
            ),
            figure="relative",
            base="DTSL",
            claims=(
                (
                    "DTSL is more accurate than DP and BLM (p < 0.001), DT-BLM than DTSL "
                    "(p < 0.05), DT+L1 than DTSL and L1 (p < 0.05); DTSL and L1 do not differ "
                    "significantly."
                ),
            ),
            departures=(GIBBS_NOTE, DTBLM_NOTE),
        ),
        Experiment(
            "lowd2014-table4",
            "Seconds of learning, tuning included",
            TWENTY,
            columns_of(SIX, SECONDS, "seconds", "total", paper="{}"),
            table="lowd2014_table4_seconds",
            tests=(("dtsl", "dp"), ("dtsl", "blm"), ("dtsl", "l1"), ("dtblm", "dtsl")),
            figure="times",
            base="DTSL",
            departures=(TIME_NOTE, DTBLM_NOTE),
        ),
        Experiment(
            "lowd2014-table5",
            "Seconds of learning divided into structure and weights",
            TWENTY,
            (
                *columns_of(split, STRUCTURE, "seconds", "structure", paper="{}_structure"),
                *columns_of(split, WEIGHTS, "seconds", "weights", paper="{}_weights"),
                *columns_of(split, SECONDS, "seconds", "total", paper="{}_total"),
            ),
            table="lowd2014_table5_seconds_split",
            departures=(TIME_NOTE,),
        ),
        Experiment(
            "lowd2014-figure3",
            "Mean feature length of each conversion of DTSL",
            TWENTY,
            _conversion_columns(("dtsl",), LENGTH, "mean_length"),
            figure="bars",
            departures=(FIGURE_NOTE,),
        ),
        Experiment(
            "lowd2014-figure4",
            "Number of features of each conversion of DTSL",
            TWENTY,
            _conversion_columns(("dtsl",), FEATURES, "n_features"),
            figure="log-bars",
            departures=(FIGURE_NOTE,),
        ),
        Experiment(
            "lowd2014-figure6",
            "Mean feature length of each algorithm",
            TWENTY,
            columns_of(SIX, LENGTH, "mean_length"),
            figure="bars",
            departures=(FIGURE_NOTE,),
        ),
        Experiment(
            "lowd2014-figure7",
            "Number of features of each algorithm",
            TWENTY,
            columns_of(SIX, FEATURES, "n_features"),
            figure="log-bars",
            departures=(FIGURE_NOTE,),
        ),
        Experiment(
            "lowd2014-figure8",
            "Learning curves: NCMLL against training rows (figures 8 and 9)",
            tuple(
                Row(f"{name} 1/{round(1 / share)}", name, {"share": share})
                for name in benchmark_names()
                for share in _CURVE_SHARES
            ),
            columns_of(curves, NCMLL, "ncmll"),
            figure="curves",
            departures=(
                FIGURE_NOTE,
                (
                    "The paper does not say which rows it takes; here shares of 1/16 to 1 are "
                    "drawn with seed 0, each within the next."
                ),
            ),
        ),
    ]
