"""L1-penalised logistic regressions of all variables against scikit-learn's liblinear, in one run.

For each data set, the whole path of C for every target:

- with feldspar, one call for all targets on one thread, data preparation included;
- with ``LogisticRegression(solver="liblinear")``, one call for each target and C, on one thread.
  liblinear penalises the intercept, so feldspar is told to do the same here. Its ``tol`` is the one
  of ``--tol``; compare the objectives to see what accuracy that buys.

Times are of the processor, not of the clock: each works on one thread, and the machine may have
other things to do.

With ``--targets N``, liblinear gets N targets spread evenly over all, and its time is scaled up by
the share; feldspar always does all of them. Objectives are compared on the targets that both did:
"above" is how far liblinear's objective is above feldspar's, relative. "violation" is the largest
component of the subgradient of C * loss + |w| + |b|, 0 at the optimum, computed here with NumPy for
both.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import sklearn
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import feldspar as fs
from feldspar import _core

Array = npt.NDArray[np.float64]

SKLEARN = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
L1 = {"l1_ratio": 1.0} if SKLEARN >= (1, 8) else {"penalty": "l1"}


@dataclass
class Accuracy:
    """The worst of what was compared."""

    above: float = 0.0  # liblinear's objective over feldspar's, relative
    below: float = 0.0  # and the other way round
    ours: float = 0.0  # violation of the optimality conditions
    theirs: float = 0.0


def look(X: Array, y: Array, w: Array, b: float, C: float) -> tuple[float, float]:
    """Return the objective C * loss + |w| + |b| and the violation of its optimality conditions."""
    margins = X @ w + b
    loss = np.logaddexp(0, margins).sum() - y @ margins
    residuals = C * (expit(margins) - y)
    x, gradient = np.append(w, b), np.append(X.T @ residuals, residuals.sum())
    outside = np.where(
        x != 0, np.abs(gradient + np.sign(x)), np.maximum(np.abs(gradient) - 1.0, 0.0)
    )
    return C * loss + np.abs(x).sum(), float(outside.max())


def ours(codes: npt.NDArray[np.int32], c_values: Array, args: argparse.Namespace) -> _core.L1Path:
    """Fit the whole path for all targets."""
    data = _core.Dataset.merge([2] * codes.shape[1], codes, None)
    options = _core.L1Options()
    options.penalize_intercept = True
    options.solver = args.solver
    return _core.L1Path.fit(data, c_values, options, 1, None)


def compare_target(
    codes: npt.NDArray[np.int32],
    target: int,
    path: _core.L1Path,
    args: argparse.Namespace,
    worst: Accuracy,
) -> float:
    """Return liblinear's seconds for one target; note the accuracies."""
    X = np.delete(codes, target, axis=1).astype(np.float64)
    y = codes[:, target].astype(np.float64)
    if len(np.unique(y)) < 2:
        return 0.0
    seconds = 0.0
    for c, C in enumerate(path.c_values):
        model = LogisticRegression(
            solver="liblinear", C=C, tol=args.tol, max_iter=args.max_iterations, **L1
        )
        start = time.process_time()
        model.fit(X, y)
        seconds += time.process_time() - start
        theirs = look(X, y, model.coef_[0], float(model.intercept_[0]), C)
        variables, _, _, weights = path.weights(target, c)
        w = np.zeros(codes.shape[1])
        w[variables] = weights
        own = look(X, y, np.delete(w, target), float(path.intercepts(target, c)[1]), C)
        worst.above = max(worst.above, theirs[0] / own[0] - 1)
        worst.below = max(worst.below, own[0] / theirs[0] - 1)
        worst.ours = max(worst.ours, own[1])
        worst.theirs = max(worst.theirs, theirs[1])
    return seconds


def compare(name: str, args: argparse.Namespace) -> None:
    """Print one block."""
    codes = np.ascontiguousarray(fs.datasets.load(name).train.to_numpy(), np.int32)
    c_values = np.array(args.c_values)
    n = codes.shape[1]
    print(f"{name}: {len(codes)} rows x {n} variables, {len(c_values)} values of C", flush=True)
    times = []
    for _ in range(args.rounds):
        start = time.process_time()
        path = ours(codes, c_values, args)
        times.append(time.process_time() - start)
    print(
        f"  feldspar, all targets    {min(times):9.3f} s  (best of {args.rounds}; "
        f"{path.n_nonzeros.sum()} non-zeros, largest violation {path.violations.max():.1e})",
        flush=True,
    )
    if args.ours_only:
        return
    targets = np.unique(np.linspace(0, n - 1, min(args.targets or n, n)).astype(int))
    worst = Accuracy()
    seconds = sum(compare_target(codes, int(t), path, args, worst) for t in targets)
    share = len(targets) / n
    sample = "all targets" if share == 1 else f"{len(targets)} of {n} targets"
    print(f"  liblinear, {sample:14}{seconds:9.3f} s  (tol {args.tol:g})")
    print(
        f"  ratio {seconds / share / min(times):.1f}; objective at most {worst.above:.1e} above "
        f"and {worst.below:.1e} below; violation {worst.ours:.1e}, liblinear's {worst.theirs:.1e}",
        flush=True,
    )


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=["nltcs", "plants", "jester", "dna"])
    parser.add_argument("--targets", type=int, default=0, help="for liblinear; 0: all")
    parser.add_argument(
        "--c-values", nargs="+", type=float, default=[0.001, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0]
    )
    parser.add_argument("--tol", type=float, default=1e-4, help="liblinear's tolerance")
    parser.add_argument("--max-iterations", type=int, default=10_000, help="liblinear's limit")
    parser.add_argument("--solver", choices=["coordinate", "owlqn"], default="coordinate")
    parser.add_argument("--rounds", type=int, default=1, help="runs of feldspar, of which the best")
    parser.add_argument("--ours-only", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threadpool_limits(limits=1):
        for name in args.datasets:
            compare(name, args)


if __name__ == "__main__":
    main()
