"""Weight learning against the same objective in SciPy and NumPy, in one run.

For each data set and feature set (all pairs; all pairs and the triples with support 10), learns
weights with a Gaussian prior of standard deviation 1

- with feldspar, on one thread and on two, index building included;
- with a matrix of scipy.sparse whose columns are the features and whose rows are the conditionals
  (each variable of each example), optimised by SciPy's L-BFGS-B at its default tolerances; the
  time to build the matrix is not counted;
- for all pairs also with dense matrix products in NumPy (BLAS on one thread), optimised likewise.

Two ratios are printed: of whole runs, and of the baseline's to the time in which feldspar reached
the objective where the baseline ended. A baseline that exceeds ``--budget`` seconds is stopped and
has the second only. ``--merge`` hands merged, weighted rows to the baselines too.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

import feldspar as fs

Array = npt.NDArray[np.float64]
Objective = Callable[[Array], tuple[float, Array]]


@dataclass
class Run:
    """What one solver did."""

    seconds: float
    objective: float  # mean per example, to be maximised
    evaluations: int
    finished: bool = True
    history: tuple[tuple[float, float], ...] = ()  # (seconds, objective), index included

    def seconds_to(self, objective: float) -> float:
        """Return when an objective was first reached."""
        return next((at for at, value in self.history if value >= objective), self.seconds)


def logistic(margins: Array, signs: Array, weights: Array) -> tuple[float, Array]:
    """Return the weighted log-likelihood of observed signs and its derivative by the margins."""
    z = margins * signs
    e = np.exp(-np.abs(z))
    value = float(weights @ (np.minimum(z, 0.0) - np.log1p(e)))
    return value, weights * signs * np.where(z > 0, e, 1.0) / (1.0 + e)


def sparse_objective(
    X: npt.NDArray[np.int64], row_weights: Array, features: fs.FeatureSet, block_entries: float
) -> tuple[Objective, int]:
    """Return -PLL with its gradient by one big sparse matrix, and its number of entries.

    One row per conditional, one column per feature. Beyond ``block_entries`` the matrix is kept in
    blocks of whole variables: the same products, without the memory that stacking them takes.
    """
    n, d = X.shape
    columns = [[] for _ in range(d)]  # per variable: (feature, other variables)
    for j in range(len(features)):
        scope = features.variables(j)
        for v in scope:
            columns[v].append((j, [u for u in scope if u != v]))
    holds = X.astype(bool)
    blocks: list[tuple[sp.csr_matrix, sp.csr_matrix]] = []  # and transposed
    ones = np.ones(0)  # all entries are: blocks share them

    def stack(parts: list[sp.csr_matrix]) -> None:
        nonlocal ones
        matrix = sp.vstack(parts, format="csr")
        transposed = matrix.T.tocsr()
        if len(ones) < matrix.nnz:
            ones = np.ones(matrix.nnz)
        matrix.data = transposed.data = ones[: matrix.nnz]
        blocks.append((matrix, transposed))

    parts: list[sp.csr_matrix] = []
    for own in columns:
        contexts = [
            np.flatnonzero(holds[:, rest].all(axis=1)) if rest else np.arange(n) for _, rest in own
        ]
        feature = np.repeat([j for j, _ in own], [len(c) for c in contexts])
        rows = np.concatenate(contexts)
        part = sp.csr_matrix((np.ones(len(rows)), (rows, feature)), shape=(n, len(features)))
        if parts and sum(p.nnz for p in parts) + part.nnz > block_entries:
            stack(parts)
            parts = []
        parts.append(part)
    stack(parts)
    ends = np.cumsum([matrix.shape[0] for matrix, _ in blocks])[:-1]
    signs = (2.0 * X - 1.0).T.ravel()
    weights = np.tile(row_weights, d)

    def objective(w: Array) -> tuple[float, Array]:
        margins = np.concatenate([matrix @ w for matrix, _ in blocks])
        value, derivative = logistic(margins, signs, weights)
        gradient = np.zeros(len(w))
        for (_, transposed), part in zip(blocks, np.split(derivative, ends), strict=True):
            gradient += transposed @ part
        return -value, -gradient

    return objective, sum(matrix.nnz for matrix, _ in blocks)


def dense_objective(
    X: npt.NDArray[np.int64], row_weights: Array, features: fs.FeatureSet
) -> Objective:
    """Return -PLL of all single and pairwise features by dense matrix products."""
    d = X.shape[1]
    data = X.astype(np.float64)
    signs = 2.0 * data - 1.0
    scopes = [features.variables(j) for j in range(len(features))]
    single = np.array([j for j, s in enumerate(scopes) if len(s) == 1])
    pair = np.array([j for j, s in enumerate(scopes) if len(s) == 2])
    bias_of = np.array([scopes[j][0] for j in single])
    left, right = np.array([scopes[j] for j in pair]).T
    weights = np.repeat(row_weights, d)

    def objective(w: Array) -> tuple[float, Array]:
        coupling = np.zeros((d, d))
        coupling[left, right] = coupling[right, left] = w[pair]
        bias = np.zeros(d)
        bias[bias_of] = w[single]
        value, derivative = logistic((data @ coupling + bias).ravel(), signs.ravel(), weights)
        table = derivative.reshape(data.shape)
        gradient = np.empty(len(w))
        gradient[single] = table.sum(axis=0)[bias_of]
        product = data.T @ table
        gradient[pair] = product[left, right] + product[right, left]
        return -value, -gradient

    return objective


class OutOfTimeError(Exception):
    """The budget is used up."""


def optimise(objective: Objective, n: int, total: float, sd: float, budget: float) -> Run:
    """Run L-BFGS-B from zero with SciPy's default tolerances."""
    start = time.perf_counter()
    best = [np.inf, 0]

    def penalised(w: Array) -> tuple[float, Array]:
        if time.perf_counter() - start > budget:
            raise OutOfTimeError
        value, gradient = objective(w)
        value += float(w @ w) / (2 * sd**2)
        best[:] = [min(best[0], value), best[1] + 1]
        return value, gradient + w / sd**2

    finished = True
    try:
        minimize(
            penalised,
            np.zeros(n),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 15000, "maxfun": 15000},
        )
    except OutOfTimeError:
        finished = False
    return Run(time.perf_counter() - start, -best[0] / total, best[1], finished)


