from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline, make_union

from feldspar._cuts import STRATEGIES, interval_labels, interval_of, kmeans_cuts
from feldspar.preprocessing import Binarizer, Discretizer, binarize, discretize
from feldspar.table import Table

WEIGHTED = pd.DataFrame(
    {"height": [1.5, 1.6, 1.7, 1.8], "sport": [0, 1, 1, 0], "n": [0.5, 2.5, 1.0, 3.0]}
)
EIGHTHS = (np.arange(8) / 8)[:, None]


def codes(table: Table) -> list[int]:
    return table.to_numpy().ravel().tolist()


# --- discretize ---


def test_quantiles_hold_equally_many():
    table = discretize(EIGHTHS, bins=4)
    assert codes(table) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert table.schema.cardinalities == (4,)


def test_cuts_come_from_the_training_data():
    train, test = discretize([[0.0], [0.25], [0.5], [1.0]], [[-9.0], [0.6], [9.0]], bins=2)
    assert train.schema.labels == (("(-inf, 0.375)", "[0.375, inf)"),)
    assert test.schema == train.schema
    assert codes(test) == [0, 1, 1]


def test_an_interval_holds_its_lower_end():
    assert codes(discretize([[0.0], [0.5], [1.0]], [[0.5]], bins=2, strategy="uniform")[1]) == [1]


def test_equal_widths():
    X = [[0.0], [0.1], [0.2], [1.0]]
    assert codes(discretize(X, bins=2, strategy="uniform")) == [0, 0, 0, 1]
    assert codes(discretize(X, bins=2, strategy="quantile")) == [0, 0, 1, 1]


def test_clusters():
    X = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 9.5])[:, None]
    assert codes(discretize(X, bins=3, strategy="kmeans")) == [0, 0, 0, 1, 1, 2]


def test_kmeans_ends_at_a_fixed_point():
    values = np.random.default_rng(0).normal(size=200)
    cuts = kmeans_cuts(values, 4)
    interval = interval_of(values, cuts)
    centres = np.array([values[interval == i].mean() for i in range(4)])
    np.testing.assert_allclose(cuts, (centres[1:] + centres[:-1]) / 2)


def test_repeated_values_make_fewer_intervals():
    table = discretize(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 1.5])[:, None], bins=4)
    assert codes(table) == [0, 0, 0, 0, 0, 0, 1, 1]
    assert table.schema.labels == (("(-inf, 0.125)", "[0.125, inf)"),)


def test_mostly_equal_values_are_parted_from_the_rest():
    X = np.array([0.0] * 99 + [0.5])[:, None]
    assert codes(discretize(X, bins=2)) == [0] * 99 + [1]


def test_discrete_columns_are_left_alone():
    frame = pd.DataFrame(
        {"x": [0.1, 0.9], "wind": ["gale", "calm"], "n": [3, 5], "b": [True, False]}
    )
    table = discretize(frame, bins=2)
    assert table.schema.labels[1:] == (("calm", "gale"), (3, 5), (False, True))
    assert table.schema.cardinalities[0] == 2
    array = discretize([[0.1, 0], [0.9, 0]], bins=2)
    assert array.schema.labels[1] == (0, 1)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames(make):
    train, test = discretize(
        make({"x": [0.1, 0.2, 0.8, None], "y": ["a", "b", "a", "a"]}),
        make({"y": ["b", None], "x": [0.7, None]}),
        bins=2,
        strategy="uniform",
    )
    assert train.to_numpy().tolist() == [[0, 0], [0, 1], [1, 0], [-1, 0]]
    assert test.to_numpy().tolist() == [[1, 1], [-1, -1]]


def test_missing_stays_missing_in_arrays():
    table = discretize([[0.1, 0], [np.nan, np.nan], [0.9, -1], [-1.0, 1]], bins=2)
    assert table.to_numpy().tolist() == [[1, 0], [-1, -1], [1, -1], [0, 1]]


