"""``feldspar query``: what a model says of what is not known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from feldspar.cli.evidence import index_of, parse_evidence
from feldspar.cli.flags import common_flags
from feldspar.cli.output import emit, print_pairs, print_table
from feldspar.cli.sources import complete_source, header_flag, read_network, read_source
from feldspar.inference import Marginals, Method
from feldspar.io.csv_text import Header
from feldspar.network import MarkovNetwork
from feldspar.table import Table

_EPILOG = """\b
Example:
  feldspar query model.json --evidence smoker=yes,age=old --target cancer
  feldspar query model.json --evidence "age=[30, 50)" --evidence smoker=yes --map
  feldspar query model.json --rows patients.csv --json
"""


@click.command(epilog=_EPILOG)
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--evidence",
    metavar="NAME=VALUE,...",
    multiple=True,
    help="What is known: variables by name or index, values by label or code; may be repeated. "
    "A comma separates where the name of a variable follows; others belong to a value.",
)
@click.option(
    "--rows",
    metavar="DATA",
    shell_complete=complete_source,
    help="Many rows of evidence instead: a file whose missing entries, or in each row the "
    "--target, are asked for. A target needs no column.",
)
@click.option(
    "--weights",
    metavar="COLUMN",
    help="The column of --rows that holds weights; they do not count.",
)
@header_flag
@click.option("--target", multiple=True, help="A variable to tell of; may be repeated.  [all]")
@click.option("--map", "most_probable", is_flag=True, help="The most probable state instead.")
@click.option(
    "--method",
    type=click.Choice(["auto", "exact", "bp", "meanfield", "gibbs", "mcsat"]),
    help="How probabilities are found.  [auto]",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of methods that sample.")
@click.option("--n-jobs", type=int, help="Threads. The result does not depend on it.")
@common_flags
def query(
    model: Path,
    evidence: tuple[str, ...],
    rows: str | None,
    weights: str | None,
    header: Header,
    target: tuple[str, ...],
    most_probable: bool,
    method: Method | None,
    seed: int,
    n_jobs: int | None,
) -> None:
    """Ask a model for probabilities given what is known, or for the most probable state."""
    if rows is not None and evidence:
        raise click.UsageError("--evidence and --rows: expected one of them")
    if most_probable and method is not None:
        raise click.UsageError(f"--map finds a state, --method {method} probabilities")
    if weights is not None and rows is None:
        raise click.UsageError("--weights names a column of --rows")
    network = read_network(model)
    names = [network.schema.names[index_of(network.schema, name)] for name in target]
    if rows is not None:
        table = read_source(
            rows,
            part="test",
            schema=network.schema,
            optional=names,
            weights=weights,
            header=header,
        )
        _query_rows(network, table, target, most_probable, method or "auto", seed, n_jobs)
        return
    known = parse_evidence(network.schema, evidence)
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
    marginals = _ask(network, known, method or "auto", seed, n_jobs)
    shown = names or [n for n in network.schema.names if network.schema.index(n) not in known]
    plain = _plain(marginals, shown)
    emit(plain, lambda: _show(plain))


def _query_rows(
    network: MarkovNetwork,
    table: Table,
    target: tuple[str, ...],
    most_probable: bool,
    method: Method,
    seed: int,
    n_jobs: int | None,
) -> None:
    """Tell of every missing entry of many rows or, in each of them, of the targets."""
    schema = network.schema
    if target:
        codes = table.to_numpy()
        wanted = [index_of(schema, name) for name in target]
        codes[:, wanted] = -1  # what a row says of them is not looked at
        table = Table.from_array(codes, schema=schema)
        holes = [(r, v) for r in range(len(table)) for v in wanted]
    else:
        holes = [(r, v) for r, v in np.argwhere(table.to_numpy() < 0).tolist()]
    if most_probable:
        states = network.most_probable(table, random_state=seed, n_jobs=n_jobs)
        codes = states.states.to_numpy()
        entries: list[dict[str, Any]] = [
            {"row": r, "variable": schema.names[v], "value": schema.label(v, int(codes[r, v]))}
            for r, v in holes
        ]
        emit({"states": entries}, lambda: _show_entries(entries))
        return
    marginals = _ask(network, table, method, seed, n_jobs)
    entries = [
        {"row": r, "variable": schema.names[v], "value": label, "probability": float(chance)}
        for r, v in holes
        for label, chance in zip(schema.labels[v], marginals[v][r], strict=True)
    ]
    told = _told(marginals)

    def show() -> None:
        _show_entries(entries)
        _show_method(told)

    emit({"marginals": entries} | told, show)


def _ask(
    network: MarkovNetwork, evidence: object, method: Method, seed: int, n_jobs: int | None
) -> Marginals:
    options = {"random_state": seed} if method in ("auto", "gibbs", "mcsat", "meanfield") else {}
    found = network.marginals(evidence, method, n_jobs=n_jobs, verbose=True, **options)
    if found.diagnostics.status == "interrupted":  # samplers return what they have: no answer yet
        raise KeyboardInterrupt
    return found


def _plain(marginals: Marginals, names: list[str]) -> dict[str, Any]:
    schema = marginals.schema
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
        **_told(marginals),
    }


def _told(marginals: Marginals) -> dict[str, Any]:
    """Return how an answer was found."""
    diagnostics = marginals.diagnostics
    return {
        "method": diagnostics.method,
        "reason": diagnostics.reason,
        "converged": diagnostics.converged,
        "expected_error": diagnostics.expected_error,
        "seconds": diagnostics.seconds,
    }


def _show(result: dict[str, Any]) -> None:
    rows = [
        (name if place == 0 else "", value, f"{chance:.4f}")
        for name, chances in result["marginals"].items()
        for place, (value, chance) in enumerate(chances.items())
    ]
    print_table(("variable", "value", "probability"), rows, text=2)
    _show_method(result)


def _show_method(told: dict[str, Any]) -> None:
    reason = f" ({told['reason']})" if told["reason"] else ""
    print_pairs({"method": f"{told['method']}{reason}"})


def _show_entries(entries: list[dict[str, Any]]) -> None:
    rows = [
        (*(entry[key] for key in ("row", "variable", "value")), *_probability(entry))
        for entry in entries
    ]
    columns = ("row", "variable", "value", "probability")
    print_table(columns[: len(rows[0]) if rows else 4], rows, text=3)


def _probability(entry: dict[str, Any]) -> tuple[str, ...]:
    return (f"{entry['probability']:.4f}",) if "probability" in entry else ()


def _show_state(result: dict[str, Any]) -> None:
    print_table(("variable", "value"), list(result["state"].items()), text=2)
    proven = "proven" if result["proven"] else "not proven to be the most probable"
    print_pairs({"method": f"{result['method']} ({proven})"})
