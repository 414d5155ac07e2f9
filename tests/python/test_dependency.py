"""Dependency networks: what they say, what they become, and the way to files and back."""

from __future__ import annotations

import itertools
import json
import math
import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import feldspar as fs
from feldspar import _core
from feldspar._random import core_seed
from feldspar.datasets import DataSplit
from feldspar.dependency import Orders, Tree
from feldspar.evaluation import pseudo_log_likelihood
from feldspar.io.dependency_models import load_dependency_network, save_dependency_network
from feldspar.io.libra_dependency import format_libra_dependency
from feldspar.io.native_dependency import format_native_dependency
from feldspar.io.source import ModelFileError
from feldspar.io.terms import HARD_WEIGHT
from random_networks import every_state, networks

FloatArray = npt.NDArray[np.float64]

ALL_ORDERS: tuple[Orders, ...] = ("one", "opposite", "rotations", "opposite-rotations")
SCHEMA = fs.Schema(
    [2, 3, 2], names=["rain", "wind", "wet"], labels=[None, ["no", "some", "much"], [False, True]]
)


def two_trees(p1: tuple[float, float], p2: tuple[float, float]) -> fs.DependencyNetwork:
    """P(X_1 = T | X_2 = T), P(X_1 = T | X_2 = F), and the same for X_2: the paper's examples."""

    def tree(other: int, p: tuple[float, float]) -> fs.Split:
        return fs.Split(other, 1, yes=[1 - p[0], p[0]], no=[1 - p[1], p[1]])

    return fs.DependencyNetwork.from_trees(fs.Schema([2, 2]), {0: tree(1, p1), 1: tree(0, p2)})


def mixed() -> fs.DependencyNetwork:
    """A network with both kinds of conditionals, made of files' text, as users cannot mix them."""
    trees = fs.DependencyNetwork.from_trees(
        SCHEMA,
        {
            "rain": fs.Split(
                "wind",
                "much",
                yes=[0.25, 0.75],
                no=fs.Split("wet", True, yes=[0.5, 0.5], no=[0.875, 0.125]),
            ),
            "wind": [0.5, 0.3, 0.2],
            "wet": fs.Split("rain", 1, yes=[0.125, 0.875], no=[0.75, 0.25]),
        },
        marginals=[[0.75, 0.25], [0.5, 0.3, 0.2], [0.6, 0.4]],
        metadata={"season": "autumn"},
    )
    content = json.loads(format_native_dependency(trees))
    content["conditionals"][1] = {
        "variable": 1,
        "terms": [
            {"weight": 0.5, "tests": [[1, 2]]},
            {"weight": -1.25, "tests": [[0, 1], [1, [0, 1]]]},
        ],
    }
    return _read_native(json.dumps(content))


def _read_native(text: str) -> fs.DependencyNetwork:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        path.write_text(text)
        return fs.DependencyNetwork.load(path)


def distribution(network: fs.MarkovNetwork) -> FloatArray:
    potentials = np.exp(network.log_potential(every_state(network.schema)))
    return np.asarray(potentials / potentials.sum())


def conditionals_of(network: fs.MarkovNetwork) -> fs.DependencyNetwork:
    """The network's own conditionals, each made of the features that test its variable."""
    pairs = list(zip(network.features, network.weights.tolist(), strict=True))
    terms = {
        v: [(f, w) for f, w in pairs if any(variable == v for variable, _ in f)]
        for v in range(len(network.schema))
    }
    return fs.DependencyNetwork.from_terms(network.schema, terms)


# What it says of rows


def test_trees_are_followed_by_label() -> None:
    network = mixed()
    conditionals = network.conditionals([[0, 2, 1], [1, 0, 0], [0, 1, 1]])
    np.testing.assert_allclose(
        conditionals["rain"], [[0.25, 0.75], [0.875, 0.125], [0.5, 0.5]], rtol=1e-12
    )
    np.testing.assert_allclose(
        conditionals["wet"], [[0.75, 0.25], [0.125, 0.875], [0.75, 0.25]], rtol=1e-12
    )


def test_log_linear_conditionals_are_normalized() -> None:
    row = np.array([math.exp(-1.25), math.exp(-1.25), math.exp(0.5)])
    wind = mixed().conditionals([[1, 0, 0]])["wind"]
    np.testing.assert_allclose(wind, [row / row.sum()], rtol=1e-12)


