"""Growing the trees of all variables on real data, on one thread.

For each data set named on the command line: the seconds of one growth at kappa 1 (the fastest of
three), of scoring the validation data for five values of kappa, and the leaves left at each.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

import feldspar as fs
from feldspar import _core

KAPPAS = np.array([1e-4, 1e-3, 1e-2, 1e-1, 1.0])
T = TypeVar("T")


def timed(work: Callable[[], T], rounds: int) -> tuple[T, float]:
    """Return the result of a call and its seconds, the fewest of several rounds."""
    fewest = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        result = work()
        fewest = min(fewest, time.perf_counter() - start)
    return result, fewest


def codes_of(table: fs.Table) -> _core.CodeArray:
    """Return the rows as the core wants them."""
    return np.ascontiguousarray(table.to_numpy(), dtype=np.int32)


def measure(name: str, args: argparse.Namespace) -> None:
    """Print one line."""
    sets = fs.datasets.load(name)
    cardinalities = [int(c) for c in sets.schema.cardinalities]
    train, valid = codes_of(sets.train), codes_of(sets.valid)
    data = _core.Dataset.merge(cardinalities, train, None)

    def grow() -> _core.Trees:
        return _core.Trees.grow(data, 1.0, args.min_leaf_weight, 1.0, args.threads, None)

    trees, growth = timed(grow, args.rounds)
    scores, scoring = timed(
        lambda: trees.log_likelihoods(valid, None, KAPPAS, args.threads), args.rounds
    )
    leaves = " ".join(f"{trees.pruned(kappa).n_leaves:7d}" for kappa in KAPPAS)
    best = KAPPAS[int(np.argmax(scores))]
    print(
        f"{name:10} {len(train):6d} x {len(cardinalities):4d}  growth {growth:8.4f} s  "
        f"scores {scoring:8.4f} s  leaves {leaves}  best kappa {best:g}",
        flush=True,
    )


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("datasets", nargs="*", default=["nltcs", "plants", "jester", "dna"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--min-leaf-weight", type=float, default=10.0)
    args = parser.parse_args()
    print(f"kappa {', '.join(f'{kappa:g}' for kappa in KAPPAS)}; {args.threads} thread(s)")
    for name in args.datasets:
        measure(name, args)


if __name__ == "__main__":
    main()
