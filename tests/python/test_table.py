from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from feldspar.schema import Schema
from feldspar.table import Table

WIND = ["calm", "breeze", "gale"]
WEATHER = Schema([2, 3], names=["rain", "wind"], labels=[None, WIND])
BACKENDS = ["pandas", "polars", "pyarrow"]

code_arrays = hnp.arrays(
    np.int64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.integers(-1, 3)
)


@pytest.fixture
def weather() -> Table:
    return Table([[0, 2], [1, 0], [1, -1]], WEATHER, [1.0, 0.5, 2.0])


# --- from_array ---


def test_codes_are_kept(weather):
    np.testing.assert_array_equal(weather.to_numpy(), [[0, 2], [1, 0], [1, -1]])
    assert weather.to_numpy().dtype == np.int64
    assert weather.shape == (3, 2)
    assert len(weather) == 3


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.float32, bool, object])
def test_any_type_of_number_will_do(dtype):
    table = Table.from_array(np.array([[0, 1], [1, 1]], dtype=dtype))
    assert table.to_numpy().tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize(
    ("cardinality", "dtype"), [(2, "int8"), (128, "int8"), (129, "int16"), (40000, "int32")]
)
def test_codes_take_the_smallest_type(cardinality, dtype):
    table = Table.from_array([[cardinality - 1], [-1]], cardinalities=[cardinality])
    assert table.codes.dtype == dtype
    assert table.to_numpy().tolist() == [[cardinality - 1], [-1]]


def test_a_column_of_zeros_is_still_binary():
    assert Table.from_array([[0, 0, -1], [0, 3, -1]]).schema.cardinalities == (2, 4, 2)


def test_labels_tell_the_cardinality():
    table = Table.from_array([[0, 1]], labels=[["a", "b", "c"], None])
    assert table.schema.cardinalities == (3, 2)


def test_own_copy():
    X = np.zeros((2, 2), dtype=np.int8)
    weights = np.ones(2)
    table = Table.from_array(X, sample_weight=weights)
    X[:] = 1
    weights[:] = 7
    assert table.to_numpy().sum() == 0
    assert table.weights.tolist() == [1, 1]