@given(networks())
def test_conditionals_of_a_markov_network_score_as_it_does(network: fs.MarkovNetwork) -> None:
    states = every_state(network.schema)
    dependency = conditionals_of(network)
    np.testing.assert_allclose(
        dependency.score_samples(states), network.score_samples(states), rtol=1e-10, atol=1e-10
    )


def test_score_goes_by_weight() -> None:
    network, states = mixed(), every_state(SCHEMA)[:3]
    scores = network.score_samples(states)
    assert network.score(states) == pytest.approx(scores.mean())
    weighted = network.score(states, sample_weight=[0.5, 0.0, 1.5])
    assert weighted == pytest.approx((0.5 * scores[0] + 1.5 * scores[2]) / 2)
    assert pseudo_log_likelihood(network, states).mean == pytest.approx(scores.mean())


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_scores_do_not_depend_on_threads(n_jobs: int) -> None:
    states = np.tile(every_state(SCHEMA), (300, 1))
    one = mixed().score_samples(states, n_jobs=1)
    assert np.array_equal(mixed().score_samples(states, n_jobs=n_jobs), one)


# Its parts


def test_parts() -> None:
    network = mixed()
    assert network.kinds == ("tree", "log-linear", "tree")
    assert repr(network) == "DependencyNetwork(3 variables: 2 tree, 1 log-linear)"
    assert network.markov_blanket("rain") == ("wind", "wet")
    assert network.markov_blanket(1) == ("rain",)
    assert network.markov_blanket("wet") == ("rain",)
    assert network.metadata == {"season": "autumn"}
    assert network.marginals is not None
    assert [p.tolist() for p in network.marginals] == [[0.75, 0.25], [0.5, 0.3, 0.2], [0.6, 0.4]]
    with pytest.raises(ValueError, match="read-only"):
        network.marginals[0][0] = 1.0


def test_a_tree_comes_back_with_names_and_labels() -> None:
    tree = mixed().tree("rain")
    assert isinstance(tree, fs.Split)
    assert (tree.variable, tree.value) == ("wind", "much")
    assert tree.yes == pytest.approx((0.25, 0.75))
    assert isinstance(tree.no, fs.Split)
    assert (tree.no.variable, tree.no.value) == ("wet", True)
    with pytest.raises(ValueError, match="the conditional of 'wind' is log-linear; expected a tr"):
        mixed().tree("wind")


def test_terms_of_a_tree_are_its_leaves() -> None:
    terms = mixed().terms("rain")
    described = [terms.features.describe(j) for j in range(len(terms.features))]
    assert described == [
        "rain=0 & wind=much",
        "rain=1 & wind=much",
        "rain=0 & wind in {no, some} & wet=True",
        "rain=1 & wind in {no, some} & wet=True",
        "rain=0 & wind in {no, some} & wet=False",
        "rain=1 & wind in {no, some} & wet=False",
    ]
    np.testing.assert_allclose(np.exp(terms.weights), [0.25, 0.75, 0.5, 0.5, 0.875, 0.125])


def test_summary() -> None:
    assert mixed().summary().splitlines() == [
        "Dependency network over 3 variables (up to 3 values)",
        "  2 trees with 5 leaves, depth up to 2",
        "  1 log-linear conditionals with 2 terms",
        "Largest Markov blankets:",
        "  rain (2): wind, wet",
        "  wind (1): rain",
        "  wet (1): rain",
    ]


def test_marginals_of_data_go_by_weight() -> None:
    network = mixed().with_marginals([[0, 0, 1], [1, 2, 1]], sample_weight=[0.5, 1.5])
    assert network.marginals is not None
    assert [p.tolist() for p in network.marginals] == [[0.25, 0.75], [0.25, 0, 0.75], [0, 1]]


# Conversion to a Markov network


@pytest.mark.parametrize("orders", ALL_ORDERS)
@pytest.mark.parametrize("base", ["uniform", [0, 0], [0, 1], [1, 0], {"v0": 1, 1: 1}])
def test_section_4_1_of_the_paper(orders: Orders, base: Any) -> None:
    network = two_trees((4 / 5, 2 / 5), (2 / 3, 1 / 4))
    for order in ([0, 1], ["v1", "v0"]):
        converted = network.to_markov(orders=orders, base=base, order=order)
        np.testing.assert_allclose(distribution(converted), [0.3, 0.1, 0.2, 0.4], rtol=1e-12)


