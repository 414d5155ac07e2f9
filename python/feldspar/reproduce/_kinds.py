"""What units do: learn, score, convert, recover a known structure."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from feldspar.datasets import DataSplit
from feldspar.evaluation import conditional_marginal_log_likelihood, pseudo_log_likelihood
from feldspar.network import MarkovNetwork
from feldspar.report.comparison import mean_length, plain_settings
from feldspar.reproduce._units import LearnerSpec, Unit, load_checked, network_checksum
from feldspar.schema import Schema
from feldspar.table import Table
from feldspar.weights import learn_weights

# Parameters that change no result.
_NO_SETTINGS = (
    "n_jobs",
    "verbose",
    "on_interrupt",
    "time_limit",
    "checkpoint",
    "checkpoint_every",
)

# The seed of the rows that a learning curve takes; part of the protocol, not of a unit.
_CURVE_SEED = 0


class UnitError(Exception):
    """Why a unit cannot be run, for people."""


@dataclass(frozen=True)
class Context:
    """What a unit gets beside its settings.

    Attributes
    ----------
    network : callable
        Returns the network that is scored.
    n_jobs : int or None
    time_limit : float or None
        Seconds for a learner.
    checkpoint : Path or None
        Where a learner that can keeps its search; if it is there, the unit was broken off before.
    """

    network: Callable[[], MarkovNetwork]
    n_jobs: int | None = None
    time_limit: float | None = None
    checkpoint: Path | None = None


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a unit found: plain values, and a network if it learned one."""

    values: dict[str, Any]
    network: MarkovNetwork | None = None


def make_learner(spec: LearnerSpec) -> Any:
    """Return the learner that a spec names.

    Raises
    ------
    UnitError
        If this version of the package has no such learner, or the learner no such parameter.
    """
    from feldspar import learners

    kind = getattr(learners, spec.name, None)
    if kind is None:
        raise UnitError(f"this version of feldspar has no learner {spec.name}")
    known = [name for name in inspect.signature(kind.__init__).parameters if name != "self"]
    for name in spec.params:
        if name not in known:
            raise UnitError(
                f"{spec.name} has no parameter {name}; it has {', '.join(sorted(known))}"
            )
    return kind(
        **{
            name: make_learner(value) if isinstance(value, LearnerSpec) else value
            for name, value in spec.params.items()
        }
    )


def learner_params(spec: LearnerSpec) -> dict[str, Any]:
    """Return all parameters that a learner's result depends on, as plain values."""
    return _without_running(plain_settings(make_learner(spec).get_params(deep=False)))


def _without_running(params: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _without_running(value) if isinstance(value, dict) else value
        for name, value in params.items()
        if name not in _NO_SETTINGS
    }


def run_fit(unit: Unit, context: Context) -> Outcome:
    """Learn from a data set, tuned on its validation rows, and score all three parts."""
    data = load_checked(unit.dataset)
    learner = _running(unit, context)
    is_resumed = context.checkpoint is not None and context.checkpoint.exists()
    learner.fit(_share(data.train, unit.settings.get("share")), X_valid=data.valid)
    values = _describe(learner, data, context.n_jobs)
    if is_resumed:  # the time before the break is not known
        del values["seconds"]
    return Outcome(values, learner.network_)


def run_cmll(unit: Unit, context: Context) -> Outcome:
    """Score a network on test rows by its conditional marginal log-likelihood."""
    data = load_checked(unit.dataset)
    score = context.network().cmll(data.test, n_jobs=context.n_jobs, **unit.settings)
    return Outcome(
        {
            "cmll": score.mean,
            "cmll_stderr": _known(score.stderr),
            "ncmll": score.normalized,
        }
    )


# Lowd (2012), section 6.2, in the order of its figure 1.
CONVERSIONS: tuple[tuple[str, str, str], ...] = (
    ("one order, one base", "one", "mode"),
    ("two orders, one base", "opposite", "mode"),
    ("one order, marginals", "one", "marginals"),
    ("two orders, marginals", "opposite", "marginals"),
    ("n orders, marginals", "rotations", "marginals"),
    ("2n orders, marginals", "opposite-rotations", "marginals"),
)


def run_conversions(unit: Unit, context: Context) -> Outcome:
    """Learn a dependency network and convert it in the six ways of Lowd (2012)."""
    data = load_checked(unit.dataset)
    source = _running(unit, context).fit(data.train, X_valid=data.valid)
    own = pseudo_log_likelihood(source, data.test, n_jobs=context.n_jobs)
    loss = {}
    for title, orders, base in CONVERSIONS:
        network = source.to_markov(orders=orders, base=base)
        score = pseudo_log_likelihood(network, data.test, n_jobs=context.n_jobs)
        loss[title] = own.normalized - score.normalized
    return Outcome(
        {
            "dependency_npll": own.normalized,
            "npll_lost": loss,
            "best_params": plain_settings(source.best_params_),
            "seconds": dict(source.fit_seconds_),
        }
    )


def run_recovery(unit: Unit, context: Context) -> Outcome:
    """Learn from samples of a known network; compare edges and predictions (Lee et al. 2007)."""
    settings = unit.settings
    truth = random_pairwise_network(
        settings["n_variables"], settings["n_neighbors"], settings["seed"]
    )
    n_train, n_test = settings["n_train"], settings["n_test"]
    drawn = truth.sample(
        n_train + n_test, random_state=settings["seed"], thinning=10, n_jobs=context.n_jobs
    )
    # Samples of one chain follow each other: mixed, so that both parts have them all.
    rows = np.random.RandomState(settings["seed"]).permutation(n_train + n_test)
    train, test = drawn[rows[:n_train]], drawn[rows[n_train:]]
    network, seconds = _learn_or_true(unit, context, train, truth)
    edges = _edges(network, settings["edge_threshold"])
    score = conditional_marginal_log_likelihood(
        network,
        test,
        reverse=True,
        method="gibbs",
        random_state=settings["seed"],
        n_jobs=context.n_jobs,
    )
    return Outcome(
        {
            "cmll": score.mean,
            "cmll_stderr": _known(score.stderr),
            "hamming": len(edges ^ _edges(truth, 0.0)),
            "n_edges": len(edges),
            "seconds": seconds,
        }
    )


