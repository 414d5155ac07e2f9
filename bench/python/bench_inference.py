"""Belief propagation, mean field and exact answers: ours, and those of pgmpy and pyAgrum.

- rows: milliseconds for one test row of nltcs, a quarter of its variables hidden, with the flat
  features of a converted dependency network; rows are distinct, one thread, processor time.
- large: belief propagation on a 30 x 30 Ising grid and on a learned jester model. Neither pgmpy nor
  pyAgrum has loopy belief propagation for Markov networks, and exact answers would need tables of
  2^30 entries and more.
- exact: all marginals of Ising grids, where the others are exact as well: pyAgrum by Shafer-Shenoy,
  pgmpy by variable elimination, a query for each variable (measured for a few, and scaled). Models
  reach them through .uai files; reading is not timed. Skipped where they are not installed.

    FELDSPAR_DATA=folder python bench/python/bench_inference.py
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bench_gibbs import evidence_of, learn

import feldspar as fs


def processor_seconds(run: Callable[[], Any], rounds: int = 3) -> tuple[float, Any]:
    """Return the fewest seconds of some rounds, and what came out."""
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        result = run()
        seconds.append(time.process_time() - start)
    return min(seconds), result


def ising(n: int, coupling: float = 0.5) -> fs.MarkovNetwork:
    """Return an n x n grid with random fields and couplings."""
    rng = np.random.default_rng(0)
    at = np.arange(n * n).reshape(n, n)
    terms: list[tuple[Any, float]] = [([(v, 1)], rng.uniform(-1, 1)) for v in range(n * n)]
    for left, right in ((at[:, :-1], at[:, 1:]), (at[:-1], at[1:])):
        for a, b in zip(left.flat, right.flat, strict=True):
            weight = rng.uniform(-coupling, coupling)
            terms += [([(int(a), s), (int(b), s)], 2 * weight) for s in (0, 1)]
    return fs.MarkovNetwork.from_terms(fs.Schema([2] * (n * n)), terms)


def rows(n_rows: int) -> None:
    """Print what a row of nltcs costs."""
    network = learn("nltcs", "flat")
    table = fs.Table.from_array(evidence_of("nltcs", n_rows), schema=network.schema)
    exact = network.marginals(table, "exact", n_jobs=1).probabilities
    methods: list[Any] = ["bp", "meanfield", "exact"]
    for method in methods:
        seconds, found = processor_seconds(lambda: network.marginals(table, method, n_jobs=1))  # noqa: B023
        status = found.diagnostics.per_row["status"]
        error = np.abs(found.probabilities - exact).max()
        print(
            f"nltcs flat, {len(network.features):,} features: {method:9} "
            f"{1e3 * seconds / len(table):8.4f} ms a row, {(status == 'converged').mean():.0%} "
            f"converged, largest error {error:.3f}",
            flush=True,
        )


def large() -> None:
    """Print belief propagation on models that are too wide for exact answers."""
    for name, network in (("Ising 30 x 30", ising(30)), ("jester leaves", learn("jester", "leaf"))):
        seconds, found = processor_seconds(lambda: network.marginals(None, "bp", n_jobs=1))  # noqa: B023
        print(
            f"{name}: bp {1e3 * seconds:.1f} ms, {found.diagnostics.per_row['iterations'][0]} "
            f"rounds, {found.diagnostics.per_row['status'][0]}",
            flush=True,
        )


def ask_pyagrum(path: Path, n_variables: int) -> float | None:
    """Return processor seconds for all marginals."""
    try:
        import pyagrum as gum
    except ImportError:
        return None
    network = gum.loadMRF(str(path))

    def run() -> None:
        engine = gum.ShaferShenoyMRFInference(network)
        engine.setNumberOfThreads(1)
        engine.makeInference()
        for v in range(n_variables):
            engine.posterior(str(v))

    return processor_seconds(run, 1)[0]


def ask_pgmpy(path: Path, n_variables: int) -> float | None:
    """Return processor seconds for all marginals, from those of three."""
    try:
        from pgmpy.inference import VariableElimination
        from pgmpy.readwrite import UAIReader
    except ImportError:
        return None
    engine = VariableElimination(UAIReader(str(path)).get_model())
    asked = [0, n_variables // 2, n_variables - 1]

    def run() -> None:
        for v in asked:
            engine.query([f"var_{v}"], show_progress=False)

    return processor_seconds(run, 1)[0] * n_variables / len(asked)


def exact(sizes: list[int], pgmpy_up_to: int) -> None:
    """Print exact answers on grids."""
    warnings.simplefilter("ignore")
    for n in sizes:
        network = ising(n)
        seconds, _ = processor_seconds(lambda: network.marginals(None, "exact", n_jobs=1))  # noqa: B023
        line = f"Ising {n} x {n}, exact: {1e3 * seconds:9.2f} ms"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "grid.uai"
            network.save(path)
            theirs = {"pyAgrum": ask_pyagrum(path, n * n)}
            if n <= pgmpy_up_to:
                theirs["pgmpy"] = ask_pgmpy(path, n * n)
        for name, taken in theirs.items():
            if taken is not None:
                line += f"; {name} {1e3 * taken:,.1f} ms ({taken / seconds:,.0f} x)"
        print(line, flush=True)


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=200, help="of nltcs")
    parser.add_argument("--sizes", type=int, nargs="+", default=[6, 10, 14], help="of exact grids")
    parser.add_argument("--pgmpy-up-to", type=int, default=6, help="the largest grid for pgmpy")
    args = parser.parse_args()
    rows(args.rows)
    large()
    exact(args.sizes, args.pgmpy_up_to)


if __name__ == "__main__":
    main()
