"""Tuned learners on the benchmark sets, stage by stage.

For each data set: CPU seconds of a fit with the papers' grids; how they divide into structure
learning, building indexes and learning weights (by the wall clock, so that on a busy machine the
parts are rough); evaluations of the objective and milliseconds of each; the settings that were
chosen; and the test NPLL (PLL per row and variable). With
``--exhaustive`` the same once more with all settings learned to the end, and whether that chooses
differently. ``--trials`` prints every trial.
"""

from __future__ import annotations

import argparse
import time

import feldspar as fs
from feldspar.learners._base import MarkovLearner

LEARNERS: dict[str, type[MarkovLearner]] = {
    "dtsl": fs.DTSL,
    "l1": fs.L1Neighborhood,
    "dtl1": fs.DTL1,
}


def fit(name: str, args: argparse.Namespace, *, exhaustive: bool) -> MarkovLearner:
    """Fit one learner to one data set and print its line."""
    data = fs.datasets.load(name)
    learner = LEARNERS[args.learner](n_jobs=args.jobs, exhaustive=exhaustive)
    started = time.process_time()
    learner.fit(data.train, X_valid=data.valid)
    cpu = time.process_time() - started
    seconds = learner.fit_seconds_
    rows = [row for row in learner.trials_ if row["stage"] == "weights"]
    learning = sum(row["seconds"] for row in rows)
    evaluations = sum(row.get("evaluations", 0) for row in rows)
    share = cpu / seconds["total"]
    npll = learner.score(data.test) / learner.n_features_in_
    print(
        f"{name:10} {'all' if exhaustive else 'race':5} {cpu:8.2f} "
        f"{share * seconds['structure']:8.2f} {share * (seconds['weights'] - learning):8.2f} "
        f"{share * learning:8.2f} {evaluations:7d} {1e3 * share * learning / evaluations:8.2f} "
        f"{npll:9.5f}  {learner.best_params_}",
        flush=True,
    )
    if args.trials:
        for row in rows:
            shown = {k: v for k, v in row.items() if k != "stage" and not isinstance(v, dict)}
            print("   ", ", ".join(f"{key} {value}" for key, value in shown.items()))
    return learner


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--datasets",
        nargs="+",
        default=["nltcs", "plants", "baudio", "jester", "accidents", "dna", "bbc"],
    )
    parser.add_argument("--learner", choices=list(LEARNERS), default="dtsl")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--exhaustive", action="store_true")
    parser.add_argument("--trials", action="store_true")
    args = parser.parse_args()
    print(
        f"{'':16} {'CPU s':>8} {'struct s':>8} {'index s':>8} {'weight s':>8} {'evals':>7} "
        f"{'ms each':>8} {'test NPLL':>9}  chosen"
    )
    fit("digits", argparse.Namespace(**{**vars(args), "trials": False}), exhaustive=False)
    for name in args.datasets:
        raced = fit(name, args, exhaustive=False)
        if args.exhaustive:
            whole = fit(name, args, exhaustive=True)
            same = raced.best_params_ == whole.best_params_
            print(f"{name:10} the same choice" if same else f"{name:10} ANOTHER CHOICE")


if __name__ == "__main__":
    main()
