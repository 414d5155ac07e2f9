"""L1-penalised logistic regressions of every variable on all the others."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from feldspar import _core
from feldspar._jobs import resolve_jobs
from feldspar._progress import progress_bar
from feldspar.features import core_codes, core_float
from feldspar.learners._base import one_of
from feldspar.learners._search import Search

# The weights of the loss that Lowd and Davis (2014) try.
C_VALUES = (0.001, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)
Solver: TypeAlias = Literal["coordinate", "owlqn"]
SOLVERS: tuple[Solver, ...] = ("coordinate", "owlqn")


@dataclass(frozen=True)
class PathSettings:
    """Which regressions are solved, and how."""

    C: Sequence[float]
    solver: str
    n_jobs: int | None
    verbose: bool


@dataclass(frozen=True, eq=False)
class Regressions:
    """The regressions for one value of C, or for several.

    Attributes
    ----------
    C : list of float
    core : _core.L1Path
    valid_scores : list of float or None
        Mean log-likelihood of the validation rows for each C, the regressions taken as a dependency
        network.
    """

    C: list[float]
    core: _core.L1Path
    valid_scores: list[float] | None


class JoinedPath:
    """Regressions that were solved for one C after another, as a path of all of them.

    It answers as `_core.L1Path` does: the core does not look at the time between values of C.

    Parameters
    ----------
    cardinalities : sequence of int
    paths : sequence of _core.L1Path
        Of one C each, from small to large.
    """

    def __init__(self, cardinalities: Sequence[int], paths: Sequence[_core.L1Path]) -> None:
        self._cardinalities = np.asarray(cardinalities, dtype=np.int64)
        self._paths = paths

    def choose_by_ebic(self, gamma: float) -> list[int]:
        """Return for each target the C with the least EBIC, of equals the smallest."""
        table = np.hstack([path.ebic(gamma) for path in self._paths])
        return [int(i) for i in table.argmin(axis=1)]

    def edges(
        self, choice: Sequence[int], rule: Literal["and", "or"]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the ends of the edges, in lexicographic order."""
        linked = np.zeros((len(choice), len(choice)), dtype=bool)  # by target, then predictor
        for target, place in enumerate(choice):
            linked[target, self._paths[place].weights(target, 0)[0]] = True
        joined = linked & linked.T if rule == "and" else linked | linked.T
        first, second = np.nonzero(np.triu(joined, k=1))
        return first, second

    def features_by_choice(
        self, choice: Sequence[int], rule: Literal["and", "or"]
    ) -> _core.FeatureSet:
        """Return a feature for each non-zero value and, per edge, each pair of them."""
        n_values = self._cardinalities - 1  # without the first
        first, second = self.edges(choice, rule)
        atoms, value = _places(n_values)
        edge, pair = _places(n_values[first] * n_values[second])
        first, second = first[edge], second[edge]
        pairs = np.stack([pair // n_values[second], pair % n_values[second]], axis=1)
        variables = np.concatenate([atoms, np.stack([first, second], axis=1).ravel()])
        values = 1 + np.concatenate([value, pairs.ravel()])
        lengths = np.repeat([1, 2], [len(atoms), len(edge)])
        features, _ = _core.FeatureSet.build(
            self._cardinalities.tolist(),
            np.concatenate([[0], np.cumsum(lengths)]),
            variables.astype(np.uint32),
            np.arange(len(variables) + 1),
            values.astype(np.uint16),
        )
        return features


def _places(sizes: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the group of each member of groups of these sizes, and its place in the group."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    return group, np.arange(len(group)) - (np.cumsum(sizes) - sizes)[group]


def fit_path(search: Search, settings: PathSettings) -> JoinedPath:
    """Solve the regressions for all values of C, or as many as there is time for, at least one."""
    paths = []
    for regressions in fit_one_by_one(search, settings):
        paths.append(regressions.core)
        if search.clock.is_over:
            break
    return JoinedPath(search.data.train.schema.cardinalities, paths)


def fit_one_by_one(search: Search, settings: PathSettings) -> Iterator[Regressions]:
    """Solve the regressions for one C after another, from small to large, as they are asked for.

    Each goes on from the one before. Large values take most of the time: who has seen enough asks
    no more.
    """
    before = None
    for value in ascending(settings):
        here = _fit(search, [value], settings, before)
        before = here.core
        yield here


def has_weights(path: _core.L1Path) -> bool:
    """Tell whether any variable has a predictor.

    As long as none has, values of C say nothing about those to come.
    """
    return bool(path.n_nonzeros.any())


def ascending(settings: PathSettings) -> list[float]:
    """Return the values of C in the order in which they are tried, each once."""
    return sorted(set(_checked(settings)))


def _checked(settings: PathSettings) -> list[float]:
    values = [core_float("C", value) for value in settings.C]
    for value in values:
        if not (value > 0 and np.isfinite(value)):
            raise ValueError(f"C: expected positive numbers, got {value}")
    return values


def _fit(
    search: Search, values: list[float], settings: PathSettings, before: _core.L1Path | None
) -> Regressions:
    threads = resolve_jobs(settings.n_jobs)
    options = _core.L1Options()
    options.solver = one_of("solver", settings.solver, SOLVERS)
    started = time.perf_counter()
    with search.clock.stage("structure"), progress_bar("L1", shown=settings.verbose) as progress:
        core = _core.L1Path.fit(
            search.data.dataset, np.array(values), options, threads, progress, before
        )
        scores = _validation_scores(search, core, threads)
    seconds = (time.perf_counter() - started) / len(values)
    n_nonzeros = core.n_nonzeros.sum(axis=0)
    for i, value in enumerate(values):
        search.add_structure_trial(
            {"C": value},
            valid_pll=None if scores is None else scores[i],
            n_features=int(n_nonzeros[i]),
            seconds=seconds,
        )
    return Regressions(values, core, scores)


def _validation_scores(search: Search, core: _core.L1Path, threads: int) -> list[float] | None:
    valid = search.data.valid
    if valid is None:
        return None
    weights = np.ascontiguousarray(valid.weights, dtype=np.float64)
    totals = core.log_likelihoods(core_codes(valid), weights, threads)
    return [float(total) / float(weights.sum()) for total in totals]
