"""The search that learners share: weights for feature sets, chosen on validation data."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from feldspar import _core
from feldspar._random import RandomState
from feldspar.conditionals import check_weight_left
from feldspar.features import FeatureSet, core_dataset
from feldspar.learners._clock import Clock
from feldspar.network import MarkovNetwork
from feldspar.table import Table
from feldspar.weights import PseudoLikelihood, fit_path, is_interrupted

# The part of the training rows that choices are made by where there are no validation rows.
_HELD_OUT = 0.1


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The rows to learn from and the rows to choose by.

    Attributes
    ----------
    train : Table
    valid : Table or None
        ``None`` where there is nothing to choose.
    dataset : _core.Dataset
        ``train`` with equal rows merged.
    """

    train: Table
    valid: Table | None
    dataset: _core.Dataset

    @classmethod
    def of(
        cls,
        X: object,
        X_valid: object,
        sample_weight: npt.ArrayLike | None,
        *,
        has_choice: bool,
        random_state: RandomState,
    ) -> TrainingData:
        """Read the data; if there is a choice to make and no rows for it, hold out a tenth."""
        train = Table.of(X, sample_weight=sample_weight)
        valid = None if X_valid is None else Table.of(X_valid, schema=train.schema)
        if valid is None and has_choice:
            if len(train) < 2:
                raise ValueError(
                    "X has one row, too few to hold some out for choosing among several settings; "
                    "expected more rows, X_valid, or one value for each parameter"
                )
            valid, train = train.split(_HELD_OUT, random_state)
        if valid is not None:
            check_weight_left("the validation data", valid)
        return cls(train, valid, core_dataset(train))


@dataclass(frozen=True)
class WeightSettings:
    """How the weights of each feature set are learned.

    Attributes
    ----------
    prior_sd : list of float or None
    max_iterations : int
    tolerance : float
    n_jobs : int or None
    verbose : bool
    l1 : list of float, optional
        Strengths of an L1 penalty, one for each prior. Features that it leaves without weight
        are dropped from the networks.
    """

    prior_sd: Sequence[float | None]
    max_iterations: int
    tolerance: float
    n_jobs: int | None
    verbose: bool
    l1: Sequence[float] | None = None


class Search:
    """Tries settings, remembers each, and keeps the network that scores best.

    Attributes
    ----------
    trials : list of dict
        A row for each trial.
    network : MarkovNetwork or None
        The best so far.
    params : dict
        Its settings.
    """

    def __init__(self, data: TrainingData, clock: Clock) -> None:
        self.data = data
        self.clock = clock
        self.trials: list[dict[str, Any]] = []
        self.network: MarkovNetwork | None = None
        self.params: dict[str, Any] = {}
        self._best_pll = -np.inf
        self._is_stand_in = False

    def add_structure_trial(
        self, params: dict[str, Any], *, valid_pll: float | None, n_features: int, seconds: float
    ) -> None:
        """Remember a setting of the structure that was judged without learning weights."""
        self.trials.append(
            {
                "stage": "structure",
                **params,
                "valid_pll": valid_pll,
                "n_features": n_features,
                "seconds": seconds,
            }
        )

    def learn_weights(
        self,
        features: FeatureSet,
        params: dict[str, Any],
        settings: WeightSettings,
        *,
        initial_weights: npt.ArrayLike | None = None,
    ) -> list[MarkovNetwork]:
        """Learn the weights of a feature set for each penalty; return the networks.

        Raises KeyboardInterrupt after an interruption, the networks so far being kept.
        """
        with self.clock.stage("weights"):
            likelihood = PseudoLikelihood._of_core(features, self.data.dataset, settings.n_jobs)
            networks = fit_path(
                likelihood,
                prior_sd=settings.prior_sd,
                l1=0.0 if settings.l1 is None else settings.l1,
                initial_weights=initial_weights,
                max_iterations=settings.max_iterations,
                tolerance=settings.tolerance,
                time_limit=self.clock.seconds_left,
                verbose=settings.verbose,
            )
            if settings.l1 is not None:
                networks = [network.without_zeros() for network in networks]
            for network in networks:
                self.offer(network, params, n_jobs=settings.n_jobs)
        if any(map(is_interrupted, networks)):
            raise KeyboardInterrupt
        return networks

    def offer(
        self, network: MarkovNetwork, params: dict[str, Any], *, n_jobs: int | None = None
    ) -> None:
        """Score a network, remember the trial, and keep it if it is the best.

        Without rows to choose by there is one setting, and the last network is what it comes to.
        """
        report = network.training_
        if report is not None and np.isnan(report.objective):  # an interruption left it no time
            return
        started = time.perf_counter()
        valid = self.data.valid
        valid_pll = None if valid is None else network.score(valid, n_jobs=n_jobs)
        row: dict[str, Any] = {"stage": "weights", **params}
        if report is not None:
            penalty = {"prior_sd": report.prior_sd} | ({"l1": report.l1} if report.l1 else {})
            params = {**params, **penalty}
            row |= {
                **penalty,
                "status": report.status,
                "iterations": report.iterations,
            }
        fit_seconds = 0.0 if report is None else report.seconds
        row |= {
            "valid_pll": valid_pll,
            "n_features": len(network.features),
            "seconds": fit_seconds + time.perf_counter() - started,
        }
        self.trials.append(row)
        better = valid_pll is None or valid_pll > self._best_pll
        if self.network is None or self._is_stand_in or better:
            self.network, self.params, self._is_stand_in = network, params, False
            self._best_pll = -np.inf if valid_pll is None else valid_pll

    def stand_in(self, network: MarkovNetwork | None, params: dict[str, Any]) -> None:
        """Keep a network until the first one is offered: all that an interruption would leave."""
        self.network, self.params, self._is_stand_in = network, params, True
