"""Every method of inference, by what it can do, on models of every shape.

A method declares once what it is capable of; each test takes the methods that have what it is
about, so that a new method is tested in full by adding a line.
"""

from __future__ import annotations

import itertools
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import feldspar as fs
from feldspar import _core
from feldspar.inference import Method, automatic
from random_networks import every_state

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Capable:
    """What a method promises."""

    exact: bool = False  # the marginals, whatever the model
    exact_on_trees: bool = False
    samples: bool = False  # has standard errors, and a seed
    log_partition: str | None = None  # "exact", "bound" (from below), "estimate"
    options: dict[str, Any] = field(default_factory=dict)


METHODS: dict[Method, Capable] = {
    "auto": Capable(exact=True, exact_on_trees=True, log_partition="exact"),
    "exact": Capable(exact=True, exact_on_trees=True, log_partition="exact"),
    "bp": Capable(exact_on_trees=True, log_partition="estimate"),
    "meanfield": Capable(log_partition="bound"),
    "gibbs": Capable(samples=True, options={"n_chains": 8, "n_samples": 1000}),
    "mcsat": Capable(samples=True, options={"n_chains": 4, "n_samples": 500}),
}


def having(capability: str) -> Any:
    able = [name for name, capable in METHODS.items() if getattr(capable, capability)]
    return pytest.mark.parametrize("method", able)


every_method = pytest.mark.parametrize("method", METHODS)


# Models: chain, star, grid and dense pairs, and conjunctions of up to five tests.


def _pairs(schema: fs.Schema, edges: list[tuple[int, int]], scale: float) -> fs.MarkovNetwork:
    rng = np.random.default_rng(len(edges))
    terms: list[tuple[Any, float]] = [
        ([(v, a)], rng.normal())
        for v, cardinality in enumerate(schema.cardinalities)
        for a in range(1, cardinality)
    ]
    terms += [
        ([(u, a), (v, b)], scale * rng.normal())
        for u, v in edges
        for a in range(schema.cardinalities[u])
        for b in range(1, schema.cardinalities[v])
    ]
    return fs.MarkovNetwork.from_terms(schema, terms)


def _higher_order(schema: fs.Schema) -> fs.MarkovNetwork:
    rng = np.random.default_rng(5)
    terms = []
    for _ in range(40):
        scope = rng.choice(len(schema), size=rng.integers(1, 6), replace=False).tolist()
        tests = [(v, int(rng.integers(schema.cardinalities[v]))) for v in scope]
        terms.append((tests, rng.normal()))
    return fs.MarkovNetwork.from_terms(schema, terms)


def _shapes() -> dict[str, fs.MarkovNetwork]:
    models = {}
    for kind, cardinalities in {"binary": [2] * 9, "multi-valued": [3, 2, 4, 2, 3, 2]}.items():
        schema = fs.Schema(cardinalities)
        n = len(schema)
        at = np.arange(n).reshape(3, -1)
        grid = [
            (int(a), int(b))
            for left, right in ((at[:, :-1], at[:, 1:]), (at[:-1], at[1:]))
            for a, b in zip(left.flat, right.flat, strict=True)
        ]
        edges = {
            "chain": list(itertools.pairwise(range(n))),
            "star": [(0, v) for v in range(1, n)],
            "grid": grid,
            "dense": list(itertools.combinations(range(n), 2)),
        }
        for shape, pairs in edges.items():
            models[f"{kind} {shape}"] = _pairs(schema, pairs, 0.4 if shape == "dense" else 0.8)
        models[f"{kind} higher order"] = _higher_order(schema)
    return models


MODELS = _shapes()
every_model = pytest.mark.parametrize("name", MODELS)
trees = pytest.mark.parametrize("name", [n for n in MODELS if "chain" in n or "star" in n])


