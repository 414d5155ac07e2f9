"""Wrong uses, and the message each gives: what is wrong, where, and what was expected."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import feldspar as fs

SURVEY = fs.datasets.load("survey")
FRAME = SURVEY.train[:200].to_frame()
TRUTH = fs.MarkovNetwork.from_terms(SURVEY.schema, fs.datasets.survey_terms())
REALS = np.random.default_rng(0).normal(size=(10, 3))
NAMES = "age, education, smoker, exercise, diet, stress, sleep, health, doctor"
AGES = "18-34, 35-54, 55-74, 75+"


def learner(**params: Any) -> fs.L1Neighborhood:
    settings = {"C": 0.1, "rule": "or", "prior_sd": 1.0, "n_jobs": 1, **params}
    return fs.L1Neighborhood(**settings)


def fit(X: object, **params: Any) -> Callable[[], object]:
    return lambda: learner(**params).fit(X)


Wrong = tuple[Callable[[], object], type[Exception], str]

WRONG_DATA: dict[str, Wrong] = {
    "a path": (
        fit("data.csv"),
        TypeError,
        (
            "X: expected a table, a data frame or a 2-D array, got 'data.csv': files are read by "
            "feldspar.read_table"
        ),
    ),
    "a dictionary": (
        fit({"a": [1, 2]}),
        TypeError,
        (
            "X: expected a table, a data frame or a 2-D array, got {'a': [1, 2]}: pass "
            "pandas.DataFrame(X)"
        ),
    ),
    "nothing": (
        fit(None),
        TypeError,
        "X: expected a table, a data frame or a 2-D array, got None",
    ),
    "records": (
        fit([{"a": 1}, {"a": 2}]),
        ValueError,
        "X: expected a 2-D array, got 1-D. Pass pandas.DataFrame(X).",
    ),
    "one column": (
        fit(FRAME["health"]),
        ValueError,
        "got 1-D. Pass X.to_frame() for one column, X.to_frame().T for one row.",
    ),
    "one dimension": (fit(np.arange(5)), ValueError, "X: expected a 2-D array, got 1-D."),
    "labels in an array": (
        fit(np.array([["no", "yes"], ["yes", "no"]])),
        ValueError,
        "labels go into a data frame (Table.from_frame)",
    ),
    "labels among numbers": (
        fit(np.array([[0, 1], [0, "no"]], dtype=object)),
        ValueError,
        (
            "row 1, column 1: expected a number: could not convert string to float: 'no'; labels "
            "go into a data frame (Table.from_frame)"
        ),
    ),
    "a masked array": (
        fit(np.ma.masked_equal([[0, 1], [1, 9]], 9)),
        TypeError,
        "X is a masked array; expected a plain one: pass X.filled(-1)",
    ),
    "real numbers in an array": (
        fit(REALS),
        ValueError,
        (
            "row 0, column 0: expected an integer code (feldspar.discretize makes codes of "
            "numbers), got 0.1257"
        ),
    ),
    "real numbers in a frame": (
        fit(pd.DataFrame(REALS, columns=["a", "b", "c"])),
        ValueError,
        "row 0, column 'a': expected discrete values, got 0.1257",
    ),
    "NaN": (
        fit(np.array([[0, 1], [np.nan, 1]])),
        ValueError,
        "row 1, column 0: expected an integer code, or -1 if missing, got NaN",
    ),
    "negative codes": (
        fit([[0, 1], [-3, 1]]),
        ValueError,
        "row 1, column 0: expected a code >= 0, or -1 if missing, got -3",
    ),
    "a sparse matrix": (
        fit(sparse.eye_array(5, format="csr")),
        TypeError,
        "X is a sparse matrix; expected dense data: pass X.toarray()",
    ),
    "a lazy frame": (
        fit(pl.LazyFrame({"a": [1, 2]})),
        TypeError,
        "X is a lazy frame; expected data: pass X.collect()",
    ),
    "dates": (
        fit(pd.DataFrame({"day": pd.date_range("2026-01-01", periods=4)})),
        TypeError,
        "column 'day' has type Datetime",
    ),
    "a column of mixed types": (
        fit(pd.DataFrame({"a": [1, "x", 2]})),
        TypeError,
        "column 'a' mixes or holds values of type int, str",
    ),
    "a column of objects that are numbers": (
        fit(pd.DataFrame({"a": np.array([1.5, 2.5, 1], dtype=object)})),
        TypeError,
        "only text; make it a column of numbers, as astype(float) does in pandas",
    ),
    "a column of lists": (
        fit(pd.DataFrame({"a": [[1], [2]]})),
        TypeError,
        "column 'a' mixes or holds values of type list; expected only truth values, only integers",
    ),
    "more values than there may be": (
        fit(pd.DataFrame({"patient": np.arange(70_000)})),
        ValueError,
        "('patient'): expected 1 ... 65535 values, got 70000; leave columns of identifiers out",
    ),
    "two columns of one name": (
        fit(pd.DataFrame([[1, 2], [0, 1]], columns=["a", "a"])),
        ValueError,
        "the data frame has more than one column 'a'; expected names that differ",
    ),
    "a column without values": (
        fit(pd.DataFrame({"a": [1, 2], "b": [None, None]})),
        ValueError,
        (
            "column 'b': all values are missing, so its labels are unknown; expected some values, "
            "or a categorical column: leave the column out"
        ),
    ),
    "rows without values": (
        fit(np.full((5, 2), -1)),
        ValueError,
        "X: none of the 5 rows is complete; missing values in 2 columns: v0 (5), v1 (5)",
    ),
    "weights for other rows": (
        lambda: learner().fit(FRAME, sample_weight=[1, 2]),
        ValueError,
        "sample_weight: expected 200 weights, one per row, got an array of shape (2,)",
    ),
    "negative weights": (
        lambda: learner().fit([[0, 1], [1, 0]], sample_weight=[1, -2]),
        ValueError,
        "sample_weight: row 1: expected a finite weight >= 0, got -2.0",
    ),
    "validation rows with other labels": (
        lambda: learner().fit(FRAME, X_valid=FRAME.assign(age="99")),
        ValueError,
        f"X_valid: row 0, column 'age': unseen value '99', expected {AGES}",
    ),
}

WRONG_SETTINGS: dict[str, Wrong] = {
    "a word that is none of them": (
        fit(FRAME, rule="xor"),
        ValueError,
        "rule: expected one of 'or', 'and', got 'xor'",
    ),
    "a misspelt parameter": (
        lambda: learner().set_params(rules="or"),
        ValueError,
        "Invalid parameter 'rules'",
    ),
    "a negative prior": (
        fit(FRAME, prior_sd=-1.0),
        ValueError,
        "prior_sd must be positive, got -1",
    ),
    "a word for a number": (
        fit(FRAME, prior_sd="wide"),
        TypeError,
        "prior_sd: expected a number, got 'wide'",
    ),
    "nothing to try": (
        fit(FRAME, C=[]),
        ValueError,
        "C: expected a value or several, got none",
    ),
    "no threads": (fit(FRAME, n_jobs=0), ValueError, "n_jobs must not be 0"),
    "a limit in words": (
        fit(FRAME, time_limit="1h"),
        TypeError,
        "time_limit: expected a number, got '1h'",
    ),
    "a seed in words": (
        fit(FRAME, prior_sd=[1.0, 0.1], random_state="lucky"),
        TypeError,
        "random_state: expected None, an integer or a generator of NumPy, got 'lucky'",
    ),
    "a score before the fit": (
        lambda: learner().score(FRAME),
        NotFittedError,
        "This L1Neighborhood instance is not fitted yet",
    ),
    "a feature of an unknown value": (
        lambda: fs.learn_weights([[("age", "18")]], FRAME),
        ValueError,
        f"features[0]: variable 'age' has no value '18': expected {AGES}",
    ),
    "a test in the place of a feature": (
        lambda: fs.learn_weights([("age", "75+")], FRAME),
        TypeError,
        "features[0]: expected a (variable, value) pair, got 'age'",
    ),
    "a network in the place of its features": (
        lambda: fs.learn_weights(TRUTH, FRAME),
        TypeError,
        "features: expected a FeatureSet or conjunctions, got a MarkovNetwork: pass its .features",
    ),
    "a number in the place of features": (
        lambda: fs.Grafting(l1=1.0, features=3).fit(FRAME),
        TypeError,
        "features: expected a FeatureSet or conjunctions, got 3",
    ),
    "a tolerance in words": (
        fit(FRAME, tolerance="fine"),
        TypeError,
        "tolerance: expected a number, got 'fine'",
    ),
    "leaves without a prior": (
        lambda: fs.DTSL(leaf_prior=0).fit(FRAME),
        ValueError,
        "leaf_prior must be positive and finite, got 0",
    ),
    "zero values that are not by name": (
        lambda: fs.DTSL(zero_values=["no"]).fit(FRAME),
        TypeError,
        "zero_values: expected a mapping such as {'age': value}, got ['no']",
    ),
    "a penalty in the place of a learner": (
        lambda: fs.DTL1(l1=0.5).fit(FRAME),
        TypeError,
        "l1: expected a learner such as L1Neighborhood(), got 0.5",
    ),
    "a class in the place of a learner": (
        lambda: fs.DTBLM(dtsl=fs.DTSL).fit(FRAME),
        TypeError,
        "dtsl: expected a learner such as DTSL(), got <class",
    ),
    "no kappa to try": (
        lambda: fs.DependencyNetwork(kappa=[]).fit(FRAME),
        ValueError,
        "kappa: expected a value or several, got none",
    ),
    "no C to try": (
        lambda: fs.DependencyNetwork(cpd="logistic", C=[]).fit(FRAME),
        ValueError,
        "C: expected a value or several, got none",
    ),
    "no scheme": (
        lambda: fs.Grafting(scheme=None).fit(FRAME),
        TypeError,
        "scheme: expected a word, got None",
    ),
    "no inference": (
        lambda: fs.learn_weights([], FRAME, objective="likelihood", inference=None),
        TypeError,
        "inference: expected a word, got None",
    ),
    "fewer than no features": (
        lambda: fs.Grafting(max_features=-1).fit(FRAME),
        ValueError,
        "max_features: expected at least 0, got -1",
    ),
    "validation rows of weights with other labels": (
        lambda: fs.tune_weights([[("age", "75+")]], FRAME, X_valid=FRAME.assign(age="99")),
        ValueError,
        f"X_valid: row 0, column 'age': unseen value '99', expected {AGES}",
    ),
    "an unknown data set": (
        lambda: fs.datasets.load("digit"),
        ValueError,
        "no data set is called 'digit'; did you mean digits?",
    ),
}

WRONG_QUESTIONS: dict[str, Wrong] = {
    "a misspelt variable": (
        lambda: TRUTH.marginals({"smokr": "current"}),
        ValueError,
        "no variable is called 'smokr'; did you mean smoker?",
    ),
    "an unknown value": (
        lambda: TRUTH.marginals({"smoker": "yes"}),
        ValueError,
        "variable 'smoker' has no value 'yes': expected never, former, current",
    ),
    "an answer nobody asked for": (
        lambda: TRUTH.marginals()["helth"],
        KeyError,
        "no variable is called 'helth'; did you mean health?",
    ),
    "evidence in words": (
        lambda: TRUTH.marginals("smoker=current"),
        TypeError,
        "evidence: expected a mapping such as {'age': value}, a row or a table, got 'smoker=",
    ),
    "evidence of several values": (
        lambda: TRUTH.marginals({"smoker": {"current"}}),
        TypeError,
        "evidence: 'smoker': expected a value, or a likelihood for each of its values, got {'cur",
    ),
    "evidence of a list of values": (
        lambda: TRUTH.marginals({"smoker": ["current", "former", "never"]}),
        ValueError,
        "evidence: 'smoker': expected one value, or a likelihood for each value, got ['current', ",
    ),
    "likelihoods in words": (
        lambda: TRUTH.marginals({"doctor": {"no": "low", "yes": "high"}}),
        ValueError,
        "evidence: 'doctor': expected one value, or a likelihood for each value, got 'low'",
    ),
    "impossible values": (
        lambda: TRUTH.marginals({"smoker": [1, 0, 0]}),
        ValueError,
        "evidence: soft evidence on 'smoker' is [1.0, 0.0, 0.0]; expected positive likelihoods",
    ),
    "a short row": (
        lambda: TRUTH.marginals([0, 1]),
        ValueError,
        "evidence: expected a row of 9 values, one for each variable, got 2",
    ),
    "an unknown method": (
        lambda: TRUTH.marginals(method="belief"),
        ValueError,
        "method: expected one of 'auto', 'exact', 'bp', 'meanfield', 'gibbs', 'mcsat', got 'bel",
    ),
    "an option of another method": (
        lambda: TRUTH.marginals(method="exact", n_chains=3),
        TypeError,
        "method='exact' has no option 'n_chains'; expected max_table_entries",
    ),
    "rows with an unseen label": (
        lambda: TRUTH.score(FRAME.assign(age="99")),
        ValueError,
        f"row 0, column 'age': unseen value '99', expected {AGES}",
    ),
    "rows without a column": (
        lambda: TRUTH.score(FRAME.rename(columns={"age": "Age"})),
        ValueError,
        f"the data frame lacks age and has unexpected Age; expected {NAMES}",
    ),
    "partial rows with a column of their own": (
        lambda: TRUTH.predict_proba(
            FRAME.drop(columns=["health", "doctor"]).assign(id=1), "health"
        ),
        ValueError,
        f"the data frame has unexpected id; expected columns among {NAMES}",
    ),
    "conjunctions of rows with gaps": (
        lambda: fs.FeatureSet.conjunctions([[0, 1], [1, -1]]),
        ValueError,
        (
            "missing values in 1 column (v1), first in row 1, column 'v1'; expected complete rows "
            "(leave out those with gaps)"
        ),
    ),
    "rows of another schema": (
        lambda: TRUTH.score(fs.datasets.load("digits").test),
        ValueError,
        (
            f"the table has the variables p00, p01, p02, p03, p04, p05, p06, p07, p10, ..., digit; "
            f"expected {NAMES}"
        ),
    ),
    "an array of another width": (
        lambda: TRUTH.score([[0, 1]]),
        ValueError,
        f"expected 9 columns ({NAMES}), got 2",
    ),
    "a score of rows with gaps": (
        lambda: TRUTH.score([[0, 0, 0, 0, 0, 0, 0, 0, -1]]),
        ValueError,
        (
            "missing values in 1 column (doctor), first in row 0, column 'doctor'; expected "
            "complete rows (impute fills gaps)"
        ),
    ),
    "an explanation without what it needs": (
        lambda: TRUTH.explain({"age": "75+"}, "doctor"),
        ValueError,
        "row: health is not known and shares features with 'doctor'",
    ),
    "fewer than no samples": (
        lambda: TRUTH.sample(-1),
        ValueError,
        "n must be at least 1, got -1",
    ),
}

EVERY_WRONG_USE = {**WRONG_DATA, **WRONG_SETTINGS, **WRONG_QUESTIONS}


@pytest.mark.parametrize("use", EVERY_WRONG_USE)
def test_the_message_says_what_is_wrong(use: str) -> None:
    call, error, message = EVERY_WRONG_USE[use]
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    assert message in str(caught.value)


def test_validation_rows_go_by_name() -> None:
    table = fs.datasets.make_survey(30, random_state=0)
    for valid in (table, table.to_frame()):
        with pytest.raises(TypeError, match="validation rows go by name"):
            learner().fit(table, valid)
    for ragged in ([[0], [0, 1]], ([0, 1], [0])):
        with pytest.raises(TypeError, match="validation rows go by name"):
            learner().fit(table, ragged)


def test_validation_codes_go_by_name() -> None:
    rows = np.random.default_rng(0).integers(0, 2, (60, 3))
    for fit in (learner().fit, fs.DependencyNetwork(kappa=0.1).fit):
        for valid in (rows, rows.tolist(), fs.Table.of(rows), pd.DataFrame(rows).add_prefix("v")):
            with pytest.raises(TypeError, match=r"y: expected nothing, got a table; .* X_valid="):
                fit(rows, valid)
        for labels in (rows[:, 0], rows[:, :1], rows[:, 0].tolist()):  # a class to be ignored
            fit(rows, labels)


@pytest.mark.parametrize("patients", [np.arange(200), [f"p{i}" for i in range(200)]])
def test_identifiers_are_told(patients: Any) -> None:
    frame = FRAME[["smoker", "health"]].assign(patient=patients)
    message = "column 'patient': every row has a value of its own"
    for use in (learner().fit, fs.FeatureSet.conjunctions):
        with pytest.warns(UserWarning, match=message) as caught:
            use(frame)
        assert caught[0].filename == __file__


def test_columns_of_many_values_are_not_taken_for_identifiers() -> None:
    frame = FRAME[["smoker", "health"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner().fit(frame.assign(place=[*range(199), 0]))
        learner().fit(frame[:50].assign(place=range(50)))


def test_rows_about_which_nothing_is_known_are_a_fair_question() -> None:
    nothing = TRUTH.predict_proba(np.full((2, 9), -1))
    np.testing.assert_allclose(nothing["doctor"], [TRUTH.marginals()["doctor"]] * 2)


def test_an_unreadable_model(tmp_path: Path) -> None:
    (tmp_path / "cut.json").write_text('{"format": ', "utf-8")
    with pytest.raises(ValueError, match=r"cut\.json, line 1, column 12: not JSON"):
        fs.MarkovNetwork.load(tmp_path / "cut.json")
    (tmp_path / "picture.json").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    with pytest.raises(ValueError, match=r"picture\.json, line 3: expected text, got a zero byte"):
        fs.MarkovNetwork.load(tmp_path / "picture.json")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.json"):
        fs.MarkovNetwork.load(tmp_path / "nowhere.json")
    with pytest.raises(ValueError, match="a network's file ends with one of 'json', 'mn', 'uai'"):
        TRUTH.save(tmp_path / "model.pkl")


def test_a_number_is_no_file() -> None:
    not_a_path: Any = 3
    with pytest.raises(TypeError, match="expected a path or an open file, got 3"):
        fs.MarkovNetwork.load(not_a_path)


HEADERS_WITH_FAULTS = {
    ",rain,wind\n0,no,1\n1,yes,1\n2,yes,2\n": "column 1 has no name (pandas writes its index so;",
    ",0,1,2\n0,1,0,1\n1,0,1,1\n": "column 1 has no name (pandas writes its index so;",
    "rain,,wind\nno,5,1\nyes,6,2\n": "column 2 has no name; expected a name for each",
    "rain,rain\nno,1\nyes,2\n": "two columns are called 'rain'; expected names that differ",
}


@pytest.mark.parametrize("text", HEADERS_WITH_FAULTS)
def test_headers_with_faults_are_not_read_as_examples(tmp_path: Path, text: str) -> None:
    path = tmp_path / "days.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=r"days\.csv, line 1: ") as caught:
        fs.read_table(path)
    assert HEADERS_WITH_FAULTS[text] in str(caught.value)
    assert "if the line holds data, pass header=False" in str(caught.value)
    assert len(fs.read_table(path, header=False)) == text.count("\n")


def test_a_folder_that_is_not_there_or_no_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        TRUTH.save(tmp_path / "nowhere" / "model.json")
    assert caught.value.filename == str(tmp_path / "nowhere" / "model.json")
    assert f"The folder {tmp_path / 'nowhere'} does not exist" in str(caught.value)
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(OSError, match=r"file[/\\]+model\.json"):
        TRUTH.save(tmp_path / "file" / "model.json")


def test_a_read_only_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *args: Any) -> None:  # whoever runs the tests may write anywhere
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(PermissionError) as caught:
        TRUTH.save(tmp_path / "model.json")
    assert caught.value.filename == str(tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        TRUTH.save(tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []
