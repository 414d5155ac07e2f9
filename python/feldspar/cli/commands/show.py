"""``feldspar show``: what a model says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click
import numpy as np

from feldspar.cli.evidence import index_of
from feldspar.cli.flags import common_flags, refuse_given
from feldspar.cli.output import emit, print_pairs, print_table
from feldspar.dependency import DependencyModel
from feldspar.io.dependency_models import load_model
from feldspar.network import MarkovNetwork

_EPILOG = """\b
Example:
  feldspar show model.json --top 5
  feldspar show model.json --variable digit
"""


@click.command(epilog=_EPILOG)
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--top",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="How many of the heaviest features.",
)
@click.option(
    "--variable",
    metavar="NAME",
    help="A variable, by name or index: only features with it; and its Markov blanket.",
)
@common_flags
@click.pass_context
def show(context: click.Context, model: Path, top: int, variable: str | None) -> None:
    """Show what a model says: sizes, heaviest features.

    Of a dependency network: its kinds of conditionals, their sizes, and Markov blankets.
    """
    network = load_model(model)
    blanket: dict[str, Any] = {}
    if variable is not None:
        variable = network.schema.names[index_of(network.schema, variable)]
        blanket = {"variable": variable, "markov_blanket": network.markov_blanket(variable)}
    if isinstance(network, DependencyModel):
        refuse_given(context, ("top",), "is for Markov networks: this one has no features")
        _show_dependency(network, blanket)
        return
    result = _summary(network) | blanket
    result["heaviest"] = [
        {"weight": float(network.weights[j]), "feature": network.features.describe(j)}
        for j in _heaviest(network, top, variable)
    ]
    emit(result, lambda: _show(result, blanket))


def _summary(network: MarkovNetwork) -> dict[str, Any]:
    lengths, counts = np.unique(network.features.lengths, return_counts=True)
    return {
        "n_variables": len(network.schema),
        "max_cardinality": max(network.schema.cardinalities),
        "n_features": len(network.features),
        "n_nonzero": int(np.count_nonzero(network.weights)),
        "n_features_by_length": dict(zip(lengths.tolist(), counts.tolist(), strict=True)),
        "metadata": network.metadata,
    }


def _show_dependency(network: DependencyModel, blanket: dict[str, Any]) -> None:
    result = {
        "n_variables": len(network.schema),
        "max_cardinality": max(network.schema.cardinalities),
        "kinds": dict(Counter(network.kinds)),
        "metadata": network.metadata,
        **blanket,
    }

    def show() -> None:
        click.echo(network.summary())
        pairs = {name: _words(value) for name, value in network.metadata.items()} | _told(blanket)
        if pairs:
            print_pairs(pairs)

    emit(result, show)


def _told(blanket: dict[str, Any]) -> dict[str, str]:
    """Return a variable's Markov blanket for people, if one was asked for."""
    if not blanket:
        return {}
    return {f"blanket of {blanket['variable']}": " ".join(blanket["markov_blanket"]) or "empty"}


def _heaviest(network: MarkovNetwork, top: int, variable: str | None) -> list[int]:
    order: list[int] = np.argsort(-np.abs(network.weights), kind="stable").tolist()
    if variable is not None:
        own = network.schema.index(variable)
        order = [j for j in order if own in network.features.variables(j)]
    return order[:top]


def _show(result: dict[str, Any], blanket: dict[str, Any]) -> None:
    lengths = result["n_features_by_length"].items()
    pairs = {
        "variables": f"{result['n_variables']}, of up to {result['max_cardinality']} values",
        "features": f"{result['n_features']}, {result['n_nonzero']} with non-zero weight",
        "by length": ", ".join(f"{count} of {length}" for length, count in lengths) or "none",
    }
    pairs |= {name: _words(value) for name, value in result["metadata"].items()}
    print_pairs(pairs | _told(blanket))
    if result["heaviest"]:
        rows = [(entry["feature"], f"{entry['weight']:+.4f}") for entry in result["heaviest"]]
        print_table(["feature", "weight"], rows)


def _words(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_words(part)}" for name, part in value.items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)
