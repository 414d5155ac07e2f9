"""Every method of inference against enumeration, evidence in all its forms, and bad questions."""

import itertools
import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import feldspar as fs
from feldspar.evaluation import compare_scores, conditional_marginal_log_likelihood
from feldspar.evidence import Evidence
from feldspar.inference import Method, automatic, marginals, methods

SCHEMA = fs.Schema(
    [2, 3, 2, 2], names=["smoker", "stage", "cancer", "cough"], labels=[["no", "yes"], *[None] * 3]
)
EXACT: list[Method] = ["auto", "exact"]
SAMPLERS: list[Method] = ["gibbs", "mcsat"]


def _network(seed: int = 0, *, loops: bool = True) -> fs.MarkovNetwork:
    random = np.random.default_rng(seed)
    terms: list[tuple[Any, float]] = [
        ([(v, a)], random.normal()) for v in range(4) for a in range(1, SCHEMA.cardinalities[v])
    ]
    pairs = [(0, 1), (1, 2), (2, 3)] + ([(0, 2), (0, 3)] if loops else [])
    terms += [
        ([(i, a), (j, b)], random.normal())
        for i, j in pairs
        for a in range(1, SCHEMA.cardinalities[i])
        for b in range(1, SCHEMA.cardinalities[j])
    ]
    if loops:
        terms.append(([(0, 1), (1, {0, 2}), (3, 0)], 0.8))
    return fs.MarkovNetwork.from_terms(SCHEMA, [([_coded(t) for t in f], w) for f, w in terms])


def _coded(test: tuple[int, Any]) -> tuple[int, Any]:
    variable, value = test
    return (variable, SCHEMA.labels[0][value]) if variable == 0 else (variable, value)


STATES = np.array(list(itertools.product(*(range(c) for c in SCHEMA.cardinalities))))


def _by_enumeration(
    network: fs.MarkovNetwork, known: dict[int, int], soft: dict[int, Any] | None = None
) -> list[np.ndarray[Any, Any]]:
    chances = np.exp(network.log_potential(STATES))
    for v, value in known.items():
        chances[STATES[:, v] != value] = 0
    for v, likelihoods in (soft or {}).items():
        chances *= np.asarray(likelihoods)[STATES[:, v]]
    chances /= chances.sum()
    return [
        np.array([chances[STATES[:, v] == a].sum() for a in range(c)])
        for v, c in enumerate(SCHEMA.cardinalities)
    ]


def _check(found: fs.Marginals, expected: list[np.ndarray[Any, Any]], tolerance: float) -> None:
    for name, distribution in zip(SCHEMA.names, expected, strict=True):
        np.testing.assert_allclose(found[name], distribution, atol=tolerance)


@pytest.mark.parametrize("limit", [math.nan, 0, -1])
def test_tables_of_no_size_are_refused(limit: float) -> None:
    network = _network()
    for ask in (network.marginals, network.most_probable, network.log_partition):
        with pytest.raises(ValueError, match="max_table_entries must be at least 1, got"):
            ask(max_table_entries=limit)


@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize("known", [{}, {0: 1}, {1: 2, 3: 0}, {0: 0, 1: 0, 2: 1, 3: 1}])
def test_exact_methods_enumerate(method: Method, known: dict[int, int]) -> None:
    network = _network()
    named = {SCHEMA.names[v]: SCHEMA.labels[v][a] for v, a in known.items()}
    found = network.marginals(named, method)
    _check(found, _by_enumeration(network, known), 1e-10)
    assert found.diagnostics.method == "exact"
    assert found.diagnostics.converged


def test_bp_is_exact_on_chains() -> None:
    network = _network(1, loops=False)
    found = network.marginals({"cough": 1}, "bp")
    _check(found, _by_enumeration(network, {3: 1}), 1e-8)
    assert found.diagnostics.converged


@pytest.mark.parametrize("method", ["bp", "meanfield"])
def test_approximate_methods_come_close(method: Method) -> None:
    network = _network(2)
    half = fs.MarkovNetwork(network.features, network.weights / 4)
    found = half.marginals({"cough": 1}, method)
    _check(found, _by_enumeration(half, {3: 1}), 0.05)


