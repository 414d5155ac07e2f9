"""Weight learning alone, on one thread, beside the public OCaml/C toolkit on the same work.

Features: two for each leaf of trees of a given kappa, prior of standard deviation 1; and the merged
features of a DN2MN network. The toolkit's seconds and megabytes were measured on one core of such a
machine, with its own stopping rule: the objective gained less than a thousandth in five iterations.
Ours is stopped by the same rule, index building included; how far the objective is then from
its optimum is printed too. Each workload runs in a process of its own. Memory: the peak of the
process, and the part of it that came on top of what Python, data and features had taken.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

import feldspar as fs

RULE = 1e-3
PERIOD = 5


@dataclass(frozen=True)
class Work:
    """What the toolkit did, and in which time and memory."""

    kind: str
    dataset: str
    prior_sd: float
    seconds: float
    megabytes: float | None = None
    kappa: float = 0.0  # of the trees whose leaves are meant

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return f"{self.kind}-{self.dataset}"

    def features(self) -> fs.MarkovNetwork:
        """Return a network with the features."""
        data = fs.datasets.load(self.dataset)
        if self.kind == "flat":
            return fs.DN2MN(n_jobs=1).fit(data.train, X_valid=data.valid).network_
        trees = fs.DTSL(
            kappa=self.kappa, conversion="default", prior_sd=1.0, n_jobs=1, max_iterations=1
        )
        return trees.fit(data.train).network_


WORK = (
    Work("leaf", "nltcs", 1.0, 2.4, kappa=0.1),
    Work("leaf", "plants", 1.0, 13.8, 330, kappa=0.01),
    Work("leaf", "baudio", 1.0, 11.6, 407, kappa=1e-3),
    Work("leaf", "jester", 1.0, 4.9, kappa=1e-3),
    Work("leaf", "accidents", 1.0, 13.2, kappa=0.01),
    Work("leaf", "dna", 1.0, 0.65, kappa=1e-4),
    Work("leaf", "bbc", 1.0, 7.8, kappa=1e-4),
    Work("flat", "nltcs", 1.0, 31.6),
    Work("flat", "jester", 0.1, 68, 2100),
    Work("flat", "plants", 0.1, 242, 5000),
)


def peak(*, since_now: bool = False) -> float:
    """Return the largest memory of this process in megabytes; or forget it and begin anew."""
    if since_now:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / 1e6


def stopping_point(objectives: list[float]) -> int:
    """Return the iteration at which the toolkit's rule ends a run."""
    for i in range(PERIOD, len(objectives)):
        if objectives[i] - objectives[i - PERIOD] < RULE * abs(objectives[i]):
            return i
    return len(objectives) - 1


def measure(work: Work, file: Path) -> None:
    """Learn the weights and print a line."""
    data = fs.datasets.load(work.dataset)
    features = fs.MarkovNetwork.load(file).features

    def learn(max_iterations: int) -> fs.MarkovNetwork:
        return fs.learn_weights(
            features,
            data.train,
            prior_sd=work.prior_sd,
            n_jobs=1,
            tolerance=1e-5,
            max_iterations=max_iterations,
        )

    before = peak(since_now=True)
    whole = learn(1000)
    memory = peak()
    assert whole.training_ is not None
    objectives = [objective for _, objective, _ in whole.training_.history]
    stop = stopping_point(objectives)
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        stopped = learn(stop)
        seconds.append(time.perf_counter() - started)
    theirs = "" if work.megabytes is None else f" of {work.megabytes:.0f}"
    print(
        f"{work.name:15} {len(features):6} features  {min(seconds):7.3f} s of {work.seconds:6.2f}: "
        f"{work.seconds / min(seconds):6.1f} x  iteration {stop:3}, "
        f"objective {objectives[stop]:.5f} ({objectives[-1]:.5f} at the end)  "
        f"test PLL {stopped.score(data.test):.4f}  "
        f"memory {memory - before:.0f} MB on top of {before:.0f}{theirs}",
        flush=True,
    )


def main() -> None:
    """Run the workloads, each in a process of its own."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    names = [work.name for work in WORK]
    parser.add_argument("--work", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--features", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # runs are stopped early on purpose
    for work in WORK:
        if work.name not in args.work:
            continue
        if args.features is not None:
            measure(work, args.features)
            continue
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "features.json"
            work.features().save(file)
            command = [sys.executable, __file__, "--work", work.name, "--features", str(file)]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
