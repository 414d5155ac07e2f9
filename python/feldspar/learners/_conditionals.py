"""Dependency networks from data: trees or logistic regressions, tuned on validation rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from feldspar import _core
from feldspar.learners._base import one_of
from feldspar.learners._logistic import PathSettings, ascending, fit_one_by_one, has_weights
from feldspar.learners._search import Search
from feldspar.learners._trees import TreeSettings, choose_trees

Cpd: TypeAlias = Literal["tree", "logistic"]
CPDS = ("tree", "logistic")

# The weights of the loss for the L1 penalties 1000, 500, 200, ... 0.1 of Lowd (2012).
LOGISTIC_C = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class ConditionalSettings:
    """How the conditionals are learned, and what is tried."""

    cpd: str
    kappa: Sequence[float]
    C: Sequence[float]
    min_leaf_weight: float
    leaf_prior: float
    solver: str
    exhaustive: bool
    n_jobs: int | None
    verbose: bool

    def has_choice(self) -> bool:
        """Tell whether there is anything to choose by validation rows."""
        return len(self.kappa if self.cpd == "tree" else self.C) > 1


def learn_conditionals(
    search: Search, settings: ConditionalSettings
) -> tuple[_core.DependencyNetwork, dict[str, Any]]:
    """Return the network whose conditionals predict the validation rows best, and its settings."""
    if one_of("cpd", settings.cpd, CPDS) == "tree":
        trees, kappa = choose_trees(
            search,
            TreeSettings(
                kappas=settings.kappa,
                min_leaf_weight=settings.min_leaf_weight,
                leaf_prior=settings.leaf_prior,
                n_jobs=settings.n_jobs,
                verbose=settings.verbose,
            ),
        )
        with search.clock.stage("structure"):
            return trees.to_dependency_network(), {"cpd": "tree", "kappa": kappa}
    path_settings = PathSettings(
        C=settings.C, solver=settings.solver, n_jobs=settings.n_jobs, verbose=settings.verbose
    )
    best: tuple[float, float, _core.L1Path] | None = None
    for path in fit_one_by_one(search, path_settings):
        C = path.C[0]
        score = -np.inf if path.valid_scores is None else path.valid_scores[0]
        if best is None or score > best[0]:
            best = (score, C, path.core)
        elif not settings.exhaustive and score < best[0] and has_weights(best[2]):
            for rest in ascending(path_settings):  # one peak is assumed, and it is behind
                if rest > C:
                    search.skip({"C": rest})
            break
        if search.clock.is_over:
            break
    assert best is not None  # there is a C
    _, C, core = best
    with search.clock.stage("structure"):
        network = core.to_dependency_network([0] * len(search.data.train.schema))
    return network, {"cpd": "logistic", "C": C}
