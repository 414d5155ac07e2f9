"""The search that learners share: weights for feature sets, chosen on validation data."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from feldspar import _core
from feldspar._caution import warn_user
from feldspar._identifiers import warn_of_identifiers
from feldspar._random import RandomState
from feldspar.conditionals import check_weight_left
from feldspar.features import FeatureSet, core_dataset, core_float
from feldspar.learners._clock import Clock
from feldspar.learners._race import STEPS, Contender, are_beaten, leader, sort_out
from feldspar.missing import (
    MissingValuesWarning,
    complete_rows,
    complete_validation_rows,
    counted_rows,
    gaps,
    hold_out,
)
from feldspar.network import MarkovNetwork
from feldspar.table import Table
from feldspar.tuning import validation_table
from feldspar.weights import PseudoLikelihood, WeightRun, fit_path, is_interrupted

# A setting, or several that belong together: what a walk attempts at a time.
Step = TypeVar("Step")

# The part of the training rows that choices are made by where there are no validation rows.
_HELD_OUT = 0.1


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The rows to learn from and the rows to choose by.

    Attributes
    ----------
    train : Table
        Complete rows: what structure is learned from.
    valid : Table or None
        Complete rows; ``None`` where there is nothing to choose.
    dataset, valid_dataset : _core.Dataset
        The same with equal rows merged.
    with_gaps : Table or None
        The rows of ``train`` and those with missing entries, which weights are learned from;
        ``None`` where nothing is missing.
    """

    train: Table
    valid: Table | None
    dataset: _core.Dataset
    valid_dataset: _core.Dataset | None
    with_gaps: Table | None = None

    @property
    def for_weights(self) -> _core.Dataset | Table:
        """What weights are learned from."""
        return self.dataset if self.with_gaps is None else self.with_gaps

    @classmethod
    def of(
        cls,
        X: object,
        X_valid: object,
        sample_weight: npt.ArrayLike | None,
        *,
        has_choice: bool,
        random_state: RandomState,
        weights_from_all: bool,
    ) -> TrainingData:
        """Read the data; if there is a choice to make and no rows for it, hold out a tenth.

        ``weights_from_all`` is only told: whether the learner will ask for `for_weights`.
        """
        table = Table.of(X, sample_weight=sample_weight)
        warn_of_identifiers(table)
        train = counted_rows(table)
        valid = None if X_valid is None else validation_table(X_valid, train.schema)
        held_out = ""
        if valid is None and has_choice:
            if len(train) < 2:
                sample = "1 sample" if train is table else "1 sample of a weight above 0"
                raise ValueError(
                    f"X has {sample}, too few to hold some out for choosing among several "
                    "settings; expected more rows, X_valid, or one value for each parameter"
                )
            valid, train = hold_out(train, _HELD_OUT, random_state)
            held_out = f" ({len(valid)} complete rows are held out to choose by)"
        if valid is not None:
            check_weight_left("the validation data", valid)
            valid = complete_validation_rows(valid)
        valid_dataset = None if valid is None else core_dataset(valid)
        complete = complete_rows(train)
        if complete is train:
            return cls(train, valid, core_dataset(train), valid_dataset)
        rows = f"the {len(complete)} of {len(train)} rows that are complete"
        used = f"all is learned from {rows}"
        if weights_from_all:
            used = (
                f"structure is learned from {rows}, weights also from the others where all they "
                "need is known"
            )
        warn_user(
            f"X has {gaps(train)}; {used}{held_out}",
            MissingValuesWarning,
        )
        return cls(complete, valid, core_dataset(complete), valid_dataset, train)


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
    exhaustive : bool
        Learn the weights of all settings to the tolerance, also of those that cannot win.
    """

    prior_sd: Sequence[float | None]
    max_iterations: int
    tolerance: float
    n_jobs: int | None
    verbose: bool
    exhaustive: bool = False

    def with_priors(self, prior_sd: Sequence[float | None]) -> WeightSettings:
        """Return the same with other priors."""
        return replace(self, prior_sd=prior_sd)


class Search:
    """Tries settings, remembers each, and keeps the network that scores best.

    Weights are learned loosely at first; `finish` takes those of the settings that may be the best
    to the tolerance (see ``_race``).

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
        self._contenders: list[Contender] = []

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

    def walk(
        self,
        path: Sequence[Step],
        attempt: Callable[[Step], list[Contender]],
        skip: Callable[[Step], None],
        *,
        exhaustive: bool,
    ) -> list[Contender]:
        """Try settings one after another, from those of simple networks to those of complex ones.

        Once one has made things worse for certain, the rest is skipped: one peak is assumed. An
        attempt that returns nothing has nothing to say about those to come. Returns what came of
        all attempts: one step of a walk may be a walk.
        """
        tried: list[Contender] = []
        simpler: list[Contender] = []
        for i, step in enumerate(path):
            if self.clock.is_over and self.network is not None:
                break
            tries = attempt(step)
            tried += tries
            if not exhaustive and tries and are_beaten(tries, simpler):
                for rest in path[i + 1 :]:
                    skip(rest)
                break
            simpler = tries or simpler
        return tried

    def skip(self, params: dict[str, Any]) -> None:
        """Remember a structure that was not learned, since it could only have been worse."""
        self.add_structure_trial(
            params | {"status": "skipped"}, valid_pll=None, n_features=0, seconds=0.0
        )

    def skip_weights(self, params: dict[str, Any], *, n_features: int) -> None:
        """Remember weights that were not learned, since they could only have been worse."""
        row = {"stage": "weights", **params, "n_features": n_features, "seconds": 0.0}
        self.trials.append(row | {"status": "skipped", "valid_pll": None})

    def learn_weights(
        self,
        features: FeatureSet,
        params: dict[str, Any],
        settings: WeightSettings,
        *,
        initial_weights: npt.ArrayLike | None = None,
        similar: Sequence[Contender] = (),
    ) -> list[Contender]:
        """Learn the weights of a feature set for each prior; return what came of each.

        From the narrowest prior to the widest. Each starts from the weights before, or from what
        the same prior came to with ``similar`` features, whichever is better. Once a wider prior
        has made things worse for certain, those still wider are skipped.

        Raises KeyboardInterrupt after an interruption, the networks so far being kept.
        """
        races = self.data.valid is not None and not settings.exhaustive
        steps = tuple(settings.tolerance * step for step in (STEPS if races else (1.0,)))
        tried: dict[int, Contender] = {}
        path: list[Contender] = []
        known = {one.params["prior_sd"]: one.network for one in similar}
        with self.clock.stage("weights"):
            likelihood, judge = self._indexes(features, settings)
            for i in narrowest_first(settings.prior_sd):
                if self.clock.is_over and self._contenders:
                    break
                own = {**params, "prior_sd": settings.prior_sd[i]}
                row = {"stage": "weights", **own, "n_features": len(features), "seconds": 0.0}
                if races and len(path) > 1 and path[-1].is_beaten_by(path[-2]):
                    self.skip_weights(own, n_features=len(features))
                    continue
                starts = [
                    path[-1].network.weights if path else initial_weights,
                    carried_over(known.get(own["prior_sd"]), features),
                ]
                run = WeightRun(
                    likelihood,
                    prior_sd=settings.prior_sd[i],
                    initial_weights=_best_start(likelihood, own["prior_sd"], starts),
                    max_iterations=settings.max_iterations,
                    verbose=settings.verbose,
                )
                resume = partial(self._resume, settings, settings.prior_sd[i])
                contender = Contender(run, steps, own, row, judge, resume)
                self._advance(contender)
                tried[i] = contender
                path.append(contender)
        return [tried[i] for i in sorted(tried)]

    def select_features(
        self,
        likelihood: PseudoLikelihood,
        params: dict[str, Any],
        settings: WeightSettings,
        *,
        prior_sd: float | None,
        l1: float,
        initial_weights: npt.ArrayLike | None = None,
    ) -> list[Contender]:
        """Learn weights under an L1 penalty beside the prior, to the end; return what came of it.

        Features that are left without weight are dropped. Raises KeyboardInterrupt after an
        interruption, the network being kept.
        """
        with self.clock.stage("weights"):
            (network,) = fit_path(
                likelihood,
                prior_sd=[prior_sd],
                l1=l1,
                initial_weights=initial_weights,
                max_iterations=settings.max_iterations,
                tolerance=settings.tolerance,
                time_limit=self.clock.seconds_left,
                verbose=settings.verbose,
            )
            network = network.without_zeros()
            contender = self.offer(network, params, n_jobs=settings.n_jobs)
        if is_interrupted(network):
            raise KeyboardInterrupt
        return [contender]

    def finish(self) -> None:
        """Learn the weights of all that may be the best to the end, the most promising first."""
        with self.clock.stage("weights"):
            while unfinished := [c for c in self._contenders if c.steps_left and not c.is_given_up]:
                if self.clock.is_over:
                    break
                self._advance(max(unfinished, key=lambda c: c.at_most))

    def offer(
        self, network: MarkovNetwork, params: dict[str, Any], *, n_jobs: int | None = None
    ) -> Contender:
        """Score a network whose weights are final, remember the trial, keep it if it is best."""
        started = time.perf_counter()
        report = network.training_
        if report is not None:
            penalty = {"prior_sd": report.prior_sd} | ({"l1": report.l1} if report.l1 else {})
            params = {**params, **penalty}
        contender = Contender(None, (), params, {"stage": "weights", **params})
        contender.network = network
        valid = self.data.valid
        contender.valid_pll = None if valid is None else network.score(valid, n_jobs=n_jobs)
        if report is not None:
            contender.row |= {"status": report.status, "iterations": report.iterations}
        contender.row |= {
            "valid_pll": contender.valid_pll,
            "n_features": len(network.features),
            "seconds": time.perf_counter() - started + (0.0 if report is None else report.seconds),
        }
        self._take(contender)
        return contender

    def stand_in(self, network: MarkovNetwork | None, params: dict[str, Any]) -> None:
        """Keep a network until the first one is offered: all that an interruption would leave."""
        self.network, self.params = network, params
        self._contenders = []

    def _indexes(
        self, features: FeatureSet, settings: WeightSettings
    ) -> tuple[PseudoLikelihood, PseudoLikelihood | None]:
        """Index features on the rows to learn from and, if there are any, on those to choose by."""
        likelihood = PseudoLikelihood._of_core(features, self.data.for_weights, settings.n_jobs)
        judge = None
        if self.data.valid_dataset is not None:
            judge = PseudoLikelihood._of_core(
                features, self.data.valid_dataset, settings.n_jobs, for_scoring=True
            )
        return likelihood, judge

    def _resume(
        self, settings: WeightSettings, prior_sd: float | None, network: MarkovNetwork
    ) -> tuple[WeightRun, PseudoLikelihood | None]:
        """Prepare to learn on what was given up."""
        likelihood, judge = self._indexes(network.features, settings)
        run = WeightRun(
            likelihood,
            prior_sd=prior_sd,
            initial_weights=network.weights,
            max_iterations=settings.max_iterations,
            verbose=settings.verbose,
            earlier=network.training_,
        )
        return run, judge

    def _advance(self, contender: Contender) -> None:
        """Take a contender one step further."""
        started = time.perf_counter()
        others = (c for c in self._contenders if c is not contender)
        rival = max(others, key=lambda c: c.at_least, default=None)
        contender.advance(time_limit=self.clock.seconds_left, rival=rival)
        contender.row["seconds"] += time.perf_counter() - started
        self._take(contender)
        if is_interrupted(contender.network):
            raise KeyboardInterrupt

    def _take(self, contender: Contender) -> None:
        """Put a contender's news among the others'."""
        if contender not in self._contenders:
            self.trials.append(contender.row)
            self._contenders.append(contender)
        self._contenders = sort_out(self._contenders)
        best = leader(self._contenders)
        self.network, self.params = best.network, best.params


