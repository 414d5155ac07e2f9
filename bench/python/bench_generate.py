"""Generating GSSL's features: five million generalisations of the examples, on one thread.

For each data set, starting from the positive tests of the examples and from all of them: processor
seconds of generating, how many features were generated more than once, and the peak memory of the
process. Each case runs in a process of its own.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import feldspar as fs
from feldspar import _core
from feldspar.features import core_dataset

NAMES = ("nltcs", "plants", "jester", "dna", "bbc", "cr52", "c20ng")


def measure(name: str, initial: str, n_generated: int) -> None:
    """Generate once and print a line."""
    data = core_dataset(fs.datasets.load(name).train)
    started = time.process_time()
    generated = _core.generate_features(data, initial == "positive", [n_generated], [1], 0, None)
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(
        f"{name:10} {initial:9} {seconds:6.2f} s {len(generated[0][0]):9} features {peak:6.0f} MB",
        flush=True,
    )


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("datasets", nargs="*", default=NAMES)
    parser.add_argument("--n-generated", type=int, default=5_000_000)
    parser.add_argument("--initial", choices=("positive", "full"), help="only this one, here")
    args = parser.parse_args()
    for name in args.datasets:
        if args.initial is not None:
            measure(name, args.initial, args.n_generated)
            continue
        for initial in ("positive", "full"):
            command = [sys.executable, __file__, name, "--initial", initial]
            subprocess.run([*command, "--n-generated", str(args.n_generated)], check=True)


if __name__ == "__main__":
    main()
