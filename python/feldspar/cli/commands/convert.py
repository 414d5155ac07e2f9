"""``feldspar convert``: models from one file format to another."""

from __future__ import annotations

from pathlib import Path

import click

from feldspar.cli.flags import common_flags
from feldspar.cli.output import emit, note
from feldspar.cli.sources import ModelTarget, is_nameless
from feldspar.network import MarkovNetwork

_EPILOG = """\b
Example:
  feldspar convert model.json model.mn
"""


@click.command(epilog=_EPILOG)
@click.argument("source", metavar="IN", type=click.Path(path_type=Path))
@click.argument("target", metavar="OUT", type=ModelTarget())
@common_flags
def convert(source: Path, target: Path) -> None:
    """Write a model in another file format.

    IN and OUT are .json, .mn (Libra) or .uai files, as their names tell; with .gz at the end of the
    name, a file is packed.
    """
    network = MarkovNetwork.load(source)
    network.save(target)
    if not is_nameless(network.schema) and is_nameless(MarkovNetwork.load(target).schema):
        note(f"{target} has numbers instead of names: only .json files keep names and labels")
    result = {"model": str(target), "n_features": len(network.features)}
    emit(result, lambda: click.echo(f"{target}: {len(network.features)} features"))
