"""Networks of digits with more and more features, and telling digits by them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from feldspar.datasets import DataSplit
from feldspar.features import FeatureSet
from feldspar.network import MarkovNetwork
from feldspar.table import Table
from feldspar.tuning import tune_weights

# Scores have settled in the third decimal by then; the rest of the way would double the time.
_TOLERANCE = 1e-4

Report = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """Which features a model has and which penalties are tried for it.

    Attributes
    ----------
    name : str
    order : int
        Most variables in a feature.
    min_support : float
        Least number of training rows on which a feature of two or more tests holds.
    prior_sds : tuple of float
        Candidates, chosen by validation PLL.
    """

    name: str
    order: int
    min_support: float = 20
    prior_sds: tuple[float, ...] = (2.0, 1.0, 0.5)


# The more features, the tighter the priors worth trying.
PLANS = (
    Plan("independent", order=1),
    Plan("pairs", order=2),
    Plan("pairs and triples", order=3, prior_sds=(0.5, 0.3, 0.2)),
)


@dataclass(frozen=True)
class DemoModel:
    """A tuned network and its scores: mean PLL per digit, seconds for all candidates together."""

    name: str
    network: MarkovNetwork
    n_features: int
    prior_sd: float | None
    valid_pll: float
    test_pll: float
    accuracy: float
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return all but the network."""
        return {name: value for name, value in vars(self).items() if name != "network"}


@dataclass(frozen=True, eq=False)
class Classification:
    """What ``P(digit | pixels)`` says of complete rows.

    Attributes
    ----------
    truth, predicted : array of int
    probability : array of float64
        Of the predicted digit.
    """

    truth: npt.NDArray[np.int64]
    predicted: npt.NDArray[np.int64]
    probability: npt.NDArray[np.float64]

    @property
    def accuracy(self) -> float:
        """The part of the digits that are told right."""
        return float((self.truth == self.predicted).mean())

    @property
    def mistakes(self) -> npt.NDArray[np.int64]:
        """The rows told wrong, the most confident first."""
        wrong = np.flatnonzero(self.truth != self.predicted)
        return wrong[np.argsort(-self.probability[wrong], kind="stable")]


def learn_digit_models(
    data: DataSplit, plans: Sequence[Plan] = PLANS, report: Report | None = None
) -> list[DemoModel]:
    """Learn a network for each plan, its prior chosen on the validation part.

    Parameters
    ----------
    data : DataSplit
        The digits; ``digit`` is one of the variables.
    plans : sequence of Plan
    report : callable, optional
        Gets a line of text before each model is learned.
    """
    return list(_learned(data, plans, report or (lambda text: None)))


def _learned(data: DataSplit, plans: Sequence[Plan], report: Report) -> Iterator[DemoModel]:
    for plan in plans:
        started = time.perf_counter()
        features = FeatureSet.conjunctions(
            data.train, order=plan.order, min_support=plan.min_support, supported_from=2
        )
        report(f"learning: {plan.name}, {len(features):,} features")
        tuned = tune_weights(
            features, data.train, X_valid=data.valid, prior_sd=plan.prior_sds, tolerance=_TOLERANCE
        )
        seconds = time.perf_counter() - started
        best = tuned.trials[tuned.best]
        yield DemoModel(
            name=plan.name,
            network=tuned.network,
            n_features=len(features),
            prior_sd=best.prior_sd,
            valid_pll=tuned.network.score(data.valid),
            test_pll=tuned.network.score(data.test),
            accuracy=classify_digits(tuned.network, data.test).accuracy,
            seconds=seconds,
        )


def classify_digits(network: MarkovNetwork, table: Table) -> Classification:
    """Tell digits by ``P(digit | pixels)``, which is exact where all pixels are seen.

    Examples
    --------
    >>> import feldspar as fs
    >>> data = fs.datasets.load("digits")
    >>> alone = fs.FeatureSet.conjunctions(data.train, order=1)
    >>> network = fs.learn_weights(alone, data.train)
    >>> round(classify_digits(network, data.test).accuracy, 1)
    0.1
    """
    probabilities = network.conditionals(table)["digit"]
    predicted = probabilities.argmax(axis=1)
    return Classification(
        truth=table.codes[:, table.schema.index("digit")].astype(np.int64),
        predicted=predicted,
        probability=probabilities[np.arange(len(predicted)), predicted],
    )
