"""All conjunctions up to an order: no search for structure, only weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from feldspar.cli.methods.method import Method, Task
from feldspar.cli.methods.penalties import L1, PRIOR_SD
from feldspar.features import FeatureSet
from feldspar.tuning import TunedWeights, tune_weights

_ORDER = click.Option(
    ["--order"],
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Most variables in a feature.",
)
_MIN_SUPPORT = click.Option(
    ["--min-support"],
    type=click.FloatRange(min=0),
    default=10,
    show_default=True,
    help="Least number of training rows on which a feature of two or more variables holds.",
)


def _learn(task: Task, options: Mapping[str, Any]) -> TunedWeights:
    features = FeatureSet.conjunctions(
        task.train, order=options["order"], min_support=options["min_support"], supported_from=2
    )
    return tune_weights(
        features,
        task.train,
        X_valid=task.valid,
        prior_sd=options["prior_sd"],
        l1=options["l1"],
        random_state=task.seed,
        n_jobs=task.n_jobs,
        verbose=True,
    )


CONJUNCTIONS = Method(
    name="conjunctions",
    summary="all conjunctions of non-zero values up to an order",
    options=(_ORDER, _MIN_SUPPORT, PRIOR_SD, L1),
    learn=_learn,
)
