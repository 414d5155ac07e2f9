"""What is known of a training run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class TrainingReport:
    """How weights were learned.

    Attributes
    ----------
    status : str
        ``converged``, ``stalled``, ``max_iterations``, ``max_evaluations``, ``time_limit`` or
        ``interrupted``.
    message : str
        The same in a sentence.
    objective : float
        What was maximised, per example: mean PLL (or log-likelihood) less penalties; NaN for the
        members of a path that an interruption left no time to begin. Where training rows have
        gaps, it is the sum of the terms that are known, less penalties, divided by the weight of
        the rows of the variable that has most of them.
    gradient_norm : float
        Largest component of the objective's gradient (with L1: of its smallest subgradient); NaN
        after an interruption, which leaves no time to compute it.
    iterations, evaluations : int
    seconds : float
        Of the optimisation.
    index_seconds : float
        Of building the index before it; shared by the members of a path.
    prior_sd : float or None
    l1 : float
    history : tuple of (iteration, objective, seconds)
    """

    status: str
    message: str
    objective: float
    gradient_norm: float
    iterations: int
    evaluations: int
    seconds: float
    index_seconds: float
    prior_sd: float | None
    l1: float
    history: tuple[tuple[int, float, float], ...] = field(repr=False)

    @property
    def converged(self) -> bool:
        """Whether the optimum was reached to within the tolerance."""
        return self.status == "converged"

    def after(self, earlier: TrainingReport | None) -> TrainingReport:
        """Return the report of an earlier run and this one, which went on from it, as one."""
        if earlier is None:
            return self
        history = tuple(
            (earlier.iterations + step, objective, earlier.seconds + at)
            for step, objective, at in self.history[1:]  # the start is where the other ended
        )
        return replace(
            self,
            iterations=earlier.iterations + self.iterations,
            evaluations=earlier.evaluations + self.evaluations,
            seconds=earlier.seconds + self.seconds,
            history=earlier.history + history,
        )

    def describe(self) -> str:
        """Return one line for people; "per example" is told under `objective`."""
        prior = "no prior" if self.prior_sd is None else f"prior sd {self.prior_sd:g}"
        l1 = f", L1 {self.l1:g}" if self.l1 else ""
        return (
            f"{self.status} after {self.iterations} iterations, {self.seconds:.2f} s; "
            f"objective {self.objective:.6f} per example ({prior}{l1})"
        )

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the learning curve: the objective after each iteration.

        Needs matplotlib (the extra ``plot``).
        """
        from feldspar.plotting import draw_learning_curve

        return draw_learning_curve(
            self.history, title=f"{self.status} after {self.iterations} iterations", ax=ax
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what is worth keeping in a model file; ``None`` for what is not known."""
        return {
            "status": self.status,
            "objective": _known(self.objective),
            "gradient_norm": _known(self.gradient_norm),
            "iterations": self.iterations,
            "prior_sd": self.prior_sd,
            "l1": self.l1,
        }


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
