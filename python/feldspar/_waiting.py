"""How the core's threads wait for each other: asleep.

OpenMP's threads spin by default, some for milliseconds. That gains a little where every thread has
a core of its own, and on a machine with anything else to do it makes two threads many times slower
than one: each spins away the time that the other needs. OpenMP reads its settings when it is
loaded, so that they are in the environment for that moment only; those of the user stand.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_SETTINGS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")


@contextmanager
def threads_that_sleep() -> Iterator[None]:
    """Load OpenMP within this, and its threads will sleep while they wait."""
    if any(name in os.environ for name in _SETTINGS):
        yield
        return
    os.environ["OMP_WAIT_POLICY"] = "passive"
    try:
        yield
    finally:
        del os.environ["OMP_WAIT_POLICY"]
