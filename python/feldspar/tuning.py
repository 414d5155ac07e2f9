"""Choosing the penalty of a feature set's weights on validation data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy.typing as npt

from feldspar._random import RandomState
from feldspar.conditionals import check_weight_left
from feldspar.features import Conjunction, FeatureSet
from feldspar.missing import complete_validation_rows, hold_out
from feldspar.network import MarkovNetwork
from feldspar.schema import Schema
from feldspar.table import Table
from feldspar.weights import OnInterrupt, learn_weight_path, listed, table_and_features

_HELD_OUT = 0.1


@dataclass(frozen=True)
class Trial:
    """One setting that was tried.

    Attributes
    ----------
    prior_sd : float or None
    l1 : float
    valid_pll : float or None
        Mean PLL of the validation data; ``None`` where there were none and no choice to make.
    n_features : int
        Features with non-zero weight.
    seconds : float
        Of the optimisation.
    status : str
        How it ended, as in :class:`feldspar.TrainingReport`.
    """

    prior_sd: float | None
    l1: float
    valid_pll: float | None
    n_features: int
    seconds: float
    status: str

    def to_dict(self) -> dict[str, Any]:
        """Return the trial as plain values."""
        return dict(vars(self))


@dataclass(frozen=True)
class TunedWeights:
    """The best network, and what was tried to find it.

    Attributes
    ----------
    network : MarkovNetwork
    trials : tuple of Trial
        In the order of the grid.
    best : int
        The trial that ``network`` comes from.
    """

    network: MarkovNetwork
    trials: tuple[Trial, ...]
    best: int


def tune_weights(
    features: FeatureSet | Iterable[Conjunction],
    X: object,
    *,
    X_valid: object = None,
    prior_sd: float | Sequence[float | None] | None = 1.0,
    l1: float | Sequence[float] = 0.0,
    sample_weight: npt.ArrayLike | None = None,
    max_iterations: int = 1000,
    tolerance: float = 1e-7,
    time_limit: float | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
    on_interrupt: OnInterrupt = "raise",
) -> TunedWeights:
    """Learn weights for every combination of the penalties and keep what validates best.

    Each network is learned from ``X`` alone, and the one with the best mean PLL on the validation
    data is kept as it is. Of equals the first is kept.

    Parameters
    ----------
    features : FeatureSet or iterable of conjunctions
        As in :func:`feldspar.learn_weights`.
    X : table, frame or array
        The rows to learn from.
    X_valid : table, frame or array, optional
        The rows to choose by, read with the schema of the training data; those with missing
        values are left out. If there is a choice to make and no ``X_valid``, a tenth of the
        complete rows of ``X`` is held out.
    prior_sd, l1 : number or sequence
        The penalties to try.
    sample_weight : array of float, optional
        How much each row of ``X`` counts; rows held out keep theirs.
    max_iterations, tolerance, n_jobs, verbose, on_interrupt
        As in :func:`feldspar.learn_weights`; an interrupted path has no best member, so that by
        default Ctrl-C raises.
    time_limit : float, optional
        Seconds for learning all networks together; scoring them comes on top.
    random_state : int, numpy.random.Generator or numpy.random.RandomState, optional
        For the rows held out.

    Examples
    --------
    >>> import feldspar as fs
    >>> digits = fs.datasets.load("digits")
    >>> atoms = fs.FeatureSet.conjunctions(digits.train, order=1)
    >>> tuned = tune_weights(atoms, digits.train, X_valid=digits.valid, prior_sd=[0.1, 1.0])
    >>> [round(trial.valid_pll, 1) for trial in tuned.trials], tuned.network.training_.prior_sd
    ([-30.8, -27.4], 1.0)
    """
    grid = list(product(listed(prior_sd), listed(l1)))
    train, feature_set = table_and_features(features, X, sample_weight)
    valid = None if X_valid is None else validation_table(X_valid, train.schema)
    if valid is None and len(grid) > 1:
        valid, train = hold_out(train, _HELD_OUT, random_state)
    if valid is not None:
        check_weight_left("the validation data", valid)
        valid = complete_validation_rows(valid)
    path = learn_weight_path(
        feature_set,
        train,
        prior_sd=[sd for sd, _ in grid],
        l1=[strength for _, strength in grid],
        max_iterations=max_iterations,
        tolerance=tolerance,
        time_limit=time_limit,
        n_jobs=n_jobs,
        verbose=verbose,
        on_interrupt=on_interrupt,
    )
    scores = [None if valid is None else network.score(valid, n_jobs=n_jobs) for network in path]
    best = 0 if valid is None else scores.index(max(s for s in scores if s is not None))
    trials = tuple(_trial(network, s) for network, s in zip(path, scores, strict=True))
    return TunedWeights(path[best], trials, best)


def validation_table(X_valid: object, schema: Schema) -> Table:
    """Read the rows to choose by; what is wrong with them is told under their name."""
    try:
        return Table.of(X_valid, schema=schema)
    except (TypeError, ValueError) as error:
        raise type(error)(f"X_valid: {error}") from error


def _trial(network: MarkovNetwork, valid_pll: float | None) -> Trial:
    report = network.training_
    assert report is not None  # learned just now
    return Trial(
        prior_sd=report.prior_sd,
        l1=report.l1,
        valid_pll=valid_pll,
        n_features=int((network.weights != 0).sum()),
        seconds=report.seconds,
        status=report.status,
    )
