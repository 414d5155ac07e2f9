"""Weighted conjunctions as model files hold them, before they become a network.

Other programs write a probability of zero, or a log-potential of minus infinity. Our weights are
finite, so that every conditional distribution is defined in every state: a hard constraint becomes
a very strong one, `HARD_WEIGHT`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from feldspar._caution import warn_user

Test: TypeAlias = tuple[int, int | frozenset[int]]
"""A variable and the value, or the set of values, that it may have."""

Term: TypeAlias = tuple[tuple[Test, ...], float]
"""A conjunction of tests and its weight."""

HARD_WEIGHT = 50.0
"""The finite weight that stands for infinity.

Two states that differ by it differ in probability by a factor of ``exp(50)``, about 5e21: never
seen in a sample, yet a dozen of them add up without overflowing a double.
"""


def soften_terms(terms: Sequence[Term], *, name: str) -> list[Term]:
    """Replace infinite weights by `HARD_WEIGHT` of the same sign, with one warning.

    Parameters
    ----------
    terms : sequence of (conjunction, weight)
        The weighted conjunctions of a model file.
    name : str
        What the warning calls the file.

    Returns
    -------
    list of (conjunction, weight)
        The same terms in the same order, all weights finite.
    """
    warn_of_hard_weights([weight for _, weight in terms], name=name)
    return [(tests, finite_weight(weight)) for tests, weight in terms]


def warn_of_hard_weights(weights: Iterable[float], *, name: str) -> None:
    """Warn once if some weights are infinite."""
    n_hard = sum(math.isinf(weight) for weight in weights)
    if n_hard:
        message = (
            f"{name}: {n_hard} infinite log-potential(s) replaced by +-{HARD_WEIGHT:g}, "
            "since the weights of a network are finite"
        )
        warn_user(message)


def finite_weight(weight: float) -> float:
    """Return a weight, or what stands for it if it is infinite."""
    return math.copysign(HARD_WEIGHT, weight) if math.isinf(weight) else weight
