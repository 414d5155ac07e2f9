"""How questions run: threads, progress, time; all methods of the core are asked alike."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from feldspar._jobs import resolve_jobs
from feldspar._progress import progress_bar
from feldspar.evidence import Evidence
from feldspar.features import core_float

if TYPE_CHECKING:
    from feldspar.network import MarkovNetwork

Found = TypeVar("Found")


@dataclass(frozen=True)
class Running:
    """How a method shall run, from the moment this is made."""

    n_threads: int
    verbose: bool
    max_seconds: float
    started: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(cls, *, time_limit: float | None, n_jobs: int | None, verbose: bool = False) -> Running:
        """Read what the user asked for."""
        if time_limit is not None and not core_float("time_limit", time_limit) > 0:
            raise ValueError(f"time_limit must be positive, got {time_limit}")
        seconds = math.inf if time_limit is None else float(time_limit)
        return cls(resolve_jobs(n_jobs), verbose, seconds)

    @property
    def is_over(self) -> bool:
        """Whether the time limit is."""
        return time.perf_counter() - self.started >= self.max_seconds

    @property
    def seconds_left(self) -> float:
        """What is left of the time, never nothing: a method with no time at all is refused."""
        return max(self.max_seconds - (time.perf_counter() - self.started), 1e-9)


def ask(
    function: Callable[..., Found],
    network: MarkovNetwork,
    evidence: Evidence,
    options: object,
    running: Running,
    title: str,
) -> Found:
    """Call the core: all its methods are asked alike."""
    with progress_bar(title, shown=running.verbose) as progress:
        return function(
            network._core,
            evidence.codes,
            evidence.log_likelihoods,
            options,
            running.n_threads,
            progress,
        )
