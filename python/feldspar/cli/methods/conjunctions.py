"""All conjunctions up to an order: no search for structure, only weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from feldspar.cli.methods.method import Learned, Method, Task
from feldspar.cli.methods.penalties import L1, MAX_ITERATIONS, PRIOR_SD, TIME_LIMIT, TOLERANCE
from feldspar.features import FeatureSet
from feldspar.missing import complete_rows
from feldspar.tuning import tune_weights

_ORDER = click.Option(
    ["--order"],
    type=click.IntRange(min=1),
    help="Most variables in a feature.  [conjunctions: 2]",
)
MIN_SUPPORT = click.Option(
    ["--min-support"],
    type=click.FloatRange(min=0),
    help="Least number of training rows on which a feature of two or more variables holds.  [10]",
)


def _learn(task: Task, options: Mapping[str, Any]) -> Learned:
    weight_options = dict(options)
    structure = {
        "order": weight_options.pop("order", 2),
        "min_support": weight_options.pop("min_support", 10.0),
    }
    features = FeatureSet.conjunctions(complete_rows(task.train), supported_from=2, **structure)
    tuned = tune_weights(
        features,
        task.train,
        X_valid=task.valid,
        random_state=task.seed,
        n_jobs=task.n_jobs,
        verbose=True,
        **weight_options,
    )
    best = tuned.trials[tuned.best]
    return Learned(
        network=tuned.network,
        valid_pll=best.valid_pll,
        settings={**structure, **weight_options},
        best_params={"prior_sd": best.prior_sd, "l1": best.l1},
        trials=[trial.to_dict() for trial in tuned.trials],
    )


CONJUNCTIONS = Method(
    name="conjunctions",
    summary="all conjunctions of non-zero values up to an order",
    options=(_ORDER, MIN_SUPPORT, PRIOR_SD, L1, MAX_ITERATIONS, TOLERANCE, TIME_LIMIT),
    learn=_learn,
)