def test_section_5_of_the_paper() -> None:
    network = two_trees((4 / 5, 1 / 5), (1 / 5, 4 / 5))
    for base, expected in (([1, 1], [64, 1, 16, 4]), ([0, 0], [4, 16, 1, 64])):
        converted = network.to_markov(orders="one", base=base)
        np.testing.assert_allclose(distribution(converted), np.array(expected) / 85, rtol=1e-12)
    converted = network.to_markov(orders="opposite", base="uniform")
    np.testing.assert_allclose(distribution(converted), [0.25] * 4, rtol=1e-12)


def test_section_5_2_of_the_paper() -> None:
    n = 16
    conjunction = [(3, 1), (5, 1), (6, 1), (12, 1)]
    terms: dict[str | int, Any] = {v: [] for v in range(n)}
    terms[6] = [(conjunction, 1.0)]
    network = fs.DependencyNetwork.from_terms(fs.Schema([2] * n), terms)
    converted = network.to_markov(orders="rotations", base=[1] * n)
    weights = dict(zip(converted.features, (converted.weights * n).tolist(), strict=True))
    assert weights == pytest.approx(
        {
            ((3, 1), (5, 1), (6, 1), (12, 1)): 1,
            ((3, 1), (6, 1), (12, 1)): 2,
            ((6, 1), (12, 1)): 4 + (n - 13),
            ((6, 1),): 6,
            ((3, 1), (5, 1), (12, 1)): -1,
            ((3, 1), (12, 1)): -2,
            ((12, 1),): -(4 + (n - 13)),
        }
    )


@settings(max_examples=50)
@given(
    networks(weights=st.floats(-3, 3)), st.sampled_from(ALL_ORDERS), st.integers(0), st.booleans()
)
def test_a_consistent_network_becomes_its_joint_distribution(
    network: fs.MarkovNetwork, orders: Orders, which: int, one_state: bool
) -> None:
    states = every_state(network.schema)
    base: Any = states[which % len(states)] if one_state else "uniform"
    permutations = list(itertools.permutations(range(len(network.schema))))
    converted = conditionals_of(network).to_markov(
        orders=orders, base=base, order=permutations[which % len(permutations)]
    )
    np.testing.assert_allclose(
        distribution(converted), distribution(network), rtol=1e-9, atol=1e-12
    )


def test_a_base_that_is_no_state() -> None:
    nothing: Any = None
    with pytest.raises(TypeError, match="base: expected 'marginals', 'mode', 'uniform' or a value"):
        mixed().to_markov(base=nothing)


def test_base_states_by_name() -> None:
    network = mixed()

    def weights(**options: Any) -> dict[Any, float]:
        converted = network.to_markov(**options)
        return dict(zip(converted.features, converted.weights.tolist(), strict=True))

    assert weights(base="mode") == weights(base=[0, 0, 0])
    assert weights(base="mode") == weights(base={"rain": 0, "wind": "no", "wet": False})
    swapped = [[0.25, 0.75], [0.3, 0.2, 0.5], [0.4, 0.6]]
    assert weights(base="mode", marginals=swapped) == weights(base=[1, 2, 1])
    by_name = dict(zip(SCHEMA.names, swapped, strict=True))
    assert weights(marginals=by_name) == weights(marginals=swapped) != weights()
    uniform = [[0.5, 0.5], [1 / 3] * 3, [0.5, 0.5]]
    assert weights(base="uniform") == pytest.approx(weights(marginals=uniform))


def test_expectation_is_the_mean_over_base_states() -> None:
    network = mixed()
    states = every_state(SCHEMA)
    assert network.marginals is not None
    chances = [math.prod(p[a] for p, a in zip(network.marginals, s, strict=True)) for s in states]
    # Log-potentials up to a constant: the first state's is taken off.
    relative = []
    for state in states:
        potentials = network.to_markov(orders="rotations", base=state).log_potential(states)
        relative.append(potentials - potentials[0])
    got = network.to_markov(orders="rotations", base="marginals").log_potential(states)
    np.testing.assert_allclose(got - got[0], np.array(chances) @ relative, atol=1e-12)


def test_conversion_tells_how_it_came_about() -> None:
    converted = mixed().to_markov()
    assert converted.metadata == {
        "season": "autumn",
        "method": "dn2mn",
        "orders": "opposite-rotations",
        "base": "marginals",
    }
    assert converted.schema == SCHEMA