@pytest.mark.parametrize("method", SAMPLERS)
def test_samplers_are_within_their_errors(method: Method) -> None:
    network = _network(3)
    found = network.marginals({"stage": 1}, method, standard_errors=True, random_state=0)
    expected = np.concatenate(_by_enumeration(network, {1: 1}))
    errors = found.diagnostics.standard_errors
    assert errors is not None
    assert (np.abs(found.probabilities[0] - expected) <= 5 * errors[0] + 1e-9).all()
    assert found.diagnostics.per_row["r_hat"][0] < 1.05
    again = network.marginals({"stage": 1}, method, standard_errors=True, random_state=0)
    np.testing.assert_array_equal(again.probabilities, found.probabilities)


@pytest.mark.parametrize("method", [*EXACT, "bp", "gibbs"])
def test_soft_evidence(method: Method) -> None:
    network = _network(4, loops=False)
    options = {"random_state": 0, "n_samples": 4000} if method == "gibbs" else {}
    for soft in (
        [0.9, 0.1, 0.5],
        {0: 0.9, 1: 0.1, 2: 0.5},
        pd.Series([0.5, 0.9, 0.1], index=[2, 0, 1]),
        pl.Series([0.9, 0.1, 0.5]),
    ):
        found = network.marginals({"stage": soft, "cough": 1}, method, **options)
        expected = _by_enumeration(network, {3: 1}, {1: [0.9, 0.1, 0.5]})
        _check(found, expected, 0.03 if method == "gibbs" else 1e-8)


def test_forms_of_evidence() -> None:
    network = _network()
    expected = network.marginals({"smoker": "yes", 3: 0}).probabilities
    rows = [
        network.marginals([1, -1, -1, 0]),
        network.marginals([1, -1, None, 0]),
        network.marginals(np.array([1, -1, -1, 0])),
    ]
    for row in rows:
        assert row.is_single
        np.testing.assert_allclose(row.probabilities, expected, atol=1e-12)
    frame = pd.DataFrame(
        {"smoker": ["yes"], "stage": [None], "cancer": [None], "cough": [0]}
    ).astype({"stage": "Int64", "cancer": "Int64"})
    many = network.marginals(frame)
    assert not many.is_single
    np.testing.assert_allclose(many.probabilities, expected, atol=1e-12)
    assert many["stage"].shape == (1, 3)


@pytest.mark.parametrize(
    "row",
    [
        [1, -1],
        (1, None),
        [True, None],
        [1.0, np.nan],
        np.array([1, -1]),
        np.array([1.0, -1.0]),
        np.array([1.0, np.nan]),
        np.array([1, None], dtype=object),
        [1, pd.NA],
    ],
    ids=repr,
)
def test_rows_by_position_hold_codes_also_where_labels_are_integers(row: Any) -> None:
    schema = fs.Schema([3, 2], names=["grade", "passed"], labels=[[1, 2, 3], ["no", "yes"]])
    assert Evidence.of(schema, row).codes.tolist() == [[1, -1]]
    assert Evidence.of(schema, row).is_single
    terms = [([("grade", 1), ("passed", "yes")], 1.0), ([("grade", 2), ("passed", "yes")], -1.0)]
    network = fs.MarkovNetwork.from_terms(schema, terms)
    assert network.marginals(row)["grade"].tolist() == [0, 1, 0]
    assert network.most_probable(row).state["grade"] == 2
    assert set(network.sample(3, row, random_state=0).codes[:, 0]) == {1}
    found = network.explain(row, "passed")
    expected = network.explain({"grade": 2}, "passed")
    assert found.contributions == expected.contributions


