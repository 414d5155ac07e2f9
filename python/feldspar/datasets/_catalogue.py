"""What is known about the benchmark sets without having them: sizes, sources, checksums."""

from __future__ import annotations

import csv
import difflib
from dataclasses import dataclass
from functools import cache
from importlib import resources

PARTS = ("train", "valid", "test")

_SOURCE = "the public repository arranger1044/DEBD, one of the twenty density-estimation sets"


@dataclass(frozen=True)
class DatasetInfo:
    """Sizes and source of a data set.

    Attributes
    ----------
    name : str
        What the data set is called.
    train, valid, test : int
        Rows in each part.
    variables : int
        Number of variables.
    density : float
        The part of ones among the entries of the binary variables.
    source : str
        Where the data come from.
    """

    name: str
    train: int
    valid: int
    test: int
    variables: int
    density: float
    source: str

    @property
    def description(self) -> str:
        """The same as text."""
        return (
            f"{self.name}: {self.train} training, {self.valid} validation and {self.test} test "
            f"rows of {self.variables} variables; density {self.density:g}.\n"
            f"Source: {self.source}."
        )


def benchmark_names() -> list[str]:
    """Return the names of the benchmark sets, fewest variables first."""
    return list(_catalogue())


def benchmark_info(name: str) -> DatasetInfo:
    """Return what is known about a benchmark set; an unknown name is an error with suggestions."""
    known = _catalogue()
    if name not in known:
        options = ["digits", "survey", *known]
        close = difflib.get_close_matches(name, options, n=3)
        hint = f"did you mean {', '.join(close)}?" if close else f"expected {', '.join(options)}"
        raise ValueError(f"no data set is called {name!r}; {hint}")
    return known[name]


@cache
def checksums() -> dict[str, str]:
    """Return the SHA-256 of each unpacked file, by its path in the repository."""
    lines = _resource("SHA256SUMS").splitlines()
    return {path: digest for digest, path in (line.split() for line in lines)}


def repository_path(name: str, part: str) -> str:
    """Return where a part of a benchmark set lies in the repository."""
    return f"datasets/{name}/{name}.{part}.data"


@cache
def _catalogue() -> dict[str, DatasetInfo]:
    return {
        row["name"]: DatasetInfo(
            name=row["name"],
            train=int(row["train"]),
            valid=int(row["valid"]),
            test=int(row["test"]),
            variables=int(row["variables"]),
            density=float(row["density"]),
            source=_SOURCE,
        )
        for row in csv.DictReader(_resource("benchmarks.csv").splitlines())
    }


def _resource(file: str) -> str:
    return resources.files(__package__).joinpath(file).read_text(encoding="utf-8")
