"""Learners of digits, and telling digits by what they learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from feldspar.datasets import DataSplit
from feldspar.learners import DN2MN, DTL1, DTSL, Independent, L1Neighborhood
from feldspar.network import MarkovNetwork
from feldspar.report import Comparison, compare_learners
from feldspar.report.comparison import Learner, Report
from feldspar.table import Table

# Scores have settled in the third decimal by then; the rest of the way would double the time.
_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Plan:
    """A learner with few settings to try, and what to call it."""

    name: str
    learner: Learner


def default_plans() -> tuple[Plan, ...]:
    """Return learners that take a few seconds together, the simplest first.

    The independent model is a network of pairs under a penalty that leaves none.
    """
    trees = DTSL(kappa=0.1, conversion="nonzero", prior_sd=[1.0, 0.3], tolerance=_TOLERANCE)
    pairs = L1Neighborhood(C=[0.1, 0.3], rule="and", prior_sd=[1.0, 0.5], tolerance=_TOLERANCE)
    both = DTL1(dtsl=trees, l1=pairs, prior_sd=[1.0, 0.5, 0.3], tolerance=_TOLERANCE)
    return (
        Plan("independent", Independent(prior_sd=1.0)),
        Plan("closed form (DN2MN)", DN2MN(kappa=[0.01, 0.1])),
        Plan("pairs (L1)", pairs),
        Plan("trees (DTSL)", trees),
        Plan("both (DT+L1)", both),
    )


@dataclass(frozen=True, eq=False)
class Classification:
    """What ``P(digit | pixels)`` says of complete images.

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
    data: DataSplit, plans: Sequence[Plan], report: Report | None = None
) -> Comparison:
    """Learn a network for each plan, tuned on the validation part, and score it on the test part.

    Parameters
    ----------
    data : DataSplit
        The digits; ``digit`` is one of the variables.
    plans : sequence of Plan
    report : callable, optional
        Gets a line of text before each model is learned.
    """
    return compare_learners(
        {plan.name: plan.learner for plan in plans},
        data.train,
        X_valid=data.valid,
        X_test=data.test,
        name="handwritten digits",
        report=report,
    )


def classify_digits(network: MarkovNetwork, table: Table) -> Classification:
    """Tell digits by asking for ``P(digit | pixels)``, which is exact where all pixels are seen.

    Examples
    --------
    >>> import feldspar as fs
    >>> data = fs.datasets.load("digits")
    >>> alone = fs.FeatureSet.conjunctions(data.train, order=1)
    >>> network = fs.learn_weights(alone, data.train)
    >>> round(classify_digits(network, data.test).accuracy, 1)
    0.1
    """
    label = table.schema.index("digit")
    images = table.to_numpy()
    truth = images[:, label].astype(np.int64)
    images[:, label] = -1
    probabilities = network.predict_proba(images)["digit"]
    predicted = probabilities.argmax(axis=1)
    return Classification(truth, predicted, probabilities[np.arange(len(truth)), predicted])
