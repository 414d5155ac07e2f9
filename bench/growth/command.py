"""The command: measure what is missing, then write the page."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from growth import plan
from growth.results import Results

_RESULTS = Path("build/growth/results.json")


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(
        prog="python bench/growth", description="How cost grows with the size of the problem."
    )
    add = parser.add_argument
    add("--results", type=Path, default=_RESULTS, help="measured points; those there are kept")
    add("--page", type=Path, help="write the page here once no point is missing")
    add("--budget", type=float, default=10.0, help="minutes to measure for")
    add("--point-limit", type=float, default=30.0, help="seconds that a point may take")
    add("--axes", nargs="+", choices=[axis.name for axis in plan.AXES])
    add("--tasks", nargs="+", choices=list(plan.TASKS))
    args = parser.parse_args()
    # Libraries read it when they are imported: one thread, and none of theirs beside it.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    _run(args)


def _run(args: argparse.Namespace) -> None:
    from feldspar._machine import machine, versions
    from growth.runner import Runner

    results = Results.open(args.results, versions() | machine())
    chosen = tuple(
        one
        for one in plan.SERIES
        if one.axis in (args.axes or [one.axis]) and one.task in (args.tasks or [one.task])
    )
    runner = Runner(args.results, args.point_limit, 60 * args.budget)
    runner.run(results, chosen)
    n_missing = sum(runner.is_missing(results, one, size) for one, size in plan.points())
    if n_missing:
        print(f"at least {n_missing} points are missing; the same command goes on from here")
    elif args.page:
        from growth.page import write_page

        write_page(results, args.page, args.point_limit)


if __name__ == "__main__":
    main()