def test_text_in_a_row_is_a_label() -> None:
    assert Evidence.of(SCHEMA, ["yes", 2, None, 0]).codes.tolist() == [[1, 2, -1, 0]]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([1, 0.5, 0, 0], r"column 1 \('stage'\): expected an integer code .* got 0\.5"),
        (np.array([1, 0.5, 0, 0]), r"column 1 \('stage'\): expected an integer code .* got 0\.5"),
        ([1, 3, 0, 0], r"column 1 \('stage'\): unseen value 3, expected 0 \.\.\. 2"),
        ([1, -2, 0, 0], r"column 1 \('stage'\): expected a code >= 0, or -1 if missing, got -2"),
        (["maybe", 1, 0, 0], "variable 'smoker' has no value 'maybe'"),
        (np.array([1, 0]), "expected a row of 4 values, one for each variable, got 2"),
    ],
)
def test_rows_that_hold_no_codes_are_refused_with_the_place(row: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Evidence.of(SCHEMA, row)


@pytest.mark.parametrize("gap", [None, pd.NA])
def test_gaps_in_lists_of_rows_are_told_how_to_be_written(gap: Any) -> None:
    message = f"row 1, column 2: expected a number, got {gap}; a missing entry is -1"
    for question in (_network().marginals, _network().predict_proba, _network().impute):
        with pytest.raises(TypeError, match=message):
            question([[0, 0, 0, 0], [1, 2, gap, 0]])


def test_many_rows_are_each_their_own() -> None:
    network = _network()
    table = fs.Table.from_array([[1, -1, -1, 0], [-1, 2, 1, -1], [0, 0, 1, 1]], schema=SCHEMA)
    found = network.predict_proba(table)
    for r, row in enumerate(table.to_numpy()):
        known = {v: int(a) for v, a in enumerate(row) if a >= 0}
        expected = np.concatenate(_by_enumeration(network, known))
        np.testing.assert_allclose(found.probabilities[r], expected, atol=1e-10)


def test_frames_of_answers() -> None:
    network = _network()
    single = network.marginals({"cough": 1}).to_frame()
    assert list(single.columns) == ["variable", "value", "probability"]
    assert single.query("variable == 'smoker'")["value"].tolist() == ["no", "yes"]
    many = network.marginals(fs.Table.from_array([[0, 0, 0, -1]] * 2, schema=SCHEMA)).to_frame()
    assert many["row"].tolist() == [0] * 9 + [1] * 9


def test_imputation_takes_the_most_probable_value() -> None:
    network = _network()
    rows = fs.Table.from_array([[1, -1, 1, 0], [0, 1, 1, 1]], schema=SCHEMA)
    table = fs.Table.of(rows, sample_weight=[2.0, 1.0])
    filled = network.impute(table)
    best = int(np.argmax(_by_enumeration(network, {0: 1, 2: 1, 3: 0})[1]))
    assert filled.to_numpy().tolist() == [[1, best, 1, 0], [0, 1, 1, 1]]
    assert filled.weights.tolist() == [2.0, 1.0]
    assert network.impute(table[1:]) == table[1:]


@pytest.mark.parametrize("method", ["auto", "exact", "icm"])
def test_the_most_probable_state(method: str) -> None:
    network = _network(5)
    found = network.most_probable({"cough": 1}, method)
    potentials = np.where(STATES[:, 3] == 1, network.log_potential(STATES), -np.inf)
    best = STATES[np.argmax(potentials)]
    assert found.states.to_numpy().tolist() == [best.tolist()]
    assert found.state["smoker"] == SCHEMA.labels[0][best[0]]
    assert found.log_potentials[0] == pytest.approx(potentials.max())
    assert found.proven == [method != "icm"]
    many = network.most_probable(fs.Table.from_array([[-1] * 4] * 2, schema=SCHEMA))
    with pytest.raises(ValueError, match="2 states"):
        many.state  # noqa: B018


@pytest.mark.parametrize("method", ["auto", "exact", "max-product", "icm"])
def test_log_potentials_of_states_are_those_of_the_network(method: str) -> None:
    """Soft evidence decides which state it is and adds nothing to its weights."""
    network = fs.MarkovNetwork.from_terms(fs.Schema([2, 2]), [([(0, 1)], 0.5), ([(1, 1)], 0.3)])
    found = network.most_probable({0: [0.9, 0.1], 1: [0.5, 0.4]}, method)
    assert found.states.to_numpy().tolist() == [[0, 1]]
    assert found.log_potentials.tolist() == pytest.approx([0.3])


def test_log_partition_and_likelihood() -> None:
    network = _network(6)
    potentials = network.log_potential(STATES)
    exact = float(np.log(np.exp(potentials).sum()))
    assert float(network.log_partition()) == pytest.approx(exact, abs=1e-10)
    annealed = network.log_partition("ais", random_state=0)
    assert annealed.method == "ais"
    assert annealed.reverse is not None
    assert abs(annealed.value - exact) < 5 * annealed.stderr + 1e-9
    np.testing.assert_allclose(network.log_likelihood(STATES), potentials - exact, atol=1e-10)


def test_samples_have_the_marginals() -> None:
    network = _network(7)
    drawn = network.sample(4000, {"stage": 2}, random_state=0).to_numpy()
    assert (drawn[:, 1] == 2).all()
    expected = _by_enumeration(network, {1: 2})
    for v in (0, 2, 3):
        assert drawn[:, v].mean() == pytest.approx(expected[v][1], abs=0.04)
    again = network.sample(4000, {"stage": 2}, random_state=0, n_jobs=1).to_numpy()
    np.testing.assert_array_equal(again, drawn)


@pytest.mark.parametrize("reverse", [False, True])
def test_cmll_is_what_it_says(reverse: bool) -> None:
    network = _network(8)
    rows = STATES[::5]
    groups = [["smoker", "stage"], ["cancer", "cough"]]
    score = conditional_marginal_log_likelihood(
        network, rows, groups=groups, method="exact", reverse=reverse
    )
    for r, row in enumerate(rows):
        expected = 0.0
        for hidden in ([0, 1], [2, 3]):
            known = {v: int(row[v]) for v in range(4) if v not in hidden}
            found = _by_enumeration(network, known)
            expected += sum(np.log(found[v][row[v]]) for v in hidden)
        assert score.per_example[r] == pytest.approx(expected, abs=1e-9)
    assert score.normalized == pytest.approx(score.mean / 4)


def test_cmll_by_sampling_comes_close_and_follows_the_seed() -> None:
    network = _network(9)
    rows = STATES[::3]
    exact = network.cmll(rows, split="contiguous", method="exact", groups=2)
    sampled = network.cmll(rows, split="contiguous", groups=2)
    assert sampled.mean == pytest.approx(exact.mean, abs=0.02)
    assert network.cmll(rows, groups=2).mean == network.cmll(rows, groups=2, n_jobs=1).mean


def test_cmll_by_auto_follows_the_seed_where_it_samples() -> None:
    frustrated = fs.MarkovNetwork.from_terms(
        fs.Schema([2] * 6),
        [([(i, a), (j, a)], -3.0) for i, j in itertools.combinations(range(6), 2) for a in (0, 1)],
    )
    rows = [[0, 1, 0, 1, 0, 1]]
    options: dict[str, Any] = {"split": "contiguous", "groups": 2, "max_table_entries": 1}
    evidence = [0, 1, 0, -1, -1, -1]
    assert frustrated.marginals(evidence, max_table_entries=1).diagnostics.method == "gibbs"
    scores = [
        frustrated.cmll(rows, method="auto", random_state=seed, **options).mean for seed in (0, 1)
    ]
    assert scores[0] != scores[1]


def test_the_time_limit_of_cmll_is_for_all_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def slowly(*arguments: Any, time_limit: float, **options: Any) -> fs.Marginals:
        asked.append(time_limit)
        time.sleep(0.01)
        return marginals(*arguments, time_limit=time_limit, **options)

    monkeypatch.setattr("feldspar.evaluation.marginals", slowly)
    _network().cmll(STATES, method="exact", time_limit=100)
    assert len(asked) == 4
    assert 100 - asked[-1] > 0.03
    _network().cmll(STATES, method="exact")
    assert asked[-1] == np.inf


@pytest.mark.parametrize("groups", [1, 9, [["smoker"], ["stage"]], [["smoker"] * 2, [1, 2, 3]]])
def test_cmll_refuses_groups_that_are_none(groups: Any) -> None:
    with pytest.raises(ValueError, match="groups: expected"):
        _network().cmll(STATES, groups=groups)


def test_bad_questions_are_answered_in_words() -> None:
    network = _network()
    cases: list[tuple[Any, dict[str, Any], str]] = [
        ({"nobody": 1}, {}, "nobody"),
        ({"smoker": "sometimes"}, {}, "sometimes"),
        ({"smoker": "yes", 0: "no"}, {}, "given twice"),
        ([1, 0], {}, "expected a row of 4 values"),
        ({"stage": [0.5, 0.5]}, {}, "expected 3 likelihoods"),
        ({"stage": [0.5, 0.5, 0.0]}, {}, "positive"),
        ({"stage": {0: 1.0}}, {}, "names 1 of its 3"),
        (None, {"method": "magic"}, "expected one of"),
        (None, {"time_limit": 0}, "time_limit must be positive"),
        (None, {"method": "exact", "max_table_entries": 2}, "2"),
        (None, {"method": "gibbs", "n_chains": 0}, "n_chains"),
        (None, {"method": "bp", "schedule": "sometimes"}, "schedule"),
    ]
    for evidence, options, message in cases:
        with pytest.raises(ValueError, match=message):
            network.marginals(evidence, **options)
    with pytest.raises(TypeError, match="method='exact' has no option 'n_chains'"):
        network.marginals(method="exact", n_chains=3)
    with pytest.raises(ValueError, match="expected one row, got 2"):
        network.sample(3, STATES[:2])
    with pytest.raises(KeyError):
        network.marginals()["nobody"]


def test_auto_says_why() -> None:
    network = _network()
    assert "entries" in network.marginals().diagnostics.reason
    forced = network.marginals(max_table_entries=2)
    assert forced.diagnostics.method in ("bp", "gibbs")
    assert "too large" in forced.diagnostics.reason


def _two_modes() -> fs.MarkovNetwork:
    """Five variables that strongly agree in pairs: belief propagation settles, and exaggerates."""
    pairs = itertools.combinations(range(5), 2)
    terms: list[tuple[Any, float]] = [([(a, s), (b, s)], 0.7) for a, b in pairs for s in (0, 1)]
    terms.append(([(0, 1)], 0.3))
    return fs.MarkovNetwork.from_terms(fs.Schema([2] * 5), terms)


def test_auto_does_not_believe_propagation_that_sampling_contradicts() -> None:
    network = _two_modes()
    exact = network.marginals(method="exact").probabilities
    propagated = network.marginals(method="bp")
    assert propagated.diagnostics.converged
    assert propagated.diagnostics.expected_error is None
    assert np.abs(propagated.probabilities - exact).max() > 0.05
    found = network.marginals(max_table_entries=2)
    assert found.diagnostics.method == "gibbs"
    assert "a short Gibbs run contradicts it" in found.diagnostics.reason
    assert found.diagnostics.expected_error is not None
    assert np.abs(found.probabilities - exact).max() < 4 * found.diagnostics.expected_error
    again = network.marginals(max_table_entries=2, n_jobs=1)
    np.testing.assert_array_equal(again.probabilities, found.probabilities)


def test_auto_says_how_far_a_checked_propagation_may_be_off() -> None:
    network = _network(1, loops=False)
    evidence = STATES[np.arange(70) % len(STATES)].copy()
    evidence[:, 1:3] = -1
    found = network.marginals(evidence, max_table_entries=2)
    exact = network.marginals(evidence, "exact").probabilities
    assert found.diagnostics.method == "bp"
    assert "agrees with 50 of the 70 rows" in found.diagnostics.reason
    assert np.abs(found.probabilities - exact).max() <= (found.diagnostics.expected_error or 0)


def _stuck() -> fs.MarkovNetwork:
    """Six variables that agree so strongly that no chain leaves the mode it starts in."""
    pairs = itertools.combinations(range(6), 2)
    terms: list[tuple[Any, float]] = [([(a, s), (b, s)], 4.0) for a, b in pairs for s in (0, 1)]
    return fs.MarkovNetwork.from_terms(fs.Schema([2] * 6), terms)


def test_auto_says_that_a_check_did_not_mix() -> None:
    found = _stuck().marginals(max_table_entries=2)
    assert found.diagnostics.method == "bp"
    assert "did not mix" in found.diagnostics.reason
    assert found.diagnostics.expected_error is None


def test_auto_says_that_chains_have_not_mixed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: Any) -> Any:
        probabilities, diagnostics = methods.bp(*arguments)
        return probabilities, replace(diagnostics, converged=False)

    monkeypatch.setattr(automatic, "bp", fails)
    found = _stuck().marginals(max_table_entries=2)
    assert found.diagnostics.method == "gibbs"
    assert "did not converge; chains have not mixed (R-hat" in found.diagnostics.reason


def test_evidence_that_is_nothing() -> None:
    assert Evidence.of(SCHEMA).hidden.all()
    assert len(Evidence.of(SCHEMA, {})) == 1


def test_paired_comparison() -> None:
    test = compare_scores([1.0, 2.0, 3.0], [1.0, 1.0, 4.0])
    assert (test.wins, test.losses, test.ties) == (1, 1, 1)
    assert np.isnan(compare_scores([1.0], [1.0]).p_value)
    with pytest.raises(ValueError, match="as many scores"):
        compare_scores([1.0], [1.0, 2.0])
