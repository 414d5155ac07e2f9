"""A network for each digit, as Lee, Ganapathi and Koller (2007) made them for MNIST.

Of scikit-learn's digits (8 x 8 pixels, dark or not), ``--rows`` images of each digit train a
network, 30 more choose its settings by their PLL, and the others test it: the conditional marginal
log-likelihood with one of four random groups of pixels seen and three hidden (the paper's
protocol), by Gibbs sampling. Printed: its mean per image for each digit and over all, the number of
pairs, and processor seconds for learning.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import feldspar as fs
from feldspar.evaluation import conditional_marginal_log_likelihood

SETTINGS = {
    "l1": {"penalty": "l1"},
    "l2": {"penalty": "l2", "prior_sd": [10.0, 1.0, 0.3], "min_gradient": 0.0},
    "none": {"penalty": "none", "min_gradient": 0.0},
    "stopped-l2": {"penalty": "l2", "prior_sd": [10.0, 1.0, 0.3]},
    "stopped-none": {"penalty": "none"},
}


def pictures(digit: int) -> fs.Table:
    """Return all images of a digit, in a fixed random order."""
    parts = fs.datasets.load("digits")
    codes = np.concatenate([np.asarray(part) for part in (parts.train, parts.valid, parts.test)])
    own = codes[codes[:, -1] == digit, :-1]
    schema = fs.Table.from_array(np.array([[0] * 64, [1] * 64])).schema
    return fs.Table(own[np.random.RandomState(digit).permutation(len(own))], schema)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--digits", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--rows", type=int, default=50)
    parser.add_argument("--penalties", nargs="+", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--schemes", nargs="+", default=["gain"])
    parser.add_argument("--inference", default="auto")
    parser.add_argument("--time-limit", type=float, help="of each fit, in seconds")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    titles = "".join(f"{digit:>8}" for digit in arguments.digits)
    print(f"{'':<20}{titles}{'mean':>9} {'pairs':>6} {'CPU s':>6}  stopped by")
    for penalty in arguments.penalties:
        for scheme in arguments.schemes:
            scores, pairs, seconds, stops = [], [], 0.0, []
            for digit in arguments.digits:
                rows = pictures(digit)
                train, valid = rows[: arguments.rows], rows[arguments.rows : arguments.rows + 30]
                learner = fs.Grafting(
                    scheme=scheme,
                    inference=arguments.inference,
                    time_limit=arguments.time_limit,
                    n_jobs=1,
                    **SETTINGS[penalty],
                )
                started = time.process_time()
                learner.fit(train, X_valid=valid)
                seconds += time.process_time() - started
                score = conditional_marginal_log_likelihood(
                    learner.network_, rows[arguments.rows + 30 :], reverse=True, n_jobs=1
                )
                scores.append(score.mean)
                pairs.append(sum(len(f) == 2 for f in learner.network_.features))
                stops.append(f"{learner.stop_}")
            cells = "".join(f"{score:>8.2f}" for score in scores)
            told = ", ".join(f"{stops.count(stop)} {stop}" for stop in dict.fromkeys(stops))
            print(
                f"{scheme + '-' + penalty:<20}{cells}{np.mean(scores):>9.3f} "
                f"{np.mean(pairs):>6.0f} {seconds:>6.1f}  {told}",
                flush=True,
            )


if __name__ == "__main__":
    main()
