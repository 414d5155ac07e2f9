"""``feldspar convert``: models from one file format to another, dependency to Markov networks."""

from __future__ import annotations

from pathlib import Path

import click

from feldspar.cli.flags import common_flags, refuse_given
from feldspar.cli.output import emit, note
from feldspar.cli.sources import (
    MODEL_SUFFIXES,
    FileTarget,
    complete_source,
    header_flag,
    is_nameless,
    read_source,
)
from feldspar.dependency import Base, DependencyModel, Orders
from feldspar.io.csv_text import Header
from feldspar.io.dependency_models import load_model
from feldspar.network import MarkovNetwork

_EPILOG = """\b
Example:
  feldspar convert model.json model.mn
  feldspar convert nltcs.dn nltcs.mn --data nltcs:train
"""


@click.command(epilog=_EPILOG)
@click.argument("source", metavar="IN", type=click.Path(path_type=Path))
@click.argument("target", metavar="OUT", type=FileTarget((*MODEL_SUFFIXES, ".dn")))
@click.option("--markov", is_flag=True, help="A dependency network to .json as a Markov network.")
@click.option(
    "--orders",
    type=click.Choice(["opposite-rotations", "rotations", "opposite", "one"]),
    default="opposite-rotations",
    show_default=True,
    help="From dependency to Markov network: the orders of variables to average over.",
)
@click.option(
    "--base",
    type=click.Choice(["marginals", "mode", "uniform"]),
    help="The same: the base states to average over.  [marginals if known, else uniform]",
)
@click.option(
    "--data",
    shell_complete=complete_source,
    help="A file or data set to take the variables' marginals from, for the conversion or to be "
    "kept in a dependency network's .json file.",
)
@header_flag
@common_flags
@click.pass_context
def convert(
    context: click.Context,
    source: Path,
    target: Path,
    markov: bool,
    orders: Orders,
    base: Base | None,
    data: str | None,
    header: Header,
) -> None:
    """Write a model in another file format.

    IN and OUT are .json, .mn (Libra), .uai or .dn (Libra's dependency networks) files, as their
    names tell; with .gz at the end of the name, a file is packed. A dependency network becomes a
    Markov network in closed form (DN2MN) where OUT is .mn or .uai, or with --markov.
    """
    model = load_model(source)
    wanted = Path(target.name.lower().removesuffix(".gz")).suffix
    is_converted = isinstance(model, DependencyModel) and (markov or wanted in (".mn", ".uai"))
    _refuse_idle(context, model, wanted, is_converted)
    if isinstance(model, DependencyModel):
        if data is not None:
            rows = read_source(data, part="train", schema=model.schema, header=header)
            model = model.with_marginals(rows)
        if is_converted:
            model = _to_markov(model, orders, base)
    elif wanted == ".dn":
        raise ValueError(
            f"{source} is a Markov network; {target}: expected a name that ends with "
            f"{', '.join(MODEL_SUFFIXES)}"
        )
    model.save(target)
    if not is_nameless(model.schema) and is_nameless(load_model(target).schema):
        note(f"{target} has numbers instead of names: only .json files keep names and labels")
    if isinstance(model, DependencyModel):
        emit(
            {"model": str(target), "n_conditionals": len(model.schema)},
            lambda: click.echo(f"{target}: {len(model.schema)} conditional distributions"),
        )
        return
    n_features = len(model.features)
    emit(
        {"model": str(target), "n_features": n_features},
        lambda: click.echo(f"{target}: {n_features} features"),
    )


def _refuse_idle(
    context: click.Context,
    model: MarkovNetwork | DependencyModel,
    wanted: str,
    is_converted: bool,
) -> None:
    """Refuse options that would do nothing for this model and this file."""
    if not is_converted:
        why = "is for making a Markov network of a dependency network"
        refuse_given(context, ("orders", "base"), why)
        if isinstance(model, MarkovNetwork):
            refuse_given(context, ("data",), "is for dependency networks")
        elif wanted == ".dn":
            refuse_given(context, ("data",), "has no place to go: a .dn file holds no marginals")
    if context.params["data"] is None:
        refuse_given(context, ("header",), "does nothing without --data")


def _to_markov(model: DependencyModel, orders: Orders, base: Base | None) -> MarkovNetwork:
    if base is None:
        base = "uniform" if model.marginals is None else "marginals"
        if base == "uniform":
            note("no marginals are known: base states count alike; --data would tell them")
    return model.to_markov(orders=orders, base=base)
