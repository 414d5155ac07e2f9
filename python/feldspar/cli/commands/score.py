"""``feldspar score``: how well a model predicts data."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

import click

from feldspar.cli.flags import common_flags, refuse_given
from feldspar.cli.output import emit, print_pairs
from feldspar.cli.sources import complete_source, header_flag, read_source
from feldspar.evaluation import Score, pseudo_log_likelihood
from feldspar.features import refuse_missing
from feldspar.inference import Method
from feldspar.io.csv_text import Header
from feldspar.io.dependency_models import load_model
from feldspar.network import MarkovNetwork
from feldspar.table import Table

_EPILOG = """\b
Example:
  feldspar score model.json nltcs:valid
  feldspar score model.json rows.csv --cmll --json
"""


@click.command(epilog=_EPILOG)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", shell_complete=complete_source)
@click.option("--weights", metavar="COLUMN", help="The column of DATA that holds rows' weights.")
@header_flag
@click.option("--cmll", is_flag=True, help="Also the conditional marginal log-likelihood.")
@click.option(
    "--groups",
    type=click.IntRange(min=2),
    help="Of CMLL.  [4, or as many as there are variables]",
)
@click.option(
    "--split",
    type=click.Choice(["random", "contiguous"]),
    default="random",
    show_default=True,
    help="How CMLL divides the variables into groups.",
)
@click.option(
    "--reverse", is_flag=True, help="CMLL with one group known at a time, as in Lee et al. (2007)."
)
@click.option(
    "--method",
    type=click.Choice(["gibbs", "exact", "bp", "meanfield", "mcsat", "auto"]),
    default="gibbs",
    show_default=True,
    help="How CMLL finds probabilities.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the groups and samples.")
@click.option("--n-jobs", type=int, help="Threads. The result does not depend on it.")
@common_flags
@click.pass_context
def score(
    context: click.Context,
    model: Path,
    data: str,
    weights: str | None,
    header: Header,
    cmll: bool,
    groups: int | None,
    split: Literal["random", "contiguous"],
    reverse: bool,
    method: Method,
    seed: int,
    n_jobs: int | None,
) -> None:
    """Score a model by its pseudo-log-likelihood.

    MODEL is a Markov network, or a dependency network (.dn). DATA names a file or a data set, whose
    test part is used unless :train or :valid follows its name.

    PLL sums log P(value | rest of the row) over the variables; NPLL is the same per variable.
    CMLL hides one group of variables at a time and asks for each given the other groups. Printed
    are means over the examples, with their standard errors.
    """
    if not cmll:
        of_cmll = ("groups", "split", "reverse", "method", "seed")
        refuse_given(context, of_cmll, "does nothing without --cmll")
    network = load_model(model)
    if cmll and not isinstance(network, MarkovNetwork):
        raise ValueError(
            f"--cmll: {model} is a dependency network, which has no joint distribution; "
            "`feldspar convert` makes a Markov network of it"
        )
    table = read_source(data, part="test", schema=network.schema, weights=weights, header=header)
    _refuse_gaps(table, model, data)
    pll = pseudo_log_likelihood(network, table, n_jobs=n_jobs)
    scores = {"PLL": pll}
    plain = _plain(pll)
    if isinstance(network, MarkovNetwork) and cmll:
        found = network.cmll(
            table,
            groups=groups,
            split=split,
            reverse=reverse,
            method=method,
            random_state=seed,
            n_jobs=n_jobs,
            verbose=True,
        )
        scores["CMLL"] = found
        plain |= {
            "cmll": found.mean,
            "cmll_stderr": _known(found.stderr),
            "ncmll": found.normalized,
        }
    emit(plain, lambda: _show(scores))


def _refuse_gaps(table: Table, model: Path, data: str) -> None:
    answer = f"`feldspar query {model} --rows {data} --map` tells what is most probable there"
    try:
        refuse_missing(table, hint=f"leave out those with gaps; {answer}")
    except ValueError as error:
        raise ValueError(f"{data}: {error}") from error


def _plain(score: Score) -> dict[str, Any]:
    return {
        "pll": score.mean,
        "stderr": _known(score.stderr),
        "npll": score.normalized,
        "n_examples": len(score.per_example),
        "n_variables": score.n_variables,
    }


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _show(scores: dict[str, Score]) -> None:
    pairs: dict[str, object] = {"examples": len(scores["PLL"].per_example)}
    for name, score in scores.items():
        error, per_variable = score.stderr, score.stderr / score.n_variables
        pairs[name] = f"{score.mean:.6f}  (standard error {error:.6f})"
        pairs[f"N{name}"] = f"{score.normalized:.6f}  (standard error {per_variable:.6f})"
    print_pairs(pairs)
