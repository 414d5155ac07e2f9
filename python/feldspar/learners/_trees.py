"""Decision trees for all variables, cut back to the kappa that predicts best."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from feldspar import _core
from feldspar._jobs import resolve_jobs
from feldspar._progress import progress_bar
from feldspar.features import core_codes, core_float
from feldspar.learners._search import Search

# The structure priors that the papers try.
KAPPAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)


@dataclass(frozen=True)
class TreeSettings:
    """How trees are grown, and the kappas to choose from."""

    kappas: Sequence[float]
    min_leaf_weight: float
    leaf_prior: float
    n_jobs: int | None
    verbose: bool


def choose_trees(search: Search, settings: TreeSettings) -> tuple[_core.Trees, float]:
    """Return the trees of the best kappa, and the kappa.

    The best split of a node does not depend on kappa, so that the trees are grown once, for the
    largest, and cut back for the others.
    """
    kappas = [core_float("kappa", kappa) for kappa in settings.kappas]
    for kappa in kappas:
        if not 0 < kappa <= 1:
            raise ValueError(f"kappa: expected numbers above 0 and at most 1, got {kappa}")
    leaf_prior = core_float("leaf_prior", settings.leaf_prior)
    if not (leaf_prior > 0 and np.isfinite(leaf_prior)):  # the core would call it prior
        raise ValueError(f"leaf_prior: expected a positive number, got {settings.leaf_prior}")
    threads = resolve_jobs(settings.n_jobs)
    started = time.perf_counter()
    with search.clock.stage("structure"), progress_bar("trees", shown=settings.verbose) as progress:
        grown = _core.Trees.grow(
            search.data.dataset,
            max(kappas),
            core_float("min_leaf_weight", settings.min_leaf_weight),
            leaf_prior,
            threads,
            progress,
        )
    grow_seconds = time.perf_counter() - started
    started = time.perf_counter()
    with search.clock.stage("structure"):
        scores = _validation_scores(search, grown, kappas, threads)
        best = 0 if scores is None else int(np.argmax(scores))
        trees = grown.pruned(kappas[best])
    choose_seconds = time.perf_counter() - started
    for i, kappa in enumerate(kappas):
        search.add_structure_trial(
            {"kappa": kappa},
            valid_pll=None if scores is None else float(scores[i]),
            n_features=grown.pruned(kappa).n_leaves,
            seconds=(grow_seconds if i == int(np.argmax(kappas)) else 0.0)
            + choose_seconds / len(kappas),
        )
    return trees, kappas[best]


def _validation_scores(
    search: Search, trees: _core.Trees, kappas: list[float], threads: int
) -> list[float] | None:
    """Return the mean log-likelihood of the validation rows under the trees of each kappa."""
    valid = search.data.valid
    if valid is None:
        return None
    weights = np.ascontiguousarray(valid.weights, dtype=np.float64)
    totals = trees.log_likelihoods(core_codes(valid), weights, np.array(kappas), threads)
    return [float(total) / float(weights.sum()) for total in totals]
