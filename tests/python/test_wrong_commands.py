"""Wrong uses of the command line: found before the work, in a line that says what was expected."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

import feldspar as fs
from feldspar.cli import cli

ROWS = pd.DataFrame({"smoker": ["yes", "no", "no"], "health": ["poor", "good", "good"]})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with a model and rows."""
    monkeypatch.chdir(tmp_path)
    table = fs.Table.from_frame(ROWS)
    term = [("smoker", "yes"), ("health", "poor")]
    fs.MarkovNetwork.from_terms(table.schema, [(term, 1.0)]).save("model.json")
    ROWS.to_csv("rows.csv", index=False)
    return tmp_path


def told(*arguments: str, code: int) -> str:
    """Run a command that must fail; return the last line on standard error."""
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    return result.stderr.splitlines()[-1]


@pytest.mark.parametrize("command", ["query model.json", "sample model.json 3 -o new.csv"])
def test_evidence_may_be_repeated_but_not_contradict(folder: Path, command: str) -> None:
    twice = ["--evidence", "smoker=yes", "--evidence", "smoker=no"]
    assert "'smoker' is given twice" in told(*command.split(), *twice, code=2)
    both = ["--evidence", "smoker=yes", "--evidence", "health=good"]
    assert CliRunner().invoke(cli, [*command.split(), *both]).exit_code == 0


@pytest.fixture
def odd_names(folder: Path) -> fs.Schema:
    """The schema of odd.json, whose names and labels hold commas and equals signs."""
    names = ["dep", "a,b", "x=y", "dep, later"]
    labels = [["nein", "ja, stark", "[1.5, 2)"], ["u", "v"], ["1=2", "u,v"], [0, 1]]
    schema = fs.Schema([3, 2, 2, 2], names=names, labels=labels)
    fs.MarkovNetwork.from_terms(schema, []).save("odd.json")
    return schema


@pytest.mark.parametrize(
    ("texts", "known"),
    [
        (["dep=ja, stark"], {"dep": "ja, stark"}),
        (["dep=[1.5, 2)"], {"dep": "[1.5, 2)"}),
        (["dep=ja, stark,a,b=v"], {"dep": "ja, stark", "a,b": "v"}),
        (["a,b=u, x=y = 1=2 ,dep=nein"], {"a,b": "u", "x=y": "1=2", "dep": "nein"}),
        (["x=y=u,v", "dep, later=1"], {"x=y": "u,v", "dep, later": 1}),
        (["dep, later=1,dep=nein"], {"dep, later": 1, "dep": "nein"}),
        (["0=ja, stark,3=1"], {"dep": "ja, stark", "dep, later": 1}),
        (["dep=nein,,a,b=v,"], {"dep": "nein", "a,b": "v"}),
    ],
)
def test_evidence_may_hold_commas_and_equals_signs(
    odd_names: fs.Schema, texts: list[str], known: dict[str, Any]
) -> None:
    evidence = [part for text in texts for part in ("--evidence", text)]
    result = CliRunner().invoke(cli, ["query", "odd.json", *evidence, "--map", "--json"])
    assert result.exit_code == 0, result.output
    state = json.loads(result.stdout)["state"]
    assert {name: state[name] for name in known} == known
    sample = ["sample", "odd.json", "5", "-o", "new.csv", *evidence]
    assert CliRunner().invoke(cli, sample).exit_code == 0
    rows = fs.read_table("new.csv", schema=odd_names)
    for name, value in known.items():
        codes = rows.to_numpy()[:, odd_names.index(name)]
        assert (codes == odd_names.code(name, value)).all()


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("smoker=yes,healt=good", 1, "no variable is called 'healt'; did you mean health?"),
        ("smoker=yes,good", 2, "expected NAME=VALUE, got 'good'"),
        ("smoker", 2, "expected NAME=VALUE, got 'smoker'"),
        ("smoker=yes, often", 2, "expected NAME=VALUE, got 'often'"),
        ("smoker=often, too", 1, "variable 'smoker' has no value 'often, too'"),
        ("smoker=--1", 1, "variable 'smoker' has no value '--1'"),
    ],
)
def test_what_is_no_evidence_is_named(folder: Path, text: str, code: int, message: str) -> None:
    assert message in told("query", "model.json", "--evidence", text, code=code)