def test_columns_can_be_chosen():
    X = np.column_stack([np.arange(6), np.arange(6)])
    table = discretize(X, bins=2, columns=[1])
    assert table.schema.cardinalities == (6, 2)
    with pytest.raises(ValueError, match="no variable is called 'z'"):
        discretize(X, columns=["z"])
    with pytest.raises(TypeError, match="columns: 'x' holds no numbers and cannot be cut"):
        discretize(pd.DataFrame({"x": ["a", "b"]}), columns=["x"])


@pytest.mark.parametrize("columns", ["age", 0, slice(0, 1)])
def test_columns_are_a_list(columns):
    people = pd.DataFrame({"age": [20, 30, 40]})
    with pytest.raises(TypeError, match="columns: expected a list of names or positions, got"):
        discretize(people, columns=columns)


@pytest.mark.parametrize("cut", [discretize, binarize])
def test_a_continuous_column_that_is_not_among_the_chosen_is_named(cut):
    people = pd.DataFrame({"age": [20, 30, 40], "height": [170.0, 171.5, None]})
    for data, name in ((people, "height"), (people.to_numpy(), "v1")):
        with pytest.raises(ValueError, match=f"columns: '{name}' holds fractions too, 171.5 in "):
            cut(data, columns=[0])


def test_constant_columns_get_one_value_and_a_warning():
    X = np.column_stack([EIGHTHS[:2], [0.5, 0.5]])
    with pytest.warns(UserWarning, match=r"column 'v1' is constant \(0.5\) in the training data"):
        table, other = discretize(X, [[0.0, 7.5]], bins=2)
    assert table.schema.labels[1] == ("(-inf, inf)",)
    assert other.to_numpy()[0, 1] == 0


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[0.5, np.inf]], "row 0, column 1: expected a finite number or NaN, got inf"),
        (pd.DataFrame({"x": [0.5, -np.inf]}), "row 1, column 'x': expected a finite number"),
        ([[-3, 0.5]], r"\('v0'\): expected a code >= 0, or -1 if missing, got -3"),
        ([0.5, 0.2], "expected a 2-D array, got 1-D"),
    ],
)
def test_bad_values_name_the_place(X, message):
    with pytest.raises(ValueError, match=message):
        discretize(X)


def test_columns_of_only_missing_values():
    with pytest.raises(ValueError, match="column 'v0': all values are missing; drop the column"):
        discretize([[np.nan, 0.5]], columns=[0])


def test_other_data_must_fit():
    frame = pd.DataFrame({"x": [0.1, 0.9], "y": ["a", "b"]})
    with pytest.raises(ValueError, match="expected the columns x, y, got x"):
        discretize(frame, frame[["x"]])
    with pytest.raises(ValueError, match="row 0, column 'y': unseen value 'c', expected a, b"):
        discretize(frame, frame.assign(y=["c", "a"]))
    with pytest.raises(TypeError, match="column 'x': expected numbers, as in the training data"):
        discretize(frame, frame.assign(x=["c", "a"]))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bins": 1}, "bins: expected an integer >= 2, got 1"),
        ({"bins": 2.5}, "bins: expected an integer >= 2, got 2.5"),
        ({"strategy": "best"}, "strategy: expected quantile, uniform, kmeans, got 'best'"),
    ],
)
def test_bad_parameters_of_the_discretizer(parameters, message):
    with pytest.raises(ValueError, match=message):
        discretize(EIGHTHS, **parameters)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(
    values=hnp.arrays(np.float64, st.integers(2, 30), elements=st.floats(-1e6, 1e6)),
    bins=st.integers(2, 6),
)
def test_intervals_are_none_too_many_in_order_and_never_empty(strategy, values, bins):
    cuts = STRATEGIES[strategy](values, bins)
    assert len(cuts) < bins
    assert (np.diff(cuts) > 0).all()
    assert len(set(interval_labels(cuts))) == len(cuts) + 1
    interval = interval_of(values, cuts)
    assert set(interval) == set(range(len(cuts) + 1))
    assert (np.diff(interval[np.argsort(values)]) >= 0).all()
    assert len(cuts) > 0 or len(set(values)) == 1


