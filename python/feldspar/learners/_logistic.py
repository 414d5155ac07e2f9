"""L1-penalised logistic regressions of every variable on all the others."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

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


def fit_path(search: Search, settings: PathSettings) -> Regressions:
    """Solve the regressions for all values of C and remember a trial for each."""
    return _fit(search, _checked(settings), settings, None)


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
