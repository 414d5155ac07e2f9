"""Features are canonical, distinct, readable, and come back as they were handed out."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest

import feldspar as fs
from feldspar.features import CodedTest

WEATHER = fs.Schema(
    [2, 3, 4],
    names=["rain", "wind", "cloud"],
    labels=[None, ["calm", "breeze", "gale"], [2, 4, 6, 8]],
)


def only(conjunction: Any, schema: fs.Schema = WEATHER) -> Any:
    (feature,) = fs.FeatureSet(schema, [conjunction])
    return feature


# What users may write


@pytest.mark.parametrize(
    ("conjunction", "expected"),
    [
        pytest.param([("rain", 1)], ((0, 1),), id="name and code"),
        pytest.param([(0, 1)], ((0, 1),), id="index and code"),
        pytest.param([("wind", "gale")], ((1, 2),), id="name and label"),
        pytest.param([(1, "gale")], ((1, 2),), id="index and label"),
        pytest.param([("wind", 2)], ((1, 2),), id="code where labels are texts"),
        pytest.param([("cloud", 2)], ((2, 0),), id="integers are labels where there are such"),
        pytest.param([("wind", {"calm", "gale"})], ((1, frozenset({0, 2})),), id="set of labels"),
        pytest.param([("wind", frozenset({0, 2}))], ((1, frozenset({0, 2})),), id="set of codes"),
        pytest.param([("wind", {"gale"})], ((1, 2),), id="a set of one is a value"),
        pytest.param([(np.int64(0), np.int8(1))], ((0, 1),), id="NumPy integers"),
        pytest.param(np.array([[0, 1], [1, 2]]), ((0, 1), (1, 2)), id="rows of an array"),
        pytest.param((t for t in [("rain", 1)]), ((0, 1),), id="generator"),
    ],
)
def test_input_forms(conjunction: Any, expected: Any) -> None:
    assert only(conjunction) == expected


def test_truth_values_are_labels() -> None:
    schema = fs.Schema([2], labels=[[True, False]])
    assert only([(0, True)], schema) == ((0, 0),)


# The canonical form


def test_tests_are_sorted_by_variable() -> None:
    assert only([("cloud", 4), ("rain", 1)]) == ((0, 1), (2, 1))


def test_tests_of_one_variable_are_intersected() -> None:
    assert only([("wind", {0, 1}), ("rain", 1), ("wind", {1, 2})]) == ((0, 1), (1, 1))


def test_a_test_that_admits_everything_is_dropped() -> None:
    assert only([("wind", {0, 1, 2}), ("rain", 0)]) == ((0, 0),)


def test_equal_features_are_kept_once_in_order_of_arrival() -> None:
    features = fs.FeatureSet(
        WEATHER, [[("rain", 1), ("wind", 0)], [("cloud", 8)], [("wind", "calm"), ("rain", 1)]]
    )
    assert list(features) == [((0, 1), (1, 0)), ((2, 3),)]


@pytest.mark.parametrize(
    ("conjunction", "what"),
    [
        pytest.param([], "always true since it tests nothing", id="empty"),
        pytest.param([(1, {0, 1, 2})], "always true whatever the value of wind", id="all values"),
        pytest.param([(0, 0), (0, 1)], "never true whatever the value of rain", id="contradiction"),
        pytest.param([(0, set())], "never true whatever the value of rain", id="no value"),
    ],
)
def test_constants_are_refused(conjunction: Any, what: str) -> None:
    with pytest.raises(ValueError, match=rf"features\[1\] is {what}; expected a conjunction"):
        fs.FeatureSet(WEATHER, [[("rain", 1)], conjunction])


# Errors name the place


@pytest.mark.parametrize(
    ("conjunction", "error", "message"),
    [
        pytest.param([("rian", 1)], ValueError, "'rian'; did you mean rain", id="unknown name"),
        pytest.param([(3, 1)], ValueError, r"no variable 3: expected 0 \.\.\. 2", id="index"),
        pytest.param([(-1, 1)], ValueError, r"no variable -1: expected 0 \.\.\. 2", id="negative"),
        pytest.param([(0.5, 1)], TypeError, "name or position, got 0.5", id="no index at all"),
        pytest.param([("wind", "storm")], ValueError, "'storm': expected calm", id="label"),
        pytest.param([("wind", 3)], ValueError, "'wind' has no value 3", id="code"),
        pytest.param([("cloud", 1)], ValueError, "1: expected 2, 4, 6, 8", id="code among ints"),
        pytest.param([("wind", {0, 7})], ValueError, "'wind' has no value 7", id="in a set"),
        pytest.param([("wind", [0, 1])], TypeError, r"or a set of values, got \[0, 1\]", id="list"),
        pytest.param([(0, 1, 1)], TypeError, r"pair, got \(0, 1, 1\)", id="triple"),
        pytest.param([0, 1], TypeError, r"a \(variable, value\) pair, got 0", id="no pairs"),
        pytest.param("rain", TypeError, r"sequence of .* pairs, got 'rain'", id="text"),
        pytest.param(7, TypeError, r"sequence of .* pairs, got 7", id="number"),
    ],
)
def test_errors_name_the_feature(conjunction: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=rf"^features\[3\]: .*{message}"):
        fs.FeatureSet(WEATHER, [[("rain", 1)], [("rain", 0)], [("wind", 1)], conjunction])


# As a sequence


@pytest.fixture
def features() -> fs.FeatureSet:
    return fs.FeatureSet(
        WEATHER, [[("rain", 1)], [("wind", {1, 2}), ("rain", 1)], [("cloud", 2), ("wind", 0)]]
    )


def test_sequence(features: fs.FeatureSet) -> None:
    assert len(features) == 3
    assert features[1] == features[-2] == ((0, 1), (1, frozenset({1, 2})))
    assert features[1:] == (features[1], features[2])
    assert ((0, 1),) in features
    assert features.index(((1, 0), (2, 0))) == 2
    assert features.lengths.tolist() == [1, 2, 2]


def test_variables_of_a_feature(features: fs.FeatureSet) -> None:
    assert features.variables(2) == features.variables(-1) == (1, 2)


@pytest.mark.parametrize("index", [3, -4])
def test_index_out_of_range(features: fs.FeatureSet, index: int) -> None:
    for get in (features.__getitem__, features.variables, features.describe):
        with pytest.raises(IndexError, match=f"feature {index} does not exist; there are 3"):
            get(index)


def test_empty_set() -> None:
    features = fs.FeatureSet(WEATHER)
    assert list(features) == []
    assert features.lengths.tolist() == []
    assert repr(features) == "FeatureSet(0 features of up to 0 of 3 variables)"


def test_describe_and_repr(features: fs.FeatureSet) -> None:
    assert features.describe(1) == "rain=1 & wind in {breeze, gale}"
    assert features.describe(2) == "wind=calm & cloud=2"
    assert repr(features) == "FeatureSet(3 features of up to 2 of 3 variables)"


def test_schema_cannot_be_exchanged(features: fs.FeatureSet) -> None:
    for same in (features, pickle.loads(pickle.dumps(features))):
        with pytest.raises(AttributeError, match="schema"):
            same.schema = fs.Schema([2])


# Equality, pickles, unions


def test_equality(features: fs.FeatureSet) -> None:
    assert features == fs.FeatureSet(WEATHER, list(features))
    assert features != fs.FeatureSet(WEATHER, reversed(features))
    assert features != fs.FeatureSet(fs.Schema(WEATHER.cardinalities), list(features))
    assert features != list(features)


def test_pickle(features: fs.FeatureSet) -> None:
    assert pickle.loads(pickle.dumps(features)) == features


def test_pickled_features_still_speak_of_codes(features: fs.FeatureSet) -> None:
    loaded = pickle.loads(pickle.dumps(features[2]))
    assert all(isinstance(test, CodedTest) for test in loaded)
    assert only(loaded) == features[2]


def test_union(features: fs.FeatureSet) -> None:
    more = fs.FeatureSet(WEATHER, [[("cloud", 8)], [("rain", 1)]])
    assert list(features | more) == [*features, ((2, 3),)]
    assert list(more | features) == [*more, features[1], features[2]]
    assert features | fs.FeatureSet(WEATHER) == features


def test_union_of_different_schemas(features: fs.FeatureSet) -> None:
    with pytest.raises(ValueError, match=r"different schemas: .*rain.* and .*v0.*; expected"):
        features | fs.FeatureSet(fs.Schema([2]))


def test_union_with_something_else(features: fs.FeatureSet) -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        features | [[("rain", 1)]]  # type: ignore[operator]


# Under these labels a code read as a label would be another value, or none at all.
CONFUSING = [
    pytest.param([[5, 7], [5, 7, 9]], id="no code is a label"),
    pytest.param([[1, 0], [2, 0, 1]], id="codes are other codes' labels"),
    pytest.param([[1.0, 0.0], [True, False, 2]], id="equal to other codes"),
    pytest.param([["1", "0"], [None, 1, 0]], id="mixed"),
]


@pytest.mark.parametrize("labels", CONFUSING)
def test_returned_features_are_read_as_codes(labels: list[list[Any]]) -> None:
    schema = fs.Schema([2, 3], labels=labels)
    first, second = labels
    features = fs.FeatureSet(
        schema, [[(0, first[1])], [(1, second[0]), (0, first[0])], [(1, {second[1], second[2]})]]
    )
    assert list(features) == [((0, 1),), ((0, 0), (1, 0)), ((1, frozenset({1, 2})),)]
    assert fs.FeatureSet(schema, list(features)) == features
    assert fs.FeatureSet(schema, features[1:]) == fs.FeatureSet(schema, [features[1], features[2]])
    assert features | features == features
    network = fs.MarkovNetwork.from_terms(schema, zip(features, [1.0, 2.0, 3.0], strict=True))
    assert network.features == features


def test_returned_tests_may_be_extended_by_written_ones() -> None:
    schema = fs.Schema([2, 2], names=["a", "b"], labels=[[1, 0], [1, 0]])
    (feature,) = fs.FeatureSet(schema, [[("a", 1)]])
    assert only([*feature, ("b", 1)], schema) == ((0, 0), (1, 0))


def test_returned_features_are_checked_against_the_schema() -> None:
    (feature,) = fs.FeatureSet(WEATHER, [[("cloud", 8)]])
    with pytest.raises(ValueError, match=r"features\[0\]: variable 'c' has no code 3: expected 0"):
        fs.FeatureSet(fs.Schema([2, 2, 2], names=["a", "b", "c"]), [feature])


# Enumeration


def random_codes(seed: int, n_rows: int, cardinalities: list[int]) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(0, cardinalities, (n_rows, len(cardinalities)))


def supported(
    table: fs.Table, order: int, min_support: float, supported_from: int
) -> list[tuple[tuple[int, int], ...]]:
    """Every conjunction, short ones first, its support counted row by row."""
    codes, found = np.asarray(table), []
    for length in range(1, order + 1):
        for scope in itertools.combinations(range(codes.shape[1]), length):
            values = [range(1, table.schema.cardinalities[v]) for v in scope]
            for assignment in itertools.product(*values):
                holds = (codes[:, scope] == assignment).all(axis=1)
                if length < supported_from or table.weights[holds].sum() >= min_support:
                    found.append(tuple(zip(scope, assignment, strict=True)))
    return sorted(found, key=lambda feature: (len(feature), feature))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_conjunctions_without_support(order: int) -> None:
    features = fs.FeatureSet.conjunctions(np.zeros((4, 6), dtype=int), order=order)
    assert len(features) == sum(math.comb(6, length) for length in range(1, order + 1))


@pytest.mark.parametrize("min_support", [1.0, 4.0, 6.5])
@pytest.mark.parametrize("supported_from", [1, 2, 3])
def test_conjunctions_with_support(min_support: float, supported_from: int) -> None:
    weights = np.random.default_rng(1).uniform(0, 2, 40)
    table = fs.Table.from_array(random_codes(0, 40, [2, 3, 2, 4, 2]), sample_weight=weights)
    features = fs.FeatureSet.conjunctions(
        table, order=3, min_support=min_support, supported_from=supported_from
    )
    assert features.schema == table.schema
    # Each part of a supported conjunction is supported, so that nothing is lost by growing them.
    assert list(features) == supported(table, 3, min_support, supported_from)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 0}, "order must be at least 1, got 0"),
        ({"min_support": -1.0}, "min_support must not be negative, got -1"),
        ({"supported_from": 0}, "supported_from must be at least 1, got 0"),
    ],
)
def test_conjunctions_refuse_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fs.FeatureSet.conjunctions([[0, 1]], **options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"order": 2.0}, TypeError, "order: expected an integer, got 2.0"),
        ({"order": 2**40}, ValueError, "order: expected an integer of 32 bits, got 1099511"),
        ({"supported_from": "1"}, TypeError, "supported_from: expected an integer, got '1'"),
        ({"min_support": "10"}, TypeError, "min_support: expected a number, got '10'"),
    ],
    ids=lambda value: repr(value) if isinstance(value, dict) else "",
)
def test_conjunctions_refuse_what_is_no_number(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        fs.FeatureSet.conjunctions([[0, 1]], **options)


def test_conjunctions_take_numpy_integers() -> None:
    assert len(fs.FeatureSet.conjunctions([[0, 1]], order=np.int64(1))) == 2


def test_a_selection_keeps_order_sets_and_schema() -> None:
    schema = fs.Schema([2, 3, 2])
    features = fs.FeatureSet(schema, [[(0, 1)], [(1, {1, 2}), (2, 0)], [(2, 1)]])
    some = features.select(np.array([False, True, True]))
    assert list(some) == [features[1], features[2]]
    assert some.schema == schema
    assert features.positions(some).tolist() == [1, 2]
    assert some.positions(features).tolist() == [-1, 0, 1]
    assert len(features.select(np.zeros(3, dtype=bool))) == 0
    for wrong in ([0, 1, 2], [True, False]):
        with pytest.raises(ValueError, match="which: expected 3 booleans"):
            features.select(wrong)
