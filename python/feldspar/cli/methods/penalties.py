"""The penalties on weights, as options that methods share."""

from __future__ import annotations

import click


def _prior_sds(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> tuple[float | None, ...]:
    positive = click.FloatRange(min=0, min_open=True)
    return tuple(
        None if text.lower() == "none" else positive(text, parameter, context) for text in texts
    )


PRIOR_SD = click.Option(
    ["--prior-sd"],
    callback=_prior_sds,
    metavar="FLOAT|none",
    multiple=True,
    default=("1.0",),
    show_default=True,
    help="Standard deviation of the Gaussian prior on the weights, or none. "
    "Given several times: all are tried.",
)
L1 = click.Option(
    ["--l1"],
    type=click.FloatRange(min=0),
    multiple=True,
    default=(0.0,),
    show_default=True,
    help="Strength of the L1 penalty. Given several times: all are tried.",
)
