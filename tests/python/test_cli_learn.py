"""`feldspar learn`: what it prints, what it writes, and how it fails."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner

import feldspar as fs
from command_line import QUICK, failure, run, run_json
from feldspar.cli.commands.learn import learn_command
from feldspar.cli.methods import METHODS, Learned, Method, Task


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
        ("blm", "--checkpoint-every", "inf", "--checkpoint", "kept"),
    ],
    ids=lambda options: options[0],
)
def test_learn_remembers_numbers_without_end(folder: Path, options: tuple[str, ...]) -> None:
    method, option, *_ = options
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
