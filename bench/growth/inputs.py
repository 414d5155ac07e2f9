"""Data, features and networks of any size, for each axis. Seeded: the same on every machine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

import feldspar as fs
from feldspar import _core
from feldspar._trees import FlatTrees
from feldspar.dependency import DependencyModel
from feldspar.features import core_dataset
from growth import plan

Codes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

_SEED = 0
_LONGEST = 3  # tests of a random conjunction
_STRENGTH = 0.3  # standard deviation of weights that were not learned


class Inputs(ABC):
    """What tasks work on; parts are made when asked for.

    Attributes
    ----------
    size : int
        Along the axis.
    table : Table
    features : FeatureSet
    network : MarkovNetwork
    loss_weight : float
        C of L1 times the number of rows.
    n_draws : int
        Of GSSL's generator.
    n_questions, n_sweeps : int
        Rows to sample for, and sweeps of the chain of each.
    """

    def __init__(self, size: int, folder: Path) -> None:
        self.size = size
        self.folder = folder
        self.loss_weight = 100.0
        self.n_draws = 100_000
        self.n_questions, self.n_sweeps = 10, 1_000

    def make_files(self) -> None:  # noqa: B027  # most axes keep nothing
        """Make what is kept in the folder for all sizes, unless it is there."""

    @property
    @abstractmethod
    def table(self) -> fs.Table:
        """The rows."""

    @property
    @abstractmethod
    def features(self) -> fs.FeatureSet:
        """The features."""

    @cached_property
    def network(self) -> fs.MarkovNetwork:
        """A network of these features, with random weights."""
        weights = np.random.default_rng(_SEED).normal(0, _STRENGTH, len(self.features))
        return fs.MarkovNetwork(self.features, weights)

    @cached_property
    def dependency(self) -> DependencyModel:
        """A dependency network of trees; chance makes no splits, however many there are to try."""
        return fs.DependencyNetwork(cpd="tree", kappa=1e-6, n_jobs=1).fit(self.table)

    @property
    def data(self) -> _core.Dataset:
        """The rows, merged."""
        return core_dataset(self.table)


class ManyRows(Inputs):
    """Rows sampled from a network that was learned."""

    def __init__(self, size: int, folder: Path) -> None:
        super().__init__(size, folder)
        self.n_questions, self.n_sweeps = size, 100

    def make_files(self) -> None:
        """Learn the network and draw the rows of the largest size."""
        if self._rows_file.exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        learner = fs.DTSL(kappa=0.01, conversion="default", prior_sd=1.0, n_jobs=1)
        network = learner.fit(fs.datasets.load("digits").train).network_
        network.save(self._network_file)
        most = max(plan.axis("rows").sizes)
        sample = network.sample(most, n_chains=100, random_state=_SEED, n_jobs=1)
        np.save(self._rows_file, sample.codes)

    @property
    def _network_file(self) -> Path:
        return self.folder / "network.json"

    @property
    def _rows_file(self) -> Path:
        return self.folder / "rows.npy"

    @cached_property
    def table(self) -> fs.Table:
        """The first rows of the sample."""
        codes = np.array(np.load(self._rows_file, mmap_mode="r")[: self.size])
        return fs.Table.from_array(codes, schema=self.network.schema)

    @cached_property
    def features(self) -> fs.FeatureSet:
        """The features of the network."""
        return self.network.features

    @cached_property
    def network(self) -> fs.MarkovNetwork:
        """The leaves of trees, with learned weights."""
        return fs.MarkovNetwork.load(self._network_file)


class ManyVariables(Inputs):
    """Sparse binary variables, each the child of an earlier one; a few features for each."""

    @cached_property
    def table(self) -> fs.Table:
        """2,000 rows."""
        return sparse_table(2_000, parents_of(self.size))

    @cached_property
    def features(self) -> fs.FeatureSet:
        """For each variable: itself, it with its parent, and with its parent's parent as well."""
        parents = parents_of(self.size)
        own = np.arange(self.size)
        lines = [(own, own, own), (own, own, parents), (own, parents, parents[parents])]
        triples = np.concatenate([np.column_stack(line) for line in lines])
        return conjunctions(self.table.schema, triples, np.ones_like(triples))


