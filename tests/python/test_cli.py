"""The command line: what it prints, what it writes, and how it fails."""

import dataclasses
import importlib
import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

import feldspar as fs
from feldspar import demo
from feldspar.cli import cli
from feldspar.cli.commands.learn import learn_command
from feldspar.cli.methods import METHODS, Learned, Method, Task
from feldspar.cli.sources import MODEL_SUFFIXES
from feldspar.io import models

RAIN = "rain,wind\nyes,gale\nyes,gale\nno,calm\nno,calm\nno,gale\nyes,calm\nno,calm\nyes,gale\n"
QUICK = ["--min-support", "0"]
# The module: a package of commands has the command itself by this name.
SHOW = importlib.import_module("feldspar.cli.commands.show")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder with some rows in rain.csv."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rain.csv").write_text(RAIN)
    return tmp_path


@pytest.fixture
def model(folder: Path) -> str:
    """A small model with names and labels."""
    assert run("learn", "rain.csv", *QUICK, "-o", "rain.json").exit_code == 0
    return "rain.json"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def run_json(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    content: dict[str, Any] = json.loads(result.stdout)
    return content


def failure(*arguments: str) -> str:
    """Run a command that must fail on its input; return its one line on standard error."""
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def every_command() -> list[list[str]]:
    names: list[list[str]] = [[]]
    for name, command in cli.commands.items():
        names.append([name])
        if isinstance(command, click.Group):
            names += [[name, inner] for inner in command.commands]
    return names


# ---- all commands ----


@pytest.mark.parametrize("command", every_command(), ids=" ".join)
def test_help_has_an_example_and_the_common_flags(command: list[str]) -> None:
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert f"Example:\n    feldspar {' '.join(command)}".rstrip() in result.stdout
    assert "--json" in result.stdout
    assert "--debug" in result.stdout


def test_version_is_the_package_s() -> None:
    assert run("--version").stdout.split()[-1] == fs.__version__


def test_wrong_usage_is_exit_code_2() -> None:
    assert run("score").exit_code == 2
    assert run("nonsense").exit_code == 2


def test_flags_may_stand_before_the_command(model: str) -> None:
    assert json.loads(run("--json", "show", model).stdout) == run_json("show", model)


def test_a_module_and_a_process_do_the_same(model: str) -> None:
    process = subprocess.run(
        [sys.executable, "-W", "error", "-m", "feldspar", "score", model, "rain.csv", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    assert json.loads(process.stdout) == run_json("score", model, "rain.csv")


def test_a_process_fails_in_one_line(folder: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "feldspar", "show", "absent.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 1
    assert process.stderr == "Error: absent.json: no such file or directory\n"


@pytest.mark.parametrize("module", ["click", "rich", "pandas", "matplotlib", "sklearn"])
def test_the_package_does_not_import_what_only_commands_need(module: str) -> None:
    code = f"import sys, feldspar; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- failures ----


def test_debug_shows_where(model: str) -> None:
    result = run("show", model, "--variable", "snow", "--debug")
    assert isinstance(result.exception, ValueError)
    assert isinstance(run("--debug", "show", "absent.json").exception, FileNotFoundError)


def test_ctrl_c_is_exit_code_130_and_leaves_the_old_file(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    before = Path(model).read_bytes()
    monkeypatch.setattr("feldspar.tuning.learn_weight_path", interrupted)
    result = run("learn", "rain.csv", "-o", model)
    assert result.exit_code == 130
    assert result.stderr == "Interrupted.\n"
    assert Path(model).read_bytes() == before


def test_a_bug_is_one_line_too(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(SHOW, "load_model", broken)
    assert "KeyError: 'x' (not expected; --debug shows where)" in failure("show", model)


def test_warnings_are_one_line(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    load = fs.MarkovNetwork.load

    def warned(path: Path) -> fs.MarkovNetwork:
        warnings.warn("mind\nthis", UserWarning, stacklevel=2)
        return load(path)

    monkeypatch.setattr(SHOW, "load_model", warned)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = run("show", model)
    assert result.exit_code == 0
    assert result.stderr == "Warning: mind this\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("nltc", "nltc: there is no such file or data set; did you mean nltcs?"),
        ("my.csv", "my.csv: there is no such file or data set; `feldspar data` lists"),
        ("digits:all", "expected digits:train, digits:valid, digits:test"),
        (".", ".: is a directory"),
    ],
)
def test_unknown_data_come_with_a_hint(model: str, source: str, expected: str) -> None:
    assert expected in failure("score", model, source)


def test_bad_rows_are_named(model: str) -> None:
    Path("bad.csv").write_text("rain,wind\nyes,gale\nyes,storm\n")
    message = failure("score", model, "bad.csv")
    assert "bad.csv" in message
    assert "storm" in message


def test_data_of_another_model_are_refused(model: str) -> None:
    assert "expected rain, wind" in failure("score", model, "digits")


# ---- learn ----


def test_learn_writes_what_learn_weights_finds(folder: Path) -> None:
    result = run_json("learn", "rain.csv", *QUICK, "--prior-sd", "0.7", "-o", "rain.json")
    table = fs.read_table("rain.csv")
    features = fs.FeatureSet.conjunctions(table, order=2)
    expected = fs.learn_weights(features, table, prior_sd=0.7)
    network = fs.MarkovNetwork.load("rain.json")
    np.testing.assert_array_equal(network.weights, expected.weights)
    assert network.schema == table.schema
    assert result["train_pll"] == expected.score(table)
    assert result["valid_pll"] is None
    assert result["status"] == "converged"


def test_learn_remembers_how(model: str) -> None:
    metadata = fs.MarkovNetwork.load(model).metadata
    assert metadata["learner"]["method"] == "conjunctions"
    assert metadata["learner"]["order"] == 2
    assert metadata["learner"]["best_params"] == {"prior_sd": 1.0, "l1": 0.0}
    assert metadata["training"]["prior_sd"] == 1.0


@pytest.mark.parametrize("method", ["independent", "dtsl"])
def test_learn_without_end(folder: Path, method: str) -> None:
    run_json("learn", "rain.csv", "--method", method, "--time-limit", "inf", "-o", "a.json")
    learner = fs.MarkovNetwork.load("a.json").metadata["learner"]
    assert learner.get("time_limit") is None


def test_learn_keeps_what_validates_best(folder: Path) -> None:
    grid = ["--prior-sd", "0.01", "--prior-sd", "none", "--l1", "0", "--l1", "3"]
    result = run_json("learn", "rain.csv", "--valid", "rain.csv", *QUICK, *grid, "-o", "a.json")
    tried = [(trial["prior_sd"], trial["l1"]) for trial in result["trials"]]
    assert tried == [(0.01, 0), (0.01, 3), (None, 0), (None, 3)]
    # Validated on the training rows, no penalty is best.
    assert result["best_params"] == {"prior_sd": None, "l1": 0}
    assert result["valid_pll"] == max(trial["valid_pll"] for trial in result["trials"])
    assert fs.MarkovNetwork.load("a.json").score(fs.read_table("rain.csv")) == pytest.approx(
        result["valid_pll"], abs=1e-12
    )


def test_validation_rows_are_coded_like_the_training_rows(folder: Path) -> None:
    # Alone, this file would know one wind only, and call it by the code of calm.
    (folder / "gales.csv").write_text("rain,wind\nyes,gale\nno,gale\n")
    result = run_json("learn", "rain.csv", "--valid", "gales.csv", *QUICK, "-o", "a.json")
    gales = fs.MarkovNetwork.load("a.json").score([[1, 1], [0, 1]])
    assert result["valid_pll"] == pytest.approx(gales, abs=1e-12)


def test_learn_refuses_validation_rows_with_new_values(folder: Path) -> None:
    (folder / "storm.csv").write_text("rain,wind\nyes,storm\n")
    message = failure("learn", "rain.csv", "--valid", "storm.csv", "-o", "a.json")
    assert "storm.csv, line 2" in message


@pytest.mark.parametrize("method", ["conjunctions", "dtsl", "independent"])
def test_learn_scores_the_rows_it_holds_out(folder: Path, method: str) -> None:
    table = fs.datasets.make_survey(200, random_state=0)
    fs.write_table(table, "survey.csv")
    learn = ["learn", "survey.csv", "--method", method, "-o", "a.json", "--seed", "3"]
    learn += ["--prior-sd", "1", "--prior-sd", "0.1"]
    result = run_json(*learn)
    held_out, _ = fs.read_table("survey.csv").split(0.1, 3)
    network = fs.MarkovNetwork.load("a.json")
    assert result["valid_pll"] == pytest.approx(network.score(held_out), abs=1e-9)
    assert result["held_out"] is True
    shown = run(*learn).stdout
    assert f"{result['train_pll']:.6f} (of all rows, those held out included)" in shown
    assert f"{result['valid_pll']:.6f} (of the rows held out)" in shown
    by_valid = run_json(*learn, "--valid", "survey.csv")
    assert by_valid["held_out"] is False


@pytest.mark.filterwarnings("always")
def test_learn_uses_rows_with_gaps_and_says_so(folder: Path) -> None:
    rows = "a,b\n" + "x,0\ny,1\nx,0\ny,1\n" * 5 + ",1\nx,\n"
    (folder / "gaps.csv").write_text(rows, "utf-8")
    for options in (["--method", "l1", "--C", "1", "--rule", "or"], []):
        result = run("learn", "gaps.csv", "--prior-sd", "1", "-o", "gaps.json", *options)
        assert "missing values in 2 columns: a (1), b (1)" in result.stderr
        assert "train PLL" in result.stdout


def test_learn_validates_a_data_set_on_its_own_part(folder: Path) -> None:
    result = run_json("learn", "digits", "--order", "1", "-o", "digits.json")
    network = fs.MarkovNetwork.load("digits.json")
    assert result["valid_pll"] == network.score(fs.datasets.load("digits").valid)


def test_learn_holds_rows_out_by_seed(folder: Path) -> None:
    def weights(seed: str) -> list[float]:
        grid = ["--prior-sd", "1", "--prior-sd", "2", "--seed", seed]
        run_json("learn", "digits:valid", "--order", "1", *grid, "-o", "a.json")
        return fs.MarkovNetwork.load("a.json").weights.tolist()

    assert weights("1") == weights("1")
    assert weights("1") != weights("2")


def test_learn_takes_weights_of_rows(folder: Path) -> None:
    (folder / "weighted.csv").write_text("a,n\n0,1\n1,3\n")
    (folder / "long.csv").write_text("a\n0\n1\n1\n1\n")
    run_json("learn", "weighted.csv", "--weights", "n", "-o", "weighted.json")
    run_json("learn", "long.csv", "-o", "long.json")
    weighted, long = (fs.MarkovNetwork.load(f"{name}.json") for name in ("weighted", "long"))
    assert weighted.schema.names == ("a",)
    np.testing.assert_allclose(weighted.weights, long.weights, rtol=1e-6)


def test_learn_shows_a_table_of_trials(folder: Path) -> None:
    result = run("learn", "digits", "--order", "1", "--l1", "0", "--l1", "9", "-o", "a.json")
    assert result.exit_code == 0
    assert "valid PLL" in result.stdout
    assert "with non-zero weight" in result.stdout
    assert result.stdout.count("converged") == 3  # two trials and the summary


@pytest.mark.parametrize("name", ["model.txt", "model", "absent/model.json", "."])
def test_learn_refuses_a_bad_output_before_the_work(folder: Path, name: str) -> None:
    result = run("learn", "absent.csv", "-o", name)
    assert result.exit_code == 2
    assert "--output" in result.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("conjunctions", "--min-support", "inf"),
        ("grafting", "--max-table-entries", "inf"),
        ("blm", "--checkpoint-every", "inf"),
    ],
    ids=lambda options: options[0],
)
def test_learn_remembers_numbers_without_end(folder: Path, options: tuple[str, ...]) -> None:
    method, option, _ = options
    run_json("learn", "rain.csv", "--method", *options, "-o", "a.json")
    learner = fs.MarkovNetwork.load("a.json").metadata["learner"]
    assert learner["method"] == method
    assert learner[option.removeprefix("--").replace("-", "_")] == "inf"


def test_answers_may_hold_numbers_without_end(folder: Path) -> None:
    """Probabilities below what a number can hold have no logarithm, but a score all the same."""
    terms = [([(0, a), (1, a)], 900.0) for a in (0, 1)]
    fs.MarkovNetwork.from_terms(fs.Schema([2, 2]), terms).save("agree.json")
    Path("odd.csv").write_text("v0,v1\n0,0\n0,1\n")
    result = run_json("score", "agree.json", "odd.csv", "--cmll", "--groups", "2")
    assert (result["cmll"], result["cmll_stderr"]) == ("-inf", None)


@pytest.mark.parametrize("suffix", [".uai", ".uai.gz"])
def test_learn_keeps_a_network_that_the_file_cannot_hold(folder: Path, suffix: str) -> None:
    names = [f"v{i}" for i in range(21)]
    rows = "1," * 20 + "1\n" + "0," * 20 + "0\n"
    Path("wide.csv").write_text(",".join(names) + "\n" + rows * 20)
    command = ("learn", "wide.csv", "--method", "blm", "--initial", "full", "--alpha", "0.1")
    told = failure(*command, "-o", f"wide{suffix}")
    assert "; the network is in wide.json instead" in told
    assert {path.name for path in folder.glob("wide*")} == {"wide.csv", "wide.json"}
    assert fs.MarkovNetwork.load("wide.json").metadata["learner"]["method"] == "blm"
    Path("wide.json").write_text("mine")
    told = failure(*command, "-o", f"wide{suffix}")
    assert "wide.json" not in told
    assert Path("wide.json").read_text() == "mine"


def test_learn_leaves_nothing_of_a_failure(folder: Path) -> None:
    (folder / "holes.csv").write_text("a,b\n0,1\n,1\n1,0\n")
    assert "missing" in failure("learn", "holes.csv", "-o", "a.json")
    assert sorted(path.name for path in folder.iterdir()) == ["holes.csv", "rain.csv"]


@pytest.mark.parametrize("sd", ["0", "-1", "wide"])
def test_learn_refuses_a_bad_prior(folder: Path, sd: str) -> None:
    result = run("learn", "rain.csv", "--prior-sd", sd, "-o", "a.json")
    assert result.exit_code == 2
    assert "--prior-sd" in result.stderr


def test_learn_tells_the_options_of_methods_apart(folder: Path) -> None:
    def learn(task: Task, options: Mapping[str, Any]) -> Learned:
        network = fs.learn_weights([[("rain", "yes")]], task.train)
        return Learned(network, None, dict(options), {}, [])

    other = Method("other", "a second method", (click.Option(["--depth"], type=int),), learn)
    command = learn_command([*METHODS, other])
    runner = CliRunner()
    wrong = runner.invoke(command, ["rain.csv", "--depth", "3", "-o", "a.json"])
    assert wrong.exit_code == 2
    assert "--depth is no option of --method conjunctions" in wrong.stderr
    right = ["rain.csv", "--method", "other", "--depth", "3", "-o", "a.json"]
    assert runner.invoke(command, right).exit_code == 0
    learner = fs.MarkovNetwork.load("a.json").metadata["learner"]
    assert learner == {"method": "other", "depth": 3, "best_params": {}}


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("dtsl", ["--kappa", "1", "--conversion", "prune", "--min-leaf-weight", "1"]),
        ("l1", ["--C", "1", "--C", "0.1", "--rule", "or"]),
        ("l1", ["--selection", "ebic", "--gamma", "0.5"]),
        ("dtl1", ["--kappa", "1", "--C", "1", "--min-leaf-weight", "1"]),
        ("dn2mn", ["--cpd", "logistic", "--C", "1"]),
        ("grafting", ["--scheme", "grad", "--l1", "2", "--l1", "1", "--inference", "exact"]),
        ("grafting", ["--penalty", "l2", "--prior-sd", "1", "--min-gradient", "1", "--relearn"]),
        ("blm", ["--alpha", "0.1", "--alpha", "1", "--neighbors", "1", "--distance", "hamming"]),
        ("blm", ["--initial", "full", "--relearn-every", "2", "--checkpoint", "search.json"]),
        ("dtblm", ["--kappa", "1", "--min-leaf-weight", "1", "--alpha", "0.1", "--power", "2"]),
        ("topdown", ["--alpha", "0.1", "--additions", "1", "--tests", "full", "--prior-sd", "0.5"]),
        ("dn2mn", ["--kappa", "1", "--relearn", "--orders", "one", "--min-leaf-weight", "1"]),
        ("gssl", ["--n-generated", "50", "--threshold", "0", "--l1", "0.1", "--initial", "full"]),
        ("busl", ["--alpha", "0.2", "--min-gain", "0.1", "--rule", "or", "--test", "chi2"]),
        ("independent", ["--prior-sd", "1", "--prior-sd", "none"]),
        ("independent", ["--prior-sd", "inf"]),
    ],
)
def test_learners_are_methods(folder: Path, method: str, options: list[str]) -> None:
    result = run_json(
        "learn", "rain.csv", "--valid", "rain.csv", "--method", method, *options, "-o", "a.json"
    )
    network = fs.MarkovNetwork.load("a.json")
    assert network.score(fs.read_table("rain.csv")) == pytest.approx(result["valid_pll"])
    assert network.metadata["learner"]["method"] == method
    assert network.metadata["learner"]["best_params"] == result["best_params"]
    shown = run(
        "learn", "rain.csv", "--method", method, *options, "--valid", "rain.csv", "-o", "b.mn"
    )
    assert shown.exit_code == 0
    assert "settings" in shown.stdout


def test_the_reference_of_nltcs(
    folder: Path, benchmark: Callable[[str], fs.datasets.DataSplit]
) -> None:
    benchmark("nltcs")
    arguments = ["--order", "2", "--min-support", "0", "--prior-sd", "none", "-o", "nltcs.mn"]
    result = run_json("learn", "nltcs", *arguments)
    assert result["train_pll"] == pytest.approx(-4.948242, abs=1e-5)
    assert run_json("score", "nltcs.mn", "nltcs")["pll"] == pytest.approx(-4.950559, abs=5e-5)


# ---- query, sample ----


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


def test_score_with_cmll(model: str) -> None:
    result = run_json("score", model, "rain.csv", "--cmll", "--groups", "2", "--method", "exact")
    table = fs.read_table("rain.csv")
    expected = fs.MarkovNetwork.load(model).cmll(table, groups=2, method="exact")
    assert result["cmll"] == pytest.approx(expected.mean)
    shown = run("score", model, "rain.csv", "--cmll", "--groups", "2")
    assert "NCMLL" in shown.stdout


def test_score_with_cmll_needs_no_groups(model: str) -> None:
    found = run_json("score", model, "rain.csv", "--cmll", "--method", "exact")["cmll"]
    two = ("--cmll", "--method", "exact", "--groups", "2")
    assert found == run_json("score", model, "rain.csv", *two)["cmll"]
    told = failure("score", model, "rain.csv", "--cmll", "--groups", "4")
    assert "groups: expected 2 to 2" in told


def test_compare_leaves_the_cmll_of_a_single_variable_out(folder: Path) -> None:
    Path("coin.csv").write_text("coin\n" + "head\ntail\ntail\n" * 10)
    result = run("compare", "coin.csv", "--methods", "independent", "--cmll", "--json")
    assert result.exit_code == 0, result.output
    assert "CMLL needs at least 2 variables" in result.stderr
    assert json.loads(result.stdout)["contenders"][0].get("cmll") is None


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


def test_score_knows_the_reverse_protocol(folder: Path) -> None:
    terms = [([("a", 1), ("b", 1)], 1.0), ([("b", 1), ("c", 1)], -2.0), ([("c", 1)], 0.5)]
    network = fs.MarkovNetwork.from_terms(fs.Schema([2, 2, 2], names=["a", "b", "c"]), terms)
    network.save("chain.json")
    Path("rows.csv").write_text("a,b,c\n1,1,0\n0,1,1\n0,0,1\n")
    options = ("--cmll", "--groups", "3", "--method", "exact")
    plain, reverse = (
        run_json("score", "chain.json", "rows.csv", *options, *more)["cmll"]
        for more in ((), ("--reverse",))
    )
    rows = fs.read_table("rows.csv")
    expected = network.cmll(rows, groups=3, method="exact", reverse=True).mean
    assert reverse == pytest.approx(expected)
    assert reverse != pytest.approx(plain)


# ---- score, show, convert ----


def test_score_is_mean_and_standard_error(model: str) -> None:
    result = run_json("score", model, "rain.csv")
    samples = fs.MarkovNetwork.load(model).score_samples(fs.read_table("rain.csv"))
    assert result["pll"] == pytest.approx(samples.mean(), abs=1e-12)
    assert result["npll"] == pytest.approx(samples.mean() / 2, abs=1e-12)
    assert result["stderr"] == pytest.approx(samples.std(ddof=1) / np.sqrt(8), abs=1e-12)
    assert (result["n_examples"], result["n_variables"]) == (8, 2)


def test_score_of_one_row_has_no_standard_error(model: str) -> None:
    Path("one.csv").write_text("rain,wind\nyes,gale\n")
    assert run_json("score", model, "one.csv")["stderr"] is None


def test_score_for_people(model: str) -> None:
    result = run_json("score", model, "rain.csv")
    shown = run("score", model, "rain.csv").stdout
    assert f"{result['pll']:.6f}" in shown
    assert f"{result['npll']:.6f}" in shown
    assert f"{result['stderr']:.6f}" in shown


def test_score_chooses_the_part(folder: Path) -> None:
    run_json("learn", "digits", "--order", "1", "-o", "digits.json")
    sizes = {
        source: run_json("score", "digits.json", source)["n_examples"]
        for source in ("digits", "digits:train", "digits:valid", "digits:test")
    }
    assert list(sizes.values()) == [359, 1258, 180, 359]


def test_a_file_comes_before_a_data_set(model: str) -> None:
    Path("digits").write_text(RAIN)
    assert run_json("score", model, "digits")["n_examples"] == 8


def test_show_lists_the_heaviest(model: str) -> None:
    network = fs.MarkovNetwork.load(model)
    result = run_json("show", model, "--top", "2")
    weights = [abs(entry["weight"]) for entry in result["heaviest"]]
    assert weights == sorted(np.abs(network.weights).tolist(), reverse=True)[:2]
    assert result["n_features_by_length"] == {"1": 2, "2": 1}
    shown = run("show", model).stdout
    assert "rain=yes & wind=gale" in shown
    assert f"{network.weights[2]:+.4f}" in shown


def test_show_of_a_variable(folder: Path) -> None:
    terms = [([("a", 1), ("b", 1)], 1.0), ([("b", 1), ("c", 1)], -2.0), ([("c", 1)], 5.0)]
    schema = fs.Schema([2, 2, 2], names=["a", "b", "c"])
    fs.MarkovNetwork.from_terms(schema, terms).save("chain.json")
    result = run_json("show", "chain.json", "--variable", "a")
    assert result["markov_blanket"] == ["b"]
    assert result["heaviest"] == [{"weight": 1.0, "feature": "a=1 & b=1"}]
    # By size, whatever the sign.
    weights = [entry["weight"] for entry in run_json("show", "chain.json")["heaviest"]]
    assert weights == [5.0, -2.0, 1.0]
    assert "blanket of a  b\n" in run("show", "chain.json", "--variable", "a").stdout
    assert "did you mean" in failure("show", "chain.json", "--variable", "aa")


def test_show_knows_variables_by_position(folder: Path) -> None:
    schema = fs.Schema([2, 2], names=["a", "b"])
    fs.MarkovNetwork.from_terms(schema, [([("a", 1), ("b", 1)], 1.0)]).save("ab.json")
    by_position = run_json("show", "ab.json", "--variable", "0")
    assert by_position == run_json("show", "ab.json", "--variable", "a")
    assert by_position["variable"] == "a"


def test_names_with_brackets_are_shown_as_they_are(folder: Path) -> None:
    schema = fs.Schema([2], names=["[bold]x[/bold]"])
    fs.MarkovNetwork.from_terms(schema, [([(0, 1)], 1.0)]).save("a.json")
    assert "[bold]x[/bold]=1" in run("show", "a.json").stdout


@pytest.mark.parametrize("suffix", MODEL_SUFFIXES)
def test_convert_keeps_the_distribution(model: str, suffix: str) -> None:
    assert run("convert", model, f"other{suffix}.gz").exit_code == 0
    assert run("convert", f"other{suffix}.gz", "back.json").exit_code == 0
    rows = [[0, 0], [0, 1], [1, 0], [1, 1]]
    networks = [fs.MarkovNetwork.load(name) for name in (model, "back.json")]
    scores = [network.score_samples(rows) for network in networks]
    np.testing.assert_allclose(*scores, atol=1e-9)


def test_convert_says_that_names_are_lost(model: str) -> None:
    assert "only .json files keep names" in run("convert", model, "other.mn").stderr
    assert run("convert", model, "other.json").stderr == ""
    assert run("convert", "other.mn", "other.uai").stderr == ""


@pytest.fixture
def dependency(folder: Path) -> str:
    """A dependency network without names, and beside it the same with them."""
    network = fs.DependencyNetwork(min_leaf_weight=1.0).fit(fs.read_table("rain.csv"))
    network.save("rain.dn")
    network.save("dependency.json")
    return "rain.dn"


def test_dependency_networks_are_scored(dependency: str) -> None:
    named = fs.DependencyNetwork.load("dependency.json")
    expected = named.score(fs.read_table("rain.csv"))
    assert run_json("score", "dependency.json", "rain.csv")["pll"] == pytest.approx(expected)
    codes = fs.read_table("rain.csv").to_numpy()
    np.savetxt("codes.csv", codes, fmt="%d", delimiter=",", header="v0,v1", comments="")
    assert run_json("score", dependency, "codes.csv")["pll"] == pytest.approx(expected)
    assert "--cmll: rain.dn is a dependency network" in failure(
        "score", dependency, "codes.csv", "--cmll"
    )


def test_dependency_networks_are_converted(dependency: str) -> None:
    rows = [[0, 0], [0, 1], [1, 0], [1, 1]]
    named = fs.DependencyNetwork.load("dependency.json")
    done = run("convert", dependency, "rain.mn")
    assert done.exit_code == 0
    assert "base states count alike" in done.stderr
    uniform = named.to_markov(base="uniform")
    scores = fs.MarkovNetwork.load("rain.mn").score_samples(rows)
    np.testing.assert_allclose(scores, uniform.score_samples(rows), atol=1e-9)
    assert run("convert", "dependency.json", "known.json", "--markov").exit_code == 0
    scores = fs.MarkovNetwork.load("known.json").score_samples(rows)
    np.testing.assert_allclose(scores, named.to_markov().score_samples(rows), atol=1e-9)
    assert run_json("convert", "dependency.json", "again.dn")["n_conditionals"] == 2
    again = fs.DependencyNetwork.load("again.dn").score_samples(rows)
    np.testing.assert_allclose(again, named.score_samples(rows), atol=1e-9)
    assert "is a Markov network" in failure("convert", "rain.mn", "back.dn")


def test_marginals_for_a_conversion_come_from_data(dependency: str) -> None:
    codes = fs.read_table("rain.csv").to_numpy()
    np.savetxt("codes.csv", codes, fmt="%d", delimiter=",", header="v0,v1", comments="")
    done = run("convert", dependency, "rain.mn", "--data", "codes.csv", "--base", "mode")
    assert (done.exit_code, "count alike" in done.stderr) == (0, False)
    expected = fs.DependencyNetwork.load(dependency).with_marginals(codes).to_markov(base="mode")
    found = fs.MarkovNetwork.load("rain.mn")
    np.testing.assert_allclose(found.score_samples(codes), expected.score_samples(codes), atol=1e-9)


def test_dependency_networks_are_shown(dependency: str) -> None:
    named = fs.DependencyNetwork.load("dependency.json")
    shown = run("show", "dependency.json")
    assert shown.exit_code == 0, shown.output
    assert named.summary() in shown.stdout
    result = run_json("show", "dependency.json", "--variable", "1")
    assert result["kinds"] == {"tree": 2}
    assert (result["n_variables"], result["metadata"]) == (2, named.metadata)
    assert result["variable"] == "wind"
    assert result["markov_blanket"] == list(named.markov_blanket("wind"))
    assert "blanket of wind" in run("show", "dependency.json", "--variable", "wind").stdout
    refused = run("show", dependency, "--top", "3")
    assert refused.exit_code == 2
    assert "--top" in refused.stderr


@pytest.mark.parametrize("command", [("query",), ("sample", "5", "-o", "new.csv")], ids=" ".join)
@pytest.mark.parametrize("name", ["rain.dn", "dependency.json"])
@pytest.mark.usefixtures("dependency")
def test_questions_to_a_dependency_network(command: tuple[str, ...], name: str) -> None:
    told = failure(command[0], name, *command[1:])
    assert f"{name} is a dependency network" in told
    assert "`feldspar convert` makes a Markov network of it" in told


def test_models_without_names_go_by_position(folder: Path) -> None:
    run_json("learn", "digits", "--order", "1", "-o", "digits.json")
    run("convert", "digits.json", "digits.mn")
    by_position = run_json("score", "digits.mn", "digits")["pll"]
    assert by_position == pytest.approx(run_json("score", "digits.json", "digits")["pll"], abs=1e-9)


def test_the_endings_are_those_of_the_library() -> None:
    assert {suffix.removeprefix(".") for suffix in MODEL_SUFFIXES} == set(models._WRITERS)


# ---- data ----


def test_data_lists_all(folder: Path) -> None:
    listed = run_json("data")["data_sets"]
    assert [entry["name"] for entry in listed] == fs.datasets.names()
    assert listed == run_json("data", "list")["data_sets"]
    assert listed[0]["folder"] == "built in"
    shown = run("data").stdout
    assert all(name in shown for name in fs.datasets.names())


def test_data_list_finds_a_folder(folder: Path) -> None:
    for part in ("train", "valid", "test"):
        (folder / f"nltcs.{part}.data").write_text("0,1\n")
    listed = run_json("data", "list", "--data-home", str(folder))["data_sets"]
    assert {entry["name"]: entry["folder"] for entry in listed}["nltcs"] == str(folder)


def test_data_check_finds_damage(folder: Path) -> None:
    for part in ("train", "valid", "test"):
        (folder / f"nltcs.{part}.data").write_text("0,1\n")
    message = failure("data", "check", "nltcs", "--data-home", str(folder))
    assert "nltcs.train.data" in message
    assert "SHA-256" in message


def test_data_check_finds_good(benchmark: Callable[[str], fs.datasets.DataSplit]) -> None:
    benchmark("nltcs")
    checked = run_json("data", "check", "nltcs", "digits")["checked"]
    assert len(checked["nltcs"]) == 3
    assert checked["digits"] == []


def test_data_fetch(folder: Path) -> None:
    assert run("data", "fetch", "digits").stdout == "digits: built in, nothing to check\n"
    assert "no data set is called 'foo'" in failure("data", "fetch", "foo")
    assert run("data", "fetch").exit_code == 2


def test_completion_offers_data_sets_and_files() -> None:
    parameter = cli.commands["score"].params[1]
    offered = parameter.shell_complete(click.Context(cli.commands["score"]), "ms")
    assert [item.value for item in offered if item.type == "plain"] == ["msnbc", "msweb"]
    assert any(item.type == "file" for item in offered)


# ---- demo ----


@pytest.fixture
def small_demo(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The demonstration with less to learn: the command is tested here, not the networks."""
    plans = [
        demo.Plan("alone", fs.L1Neighborhood(C=1e-9, rule="or", prior_sd=1.0)),
        demo.Plan("pairs", fs.L1Neighborhood(C=0.02, rule="or", prior_sd=1.0, tolerance=1e-3)),
    ]
    monkeypatch.setattr(demo, "run_demo", partial(demo.run_demo, plans=plans, n_samples=5))
    return folder


def test_demo_prints_draws_and_writes_a_page(small_demo: Path) -> None:
    pytest.importorskip("matplotlib")
    result = run("demo", "--output", "new/pictures")
    assert result.exit_code == 0, result.output
    folder = small_demo / "new" / "pictures"
    assert (folder / "feldspar-demo.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "feldspar-demo.html").read_text("utf-8").startswith("<!doctype html>")
    assert f"Picture: {Path('new', 'pictures', 'feldspar-demo.png')}" in result.stdout
    assert f"Page: {Path('new', 'pictures', 'feldspar-demo.html')}" in result.stdout
    assert result.stderr == ""
    for word in ("valid PLL", "pairs", "told", "completed: ", "Gibbs sampling"):
        assert word in result.stdout


def test_demo_without_matplotlib(small_demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = run("demo", "--json")
    assert result.exit_code == 0
    written = json.loads(result.stdout)
    assert written["picture"] is None
    assert "pip install matplotlib" in result.stderr
    assert not list(small_demo.glob("*.png"))
    assert Path(written["page"]).exists()


# ---- weights ----


@pytest.fixture
def weighted(model: str, folder: Path) -> str:
    """The rows of rain.csv, those with a gale twice, by weight."""
    rows = RAIN.splitlines()
    weights = ["n", *("2" if row.endswith("gale") else "1" for row in rows[1:])]
    text = "".join(f"{row},{weight}\n" for row, weight in zip(rows, weights, strict=True))
    (folder / "weighted.csv").write_text(text, "utf-8")
    return "weighted.csv"


def test_query_leaves_a_column_of_weights_out(model: str, weighted: str) -> None:
    told = run_json("query", model, "--rows", weighted, "--weights", "n", "--target", "wind")
    assert (
        told["marginals"]
        == run_json("query", model, "--rows", "rain.csv", "--target", "wind")["marginals"]
    )


def test_compare_weighs_rows(weighted: str) -> None:
    parts = ["--valid", weighted, "--test", weighted]
    options = ["--methods", "independent", "--weights", "n"]
    found = run_json("compare", weighted, *parts, *options)
    rows = fs.read_table(weighted, weights="n")
    learner = fs.Independent().fit(rows, X_valid=rows)
    assert found["n_variables"] == 2
    assert found["contenders"][0]["pll"]["test"] == pytest.approx(learner.score(rows))
    assert "--weights n: the data set digits has no" in failure("compare", "digits", *options)


# ---- gaps ----


@pytest.mark.filterwarnings("always")
def test_compare_scores_complete_rows_and_says_so(folder: Path) -> None:
    (folder / "gaps.csv").write_text(RAIN + RAIN[10:] + "yes,?\n?,calm\n", "utf-8")
    compare = ["compare", "gaps.csv", "--methods", "independent,dn2mn"]
    shown = run(*compare)
    assert shown.exit_code == 0, shown.output
    assert "only complete rows are scored: 14 of 16 train, 2 of 2 valid" in shown.stdout
    assert len(run_json(*compare)["contenders"]) == 2
    (folder / "hollow.csv").write_text("rain,wind\nyes,?\n?,calm\n", "utf-8")
    told = failure("compare", "rain.csv", "--test", "hollow.csv")
    assert "rain.csv: the test rows: none of the 2 rows is complete" in told


def test_score_of_rows_with_gaps_says_what_a_command_can_do(model: str, folder: Path) -> None:
    (folder / "gaps.csv").write_text("rain,wind\nyes,gale\nyes,?\n", "utf-8")
    told = failure("score", model, "gaps.csv")
    assert "gaps.csv: missing values in 1 column (wind), first in row 1" in told
    assert "leave out those with gaps" in told
    assert f"`feldspar query {model} --rows gaps.csv --map` tells" in told
