"""A data set as its users see it."""

from __future__ import annotations

from dataclasses import dataclass

from feldspar.schema import Schema
from feldspar.table import Table


@dataclass(frozen=True, repr=False)
class DataSplit:
    """A data set divided into rows to learn from, to tune on and to test on.

    Attributes
    ----------
    name : str
        What the data set is called.
    train, valid, test : Table
        The three parts; they share one schema.
    description : str
        Sizes and source, in a few lines.
    """

    name: str
    train: Table
    valid: Table
    test: Table
    description: str

    @property
    def schema(self) -> Schema:
        """The variables of all three parts."""
        return self.train.schema

    def __repr__(self) -> str:
        sizes = f"{len(self.train)} train, {len(self.valid)} valid, {len(self.test)} test rows"
        return f"DataSplit({self.name!r}: {sizes}; {len(self.schema)} variables)"
