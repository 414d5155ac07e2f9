"""Gibbs sampling on learned models: what a chain costs, and the papers' CMLL protocol.

Models are learned here, outside the timed part: trees' leaf features with weights (DTSL, two
features a leaf) and flat features of a converted dependency network (DN2MN). For each, printed:

- chain: milliseconds for one chain of 1,100 sweeps over one quarter of the variables of one test
  row, the others observed: processor time of one thread, putting the evidence in included.
  Rows are distinct (those with equal evidence would share their chains), the 10 chains of a row run
  side by side. Variables that the evidence makes independent of all others need no sampling for
  Rao-Blackwell averages and are skipped; "all" visits them too (counts of values instead).
- what a second thread gains: elapsed time on one by that on two, in rounds that alternate.
- resamplings per second: variable visits of the "all" run by its time.
- CMLL with --cmll: every test row, four random groups, 10 chains of 100 + 1,000 sweeps.

    FELDSPAR_DATA=folder python bench/python/bench_gibbs.py nltcs plants jester dna --cmll
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import feldspar as fs

# kappa of the trees, by set: the sizes of models that published references used.
LEAF_KAPPAS = {"nltcs": 0.1, "plants": 0.01, "dna": 1e-4, "jester": 1e-3, "bbc": 1e-4}
FLAT_KAPPAS = {"nltcs": 0.1, "jester": 1e-3}
N_CHAINS, BURN_IN, N_SAMPLES = 10, 100, 1000


def learn(name: str, kind: str) -> fs.MarkovNetwork:
    """Return the model to sample from."""
    data = fs.datasets.load(name)
    learner: Any
    if kind == "leaf":
        kappa = LEAF_KAPPAS[name]
        learner = fs.DTSL(kappa=kappa, conversion="default", prior_sd=1.0, n_jobs=1)
    else:
        learner = fs.DN2MN(kappa=FLAT_KAPPAS[name], n_jobs=1)
    network: fs.MarkovNetwork = learner.fit(data.train, X_valid=data.valid).network_
    return network


def evidence_of(name: str, n_rows: int) -> npt.NDArray[np.int32]:
    """Return distinct rows of evidence, a random quarter of the variables hidden in all of them."""
    codes = fs.datasets.load(name).test.to_numpy().astype(np.int32)
    hidden = np.random.default_rng(0).permutation(codes.shape[1])[: codes.shape[1] // 4]
    codes[:, hidden] = -1
    _, first = np.unique(codes, axis=0, return_index=True)
    return np.ascontiguousarray(codes[np.sort(first)][:n_rows])


def best(run: Callable[[], object], clock: Callable[[], float], rounds: int) -> float:
    """Return the fewest seconds of some rounds."""
    seconds = []
    for _ in range(rounds):
        start = clock()
        run()
        seconds.append(clock() - start)
    return min(seconds)


def measure(name: str, kind: str, n_rows: int, rounds: int) -> None:
    """Print what a chain costs."""
    network = learn(name, kind)
    rows = evidence_of(name, n_rows)
    n_hidden = int((rows[0] < 0).sum())
    table = fs.Table.from_array(rows, schema=network.schema)

    def sample(n_jobs: int, **options: Any) -> Callable[[], object]:
        return lambda: network.marginals(
            table,
            "gibbs",
            n_jobs=n_jobs,
            n_chains=N_CHAINS,
            burn_in=BURN_IN,
            n_samples=N_SAMPLES,
            random_state=0,
            **options,
        )

    chains = len(rows) * N_CHAINS
    one = best(sample(1), time.process_time, rounds)
    elapsed = [
        [best(sample(n_jobs), time.perf_counter, 1) for n_jobs in (1, 2)] for _ in range(rounds)
    ]
    gain = min(alone for alone, _ in elapsed) / min(both for _, both in elapsed)
    every = best(sample(1, rao_blackwell=False), time.process_time, rounds)
    visits = chains * (BURN_IN + N_SAMPLES) * n_hidden
    print(
        f"{name:8} {kind:5} {len(network.features):7,} features  {n_hidden:3} hidden  "
        f"{len(rows):4} rows  chain {1e3 * one / chains:8.4f} ms, "
        f"two threads {gain:.2f} x; all {1e3 * every / chains:8.4f} ms, "
        f"{visits / every / 1e6:6.1f} M resamplings/s",
        flush=True,
    )


def cmll(name: str, threads: list[int]) -> None:
    """Print the papers' score of the model of leaf features, and its time."""
    network = learn(name, "leaf")
    test = fs.datasets.load(name).test
    for n_jobs in threads:
        start, start_processor = time.perf_counter(), time.process_time()
        score = network.cmll(
            test, n_chains=N_CHAINS, burn_in=BURN_IN, n_samples=N_SAMPLES, n_jobs=n_jobs
        )
        elapsed, processor = time.perf_counter() - start, time.process_time() - start_processor
        print(
            f"{name:8} {len(test):6} rows, {n_jobs} threads: {elapsed:8.2f} s "
            f"({processor:.2f} of the processor)  CMLL {score.mean:.4f} +- {score.stderr:.4f}  "
            f"NCMLL {score.normalized:.4f}",
            flush=True,
        )


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("datasets", nargs="*", default=list(LEAF_KAPPAS))
    parser.add_argument("--rows", type=int, default=50, help="test rows to sample for")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many counts")
    parser.add_argument("--cmll", action="store_true", help="the papers' score, all test rows")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="for --cmll")
    args = parser.parse_args()
    for name in args.datasets:
        if args.cmll:
            cmll(name, args.threads)
            continue
        for kind, kappas in (("leaf", LEAF_KAPPAS), ("flat", FLAT_KAPPAS)):
            if name in kappas:
                measure(name, kind, args.rows, args.rounds)


if __name__ == "__main__":
    main()