def test_nothing_can_be_changed(weather):
    with pytest.raises(ValueError, match="read-only"):
        weather.codes[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        weather.weights[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        weather[:1].weights[0] = 1
    with pytest.raises(AttributeError):
        weather.schema = None
    weather.to_numpy()[0, 0] = 1
    np.asarray(weather)[0, 0] = 1
    assert weather.codes[0, 0] == 0


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[0, 1], [np.nan, 1]], "row 1, column 0: expected an integer code.*, got NaN"),
        ([[0, np.inf]], "row 0, column 1: .* got inf"),
        ([[0, -np.inf]], "row 0, column 1: .* got -inf"),
        ([[0, 1], [0, 0.5]], "row 1, column 1: expected an integer code .*discretize.*, got 0.5"),
        ([[0, 1], [-2, 1]], "row 1, column 0: expected a code >= 0, or -1 if missing, got -2"),
        ([[0, 70000]], "row 0, column 1: expected a code <= 65534, got 70000"),
        ([0, 1], "expected a 2-D array, got 1-D. Reshape your data"),
        (np.zeros((1, 1, 1)), "expected a 2-D array, got 3-D"),
        (np.zeros((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1"),
        (np.zeros((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1"),
        ([[0, 1], [1]], "row 1: expected 2 values as in row 0, got 1"),
        ([[0, 1j]], "Complex data not supported"),
        ([["a", "b"]], "expected integer codes, got values of type <U1 such as .*'a'"),
        (np.array([[0, "a"]], dtype=object), "row 0, column 1: expected a number.*'a'"),
    ],
)
def test_bad_arrays_name_the_place(X, message):
    with pytest.raises(ValueError, match=message):
        Table.of(X)


def test_objects_that_are_no_numbers():
    with pytest.raises(TypeError, match=r"row 0, column 1: .*argument must be .* string.* number"):
        Table.of(np.array([[0, {}]], dtype=object))


def test_sparse_matrices_are_refused_with_advice():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match=r"sparse.*X\.toarray\(\)"):
        Table.of(sparse.csr_array(np.eye(2)))


def test_bad_entries_name_their_column():
    with pytest.raises(ValueError, match=r"row 0, column 1 \('wind'\): expected .* got -3"):
        Table.from_array([[0, -3]], names=["rain", "wind"])


def test_unseen_codes():
    message = r"row 1, column 1 \('wind'\): unseen value 3, expected 0 ... 2 \(calm, breeze, gale\)"
    with pytest.raises(ValueError, match=message):
        Table.of([[0, 0], [0, 3]], schema=WEATHER)


def test_wrong_width():
    with pytest.raises(ValueError, match=r"expected 2 columns \(rain, wind\), got 3"):
        Table.of([[0, 0, 0]], schema=WEATHER)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": "ab"}, "got the single name 'ab'"),
        ({"labels": ["no", "yes"]}, "labels of 'v0': expected a sequence of labels, got 'no'"),
        ({"labels": {"v0": ["n", "y"], "v1": ["n", "y"]}}, "in their order, got a mapping"),
        ({"labels": [{0: "n", 1: "y"}, None]}, "labels of 'v0': expected a sequence"),
        ({"labels": [{"n", "y"}, None]}, "labels of 'v0': expected a sequence"),
    ],
)
def test_texts_mappings_and_sets_are_no_lists_of_names_or_labels(options, message):
    with pytest.raises(TypeError, match=message):
        Table.from_array([[0, 1]], **options)


def test_schema_and_names_exclude_each_other():
    with pytest.raises(ValueError, match="either a schema or names"):
        Table.from_array([[0, 0]], schema=WEATHER, names=["a", "b"])


# --- weights ---


def test_weights_default_to_ones():
    table = Table.from_array([[0], [1]])
    assert table.weights.tolist() == [1, 1]
    assert not table.has_weights


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"expected 2 weights, one per row, got an array of shape \(1,\)"),
        ([[1.0, 1.0]], r"shape \(1, 2\)"),
        ([1.0, -0.5], "row 1: expected a finite weight >= 0, got -0.5"),
        ([np.nan, 1.0], "row 0: expected a finite weight >= 0, got nan"),
        ([1.0, np.inf], "row 1: expected a finite weight >= 0, got inf"),
        ([0.0, 0.0], "all 2 weights are zero"),
        (["a", "b"], "sample_weight: expected numbers"),
    ],
)
def test_bad_weights_name_the_row(weights, message):
    with pytest.raises(ValueError, match=message):
        Table.of([[0], [1]], sample_weight=weights)


def test_sample_weight_multiplies_a_tables_weights(weather):
    assert Table.of(weather, sample_weight=[2, 2, 0]).weights.tolist() == [2, 1, 0]
    assert weather.weights.tolist() == [1, 0.5, 2]
    with pytest.raises(ValueError, match="times the table's weights: all 2 weights are zero"):
        Table.of(Table.from_array([[0], [1]], sample_weight=[0, 1]), sample_weight=[1, 0])


# --- rows ---


@pytest.mark.parametrize(
    "rows", [slice(1, None), [1, 2], np.array([1, 2]), [False, True, True], slice(-2, None)]
)
def test_selecting_rows(weather, rows):
    part = weather[rows]
    assert part.to_numpy().tolist() == [[1, 0], [1, -1]]
    assert part.weights.tolist() == [0.5, 2]
    assert part.schema is weather.schema


def test_one_row_is_selected_by_a_slice(weather):
    with pytest.raises(TypeError, match=r"table\[3:4\]"):
        weather[1]


@pytest.mark.parametrize("rows", [slice(0, 0), [], [False, False, False]])
def test_no_rows(weather, rows):
    with pytest.raises(ValueError, match="leaves none of the 3 rows"):
        weather[rows]


def test_wrong_mask(weather):
    with pytest.raises(IndexError):
        weather[[True, False]]