def run_digit(unit: Unit, context: Context) -> Outcome:
    """Learn the pixels of one digit from a few images (Lee et al. 2007, figure 2)."""
    settings = unit.settings
    data = load_checked("digits")
    codes = np.concatenate([table.codes for table in (data.train, data.valid, data.test)])
    own = codes[codes[:, -1] == settings["digit"], :-1]
    own = own[np.random.RandomState(settings["seed"]).permutation(len(own))]
    schema = Schema(data.schema.cardinalities[:-1], names=data.schema.names[:-1])
    train = Table(own[: settings["n_train"]], schema)
    test = Table(own[settings["n_train"] :], schema)
    learner = _running(unit, context).fit(train)
    score = conditional_marginal_log_likelihood(
        learner.network_,
        test,
        reverse=True,
        method="gibbs",
        random_state=settings["seed"],
        n_jobs=context.n_jobs,
    )
    values = {
        "cmll": score.mean,
        "cmll_stderr": _known(score.stderr),
        "n_features": int(np.count_nonzero(learner.network_.weights)),
        "seconds": learner.fit_seconds_["total"],
    }
    return Outcome(values, learner.network_)


KINDS: Mapping[str, Callable[[Unit, Context], Outcome]] = {
    "fit": run_fit,
    "cmll": run_cmll,
    "conversions": run_conversions,
    "recovery": run_recovery,
    "digit": run_digit,
}


def random_pairwise_network(n_variables: int, n_neighbors: float, seed: int) -> MarkovNetwork:
    """Return a network of two-valued variables with random edges and weights.

    Each pair is joined with the chance that gives a variable ``n_neighbors`` on average. The paper
    does not tell its weights; here they are between 0.5 and 1.5 in size, of either sign, on
    features ``x_i = x_j`` in terms of the values 0 and 1, and single values are even.

    Examples
    --------
    >>> network = random_pairwise_network(10, 3, seed=0)
    >>> len(network.schema), bool((network.features.lengths == 2).any())
    (10, True)
    """
    random = np.random.RandomState(seed)
    terms: list[tuple[list[tuple[int, int]], float]] = []
    bias = np.zeros(n_variables)
    for i in range(n_variables):
        for j in range(i + 1, n_variables):
            if random.random_sample() < n_neighbors / (n_variables - 1):
                size = random.uniform(0.5, 1.5) * random.choice([-1.0, 1.0])
                # w * (x_i = x_j) is 2 w x_i x_j - w x_i - w x_j and a constant.
                terms.append(([(i, 1), (j, 1)], 2 * size))
                bias[[i, j]] -= size
    terms += [([(i, 1)], float(bias[i])) for i in range(n_variables)]
    return MarkovNetwork.from_terms(Schema([2] * n_variables), terms)


def _learn_or_true(
    unit: Unit, context: Context, train: Table, truth: MarkovNetwork
) -> tuple[MarkovNetwork, float]:
    if unit.learner is None:  # the structure is known, its weights are not
        network = learn_weights(truth.features, train, prior_sd=10.0, n_jobs=context.n_jobs)
        assert network.training_ is not None
        return network, network.training_.seconds
    learner = _running(unit, context).fit(train)
    return learner.network_, learner.fit_seconds_["total"]


def _edges(network: MarkovNetwork, threshold: float) -> set[tuple[int, int]]:
    pairs = np.flatnonzero((network.features.lengths == 2) & (np.abs(network.weights) > threshold))
    return {tuple(sorted(network.features.variables(int(j)))) for j in pairs}  # type: ignore[misc]


def _running(unit: Unit, context: Context) -> Any:
    assert unit.learner is not None
    learner = make_learner(unit.learner)
    wanted = {
        "n_jobs": context.n_jobs,
        "time_limit": context.time_limit,
        "on_interrupt": "raise",
        "checkpoint": context.checkpoint,
    }
    known = learner.get_params(deep=False)
    return learner.set_params(**{name: v for name, v in wanted.items() if name in known})


def _share(train: Table, share: float | None) -> Table:
    if share is None:
        return train
    rows = np.random.RandomState(_CURVE_SEED).permutation(len(train))
    return train[np.sort(rows[: max(2, round(share * len(train)))])]


def _describe(learner: Any, data: DataSplit, n_jobs: int | None) -> dict[str, Any]:
    network: MarkovNetwork = learner.network_
    test = pseudo_log_likelihood(network, data.test, n_jobs=n_jobs)
    lengths = network.features.lengths[np.flatnonzero(network.weights)]
    return {
        "train_pll": network.score(data.train, n_jobs=n_jobs),
        "valid_pll": network.score(data.valid, n_jobs=n_jobs),
        "pll": test.mean,
        "pll_stderr": _known(test.stderr),
        "npll": test.normalized,
        "n_train": len(data.train),
        "n_variables": len(network.schema),
        "n_features": len(network.features),
        "n_nonzero": len(lengths),
        "mean_length": mean_length(network),
        "mean_nonzero_length": float(lengths.mean()) if len(lengths) else 0.0,
        "seconds": dict(learner.fit_seconds_),
        "best_params": plain_settings(learner.best_params_),
        "trials": [plain_settings(trial) for trial in learner.trials_],
        "network_sha256": network_checksum(network),
    }


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
