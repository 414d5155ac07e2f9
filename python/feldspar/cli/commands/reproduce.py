"""``feldspar reproduce``: the papers' tables, with our numbers beside theirs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from feldspar.cli.failures import INCOMPLETE
from feldspar.cli.flags import common_flags
from feldspar.cli.output import emit, note, print_pairs, print_table

if TYPE_CHECKING:
    from feldspar.reproduce import Experiment, ExperimentResult

_OUTPUT = Path("feldspar-results")
_EPILOG = """\b
Example:
  feldspar reproduce --list
  feldspar reproduce lowd2014-table3 --datasets nltcs,plants --methods dtsl,l1,dtl1
  feldspar reproduce lowd2014 --budget 60 --output results
  feldspar reproduce --page docs/results.md --output results
"""


def _complete(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from feldspar.reproduce import names

    return [CompletionItem(name) for name in names() if name.startswith(incomplete)]


def _listed(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


@click.command(epilog=_EPILOG)
@click.argument("tables", metavar="[TABLE]...", nargs=-1, shell_complete=_complete)
@click.option("--list", "show_list", is_flag=True, help="List the experiments and what they need.")
@click.option("--datasets", callback=_listed, metavar="NAME,...", help="Which data sets.  [all]")
@click.option("--methods", callback=_listed, metavar="NAME,...", help="Which methods.  [all]")
@click.option(
    "--budget",
    type=click.FloatRange(min=0),
    metavar="MINUTES",
    help="After these, no more learner or score is started; the next run goes on.  [none]",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="For each learner; its best network so far counts, and the result says so.  [none]",
)
@click.option(
    "--inference",
    type=click.Choice(["gibbs", "mcsat"]),
    default="gibbs",
    show_default=True,
    help="What CMLL is computed by, with the papers' numbers of samples.",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=_OUTPUT,
    show_default=True,
    metavar="DIR",
    help="Where results are kept, and tables and plots are written.",
)
@click.option("--again", is_flag=True, help="Run what has been run before, too.")
@click.option(
    "--page",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a page of Markdown with all results in DIR, and plots beside it.",
)
@click.option("--n-jobs", type=int, help="Threads. Scores do not depend on it, times do.")
@common_flags
@click.pass_context
def reproduce(
    context: click.Context,
    tables: tuple[str, ...],
    show_list: bool,
    datasets: tuple[str, ...],
    methods: tuple[str, ...],
    budget: float | None,
    time_limit: float | None,
    inference: Any,
    output: Path,
    again: bool,
    page: Path | None,
    n_jobs: int | None,
) -> None:
    """Reproduce tables and figures of the papers.

    TABLE is an experiment of --list, a paper (all of its experiments) or all. Learners are run one
    at a time; each result is kept in DIR and not computed again, so that an interrupted run goes on
    where it was.
    """
    from feldspar import reproduce as papers

    if show_list:
        _list(papers.find_experiments(_names(tables) or ["all"]))
        return
    if not tables and page is None:
        raise click.UsageError("name a TABLE, or give --list or --page.")
    if page is not None:
        _check_folder(page, output if tables else None)
    results: list[ExperimentResult] = []
    if tables:
        results = papers.reproduce(
            _names(tables),
            datasets=datasets,
            methods=methods,
            output=output,
            budget=budget,
            time_limit=time_limit,
            inference=inference,
            n_jobs=n_jobs,
            again=again,
            report=lambda text: click.echo(text, err=True),
        )
    if page is not None:
        papers.write_results_page(page, output=output, inference=inference)
    plain = {
        "output": str(output),
        "page": None if page is None else str(page),
        "experiments": [result.to_dict() for result in results],
    }
    emit(plain, lambda: _show(results, output, page))
    if not all(result.is_complete for result in results):
        note("some numbers are missing; the same command goes on")
        context.exit(INCOMPLETE)


def _check_folder(page: Path, output: Path | None) -> None:
    """Refuse a page whose folder is neither there nor made for the output."""
    folder = page.resolve().parent
    made = () if output is None else (output.resolve(), *output.resolve().parents)
    if not folder.is_dir() and folder not in made:
        raise click.BadParameter(f"the folder {page.parent} does not exist", param_hint="--page")


def _names(tables: tuple[str, ...]) -> list[str]:
    """Return the names given; ``lowd2014 table 3`` in three words is one."""
    from feldspar.reproduce import find_experiments

    if len(tables) > 1:
        try:
            return [find_experiments([" ".join(tables)])[0].name]
        except ValueError:
            pass
    return list(tables)


def _list(experiments: list[Experiment]) -> None:
    plain = [
        {
            "name": experiment.name,
            "title": experiment.title,
            "methods": list(experiment.methods),
            "measures": [measure.name for measure in experiment.measures],
            "datasets": list(experiment.datasets),
            "numbers": len(experiment.rows) * len(experiment.columns),
        }
        for experiment in experiments
    ]

    def show() -> None:
        rows = [
            (
                experiment.name,
                experiment.title,
                " ".join(experiment.methods),
                _needs(experiment.datasets),
            )
            for experiment in experiments
        ]
        print_table(("experiment", "what", "methods", "data"), rows, text=4)

    emit({"experiments": plain}, show)


def _needs(datasets: tuple[str, ...]) -> str:
    from feldspar.reproduce._units import is_here

    if len(datasets) == 1:
        return {"synthetic": "made on the way"}.get(datasets[0], datasets[0])
    here = sum(map(is_here, datasets))
    return f"{len(datasets)} sets, {here} of them here"


def _show(results: list[ExperimentResult], output: Path, page: Path | None) -> None:
    from feldspar.reproduce import measure_table, summary_table, tests_table

    for result in results:
        click.echo(f"{result.experiment.name}: {result.experiment.title}\n")
        for measure in result.experiment.measures:
            titled = {
                f"{measure.name}:": measure_table(result, measure),
                f"{measure.name}, ours against the paper's:": summary_table(result, measure),
            }
            for title, made in titled.items():
                if made is not None:
                    click.echo(title)
                    print_table(*made)
        if any(cell.is_limited for cell in result.cells):
            click.echo("* stopped by its time limit; its best network so far counts")
        tests = result.tests()
        if tests:
            click.echo("Wilcoxon signed-rank tests (wins:losses:ties of the first):")
            print_table(*tests_table(tests), text=6)
        for reason, methods in result.missing().items():
            count = sum(map(len, methods.values()))
            click.echo(f"missing, {count}: {', '.join(methods)}: {reason}")
        click.echo()
    pairs: dict[str, object] = {"results": output} if results else {}
    if page is not None:
        pairs["page"] = page
    print_pairs(pairs)