@given(code_arrays, st.randoms(use_true_random=False))
def test_distinct_rows_do_not_depend_on_the_order(X, random):
    weights = np.arange(1.0, len(X) + 1)
    order = random.sample(range(len(X)), len(X))
    schema = Schema([4] * X.shape[1])
    merged = Table(X, schema, weights).distinct()
    assert merged == Table(X[order], schema, weights[order]).distinct()
    expected: dict[tuple[int, ...], float] = {}
    for row, weight in zip(X.tolist(), weights, strict=True):
        expected[tuple(row)] = expected.get(tuple(row), 0) + weight
    assert list(map(tuple, merged.to_numpy().tolist())) == sorted(expected)
    assert merged.weights.tolist() == [expected[row] for row in sorted(expected)]


def test_distinct_rows_of_wide_codes_are_sorted_too():
    merged = Table.from_array([[256], [1], [-1], [256]]).distinct()
    assert merged.to_numpy().ravel().tolist() == [-1, 1, 256]
    assert merged.weights.tolist() == [1, 1, 2]


def test_split_is_seeded_and_loses_nothing():
    table = Table.from_array(np.arange(100)[:, None], sample_weight=np.arange(1, 101))
    first, second = table.split(0.9, random_state=3)
    assert (len(first), len(second)) == (90, 10)
    both = np.concatenate([first.to_numpy(), second.to_numpy()]).ravel()
    assert sorted(both) == list(range(100))
    assert (np.diff(first.to_numpy().ravel()) > 0).all()
    np.testing.assert_array_equal(second.weights, second.to_numpy().ravel() + 1)
    assert table.split(0.9, random_state=3)[1] == second
    assert table.split(0.9, random_state=4)[1] != second


@pytest.mark.parametrize("random_state", [np.random.default_rng(0), np.random.RandomState(0)])
def test_split_takes_generators(random_state):
    assert len(Table.from_array(np.eye(4, dtype=int)).split(0.5, random_state)[0]) == 2


def test_split_leaves_a_row_on_each_side():
    table = Table.from_array([[0], [1]])
    assert [len(t) for t in table.split(0.01, 0)] == [1, 1]
    assert [len(t) for t in table.split(0.99, 0)] == [1, 1]
    with pytest.raises(ValueError, match="one row cannot be split"):
        table[:1].split(0.5)


@pytest.mark.parametrize("fraction", [0, 1, -0.1, 2])
def test_split_fraction(fraction):
    with pytest.raises(ValueError, match="fraction: expected a number between 0 and 1"):
        Table.from_array([[0], [1]]).split(fraction)


# --- arrays out ---


def test_asarray(weather):
    assert np.asarray(weather).dtype == np.int64
    assert np.asarray(weather, dtype=np.float64).tolist() == [[0, 2], [1, 0], [1, -1]]
    assert np.array(weather, dtype=np.int8, copy=True).flags.writeable


def test_asarray_without_a_copy_is_the_codes_or_an_error(weather):
    assert weather.__array__(np.int8, copy=False) is weather.codes
    with pytest.raises(ValueError, match="as int64 they must be copied"):
        weather.__array__(copy=False)


def test_has_missing(weather):
    assert weather.has_missing
    assert not weather[:2].has_missing


def test_equality(weather):
    assert weather == Table([[0, 2], [1, 0], [1, -1]], WEATHER, [1.0, 0.5, 2.0])
    assert weather != Table([[0, 2], [1, 0], [1, -1]], WEATHER)
    assert weather != weather[:2]
    assert weather != "weather"


def test_pickle(weather):
    assert pickle.loads(pickle.dumps(weather)) == weather


def test_repr(weather):
    assert repr(weather) == (
        "Table(3 rows x 2 variables: rain (2), wind (3); 1 missing entry; total weight 3.5)"
    )
    assert repr(Table.from_array([[1]])) == "Table(1 row x 1 variable: v0 (2))"


# --- frames ---


def frame_of(backend, columns):
    makers = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
    return makers[backend](columns)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("values", "labels", "codes"),
    [
        (["b", "a", None], ("a", "b"), [1, 0, -1]),
        ([True, False, True], (False, True), [1, 0, 1]),
        ([True, True, True], (False, True), [1, 1, 1]),
        ([0, 2, 1], (0, 1, 2), [0, 2, 1]),
        ([-1, 5, 5], (-1, 5), [0, 1, 1]),
        ([7, 7, 7], (7,), [0, 0, 0]),
        ([1.0, None, 3.0], (1, 3), [0, -1, 1]),
        ([1, None, 3], (1, 3), [0, -1, 1]),
    ],
)
def test_columns_of_frames(backend, values, labels, codes):
    table = Table.of(frame_of(backend, {"x": values}))
    assert table.schema == Schema([len(labels)], names=["x"], labels=[labels])
    assert list(map(type, table.schema.labels[0])) == list(map(type, labels))
    assert table.to_numpy().ravel().tolist() == codes