@pytest.mark.parametrize("text", ["true", "True", "TRUE"])
def test_truth_values_are_known_by_their_spellings(folder: Path, text: str) -> None:
    (folder / "days.csv").write_text("rain,wind\ntrue,1\nfalse,0\ntrue,1\n", "utf-8")
    for command in (
        f"learn days.csv --method dtsl --kappa 1 --prior-sd 1 --zero-value rain={text} -o d.json",
        f"query d.json --evidence rain={text}",
    ):
        result = CliRunner().invoke(cli, command.split())
        assert result.exit_code == 0, result.output


def test_texts_that_look_like_numbers_are_labels(folder: Path) -> None:
    schema = fs.Schema([3], names=["grade"], labels=[["1", "0", "best"]])
    fs.MarkovNetwork.from_terms(schema, []).save("grades.json")
    question = ["query", "grades.json", "--evidence", "grade=1", "--map", "--json"]
    result = CliRunner().invoke(cli, question)
    assert json.loads(result.stdout)["state"] == {"grade": "1"}


def test_blanks_around_names_and_labels_do_not_count(folder: Path) -> None:
    schema = fs.Schema([2, 2], names=["age", " work"], labels=[None, [" Private", " State"]])
    fs.MarkovNetwork.from_terms(schema, []).save("work.json")
    for evidence in ("work=State,age=1", "age=1, work=State"):
        question = ["query", "work.json", "--evidence", evidence, "--map", "--json"]
        state = json.loads(CliRunner().invoke(cli, question).stdout)["state"]
        assert state == {"age": 1, " work": " State"}


def test_rows_are_written_as_what_their_name_says(folder: Path) -> None:
    message = told("sample", "model.json", "3", "-o", "rows.xlsx", code=2)
    assert "rows.xlsx: expected a name that ends with .csv, .data, .parquet" in message


