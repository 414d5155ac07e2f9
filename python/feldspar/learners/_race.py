"""Which settings can still win, judged before their weights have converged.

Weights are first learned to a loose tolerance, and further only where the setting may still turn
out best. How much may its validation PLL V still change? Let the training objective be T below its
optimum, per row, and H its curvature. The step that is left has the length ``sqrt(2 T)`` in the
norm of H, so V changes by at most ``sqrt(2 T) |dV|``, dV being the gradient of V in the dual norm.
Its square is, for weights that fit the training rows, as large as what they gain on these over
other rows: the difference G of the mean PLL of training and validation rows (both are the number of
parameters per row, in the limit of many rows). Hence

    |change of V| <= sqrt(2 T G),

which is rounded up here to ``2 sqrt(T (G + T))`` as T is an estimate. Solved for T, this tells how
far a setting that lies behind has to be learned until it is known to lose: no further than that.

T is an estimate, and a weak prior may look excellent for a while and then fall by more than its
margin. So what it seemed to beat is given up for the time being only, and taken up again when the
one that beat it falls. Only weights that are final beat others for good.

Nothing here looks at a clock: the same data and settings lead to the same choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from feldspar.network import MarkovNetwork
from feldspar.weights import PseudoLikelihood, WeightRun

# The tolerances to which weights are learned, one after another, in units of the last.
STEPS = (1000.0, 100.0, 10.0, 1.0)
# A step that is to tell whether a setting loses aims at this share of the tolerance that would do
# if its PLL stayed where it is.
_SURE = 0.8

# Prepares the learning of a network's weights from where they are, and the judging of them.
Resume: TypeAlias = Callable[[MarkovNetwork], tuple[WeightRun, PseudoLikelihood | None]]


class Contender:
    """A setting that may be the best, with weights that may still be on their way.

    Parameters
    ----------
    run : WeightRun or None
        How the weights are learned; ``None`` where they are final.
    steps : tuple of float
        The tolerances to learn them to, one after another.
    params : dict
        The setting.
    row : dict
        Its row among the trials, which is kept up to date.
    judge : PseudoLikelihood, optional
        Of the same features on the validation rows, where there are any.
    resume : callable, optional
        Makes another ``run`` and ``judge`` that go on from a network, for one that was given up.

    Attributes
    ----------
    network : MarkovNetwork
        As far as its weights are learned.
    valid_pll : float or None
        Its mean PLL on the validation rows, where there are any.
    margin : float
        How much ``valid_pll`` may still change; 0 where the weights are final.
    steps_left : tuple of float
        The tolerances ahead.
    is_given_up : bool
        Whether it is not to be learned further, as things stand.
    """

    network: MarkovNetwork

    def __init__(
        self,
        run: WeightRun | None,
        steps: tuple[float, ...],
        params: dict[str, Any],
        row: dict[str, Any],
        judge: PseudoLikelihood | None = None,
        resume: Resume | None = None,
    ) -> None:
        self._run = run
        self._judge = judge
        self._resume = resume
        self.is_given_up = False
        self.steps_left = steps
        self.params = params
        self.row = row
        self.margin = 0.0
        self.valid_pll: float | None = None

    @property
    def at_most(self) -> float:
        """What the validation PLL may still become."""
        return -math.inf if self.valid_pll is None else self.valid_pll + self.margin

    @property
    def at_least(self) -> float:
        """What the validation PLL may still fall to."""
        return -math.inf if self.valid_pll is None else self.valid_pll - self.margin

    def is_beaten_by(self, other: Contender) -> bool:
        """Tell whether the other is better, whatever is left to learn."""
        return self.at_most < other.at_least

    def advance(self, *, time_limit: float | None, rival: Contender | None = None) -> None:
        """Learn the weights to the next tolerance and score them.

        Where a looser one may tell that the rival is better, that comes first.
        """
        if self._run is None:
            assert self._resume is not None
            self._run, self._judge = self._resume(self.network)
        tolerance, *rest = self.steps_left
        deciding = 0.0 if rival is None else _SURE * self._losing_tolerance(rival)
        if deciding > tolerance:
            tolerance, rest = deciding, list(self.steps_left)
        self.network = self._run.advance(tolerance=tolerance, time_limit=time_limit)
        report = self.network.training_
        assert report is not None
        self.steps_left = tuple(rest) if report.converged else ()
        self.margin = 0.0
        if self._judge is not None:
            total, _ = self._judge.value_and_gradient(self.network.weights)
            self.valid_pll = total / self._judge.total_weight
            if self.steps_left:
                self.margin = 2 * math.sqrt(tolerance * (self._excess() + tolerance))
        self.row["status"] = "unfinished" if self.steps_left else report.status
        self.row["iterations"] = report.iterations
        self.row["evaluations"] = report.evaluations
        self.row["valid_pll"] = self.valid_pll

    def give_up(self) -> None:
        """Learn no further, as things stand.

        The network stays. The index of its features and what is known of the curvature go, since
        they take most of the memory and are rarely asked for again.
        """
        if self.steps_left:
            self.row["status"] = "given_up"
        self.is_given_up = True
        self._run = self._judge = None

    def take_up(self) -> None:
        """Count as one that may win, again."""
        if self.is_given_up and self.steps_left:
            self.row["status"] = "unfinished"
        self.is_given_up = False

    def _losing_tolerance(self, rival: Contender) -> float:
        """Return the tolerance with which this one would be beaten; 0 where it is not behind."""
        behind = -math.inf if self.valid_pll is None else rival.at_least - self.valid_pll
        if not behind > 0:
            return 0.0
        excess = self._excess()
        return (math.hypot(excess, behind) - excess) / 2

    def _excess(self) -> float:
        """Return how much better the network is on the training rows than on the others."""
        assert self.valid_pll is not None
        return max(self._training_pll() - self.valid_pll, 0.0)

    def _training_pll(self) -> float:
        report = self.network.training_
        assert report is not None
        assert self._run is not None
        if report.prior_sd is None:
            return report.objective
        squares = float(np.square(self.network.weights).sum())
        return report.objective + squares / (
            2 * report.prior_sd**2 * self._run.likelihood.total_weight
        )


def leader(contenders: Sequence[Contender]) -> Contender:
    """Return the best as things stand; of equals, the first.

    Without rows to choose by there is one setting, and the last network is what it comes to.
    """
    if all(c.valid_pll is None for c in contenders):
        return contenders[-1]
    return max(contenders, key=lambda c: -math.inf if c.valid_pll is None else c.valid_pll)


def are_beaten(contenders: Sequence[Contender], others: Sequence[Contender]) -> bool:
    """Tell whether one of the others is better than all of these, whatever is left to learn."""
    return max((c.at_most for c in contenders), default=-math.inf) < max(
        (c.at_least for c in others), default=-math.inf
    )


def sort_out(contenders: Sequence[Contender]) -> list[Contender]:
    """Give up those that cannot win as things stand, take up those that can.

    Returns the ones to remember: all but those that are worse than one whose weights are final,
    which alone is sure to stay where it is.
    """
    at_least = max(c.at_least for c in contenders)
    final = max((c.at_least for c in contenders if not c.steps_left), default=-math.inf)
    for contender in contenders:
        if contender.at_most < at_least:
            contender.give_up()
        else:
            contender.take_up()
    return [c for c in contenders if not c.at_most < final]
