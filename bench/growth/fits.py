"""Exponents: slopes of straight lines through the points of a log-log plot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import linear_regression

Point = tuple[float, float]  # size, cost


@dataclass(frozen=True)
class Exponents:
    """Of cost ~ size ** exponent; None where there are too few points to tell.

    Attributes
    ----------
    whole : float or None
        Over all points. Small sizes show fixed costs, which make it smaller.
    upper : float or None
        Over the upper half of the sizes, on the logarithmic scale: what growth comes to.
    """

    whole: float | None
    upper: float | None


def exponents(points: Sequence[Point], *, floor: float = 0.0) -> Exponents:
    """Return the fitted exponents.

    Parameters
    ----------
    points : sequence of (size, cost)
    floor : float
        Costs below it are noise and left out.
    """
    return Exponents(slope(above(points, floor)), slope(above(upper_half(points), floor)))


def above(points: Sequence[Point], floor: float) -> list[Point]:
    """Return the points whose costs are above a floor."""
    return [(size, cost) for size, cost in points if cost > floor]


def slope(points: Sequence[Point]) -> float | None:
    """Return the least-squares slope in logarithms."""
    if len({size for size, _ in points}) < 2:
        return None
    sizes = [math.log(size) for size, _ in points]
    costs = [math.log(cost) for _, cost in points]
    return linear_regression(sizes, costs).slope


def upper_half(points: Sequence[Point]) -> list[Point]:
    """Return the points whose sizes are at least the geometric mean of the extreme ones."""
    if not points:
        return []
    middle = math.sqrt(min(size for size, _ in points) * max(size for size, _ in points))
    # A size that is the mean itself must not fall to rounding.
    return [(size, cost) for size, cost in points if size >= middle * (1 - 1e-9)]


def predicted(points: Sequence[Point], size: float) -> float | None:
    """Return the cost at a size beyond the points, from the last two of them."""
    last = sorted(points)[-2:]
    if len(last) < 2:
        return None
    (_, _), (at, cost) = last
    exponent = slope(last)
    return None if exponent is None else cost * (size / at) ** max(exponent, 0.0)
