"""Peak memory and time of learning all pairwise weights, each data set in a process of its own."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import feldspar as fs


def measure(name: str, order: int) -> None:
    """Learn on one data set and print a line."""
    start = time.perf_counter()
    data = fs.datasets.load(name)
    loaded = time.perf_counter()
    features = fs.FeatureSet.conjunctions(data.train, order=order, min_support=10, supported_from=3)
    network = fs.learn_weights(features, data.train, prior_sd=1.0)
    learned = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    report = network.training_
    assert report is not None
    print(
        f"{name}: {len(features)} features, read {loaded - start:.2f} s, "
        f"learned {learned - loaded:.2f} s ({report.status}, {report.evaluations} evaluations), "
        f"objective {report.objective:.6f}, peak memory {peak:.0f} MiB",
        flush=True,
    )


def main() -> None:
    """Run each data set in its own process, so that peaks do not add up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--order", type=int, default=2)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    for name in args.datasets:
        if args.here:
            measure(name, args.order)
        else:
            command = [sys.executable, __file__, name, "--order", str(args.order), "--here"]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
