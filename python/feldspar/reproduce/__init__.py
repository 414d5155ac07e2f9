"""The papers' tables and figures, with our numbers beside theirs.

``papers/`` has the papers' numbers. `catalogue` says what each experiment is made of, `_kinds`
what its units do, `_runner` runs them and keeps their results, `_outcome` puts them beside the
papers', `_texts` and `_figures` show that.

>>> from feldspar.reproduce import names
>>> "lowd2014-table3" in names()
True
"""

from feldspar.reproduce._experiment import Column, Experiment, Measure, Row
from feldspar.reproduce._outcome import Cell, ExperimentResult
from feldspar.reproduce._papers import published
from feldspar.reproduce._run import (
    DEFAULT_OUTPUT,
    find_experiments,
    reproduce,
    write_results_page,
)
from feldspar.reproduce._texts import measure_table, summary_table, tests_table
from feldspar.reproduce.catalogue import catalogue

__all__ = [
    "DEFAULT_OUTPUT",
    "Cell",
    "Column",
    "Experiment",
    "ExperimentResult",
    "Measure",
    "Row",
    "catalogue",
    "find_experiments",
    "measure_table",
    "names",
    "published",
    "reproduce",
    "summary_table",
    "tests_table",
    "write_results_page",
]


def names() -> list[str]:
    """Return the names of the experiments."""
    return list(catalogue())
