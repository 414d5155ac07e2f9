"""Rows with gaps: what can be learned from them, and how it is told.

A term of the pseudo-log-likelihood, ``log P(x_v | rest)``, depends on ``v`` and on the variables
that share features with it. It is known wherever these are known, whatever else is missing in the
row. Weight learning uses every such term and no others. That is sound as long as the value of a
variable has no say in what is missing once the variables it shares features with are given: each
term is a conditional likelihood, and its rows are chosen by what it is conditioned on.

Structure learners compare all variables with all others, and use complete rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from feldspar import _core
from feldspar._caution import warn_user
from feldspar._random import RandomState, generator
from feldspar.features import FeatureSet, core_dataset
from feldspar.schema import listing
from feldspar.table import Table

__all__ = [
    "MissingValuesWarning",
    "complete_rows",
    "complete_validation_rows",
    "counted_rows",
    "gaps",
    "hold_out",
    "is_complete",
    "known_terms",
    "pseudo_likelihood",
]


class MissingValuesWarning(UserWarning):
    """Training data have gaps: only a part of them was used."""


def gaps(table: Table) -> str:
    """Return which columns have missing values, and how many."""
    counts = (table.codes < 0).sum(axis=0)
    columns = [f"{table.schema.names[v]} ({counts[v]})" for v in np.flatnonzero(counts).tolist()]
    noun = "column" if len(columns) == 1 else "columns"
    return f"missing values in {len(columns)} {noun}: {listing(columns)}"


def is_complete(table: Table) -> npt.NDArray[np.bool_]:
    """Return which rows have no gaps, and count."""
    complete: npt.NDArray[np.bool_] = ~(table.codes < 0).any(axis=1) & (table.weights > 0)
    return complete


def counted_rows(table: Table) -> Table:
    """Return the rows of a weight above 0, so that the others have no part in what is drawn."""
    if not table.has_weights or bool((table.weights > 0).all()):
        return table
    return table[table.weights > 0]


def complete_rows(table: Table, name: str = "X", wanted: str = "to learn from") -> Table:
    """Return the rows without gaps; refuse a table that has none."""
    if not table.has_missing:
        return table
    complete = is_complete(table)
    if not complete.any():
        raise ValueError(
            f"{name}: none of the {len(table)} rows is complete; {gaps(table)}; expected complete "
            f"rows {wanted}: leave columns with many gaps out"
        )
    return table[complete]


def complete_validation_rows(valid: Table) -> Table:
    """Return the rows to choose by, and tell of those that are left out."""
    valid = counted_rows(valid)
    complete = complete_rows(valid, "the validation data", "to choose by")
    if complete is not valid:
        warn_user(
            f"X_valid has {gaps(valid)}; the {len(complete)} of {len(valid)} rows that are "
            "complete are chosen by",
            MissingValuesWarning,
        )
    return complete


def hold_out(
    table: Table, fraction: float, random_state: RandomState, name: str = "X"
) -> tuple[Table, Table]:
    """Return a part of the complete rows, to choose by, and all other rows that count."""
    table = counted_rows(table)
    complete = complete_rows(table, name)
    if complete is table:
        return table.split(fraction, random_state)
    if len(complete) < 2:
        raise ValueError(
            f"{name} has {gaps(table)}; a single row is complete, too few to hold some out; "
            "expected more, validation rows, or one value for each parameter"
        )
    rows = np.flatnonzero(is_complete(table))
    size = max(round(fraction * len(rows)), 1)
    held_out = np.zeros(len(table), dtype=bool)
    held_out[generator(random_state).permutation(rows)[:size]] = True
    return table[held_out], table[~held_out]


def known_terms(table: Table, features: FeatureSet) -> npt.NDArray[np.bool_]:
    """Return, rows by variables, of which variable the conditional is known on which row."""
    from scipy.sparse import csr_array

    begin, variables, _, _ = features._arrays
    shape = (len(features), len(table.schema))
    tests = csr_array((np.ones(len(variables)), variables, begin), shape=shape)
    shared = (tests.T @ tests).toarray() > 0
    np.fill_diagonal(shared, True)
    missing = (table.codes < 0).astype(np.float32)
    known: npt.NDArray[np.bool_] = (missing @ shared.astype(np.float32)) == 0
    return known


def pseudo_likelihood(
    table: Table, features: FeatureSet, n_threads: int, *, warn: bool = True
) -> _core.PseudoLikelihood:
    """Return the compiled objective; where there are gaps, of all terms that are known."""
    if not table.has_missing:
        return _core.PseudoLikelihood(features._core, core_dataset(table), False, n_threads)
    known = known_terms(table, features) & (table.weights > 0)[:, np.newaxis]
    if not known.any():
        raise ValueError(
            f"X has {gaps(table)}; no variable is known together with those that it shares "
            "features with on any row; expected more complete rows, or other features"
        )
    if warn:
        warn_user(
            f"X has {gaps(table)}; {int(known.sum())} of {known.size} conditionals are known and "
            "used",
            MissingValuesWarning,
        )
    filled = Table._of_parts(np.maximum(table.codes, 0), table.schema, table._weights)
    data: dict[bytes, _core.Dataset | None] = {}
    by_variable = []
    for rows in known.T:
        key = rows.tobytes()
        if key not in data:
            data[key] = core_dataset(filled[rows]) if rows.any() else None
        by_variable.append(data[key])
    return _core.PseudoLikelihood.by_variable(features._core, by_variable, n_threads)
