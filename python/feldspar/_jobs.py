"""How many threads a call may use."""

from __future__ import annotations

import operator
import os

# Far above any machine's number of processors: a slip, which would die for want of threads.
_MOST_JOBS = 1024


def resolve_jobs(n_jobs: int | None) -> int:
    """Return the core's thread count for scikit-learn's ``n_jobs``.

    ``None`` becomes 0: whatever OpenMP would use at the time of the call, so that limits set by
    joblib, threadpoolctl or ``OMP_NUM_THREADS`` hold. Negative numbers count from the number of
    processors (-1 is all of them). Results never depend on it.
    """
    if n_jobs is None:
        return 0
    try:
        count = operator.index(n_jobs)
    except TypeError:
        raise TypeError(f"n_jobs: expected None or an integer, got {n_jobs!r}") from None
    if count == 0:
        raise ValueError("n_jobs must not be 0; expected None, a positive number, or -1 for all")
    if count > _MOST_JOBS:
        raise ValueError(f"n_jobs must be at most {_MOST_JOBS}, got {count}")
    return count if count > 0 else max(1, (os.cpu_count() or 1) + 1 + count)
