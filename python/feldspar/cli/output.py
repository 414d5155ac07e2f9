"""What commands print: JSON for machines, tables for people, progress on a terminal only."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

from feldspar.cli.flags import is_set


def emit(result: Mapping[str, Any], show: Callable[[], None]) -> None:
    """Print a result as JSON if ``--json`` is set; else have ``show`` print it for people."""
    if is_set(click.get_current_context(), "--json"):
        click.echo(json.dumps(storable(result), indent=2, allow_nan=False))
    else:
        show()


def storable(value: Any) -> Any:
    """Return a value with its infinite numbers as texts, since JSON has none.

    Examples
    --------
    >>> storable({"min_support": float("inf"), "C": [0.5, float("-inf")]})
    {'min_support': 'inf', 'C': [0.5, '-inf']}
    """
    if isinstance(value, Mapping):
        return {name: storable(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [storable(part) for part in value]
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def note(text: str) -> None:
    """Tell people something that is no part of the result."""
    click.echo(f"Note: {text}", err=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, text: int = 1) -> None:
    """Print a table: the first ``text`` columns hold text, the others numbers."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place < text else "right", overflow="fold")
    for row in rows:
        # Not as markup: names of variables may have brackets.
        table.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
    # Nobody folds the lines of a pipe, so they stay whole; a table takes no more than it needs.
    Console(highlight=False, width=None if sys.stdout.isatty() else 10_000).print(table)


def print_pairs(pairs: Mapping[str, object]) -> None:
    """Print names and values, one pair a line."""
    width = max(map(len, pairs))
    for name, value in pairs.items():
        click.echo(f"{name:<{width}}  {value}")


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Give a function that says what is being done, where somebody is watching."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield status.update