class ManyFeatures(Inputs):
    """Random conjunctions on data that stay the same."""

    def __init__(self, size: int, folder: Path) -> None:
        super().__init__(size, folder)
        self.n_draws = size

    @cached_property
    def table(self) -> fs.Table:
        """5,000 rows of 500 variables."""
        return sparse_table(5_000, parents_of(500))

    @cached_property
    def features(self) -> fs.FeatureSet:
        """As many conjunctions of ones as asked for."""
        rows, ones = np.nonzero(self.table.codes)
        begin = np.searchsorted(rows, np.arange(len(self.table) + 1))
        return random_conjunctions(self.table, self.size, begin, ones)

    @cached_property
    def dependency(self) -> DependencyModel:
        """Each feature as a term of the conditional of its first variable."""
        schema = self.table.schema
        flat = self.features._core.flatten()
        begin, variables, _, _ = flat
        first = variables[begin[:-1]]  # ascending, as the features are
        targets = np.arange(len(schema), dtype=np.uint32)
        ends = np.searchsorted(first, np.arange(len(schema) + 1))
        terms = (targets, ends.astype(np.int64), flat, self.network.weights)
        core = _core.DependencyNetwork(list(schema.cardinalities), FlatTrees().arrays(), terms)
        marginals = _core.ProductDistribution.marginals(self.data)
        return DependencyModel._of_core(schema, core, marginals=marginals)


class ManyValues(Inputs):
    """Variables of many values, each near an earlier one."""

    def __init__(self, size: int, folder: Path) -> None:
        super().__init__(size, folder)
        self.loss_weight = 6.0 * size  # the more values, the fewer rows speak for each

    @cached_property
    def table(self) -> fs.Table:
        """5,000 rows of 20 variables."""
        rng = np.random.default_rng(_SEED)
        parents = parents_of(20)
        codes = rng.integers(0, self.size, (5_000, len(parents)))
        for child, parent in enumerate(parents[1:], start=1):
            near = (codes[:, parent] + rng.integers(-1, 2, len(codes))) % self.size
            codes[:, child] = np.where(rng.random(len(codes)) < 0.7, near, codes[:, child])
        return fs.Table.from_array(codes, cardinalities=[self.size] * len(parents))

    @cached_property
    def features(self) -> fs.FeatureSet:
        """3,000 conjunctions that hold on some row."""
        n_rows, n_variables = self.table.codes.shape
        begin = np.arange(n_rows + 1) * n_variables
        everything = np.tile(np.arange(n_variables), n_rows)
        return random_conjunctions(self.table, 3_000, begin, everything)


def parents_of(n_variables: int) -> Ints:
    """Return an earlier variable for each; the first is its own."""
    rng = np.random.default_rng(_SEED)
    return rng.integers(0, np.maximum(np.arange(n_variables), 1))


def sparse_table(n_rows: int, parents: Ints) -> fs.Table:
    """Return binary rows in which about one entry in 20 is 1, more often where its parent is."""
    rng = np.random.default_rng(_SEED)
    codes = np.zeros((n_rows, len(parents)), dtype=np.uint8)
    for child, parent in enumerate(parents):
        chance = np.where(codes[:, parent] == 1, 0.5, 0.025)
        codes[:, child] = rng.random(n_rows) < chance
    return fs.Table.from_array(codes, cardinalities=[2] * len(parents))


def random_conjunctions(table: fs.Table, n: int, begin: Ints, entries: Ints) -> fs.FeatureSet:
    """Return distinct conjunctions, each of up to three entries of some row, in ascending order.

    Row ``r`` offers the variables ``entries[begin[r]] ... entries[begin[r + 1]]``.
    """
    rng = np.random.default_rng(_SEED)
    most_values = max(table.schema.cardinalities)
    base = len(table.schema) * most_values
    # A conjunction is a number whose digits are its tests, a test being a variable and its code.
    found = np.empty(0, dtype=np.int64)
    while len(found) < n:
        rows = rng.choice(np.flatnonzero(np.diff(begin)), 2 * n)[:, np.newaxis]
        place = begin[rows] + (rng.random((2 * n, _LONGEST)) * np.diff(begin)[rows]).astype(
            np.int64
        )
        variables = entries[place]
        digits = np.sort(variables * most_values + table.codes[rows, variables], axis=1)
        found = np.union1d(found, digits @ base ** np.arange(_LONGEST - 1, -1, -1))
    chosen = np.sort(rng.choice(found, n, replace=False))
    tests = chosen[:, np.newaxis] // base ** np.arange(_LONGEST - 1, -1, -1) % base
    return conjunctions(table.schema, tests // most_values, tests % most_values)


def conjunctions(schema: fs.Schema, variables: Ints, codes: Ints) -> fs.FeatureSet:
    """Return the features of a table of tests, one a line; a test may be there several times."""
    n, length = variables.shape
    core, _ = _core.FeatureSet.build(
        list(schema.cardinalities),
        np.arange(n + 1) * length,
        variables.ravel().astype(np.uint32),
        np.arange(n * length + 1),
        codes.ravel().astype(np.uint16),
    )
    return fs.FeatureSet._of_core(schema, core)


INPUTS: dict[plan.AxisName, type[Inputs]] = {
    "rows": ManyRows,
    "variables": ManyVariables,
    "features": ManyFeatures,
    "values": ManyValues,
}
