"""Bad input is refused with a message that names the place, what was got and what is expected."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feldspar as fs

FEATURES = [[(0, 1)], [(0, 1), (1, 1)]]
ROWS = [[0, 1], [1, 1], [1, 0]]


def refused(*parts: str, error: type[Exception] = ValueError) -> Any:
    """Expect an error whose message holds all parts, in this order."""
    return pytest.raises(error, match="(?s)" + ".*".join(map(re.escape, parts)))


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def network() -> fs.MarkovNetwork:
    schema = fs.Schema([2, 2], names=["rain", "wet"])
    return fs.MarkovNetwork.from_terms(schema, [([(0, 1)], 1.0), ([(0, 1), (1, 1)], 0.5)])


# Files of data


@pytest.mark.parametrize("name", ["ragged.csv", "ragged.data"])
def test_ragged_file(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, "0,1\n1,0\n1\n")
    with refused(name, "line 3", "expected 2 values", "got 1"):
        fs.read_table(path)


def test_ragged_rows() -> None:
    with refused("row 2", "expected 2 values", "got 3"):
        fs.learn_weights(FEATURES, [[0, 1], [1, 0], [1, 1, 1]])


def test_non_integers_in_a_data_file(tmp_path: Path) -> None:
    path = written(tmp_path / "letters.data", "0,1\n1,x\n")
    with refused("letters.data", "line 2, column 2", "expected an integer", "got 'x'"):
        fs.read_table(path)


def test_continuous_values_in_a_csv_file(tmp_path: Path) -> None:
    path = written(tmp_path / "real.csv", "rain,wet\n0,1\n1,0.5\n")
    with refused("real.csv", "line 3, column 'wet'", "expected discrete values", "got '0.5'"):
        fs.read_table(path)


def test_non_integers_in_an_array() -> None:
    with refused("row 1, column 0", "expected an integer code", "got 0.5"):
        fs.learn_weights(FEATURES, [[0, 1], [0.5, 1]])


def test_unseen_value_in_a_file(tmp_path: Path, network: fs.MarkovNetwork) -> None:
    path = written(tmp_path / "test.data", "0,1\n0,2\n")
    with refused("test.data", "line 2", "'wet'", "unseen value 2", "expected 0 ... 1"):
        fs.read_table(path, schema=network.schema)


def test_unseen_value_in_an_array(network: fs.MarkovNetwork) -> None:
    with refused("row 1, column 1 ('wet')", "unseen value 2", "expected 0 ... 1"):
        network.score([[0, 1], [0, 2]])


def test_unseen_label_in_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    train = fs.Table.from_frame(pandas.DataFrame({"wind": ["calm", "gale"]}))
    network = fs.learn_weights([[("wind", "gale")]], train, n_jobs=1)
    with refused("row 1", "'wind'", "'storm'", "expected calm, gale"):
        network.score(pandas.DataFrame({"wind": ["calm", "storm"]}))


def test_nan() -> None:
    with refused("row 1, column 0", "expected an integer code", "got NaN"):
        fs.learn_weights(FEATURES, [[0, 1], [np.nan, 1]])


@pytest.mark.parametrize("name", ["empty.csv", "empty.data"])
def test_empty_file(tmp_path: Path, name: str) -> None:
    with refused(name, "expected one example a line"):
        fs.read_table(written(tmp_path / name, ""))


def test_file_with_nothing_but_a_header(tmp_path: Path) -> None:
    with refused("header.csv", "no rows after line 1"):
        fs.read_table(written(tmp_path / "header.csv", "rain,wet\n"))


def test_zero_rows() -> None:
    with refused("X has 0 sample(s)", "a minimum of 1 is required"):
        fs.learn_weights(FEATURES, np.zeros((0, 2), dtype=int))


def test_one_valued_column(tmp_path: Path) -> None:
    table = fs.read_table(written(tmp_path / "dry.csv", "rain,wet\n0,no\n1,no\n"))
    with refused("features[1] is always true", "whatever the value of wet", "expected"):
        fs.learn_weights([[("rain", 1)], [("wet", "no")]], table)


def test_one_valued_column_that_no_feature_tests(tmp_path: Path) -> None:
    table = fs.read_table(written(tmp_path / "dry.csv", "rain,wet\n0,no\n1,no\n"))
    features = fs.FeatureSet.conjunctions(table, order=2)
    assert list(features) == [((0, 1),)]
    network = fs.learn_weights(features, table, n_jobs=1)
    assert network.score(table) == pytest.approx(-np.log(2))


def test_wrong_width_of_an_array(network: fs.MarkovNetwork) -> None:
    with refused("expected 2 columns (rain, wet)", "got 3"):
        network.score([[0, 1, 1]])


def test_wrong_width_of_a_file(tmp_path: Path, network: fs.MarkovNetwork) -> None:
    path = written(tmp_path / "wide.data", "0,1,1\n")
    with refused("wide.data", "expected 2 columns (rain, wet)", "got 3"):
        fs.read_table(path, schema=network.schema)


def test_wrong_columns_of_a_table(network: fs.MarkovNetwork) -> None:
    table = fs.Table.from_array(ROWS, names=["rain", "snow"])
    with refused("the variables rain, snow", "expected rain, wet"):
        network.score(table)


def test_truncated_gz(tmp_path: Path) -> None:
    path = tmp_path / "cut.data.gz"
    path.write_bytes(gzip.compress(b"0,1\n1,0\n" * 1000)[:-12])
    with refused("cut.data.gz", "gzip", "truncated"):
        fs.read_table(path)


def test_training_data_without_a_known_conditional() -> None:
    table = fs.Table.from_array([[0, -1], [1, -1], [-1, 0]], names=["rain", "wet"])
    with refused("2 columns: rain (1), wet (2)", "no variable is known together", "expected"):
        fs.learn_weights([[("rain", 1), ("wet", 1)]], table)


def test_scores_of_rows_with_gaps(network: fs.MarkovNetwork) -> None:
    with refused("rain, wet", "first in row 1, column 'wet'", "expected complete rows"):
        network.score([[0, 1], [1, -1], [-1, 0]])


# Model files


CORRUPTED = [
    pytest.param("cut.json", lambda text: text[:-20], ["line", "column", "not JSON"], id="json"),
    pytest.param(
        "word.json",
        lambda text: text.replace("0.5", '"x"'),
        ["features[1].weight", "expected a finite number", 'got "x"'],
        id="json, no number",
    ),
    pytest.param(
        "cut.mn", lambda text: text[: text.rindex("}")], ["line", "expected '}'"], id="mn"
    ),
    pytest.param(
        "word.mn",
        lambda text: text.replace("+v1_1", "+v7_1"),
        ["line 4, column 11", "no variable v7", "v0 to v1"],
        id="mn, no such variable",
    ),
    pytest.param(
        "cut.uai",
        lambda text: text[: text.rstrip().rindex(" ")],
        ["line", "column", "expected cell", "got the end of the file"],
        id="uai",
    ),
    pytest.param(
        "word.uai",
        lambda text: text.replace("MARKOV", "MARKOW"),
        ["line 1, column 1", "expected", "MARKOV", "got 'MARKOW'"],
        id="uai, unknown type",
    ),
]


@pytest.mark.parametrize(("name", "corrupt", "parts"), CORRUPTED)
def test_corrupted_model_file(
    tmp_path: Path, network: fs.MarkovNetwork, name: str, corrupt: Any, parts: list[str]
) -> None:
    path = tmp_path / name
    network.save(path)
    good = path.read_text("utf-8")
    assert corrupt(good) != good
    path.write_text(corrupt(good), encoding="utf-8")
    with refused(name, *parts):
        fs.MarkovNetwork.load(path)


# Parameters


@pytest.mark.parametrize(
    ("parameters", "error", "parts"),
    [
        ({"sample_weight": [1, 2]}, ValueError, ["sample_weight", "expected 3", "got", "(2,)"]),
        ({"sample_weight": [1, -2, 1]}, ValueError, ["sample_weight", "row 1", "got -2"]),
        ({"initial_weights": [1.0]}, ValueError, ["initial_weights", "expected 2", "got", "(1,)"]),
        ({"initial_weights": [0, np.nan]}, ValueError, ["initial_weights", "feature 1", "finite"]),
        ({"prior_sd": -1}, ValueError, ["prior_sd must be positive", "got -1"]),
        ({"prior_sd": 0}, ValueError, ["prior_sd must be positive", "got 0"]),
        ({"prior_sd": np.nan}, ValueError, ["prior_sd must be positive", "got nan"]),
        ({"prior_sd": "wide"}, TypeError, ["prior_sd", "expected a number", "got 'wide'"]),
        ({"l1": -0.5}, ValueError, ["l1 must be finite and not negative", "got -0.5"]),
        ({"l1": np.inf}, ValueError, ["l1 must be finite and not negative", "got inf"]),
        ({"l1": None}, TypeError, ["l1", "expected a number", "got None"]),
        ({"tolerance": 0}, ValueError, ["tolerance must be positive", "got 0"]),
        ({"tolerance": "low"}, TypeError, ["tolerance", "expected a number", "got 'low'"]),
        ({"max_iterations": -1}, ValueError, ["max_iterations must not be negative", "got -1"]),
        ({"max_iterations": 1.5}, TypeError, ["max_iterations", "expected an integer", "1.5"]),
        ({"max_iterations": 2**40}, ValueError, ["max_iterations", "of 32 bits", "got 1099511"]),
        ({"time_limit": 0}, ValueError, ["time_limit must be positive", "got 0"]),
        ({"n_jobs": 0}, ValueError, ["n_jobs must not be 0", "expected", "-1 for all"]),
        ({"n_jobs": 10**12}, ValueError, ["n_jobs must be at most 1024", "got 1000000000000"]),
        ({"n_jobs": 1.5}, TypeError, ["n_jobs", "expected None or an integer", "got 1.5"]),
        ({"on_interrupt": "stop"}, ValueError, ["on_interrupt", "'return' or 'raise'", "'stop'"]),
    ],
    ids=lambda value: repr(value) if isinstance(value, dict) else "",
)
def test_bad_parameter(
    parameters: dict[str, Any], error: type[Exception], parts: list[str]
) -> None:
    with refused(*parts, error=error):
        fs.learn_weights(FEATURES, ROWS, **parameters)


def test_path_without_data() -> None:
    with refused("X is missing", "expected rows", error=TypeError):
        fs.learn_weight_path(FEATURES)


def test_path_of_different_lengths() -> None:
    with refused("prior_sd has 2 values and l1 has 3", "expected as many, or one"):
        fs.learn_weight_path(FEATURES, ROWS, prior_sd=[1, 2], l1=[1, 2, 3])


@pytest.mark.parametrize("name", ["prior_sd", "l1"])
def test_empty_path(name: str) -> None:
    with refused(name, "expected at least one value", "got none"):
        fs.learn_weight_path(FEATURES, ROWS, **{name: []})


def test_wrong_number_of_weights_for_the_likelihood() -> None:
    with refused("weights", "expected 2", "got", "(3,)"):
        fs.PseudoLikelihood(FEATURES, ROWS).value_and_gradient([0.0, 0.0, 0.0])
