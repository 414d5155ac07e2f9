"""How far learned weights and their objective are from what other ways of computing them say.

On random models (binary and multi-valued, plain and weighted rows), each line the worst over
``--models`` of a kind:

- the gradient of the PLL beside four-point differences of its value, relative to its largest
  component;
- the PLL beside the definition: conditionals out of a table of all states;
- the objective at the optimum beside SciPy's L-BFGS-B (with L1, on weights split by sign) on that
  same definition, relative; and the largest component of the gradient there;
- with L1, by how much free weights fail their condition, and the largest slope of a zero, in units
  of the penalty.

Where the benchmark data are at hand (``FELDSPAR_DATA``): positive conjunctions of nltcs and msnbc
beside optima that were computed once with SciPy to full convergence, mean per example; and whether
one, two and three threads give the same bits.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import logsumexp

import feldspar as fs

Array = npt.NDArray[np.float64]
TIGHT = 1e-15

# Data, order, prior_sd; the training objective and the test PLL of the optimum.
REFERENCES = (
    ("nltcs", 2, None, -4.948242, -4.950559),
    ("nltcs", 3, 1.0, -4.835651, -4.935422),
    ("msnbc", 2, None, -6.061959, -6.059406),
    ("msnbc", 3, 1.0, -5.283758, -5.296325),
)


class Enumerated:
    """The pseudo-log-likelihood by its definition, from a table of all states."""

    def __init__(self, features: fs.FeatureSet, table: fs.Table) -> None:
        cardinalities = table.schema.cardinalities
        states = np.array(list(itertools.product(*map(range, cardinalities))))
        unit = np.eye(len(features))
        # By state and feature; the table's last index runs fastest, as in product().
        self.holds = np.column_stack(
            [fs.MarkovNetwork(features, w).log_potential(states) for w in unit]
        )
        place = np.ravel_multi_index(table.to_numpy().T, cardinalities)
        self.shape = tuple(cardinalities)
        self.counts = np.bincount(place, table.weights, minlength=len(states)).reshape(self.shape)

    def __call__(self, weights: Array) -> tuple[float, Array]:
        """Return the value, a sum over rows, and its gradient."""
        potential = (self.holds @ weights).reshape(self.shape)
        value, slopes = 0.0, np.zeros(self.shape)
        for axis in range(len(self.shape)):
            log_conditional = potential - logsumexp(potential, axis=axis, keepdims=True)
            value += float((self.counts * log_conditional).sum())
            beside = self.counts.sum(axis=axis, keepdims=True)
            slopes += self.counts - beside * np.exp(log_conditional)
        return value, self.holds.T @ slopes.ravel()


def random_model(
    random: np.random.Generator, cardinalities: list[int], *, weighted: bool
) -> tuple[fs.FeatureSet, fs.Table]:
    """Return 30 random conjunctions of up to three sets of values, and 60 random rows."""
    table = fs.Table.from_array(
        random.integers(0, cardinalities, (60, len(cardinalities))),
        cardinalities=cardinalities,
        sample_weight=random.uniform(0.1, 3.0, 60) if weighted else None,
    )

    def test(v: int) -> tuple[int, frozenset[int]]:
        size = random.integers(1, cardinalities[v])
        return v, frozenset(random.permutation(cardinalities[v])[:size].tolist())

    scopes = [random.permutation(len(cardinalities))[: random.integers(1, 4)] for _ in range(30)]
    terms = [([test(int(v)) for v in scope], 1.0) for scope in scopes]
    return fs.MarkovNetwork.from_terms(table.schema, terms).features, table


def four_point_error(likelihood: fs.PseudoLikelihood, weights: Array, h: float = 1e-3) -> float:
    """Return the largest difference to four-point differences, by the gradient's largest entry."""
    _, gradient = likelihood.value_and_gradient(weights)

    def value(j: int, step: float) -> float:
        return likelihood.value_and_gradient(weights + step * np.eye(len(weights))[j])[0]

    differences = [
        (8 * (value(j, h) - value(j, -h)) - (value(j, 2 * h) - value(j, -2 * h))) / (12 * h)
        for j in range(len(weights))
    ]
    return float(np.abs(gradient - differences).max() / np.abs(gradient).max())