# Samples


@pytest.mark.parametrize(("cpd", "name"), [("tree", "kappa"), ("logistic", "C")])
def test_nothing_to_try_is_refused_by_name(cpd: str, name: str) -> None:
    learner = fs.DependencyNetwork(cpd=cpd, **{name: []})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"{name}: expected a value or several, got none"):
        learner.fit([[0, 1], [1, 0]] * 10)


def test_samples_have_the_stationary_distribution() -> None:
    network = two_trees((4 / 5, 2 / 5), (2 / 3, 1 / 4))
    n = 20_000
    samples = network.sample(n, random_state=3, thinning=5, n_chains=50)
    assert samples.schema == network.schema
    states = samples.to_numpy() @ [2, 1]
    for state, p in enumerate([0.3, 0.1, 0.2, 0.4]):
        # Five sweeps apart, what is left of the correlation is far below a tenth.
        assert abs((states == state).mean() - p) < 4 * math.sqrt(1.1 * p * (1 - p) / n)


def test_the_same_seed_gives_the_same_samples() -> None:
    network = mixed()
    first = network.sample(101, random_state=5, n_jobs=1)
    assert len(first) == 101
    assert network.sample(101, random_state=5, n_jobs=3) == first
    assert network.sample(101, random_state=6) != first
    assert network.sample(50) != network.sample(50)
    generators = [np.random.default_rng(1), np.random.default_rng(1)]
    one, other = (network.sample(50, random_state=generator) for generator in generators)
    assert one == other
    assert network.sample(50, random_state=generators[0]) != one  # it has moved on


def test_seeds() -> None:
    assert core_seed(np.int64(3)) == 3
    assert core_seed(2**64 - 1) == 2**64 - 1
    assert core_seed(np.random.RandomState(1)) == core_seed(np.random.RandomState(1))
    with pytest.raises(ValueError, match=r"random_state: expected an integer from 0 to 2\*\*64"):
        core_seed(-1)
    with pytest.raises(TypeError, match="random_state: expected None, an integer or a generator"):
        core_seed("seven")  # type: ignore[arg-type]


def test_defaults_are_those_of_the_core() -> None:
    import inspect

    shown = inspect.signature(fs.DependencyNetwork.sample).parameters
    options = _core.DependencyGibbsOptions()
    for name in ("burn_in", "thinning", "n_chains"):
        assert shown[name].default == getattr(options, name)


# Files


@pytest.fixture
def formats() -> Path:
    """The folder of Libra's own example files; where data are required they must be there."""
    data = os.environ.get("FELDSPAR_DATA")
    folder = Path(data).parent / "formats" if data else None
    if folder is None or not folder.is_dir():
        reason = f"no Libra example files: FELDSPAR_DATA is {data}, they are in ../formats from it"
        if os.environ.get("FELDSPAR_REQUIRE_DATA") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return folder


@pytest.mark.parametrize(
    ("name", "kind", "valid", "test"),
    [
        ("nltcs-tree.dn", "tree", -4.933806, -4.997975),
        ("nltcs-logistic.dn", "log-linear", -4.855789, -4.951509),
    ],
)
def test_files_of_libra_score_as_libra_says(
    name: str,
    kind: str,
    valid: float,
    test: float,
    formats: Path,
    benchmark: Callable[[str], DataSplit],
) -> None:
    data = benchmark("nltcs")
    network = fs.DependencyNetwork.load(formats / name)
    assert set(network.kinds) == {kind}
    assert network.score(data.valid) == pytest.approx(valid, abs=1e-6)
    assert network.score(data.test) == pytest.approx(test, abs=1e-6)


def test_logistic_conversion_scores_as_libras_does(
    formats: Path, benchmark: Callable[[str], DataSplit]
) -> None:
    data = benchmark("nltcs")
    network = fs.DependencyNetwork.load(formats / "nltcs-logistic.dn").with_marginals(data.train)
    assert network.to_markov().score(data.test) == pytest.approx(-4.958, abs=5e-4)


