"""Cut points of continuous values, and the intervals between them.

Cuts are ascending; k cuts make k + 1 intervals, each closed below and open above. The outer ones
are unbounded, so that no value falls outside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]

_MAX_ROUNDS = 300


def quantile_cuts(values: Floats, bins: int) -> Floats:
    """Cut so that each interval holds about as many values."""
    return _useful(np.quantile(values, np.arange(1, bins) / bins), values)


def uniform_cuts(values: Floats, bins: int) -> Floats:
    """Cut the range of the values into intervals of equal width."""
    return _useful(np.linspace(values.min(), values.max(), bins + 1)[1:-1], values)


def kmeans_cuts(values: Floats, bins: int) -> Floats:
    """Cut halfway between the centres of clusters, found by Lloyd's rounds from equal widths.

    On the line a cluster is an interval, so that a round is: cut between the centres, then move
    each centre to the mean of its interval. An interval that loses all its values is dropped.
    """
    ordered = np.sort(values)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    edges = np.linspace(ordered[0], ordered[-1], bins + 1)
    centres = (edges[1:] + edges[:-1]) / 2
    for _ in range(_MAX_ROUNDS):
        ends = np.searchsorted(ordered, (centres[1:] + centres[:-1]) / 2)
        bounds = np.unique(np.concatenate([[0], ends, [len(ordered)]]))
        moved = np.diff(sums[bounds]) / np.diff(bounds)
        if np.array_equal(moved, centres):
            break
        centres = moved
    return _useful((centres[1:] + centres[:-1]) / 2, values)


STRATEGIES: dict[str, Callable[[Floats, int], Floats]] = {
    "quantile": quantile_cuts,
    "uniform": uniform_cuts,
    "kmeans": kmeans_cuts,
}


def threshold_cut(values: Floats, threshold: float) -> Floats:
    """Cut once, at the threshold if it divides the values."""
    return _useful(np.array([threshold]), values)


def interval_of(values: Floats, cuts: Floats) -> npt.NDArray[np.int32]:
    """Return the number of the interval that each value lies in, -1 for NaN."""
    codes = np.searchsorted(cuts, values, side="right").astype(np.int32)
    codes[np.isnan(values)] = -1
    return codes


def interval_labels(cuts: Floats) -> tuple[str, ...]:
    """Name the intervals, with no more digits than keep the cuts apart.

    Examples
    --------
    >>> interval_labels(np.array([0.5, 4 / 3]))
    ('(-inf, 0.5)', '[0.5, 1.33333)', '[1.33333, inf)')
    """
    texts = _distinct_texts(cuts)
    lower = ["(-inf", *(f"[{text}" for text in texts)]
    upper = [*texts, "inf"]
    return tuple(f"{low}, {high})" for low, high in zip(lower, upper, strict=True))


def _distinct_texts(cuts: Floats) -> list[str]:
    for digits in range(6, 17):
        texts = [f"{cut:.{digits}g}" for cut in cuts]
        if len(set(texts)) == len(texts):
            return texts
    return [repr(float(cut)) for cut in cuts]


def _useful(cuts: Floats, values: Floats) -> Floats:
    """Drop cuts with no value between them and the one before.

    If none is left, as when most values are equal, the lowest value is parted from the rest;
    a single value leaves no cut at all.
    """
    distinct = np.unique(values)
    # The values below each cut; the same number twice means an empty interval.
    below = np.searchsorted(distinct, cuts)
    kept = cuts[np.unique(below, return_index=True)[1]]
    kept = kept[(kept > distinct[0]) & (kept <= distinct[-1])]
    return kept if len(kept) else distinct[1:2]
