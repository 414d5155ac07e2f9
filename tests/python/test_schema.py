from __future__ import annotations

import datetime
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feldspar.schema import Schema, listing

WEATHER = Schema([2, 3], names=["rain", "wind"], labels=[None, ["calm", "breeze", "gale"]])


def test_defaults():
    schema = Schema([2, 3])
    assert schema.names == ("v0", "v1")
    assert schema.cardinalities == (2, 3)
    assert schema.labels == ((0, 1), (0, 1, 2))
    assert len(schema) == 2


def test_equal_schemas_are_one_key():
    again = Schema((2, 3), names=("rain", "wind"), labels=((0, 1), ("calm", "breeze", "gale")))
    assert {WEATHER: 1}[again] == 1
    assert Schema([2, 3]) != WEATHER


def test_is_immutable():
    with pytest.raises(AttributeError):
        WEATHER.names = ("a", "b")


def test_pickle_keeps_it_equal_and_usable():
    WEATHER.index("rain")  # fills the caches, which must not get in the way
    again = pickle.loads(pickle.dumps(WEATHER))
    assert again == WEATHER
    assert again.code("wind", "gale") == 2


def test_numpy_numbers_become_python_ones():
    schema = Schema(np.array([2]), labels=[np.array([5, 7])])
    assert type(schema.cardinalities[0]) is int
    assert type(schema.labels[0][0]) is int
    json.dumps(schema.to_dict())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cardinalities": []}, "at least one variable"),
        ({"cardinalities": [2, 0]}, r"\('v1'\): expected 1 ... 65535 values, got 0$"),
        ({"cardinalities": [65536]}, r"\('v0'\): expected 1 ... 65535 values, got 65536"),
        ({"cardinalities": [2], "names": ["a", "b"]}, "names: expected 1, one per variable, got 2"),
        ({"cardinalities": [2, 2], "names": ["a", "a"]}, r"names\[1\]: 'a' is also the name of 0"),
        ({"cardinalities": [2], "labels": []}, "labels: expected 1, one per variable, got 0"),
        ({"cardinalities": [2], "labels": [["x"]]}, "labels of 'v0': expected 2, got 1"),
        ({"cardinalities": [2], "labels": [["x", "x"]]}, "'x' occurs more than once"),
    ],
)
def test_bad_values_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Schema(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cardinalities": [2.0]}, r"cardinalities\[0\] \('v0'\): expected an integer, got 2.0"),
        ({"cardinalities": [True]}, r"cardinalities\[0\] \('v0'\): expected an integer, got True"),
        ({"cardinalities": [2], "names": "a"}, "got the single name 'a'"),
        ({"cardinalities": [2], "names": [1]}, r"names\[0\]: expected text, got 1"),
        ({"cardinalities": [2], "labels": ["ab"]}, "labels of 'v0': expected a sequence"),
        ({"cardinalities": [1], "labels": [[[1]]]}, r"labels of 'v0': \[1\] cannot be a label"),
    ],
)
def test_bad_types_are_named(arguments, message):
    with pytest.raises(TypeError, match=message):
        Schema(**arguments)


def test_index_by_name_and_position():
    assert WEATHER.index("wind") == 1
    assert WEATHER.index(np.int64(1)) == 1


def test_index_offers_close_names():
    with pytest.raises(ValueError, match="no variable is called 'winds'; did you mean wind"):
        WEATHER.index("winds")
    with pytest.raises(ValueError, match="no variable is called 'xyz'; got rain, wind"):
        WEATHER.index("xyz")


@pytest.mark.parametrize("position", [-1, 2])
def test_index_out_of_range(position):
    with pytest.raises(ValueError, match=f"no variable {position}: expected 0 ... 1"):
        WEATHER.index(position)


@pytest.mark.parametrize("variable", [True, 1.0, None])
def test_index_of_another_type(variable):
    with pytest.raises(TypeError, match="by name or position"):
        WEATHER.index(variable)


def test_code_takes_labels_first():
    shifted = Schema([2], labels=[[1, 2]])
    assert shifted.code(0, 1) == 0
    with pytest.raises(ValueError, match="variable 'v0' has no value 0: expected 1, 2"):
        shifted.code(0, 0)


