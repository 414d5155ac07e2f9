"""``feldspar query``: what a model says of what is not known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from feldspar.cli.flags import common_flags
from feldspar.cli.output import emit, print_pairs, print_table
from feldspar.inference import Marginals, Method
from feldspar.io.tabular import read_table
from feldspar.network import MarkovNetwork
from feldspar.schema import Schema

_EPILOG = """\b
Example:
  feldspar query model.json --evidence smoker=yes,age=old --target cancer
  feldspar query model.json --evidence smoker=yes --map
  feldspar query model.json --rows partial.csv --target cancer
"""


@click.command(epilog=_EPILOG)
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--evidence",
    metavar="NAME=VALUE,...",
    default="",
    help="What is known: variables by name or index, values by label or code.",
)
@click.option(
    "--rows",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file of partial rows instead: what is missing in each is asked for, given the rest.",
)
@click.option("--target", multiple=True, help="A variable to tell of; may be repeated.  [all]")
@click.option("--map", "most_probable", is_flag=True, help="The most probable state instead.")
@click.option(
    "--method",
    type=click.Choice(["auto", "exact", "bp", "meanfield", "gibbs", "mcsat"]),
    default="auto",
    show_default=True,
    help="How probabilities are found.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of methods that sample.")
@click.option("--n-jobs", type=int, help="Threads. The result does not depend on it.")
@common_flags
def query(
    model: Path,
    evidence: str,
    rows: Path | None,
    target: tuple[str, ...],
    most_probable: bool,
    method: Method,
    seed: int,
    n_jobs: int | None,
) -> None:
    """Ask a model for probabilities given what is known, or for the most probable state."""
    network = MarkovNetwork.load(model)
    if rows is not None and evidence:
        raise click.UsageError("give --evidence or --rows, not both.")
    known = parse_evidence(network.schema, evidence)
    names = [network.schema.names[_index(network.schema, name)] for name in target]
    options = {"random_state": seed} if method in ("auto", "gibbs", "mcsat", "meanfield") else {}
    if rows is not None and most_probable:
        _complete_rows(network, rows, seed, n_jobs)
        return
    if most_probable:
        found = network.most_probable(known, random_state=seed, n_jobs=n_jobs)
        state = {name: found.state[name] for name in names or network.schema.names}
        result: dict[str, Any] = {
            "state": state,
            "log_potential": float(found.log_potentials[0]),
            "method": found.methods[0],
            "proven": found.proven[0],
        }
        emit(result, lambda: _show_state(result))
        return
    if rows is not None:
        _answer_rows(network, rows, names, method, options, n_jobs)
        return
    marginals = network.marginals(known, method, n_jobs=n_jobs, verbose=True, **options)
    shown = names or [n for n in network.schema.names if network.schema.index(n) not in known]
    plain = _plain(marginals, shown)
    emit(plain, lambda: _show(plain))


def _answer_rows(
    network: MarkovNetwork,
    file: Path,
    names: list[str],
    method: Method,
    options: dict[str, Any],
    n_jobs: int | None,
) -> None:
    """Tell the probabilities of what is missing in each row, or of the targets."""
    table = read_table(file, schema=network.schema)
    found = network.predict_proba(table, method, n_jobs=n_jobs, verbose=True, **options)
    missing = table.to_numpy() < 0
    schema = network.schema
    answers = []
    for row in range(len(table)):
        asked = names or [name for v, name in enumerate(schema.names) if missing[row, v]]
        answers += [
            {"row": row, "variable": name, "value": str(label), "probability": float(chance)}
            for name in asked
            for label, chance in zip(
                schema.labels[schema.index(name)], found[name][row], strict=True
            )
        ]
    diagnostics = found.diagnostics
    result = {"answers": answers, "method": diagnostics.method, "reason": diagnostics.reason}

    def show() -> None:
        columns = ("row", "variable", "value", "probability")
        lines = [(a["row"], a["variable"], a["value"], f"{a['probability']:.4f}") for a in answers]
        print_table(columns, lines, text=3)
        reason = f" ({diagnostics.reason})" if diagnostics.reason else ""
        print_pairs({"method": f"{diagnostics.method}{reason}"})

    emit(result, show)


def _complete_rows(network: MarkovNetwork, file: Path, seed: int, n_jobs: int | None) -> None:
    """Tell the most probable completion of each row."""
    table = read_table(file, schema=network.schema)
    found = network.most_probable(table, random_state=seed, n_jobs=n_jobs)
    schema, codes = network.schema, found.states.to_numpy().tolist()
    states = [
        {name: schema.label(v, row[v]) for v, name in enumerate(schema.names)} for row in codes
    ]
    result = {"states": states, "methods": found.methods, "proven": found.proven}

    def show() -> None:
        print_table(
            ("row", *schema.names, "proven"),
            [
                (i, *state.values(), "yes" if proven else "no")
                for i, (state, proven) in enumerate(zip(states, found.proven, strict=True))
            ],
            text=len(schema) + 2,
        )

    emit(result, show)


def parse_evidence(schema: Schema, text: str) -> dict[int, Any]:
    """Return the evidence that ``name=value,name=value`` stands for."""
    known: dict[int, Any] = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise click.BadParameter(f"expected NAME=VALUE, got {part!r}", param_hint="--evidence")
        v = _index(schema, name.strip())
        if v in known:
            raise click.BadParameter(f"{name!r} is given twice", param_hint="--evidence")
        known[v] = _value(schema, v, value.strip())
    return known


def _index(schema: Schema, name: str) -> int:
    if name not in schema.names and name.isdecimal():
        return schema.index(int(name))
    return schema.index(name)


def _value(schema: Schema, v: int, text: str) -> Any:
    """Return the label that a text names; labels may be numbers."""
    for label in schema.labels[v]:
        if str(label) == text:
            return label
    return int(text) if text.lstrip("-").isdecimal() else text


def _plain(marginals: Marginals, names: list[str]) -> dict[str, Any]:
    schema, diagnostics = marginals.schema, marginals.diagnostics
    return {
        "marginals": {
            name: dict(
                zip(
                    (str(label) for label in schema.labels[schema.index(name)]),
                    marginals[name].tolist(),
                    strict=True,
                )
            )
            for name in names
        },
        "method": diagnostics.method,
        "reason": diagnostics.reason,
        "converged": diagnostics.converged,
        "seconds": diagnostics.seconds,
    }


def _show(result: dict[str, Any]) -> None:
    rows = [
        (name if place == 0 else "", value, f"{chance:.4f}")
        for name, chances in result["marginals"].items()
        for place, (value, chance) in enumerate(chances.items())
    ]
    print_table(("variable", "value", "probability"), rows, text=2)
    reason = f" ({result['reason']})" if result["reason"] else ""
    print_pairs({"method": f"{result['method']}{reason}"})


def _show_state(result: dict[str, Any]) -> None:
    print_table(("variable", "value"), list(result["state"].items()), text=2)
    proven = "proven" if result["proven"] else "not proven to be the most probable"
    print_pairs({"method": f"{result['method']} ({proven})"})