def _evidence(schema: fs.Schema) -> fs.Table:
    """No evidence, some, and nearly all."""
    rng = np.random.default_rng(1)
    codes = rng.integers(0, schema.cardinalities, (3, len(schema)))
    codes[0] = -1
    codes[1, ::2] = -1
    codes[2, 1] = -1
    return fs.Table.from_array(codes, schema=schema)


def _enumerated(network: fs.MarkovNetwork, evidence: fs.Table) -> tuple[Floats, Floats]:
    """Return marginals and log Z of each row by summing over all states."""
    states = every_state(network.schema)
    logs = network.log_potential(states)
    one_hot = np.concatenate(
        [np.eye(c)[states[:, v]] for v, c in enumerate(network.schema.cardinalities)], axis=1
    )
    marginals, log_partitions = [], []
    for row in evidence.to_numpy():
        agree = ((row < 0) | (states == row)).all(axis=1)
        top = logs[agree].max()
        weights = np.where(agree, np.exp(np.minimum(logs - top, 0)), 0.0)
        log_partitions.append(top + np.log(weights.sum()))
        marginals.append(weights @ one_hot / weights.sum())
    return np.array(marginals), np.array(log_partitions)


def _ask(name: str, method: Method, **options: Any) -> tuple[fs.Marginals, Floats, Floats]:
    network = MODELS[name]
    evidence = _evidence(network.schema)
    found = network.marginals(evidence, method, n_jobs=1, **METHODS[method].options, **options)
    return found, *_enumerated(network, evidence)


# The numbers.


@having("exact")
@every_model
def test_exact_methods_are_exact(name: str, method: Method) -> None:
    found, marginals, _ = _ask(name, method)
    np.testing.assert_allclose(found.probabilities, marginals, rtol=0, atol=1e-10)
    assert found.diagnostics.expected_error == 0


@having("exact_on_trees")
@trees
def test_methods_for_trees_are_exact_there(name: str, method: Method) -> None:
    options = {"tolerance": 1e-12} if method == "bp" else {}
    found, marginals, log_partitions = _ask(name, method, **options)
    np.testing.assert_allclose(found.probabilities, marginals, rtol=0, atol=1e-10)
    logs = found.diagnostics.per_row["log_partition"]
    np.testing.assert_allclose(logs, log_partitions, rtol=0, atol=1e-8)


@having("log_partition")
@every_model
def test_log_partitions_are_what_they_are_called(name: str, method: Method) -> None:
    found, _, expected = _ask(name, method)
    logs = found.diagnostics.per_row["log_partition"]
    kind = METHODS[method].log_partition
    if kind == "exact":
        np.testing.assert_allclose(logs, expected, rtol=0, atol=1e-9)
    elif kind == "bound":
        assert (logs <= expected + 1e-9).all()
    np.testing.assert_allclose(logs, expected, rtol=0, atol=2.0)


@having("samples")
@every_model
def test_samplers_over_seeds_are_as_far_off_as_they_say(name: str, method: Method) -> None:
    """Of 20 seeds the mean, within 4 of the standard errors that the runs give for it."""
    runs = [_ask(name, method, standard_errors=True, random_state=seed) for seed in range(20)]
    marginals = runs[0][1]
    estimates = np.array([found.probabilities for found, _, _ in runs])
    errors = np.array([found.diagnostics.standard_errors for found, _, _ in runs])
    pooled = np.sqrt((errors**2).sum(axis=0)) / len(runs)
    assert (np.abs(estimates.mean(axis=0) - marginals) <= 4 * pooled + 1e-9).all()
    sampled = pooled > 1e-6
    true = np.sqrt(((estimates - marginals) ** 2).mean(axis=0))[sampled]
    said = np.sqrt((errors**2).mean(axis=0))[sampled]
    assert 0.6 < np.median(true / said) < 1.5


@every_model
def test_annealing_over_seeds_is_as_far_off_as_it_says(name: str) -> None:
    network = MODELS[name]
    exact = float(network.log_partition("exact"))
    runs = [
        network.log_partition("ais", n_chains=40, n_temperatures=50, random_state=seed)
        for seed in range(20)
    ]
    for run in runs:
        assert abs(run.value - exact) <= 4 * run.stderr + 1e-9
    assert len({run.value for run in runs}) == 20