# --- binarize ---


def test_median():
    train, test = binarize([[1.0], [2.0], [3.0], [9.0]], [[2.4], [2.5]])
    assert train.schema.labels == (("(-inf, 2.5)", "[2.5, inf)"),)
    assert codes(train) == [0, 0, 1, 1]
    assert codes(test) == [0, 1]


def test_mean():
    assert codes(binarize([[1.0], [2.0], [3.0], [9.0]], threshold="mean")) == [0, 0, 0, 1]


def test_mostly_zeros_are_parted_from_the_rest():
    assert codes(binarize([[0], [0], [0], [4]])) == [0, 0, 0, 1]


def test_one_threshold_for_all_columns():
    table = binarize([[0, 12, 1], [9, 8, 0]], threshold=8)
    assert table.to_numpy().tolist() == [[0, 1, 0], [1, 1, 0]]
    assert table.schema.cardinalities == (2, 2, 2)


def test_codes_of_arrays_keep_their_gaps():
    # 0 and 1 with a gap are codes; beside other numbers, and as signs, -1 is a number.
    table = binarize(np.array([[0, 5, -1], [1, 0, 1], [-1, 7, 1], [0, 9, -1]]))
    assert table.to_numpy().tolist() == [[0, 0, 0], [1, 0, 1], [-1, 1, 1], [0, 1, 0]]
    assert table.schema.labels[0] == (0, 1)
    with pytest.warns(UserWarning, match="column 'v0' is cut, and -1 is a number there"):
        binarize(np.array([[0], [5], [-1], [9], [7]]))


def test_a_column_that_cannot_be_left_alone_is_named():
    with pytest.raises(ValueError, match=r"row 0, column 1 .*names columns of numbers to cut"):
        discretize(np.array([[0.5, -5], [0.7, 3]]))


def test_binary_columns_are_left_alone_unless_a_number_is_given():
    assert binarize([[0, 0.5], [1, 1.5]]).schema.labels[0] == (0, 1)
    frame = pd.DataFrame({"b": [True, False], "s": ["x", "y"]})
    assert binarize(frame, threshold=3).schema.labels == ((False, True), ("x", "y"))


@pytest.mark.parametrize("threshold", [np.int64(8), np.float32(8)])
def test_a_threshold_may_be_a_number_of_numpy(threshold):
    assert binarize([[0, 12], [9, 3]], threshold=threshold).to_numpy().tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("threshold", ["mode", np.nan, None, [1, 2], np.arange(2)])
def test_bad_thresholds(threshold):
    with pytest.raises(ValueError, match="threshold: expected 'median', 'mean' or a finite number"):
        binarize([[0.5]], threshold=threshold)


# --- tables, which know names, labels and weights ---

PEOPLE = Table.from_frame(
    pd.DataFrame(
        {
            "age": [19, 35, 35, 80, None],
            "smoker": ["never", "former", "current", "never", "former"],
            "n": [0.5, 2.5, 1.0, 3.0, 1.0],
        }
    ),
    weights="n",
)


@pytest.mark.parametrize("cut", [discretize, binarize])
def test_what_a_table_has_beside_numbers_stays(cut):
    table, first = cut(PEOPLE, PEOPLE[:2], columns=["age"])
    assert table.schema.names == ("age", "smoker")
    assert table.schema.labels[1] == ("current", "former", "never")
    np.testing.assert_array_equal(table.codes[:, 1], PEOPLE.codes[:, 1])
    assert table.weights.tolist() == PEOPLE.weights.tolist()
    assert first == table[:2]


def test_the_numbers_of_a_table_are_its_labels():
    table = binarize(PEOPLE, threshold=40)
    assert table.schema.labels[0] == ("(-inf, 40)", "[40, inf)")
    assert table.codes[:, 0].tolist() == [0, 0, 0, 1, -1]
    assert discretize(PEOPLE) == PEOPLE  # nothing in it is a fraction
    doses = Table.from_array([[0], [1]], names=["dose"], labels=[[0.5, 1.5]])
    assert discretize(doses, columns=[]) == doses


