"""What an experiment is: rows, columns, and where each number comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from feldspar.reproduce._papers import published
from feldspar.reproduce._runner import Runner


@dataclass(frozen=True)
class Options:
    """What a run of any experiment may choose.

    Attributes
    ----------
    cmll : mapping
        How the conditional marginal log-likelihood is computed.
    """

    cmll: Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """A line of a table: a data set, or a setting of synthetic data."""

    label: str
    dataset: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Measure:
    """What is measured.

    Attributes
    ----------
    name : str
        For people, and the key of a column beside its method.
    digits : int
    compared : {"difference", "ratio", "none"}
        How ours is set beside the paper's: ours - paper, or paper / ours for times.
    is_score : bool
        Whether higher is better, so that tests and counts make sense.
    per_variable : bool
        Whether it is already divided by the number of variables.
    """

    name: str
    digits: int = 3
    compared: Literal["difference", "ratio", "none"] = "difference"
    is_score: bool = False
    per_variable: bool = False


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    method : str
        Short name of the learner, as in ``--methods``.
    title : str
        Of the learner, as the paper calls it.
    measure : Measure
    value : callable
        Gets the runner, the row and the options and returns a number, or raises ``MissingError``.
    paper : str or None
        The column of the published table.
    """

    method: str
    title: str
    measure: Measure
    value: Callable[[Runner, Row, Options], float]
    paper: str | None = None


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    Attributes
    ----------
    name : str
        Like ``lowd2014-table3``.
    title : str
    rows : tuple of Row
    columns : tuple of Column
    table : str or None
        The file with the published numbers.
    tests : tuple of pairs of str
        Methods to compare by the Wilcoxon signed-rank test, in every measure that is a score or a
        time.
    figure : str
        The form of the plot: one of ``feldspar.reproduce._figures.FORMS``.
    claims : tuple of str
        What the paper says in words that a reader may hold against the tables.
    departures : tuple of str
        Where ours is not the paper's protocol.
    base : str
        The method that relative plots take as zero.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    table: str | None = None
    tests: tuple[tuple[str, str], ...] = ()
    figure: str = "paper-against-ours"
    claims: tuple[str, ...] = ()
    departures: tuple[str, ...] = ()
    base: str = ""

    @property
    def datasets(self) -> tuple[str, ...]:
        """The data sets, each once."""
        return tuple(dict.fromkeys(row.dataset for row in self.rows))

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods, each once."""
        return tuple(dict.fromkeys(column.method for column in self.columns))

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures, each once."""
        return tuple(dict.fromkeys(column.measure for column in self.columns))

    def printed(self, row: Row, column: Column) -> float | None:
        """Return the paper's number, if it gives one."""
        if self.table is None or column.paper is None:
            return None
        return published(self.table).get(row.label, {}).get(column.paper)


def selected(names: Sequence[str], known: Sequence[str], what: str) -> tuple[str, ...]:
    """Return the names that are asked for, all of which must be known; all if none is given."""
    for name in names:
        if name not in known:
            raise ValueError(f"there is no {what} {name!r} here; expected {', '.join(known)}")
    return tuple(name for name in known if not names or name in names)