@pytest.mark.parametrize("name", ["model.json", "model.dn", "MODEL.DN", "model.dn.gz"])
def test_save_and_load(name: str, tmp_path: Path) -> None:
    network, states = mixed(), every_state(SCHEMA)
    network.save(tmp_path / name)
    loaded = fs.DependencyNetwork.load(tmp_path / name)
    assert loaded.kinds == network.kinds
    assert np.array_equal(loaded.score_samples(states), network.score_samples(states))
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_json_keeps_everything(tmp_path: Path) -> None:
    network = mixed()
    network.save(tmp_path / "model.json")
    loaded = fs.DependencyNetwork.load(tmp_path / "model.json")
    assert loaded.schema == SCHEMA
    assert loaded.metadata == network.metadata
    assert format_native_dependency(loaded) == format_native_dependency(network)


def test_format_overrides_the_suffix(tmp_path: Path) -> None:
    path = tmp_path / "model.txt"
    save_dependency_network(mixed(), path, format="dn")
    assert path.read_text() == format_libra_dependency(mixed())
    assert load_dependency_network(path, format="dn").kinds == mixed().kinds
    with pytest.raises(ValueError, match=r"model\.txt: .*'json', 'dn'.*got '\.txt'"):
        fs.DependencyNetwork.load(path)


def test_pickle() -> None:
    network = mixed()
    loaded = pickle.loads(pickle.dumps(network))
    assert format_native_dependency(loaded) == format_native_dependency(network)
    with pytest.raises(ValueError, match="read-only"):
        loaded.marginals[0][0] = 1.0


def test_every_form_of_a_block(tmp_path: Path) -> None:
    """Trees that do not end with the target, several factors, constants and terms of others."""
    path = tmp_path / "model.dn"
    path.write_text(
        "2,3,1\nDN {\n"
        "v2 {\n}\n"
        "v0 {\ntree { (v0_0 (v1_0 0.5 -0.25) 1.5) }\n}\n"
        "v1 {\n0.5 +v1_2\n-1 +v0_1 -v1_0\n7.0\n3.0 +v0_1\ntree { (v1_1 0.75 0) }\n}\n}\n"
    )
    network = fs.DependencyNetwork.load(path)
    assert network.kinds == ("log-linear",) * 3
    conditionals = network.conditionals(every_state(network.schema))
    for (x0, x1, _), p0, p1 in zip(
        every_state(network.schema), conditionals[0], conditionals[1], strict=True
    ):
        scores0 = np.exp([0.5 if x1 == 0 else -0.25, 1.5])
        scores1 = np.exp([0.0, 0.75 - (x0 == 1), 0.5 - (x0 == 1)])
        np.testing.assert_allclose(p0, scores0 / scores0.sum(), rtol=1e-12)
        np.testing.assert_allclose(p1, scores1 / scores1.sum(), rtol=1e-12)


def test_a_leaf_is_normalized_whatever_its_numbers(tmp_path: Path) -> None:
    path = tmp_path / "model.dn"
    path.write_text("2,2\nDN {\nv0 { tree { (v1_0 (v0_0 3 4) 2) } }\nv1 { tree { (v1_0 0 0) } }\n}")
    network = fs.DependencyNetwork.load(path)
    assert network.kinds == ("tree", "tree")
    p = network.conditionals([[0, 0], [0, 1]])[0]
    np.testing.assert_allclose(p, [[1 / (1 + math.e), math.e / (1 + math.e)], [0.5, 0.5]])


def test_infinite_numbers_become_large_ones(tmp_path: Path) -> None:
    path = tmp_path / "model.dn"
    path.write_text("2,2\nDN {\nv0 { tree { (v0_0 0 -inf) } }\nv1 {\n-inf +v1_1\n}\n}")
    with pytest.warns(UserWarning, match=r"model\.dn: 2 infinite log-potential"):
        network = fs.DependencyNetwork.load(path)
    p = network.conditionals([[0, 0]])
    for v in (0, 1):
        assert p[v][0, 1] == pytest.approx(math.exp(-HARD_WEIGHT))