@pytest.mark.parametrize("method", ["exact", "auto", "max-product", "icm"])
@every_model
def test_most_probable_states(name: str, method: str) -> None:
    network = MODELS[name]
    evidence = _evidence(network.schema)
    found = network.most_probable(evidence, method)
    states = every_state(network.schema)
    logs = network.log_potential(states)
    for r, row in enumerate(evidence.to_numpy()):
        best = logs[((row < 0) | (states == row)).all(axis=1)].max()
        own = found.states.to_numpy()[r]
        assert ((row < 0) | (own == row)).all()
        assert found.log_potentials[r] == pytest.approx(network.log_potential([own])[0])
        assert found.log_potentials[r] <= best + 1e-9
        if found.proven[r]:
            assert found.log_potentials[r] == pytest.approx(best)
    assert all(found.proven) == (method in ("exact", "auto")) or method == "max-product"


# What holds for all.


@every_method
def test_answers_are_distributions_and_keep_the_evidence(method: Method) -> None:
    for name in ("binary grid", "multi-valued higher order"):
        found, _, _ = _ask(name, method)
        codes = _evidence(found.schema).to_numpy()
        for v, variable in enumerate(found.schema.names):
            np.testing.assert_allclose(found[variable].sum(axis=1), 1.0)
            for r in np.flatnonzero(codes[:, v] >= 0):
                assert found[variable][r, codes[r, v]] == 1.0
        assert found.diagnostics.status == "finished"


@every_method
def test_threads_and_company_change_nothing(method: Method) -> None:
    network = MODELS["multi-valued grid"]
    evidence = _evidence(network.schema)
    options = METHODS[method].options | ({"random_state": 3} if METHODS[method].samples else {})
    together = network.marginals(evidence, method, n_jobs=2, **options).probabilities
    for r in range(len(evidence)):
        alone = network.marginals(evidence[r : r + 1], method, n_jobs=1, **options).probabilities
        np.testing.assert_array_equal(alone[0], together[r])


@every_method
def test_soft_evidence_multiplies(method: Method) -> None:
    """Soft evidence on a variable that stands alone is all there is to say of it."""
    network = fs.MarkovNetwork.from_terms(fs.Schema([2, 3]), [([(0, 1)], 0.5)])
    found = network.marginals({1: [0.2, 0.3, 0.5]}, method)
    np.testing.assert_allclose(found[1], [0.2, 0.3, 0.5], atol=1e-8)


