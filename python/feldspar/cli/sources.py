"""Arguments that name data or models: a file, or one of the data sets."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from feldspar import datasets
from feldspar.io.csv_text import Header
from feldspar.io.dependency_models import load_model
from feldspar.io.tabular import read_table
from feldspar.network import MarkovNetwork
from feldspar.schema import Schema
from feldspar.table import Table

PARTS = ("train", "valid", "test")
MODEL_SUFFIXES = (".json", ".mn", ".uai")
TABLE_SUFFIXES = (".csv", ".data", ".parquet", ".pq")
PAGE_SUFFIXES = (".html", ".htm")

F = TypeVar("F", bound=Callable[..., Any])


class FileTarget(click.Path):
    """Where a file is to be written: found wanting before the work, not after it."""

    name = "file"

    def __init__(self, suffixes: tuple[str, ...], *, may_be_packed: bool = True) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)
        self._suffixes = suffixes
        self._may_be_packed = may_be_packed

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Check ending and folder."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        name = path.name.removesuffix(".gz") if self._may_be_packed else path.name
        if Path(name).suffix.lower() not in self._suffixes:
            packed = " (with .gz after it, if you like)" if self._may_be_packed else ""
            endings = ", ".join(self._suffixes)
            self.fail(f"{path}: expected a name that ends with {endings}{packed}", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"{path}: the folder {path.parent} does not exist", param, ctx)
        if not os.access(path.parent, os.W_OK):
            self.fail(f"{path}: the folder {path.parent} may not be written to", param, ctx)
        return path


class NamedList(click.ParamType):  # type: ignore[type-arg]  # generic in new releases of click
    """Names separated by commas, each one of a list; ``all`` is every one of them."""

    name = "names"

    def __init__(self, what: str, names: list[str]) -> None:
        self.what = what
        self.names = names

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        """Return the names, in the order given, each once."""
        if isinstance(value, list):
            return value
        if value == "all":
            return list(self.names)
        given = [name.strip() for name in value.split(",") if name.strip()]
        for name in given:
            if name not in self.names:
                close = difflib.get_close_matches(name, self.names, n=2)
                hint = (
                    f"did you mean {' or '.join(close)}?"
                    if close
                    else f"expected {', '.join(self.names)}"
                )
                self.fail(f"there is no {self.what} {name!r}; {hint}", param, ctx)
        if not given:
            self.fail(f"expected one {self.what} or several, got none", param, ctx)
        return list(dict.fromkeys(given))

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Complete the last of the names."""
        before, comma, last = incomplete.rpartition(",")
        return [
            CompletionItem(f"{before}{comma}{name}") for name in self.names if name.startswith(last)
        ]


def complete_source(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the shell the data sets that begin so, and files."""
    names = [name for name in datasets.names() if name.startswith(incomplete)]
    return [*map(CompletionItem, names), CompletionItem(incomplete, type="file")]


def header_flag(command: F) -> F:
    """Add ``--header`` and ``--no-header`` to a command that reads data."""

    def to_header(context: click.Context, _: click.Parameter, value: bool | None) -> Header:
        return "auto" if value is None else value

    return click.option(
        "--header/--no-header",
        default=None,
        callback=to_header,
        help="Whether the first line of a CSV file holds the names of the columns.  [found out]",
    )(command)


def is_data_set(source: str) -> bool:
    """Tell whether a source is the bare name of a data set, with no file in its way."""
    return source in datasets.names() and not Path(source).exists()


def read_source(
    source: str,
    *,
    part: str,
    schema: Schema | None = None,
    optional: Collection[str] = (),
    weights: str | None = None,
    header: Header = "auto",
) -> Table:
    """Return the table that a source names.

    Parameters
    ----------
    source : str
        A file, or ``NAME`` or ``NAME:PART`` of a data set. A file comes first.
    part : {"train", "valid", "test"}
        Which part of a data set, where the source does not say.
    schema : Schema, optional
        The variables to expect.
    optional : collection of str
        Those of them that a file need not have a column for.
    weights : str, optional
        The column of a file that holds the rows' weights.
    header : bool or "auto"
        Whether the first line of a CSV file holds the names of the columns.

    Raises
    ------
    ValueError
        If there is neither a file nor a data set of this name.
    """
    if Path(source).exists():
        return read_table(source, schema=schema, optional=optional, weights=weights, header=header)
    name, colon, chosen = source.partition(":")
    if name not in datasets.names():
        raise ValueError(f"{source}: there is no such file or data set; {_hint(name)}")
    if colon and chosen not in PARTS:
        expected = ", ".join(f"{name}:{known}" for known in PARTS)
        raise ValueError(f"{source}: no such part of a data set; expected {expected}")
    if weights is not None:
        raise ValueError(f"--weights {weights}: the data set {name} has no column of weights")
    table: Table = getattr(datasets.load(name), chosen or part)
    return table if schema is None else _fitted(table, schema)


def read_network(path: Path) -> MarkovNetwork:
    """Return the Markov network of a file; of another model, say how to make one of it."""
    network = load_model(path)
    if not isinstance(network, MarkovNetwork):
        raise ValueError(
            f"{path} is a dependency network, which has no joint distribution; "
            "`feldspar convert` makes a Markov network of it"
        )
    return network


def is_nameless(schema: Schema) -> bool:
    """Tell whether a schema knows no names or labels, as in ``.mn`` and ``.uai`` files."""
    return schema == Schema(schema.cardinalities)


def _fitted(table: Table, schema: Schema) -> Table:
    # Without names to match by, columns go by position: a data set's codes are always the same.
    return Table(table.codes, schema) if is_nameless(schema) else table.with_schema(schema)


def _hint(name: str) -> str:
    close = difflib.get_close_matches(name, datasets.names(), n=2)
    return f"did you mean {' or '.join(close)}?" if close else "`feldspar data` lists the data sets"
