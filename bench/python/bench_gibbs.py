"""The papers' conditional likelihood (CMLL) of a model by Gibbs sampling, and what it costs.

The variables are cut into four contiguous groups; each in turn is hidden from every test row and
sampled given the others: 10 chains, 100 sweeps of burn-in and 1,000 samples each. Printed for one
thread and two: milliseconds for one chain of one row and group (elapsed and of the processor), and
the mean conditional marginal log-likelihood.

Two savings are in these times. Rows with the same evidence share their chains: the time for one
chain of one distinct row is printed too. Variables that the evidence leaves independent of all
others are not resampled, since Rao-Blackwell averages would not change; --counts visits them all.

    python bench/python/bench_gibbs.py nltcs model.mn
"""

import argparse
import time

import numpy as np

import feldspar as fs
from feldspar import _core

N_GROUPS = 4


def hidden_group(n_variables: int, group: int) -> np.ndarray:
    """Return the variables of one of the groups."""
    return np.arange(group * n_variables // N_GROUPS, (group + 1) * n_variables // N_GROUPS)


def n_distinct(rows: np.ndarray) -> int:
    """Count the distinct rows of evidence of all groups."""
    return sum(
        len(np.unique(np.delete(rows, hidden_group(rows.shape[1], g), axis=1), axis=0))
        for g in range(N_GROUPS)
    )


def run(
    network: _core.MarkovNetwork, rows: np.ndarray, options: _core.GibbsOptions, threads: int
) -> tuple[float, float, np.ndarray, float, float]:
    """Return seconds, processor seconds, CMLL of each row, largest R-hat, smallest sample size."""
    n, d = rows.shape
    scores = np.zeros(n)
    elapsed = processor = 0.0
    r_hat, size = 1.0, np.inf
    for group in range(N_GROUPS):
        hidden = hidden_group(d, group)
        evidence = rows.copy()
        evidence[:, hidden] = -1
        start, processor_start = time.perf_counter(), time.process_time()
        result = _core.gibbs_marginals(network, evidence, None, options, threads, None)
        elapsed += time.perf_counter() - start
        processor += time.process_time() - processor_start
        places = 2 * hidden[None, :] + rows[:, hidden]
        scores += np.log(np.take_along_axis(result.probabilities, places, axis=1)).sum(axis=1)
        r_hat = max(r_hat, float(result.r_hat.max()))
        size = min(size, float(result.effective_size.min()))
    return elapsed, processor, scores, r_hat, size


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("dataset")
    parser.add_argument("model", help="a model file that feldspar can read")
    parser.add_argument("--rows", type=int, default=None, help="only so many test rows")
    parser.add_argument("--chains", type=int, default=10)
    parser.add_argument("--burn-in", type=int, default=100)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--counts", action="store_true", help="counts instead of Rao-Blackwell")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    args = parser.parse_args()
    test = fs.datasets.load(args.dataset).test
    rows = np.ascontiguousarray(test.to_numpy()[: args.rows], dtype=np.int32)
    network = fs.MarkovNetwork.load(args.model)
    options = _core.GibbsOptions()
    options.chains.n_chains = args.chains
    options.chains.burn_in = args.burn_in
    options.chains.n_samples = args.samples
    options.chains.seed = args.seed
    options.chains.rao_blackwell = not args.counts
    print(
        f"{args.dataset}, {args.model}: {len(network.features)} features, {len(rows)} rows, "
        f"{args.chains} chains of {args.burn_in} + {args.samples}"
    )
    chains = N_GROUPS * len(rows) * args.chains
    distinct = n_distinct(rows)
    print(f"  {distinct} of {N_GROUPS * len(rows)} rows of evidence are distinct")
    for threads in args.threads:
        elapsed, processor, scores, r_hat, size = run(network._core, rows, options, threads)
        print(
            f"  {threads} threads {elapsed:9.3f} s  {1e3 * elapsed / chains:9.5f} ms a chain "
            f"({1e3 * processor / chains:.5f} of the processor), "
            f"{1e3 * processor / (distinct * args.chains):.5f} of the processor for one of a "
            f"distinct row  CMLL {scores.mean():.5f} "
            f"+- {scores.std(ddof=1) / np.sqrt(len(scores)):.5f}  R-hat <= {r_hat:.3f}  "
            f"effective size >= {size:.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
