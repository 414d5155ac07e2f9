"""Sampling at the border: arrays in and out, options by name, errors, threads, interruption."""

from __future__ import annotations

import inspect
import os
import signal
import threading
from itertools import product

import numpy as np
import pytest

import feldspar as fs
from feldspar import _core
from feldspar.inference.methods import _sampled

CARDINALITIES = (2, 3, 2)
FEATURES = [[(0, 1)], [(0, 1), (1, 2)], [(1, {0, 1}), (2, 1)], [(0, 0), (1, 1), (2, 0)]]
WEIGHTS = np.array([0.5, 1.2, -0.7, 0.9])
OFFSETS = (0, 2, 5, 7)


def network() -> fs.MarkovNetwork:
    schema = fs.Schema(cardinalities=CARDINALITIES)
    return fs.MarkovNetwork(fs.FeatureSet(schema, FEATURES), WEIGHTS)


def exact(row: list[int], soft: np.ndarray | None = None) -> tuple[np.ndarray, float]:
    """Return marginals and log Z by going through all states."""
    states = np.array(
        [
            state
            for state in product(*map(range, CARDINALITIES))
            if all(e in (-1, s) for e, s in zip(row, state, strict=True))
        ],
        dtype=np.int32,
    )
    logs = network().log_potential(states)
    if soft is not None:
        logs = logs + soft[np.array(OFFSETS[:-1]) + states].sum(axis=1)
    total = np.logaddexp.reduce(logs)
    marginals = np.zeros(OFFSETS[-1])
    for state, log in zip(states, logs, strict=True):
        marginals[np.array(OFFSETS[:-1]) + state] += np.exp(log - total)
    return marginals, float(total)


def codes(*rows: list[int]) -> np.ndarray:
    return np.array(rows, dtype=np.int32)


ROWS = codes([-1, -1, -1], [1, -1, -1], [-1, 2, 0], [0, 1, 1])


def sampler(name: str) -> tuple[object, object]:
    if name == "gibbs":
        return _core.gibbs_marginals, _core.GibbsOptions()
    return _core.mcsat_marginals, _core.McSatOptions()


SAMPLERS = pytest.mark.parametrize("name", ["gibbs", "mcsat"])


@SAMPLERS
@pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
def test_marginals(name: str, soft: bool) -> None:
    marginals, options = sampler(name)
    options.chains.standard_errors = True
    likelihoods = np.random.default_rng(0).normal(size=(4, OFFSETS[-1])) if soft else None
    result = marginals(network()._core, ROWS, likelihoods, options, 1, None)
    assert result.status == "finished"
    assert result.probabilities.shape == (4, OFFSETS[-1])
    for r, row in enumerate(ROWS.tolist()):
        truth, _ = exact(row, None if likelihoods is None else likelihoods[r])
        errors = np.maximum(result.standard_errors[r], 1e-7)
        assert np.all(np.abs(result.probabilities[r] - truth) < 5 * errors)
    assert result.is_done.tolist() == [1] * 4
    assert result.n_samples.tolist() == [10_000] * 4
    assert np.all(result.r_hat < 1.05)
    assert np.all(result.effective_size > 1000)


@SAMPLERS
def test_standard_errors_only_on_request(name: str) -> None:
    marginals, options = sampler(name)
    assert marginals(network()._core, ROWS, None, options, 1, None).standard_errors is None


@SAMPLERS
def test_threads_and_seeds(name: str) -> None:
    marginals, options = sampler(name)
    options.chains.n_samples = 50

    def run(threads: int) -> np.ndarray:
        return marginals(network()._core, ROWS, None, options, threads, None).probabilities

    one = run(1)
    assert np.array_equal(one, run(2))
    options.chains.seed = 2**64 - 1
    assert not np.array_equal(one, run(1))


@SAMPLERS
def test_progress_is_reported(name: str) -> None:
    marginals, options = sampler(name)
    seen: list[tuple[str, float, float, float]] = []
    marginals(network()._core, ROWS, None, options, 1, lambda *report: seen.append(report))
    assert seen[-1] == ("sampling", 4.0, 4.0, 0.0)


@SAMPLERS
@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("n_chains", 0, "n_chains must be at least 1, got 0"),
        ("thinning", -2, "thinning must be at least 1, got -2"),
        ("max_seconds", 0.0, "max_seconds must be positive, got 0"),
    ],
)
def test_bad_options(name: str, option: str, value: float, message: str) -> None:
    marginals, options = sampler(name)
    setattr(options.chains, option, value)
    with pytest.raises(ValueError, match=message):
        marginals(network()._core, ROWS, None, options, 1, None)


