"""The papers' own numbers, as they were printed."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources


@cache
def published(table: str) -> dict[str, dict[str, float]]:
    """Return a table of a paper: numbers by data set and column.

    Parameters
    ----------
    table : str
        The name of a file in ``papers/``, without its ending.

    Examples
    --------
    >>> published("lowd2014_table3_ncmll_npll")["nltcs"]["npll_dtsl"]
    -0.309
    """
    file = resources.files(__package__).joinpath("papers", f"{table}.csv")
    rows = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    return {
        row.pop("dataset"): {name: float(text) for name, text in row.items()}
        for row in (dict(row) for row in rows)
    }
