"""`feldspar score`, `show` and `convert`, of Markov and dependency networks."""

from pathlib import Path

import numpy as np
import pytest

import feldspar as fs
from command_line import RAIN, failure, run, run_json
from feldspar.cli.sources import MODEL_SUFFIXES
from feldspar.io import models


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
