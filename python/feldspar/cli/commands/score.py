"""``feldspar score``: how well a model predicts data."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from feldspar.cli.flags import common_flags
from feldspar.cli.output import emit, print_pairs
from feldspar.cli.sources import complete_source, read_source
from feldspar.evaluation import Score, pseudo_log_likelihood
from feldspar.network import MarkovNetwork

_EPILOG = """\b
Example:
  feldspar score model.json nltcs:valid
  feldspar score model.json rows.csv --json
"""


@click.command(epilog=_EPILOG)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", shell_complete=complete_source)
@click.option("--weights", metavar="COLUMN", help="The column of DATA that holds rows' weights.")
@click.option("--n-jobs", type=int, help="Threads. The result does not depend on it.")
@common_flags
def score(model: Path, data: str, weights: str | None, n_jobs: int | None) -> None:
    """Score a model by its pseudo-log-likelihood.

    DATA names a file or a data set, whose test part is used unless :train or :valid follows its
    name.

    PLL sums log P(value | rest of the row) over the variables; NPLL is the same per variable.
    Printed are means over the examples, with their standard errors.
    """
    network = MarkovNetwork.load(model)
    table = read_source(data, part="test", schema=network.schema, weights=weights)
    result = pseudo_log_likelihood(network, table, n_jobs=n_jobs)
    emit(_plain(result), lambda: _show(result))


def _plain(score: Score) -> dict[str, Any]:
    return {
        "pll": score.mean,
        "stderr": None if math.isnan(score.stderr) else score.stderr,
        "npll": score.normalized,
        "n_examples": len(score.per_example),
        "n_variables": score.n_variables,
    }


def _show(score: Score) -> None:
    error, per_variable = score.stderr, score.stderr / score.n_variables
    print_pairs(
        {
            "examples": len(score.per_example),
            "PLL": f"{score.mean:.6f}  (standard error {error:.6f})",
            "NPLL": f"{score.normalized:.6f}  (standard error {per_variable:.6f})",
        }
    )
