"""Where the time of a fit goes, and how much of it is left."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from feldspar.features import core_float

# What a step gets when the time is over: it makes the least result there is, and says why.
_LEAST_SECONDS = 1e-9


class Clock:
    """Measures the stages of a fit against its time limit.

    Parameters
    ----------
    limit : float or None
        Seconds for everything.
    """

    def __init__(self, limit: float | None) -> None:
        if limit is not None and not core_float("time_limit", limit) > 0:
            raise ValueError(f"time_limit must be positive, got {limit}")
        self._limit = limit
        self._started = time.perf_counter()
        self._stages: defaultdict[str, float] = defaultdict(float)

    @property
    def is_over(self) -> bool:
        """Whether the limit is reached."""
        return self._limit is not None and self._elapsed() >= self._limit

    @property
    def seconds_left(self) -> float | None:
        """What a step may still take; always positive."""
        return None if self._limit is None else max(self._limit - self._elapsed(), _LEAST_SECONDS)

    def part(self, limit: float | None) -> Clock:
        """Return a clock for a part of the work, with what is left here as its limit, or less."""
        left = self.seconds_left
        clock = Clock(limit if left is None or (limit is not None and limit < left) else left)
        clock._stages = self._stages  # a part's stages are the whole's
        return clock

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time of the block to a stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._stages[name] += time.perf_counter() - started

    def seconds(self) -> dict[str, float]:
        """Return the seconds of each stage, and of the whole fit as ``total``."""
        return {"structure": 0.0, "weights": 0.0, **self._stages, "total": self._elapsed()}

    def _elapsed(self) -> float:
        return time.perf_counter() - self._started