def ours(features: fs.FeatureSet, data: fs.Table, sd: float, threads: int) -> Run:
    """Learn the same weights with feldspar."""
    start = time.perf_counter()
    network = fs.learn_weights(features, data, prior_sd=sd, n_jobs=threads, max_iterations=3000)
    seconds = time.perf_counter() - start
    report = network.training_
    assert report is not None
    history = tuple((at + report.index_seconds, value) for _, value, at in report.history)
    return Run(seconds, report.objective, report.evaluations, history=history)


def fastest_in_turn(runs: list[Callable[[], Run]], rounds: int = 7, long: float = 3.0) -> list[Run]:
    """Return the fastest of several rounds of each, in turn: a slow moment is one for all.

    Where one round of them all is long, one is enough.
    """
    fastest = [run() for run in runs]
    if sum(run.seconds for run in fastest) < long:
        for _ in range(rounds - 1):
            fastest = [
                min(best, run(), key=lambda r: r.seconds)
                for best, run in zip(fastest, runs, strict=True)
            ]
    return fastest


def compare(name: str, kind: str, args: argparse.Namespace) -> None:
    """Print one block of the table."""
    train = fs.datasets.load(name).train[: args.rows]
    order = 3 if kind == "triples" else 2
    features = fs.FeatureSet.conjunctions(train, order=order, min_support=10, supported_from=3)
    table = train.distinct() if args.merge else train
    X, weights = table.to_numpy(), np.asarray(table.weights, dtype=np.float64)
    total = float(weights.sum())
    print(f"{name}, {kind}: {len(X)} rows x {X.shape[1]} variables, {len(features)} features")

    def show(solver: str, run: Run, reference: Run) -> None:
        whole = f"{run.seconds / reference.seconds:8.1f} x" if run.finished else " " * 10
        same = run.seconds / reference.seconds_to(run.objective)
        print(
            f"  {solver:24} {run.seconds:9.3f} s {run.evaluations:6d} evaluations "
            f"{1e3 * run.seconds / run.evaluations:9.3f} ms each  objective {run.objective:.7f} "
            f"{whole} {same:8.1f} x to the same objective",
            flush=True,
        )

    one, two = fastest_in_turn(
        [lambda threads=threads: ours(features, train, args.sd, threads) for threads in (1, 2)]
    )
    show("feldspar, 1 thread", one, one)
    show("feldspar, 2 threads", two, one)
    if args.ours_only:
        return
    with threadpool_limits(limits=1):
        if kind == "pairs":
            dense = dense_objective(X, weights, features)
            show(
                "numpy dense, 1 thread",
                optimise(dense, len(features), total, args.sd, args.budget),
                one,
            )
        sparse, nnz = sparse_objective(X, weights, features, args.block_entries)
        show(
            f"scipy.sparse ({nnz / 1e6:.0f}M)",
            optimise(sparse, len(features), total, args.sd, args.budget),
            one,
        )


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=["nltcs", "plants", "jester", "dna"])
    parser.add_argument("--kinds", nargs="+", default=["pairs", "triples"])
    parser.add_argument("--sd", type=float, default=1.0)
    parser.add_argument("--budget", type=float, default=120.0, help="seconds for each baseline")
    parser.add_argument("--rows", type=int, help="only the first of each data set")
    parser.add_argument(
        "--block-entries", type=float, default=3e8, help="larger sparse matrices are kept in blocks"
    )
    parser.add_argument("--merge", action="store_true")
    parser.add_argument("--ours-only", action="store_true")
    args = parser.parse_args()
    for name in args.datasets:
        for kind in args.kinds:
            compare(name, kind, args)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of this process: {peak:.0f} MiB")


if __name__ == "__main__":
    main()
