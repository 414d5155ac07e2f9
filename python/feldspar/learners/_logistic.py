"""L1-penalised logistic regressions of every variable on all the others."""

from __future__ import annotations

import time
from collections.abc import Sequence
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
class LogisticPath:
    """The regressions for all values of C.

    Attributes
    ----------
    C : list of float
        As they were asked for.
    core : _core.L1Path
    valid_scores : list of float or None
        Mean log-likelihood of the validation rows, the regressions taken as a dependency network.
    """

    C: list[float]
    core: _core.L1Path
    valid_scores: list[float] | None


def fit_path(search: Search, settings: PathSettings) -> LogisticPath:
    """Solve the regressions and remember a trial for each value of C."""
    values = [core_float("C", value) for value in settings.C]
    for value in values:
        if not (value > 0 and np.isfinite(value)):
            raise ValueError(f"C: expected positive numbers, got {value}")
    solver = one_of("solver", settings.solver, SOLVERS)
    threads = resolve_jobs(settings.n_jobs)
    started = time.perf_counter()
    with search.clock.stage("structure"), progress_bar("L1", shown=settings.verbose) as progress:
        options = _core.L1Options()
        options.solver = solver
        core = _core.L1Path.fit(search.data.dataset, np.array(values), options, threads, progress)
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
    return LogisticPath(values, core, scores)


def _validation_scores(search: Search, core: _core.L1Path, threads: int) -> list[float] | None:
    valid = search.data.valid
    if valid is None:
        return None
    weights = np.ascontiguousarray(valid.weights, dtype=np.float64)
    totals = core.log_likelihoods(core_codes(valid), weights, threads)
    return [float(total) / float(weights.sum()) for total in totals]
