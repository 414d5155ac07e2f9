"""The whole demonstration: learn, tell digits, complete half-hidden ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from feldspar.datasets import DataSplit, load
from feldspar.demo._completion import Completion, complete_digits
from feldspar.demo._models import (
    Classification,
    Plan,
    classify_digits,
    default_plans,
    learn_digit_models,
)
from feldspar.report import Comparison, Contender
from feldspar.report.comparison import Report


@dataclass(frozen=True, eq=False)
class DemoResult:
    """All that the demonstration found.

    Attributes
    ----------
    data : DataSplit
    models : Comparison
        A contender for each plan.
    accuracies : dict of float
        The part of the test digits that each tells right.
    best : Contender
        The one with the best validation PLL; the rest was done with it.
    classification : Classification
    completion : Completion
    """

    data: DataSplit
    models: Comparison
    accuracies: dict[str, float]
    best: Contender
    classification: Classification
    completion: Completion

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return {
            "models": [
                {
                    "name": one.name,
                    "n_features": len(one.network.features),
                    "valid_pll": one.pll["valid"].mean,
                    "test_pll": one.pll["test"].mean,
                    "accuracy": self.accuracies[one.name],
                    "seconds": one.seconds,
                }
                for one in self.models.contenders
            ],
            "best": self.best.name,
            "classification": {
                "n_digits": len(self.classification.truth),
                "accuracy": self.classification.accuracy,
                "mistakes": len(self.classification.mistakes),
            },
            "completion": self.completion.to_dict(),
        }


def run_demo(
    *,
    plans: Sequence[Plan] | None = None,
    n_samples: int = 200,
    report: Report | None = None,
) -> DemoResult:
    """Learn networks of the digits that come with scikit-learn and put the best one to use.

    Parameters
    ----------
    plans : sequence of Plan, optional
        The networks to learn.
    n_samples : int
        Of each chain that completes digits.
    report : callable, optional
        Gets a line of text before each step that takes time.

    Returns
    -------
    DemoResult
        The same on every run, but for the seconds.
    """
    data = load("digits")
    models = learn_digit_models(data, default_plans() if plans is None else plans, report)
    best = max(models.contenders, key=lambda one: one.pll["valid"].mean)
    told = {one.name: classify_digits(one.network, data.test) for one in models.contenders}
    if report is not None:
        report("completing half-hidden digits")
    return DemoResult(
        data=data,
        models=models,
        accuracies={name: classification.accuracy for name, classification in told.items()},
        best=best,
        classification=told[best.name],
        completion=complete_digits(best.network, data, n_samples=n_samples),
    )
