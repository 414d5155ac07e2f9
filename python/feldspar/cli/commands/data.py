"""``feldspar data``: the data sets, and whether they are here and whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from feldspar import datasets
from feldspar.cli.flags import common_flags
from feldspar.cli.output import emit, print_table
from feldspar.datasets._files import find_files

_EPILOG = """\b
Example:
  feldspar data
  feldspar data fetch nltcs plants
  feldspar data check nltcs
"""

_data_home = click.option(
    "--data-home",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to look into first, and to download to.",
)
_names = click.argument("names", nargs=-1, required=True, metavar="NAME...")


@click.group(invoke_without_command=True, epilog=_EPILOG)
@common_flags
@click.pass_context
def data(context: click.Context) -> None:
    """List, fetch and check data sets.

    Benchmark sets are looked for in --data-home, in $FELDSPAR_DATA and in the cache, and downloaded
    if they are nowhere.
    """
    if context.invoked_subcommand is None:
        context.invoke(list_command)


@data.command("list", epilog="\b\nExample:\n  feldspar data list --json\n")
@_data_home
@common_flags
def list_command(data_home: Path | None = None) -> None:
    """List the data sets, and where those are that are here."""
    sets = [_about(name, data_home) for name in datasets.names()]
    columns = ("name", "folder", "train", "valid", "test", "variables", "density")
    rows = [[entry[column] for column in columns] for entry in sets]
    emit({"data_sets": sets}, lambda: print_table(columns, rows, text=2))


@data.command("fetch", epilog="\b\nExample:\n  feldspar data fetch nltcs\n")
@_names
@_data_home
@common_flags
def fetch_command(names: tuple[str, ...], data_home: Path | None) -> None:
    """Download data sets that are not here yet, and check them."""
    for name in names:
        datasets.load(name, data_home)
    _report_checks(names, data_home)


@data.command("check", epilog="\b\nExample:\n  feldspar data check nltcs\n")
@_names
@_data_home
@common_flags
def check_command(names: tuple[str, ...], data_home: Path | None) -> None:
    """Compare local copies with the published SHA-256 sums; a damaged file is an error."""
    _report_checks(names, data_home)


def _report_checks(names: tuple[str, ...], data_home: Path | None) -> None:
    files = {name: [str(file) for file in datasets.verify(name, data_home)] for name in names}

    def show() -> None:
        for name, checked in files.items():
            click.echo(f"{name}: good" if checked else f"{name}: built in, nothing to check")
            for file in checked:
                click.echo(f"  {file}")

    emit({"checked": files}, show)


def _about(name: str, data_home: Path | None) -> dict[str, Any]:
    about = datasets.info(name)
    return {
        "name": name,
        "folder": _folder(name, data_home),
        "train": about.train,
        "valid": about.valid,
        "test": about.test,
        "variables": about.variables,
        "density": about.density,
    }


def _folder(name: str, data_home: Path | None) -> str | None:
    if name in ("digits", "survey"):
        return "built in"
    files = find_files(name, data_home)
    return None if files is None else str(files[0].parent)