def test_other_tables_are_matched_by_name_and_label():
    other = Table.from_array(
        [[1, 0]], names=["smoker", "age"], labels=[["current", "never"], [99, 100]]
    )
    cutter = Binarizer(columns=["age"]).fit(PEOPLE)
    assert cutter.transform(other).to_numpy().tolist() == [[1, 2]]
    strange = Table.from_array([[0, 0]], names=["smoker", "age"], labels=[["pipe", "no"], [9, 10]])
    with pytest.raises(ValueError, match="row 0, column 'smoker': unseen value 'pipe'"):
        cutter.transform(strange)


# --- as scikit-learn transformers ---


@pytest.mark.parametrize("transformer", [Discretizer(bins=3), Binarizer()])
def test_scikit_learn_conventions(transformer):
    copy = clone(transformer)
    assert copy.get_params() == transformer.get_params()
    fitted = copy.fit(EIGHTHS)
    assert fitted is copy
    table = fitted.transform(EIGHTHS)
    assert isinstance(table, Table)
    assert fitted.get_feature_names_out().tolist() == ["v0"]
    assert pickle.loads(pickle.dumps(fitted)).transform(EIGHTHS) == table
    assert make_pipeline(clone(transformer)).fit_transform(EIGHTHS) == table


def test_codes_come_out_of_what_puts_columns_side_by_side():
    frame = pd.DataFrame({"a": [0.5, 1.5, 2.5, 3.5], "b": [1.0, 9.5, 1.0, 9.5]})
    cut = Discretizer(bins=2)
    first, second = (cut.fit_transform(frame[[name]]).to_numpy() for name in "ab")
    for side_by_side in (
        make_column_transformer((cut, ["a"]), (Binarizer(), ["b"])),
        make_union(make_column_transformer((cut, ["a"])), make_column_transformer((cut, ["b"]))),
    ):
        codes = side_by_side.fit_transform(frame)
        assert codes.dtype == np.int64
        assert codes.tolist() == np.hstack([first, second]).tolist()
        assert Table.of(codes).schema.cardinalities == (2, 2)


def test_transform_before_fit():
    with pytest.raises(ValueError, match="not fitted"):
        Discretizer().transform(EIGHTHS)


def test_scikit_learn_is_imported_only_when_used():
    program = "import sys, feldspar.preprocessing; assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_preprocessing_has_no_other_names():
    import feldspar.preprocessing

    with pytest.raises(AttributeError, match="no attribute 'Normalizer'"):
        feldspar.preprocessing.Normalizer  # noqa: B018


@pytest.mark.parametrize("transformer", [Discretizer(), Binarizer()], ids=repr)
def test_scikit_learns_checks(transformer):
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(transformer, on_skip=None)


# --- weights ---


@pytest.mark.parametrize("cut", [discretize, binarize])
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_column_of_weights_is_not_cut(cut, kind):
    frame = kind(WEIGHTED.to_dict("list"))
    train, test = cut(frame, frame[:2], weights="n")
    assert train.schema.names == ("height", "sport")
    assert train.weights.tolist() == [0.5, 2.5, 1.0, 3.0]
    assert test.weights.tolist() == [0.5, 2.5]
    alone = cut(WEIGHTED.drop(columns="n"))
    assert alone.schema == train.schema
    assert alone.to_numpy().tolist() == train.to_numpy().tolist()


def test_weights_must_be_a_column():
    with pytest.raises(ValueError, match="weights: no column is called 'm'; got height, sport, n"):
        discretize(WEIGHTED, weights="m")
    with pytest.raises(ValueError, match="weights: no column is called 'n'; got height, sport"):
        discretize(WEIGHTED, WEIGHTED.drop(columns="n"), weights="n")
    with pytest.raises(TypeError, match="weights: an array has no names of columns, got 'n'"):
        discretize(EIGHTHS, weights="n")
