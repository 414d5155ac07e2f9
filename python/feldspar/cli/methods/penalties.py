"""Options of weight learning that methods share.

Options have no defaults of their own: what is not given is left to the method.
"""

from __future__ import annotations

import math

import click


def _prior_sds(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> tuple[float | None, ...]:
    positive = click.FloatRange(min=0, min_open=True)
    given = (
        math.inf if text.lower() == "none" else positive(text, parameter, context) for text in texts
    )
    return tuple(None if sd == math.inf else sd for sd in given)


PRIOR_SD = click.Option(
    ["--prior-sd"],
    callback=_prior_sds,
    metavar="FLOAT|none",
    multiple=True,
    help="Standard deviation of the Gaussian prior on the weights, or none. "
    "Given several times: all are tried.  [conjunctions, blm, topdown, busl: 1; dtblm: that of its "
    "dtsl; grafting: 10; gssl: 0.1, 0.5, 1; others: 100, 10, 1, 0.1]",
)
L1 = click.Option(
    ["--l1"],
    type=click.FloatRange(min=0),
    multiple=True,
    help="Strength of the L1 penalty on the weights. Given several times: all are tried.  "
    "[conjunctions: 0; gssl: 1, 5, 10; grafting: the square root of the rows times 1 to 0.05]",
)
MAX_ITERATIONS = click.Option(
    ["--max-iterations"],
    type=click.IntRange(min=0),
    help="Of learning the weights of one network.  [1000]",
)
TOLERANCE = click.Option(
    ["--tolerance"],
    type=click.FloatRange(min=0, min_open=True),
    help="How close to its optimum the objective per row must come.  "
    "[conjunctions, grafting: 1e-7; others: 1e-5]",
)
TIME_LIMIT = click.Option(
    ["--time-limit"],
    type=click.FloatRange(min=0, min_open=True),
    callback=lambda _, __, limit: None if limit == math.inf else limit,
    metavar="SECONDS",
    help="When it is over, the best network so far is written.  [none]",
)
