"""``feldspar learn``: a model from data."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from feldspar.cli.flags import common_flags
from feldspar.cli.methods import METHODS, Method, Task
from feldspar.cli.output import emit, print_pairs, print_table
from feldspar.cli.sources import ModelTarget, complete_source, is_data_set, read_source
from feldspar.datasets import load
from feldspar.table import Table
from feldspar.tuning import TunedWeights

_EPILOG = """\b
Example:
  feldspar learn nltcs -o nltcs.json
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
        type=ModelTarget(),
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
    @click.option("--seed", type=int, default=0, show_default=True, help="For rows held out.")
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
        seed: int,
        n_jobs: int | None,
        **hyper_parameters: Any,  # whatever options the methods have
    ) -> None:
        """Learn a Markov network from data.

        TRAIN names a file or a data set, whose training part is used unless :valid or :test follows
        its name.

        Penalties may be repeated. Every combination of them is then learned, and what scores
        highest on the validation data is written.
        """
        chosen = by_name[method]
        options = own_options(context, chosen, hyper_parameters)
        started = time.perf_counter()
        task = Task(*_tables(train, valid, weights), seed, n_jobs)
        tuned = chosen.learn(task, options)
        tuned.network.metadata["learner"] = {"method": method, **options}
        tuned.network.save(output)
        result = _plain(tuned, task, output) | {"seconds": time.perf_counter() - started}
        emit(result, lambda: _show(result))

    # Shared options are the same object in several methods; a dict keeps the first of each.
    learn.params.extend({o: None for method in methods for o in method.options})
    return learn


def own_options(context: click.Context, method: Method, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a method's own options; it is an error to give those of another."""
    own = {option.name for option in method.options}
    for parameter in context.command.params:
        name = parameter.name
        if name in values and name not in own and _is_given(context, name):
            raise click.UsageError(f"{parameter.opts[0]} is no option of --method {method.name}.")
    return {name: value for name, value in values.items() if name in own}


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _tables(train: str, valid: str | None, weights: str | None) -> tuple[Table, Table | None]:
    if valid is None and weights is None and is_data_set(train):
        split = load(train)
        return split.train, split.valid
    table = read_source(train, part="train", weights=weights)
    if valid is None:
        return table, None
    return table, read_source(valid, part="valid", schema=table.schema, weights=weights)


def _plain(tuned: TunedWeights, task: Task, output: Path) -> dict[str, Any]:
    best = tuned.trials[tuned.best].to_dict()
    return {
        "model": str(output),
        "n_variables": len(tuned.network.schema),
        "n_features": len(tuned.network.features),
        "n_nonzero": best["n_features"],
        "train_pll": tuned.network.score(task.train, n_jobs=task.n_jobs),
        "valid_pll": best["valid_pll"],
        "prior_sd": best["prior_sd"],
        "l1": best["l1"],
        "status": best["status"],
        "trials": [trial.to_dict() for trial in tuned.trials],
    }


def _show(result: dict[str, Any]) -> None:
    valid = result["valid_pll"]
    if len(result["trials"]) > 1:
        columns = ("prior sd", "L1", "valid PLL", "features", "seconds", "status")
        print_table(columns, map(_trial_row, result["trials"]), text=0)
    print_pairs(
        {
            "model": result["model"],
            "features": f"{result['n_features']}, {result['n_nonzero']} with non-zero weight",
            "penalty": f"prior sd {_number(result['prior_sd'])}, L1 {result['l1']:g}",
            "train PLL": f"{result['train_pll']:.6f}",
            "valid PLL": "no validation data" if valid is None else f"{valid:.6f}",
            "status": f"{result['status']} in {result['seconds']:.2f} s",
        }
    )


def _trial_row(trial: dict[str, Any]) -> tuple[str, ...]:
    return (
        _number(trial["prior_sd"]),
        _number(trial["l1"]),
        f"{trial['valid_pll']:.6f}",
        str(trial["n_features"]),
        f"{trial['seconds']:.2f}",
        trial["status"],
    )


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


learn = learn_command(METHODS)