def test_a_tree_deeper_than_the_interpreter_recurses(tmp_path: Path) -> None:
    depth = 1200
    text = "(v1_0 " * depth + "(v0_0 -0.5 -1)" + " (v0_0 0 0))" * depth
    path = tmp_path / "model.dn"
    path.write_text(f"2,2\nDN {{\nv0 {{ tree {{ {text} }} }}\nv1 {{\n}}\n}}")
    network = fs.DependencyNetwork.load(path)
    network.save(tmp_path / "again.json")
    again = fs.DependencyNetwork.load(tmp_path / "again.json")
    again.save(tmp_path / "again.dn")
    again = fs.DependencyNetwork.load(tmp_path / "again.dn")
    states = every_state(network.schema)
    assert np.array_equal(again.score_samples(states), network.score_samples(states))
    assert "depth up to 1200" in again.summary()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2\nMN {\n}", r"expected a dependency network \(DN\), got a Markov network \(MN\)"),
        ("2\nBN {\nv0 {\n}\n}", r"expected a dependency network \(DN\), got a Bayesian network"),
        ("2,2\nDN {\nv1 {\n}\n}", "expected a block for each variable, v0 has none"),
        ("2,2\nDN {\nv1 {\n}\nv1 {\n}\n}", "line 5, column 1: v1 has a second block"),
        ("70000\nDN {\nv0 {\n}\n}", "numbers of values: "),
    ],
)
def test_bad_dn_files(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.dn"
    path.write_text(text)
    with pytest.raises(ModelFileError, match=rf"model\.dn.*{message}"):
        fs.DependencyNetwork.load(path)


def replaced(*keys: str | int, by: object) -> Callable[[Any], None]:
    def change(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = by

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (replaced("format", by="feldspar-forest"), "format: not a feldspar network"),
        (replaced("version", by=2), "version: .*reads up to version 1"),
        (replaced("conditionals", by={}), r"conditionals: expected a list, got \{\}"),
        (replaced("conditionals", 0, by=[]), r"conditionals\[0\]: expected an object with"),
        (replaced("conditionals", 0, "variable", by=3), r"\[0\]\.variable: .*0 to 2, got 3"),
        (replaced("conditionals", 2, by={"variable": 0, "terms": []}), "variable 0 has two cond"),
        (replaced("conditionals", 0, "nodes", by=1), r"conditionals\[0\]\.nodes: expected a list"),
        (replaced("conditionals", 0, "nodes", by=[]), r"nodes: the tree is not complete after its"),
        (replaced("conditionals", 0, "nodes", 0, by={}), r"nodes\[0\]: expected an object with"),
        (
            replaced("conditionals", 0, "nodes", 0, by={"log_probabilities": [-0.7, -0.7]}),
            r"nodes: the tree is complete after 1 nodes, got 5",
        ),
        (replaced("conditionals", 0, "nodes", 0, "split", by=[1]), r"nodes\[0\]\.split: expected"),
        (replaced("conditionals", 0, "nodes", 0, "split", by=[3, 0]), r"split\[0\]: .*0 to 2"),
        (replaced("conditionals", 0, "nodes", 0, "split", by=[1, 3]), r"split\[1\]: .*0 to 2"),
        (replaced("conditionals", 0, "nodes", 0, "split", by=[0, 1]), "splits on variable 0"),
        (replaced("conditionals", 0, "nodes", 0, "gain", by="x"), r"nodes\[0\]\.gain: .*finite"),
        (
            replaced("conditionals", 0, "nodes", 1, "log_probabilities", by=[0.0]),
            r"nodes\[1\]\.log_probabilities: expected a list of 2 numbers, got \[0\.0\]",
        ),
        (
            replaced("conditionals", 0, "nodes", 1, "log_probabilities", by=[-1.0, -1.0]),
            "conditionals: .*leaf 1 add up to 0.735",
        ),
        (
            replaced("conditionals", 0, "nodes", 1, "log_probabilities", by=[None, 0]),
            r"log_probabilities\[0\]: expected a finite number, got null",
        ),
        (replaced("conditionals", 1, "terms", 0, "weight", by="x"), r"terms\[0\]\.weight: "),
        (replaced("conditionals", 1, "terms", 0, "tests", by=[[0, 1]]), "does not test it"),
        (replaced("marginals", by=[[1.0]]), "marginals: .*expected 3 distributions"),
        (replaced("marginals", 0, by=[0.5, 0.25]), "marginals: .*variable 0: .*add up to 0.75"),
        (replaced("marginals", by=3), "marginals: expected a list or null, got 3"),
    ],
)
def test_bad_json_files(change: Callable[[Any], None], message: str, tmp_path: Path) -> None:
    content = json.loads(format_native_dependency(mixed()))
    change(content)
    path = tmp_path / "model.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=rf"model\.json, .*{message}"):
        fs.DependencyNetwork.load(path)


# Bad input


