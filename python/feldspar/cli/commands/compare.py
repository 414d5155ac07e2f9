"""``feldspar compare``: learners on the same data, as a table and a page."""

from __future__ import annotations

import importlib
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import click

from feldspar.cli.failures import INCOMPLETE, describe
from feldspar.cli.flags import common_flags
from feldspar.cli.methods import METHODS, Task
from feldspar.cli.output import emit, note, print_pairs, print_table, progress
from feldspar.cli.sources import (
    PAGE_SUFFIXES,
    FileTarget,
    NamedList,
    complete_source,
    header_flag,
    is_data_set,
    read_source,
)
from feldspar.datasets import load
from feldspar.io.csv_text import Header
from feldspar.io.files import atomic_write
from feldspar.report import Comparison, ComparisonData, Contender, comparison_page, contender
from feldspar.table import Table

_BY_NAME = {method.name: method for method in METHODS}
_EPILOG = """\b
Example:
  feldspar compare nltcs --methods dtsl,l1,dtl1 -o nltcs.html
  feldspar compare rows.csv --methods l1,dn2mn --test more.csv -o rows.html
"""


@click.command(epilog=_EPILOG)
@click.argument("data", shell_complete=complete_source)
@click.option(
    "--methods",
    type=NamedList("method", list(_BY_NAME)),
    default="dtsl,l1,dn2mn",
    show_default=True,
    help=f"Which learners, separated by commas: {', '.join(_BY_NAME)}.",
)
@click.option(
    "--valid",
    shell_complete=complete_source,
    help="The rows to tune by. If left out: a data set's own, else a tenth of DATA.",
)
@click.option(
    "--test",
    shell_complete=complete_source,
    help="The rows to compare on. If left out: a data set's own, else those to tune by.",
)
@click.option("--weights", metavar="COLUMN", help="The column that holds the rows' weights.")
@header_flag
@click.option(
    "-o",
    "--output",
    type=FileTarget(PAGE_SUFFIXES, may_be_packed=False),
    help="The report to write, an .html file.  [none]",
)
@click.option("--cmll", is_flag=True, help="Score by conditional marginal log-likelihood too.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="For each learner; when it is over, its best network so far counts.  [none]",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of all that is random.")
@click.option("--n-jobs", type=int, help="Threads. The result does not depend on it.")
@common_flags
@click.pass_context
def compare(
    context: click.Context,
    data: str,
    methods: list[str],
    valid: str | None,
    test: str | None,
    weights: str | None,
    header: Header,
    output: Path | None,
    cmll: bool,
    time_limit: float | None,
    seed: int,
    n_jobs: int | None,
) -> None:
    """Learn with several methods and compare what they learn.

    DATA names a file or a data set, whose training part is used unless :valid or :test follows its
    name. Each method tunes itself as in its paper; `feldspar learn` has the options of each.

    The report is one HTML file: tables, plots, networks, settings and seeds. It needs no network.
    """
    rows = _data(data, valid, test, weights, header, seed)
    if cmll and len(rows.train.schema) < 2:
        note("CMLL needs at least 2 variables, and is left out")
        cmll = False
    options = {"random_state": seed} if cmll else None
    limit = {} if time_limit is None else {"time_limit": time_limit}
    # They bring scikit-learn along; its import must not count as the first one's learning.
    importlib.import_module("feldspar.learners")
    found: list[Contender] = []
    failures: dict[str, str] = {}
    with progress() as say:
        for name in methods:
            say(f"learning: {name}")
            try:
                found.append(_learn(name, rows, seed, n_jobs, limit, options))
            except (ValueError, ArithmeticError, MemoryError) as error:
                failures[name] = describe(error)
    comparison = Comparison(rows, found, failures, seed)
    if output is not None and found:
        atomic_write(output, comparison_page(comparison))
    written = output if found else None
    plain = comparison.to_dict() | {"report": None if written is None else str(written)}
    emit(plain, lambda: _show(comparison, written))
    for name, reason in failures.items():
        note(f"{name} failed: {reason}")
    if failures:
        context.exit(INCOMPLETE if found else 1)


def _learn(
    name: str,
    data: ComparisonData,
    seed: int,
    n_jobs: int | None,
    limit: dict[str, Any],
    cmll_options: dict[str, Any] | None,
) -> Contender:
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learned = _BY_NAME[name].learn(Task(data.train, data.valid, seed, n_jobs), limit)
    told = list(dict.fromkeys(" ".join(str(w.message).split()) for w in caught))
    for text in told:
        note(f"{name}: {text}")
    return contender(
        name,
        learned.network,
        data,
        settings=learned.settings,
        best_params=learned.best_params,
        trials=learned.trials,
        seconds=time.perf_counter() - started,
        cmll_options=cmll_options,
        n_jobs=n_jobs,
        warnings=told,
    )


def _data(
    source: str,
    valid: str | None,
    test: str | None,
    weights: str | None,
    header: Header,
    seed: int,
) -> ComparisonData:
    read = partial(read_source, weights=weights, header=header)
    split = load(source) if weights is None and is_data_set(source) else None
    train = read(source, part="train") if split is None else split.train
    parts: dict[str, Table | None] = {
        "valid": None if split is None else split.valid,
        "test": None if split is None else split.test,
    }
    for part, given in (("valid", valid), ("test", test)):
        if given is not None:
            parts[part] = read(given, part=part, schema=train.schema)
    name = Path(source).name if split is None else source
    return ComparisonData.of(name, train, parts["valid"], parts["test"], seed=seed)


def _show(comparison: Comparison, report: Path | None) -> None:
    data = comparison.data
    if not comparison.contenders:
        return
    columns, rows = comparison.table()
    print_table(columns, rows)
    pairs: dict[str, object] = {
        "data": f"{data.name}, {len(data.train.schema)} variables, "
        + ", ".join(f"{len(table)} {part}" for part, table in data.parts().items())
        + " rows",
        "compared by": f"mean PLL of the {data.judged_by} rows",
        "best": comparison.best.name,
    }
    note = data.scored_note()
    print_pairs(
        pairs | ({"gaps": note} if note else {}) | ({} if report is None else {"report": report})
    )