def test_code_takes_codes_where_no_label_is_an_integer():
    assert WEATHER.code("wind", "gale") == 2
    assert WEATHER.code("wind", 1) == 1
    with pytest.raises(ValueError, match="'wind' has no value 3: expected calm, breeze, gale"):
        WEATHER.code("wind", 3)


def test_code_of_truth_values():
    schema = Schema([2], labels=[[False, True]])
    assert (schema.code(0, True), schema.code(0, 0)) == (1, 0)


def test_label():
    assert WEATHER.label("wind", 2) == "gale"
    with pytest.raises(ValueError, match="'wind' has no code -1: expected 0"):
        WEATHER.label("wind", -1)


labels = st.one_of(st.text(), st.integers(), st.floats(allow_nan=False), st.booleans())


@given(st.lists(st.lists(labels, min_size=1, max_size=5, unique=True), min_size=1, max_size=5))
def test_json_and_back_is_the_identity(values):
    schema = Schema([len(ls) for ls in values], labels=values)
    again = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert again == schema
    assert [list(map(type, ls)) for ls in again.labels] == [
        list(map(type, ls)) for ls in schema.labels
    ]


def test_truth_values_do_not_pass_for_codes():
    assert Schema([2], labels=[[False, True]]).to_dict()["labels"] == [[False, True]]


def test_labels_that_json_cannot_hold():
    with pytest.raises(ValueError, match=r"labels of 'v0': \(1, 2\) cannot be written"):
        Schema([1], labels=[[(1, 2)]]).to_dict()


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        (
            pd.to_datetime(["2020-01-01", "2021-05-01"]),
            ["2020-01-01", "2021-05-01"],
        ),
        (
            pd.to_datetime(["2020-01-01", "2020-01-01 12:30"], format="ISO8601"),
            ["2020-01-01", "2020-01-01 12:30:00"],
        ),
        (
            np.array(["2020-01-01", "2020-01-01T12:30"], dtype="datetime64[ns]"),
            ["2020-01-01", "2020-01-01 12:30:00"],
        ),
        (pd.to_timedelta([1, 36], unit="h"), ["0 days 01:00:00", "1 days 12:00:00"]),
        (pd.period_range("2020-01", periods=2, freq="M"), ["2020-01", "2020-02"]),
        ([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)], ["2020-01-01", "2021-01-01"]),
        ([datetime.time(9), datetime.time(17, 30)], ["09:00:00", "17:30:00"]),
        (np.array(["2020-01", "2020-02"], dtype="datetime64[M]"), ["2020-01", "2020-02"]),
    ],
    ids=lambda given: type(given).__name__,
)
def test_dates_and_times_are_kept_as_text(given, texts):
    schema = Schema([2], names=["when"], labels=[list(given)])
    assert schema.labels == (tuple(texts),)
    assert schema.code("when", given[1]) == schema.code("when", texts[1]) == 1
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


@pytest.mark.parametrize("label", ["2020-01-01", "2020-01-01 00:00:00"])
def test_a_date_is_known_by_all_that_holds_it(label):
    schema = Schema([2], names=["when"], labels=[[label, "2020-05-01"]])
    day = datetime.date(2020, 1, 1)
    moments = [day, datetime.datetime(2020, 1, 1), pd.Timestamp(day), np.datetime64(day)]
    for moment in [*moments, "2020-01-01", "2020-01-01 00:00:00"]:
        assert schema.code("when", moment) == 0
    with pytest.raises(ValueError, match="2020-01-02"):
        schema.code("when", day + datetime.timedelta(days=1))


def test_a_date_and_its_midnight_are_one_label():
    with pytest.raises(ValueError, match="2020-01-01"):
        Schema([2], labels=[[datetime.date(2020, 1, 1), pd.Timestamp("2020-01-01")]])


def test_from_dict_names_wrong_keys():
    with pytest.raises(ValueError, match="cardinalities, labels, names, got names"):
        Schema.from_dict({"names": ["a"]})


def test_repr_stays_short():
    assert repr(Schema([2])) == "Schema(1 variable: v0 (2))"
    assert repr(Schema([2] * 1000)).endswith("v8 (2), ..., v999 (2))")


def test_listing_shows_short_lists_whole():
    assert listing(range(10)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9"