@pytest.mark.parametrize(
    "command",
    [
        "learn rows.csv -o closed/model.json",
        "convert model.json closed/model.mn",
        "sample model.json 3 -o closed/rows.csv",
        "compare rows.csv --methods independent -o closed/report.html",
        "demo --output closed",
    ],
)
def test_a_read_only_folder_is_found_before_the_work(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    (folder / "closed").mkdir()

    def access(path: Any, mode: int) -> bool:  # whoever runs the tests may write anywhere
        return not (Path(path).name == "closed" and mode & os.W_OK)

    monkeypatch.setattr(os, "access", access)
    message = told(*command.split(), code=2)
    assert "the folder closed may not be written to" in message or "'closed' is not wri" in message
    assert not list((folder / "closed").iterdir())


COMMANDS_THAT_READ = {
    "learn": "learn {} -o new.json",
    "score": "score model.json {}",
    "query": "query model.json --rows {}",
    "compare": "compare {} --methods independent",
    "convert": "convert network.json new.mn --data {}",
}


@pytest.mark.parametrize("command", COMMANDS_THAT_READ)
def test_whether_there_is_a_header_can_be_said(folder: Path, command: str) -> None:
    fs.DependencyNetwork(kappa=1.0).fit(ROWS, X_valid=ROWS).save("network.json")
    (folder / "one.csv").write_text("yes,poor\n", "utf-8")
    arguments = COMMANDS_THAT_READ[command].format("one.csv").split()
    assert "if it holds data, pass header=False (to a command: --no-header)" in told(
        *arguments, code=1
    )
    (folder / "four.csv").write_text("yes,poor\n" * 2 + "no,good\n" * 2, "utf-8")
    arguments = COMMANDS_THAT_READ[command].format("four.csv").split()
    assert CliRunner().invoke(cli, [*arguments, "--no-header"]).exit_code == 0


@pytest.mark.filterwarnings("default")
def test_a_line_that_may_be_a_header_is_told_of(folder: Path) -> None:
    (folder / "years.csv").write_text("2020,2021,2022\n" + "0,1,1\n1,1,0\n" * 9, "utf-8")
    learn = ["learn", "years.csv", "-o", "new.json"]
    result = CliRunner().invoke(cli, learn)
    assert result.exit_code == 0
    assert "Warning: years.csv: line 1 was read as an example" in result.stderr
    result = CliRunner().invoke(cli, [*learn, "--header"])
    assert result.stderr == ""
    assert fs.MarkovNetwork.load("new.json").schema.names == ("2020", "2021", "2022")


def test_unknown_methods_come_with_what_is_known(folder: Path) -> None:
    message = told("compare", "rows.csv", "--methods", "xyz", code=2)
    assert "there is no method 'xyz'; expected conjunctions, dtsl, l1" in message
    message = told("compare", "rows.csv", "--methods", "dtls", code=2)
    assert "there is no method 'dtls'; did you mean dtsl" in message


def test_a_parquet_column_of_another_type(folder: Path) -> None:
    ROWS.assign(day=pd.Timestamp("2020-01-01")).to_parquet("days.parquet")
    message = told("learn", "days.parquet", "-o", "new.json", code=1)
    assert message.startswith("Error: days.parquet: column 'day' has type Datetime")
    assert message.endswith("expected categories, truth values, integers or text")


@pytest.fixture
def dependency(folder: Path) -> fs.DependencyNetwork:
    """The dependency network in trees.json, which knows no marginals."""
    schema = fs.MarkovNetwork.load("model.json").schema
    trees = {"smoker": [0.5, 0.5], "health": [0.2, 0.8]}
    network = fs.DependencyNetwork.from_trees(schema, trees)
    network.save("trees.json")
    return network


@pytest.mark.usefixtures("dependency")
@pytest.mark.parametrize(
    ("command", "option", "needed"),
    [
        ("score model.json rows.csv --groups 2", "--groups", "--cmll"),
        ("score model.json rows.csv --split contiguous", "--split", "--cmll"),
        ("score model.json rows.csv --reverse", "--reverse", "--cmll"),
        ("score model.json rows.csv --method exact", "--method", "--cmll"),
        ("score model.json rows.csv --seed 0", "--seed", "--cmll"),
        ("convert model.json new.mn --data rows.csv", "--data", "dependency"),
        ("convert model.json new.mn --base mode", "--base", "dependency"),
        ("convert trees.json new.dn --orders one", "--orders", "dependency"),
        ("convert trees.json new.dn --data rows.csv", "--data", "a .dn file holds no marginals"),
        ("convert trees.json new.mn --no-header", "--header", "--data"),
        ("learn rows.csv -o new.json --method dn2mn --prior-sd 1", "--prior-sd", "--relearn"),
        ("learn rows.csv -o new.json --method dn2mn --C 1", "--C", "--cpd logistic"),
        ("learn rows.csv -o new.json --method dn2mn --cpd logistic --kappa 1", "--kappa", "tree"),
        ("learn rows.csv -o new.json --method l1 --gamma 1", "--gamma", "--selection ebic"),
        ("learn rows.csv -o new.json --method dtl1 --gamma 1", "--gamma", "--selection ebic"),
        (
            "learn rows.csv -o new.json --method blm --checkpoint-every 1",
            "--checkpoint-every",
            "--checkpoint",
        ),
        (
            "learn rows.csv -o new.json --method dtblm --distance hamming --power 2",
            "--power",
            "--distance gvdm",
        ),
        ("learn rows.csv -o new.json --method grafting --penalty l2 --l1 1", "--l1", "--penalty"),
    ],
)
def test_options_that_would_do_nothing_are_refused(command: str, option: str, needed: str) -> None:
    message = told(*command.split(), code=2)
    assert f"{option} " in message
    assert needed in message
    assert not Path("new.json").exists()


def test_a_dependency_network_that_stays_one_takes_marginals(
    dependency: fs.DependencyNetwork,
) -> None:
    command = ["convert", "trees.json", "known.json", "--data", "rows.csv", "--header"]
    assert CliRunner().invoke(cli, command).exit_code == 0
    found = fs.DependencyNetwork.load("known.json").marginals
    expected = dependency.with_marginals(fs.read_table("rows.csv", schema=dependency.schema))
    assert found is not None
    assert expected.marginals is not None
    assert [p.tolist() for p in found] == [p.tolist() for p in expected.marginals]