def test_dictionaries_of_arrow_in_pandas():
    codes = pa.DictionaryArray.from_arrays(pa.array([1, 0, None]), pa.array(["low", "high", "top"]))
    arrow = pa.table({"x": codes, "n": [1, 2, 2]})
    table = Table.from_frame(arrow.to_pandas(types_mapper=pd.ArrowDtype))
    assert table == Table.from_frame(arrow)
    assert table.schema.labels[0] == ("low", "high", "top")


def test_nullable_booleans_of_pandas():
    for values in ([True, None, False], pd.array([True, None, False], dtype="boolean")):
        table = Table.from_frame(pd.DataFrame({"x": values}))
        assert table.schema.labels == ((False, True),)
        assert table.to_numpy().ravel().tolist() == [1, -1, 0]
    only_true = pd.DataFrame({"x": pd.Series([True, None], dtype=object)})
    assert Table.from_frame(only_true).schema.labels == ((False, True),)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"wind": pd.Categorical(["gale", None, "calm"], categories=WIND)}),
        pl.DataFrame({"wind": pl.Series(["gale", None, "calm"], dtype=pl.Enum(WIND))}),
        pa.table({"wind": pa.DictionaryArray.from_arrays(pa.array([2, None, 0]), WIND)}),
    ],
    ids=BACKENDS,
)
def test_categories_keep_their_order(frame):
    table = Table.from_frame(frame)
    assert table.schema.labels == (tuple(WIND),)
    assert table.to_numpy().ravel().tolist() == [2, -1, 0]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("labels", [WIND, [1, 2, 7]])
def test_to_frame_and_back(backend, labels):
    schema = Schema([3, 2], names=["wind", "rain"], labels=[labels, [False, True]])
    table = Table([[0, 1], [2, 0], [1, -1]], schema, [1, 2, 3])
    frame = table.to_frame(backend, weights="n")
    assert type(frame).__module__.split(".")[0] == backend
    assert Table.from_frame(frame, weights="n") == table


def test_to_frame_errors(weather):
    with pytest.raises(ValueError, match="backend: expected pandas, polars, pyarrow, got 'excel'"):
        weather.to_frame("excel")
    with pytest.raises(ValueError, match="'rain' is already the name of a variable"):
        weather.to_frame(weights="rain")


@pytest.mark.parametrize("backend", BACKENDS)
def test_frames_under_a_schema(backend):
    frame = frame_of(backend, {"wind": ["gale", None], "rain": [1, 0]})
    table = Table.of(frame, schema=WEATHER)
    assert table.to_numpy().tolist() == [[1, 2], [0, -1]]
    assert table.schema is WEATHER


@pytest.mark.parametrize("backend", BACKENDS)
def test_fractions_are_known_where_they_are_labels(backend):
    schema = Schema([3], names=["dose"], labels=[[0.5, 1.0, 2.0]])
    frame = frame_of(backend, {"dose": [2.0, None, 0.5]})
    assert Table.from_frame(frame, schema=schema).to_numpy().ravel().tolist() == [2, -1, 0]
    with pytest.raises(ValueError, match=r"row 1, column 'dose': unseen value 1\.5"):
        Table.from_frame(frame_of(backend, {"dose": [2.0, 1.5]}), schema=schema)


@pytest.mark.parametrize("backend", BACKENDS)
def test_unseen_labels(backend):
    frame = frame_of(backend, {"rain": [0, 1], "wind": ["gale", "storm"]})
    message = "row 1, column 'wind': unseen value 'storm', expected calm, breeze, gale"
    with pytest.raises(ValueError, match=message):
        Table.of(frame, schema=WEATHER)


