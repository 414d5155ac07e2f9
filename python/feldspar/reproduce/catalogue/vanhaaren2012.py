"""Van Haaren and Davis (2012): features generated and selected, GSSL."""

from __future__ import annotations

from feldspar.reproduce._experiment import Column, Experiment, Measure
from feldspar.reproduce.catalogue.shared import (
    AFTER,
    CMLL,
    GENERATED,
    GIBBS_NOTE,
    LENGTH,
    SECONDS,
    STRUCTURE,
    TIME_NOTE,
    TWENTY,
    WEIGHTS,
    columns_of,
    fit_of,
    number_of,
)


def vanhaaren2012() -> list[Experiment]:
    """Return the experiments of this paper."""
    four = ("gssl", "l1", "dtsl", "blm")
    three = four[:3]
    note = (
        "L1, DTSL and BLM are tuned as in Lowd and Davis (2014), without an L1 penalty on the "
        "weights; GSSL over the paper's own grid."
    )

    def column(name: str, measure: Measure, *path: str) -> Column:
        return Column("gssl", "GSSL", measure, number_of(fit_of("gssl"), *path), name)

    return [
        Experiment(
            "vanhaaren2012-table2",
            "Test set CMLL of GSSL and its rivals",
            TWENTY,
            columns_of(four, CMLL, "cmll", paper="{}"),
            table="vanhaaren2012_table2_cmll",
            tests=(("gssl", "l1"), ("gssl", "dtsl"), ("gssl", "blm")),
            claims=(
                "GSSL is better than DTSL (p = 0.0193) and BLM (p = 0.0002), and as good as L1.",
            ),
            departures=(GIBBS_NOTE, note),
        ),
        Experiment(
            "vanhaaren2012-table3",
            "Seconds of generating features, of learning weights, and in all",
            TWENTY,
            (
                *columns_of(three, STRUCTURE, "seconds", "structure", paper="{}_generate"),
                *columns_of(three, WEIGHTS, "seconds", "weights", paper="{}_weights"),
                *columns_of(four, SECONDS, "seconds", "total", paper="{}_total"),
            ),
            table="vanhaaren2012_table3_seconds",
            departures=(
                note,
                TIME_NOTE,
                "The paper's times are of the best setting alone; ours include all tuning.",
            ),
        ),
        Experiment(
            "vanhaaren2012-table4",
            "The learned models: features before and after weight learning, mean length",
            TWENTY,
            (
                *columns_of(three, GENERATED, "n_features", paper="{}_generated"),
                *columns_of(three, AFTER, "n_nonzero", paper="{}_after"),
                *columns_of(three, LENGTH, "mean_nonzero_length", paper="{}_length"),
                *columns_of(("blm",), AFTER, "n_nonzero", paper="{}_features"),
                *columns_of(("blm",), LENGTH, "mean_nonzero_length", paper="{}_length"),
            ),
            table="vanhaaren2012_table4_models",
            figure="log-bars",
            departures=(note,),
        ),
        Experiment(
            "vanhaaren2012-table5",
            "The settings of GSSL that validation data chose",
            TWENTY,
            (
                column("generated", Measure("generated", 0), "best_params", "n_generated"),
                column("after_threshold", Measure("after threshold", 0), "n_features"),
                column("threshold", Measure("threshold", 0), "best_params", "threshold"),
            ),
            table="vanhaaren2012_table5_gssl_settings",
            figure="none",
            departures=(
                (
                    "Of the distinct features before the threshold GSSL keeps no number: the "
                    "paper's columns of them and of their share that is pruned are left out."
                ),
            ),
        ),
    ]
