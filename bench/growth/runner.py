"""Runs what is still to be measured, each point in a process of its own, within a time budget.

The processes are forked from this one, which has imported all they need and computes nothing
itself: a start takes milliseconds where imports would take seconds, and there are no threads that a
fork could leave behind.
"""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from growth import plan
from growth.fits import predicted
from growth.inputs import INPUTS
from growth.measure import Cost, cost_of
from growth.plan import Series
from growth.results import Measured, Results
from growth.tasks import TASKS

# Inputs take time as well.
_PATIENCE = 3.0
_START_SECONDS = 30.0
_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Runner:
    """Where and how long to measure.

    Attributes
    ----------
    path : Path
        The results.
    point_seconds : float
        A size that is expected to take longer is left out.
    budget_seconds : float
        When they are over, no more points are begun.
    """

    path: Path
    point_seconds: float
    budget_seconds: float

    def run(self, results: Results, series: tuple[Series, ...]) -> None:
        """Measure what is missing, in time."""
        start = time.monotonic()
        self._make_files(series)
        for one, size in plan.points(series):
            if not self.is_missing(results, one, size):
                continue
            if time.monotonic() - start > self.budget_seconds:
                return
            point = self._measured(one, size)
            results.points.append(point)
            results.save(self.path)
            print(_line(point), flush=True)

    def is_missing(self, results: Results, series: Series, size: int) -> bool:
        """Tell whether a point is still to be measured: it is neither there nor left out."""
        is_there = results.find(series, size) is not None
        return not is_there and not is_too_long(results, series, size, self.point_seconds)

    def _make_files(self, series: tuple[Series, ...]) -> None:
        """Let inputs make the files that they keep, lest the first point have it in its memory."""
        for axis in {one.axis for one in series}:
            make = INPUTS[axis](plan.axis(axis).sizes[0], self.path.parent).make_files
            process = _FORK.Process(target=make)
            process.start()
            process.join()

    def _measured(self, series: Series, size: int) -> Measured:
        receiver, sender = _FORK.Pipe(duplex=False)
        process = _FORK.Process(
            target=_measure, args=(series, size, self.path.parent, sender), daemon=True
        )
        process.start()
        sender.close()
        try:
            is_done = receiver.poll(_PATIENCE * self.point_seconds + _START_SECONDS)
            cost: Cost | None = receiver.recv() if is_done else None
        except EOFError:  # its traceback has been printed
            raise SystemExit(f"{series.axis} {series.task} {size} failed") from None
        finally:
            process.kill()
            process.join()
        if cost is None:
            return Measured(series.axis, series.task, size, None, None)
        return Measured(series.axis, series.task, size, cost.seconds, cost.bytes)


def _measure(series: Series, size: int, folder: Path, sender: Connection) -> None:
    """Measure a point, in a process of its own."""
    sender.send(cost_of(lambda: TASKS[series.task](INPUTS[series.axis](size, folder))))


def is_too_long(results: Results, series: Series, size: int, point_seconds: float) -> bool:
    """Tell whether a size is left out: it, or one before it, would take more than its time."""
    before = [smaller for smaller in plan.axis(series.axis).sizes if smaller < size]
    done = dict(results.times(series))
    if any(smaller not in done for smaller in before):
        return True
    expected = predicted(list(done.items()), size)
    return expected is not None and expected > point_seconds


def _line(point: Measured) -> str:
    name = f"{point.axis:10} {point.task:11} {point.size:9,}"
    if point.seconds is None or point.bytes is None:
        return f"{name}  did not end in time"
    return f"{name}  {point.seconds:10.5f} s  {point.bytes / 1e6:8.1f} MB"
