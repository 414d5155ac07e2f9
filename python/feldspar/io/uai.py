"""Markov networks in the format of the UAI inference competitions, ``.uai``.

A file is a list of words between any white space: ``MARKOV`` (or ``BAYES``: a conditional table is
a factor like any other), the number of variables and of values of each; the number of factors and
the scope of each, its size first; then each factor's table, its number of cells first. The last
variable of a scope changes fastest. Lines that start with the word ``c`` are comments.

Cells are potentials, not logarithms, and a table has a cell for each joint value of its scope. As
in Libra's format there are no names, labels or metadata.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from feldspar.io.files import Target, atomic_write, read_text, source_name
from feldspar.io.source import TokenStream
from feldspar.io.terms import HARD_WEIGHT, Term, soften_terms
from feldspar.network import MarkovNetwork
from feldspar.schema import MAX_CARDINALITY, Schema

__all__ = ["HARD_WEIGHT", "format_uai", "read_uai", "write_uai"]

MAX_TABLE = 2**20
"""The most cells that one factor may have in a file that we write."""

# Beyond these the exponential of a double overflows, or underflows to a denormal or zero.
_MAX_LOG, _MIN_LOG = 709.0, -708.0

_COMMENT = re.compile(r"^\s*c(?:\s.*)?$")
_INTEGER = re.compile(r"[0-9]{1,18}")
_NUMBER = re.compile(r"\+?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?", re.IGNORECASE)

_Scope: TypeAlias = tuple[int, ...]
_LogTable: TypeAlias = npt.NDArray[np.float64]


def read_uai(path: Target) -> MarkovNetwork:
    """Read a Markov network from a ``.uai`` file.

    Every cell becomes a feature that is true for its joint value, with the logarithm of the cell
    as weight; cells that hold 1 need none. A cell that holds 0 gets the weight ``-HARD_WEIGHT``,
    with one warning that says how many there were. Factors without variables are constants, and
    left out.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    MarkovNetwork
        Variables without names or labels.

    Raises
    ------
    ModelFileError
        If the file does not follow the format; the message names line and column.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from feldspar.io.uai import read_uai
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.uai")
    ...     _ = path.write_text("MARKOV 2  2 3  1  2 0 1  6  1 1 1  1 1 7.5")
    ...     network = read_uai(path)
    >>> list(network.features)
    [((0, 1), (1, 2))]
    """
    name = source_name(path)
    reader = _Reader(TokenStream(read_text(path), name=name, comment=_COMMENT))
    terms = list(reader.terms())
    return MarkovNetwork.from_terms(Schema(reader.cardinalities), soften_terms(terms, name=name))


class _Reader:
    """The parts of a file in the order in which they stand there."""

    def __init__(self, tokens: TokenStream) -> None:
        self._tokens = tokens
        self._preamble()
        n_variables = self._integer("the number of variables", at_least=1)
        self.cardinalities = tuple(self._cardinality(variable) for variable in range(n_variables))
        n_factors = self._integer("the number of factors")
        self._scopes = [self._scope(factor) for factor in range(n_factors)]

    def terms(self) -> Iterator[Term]:
        for factor, scope in enumerate(self._scopes):
            values = self._table(factor, scope)
            states = itertools.product(*(range(self.cardinalities[v]) for v in scope))
            for state, value in zip(states, values, strict=True):
                weight = math.log(value) if value else -math.inf
                if weight:
                    yield tuple(zip(scope, state, strict=True)), weight
        if (token := self._tokens.take()).text:
            raise self._tokens.unexpected(token, "the end of the file after the last table")

    def _preamble(self) -> None:
        token = self._tokens.take()
        if token.text.upper() not in ("MARKOV", "BAYES"):
            raise self._tokens.unexpected(token, "'MARKOV' or 'BAYES'")

    def _cardinality(self, variable: int) -> int:
        token = self._tokens.peek()
        what = f"the number of values of variable {variable}"
        cardinality = self._integer(what, at_least=1)
        if cardinality > MAX_CARDINALITY:
            raise self._tokens.unexpected(token, f"{what}, at most {MAX_CARDINALITY}")
        return cardinality

    def _scope(self, factor: int) -> _Scope:
        size = self._integer(f"the number of variables of factor {factor}")
        scope: list[int] = []
        for _ in range(size):
            token = self._tokens.peek()
            variable = self._integer(f"a variable of factor {factor}")
            if variable >= len(self.cardinalities):
                last = len(self.cardinalities) - 1
                problem = f"factor {factor}: no variable {variable}, they are 0 to {last}"
                raise self._tokens.error(token, problem)
            if variable in scope:
                raise self._tokens.error(token, f"factor {factor}: variable {variable} twice")
            scope.append(variable)
        return tuple(scope)

    def _table(self, factor: int, scope: _Scope) -> list[float]:
        start = self._tokens.peek()
        size = self._integer(f"the number of cells of factor {factor}")
        n_cells = math.prod(self.cardinalities[variable] for variable in scope)
        if size != n_cells:
            over = ", ".join(map(str, scope))
            problem = f"factor {factor} over variables ({over}) has {n_cells} cells, got {size}"
            raise self._tokens.error(start, problem)
        values = [self._potential(factor, cell) for cell in range(n_cells)]
        if not any(values):
            raise self._tokens.error(start, f"factor {factor} is 0 everywhere, no state possible")
        return values

    def _potential(self, factor: int, cell: int) -> float:
        token = self._tokens.take()
        value = float(token.text) if _NUMBER.fullmatch(token.text) else math.nan
        if not math.isfinite(value):
            expected = f"cell {cell} of factor {factor}, a finite number of at least 0"
            raise self._tokens.unexpected(token, expected)
        return value

    def _integer(self, what: str, *, at_least: int = 0) -> int:
        token = self._tokens.take()
        if not _INTEGER.fullmatch(token.text) or int(token.text) < at_least:
            raise self._tokens.unexpected(token, f"{what}, an integer of at least {at_least}")
        return int(token.text)


def write_uai(network: MarkovNetwork, path: Target, *, max_table: int = MAX_TABLE) -> None:
    """Write a Markov network to a ``.uai`` file, whole or not at all.

    Features with the same variables share a factor. Features with fewer of them keep one of their
    own: a conjunction of single values then reads back as the same feature. A variable in no
    feature gets a factor of ones. Where the potentials of a factor would not fit in a double, all
    of them are scaled, which changes the network by a constant only.

    Parameters
    ----------
    network : MarkovNetwork
        What to write. Names, labels and metadata have no place in this format.
    path : str or Path
        The file; an old one is replaced.
    max_table : int, default 2**20
        The most cells that a factor may have.

    Raises
    ------
    ValueError
        If a feature needs a larger table, or a factor's potentials fit in a double under no scale.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import feldspar as fs
    >>> from feldspar.io.uai import write_uai
    >>> network = fs.MarkovNetwork.from_terms(fs.Schema([2, 2]), [([(0, 1), (1, 1)], 0.5)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.uai")
    ...     write_uai(network, path)
    ...     print(path.read_text(), end="")
    MARKOV
    2
    2 2
    1
    2 0 1
    <BLANKLINE>
    4
    1.0 1.0 1.0 1.6487212707001282
    """
    atomic_write(path, format_uai(network, max_table=max_table))


def format_uai(network: MarkovNetwork, *, max_table: int = MAX_TABLE) -> str:
    """Return the text of a ``.uai`` file; see `write_uai`."""
    cardinalities = network.schema.cardinalities
    tables = _log_tables(network, max_table)
    lines = ["MARKOV", str(len(cardinalities)), _words(cardinalities), str(len(tables))]
    lines.extend(_words((len(scope), *scope)) for scope in tables)
    for scope, table in tables.items():
        potentials = np.exp(_in_range(scope, table)).ravel().tolist()
        lines.extend(["", str(table.size), _words(map(repr, potentials))])
    return "\n".join([*lines, ""])


def _words(items: Iterable[object]) -> str:
    return " ".join(map(str, items))


def _log_tables(network: MarkovNetwork, max_table: int) -> dict[_Scope, _LogTable]:
    """Return the log-potentials of each scope, in the order in which the features bring them."""
    cardinalities = network.schema.cardinalities
    tables: dict[_Scope, _LogTable] = {}
    for number, tests in enumerate(network.features):
        scope = tuple(variable for variable, _ in tests)
        shape = tuple(cardinalities[variable] for variable in scope)
        if math.prod(shape) > max_table:
            raise ValueError(
                f"feature {number} ({network.features.describe(number)}) needs a table of "
                f"{math.prod(shape)} cells, more than max_table={max_table}; "
                "the .mn and .json formats have no such limit"
            )
        table = tables.setdefault(scope, np.zeros(shape))
        cells = np.ix_(*(_values(admitted) for _, admitted in tests))
        table[cells] += network.weights[number]
    covered = {variable for scope in tables for variable in scope}
    for variable in sorted(set(range(len(cardinalities))) - covered):
        tables[(variable,)] = np.zeros(cardinalities[variable])
    return tables


def _values(admitted: int | frozenset[int]) -> list[int]:
    return [admitted] if isinstance(admitted, int) else sorted(admitted)


def _in_range(scope: _Scope, table: _LogTable) -> _LogTable:
    """Shift a table, if it must be, so that the exponentials of all its cells are doubles."""
    low, high = float(table.min()), float(table.max())
    if low >= _MIN_LOG and high <= _MAX_LOG:
        return table
    if high - low > _MAX_LOG - _MIN_LOG:
        raise ValueError(
            f"the factor over variables {scope} has log-potentials from {low:g} to {high:g}: "
            "their exponentials do not fit in doubles; use the .mn or .json format"
        )
    return table - (low + high) / 2
