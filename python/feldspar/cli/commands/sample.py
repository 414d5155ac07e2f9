"""``feldspar sample``: rows drawn from a model."""

from __future__ import annotations

from pathlib import Path

import click

from feldspar.cli.evidence import parse_evidence
from feldspar.cli.flags import common_flags
from feldspar.cli.output import emit, print_pairs
from feldspar.cli.sources import TABLE_SUFFIXES, FileTarget, read_network
from feldspar.io.tabular import write_table

_EPILOG = """\b
Example:
  feldspar sample model.json 1000 --evidence smoker=yes -o rows.csv
"""


@click.command(epilog=_EPILOG)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("n", type=click.IntRange(min=1))
@click.option(
    "-o",
    "--output",
    type=FileTarget(TABLE_SUFFIXES),
    required=True,
    help="The file to write: .csv, .data or .parquet.",
)
@click.option(
    "--evidence",
    metavar="NAME=VALUE,...",
    multiple=True,
    help="What is held fixed, as for `feldspar query`; may be repeated.",
)
@click.option("--burn-in", type=click.IntRange(min=0), default=100, show_default=True)
@click.option("--thinning", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--n-chains", type=click.IntRange(min=1), default=10, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--n-jobs", type=int, help="Threads. The result does not depend on it.")
@common_flags
def sample(
    model: Path,
    n: int,
    output: Path,
    evidence: tuple[str, ...],
    burn_in: int,
    thinning: int,
    n_chains: int,
    seed: int,
    n_jobs: int | None,
) -> None:
    """Draw N rows from a model by Gibbs sampling and write them to a file."""
    network = read_network(model)
    drawn = network.sample(
        n,
        parse_evidence(network.schema, evidence),
        random_state=seed,
        burn_in=burn_in,
        thinning=thinning,
        n_chains=n_chains,
        n_jobs=n_jobs,
    )
    write_table(drawn, output)
    result = {"file": str(output), "rows": n, "variables": len(network.schema)}
    emit(result, lambda: print_pairs(result))
