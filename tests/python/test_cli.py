"""The command line: what is common to all commands, and those of data, comparison and demo."""

import importlib
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click
import pytest

import feldspar as fs
from command_line import RAIN, failure, run, run_json
from feldspar import demo
from feldspar.cli import cli

# The module: a package of commands has the command itself by this name.
SHOW = importlib.import_module("feldspar.cli.commands.show")


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


def test_compare_leaves_the_cmll_of_a_single_variable_out(folder: Path) -> None:
    Path("coin.csv").write_text("coin\n" + "head\ntail\ntail\n" * 10)
    result = run("compare", "coin.csv", "--methods", "independent", "--cmll", "--json")
    assert result.exit_code == 0, result.output
    assert "CMLL needs at least 2 variables" in result.stderr
    assert json.loads(result.stdout)["contenders"][0].get("cmll") is None