@every_method
@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ({"v0": 7}, "7"),
        ({"nobody": 0}, "nobody"),
        ([0, 0], "expected a row of 9 values"),
        ([[0] * 8 + [2]], "2"),
        ({"v0": [1.0, 0.0]}, "positive"),
    ],
)
def test_bad_evidence_is_refused(method: Method, evidence: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MODELS["binary grid"].marginals(evidence, method)


@every_method
def test_options_of_other_methods_are_refused(method: Method) -> None:
    network = MODELS["binary grid"]
    every = ["n_chains", "damping", "max_table_entries", "n_starts", "walk_probability"]
    refused = 0
    for option in every:
        try:
            network.marginals(None, method, **{option: 1})
        except TypeError as error:
            assert f"method={method!r} has no option {option!r}; expected" in str(error)  # noqa: PT017
            refused += 1
        except ValueError:
            pass  # it has the option, and 1 is too little
    assert refused >= 3


# Limits: width, time, Ctrl-C.


def _large_grid(n: int) -> fs.MarkovNetwork:
    at = np.arange(n * n).reshape(n, n)
    rng = np.random.default_rng(0)
    terms = [
        ([(int(a), 1), (int(b), 1)], rng.normal())
        for left, right in ((at[:, :-1], at[:, 1:]), (at[:-1], at[1:]))
        for a, b in zip(left.flat, right.flat, strict=True)
    ]
    return fs.MarkovNetwork.from_terms(fs.Schema([2] * (n * n)), terms)


LARGE = _large_grid(12)


def test_too_wide_a_model_is_refused_with_its_cost() -> None:
    message = r"exact inference needs at least .* table entries, .*max_table_entries is 100"
    with pytest.raises(ValueError, match=message):
        LARGE.marginals(None, "exact", max_table_entries=100)
    with pytest.raises(ValueError, match=message):
        LARGE.log_partition("exact", max_table_entries=100)
    with pytest.raises(ValueError, match=message):
        LARGE.most_probable(None, "exact", max_table_entries=100)
    assert LARGE.most_probable(max_table_entries=100).proven == [False]
    assert LARGE.most_probable(max_table_entries=1e6).proven == [True]


@every_method
def test_a_time_limit_leaves_rows_undone_and_says_so(method: Method) -> None:
    rows = np.full((200, 144), -1)
    rows[:, :40] = np.random.default_rng(0).integers(0, 2, (200, 40))
    with pytest.warns(UserWarning, match=r"time limit is over: \d+ of 200 rows are not finished"):
        found = LARGE.marginals(rows, method, time_limit=1e-3, n_jobs=1)
    assert found.diagnostics.status == "time_limit"
    per_row = found.diagnostics.per_row
    done = per_row["is_done"] if "is_done" in per_row else per_row["status"] == "converged"
    assert not done.all()
    assert np.isfinite(found.probabilities[done]).all()


@having("samples")
def test_a_sampler_cut_short_does_not_know_its_error(method: Method) -> None:
    options: dict[str, Any] = {"standard_errors": True, "n_jobs": 1, "random_state": 0}
    for limit in (1e-6, 0.1):  # before the first sample, and in the middle
        with pytest.warns(UserWarning, match="time limit is over: 1 of 1 rows"):
            found = LARGE.marginals(None, method, n_samples=10**6, time_limit=limit, **options)
        assert found.diagnostics.expected_error is None
    assert (
        LARGE.marginals(None, method, n_samples=10, **options).diagnostics.expected_error or 0
    ) > 0


def test_auto_looks_at_the_clock_and_no_further_than_it_must(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows that all hide other variables: what exact answers would cost takes its time too."""
    rows = np.where(np.random.default_rng(0).random((200, 144)) < 0.8, -1, 0)
    sized_up = []

    def slowly(network: Any, patterns: Any, *arguments: Any) -> Any:
        sized_up.append(len(patterns))
        time.sleep(0.02)
        return _core.elimination_costs(network, patterns, *arguments)

    monkeypatch.setattr(automatic, "_core", SimpleNamespace(elimination_costs=slowly))
    with pytest.warns(UserWarning, match="time limit is over: 200 of 200 rows"):
        found = LARGE.marginals(rows, time_limit=0.01)
    assert sum(sized_up) < len(rows)
    assert found.diagnostics.reason == "no time was left to look for a method"
    sized_up.clear()
    assert LARGE.marginals(rows, max_table_entries=10).diagnostics.method != "exact"
    assert sum(sized_up) < len(rows)
    sized_up.clear()
    assert LARGE.marginals(rows).diagnostics.method == "exact"
    assert sum(sized_up) == len(rows)


def test_a_time_limit_in_other_questions() -> None:
    with pytest.raises(TimeoutError, match="before log Z was found"):
        LARGE.log_partition("exact", time_limit=1e-6)
    with pytest.raises(TimeoutError, match="before log Z was found"):
        LARGE.log_partition("ais", time_limit=1e-6)
    with pytest.raises(ValueError, match="missing values"):  # told before log Z is looked for
        LARGE.log_likelihood([[-1] * 144], time_limit=1e-6)
    with pytest.warns(UserWarning, match="1 of 1 rows are not done"):
        found = LARGE.most_probable(None, "exact", time_limit=1e-6)
    with pytest.raises(ValueError, match="before a state was found"):
        found.state  # noqa: B018
    rows = np.zeros((50, 144), dtype=int)
    with (
        pytest.warns(UserWarning, match="time limit"),
        pytest.raises(TimeoutError, match="before all rows of a group were done"),
    ):
        LARGE.cmll(rows, time_limit=1e-6)
    with pytest.warns(UserWarning, match="time limit"):
        filled = LARGE.impute(np.full((50, 144), -1), "gibbs", time_limit=1e-6)
    assert (filled < 0).any()
    for question in (LARGE.marginals, LARGE.most_probable, LARGE.log_partition):
        with pytest.raises(ValueError, match="time_limit must be positive"):
            question(time_limit=0)  # type: ignore[operator]


@contextmanager
def _interrupted_after(seconds: float) -> Iterator[None]:
    """Ctrl-C after a while, the way it comes: from outside."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(seconds, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, previous)


LONG: dict[str, dict[str, Any]] = {
    "exact": {},
    "bp": {"max_iterations": 10**6, "tolerance": 1e-300},
    "meanfield": {"n_starts": 10**6},
    "gibbs": {"burn_in": 10**6},  # with the first sample they would have an answer
    "mcsat": {"burn_in": 10**6},
    "auto": {"max_table_entries": 4},
}


@every_method
def test_ctrl_c_in_the_middle_stops_soon(method: Method) -> None:
    rows = np.full((60_000, 144), -1)  # exact inference takes a second
    rows[:, ::2] = np.random.default_rng(0).integers(0, 2, (60_000, 72))
    for r in range(len(rows)):  # each row has a pattern of its own
        rows[r, r % 144] = -1
        rows[r, (r // 144) % 144] = -1
    started = time.perf_counter()
    with _interrupted_after(0.1), pytest.raises(KeyboardInterrupt):
        LARGE.marginals(rows, method, n_jobs=2, **LONG[method])
    assert time.perf_counter() - started < 10


def _some_rows_then_ctrl_c(rows: npt.NDArray[np.int64]) -> fs.Marginals:
    for seconds in (1.0, 5.0):  # a busy machine may not finish a row in the first
        try:
            with (
                _interrupted_after(seconds),
                pytest.warns(UserWarning, match="interrupted: .* of 20000 rows"),
            ):
                found = LARGE.marginals(
                    rows, "gibbs", n_jobs=1, n_chains=2, n_samples=300, random_state=0
                )
        except KeyboardInterrupt:
            continue
        if found.diagnostics.per_row["is_done"].any():
            return found
    pytest.fail("no row was finished in five seconds")


def test_ctrl_c_leaves_the_rows_that_samplers_have_finished() -> None:
    rows = np.full((20_000, 144), -1)
    rows[:, ::2] = np.random.default_rng(0).integers(0, 2, (20_000, 72))
    found = _some_rows_then_ctrl_c(rows)
    done = found.diagnostics.per_row["is_done"]
    assert found.diagnostics.status == "interrupted"
    assert 0 < done.sum() < len(rows)
    assert np.isfinite(found.probabilities[done]).all()


@pytest.mark.filterwarnings("ignore:interrupted")
def test_ctrl_c_leaves_no_part_of_a_score() -> None:
    rows = np.random.default_rng(0).integers(0, 2, (20_000, 144))
    with _interrupted_after(1.0), pytest.raises(KeyboardInterrupt):
        LARGE.cmll(rows, n_jobs=1, n_chains=2, n_samples=300)


def test_ctrl_c_in_other_questions() -> None:
    with _interrupted_after(0.2), pytest.raises(KeyboardInterrupt):
        LARGE.log_partition("ais", n_chains=10**4, n_temperatures=10**5)
    with _interrupted_after(0.2), pytest.raises(KeyboardInterrupt):
        LARGE.most_probable(None, "icm", n_starts=10**7)
    with _interrupted_after(0.2), pytest.raises(KeyboardInterrupt):
        LARGE.sample(10**6, thinning=100)
