"""Names, labels and kinds of frames go in and come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import feldspar as fs

CATEGORIES = ["low", "middle", "high"]
N = 60


def complete() -> pd.DataFrame:
    random = np.random.default_rng(0)
    level = random.integers(0, 3, N)
    return pd.DataFrame(
        {
            "level": pd.Categorical.from_codes(level.tolist(), CATEGORIES, ordered=True),
            "sick": (level == 2) ^ (random.random(N) < 0.1),
            "visits": level + 5,
            "town": np.array(["Ulm", "Bern"])[random.integers(0, 2, N)],
        }
    )


def with_holes(frame: pd.DataFrame) -> pd.DataFrame:
    holes = frame.astype({"sick": "boolean", "visits": "Int64"}).set_index(
        pd.Index(range(100, 100 + N), name="id")
    )
    for row, name in enumerate(holes.columns):
        holes.loc[100 + row, name] = None
    return holes


def as_polars(frame: pd.DataFrame) -> pl.DataFrame:
    converted = pl.from_pandas(frame.reset_index(drop=True))
    return converted.with_columns(pl.col("level").cast(pl.Enum(CATEGORIES)))


def as_arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame.reset_index(drop=True), preserve_index=False)


@pytest.fixture(scope="module")
def network() -> fs.MarkovNetwork:
    learner = fs.L1Neighborhood(C=1.0, rule="or", prior_sd=1.0, n_jobs=1)
    return learner.fit(complete()).network_


def as_pandas_of_arrow(frame: pd.DataFrame) -> pd.DataFrame:
    return as_arrow(frame).to_pandas(types_mapper=pd.ArrowDtype)


KINDS = {"pandas": lambda frame: frame, "polars": as_polars, "pyarrow": as_arrow}


@pytest.mark.parametrize("kind", [*KINDS, "pandas of arrow"])
def test_imputed_frames_are_of_the_kind_that_went_in(kind: str, network: fs.MarkovNetwork) -> None:
    convert: Any = {**KINDS, "pandas of arrow": as_pandas_of_arrow}[kind]
    frame: Any = convert(with_holes(complete()))
    before = fs.Table.from_frame(frame, schema=network.schema)
    filled = network.impute(frame)
    assert type(filled) is type(frame)
    if isinstance(frame, pd.DataFrame):
        pd.testing.assert_index_equal(filled.index, frame.index)
        assert filled.dtypes.to_dict() == frame.dtypes.to_dict()
    else:
        assert filled.schema == frame.schema
    after = fs.Table.from_frame(filled, schema=network.schema)
    assert after == network.impute(before)
    assert not after.has_missing
    # What went in is as it was.
    assert fs.Table.from_frame(frame, schema=network.schema) == before
    assert before.has_missing


def test_a_category_that_the_frame_did_not_have_is_added(network: fs.MarkovNetwork) -> None:
    row = {"level": [None, "low"], "sick": [True, False], "visits": [7, 5], "town": ["Ulm", "Ulm"]}
    frame = pd.DataFrame(row).astype({"level": pd.CategoricalDtype(["low"])})
    assert network.impute(frame)["level"].tolist() == ["high", "low"]
    enum = pl.DataFrame(row).with_columns(pl.col("level").cast(pl.Enum(["low"])))
    assert network.impute(enum)["level"].to_list() == ["high", "low"]


def test_imputed_tables_and_arrays(network: fs.MarkovNetwork) -> None:
    table = fs.Table.from_frame(with_holes(complete()), schema=network.schema)
    filled = network.impute(table)
    assert isinstance(filled, fs.Table)
    array = network.impute(table.to_numpy())
    assert isinstance(array, np.ndarray)
    np.testing.assert_array_equal(array, filled.to_numpy())
    np.testing.assert_array_equal(network.impute(table.to_numpy().tolist()), array)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_come_back_as_the_frame_asked_for(kind: Any, network: fs.MarkovNetwork) -> None:
    drawn = network.sample(20, {"sick": True}, random_state=0)
    frame = drawn.to_frame(kind)
    assert type(frame) is type(KINDS[kind](complete()))
    assert fs.Table.from_frame(frame, schema=network.schema) == drawn


def test_answers_speak_names_and_labels(network: fs.MarkovNetwork) -> None:
    found = network.marginals({"level": "high"})
    assert found.probability("sick", True) == found["sick"][1] > 0.5
    assert found.probability("visits", 7) == found["visits"][2]
    assert "level: low 0.000, middle 0.000, high 1.000" in repr(found)
    frame = found.to_frame()
    assert frame.query("variable == 'town'")["value"].tolist() == ["Bern", "Ulm"]
    many = network.predict_proba(with_holes(complete()))
    assert many.probability("sick", True).shape == (N,)
    assert repr(many) == "Marginals(60 rows x 4 variables, by exact)"
    best = network.most_probable({"level": "high"})
    assert best.state["sick"] is True
    assert repr(best).startswith("MostProbableStates(level=high, sick=True, visits=7, town=")
    with pytest.raises(ValueError, match="variable 'town' has no value 'Rom': expected Bern, Ulm"):
        found.probability("town", "Rom")
    assert set(network.to_networkx()) == {"level", "sick", "visits", "town"}


def test_one_row_and_many_rows_of_codes_mean_the_same() -> None:
    """Labels 1 ... 3 have codes 0 ... 2: a row of an array has codes, as the array has."""
    frame = pd.DataFrame({"a": [1, 2, 3, 3, 1, 2] * 5, "b": [1, 2, 3, 3, 1, 1] * 5})
    network = fs.DTSL(kappa=1.0, conversion="prune", prior_sd=1.0, min_leaf_weight=1).fit(frame)
    rows = np.array([[2, -1]])
    one = network.network_.marginals(rows[0])["b"]
    np.testing.assert_array_equal(one, network.network_.marginals(rows)["b"][0])
    np.testing.assert_array_equal(one, network.network_.marginals({"a": 3})["b"])


@pytest.mark.parametrize("kind", [*KINDS, "table"])
def test_columns_that_rows_lack_are_not_known(kind: Any, network: fs.MarkovNetwork) -> None:
    rows = network.sample(20, random_state=0)
    hidden = network.schema.index("sick")
    codes = rows.to_numpy()
    codes[:, hidden] = -1
    rest = [v for v in range(len(network.schema)) if v != hidden]
    short: Any = fs.Table.from_array(rows.to_numpy()[:, rest], schema=network.schema.select(rest))
    short = short if kind == "table" else short.to_frame(kind)
    expected = network.predict_proba(codes).probabilities
    np.testing.assert_array_equal(network.predict_proba(short).probabilities, expected)
    np.testing.assert_array_equal(network.marginals(short).probabilities, expected)


def test_rows_of_pandas_are_evidence() -> None:
    frame = complete()
    network = fs.L1Neighborhood(C=1.0, rule="or", prior_sd=1.0).fit(frame).network_
    row = with_holes(frame).iloc[0]
    expected = network.marginals(
        {"sick": row["sick"], "visits": row["visits"], "town": row["town"]}
    )
    for evidence in (row, row.to_dict(), {**row.to_dict(), "level": np.nan}):
        np.testing.assert_array_equal(network.marginals(evidence)["level"], expected["level"])


def test_one_row_of_pandas_as_a_frame(network: fs.MarkovNetwork) -> None:
    """What the message about a series advises for a row, and for a column of polars, works."""
    frame = complete()
    row = frame.iloc[1]
    with pytest.raises(ValueError, match=r"X\.to_frame\(\) for .* X\.to_frame\(\)\.T for one row"):
        network.predict_proba(row.drop("sick"))
    expected = network.predict_proba(frame.drop(columns="sick")[1:2])["sick"]
    found = network.predict_proba(row.drop("sick").to_frame().T)["sick"]
    np.testing.assert_array_equal(found, expected)
    assert network.score(row.to_frame().T) == network.score(frame[1:2])
    with pytest.raises(ValueError, match=r"Pass X\.to_frame\(\) for one column\.$"):
        network.predict_proba(pl.Series("town", ["Ulm"]))


def test_sparse_columns() -> None:
    dense = pd.DataFrame({"a": [0, 1, 1, 0], "b": [1, 0, 1, 0]})
    sparse = dense.astype(pd.SparseDtype("int64", 0))
    assert fs.Table.from_frame(sparse) == fs.Table.from_frame(dense)


def test_dates_can_be_learned_saved_and_asked_about(tmp_path: Path) -> None:
    days = pd.to_datetime(["2020-01-01", "2020-07-01"])
    winter = np.random.default_rng(0).random(60) < 0.5
    frame = pd.DataFrame({"day": pd.Categorical(days[winter.astype(int)]), "cold": winter})
    network = fs.DTSL(kappa=0.1, conversion="prune", prior_sd=1.0).fit(frame).network_
    network.save(tmp_path / "days.json")
    again = fs.MarkovNetwork.load(tmp_path / "days.json")
    assert again.score(frame) == network.score(frame)
    expected = again.marginals({"day": "2020-07-01 00:00:00"})["cold"]
    np.testing.assert_array_equal(again.marginals({"day": days[1]})["cold"], expected)
    gaps = frame.copy()
    gaps.loc[:4, "day"] = None
    filled = again.impute(gaps)
    pd.testing.assert_frame_equal(filled, frame)

    # Columns of dates will do where the labels are known, and so will files.
    dates = frame.astype({"day": "datetime64[ns]"})
    for known in (dates, dates.astype({"day": object}), pl.from_pandas(dates)):
        assert again.score(known) == network.score(frame)
    dates["day"] = dates["day"].mask(gaps["day"].isna())
    np.testing.assert_array_equal(
        again.marginals(dates[["day"]].iloc[0])["cold"], again.marginals({})["cold"]
    )
    filled = again.impute(dates)
    assert filled["day"].dtype == dates["day"].dtype
    pd.testing.assert_frame_equal(filled, frame.astype({"day": "datetime64[ns]"}))
    days_only = pl.from_pandas(dates).with_columns(pl.col("day").cast(pl.Date))
    assert again.impute(days_only)["day"].to_list() == [day.date() for day in filled["day"]]
    for written in ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S"):
        frame.assign(day=days.strftime(written)[winter.astype(int)]).to_csv(
            tmp_path / "days.csv", index=False
        )
        table = fs.read_table(tmp_path / "days.csv", schema=again.schema)
        assert again.score(table) == network.score(frame)
        table = fs.read_table(tmp_path / "days.csv")  # of its own labels
        assert again.score(table) == network.score(frame)


@pytest.mark.parametrize(
    ("label", "gap", "fits"),
    [
        ("2020-07-01 12:00:00", pl.Series([None], dtype=pl.Datetime("ms")), True),
        ("2020-07-01 12:00:00", pl.Series([None], dtype=pl.Date), False),
        ("2020-07-01 12:00:00.500000", pl.Series([None], dtype=pl.Datetime("ms")), True),
        ("2020-07-01 12:00:00.000500", pl.Series([None], dtype=pl.Datetime("ms")), False),
        ("2020-07-01 12:00:00.500000", pd.Series([pd.NaT], dtype="datetime64[s]"), False),
        ("2020-07-01 12:00:00.000000001", pd.Series([pd.NaT], dtype="datetime64[ns]"), False),
        ("2020-07-01 12:00:00", pd.Series([pd.NaT], dtype="datetime64[ns, UTC]"), False),
        ("2020-07-01 12:00:00+00:00", pd.Series([pd.NaT], dtype="datetime64[ns]"), False),
        ("2020-07-01 12:00:00+00:00", pd.Series([pd.NaT], dtype="datetime64[ns, UTC]"), True),
    ],
    ids=lambda given: str(getattr(given, "dtype", given)),
)
def test_moments_are_filled_in_exactly_or_not_at_all(label: str, gap: Any, fits: bool) -> None:
    network = fs.Independent().fit(pd.DataFrame({"at": [label, label]})).network_
    frame = (pl if isinstance(gap, pl.Series) else pd).DataFrame({"at": gap})
    if fits:
        filled = network.impute(frame)["at"]
        assert filled.dtype == gap.dtype
        assert network.schema.code("at", filled[0]) == 0
        return
    with pytest.raises(ValueError, match="column 'at' has type Date") as caught:
        network.impute(frame)
    assert f"cannot hold {label!r}" in str(caught.value)


def test_objects_are_filled_in_with_objects() -> None:
    day, later = pd.Timestamp("2020-07-01"), pd.Timestamp("2020-07-02")
    rows = pd.DataFrame({"day": pd.Categorical([day, day, later])})
    network = fs.Independent().fit(rows).network_
    gaps = pd.DataFrame({"day": pd.Series([day, None, later], dtype=object)})
    assert network.impute(gaps)["day"].to_list() == [day, day, later]


def test_a_row_by_position_may_hold_dates() -> None:
    moments = pd.to_datetime(["2020-07-01", "2020-07-01 12:00:00.000000001"], format="ISO8601")
    rows = pd.DataFrame({"at": pd.Categorical(moments), "cold": [True, False]})
    network = fs.DTSL(kappa=0.1, conversion="prune", prior_sd=1.0).fit(rows).network_
    expected = network.marginals({"at": moments[1]})["cold"]
    for moment in (moments[1], moments[1].to_datetime64()):
        np.testing.assert_array_equal(network.marginals([moment, None])["cold"], expected)


def test_dates_that_are_no_labels() -> None:
    network = fs.Independent().fit(pd.DataFrame({"size": ["big", "small", "big"]})).network_
    days = pd.DataFrame({"size": pd.to_datetime(["2020-01-01", None])})
    with pytest.raises(TypeError, match="column 'size' has type Datetime"):
        network.impute(days)
    with pytest.raises(ValueError, match="row 0, column 'size': unseen value '2020-01-01'"):
        network.score(days.astype(object))
    otherwise_spelled = pd.DataFrame({"size": ["2020-01-01T00:00:00"] * 3})
    network = fs.Independent().fit(otherwise_spelled).network_
    with pytest.raises(TypeError, match="column 'size' has type Datetime"):
        network.score(days)


def test_intervals_of_pandas_can_be_learned_saved_and_asked_about(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    cut = pd.cut(random.normal(size=60), [-9.0, -0.5, 0.5, 9.0])
    frame = pd.DataFrame({"height": cut, "tall": cut.codes == 2})
    network = fs.DTSL(kappa=0.1, conversion="prune", prior_sd=1.0).fit(frame).network_
    assert network.schema.labels[0] == ("(-9.0, -0.5]", "(-0.5, 0.5]", "(0.5, 9.0]")
    network.save(tmp_path / "cut.json")
    again = fs.MarkovNetwork.load(tmp_path / "cut.json")
    assert again.schema == network.schema
    assert again.score(frame) == network.score(frame)

    interval = cut.categories[2]
    expected = again.marginals({"height": "(0.5, 9.0]"})["tall"]
    row = pd.Series({"height": interval, "tall": None}, dtype=object)
    for evidence in ({"height": interval}, row):
        np.testing.assert_array_equal(again.marginals(evidence)["tall"], expected)
    for rows in (frame[["height"]], frame[["height"]].astype(object)):
        answers = again.predict_proba(rows)["tall"][cut.codes == 2]
        np.testing.assert_allclose(answers, np.tile(expected, (len(answers), 1)), atol=1e-12)

    gaps = frame.copy()
    gaps.loc[:4, "height"] = None
    filled = again.impute(gaps)
    pd.testing.assert_series_equal(filled.dtypes, gaps.dtypes)
    assert not filled["height"].isna().any()