def scipy_optimum(enumerated: Enumerated, n: int, sd: float, l1: float) -> float:
    """Return the best penalised PLL that L-BFGS-B finds; weights are p - q with p, q >= 0."""

    def negative(parts: Array) -> tuple[float, Array]:
        weights = parts[:n] - parts[n:]
        value, gradient = enumerated(weights)
        slope = weights / sd**2 - gradient
        total = weights @ weights / (2 * sd**2) + l1 * parts.sum() - value
        return float(total), np.concatenate([slope + l1, l1 - slope])

    result = minimize(
        negative,
        np.zeros(2 * n),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * (2 * n),
        options={"maxiter": 100_000, "maxfun": 100_000, "ftol": 0.0, "gtol": 1e-9},
    )
    return float(-result.fun)


def check_models(kind: str, cardinalities: list[int], n_models: int, *, weighted: bool) -> None:
    """Print the worst of some models of a kind."""
    random = np.random.default_rng(len(cardinalities) + weighted)
    worst: dict[str, float] = {}

    def tell(what: str, error: float) -> None:
        worst[what] = max(worst.get(what, 0.0), error)

    for _ in range(n_models):
        features, table = random_model(random, cardinalities, weighted=weighted)
        n, total = len(features), float(table.weights.sum())
        enumerated = Enumerated(features, table)
        likelihood = fs.PseudoLikelihood(features, table, n_jobs=1)
        weights = random.normal(size=n)
        tell("gradient", four_point_error(likelihood, weights))
        value, expected = likelihood.value_and_gradient(weights)[0], enumerated(weights)[0]
        tell("PLL", abs(value - expected) / abs(expected))
        for l1 in (0.0, 3.0):
            network = fs.learn_weights(
                features, table, prior_sd=1.0, l1=l1, tolerance=TIGHT, n_jobs=1
            )
            report = network.training_
            assert report is not None
            optimum = scipy_optimum(enumerated, n, 1.0, l1) / total
            tell(f"objective, l1 {l1:g}", abs(report.objective - optimum) / abs(optimum))
            slope = enumerated(network.weights)[1] - network.weights
            free = network.weights != 0
            if not l1:
                tell("gradient norm", float(np.abs(slope).max()) / total)
                continue
            beside = np.abs(slope - l1 * np.sign(network.weights))[free]
            tell("free weights", float(beside.max(initial=0.0)) / l1)
            tell("zeros", float(np.abs(slope[~free]).max(initial=0.0)) / l1)
    print(f"{kind}: " + ", ".join(f"{what} {error:.1e}" for what, error in worst.items()))


def check_references() -> None:
    """Print optima beside those computed with SciPy, and whether threads give the same bits."""
    for name, order, sd, objective, test_pll in REFERENCES:
        data = fs.datasets.load(name)
        features = fs.FeatureSet.conjunctions(data.train, order=order)
        networks = [
            fs.learn_weights(features, data.train, prior_sd=sd, n_jobs=threads)
            for threads in (1, 2, 3)
        ]
        report = networks[0].training_
        assert report is not None
        same = all(np.array_equal(networks[0].weights, other.weights) for other in networks[1:])
        print(
            f"{name}, order {order}, prior {'none' if sd is None else sd:}: "
            f"objective {report.objective:.6f} ({objective}), "
            f"test PLL {networks[0].score(data.test):.6f} ({test_pll}), "
            f"gradient norm {report.gradient_norm:.1e}; "
            f"1, 2 and 3 threads: {'same bits' if same else 'DIFFERENT BITS'}"
        )


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--models", type=int, default=5, help="of each kind")
    parser.add_argument("--no-data", action="store_true", help="leave out the benchmark data")
    args = parser.parse_args()
    for weighted in (False, True):
        rows = "weighted rows" if weighted else "plain rows"
        check_models(f"binary, {rows}", [2] * 6, args.models, weighted=weighted)
        check_models(f"multi-valued, {rows}", [3, 2, 4, 2, 5], args.models, weighted=weighted)
    if not args.no_data:
        check_references()


if __name__ == "__main__":
    main()
