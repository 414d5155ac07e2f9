"""What all commands share, and commands that put several learners side by side."""

import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

import feldspar as fs
from feldspar import learners
from feldspar.cli import cli
from feldspar.cli.commands import compare as compare_module
from feldspar.cli.methods import METHODS, Learned, Method, Task
from feldspar.learners._base import MarkovLearner

RAIN = "rain,wind\n" + "yes,gale\nno,calm\nno,calm\nyes,gale\nyes,calm\nno,gale\n" * 8

# What a parameter of a learner may be that no option is made of.
NO_OPTION = {
    *("random_state", "n_jobs", "verbose", "on_interrupt"),  # of every command, or set by it
    "features",  # a pool of features has no short form
}
# Learners within learners: their own parameters are options instead.
NESTED = {"dtl1": {"dtsl", "l1"}, "dtblm": {"dtsl"}}
ESTIMATORS = {
    **{name.lower(): getattr(learners, name) for name in learners.__all__},
    "l1": learners.L1Neighborhood,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder with some rows in rain.csv."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rain.csv").write_text(RAIN)
    return tmp_path


@pytest.fixture
def model(folder: Path) -> str:
    table = fs.read_table("rain.csv")
    fs.learn_weights(fs.FeatureSet.conjunctions(table, order=2), table).save("rain.json")
    return "rain.json"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def run_json(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    content: dict[str, Any] = json.loads(result.stdout)
    return content


# ---- options ----


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_hyper_parameter_is_an_option(method: Method) -> None:
    kind = ESTIMATORS.get(method.name.replace("-", ""))
    if kind is None:
        assert method.name == "conjunctions"
        return
    options = {option.name for option in method.options}
    wanted = set(kind().get_params(deep=False)) - NO_OPTION - NESTED.get(method.name, set())
    missing = wanted - options
    assert not missing, f"feldspar learn --method {method.name} has no option for {missing}"


def test_every_learner_is_a_method() -> None:
    names = {method.name for method in METHODS}
    kinds = {ESTIMATORS[name.replace("-", "")] for name in names - {"conjunctions"}}
    every = {
        kind
        for name in learners.__all__
        if isinstance(kind := getattr(learners, name), type) and issubclass(kind, MarkovLearner)
    }
    assert every <= kinds


def test_zero_values_reach_the_trees(folder: Path) -> None:
    grid = ["--kappa", "1", "--conversion", "nonzero", "--prior-sd", "1", "--min-leaf-weight", "1"]
    for name, zero in (("no.json", "no"), ("yes.json", "yes")):
        zeros = ["--zero-value", f"rain={zero}", "--zero-value", "wind=calm"]
        run_json("learn", "rain.csv", "--method", "dtsl", *grid, *zeros, "-o", name)
    tests = [
        {test for tests in fs.MarkovNetwork.load(f).features for test in tests if test[0] == 0}
        for f in ("no.json", "yes.json")
    ]
    assert tests[0] != tests[1]
    wrong = run("learn", "rain.csv", "--method", "dtsl", "--zero-value", "rain", "-o", "a.json")
    assert wrong.exit_code == 2
    assert "expected NAME=VALUE" in wrong.stderr


# ---- exit codes ----


def test_exit_codes(folder: Path, model: str) -> None:
    """As docs/guide/command-line.md tells them; 130 is tested with Ctrl-C in test_cli.py."""
    assert run("show", model).exit_code == 0
    assert run("show", "absent.json").exit_code == 1
    assert run("show").exit_code == 2
    assert run(
        "reproduce", "lowd2014-table5", "--datasets", "nltcs", "--budget", "0"
    ).exit_code in (
        0,
        3,
    )


# ---- completion ----


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, tmp_path: Path) -> None:
    script = run("completion", shell).stdout
    assert "_FELDSPAR_COMPLETE" in script
    assert run_json("completion", shell)["script"].strip() == script.strip()
    if shutil.which(shell):
        file = tmp_path / "script"
        file.write_text(script)
        subprocess.run([shell, "-n", str(file)], check=True)


