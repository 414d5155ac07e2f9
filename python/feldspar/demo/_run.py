"""The whole demonstration: learn, tell digits, complete half-hidden ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from feldspar.datasets import DataSplit, load
from feldspar.demo._completion import Completion, complete_digits
from feldspar.demo._models import (
    PLANS,
    Classification,
    DemoModel,
    Plan,
    Report,
    classify_digits,
    learn_digit_models,
)


@dataclass(frozen=True, eq=False)
class DemoResult:
    """All that the demonstration found.

    Attributes
    ----------
    data : DataSplit
    models : list of DemoModel
        One for each plan.
    best : DemoModel
        The one with the best validation PLL; the rest was done with it.
    classification : Classification
    completion : Completion
    """

    data: DataSplit
    models: list[DemoModel]
    best: DemoModel
    classification: Classification
    completion: Completion

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return {
            "models": [model.to_dict() for model in self.models],
            "best": self.best.name,
            "classification": {
                "n_digits": len(self.classification.truth),
                "accuracy": self.classification.accuracy,
                "mistakes": len(self.classification.mistakes),
            },
            "completion": self.completion.to_dict(),
        }


def run_demo(
    *, plans: Sequence[Plan] = PLANS, n_starts: int = 5, report: Report | None = None
) -> DemoResult:
    """Learn networks of the digits that come with scikit-learn and put the best one to use.

    Parameters
    ----------
    plans : sequence of Plan
        The networks to learn.
    n_starts : int
        How many climbs each completion is the best of.
    report : callable, optional
        Gets a line of text before each step that takes time.

    Returns
    -------
    DemoResult
        The same on every run, but for the seconds.
    """
    data = load("digits")
    models = learn_digit_models(data, plans, report)
    best = max(models, key=lambda model: model.valid_pll)
    if report is not None:
        report("completing half-hidden digits")
    return DemoResult(
        data=data,
        models=models,
        best=best,
        classification=classify_digits(best.network, data.test),
        completion=complete_digits(best.network, data, n_starts=n_starts),
    )
