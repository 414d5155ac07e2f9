"""Columns that name the rows instead of describing them.

A value that occurs once says nothing about other rows. A column of such values is most often a
number or a name of the example that was left in by mistake: it makes networks large and no better.
"""

from __future__ import annotations

import numpy as np

from feldspar._caution import warn_user
from feldspar.schema import listing
from feldspar.table import Table

# In fewer rows, all values may differ by chance.
_FEWEST = 100


def warn_of_identifiers(table: Table) -> None:
    """Warn of columns no two rows of which have the same value."""
    found = [name for v, name in enumerate(table.schema.names) if _is_identifier(table, v)]
    if not found:
        return
    column = "column" if len(found) == 1 else "columns"
    warn_user(
        f"{column} {listing([repr(name) for name in found])}: every row has a value of its own, "
        "which says nothing about other rows; leave identifiers out, and cut numbers into "
        "intervals with feldspar.discretize",
    )


def _is_identifier(table: Table, variable: int) -> bool:
    if table.schema.cardinalities[variable] < _FEWEST:
        return False
    codes = table.codes[:, variable]
    known = codes[codes >= 0]
    return len(known) >= _FEWEST and len(np.unique(known)) == len(known)