def test_completion_completes() -> None:
    process = subprocess.run(
        [sys.executable, "-m", "feldspar"],
        env={
            **os.environ,
            "_FELDSPAR_COMPLETE": "bash_complete",
            "COMP_WORDS": "feldspar comp",
            "COMP_CWORD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.stdout.split() == ["plain,compare", "plain,completion"]


def test_lists_of_names_complete_their_last() -> None:
    parameter = next(p for p in cli.commands["compare"].params if p.name == "methods")
    offered = parameter.shell_complete(click.Context(cli.commands["compare"]), "dtsl,d")
    assert "dtsl,dn2mn" in [item.value for item in offered]


def test_experiments_complete() -> None:
    parameter = cli.commands["reproduce"].params[0]
    offered = parameter.shell_complete(click.Context(cli.commands["reproduce"]), "lowd2012")
    assert [item.value for item in offered] == [
        "lowd2012-table4",
        "lowd2012-table5",
        "lowd2012-figure1",
    ]


# ---- compare ----


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods that are quick, and one that fails."""

    def learn(task: Task, options: Any, order: int) -> Learned:
        if order == 1:
            warnings.warn("too\nsimple", UserWarning, stacklevel=1)
        features = fs.FeatureSet.conjunctions(task.train, order=order)
        network = fs.learn_weights(features, task.train)
        assert task.valid is not None
        return Learned(network, network.score(task.valid), dict(options), {"order": order}, [])

    def fail(task: Task, options: Any) -> Learned:
        raise ValueError("no such luck")

    made = {
        "alone": Method("alone", "", (), lambda t, o: learn(t, o, 1)),
        "pairs": Method("pairs", "", (), lambda t, o: learn(t, o, 2)),
        "broken": Method("broken", "", (), fail),
    }
    monkeypatch.setattr(sys.modules[compare_module.callback.__module__], "_BY_NAME", made)
    parameter = next(p for p in compare_module.params if p.name == "methods")
    monkeypatch.setattr(parameter.type, "names", list(made))


@pytest.mark.usefixtures("quick")
def test_compare_scores_the_networks_and_writes_a_page(folder: Path) -> None:
    test = "rain,wind\n" + "yes,gale\nno,calm\n" * 5
    (folder / "test.csv").write_text(test)
    arguments = ["compare", "rain.csv", "--methods", "alone,pairs", "--valid", "rain.csv"]
    result = run_json(*arguments, "--test", "test.csv", "-o", "report.html")
    table = fs.read_table("rain.csv")
    pairs = fs.learn_weights(fs.FeatureSet.conjunctions(table, order=2), table)
    expected = pairs.score(fs.read_table("test.csv", schema=table.schema))
    assert result["best"] == "pairs"
    assert result["contenders"][1]["pll"]["test"] == pytest.approx(expected)
    assert result["rows"] == {"train": 48, "valid": 48, "test": 10}
    page = Path("report.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert f"{expected:.4f}" in page
    assert "alone: too simple." in page
    assert result["contenders"][0]["warnings"] == ["too simple"]
    shown = run(*arguments, "--test", "test.csv")
    assert "behind best" in shown.stdout
    assert "compared by  mean PLL of the test rows" in shown.stdout


def test_imports_do_not_count_as_learning(folder: Path) -> None:
    code = """
import importlib, sys
from types import SimpleNamespace

def learn(task, options):
    sys.exit(0 if "feldspar.learners" in sys.modules else 7)

module = importlib.import_module("feldspar.cli.commands.compare")
module._BY_NAME = {"dtsl": SimpleNamespace(learn=learn)}
module.compare(["rain.csv", "--methods", "dtsl"])
"""
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, cwd=folder, check=False, timeout=60).returncode == 0


@pytest.mark.usefixtures("quick")
def test_compare_holds_out_a_tenth_and_judges_by_it(folder: Path) -> None:
    result = run_json("compare", "rain.csv", "--methods", "pairs", "--cmll", "--seed", "4")
    assert result["rows"] == {"train": 43, "valid": 5}
    assert result["judged_by"] == "valid"
    assert result["report"] is None
    assert result["contenders"][0]["cmll"] < 0


@pytest.mark.usefixtures("quick")
def test_one_method_that_fails_does_not_stop_the_others(folder: Path) -> None:
    result = run("compare", "rain.csv", "--methods", "broken,pairs", "-o", "report.html")
    assert result.exit_code == 3
    assert "broken failed: no such luck" in result.stderr
    assert "broken failed: no such luck" in Path("report.html").read_text("utf-8")
    assert "pairs" in result.stdout
    assert run("compare", "rain.csv", "--methods", "broken", "-o", "b.html").exit_code == 1
    assert not Path("b.html").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["rain.csv", "--methods", "dtls"], "there is no method 'dtls'; did you mean dtsl"),
        (["rain.csv", "--methods", ","], "expected one method or several"),
        (["rain.csv", "-o", "report.pdf"], "expected a name that ends with .html"),
        (["rain.csv", "-o", "absent/report.html"], "the folder absent does not exist"),
    ],
)
def test_compare_refuses_before_the_work(folder: Path, arguments: list[str], expected: str) -> None:
    result = run("compare", *arguments)
    assert result.exit_code == 2
    assert expected in result.stderr


def test_compare_learns_for_real(folder: Path) -> None:
    result = run_json("compare", "rain.csv", "--methods", "dn2mn", "--time-limit", "60")
    assert result["contenders"][0]["settings"]["cpd"] == "tree"
    assert result["contenders"][0]["pll"]["valid"] < 0
