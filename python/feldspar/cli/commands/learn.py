"""``feldspar learn``: a model from data."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from feldspar.cli.flags import common_flags, refuse_given
from feldspar.cli.methods import METHODS, Learned, Method, Task
from feldspar.cli.output import emit, print_pairs, print_table, storable
from feldspar.cli.sources import (
    MODEL_SUFFIXES,
    FileTarget,
    complete_source,
    header_flag,
    is_data_set,
    read_source,
)
from feldspar.datasets import load
from feldspar.io.csv_text import Header
from feldspar.missing import complete_rows, is_complete
from feldspar.network import MarkovNetwork
from feldspar.table import Table

_SHOWN_TRIALS = 20

_EPILOG = """\b
Example:
  feldspar learn nltcs --method dtsl -o nltcs.json
  feldspar learn rows.csv --valid more.csv --prior-sd 1 --prior-sd 0.3 -o model.mn
"""


def learn_command(methods: Sequence[Method]) -> click.Command:
    """Return the command for a list of methods, with the options of all of them."""
    by_name = {method.name: method for method in methods}
    summaries = "; ".join(f"{method.name}: {method.summary}" for method in methods)

    @click.command(epilog=_EPILOG)
    @click.argument("train", shell_complete=complete_source)
    @click.option(
        "-o",
        "--output",
        type=FileTarget(MODEL_SUFFIXES),
        required=True,
        help="The file to write: .json (keeps names and how it was learned), .mn or .uai.",
    )
    @click.option(
        "--valid",
        shell_complete=complete_source,
        help="Validation data, to choose by where there is a choice. If left out: a data set's "
        "own, else a tenth of TRAIN.",
    )
    @click.option(
        "--method",
        type=click.Choice(list(by_name)),
        default=methods[0].name,
        show_default=True,
        help=f"{summaries}.",
    )
    @click.option("--weights", metavar="COLUMN", help="The column that holds the rows' weights.")
    @header_flag
    @click.option("--seed", type=int, default=0, show_default=True, help="For what is random.")
    @click.option("--n-jobs", type=int, help="Threads. The result does not depend on it.")
    @common_flags
    @click.pass_context
    def learn(
        context: click.Context,
        /,
        train: str,
        output: Path,
        valid: str | None,
        method: str,
        weights: str | None,
        header: Header,
        seed: int,
        n_jobs: int | None,
        **hyper_parameters: Any,  # whatever options the methods have
    ) -> None:
        """Learn a Markov network from data.

        TRAIN names a file or a data set, whose training part is used unless :valid or :test follows
        its name.

        Options that say so may be repeated. All their values are then tried, and what scores
        highest on the validation data is written. In brackets: what is used, or tried, if an option
        is not given.
        """
        chosen = by_name[method]
        options = own_options(context, chosen, hyper_parameters)
        started = time.perf_counter()
        task = Task(*_tables(train, valid, weights, header), seed, n_jobs)
        learned = chosen.learn(task, options)
        learned.network.metadata["learner"] = storable(
            {"method": method, **learned.settings, "best_params": learned.best_params}
        )
        _save(learned.network, output)
        result = _plain(learned, task, output) | {"seconds": time.perf_counter() - started}
        emit(result, lambda: _show(result))

    # Shared options are the same object in several methods; a dict keeps the first of each.
    learn.params.extend({o: None for method in methods for o in method.options})
    return learn


def _save(network: MarkovNetwork, output: Path) -> None:
    """Write the network; one that the file cannot hold goes beside it, for the time it took."""
    try:
        network.save(output)
    except ValueError as error:
        beside = output.with_name(output.name.removesuffix(".gz")).with_suffix(".json")
        if beside.exists() or output.name.removesuffix(".gz").lower().endswith(".json"):
            raise
        network.save(beside)
        raise ValueError(f"{error}; the network is in {beside} instead") from error


def own_options(context: click.Context, method: Method, values: dict[str, Any]) -> dict[str, Any]:
    """Return the method's options that were given.

    It is an error to give those of another, or any that do nothing without what they need.
    """
    own = {option.name for option in method.options}
    refuse_given(context, values.keys() - own, f"is no option of --method {method.name}")
    given = {
        name: value for name, value in values.items() if name in own and value not in (None, ())
    }
    for need in method.needs:
        if not need.is_met(given):
            names = {option.name for option in need.options if option.name}
            refuse_given(context, names, f"does nothing without {need.of}")
    return given


def _tables(
    train: str, valid: str | None, weights: str | None, header: Header
) -> tuple[Table, Table | None]:
    if valid is None and weights is None and is_data_set(train):
        split = load(train)
        return split.train, split.valid
    table = read_source(train, part="train", weights=weights, header=header)
    if valid is None:
        return table, None
    return table, read_source(
        valid, part="valid", schema=table.schema, weights=weights, header=header
    )


def _plain(learned: Learned, task: Task, output: Path) -> dict[str, Any]:
    network, report = learned.network, learned.network.training_
    return {
        "model": str(output),
        "n_variables": len(network.schema),
        "n_features": len(network.features),
        "n_nonzero": int((network.weights != 0).sum()),
        "train_pll": _train_pll(network, task),
        "valid_pll": learned.valid_pll,
        "held_out": task.valid is None and learned.valid_pll is not None,
        "best_params": learned.best_params,
        "status": None if report is None else report.status,
        "trials": learned.trials,
    }


def _train_pll(network: MarkovNetwork, task: Task) -> float | None:
    """Return the score of the rows given that are complete, if any are: also of those held out."""
    complete = is_complete(task.train)
    if not complete.any():
        return None
    return network.score(complete_rows(task.train), n_jobs=task.n_jobs)


def _show(result: dict[str, Any]) -> None:
    scored = [t for t in result["trials"] if t["valid_pll"] is not None]
    if len(scored) > 1:
        columns = list(dict.fromkeys(name for trial in scored for name in trial))
        shown = sorted(scored, key=lambda trial: -trial["valid_pll"])[:_SHOWN_TRIALS]
        rows = ([_cell(name, trial.get(name, "")) for name in columns] for trial in shown)
        print_table([name.replace("_", " ") for name in columns], rows, text=0)
        if len(scored) > len(shown):
            click.echo(f"({len(scored) - len(shown)} worse ones are not shown)")
    print_pairs(
        {
            "model": result["model"],
            "features": f"{result['n_features']}, {result['n_nonzero']} with non-zero weight",
            "settings": ", ".join(_settings(result["best_params"])),
            "train PLL": _train_text(result),
            "valid PLL": _valid_text(result),
            "status": f"{result['status'] or 'done'} in {result['seconds']:.2f} s",
        }
    )


def _train_text(result: dict[str, Any]) -> str:
    if result["train_pll"] is None:
        return "no complete rows"
    covers = " (of all rows, those held out included)" if result["held_out"] else ""
    return f"{result['train_pll']:.6f}{covers}"


def _valid_text(result: dict[str, Any]) -> str:
    if result["valid_pll"] is None:
        return "no validation data"
    covers = " (of the rows held out)" if result["held_out"] else ""
    return f"{result['valid_pll']:.6f}{covers}"


def _settings(params: dict[str, Any]) -> Iterator[str]:
    for name, value in params.items():
        if isinstance(value, dict):
            yield from (f"{name}: {text}" for text in _settings(value))
        else:
            yield f"{name} {_cell(name, value)}"


def _cell(name: str, value: Any) -> str:
    if name == "valid_pll":
        return f"{value:.6f}"
    if name == "seconds":
        return f"{value:.2f}"
    return _number(value) if value is None or isinstance(value, float) else str(value)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


learn = learn_command(METHODS)
