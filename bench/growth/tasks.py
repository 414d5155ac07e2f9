"""The work that is measured, by task: prepare the inputs, return what is to be timed.

One thread everywhere. Public names where there are some; the steps in between, which have none,
straight from the core.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import feldspar as fs
from feldspar import _core
from feldspar.features import core_dataset
from growth.inputs import Inputs
from growth.plan import TaskName

Work = Callable[[], object]

_ITERATIONS = 20
_NEVER = 1e-12  # a tolerance that is not reached


def load(inputs: Inputs) -> Work:
    """Codes to a table, and on to merged rows."""
    codes, schema = np.array(inputs.table.codes), inputs.table.schema
    return lambda: core_dataset(fs.Table.from_array(codes, schema=schema))


def trees(inputs: Inputs) -> Work:
    """Grow a tree for each variable, as DTSL does."""
    data = inputs.data
    return lambda: _core.Trees.grow(data, 1.0, 10.0, 1.0, 1, None)


def l1(inputs: Inputs) -> Work:
    """Solve a regression for each variable."""
    data = inputs.data
    c_values = np.array([inputs.loss_weight / len(inputs.table)])
    return lambda: _core.L1Path.fit(data, c_values, _core.L1Options(), 1, None)


def pairs(inputs: Inputs) -> Work:
    """Enumerate all pairs of non-zero values."""
    table = inputs.table
    return lambda: fs.FeatureSet.conjunctions(table, order=2)


def build(inputs: Inputs) -> Work:
    """Make a feature set of plain Python."""
    schema, plain = inputs.table.schema, list(inputs.features)
    return lambda: fs.FeatureSet(schema, plain)


def index(inputs: Inputs) -> Work:
    """Index the features on the rows."""
    features, data = inputs.features._core, inputs.data
    return lambda: _core.PseudoLikelihood(features, data, False, 1)


def evaluation(inputs: Inputs) -> Work:
    """Evaluate the pseudo-likelihood once."""
    likelihood = _core.PseudoLikelihood(inputs.features._core, inputs.data, False, 1)
    weights = np.array(inputs.network.weights)
    return lambda: likelihood.value_and_gradient(weights, 1)


def weights(inputs: Inputs) -> Work:
    """Learn weights for a fixed number of iterations."""
    features, table = inputs.features, inputs.table
    warnings.simplefilter("ignore", ConvergenceWarning)  # which is meant to happen
    return lambda: fs.learn_weights(
        features, table, max_iterations=_ITERATIONS, tolerance=_NEVER, n_jobs=1
    )


def dn2mn(inputs: Inputs) -> Work:
    """Convert a dependency network."""
    dependency = inputs.dependency
    return lambda: dependency.to_markov()


def gssl(inputs: Inputs) -> Work:
    """Generate random features, besides the rows that it starts with."""
    data, size = inputs.data, len(inputs.table) + inputs.n_draws
    return lambda: _core.generate_features(data, True, [size], [1], 0, None)


def gibbs(inputs: Inputs) -> Work:
    """Sample a hidden quarter of the variables, one chain a row."""
    known = np.array(inputs.table.codes[: inputs.n_questions], dtype=np.int8)
    n_variables = known.shape[1]
    known[:, np.random.default_rng(0).permutation(n_variables)[: n_variables // 4]] = -1
    network, n_sweeps = inputs.network, inputs.n_sweeps
    evidence = fs.Table.from_array(known, schema=network.schema)
    return lambda: network.marginals(
        evidence, "gibbs", n_chains=1, burn_in=0, n_samples=n_sweeps, random_state=0, n_jobs=1
    )


def score(inputs: Inputs) -> Work:
    """Score each row."""
    network, table = inputs.network, inputs.table
    return lambda: network.score_samples(table, n_jobs=1)


TASKS: dict[TaskName, Callable[[Inputs], Work]] = {
    task.__name__: task
    for task in (
        load,
        trees,
        l1,
        pairs,
        build,
        index,
        evaluation,
        weights,
        dn2mn,
        gssl,
        gibbs,
        score,
    )
}
