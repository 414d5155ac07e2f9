"""`feldspar query` and `sample`: answers, files of rows, and how they fail."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

import feldspar as fs
from command_line import run, run_json


def test_query_tells_probabilities(model: str) -> None:
    expected = fs.MarkovNetwork.load(model).marginals({"rain": "yes"})["wind"]
    result = run_json("query", model, "--evidence", "rain=yes")
    assert list(result["marginals"]) == ["wind"]
    assert list(result["marginals"]["wind"].values()) == pytest.approx(expected.tolist())
    assert result["method"] == "exact"
    shown = run("query", model, "--evidence", "0=yes", "--target", "wind", "--method", "gibbs")
    assert shown.exit_code == 0
    assert "gale" in shown.stdout


def test_query_finds_the_most_probable_state(model: str) -> None:
    expected = fs.MarkovNetwork.load(model).most_probable({"rain": "yes"})
    result = run_json("query", model, "--evidence", "rain=yes", "--map")
    assert result["state"] == expected.state
    assert result["proven"]
    assert run("query", model, "--map").exit_code == 0


@pytest.mark.parametrize("evidence", ["rain", "rain=yes,rain=no", "snow=yes", "rain=maybe"])
def test_query_refuses_bad_evidence(model: str, evidence: str) -> None:
    result = run("query", model, "--evidence", evidence)
    assert result.exit_code in (1, 2)
    assert result.stderr.count("\n") <= 4


def test_sample_writes_rows(model: str) -> None:
    run_json("sample", model, "50", "--evidence", "rain=yes", "-o", "rows.csv")
    rows = fs.read_table("rows.csv")
    assert len(rows) == 50
    assert rows.schema.names == ("rain", "wind")
    assert rows.schema.labels[0] == ("yes",)


def test_query_takes_rows(model: str) -> None:
    Path("holes.csv").write_text("rain,wind\nyes,\n,calm\nno,gale\n")
    network = fs.MarkovNetwork.load(model)
    result = run_json("query", model, "--rows", "holes.csv")
    told = {(e["row"], e["variable"], e["value"]): e["probability"] for e in result["marginals"]}
    assert len(told) == 4
    expected = network.marginals({"rain": "yes"})["wind"]
    labels = network.schema.labels[1]
    assert [told[0, "wind", label] for label in labels] == pytest.approx(expected.tolist())
    assert result["method"] == "exact"
    assert result["expected_error"] == 0
    one = run_json("query", model, "--rows", "holes.csv", "--target", "rain")["marginals"]
    assert [entry["row"] for entry in one] == [0, 0, 1, 1, 2, 2]  # given the rest of each row
    expected = network.marginals({"wind": "gale"})["rain"]
    assert [entry["probability"] for entry in one[4:]] == pytest.approx(expected.tolist())
    shown = run("query", model, "--rows", "holes.csv").stdout
    assert f"{told[0, 'wind', 'gale']:.4f}" in shown
    states = run_json("query", model, "--rows", "holes.csv", "--map")["states"]
    best = network.most_probable({"rain": "yes"}).state["wind"]
    assert states[0] == {"row": 0, "variable": "wind", "value": best}
    assert run("query", model, "--rows", "holes.csv", "--map").exit_code == 0


def test_an_interrupted_query_has_no_answer(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    marginals = fs.MarkovNetwork.marginals

    def interrupted(*args: Any, **options: Any) -> fs.inference.Marginals:
        found = marginals(*args, **options)  # samplers return what they have so far
        told = dataclasses.replace(found.diagnostics, status="interrupted")
        return dataclasses.replace(found, diagnostics=told)

    monkeypatch.setattr(fs.MarkovNetwork, "marginals", interrupted)
    Path("holes.csv").write_text("rain,wind\nyes,\n")
    for more in ((), ("--json",), ("--rows", "holes.csv")):
        result = run("query", model, *more)
        assert (result.exit_code, result.stdout) == (130, "")
        assert result.stderr == "Interrupted.\n"


def test_query_tells_labels_as_the_model_has_them(folder: Path) -> None:
    schema = fs.Schema([2, 2], names=["rain", "wet"], labels=[[False, True], None])
    fs.MarkovNetwork.from_terms(schema, [([(0, 1), (1, 1)], 1.0)]).save("typed.json")
    Path("holes.csv").write_text("rain,wet\n,1\nTrue,\n")
    asked = ("query", "typed.json", "--rows", "holes.csv")
    values = [entry["value"] for entry in run_json(*asked)["marginals"]]
    assert values == [False, True, 0, 1]
    assert [type(value) for value in values] == [bool, bool, int, int]
    states = [entry["value"] for entry in run_json(*asked, "--map")["states"]]
    assert states == [True, 1]
    assert "False" in run(*asked).stdout


@pytest.mark.parametrize("file", ["calm.csv", "calm.parquet"])
def test_query_takes_rows_without_the_target(model: str, file: str) -> None:
    labels = fs.MarkovNetwork.load(model).schema.labels[1]
    fs.write_table(fs.Table.from_array([[0], [1]], names=["wind"], labels=[labels]), file)
    told = run_json("query", model, "--rows", file, "--target", "rain")["marginals"]
    assert [entry["row"] for entry in told] == [0, 0, 1, 1]
    expected = fs.MarkovNetwork.load(model).marginals({"wind": labels[1]})["rain"]
    assert [entry["probability"] for entry in told[2:]] == pytest.approx(expected.tolist())
    refused = run("query", model, "--rows", file)
    assert refused.exit_code == 1
    assert "rain" in refused.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--rows", "rain.csv", "--evidence", "rain=yes"),
        ("--map", "--method", "gibbs"),
        ("--weights", "n"),
    ],
)
def test_query_refuses_options_that_contradict(model: str, options: tuple[str, ...]) -> None:
    result = run("query", model, *options)
    assert result.exit_code == 2
    assert options[0] in result.stderr