def test_columns_that_do_not_match_the_schema():
    frame = pd.DataFrame({"rain": [0], "sun": [1]})
    with pytest.raises(ValueError, match="lacks wind and has unexpected sun; expected rain, wind"):
        Table.of(frame, schema=WEATHER)


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([0.5, 1.0], ValueError, "row 0, column 'x': expected discrete .* 0.5; .*discretize"),
        ([1.0, np.inf], ValueError, "row 1, column 'x': expected a finite number, got inf"),
        ([None, None], ValueError, "column 'x': all values are missing"),
        ([1, "a"], TypeError, "column 'x' mixes or holds values of type int, str"),
        (pd.to_datetime(["2020-01-01", None]), TypeError, "column 'x' has type Datetime"),
    ],
)
def test_bad_columns_are_named(values, error, message):
    with pytest.raises(error, match=message):
        Table.from_frame(pd.DataFrame({"x": values}))


@pytest.mark.parametrize("frame", [pd.DataFrame(), pd.DataFrame({"x": []})])
def test_empty_frames(frame):
    with pytest.raises(ValueError, match="the data frame is empty: 0 rows"):
        Table.from_frame(frame)


def test_categories_of_polars_do_not_follow_the_rows():
    text = pl.DataFrame({"wind": ["gale", "calm", "gale"]})
    frame = text.with_columns(pl.col("wind").cast(pl.Categorical))
    for rows in (frame, frame.reverse()):
        assert Table.from_frame(rows).schema == Table.from_frame(text).schema
    listed = text.with_columns(pl.col("wind").cast(pl.Enum(["gale", "calm", "storm"])))
    assert Table.from_frame(listed).schema.labels == (("gale", "calm", "storm"),)


def test_names_of_columns():
    assert Table.from_frame(pd.DataFrame([[0, 1], [1, 0]])).schema.names == ("0", "1")
    with pytest.raises(ValueError, match="more than one column 'a'"):
        Table.from_frame(pd.DataFrame([[0, 1]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="names must differ as text"):
        Table.from_frame(pd.DataFrame([[0, 1]], columns=[1, "1"]))


def test_weights_column():
    frame = pd.DataFrame({"x": [0, 1], "n": [2.0, 0.5]})
    table = Table.from_frame(frame, weights="n")
    assert table.schema.names == ("x",)
    assert table.weights.tolist() == [2, 0.5]
    with pytest.raises(ValueError, match="weights: no column is called 'm'; got x, n"):
        Table.from_frame(frame, weights="m")
    with pytest.raises(ValueError, match="weights column 'n': row 1"):
        Table.from_frame(frame.assign(n=[1, -1]), weights="n")
    with pytest.raises(ValueError, match="no columns besides the weights"):
        Table.from_frame(frame[["n"]], weights="n")


def test_things_that_are_no_frames():
    with pytest.raises(TypeError, match="expected a data frame, got list"):
        Table.from_frame([[0, 1]])
    with pytest.raises(TypeError, match=r"lazy frame.*X\.collect\(\)"):
        Table.of(pl.LazyFrame({"x": [1]}))


# --- of, with_schema ---


def test_of_returns_a_table_as_it_is(weather):
    assert Table.of(weather) is weather
    assert Table.of(weather, schema=weather.schema) is weather


def test_with_schema_matches_names_and_labels(weather):
    turned = Schema([3, 2], names=["wind", "rain"], labels=[WIND[::-1], None])
    table = Table.of(weather, schema=turned)
    assert table.to_numpy().tolist() == [[0, 0], [2, 1], [-1, 1]]
    assert table.weights.tolist() == [1, 0.5, 2]
    assert table.with_schema(WEATHER) == weather


def test_with_schema_names_what_does_not_fit(weather):
    fewer = Schema([2, 2], names=["rain", "wind"], labels=[None, WIND[:2]])
    with pytest.raises(
        ValueError, match="row 0, column 'wind': unseen value 'gale', expected calm"
    ):
        weather.with_schema(fewer)
    with pytest.raises(ValueError, match="has the variables rain, wind; expected v0, v1"):
        weather.with_schema(Schema([2, 3]))


@given(code_arrays)
def test_arrays_pass_through(X):
    np.testing.assert_array_equal(Table.of(X).to_numpy(), X)
    np.testing.assert_array_equal(np.asarray(Table.of(X.tolist())), X)