@SAMPLERS
def test_bad_evidence(name: str) -> None:
    marginals, options = sampler(name)
    core = network()._core
    with pytest.raises(ValueError, match="row 1, variable 1: code 3 is out of range"):
        marginals(core, codes([0, 0, 0], [0, 3, 0]), None, options, 1, None)
    with pytest.raises(ValueError, match="codes must be a table of 3 columns"):
        marginals(core, codes([0, 0]), None, options, 1, None)
    with pytest.raises(ValueError, match="log_likelihoods must be a table of 7 columns, a row"):
        marginals(core, ROWS, np.zeros(7), options, 1, None)
    with pytest.raises(TypeError):
        marginals(core, ROWS.astype(np.int64), None, options, 1, None)


def test_defaults_of_samples_are_those_of_the_core() -> None:
    shown = inspect.signature(fs.MarkovNetwork.sample).parameters
    options = _core.SampleOptions()
    for name in ("burn_in", "thinning", "n_chains"):
        assert shown[name].default == getattr(options, name)


def test_time_limit_leaves_what_is_there() -> None:
    options = _core.GibbsOptions()
    options.chains.n_samples = 2**30
    options.chains.max_seconds = 0.1
    result = _core.gibbs_marginals(network()._core, ROWS[:1], None, options, 2, None)
    assert result.status == "time_limit"
    assert result.is_done.tolist() == [0]
    assert np.isnan(result.r_hat[0])


def long_gibbs() -> _core.SampledMarginals:
    options = _core.GibbsOptions()
    options.chains.n_samples = 2**30
    return _core.gibbs_marginals(network()._core, ROWS[:1], None, options, 2, None)


def long_sample() -> object:
    options = _core.SampleOptions()
    options.thinning = 2**30
    return _core.sample(network()._core, ROWS[:1], None, 1, options, 1)


def long_annealing() -> object:
    options = _core.AnnealingOptions()
    options.n_temperatures = 2**24
    return _core.annealed_log_partition(network()._core, ROWS[:1], None, options, 2)


def test_interruption_keeps_what_the_only_row_has() -> None:
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    result = long_gibbs()
    timer.join()
    assert result.status == "interrupted"
    assert result.is_done.tolist() == [0]
    assert result.n_samples[0] > 0
    assert np.all(np.isfinite(result.probabilities))


def test_an_interrupt_after_the_last_row_is_told() -> None:
    def interrupt(stage: str, done: float, total: float, value: float) -> None:
        if done == total:
            raise KeyboardInterrupt

    options = _core.GibbsOptions()
    result = _core.gibbs_marginals(network()._core, ROWS, None, options, 1, interrupt)
    assert result.is_done.all()
    assert result.status == "interrupted"
    with pytest.warns(UserWarning, match="interrupted: after the last row, all are finished"):
        _sampled("gibbs", result)


@pytest.mark.parametrize("work", [long_sample, long_annealing])
def test_interruption_inside_the_only_row(work: object) -> None:
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        work()
    timer.join()


def test_sampled_states() -> None:
    options = _core.SampleOptions()
    states = _core.sample(network()._core, codes([-1, 2, -1]), None, 5000, options, 2)
    assert states.shape == (5000, 3)
    assert states.dtype == np.int32
    assert np.all(states[:, 1] == 2)
    truth, _ = exact([-1, 2, -1])
    assert abs(states[:, 0].mean() - truth[1]) < 0.03
    assert np.array_equal(
        states, _core.sample(network()._core, codes([-1, 2, -1]), None, 5000, options, 1)
    )
    with pytest.raises(ValueError, match="expected one row, got 4"):
        _core.sample(network()._core, ROWS, None, 5, options, 1)


def test_log_partition() -> None:
    options = _core.AnnealingOptions()
    options.n_temperatures = 50
    options.reverse_burn_in = 50
    for base in _core.AnnealingBase:
        for schedule in _core.AnnealingSchedule:
            options.base, options.schedule = base, schedule
            for row in ROWS:
                result = _core.annealed_log_partition(network()._core, row[None], None, options, 1)
                _, truth = exact(row.tolist())
                for estimate in (result.forward, result.reverse):
                    error = max(5 * estimate.standard_error, 1e-9)
                    assert abs(estimate.log_partition - truth) < error
                    assert estimate.n_chains == 100
                assert result.status == "finished"
