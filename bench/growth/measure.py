"""One measurement: processor seconds and peak memory of a piece of work, in this process.

Memory is that of the process while the work runs, less that of the idle interpreter after its
imports: what the work needs to have there is included, what making its inputs took is not. Pages of
files, such as the code of libraries, do not count. The figures come from /proc, so that this runs
on Linux only: ``getrusage`` cannot forget a peak.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 20
_ENOUGH_SECONDS = 2.0  # of rounds of one work


@dataclass(frozen=True)
class Cost:
    """What a piece of work took."""

    seconds: float
    bytes: int


def cost_of(prepare: Callable[[], Callable[[], object]]) -> Cost:
    """Return the cost of what ``prepare`` returns: the fewest seconds of a few rounds."""
    forget_peak()
    idle = peak_bytes()
    work = prepare()
    forget_peak()
    spent = [_seconds(work)]
    peak = peak_bytes()
    while len(spent) < ROUNDS and sum(spent) < _ENOUGH_SECONDS:
        spent.append(_seconds(work))
    return Cost(min(spent), max(peak - idle, 0))


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def forget_peak() -> None:
    """Begin a new peak, at what is in use now; what is free goes back to the system first."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    """Return the peak of resident memory, pages of files left out."""
    lines = Path("/proc/self/status").read_text().splitlines()
    kilobytes = {
        name: int(rest.split()[0])
        for name, rest in (line.split(":", 1) for line in lines)
        if name in ("VmHWM", "RssFile")
    }
    return 1024 * (kilobytes["VmHWM"] - kilobytes["RssFile"])
