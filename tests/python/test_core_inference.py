"""The bound functions of inference: arrays in and out, errors, interruption and time limits.

The numbers themselves are tested in C++; here a few are compared with sums over all states.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import feldspar as fs
from feldspar import _core
from random_networks import every_state, networks

INFINITY = float("inf")

MARGINALS: dict[str, tuple[Callable[..., _core.Marginals], Callable[[], Any]]] = {
    "enumeration": (_core.enumerate_marginals, _core.EnumerationOptions),
    "junction tree": (_core.junction_tree_marginals, _core.JunctionTreeOptions),
    "belief propagation": (_core.belief_propagation_marginals, _core.BeliefPropagationOptions),
    "mean field": (_core.mean_field_marginals, _core.MeanFieldOptions),
}
EXACT = ["enumeration", "junction tree"]
methods = pytest.mark.parametrize("method", MARGINALS)


def marginals(
    method: str,
    network: fs.MarkovNetwork,
    codes: npt.ArrayLike,
    *,
    log_likelihoods: npt.NDArray[np.float64] | None = None,
    n_threads: int = 1,
    progress: _core.Progress | None = None,
    **options: Any,
) -> _core.Marginals:
    """Call the method with some of its options changed."""
    function, make_options = MARGINALS[method]
    chosen = make_options()
    for name, value in options.items():
        setattr(chosen, name, value)
    rows = np.ascontiguousarray(codes, dtype=np.int32)
    return function(network._core, rows, log_likelihoods, chosen, n_threads, progress)


def grid(n_rows: int, n_columns: int) -> fs.MarkovNetwork:
    """Binary variables that agree with their neighbours, more or less."""
    rng = np.random.default_rng(0)
    at = np.arange(n_rows * n_columns).reshape(n_rows, n_columns)
    edges = [
        *zip(at[:, :-1].ravel(), at[:, 1:].ravel(), strict=True),
        *zip(at[:-1].ravel(), at[1:].ravel(), strict=True),
    ]
    terms = [([(int(v), 1)], rng.normal()) for v in at.ravel()]
    terms += [([(int(a), 1), (int(b), 1)], rng.normal()) for a, b in edges]
    return fs.MarkovNetwork.from_terms(fs.Schema([2] * at.size), terms)


def unknown(network: fs.MarkovNetwork, n_rows: int = 1) -> npt.NDArray[np.int32]:
    return np.full((n_rows, len(network.schema)), -1, dtype=np.int32)


@given(networks(), st.data())
@pytest.mark.parametrize("method", EXACT)
def test_exact_marginals_are_sums_over_states(
    method: str, network: fs.MarkovNetwork, data: st.DataObject
) -> None:
    states = every_state(network.schema)
    known = data.draw(
        st.lists(st.booleans(), min_size=states.shape[1], max_size=states.shape[1]), label="known"
    )
    row = np.where(known, states[data.draw(st.integers(0, len(states) - 1))], -1)
    agreeing = states[np.all((row == -1) | (states == row), axis=1)]
    log_potentials = network.log_potential(agreeing)
    top = log_potentials.max()
    weights = np.exp(log_potentials - top)
    result = marginals(method, network, row[None])
    assert result.log_partition_kind == "exact"
    assert result.log_partitions[0] == pytest.approx(top + np.log(weights.sum()), abs=1e-9)
    expected = [
        weights[agreeing[:, v] == value].sum() / weights.sum()
        for v, cardinality in enumerate(network.schema.cardinalities)
        for value in range(cardinality)
    ]
    np.testing.assert_allclose(result.probabilities[0], expected, atol=1e-10)


@methods
def test_rows_of_evidence_come_with_shapes_and_diagnostics(method: str) -> None:
    network = grid(3, 3)
    codes = unknown(network, 4)
    codes[1:, :5] = [[0], [1], [1]]
    result = marginals(method, network, codes)
    assert result.probabilities.shape == (4, 18)
    assert not result.probabilities.flags.writeable
    np.testing.assert_allclose(result.probabilities.reshape(4, 9, 2).sum(axis=2), 1.0)
    np.testing.assert_array_equal(result.probabilities[2, 1:10:2], 1.0)
    assert result.statuses == ["converged"] * 4
    assert result.iterations.dtype == np.int32
    assert result.residuals.shape == result.log_partitions.shape == (4,)
    probabilities = result.probabilities
    del result
    assert np.isfinite(probabilities).all()  # the view keeps its owner


@methods
def test_soft_evidence_moves_the_marginals(method: str) -> None:
    network = grid(2, 2)
    codes = unknown(network)
    plain = marginals(method, network, codes).probabilities[0]
    soft = np.zeros((1, 8))
    soft[0, 1] = 3.0
    moved = marginals(method, network, codes, log_likelihoods=soft).probabilities[0]
    assert moved[1] > plain[1]


@methods
def test_threads_change_no_bit(method: str) -> None:
    network = grid(3, 3)
    codes = np.random.default_rng(1).integers(-1, 2, (100, 9))
    one, three = (marginals(method, network, codes, n_threads=n) for n in (1, 3))
    np.testing.assert_array_equal(one.probabilities, three.probabilities)
    np.testing.assert_array_equal(one.log_partitions, three.log_partitions)


@methods
def test_bad_evidence_is_refused_with_its_place(method: str) -> None:
    network = grid(2, 2)
    codes = unknown(network, 3)
    codes[2, 1] = 2
    with pytest.raises(ValueError, match="row 2, variable 1: code 2 is out of range"):
        marginals(method, network, codes)
    with pytest.raises(ValueError, match="codes must be a table of 4 columns"):
        marginals(method, network, codes[:, :3])
    for shape in ((1, 8), (8, 2), (0, 8)):
        with pytest.raises(ValueError, match="log_likelihoods must be a table of 8 columns, a row"):
            marginals(method, network, unknown(network, 2), log_likelihoods=np.zeros(shape))
    bad = np.zeros((1, 8))
    bad[0, 3] = np.nan
    with pytest.raises(ValueError, match="row 0, value 3: log-likelihood nan"):
        marginals(method, network, unknown(network), log_likelihoods=bad)


def test_nothing_is_converted() -> None:
    network = grid(2, 2)
    wrong: Any = unknown(network).astype(np.int64)
    with pytest.raises(TypeError):
        _core.junction_tree_marginals(
            network._core, wrong, None, _core.JunctionTreeOptions(), 1, None
        )


def test_limits_name_the_cost_and_the_limit() -> None:
    network = grid(5, 5)
    with pytest.raises(ValueError, match=r"row 0: .* table entries, .* max_table_entries is 16"):
        marginals("junction tree", network, unknown(network), max_table_entries=16)
    with pytest.raises(ValueError, match=r"would visit 3\.35544e\+07 states; max_states is"):
        marginals("enumeration", network, unknown(network))


@pytest.mark.parametrize(
    ("method", "option"),
    [
        (method, option)
        for method, (_, make_options) in MARGINALS.items()
        for option in ("max_seconds", "tolerance", "max_table_entries", "max_states")
        if hasattr(make_options, option)
    ],
)
def test_options_out_of_range_are_refused(method: str, option: str) -> None:
    network = grid(2, 2)
    with pytest.raises(ValueError, match=option):
        marginals(method, network, unknown(network), **{option: 0.0})


def test_names_of_schedules_and_methods() -> None:
    propagation = _core.BeliefPropagationOptions()
    schedules: list[_core.Schedule] = ["residual", "synchronous"]
    for schedule in schedules:
        propagation.schedule = schedule
        assert propagation.schedule == schedule
    wrong: Any = "sideways"
    with pytest.raises(ValueError, match="schedule must be 'synchronous' or 'residual', got 'sid"):
        propagation.schedule = wrong
    with pytest.raises(ValueError, match=r"method must be .*, got 'sideways'"):
        _core.MostProbableOptions().method = wrong


in_batches = pytest.mark.parametrize("method", [m for m in MARGINALS if m != "enumeration"])


@in_batches
def test_a_time_limit_leaves_rows_undone(method: str) -> None:
    network = grid(4, 4)
    result = marginals(method, network, unknown(network, 50), max_seconds=1e-9)
    assert set(result.statuses) == {"not_done"}
    assert np.isnan(result.probabilities).all()


@in_batches
def test_progress_counts_rows(method: str) -> None:
    reports: list[tuple[str, float, float]] = []

    def note(stage: str, done: float, total: float, value: float) -> None:
        reports.append((stage, done, total))

    network = grid(2, 2)
    marginals(method, network, unknown(network, 300), progress=note)
    assert reports[-1] == ("inference", 300.0, 300.0)


def test_an_interrupt_raises() -> None:
    """Send SIGINT at the first report, the way Ctrl-C comes: from outside, and once."""
    sent: list[threading.Thread] = []

    def interrupt(*_: object) -> None:
        if not sent:
            sent.append(threading.Thread(target=signal.raise_signal, args=[signal.SIGINT]))
            sent[0].start()

    network = grid(8, 8)
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 2, (20_000, 64))  # each row has a tree of its own
    with pytest.raises(KeyboardInterrupt):
        marginals("junction tree", network, codes, progress=interrupt)


@pytest.mark.parametrize("method", sorted(MARGINALS.keys() - {"enumeration"}))
def test_an_interrupt_at_the_last_report_raises(method: str) -> None:
    """Nothing of the work is left that could tell of it."""
    reports: list[tuple[object, ...]] = []

    def interrupt(*report: object) -> None:
        reports.append(report)
        raise KeyboardInterrupt

    network = grid(2, 2)
    with pytest.raises(KeyboardInterrupt):
        marginals(method, network, unknown(network, 1), progress=interrupt)
    assert len(reports) == 1


@pytest.mark.parametrize("method", ["automatic", "junction_tree", "max_product", "icm"])
def test_most_probable_states(method: _core.MostProbableMethod) -> None:
    network = grid(3, 3)
    codes = unknown(network, 2)
    codes[1, :3] = 1
    options = _core.MostProbableOptions()
    options.method = method
    result = _core.most_probable(network._core, codes, None, options, 1, None)
    assert result.states.shape == (2, 9)
    assert (result.states[1, :3] == 1).all()
    np.testing.assert_allclose(result.log_potentials, network.log_potential(result.states))
    best = network.log_potential(every_state(network.schema)).max()
    assert result.log_potentials[0] <= best + 1e-9
    if result.proven[0]:
        assert result.log_potentials[0] == pytest.approx(best)
    assert result.proven == [method in {"automatic", "junction_tree"}] * 2
    assert result.methods == ["junction_tree" if method == "automatic" else method] * 2
    assert result.statuses == ["converged"] * 2
    assert result.iterations.shape == (2,)


def test_costs_before_the_work() -> None:
    network = grid(4, 4)
    codes = unknown(network, 3)
    codes[1, 4:8] = 0
    costs = _core.elimination_costs(network._core, codes, INFINITY, 1)
    assert [cost.complete for cost in costs] == [True] * 3
    assert costs[0].width == costs[2].width >= 5
    assert costs[1].table_entries < costs[0].table_entries
    (low,) = _core.elimination_costs(network._core, unknown(network), 4.0, 1)
    assert not low.complete
    result = marginals("junction tree", network, codes, max_table_entries=costs[0].table_entries)
    assert result.statuses == ["converged"] * 3


def test_samples_agree_with_evidence_and_marginals() -> None:
    network = grid(3, 3)
    codes = unknown(network, 2)
    codes[1, 4] = 1

    def draw(seed: int) -> npt.NDArray[np.int32]:
        return _core.junction_tree_samples(
            network._core, codes, None, 4000, seed, _core.JunctionTreeOptions(), 1, None
        )

    samples = draw(1)
    assert samples.shape == (2, 4000, 9)
    assert (samples[1, :, 4] == 1).all()
    exact = marginals("junction tree", network, codes).probabilities[:, 1::2]
    np.testing.assert_allclose(samples.mean(axis=1), exact, atol=5 * 0.5 / np.sqrt(4000))
    np.testing.assert_array_equal(samples, draw(1))
    assert (samples != draw(2)).any()
