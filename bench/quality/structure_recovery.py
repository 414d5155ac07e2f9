"""Edges found in samples from random networks, as Lee, Ganapathi and Koller (2007), figure 1.

Binary pairwise networks: every edge is there with the probability that gives each variable
``--degree`` neighbours on average; weights of pairs are between 0.8 and 1.6, of either sign, and
single weights such that no variable is too one-sided. From each, train and validation samples of
equal, growing size are drawn by Gibbs sampling. Learners choose their settings by validation PLL.

``grafting-l2`` and ``grafting-none`` introduce features as long as any gradient is left, as in the
paper; ``stopped-`` ones only while gradients are above half the square root of the rows.
``relearned-l1`` learns the weights of what L1 selects anew, without L1.

Printed, as means over ``--networks``: edges found that are there (of how many), edges that are not,
and their sum with those missed, the Hamming distance. An edge is a pair of variables with a
feature whose weight is above ``--negligible`` in absolute value. Times are of the processor.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.base import clone

import feldspar as fs
from feldspar.learners._base import MarkovLearner

Edges = set[tuple[int, int]]


def random_network(n: int, degree: float, random: np.random.Generator) -> fs.MarkovNetwork:
    """Return a network whose pairs lean neither way on average."""
    single = random.uniform(-0.3, 0.3, n)
    features, weights = [], []
    for u in range(n):
        for v in range(u + 1, n):
            if random.random() < degree / (n - 1):
                weight = random.uniform(0.8, 1.6) * random.choice([-1, 1])
                features.append([(u, 1), (v, 1)])
                weights.append(weight)
                single[[u, v]] -= weight / 2
    features += [[(v, 1)] for v in range(n)]
    schema = fs.Table.from_array(np.array([[0] * n, [1] * n])).schema
    return fs.MarkovNetwork(fs.FeatureSet(schema, features), [*weights, *single])


def edges_of(network: fs.MarkovNetwork, negligible: float = 0.0) -> Edges:
    """Return the pairs of variables that some feature has together."""
    found: Edges = set()
    for feature, weight in zip(network.features, network.weights, strict=True):
        if len(feature) == 2 and abs(weight) > negligible:
            (u, _), (v, _) = feature
            found.add((int(u), int(v)))
    return found


# A line for each learner; others join by name.
LEARNERS: dict[str, Callable[[int], MarkovLearner]] = {
    "grafting-l1": lambda rows: fs.Grafting(),
    "grafting-l2": lambda rows: fs.Grafting(
        penalty="l2", prior_sd=[10.0, 1.0, 0.3], min_gradient=0.0
    ),
    "grafting-none": lambda rows: fs.Grafting(penalty="none", min_gradient=0.0),
    "relearned-l1": lambda rows: fs.Grafting(relearn=True, prior_sd=1.0),
    "stopped-l2": lambda rows: fs.Grafting(penalty="l2", prior_sd=[10.0, 1.0, 0.3]),
    "stopped-none": lambda rows: fs.Grafting(penalty="none"),
    "l1": lambda rows: fs.L1Neighborhood(),
    "l1-ebic": lambda rows: fs.L1Neighborhood(selection="ebic", prior_sd=1.0),
    "busl": lambda rows: fs.BUSL(),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variables", type=int, nargs="+", default=[20, 50])
    parser.add_argument("--degree", type=float, default=3.0)
    parser.add_argument("--rows", type=int, nargs="+", default=[50, 200, 800])
    parser.add_argument("--networks", type=int, default=3)
    parser.add_argument("--learners", nargs="+", choices=list(LEARNERS), default=list(LEARNERS))
    parser.add_argument("--negligible", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        f"{'variables':>9} {'rows':>5} {'learner':<19} {'found':>13} {'wrong':>6} {'Hamming':>8}",
        end="",
    )
    print(f" {'test PLL':>9} {'CPU s':>6}")
    for n in arguments.variables:
        results: dict[tuple[int, str], list[tuple[float, ...]]] = {}
        for k in range(arguments.networks):
            truth = random_network(
                n, arguments.degree, np.random.default_rng([arguments.seed, n, k])
            )
            true = edges_of(truth)
            most = max(arguments.rows)
            drawn = truth.sample(2 * most + 1000, random_state=k)
            test = drawn[2 * most :]
            for rows in arguments.rows:
                for name in arguments.learners:
                    learner = clone(LEARNERS[name](rows)).set_params(n_jobs=1)
                    started = time.process_time()
                    learner.fit(drawn[:rows], X_valid=drawn[most : most + rows])
                    seconds = time.process_time() - started
                    found = edges_of(learner.network_, arguments.negligible)
                    hit, wrong = len(found & true), len(found - true)
                    results.setdefault((rows, name), []).append(
                        (
                            hit,
                            len(true),
                            wrong,
                            len(true) - hit + wrong,
                            learner.score(test),
                            seconds,
                        )
                    )
        for (rows, name), figures in results.items():
            hit, of, wrong, hamming, pll, seconds = np.mean(figures, axis=0)
            print(
                f"{n:>9} {rows:>5} {name:<19} {hit:>6.1f}/{of:<6.1f} {wrong:>6.1f} {hamming:>8.1f} "
                f"{pll:>9.3f} {seconds:>6.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