def test_a_network_without_conditionals_says_so() -> None:
    network = fs.DependencyNetwork()
    assert repr(network) == "DependencyNetwork(no conditionals)"
    for attempt in (
        lambda: network.schema,
        lambda: network.marginals,
        lambda: network.score([[0]]),
        lambda: network.sample(1),
        lambda: network.save("never.json"),
    ):
        with pytest.raises(
            NotFittedError, match="has no conditionals yet; expected one that is fitted"
        ):
            attempt()
    assert repr(pickle.loads(pickle.dumps(network))) == repr(network)


@pytest.mark.parametrize(
    ("tree", "error", "message"),
    [
        ([0.5, 0.25, 0.25], ValueError, "tree of 'rain': expected 2 probabilities in a leaf"),
        ([0.5, 0.25], ValueError, "tree of 'rain': expected probabilities above 0 that add up to"),
        ([1.0, 0.0], ValueError, "tree of 'rain': expected probabilities above 0 that add up to"),
        ([0.5, math.nan], ValueError, "tree of 'rain': expected probabilities above 0"),
        ("half", TypeError, "tree of 'rain': expected a Split or probabilities, got 'half'"),
        (fs.Split("sun", 1, [0.5, 0.5], [0.5, 0.5]), ValueError, "no variable is called 'sun'"),
        (fs.Split("wind", 9, [0.5, 0.5], [0.5, 0.5]), ValueError, "'wind' has no value 9"),
        (fs.Split("rain", 1, [0.5, 0.5], [0.5, 0.5]), ValueError, "splits on variable 0; expected"),
    ],
)
def test_bad_trees(tree: Tree, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fs.DependencyNetwork.from_trees(
            SCHEMA, {"rain": tree, "wind": [0.2, 0.3, 0.5], "wet": [0.5, 0.5]}
        )


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({0: []}, "variable 1 has no conditional"),
        ({0: [], "v0": [], 1: []}, "variable 0 has two conditionals"),
        ({0: [([(1, 1)], 1.0)], 1: []}, "terms of variable 0: term 0 does not test it"),
        ({0: [([(0, 2)], 1.0)], 1: []}, re.escape("terms of 'v0'[0]: variable 'v0' has no value")),
        ({0: [([(0, 1)], math.inf)], 1: []}, "weights: feature 0 has weight inf"),
    ],
)
def test_bad_terms(terms: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fs.DependencyNetwork.from_terms(fs.Schema([2, 2]), terms)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"orders": "two"}, "orders: expected 'one', 'opposite', .*, got 'two'"),
        ({"base": "median"}, "base: expected 'marginals', 'mode', 'uniform' or a state, got 'med"),
        ({"base": [0, 0]}, "expected 3 columns"),
        ({"base": [0, 3, 0]}, "unseen value 3"),
        ({"base": [0, -1, 0]}, "missing values"),
        ({"base": {"rain": 1}}, "base: expected a value of each variable, none of wind, wet"),
        ({"order": [0, 1]}, "order: expected each of the 3 variables once, got 0, 1"),
        ({"order": [0, 1, "wind"]}, "order: expected each of the 3 variables once"),
        ({"marginals": [[0.5, 0.5]]}, "marginals: expected 3 distributions"),
        ({"marginals": {"rain": [1, 0]}}, "marginals: expected one for each of rain, wind, wet"),
        ({"marginals": [[1], [1, 0, 0], [1, 0]]}, "marginals of 'rain': expected 2 probabilities"),
        ({"marginals": [[1, 1], [1, 0, 0], [1, 0]]}, "the probabilities add up to 2; expected 1"),
    ],
)
def test_bad_conversions(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mixed().to_markov(**options)


def test_conversion_without_marginals() -> None:
    network = two_trees((0.5, 0.5), (0.5, 0.5))
    for base in ("marginals", "mode"):
        with pytest.raises(ValueError, match=f"base='{base}' needs the marginals of the training"):
            network.to_markov(base=base)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n": 0}, ValueError, "n must be at least 1, got 0"),
        ({"n": 1.5}, TypeError, "n: expected an integer, got 1.5"),
        ({"n": 1, "burn_in": -1}, ValueError, "burn_in must not be negative, got -1"),
        ({"n": 1, "thinning": 0}, ValueError, "thinning must be at least 1, got 0"),
        ({"n": 1, "n_chains": 0}, ValueError, "n_chains must be at least 1, got 0"),
    ],
)
def test_bad_sampling(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        mixed().sample(**options)