def narrowest_first(prior_sd: Sequence[float | None]) -> list[int]:
    """Return the places of the priors, by their standard deviation."""
    sds = [np.inf if sd is None else core_float("prior_sd", sd) for sd in prior_sd]
    return sorted(range(len(sds)), key=lambda i: sds[i])


def _best_start(
    likelihood: PseudoLikelihood, prior_sd: float | None, starts: Sequence[npt.ArrayLike | None]
) -> npt.ArrayLike | None:
    """Return the weights with the highest objective; ``None`` stands for zeros, of no merit."""
    known = [np.asarray(start, dtype=np.float64) for start in starts if start is not None]
    if len(known) < 2:
        return known[0] if known else None
    precision = 0.0 if prior_sd is None else 1 / core_float("prior_sd", prior_sd) ** 2

    def objective(weights: npt.NDArray[np.float64]) -> float:
        value, _ = likelihood.value_and_gradient(weights)
        return value - 0.5 * precision * float(np.square(weights).sum())

    return max(known, key=objective)


def carried_over(
    network: MarkovNetwork | None, features: FeatureSet
) -> npt.NDArray[np.float64] | None:
    """Return the weights of a network as a start for other features."""
    if network is None:
        return None
    start = np.zeros(len(features))
    places = features.positions(network.features)
    start[places[places >= 0]] = network.weights[places >= 0]
    return start
