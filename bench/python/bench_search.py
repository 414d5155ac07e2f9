"""Searches for features: seconds of the processor, size and scores of BLM, DTBLM and TopDown.

    python bench/python/bench_search.py nltcs --methods blm topdown --alpha 10 3

A fit on one thread with each alpha by itself, the prior fixed (DTBLM: that of its DTSL). Scores are
NPLL: mean log-conditional per variable. With ``--time-limit`` a fit may stop early; that is told.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

import feldspar as fs

LEARNERS: dict[str, Any] = {"blm": fs.BLM, "dtblm": fs.DTBLM, "topdown": fs.TopDown}


def main() -> None:
    """Print a line for each data set, method and alpha."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--methods", nargs="+", choices=sorted(LEARNERS), default=sorted(LEARNERS))
    parser.add_argument("--alpha", nargs="+", type=float, default=[10.0])
    parser.add_argument("--relearn-every", type=int, default=25)
    parser.add_argument("--additions", type=int, default=10)
    parser.add_argument("--time-limit", type=float)
    args = parser.parse_args()
    own = {
        "blm": {"relearn_every": args.relearn_every},
        "dtblm": {"relearn_every": args.relearn_every},
        "topdown": {"additions": args.additions},
    }
    print(f"{'data':10} {'method':8} {'alpha':>6} {'cpu s':>8} {'features':>8} {'valid':>8} test")
    for name in args.datasets:
        data = fs.datasets.load(name)
        n_variables = len(data.schema)
        for method in args.methods:
            for alpha in args.alpha:
                learner = LEARNERS[method](
                    alpha=alpha, n_jobs=1, time_limit=args.time_limit, **own[method]
                )
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always", ConvergenceWarning)
                    started = time.process_time()
                    learner.fit(data.train, X_valid=data.valid)
                    seconds = time.process_time() - started
                stopped = " (time limit)" if any("time_limit" in str(w) for w in caught) else ""
                valid, test = (learner.score(t) / n_variables for t in (data.valid, data.test))
                print(
                    f"{name:10} {method:8} {alpha:6g} {seconds:8.1f} "
                    f"{len(learner.network_.features):8} {valid:8.4f} {test:.4f}{stopped}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
