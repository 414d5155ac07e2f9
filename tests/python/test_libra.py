"""Libra's text format: what it means, what is refused and where, and the way there and back."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feldspar.io.libra import (
    HARD_WEIGHT,
    factor_terms,
    format_libra,
    parse_libra,
    read_libra,
    write_libra,
)
from feldspar.io.libra_syntax import LibraFeature, LibraFeatureList, LibraSplit, LibraTree
from feldspar.io.source import ModelFileError
from feldspar.network import MarkovNetwork
from feldspar.schema import Schema
from random_networks import every_state, networks, weights_by_feature

GOLDEN = Path(__file__).parent.parent / "golden"

States = npt.NDArray[np.int64]


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


# An evaluator that shares nothing with the parser: words to nested lists, lists to numbers.


def nested(text: str) -> list[Any]:
    stack: list[list[Any]] = [[]]
    for word in re.findall(r"[()]|[^()\s]+", text):
        if word == "(":
            stack.append([])
        elif word == ")":
            stack[-2].append(stack.pop())
        else:
            stack[-1].append(word)
    return stack[0]


def holds(word: str, x: npt.NDArray[np.int64]) -> bool:
    variable, value = map(int, re.findall(r"[0-9]+", word))
    return bool(x[variable] == value) != word.startswith("-")


def tree_value(tree: Any, x: npt.NDArray[np.int64]) -> float:
    while isinstance(tree, list):
        tree = tree[1] if holds(tree[0], x) else tree[2]
    return float(tree)


def factors_value(text: str, x: npt.NDArray[np.int64]) -> float:
    """The sum of the trees and feature lines of a block, constants left out as we do."""
    trees = re.findall(r"tree \{(.*?)\}", text, re.DOTALL)
    lines = re.findall(r"^[-0-9].*$", re.sub(r"tree \{.*?\}", "", text, flags=re.DOTALL), re.M)
    total = sum(tree_value(nested(tree)[0], x) for tree in trees)
    for line in lines:
        weight, *words = line.split()
        total += float(weight) * (words != [] and all(holds(word, x) for word in words))
    return total


# What a file means.


def test_every_form_has_its_documented_sense() -> None:
    with pytest.warns(UserWarning, match=r"every_form\.mn: 2 infinite"):
        network = read_libra(GOLDEN / "every_form.mn")

    def potential(a: int, b: int, c: int, d: int) -> float:
        total = 0.5 * (a == 1) - 0.125 * (b == 2 and d in (1, 3)) + 3 * (c == 0)
        total += 0.75 * (a == 0 and c == 1) + 2 * (b != 0)
        total += 1.5 * (a == 0 and b != 1) + 2.5 * (a == 1)
        total += 0.5 * (c == 1) + 4 * (c == 1 and d == 3)
        if b == 0:
            total += 1 if d == 1 else -2
        elif b == 1:
            total += 0.125
        else:
            total += -0.5 if a == 0 else HARD_WEIGHT
        return total - HARD_WEIGHT * (a == b == c == d == 0)

    states = every_state(Schema([2, 3, 2, 4]))
    expected = [potential(*state) for state in states.tolist()]
    np.testing.assert_allclose(network.log_potential(states), expected, rtol=0, atol=1e-12)


def test_parsed_file_keeps_the_forms_of_its_factors() -> None:
    file = parse_libra("2,3 MN {\ntree {(v1_0 1 2)}\n features { 4 0.5 -v0_1 } table {} \n3 1\n}")
    assert file.kind == "MN"
    assert file.cardinalities == (2, 3)
    (block,) = file.blocks
    assert block.variable is None
    tree, features, table, constant = block.factors
    assert tree == LibraTree(LibraSplit(1, 0, 1.0, 2.0))
    assert isinstance(features, LibraFeatureList)
    assert features.exclusive
    assert [(f.parameter, f.weight) for f in features.features] == [(4, 0.5)]
    assert table == LibraFeatureList((), exclusive=False)
    assert constant == LibraFeature(1.0, (), parameter=3)


def test_tied_weight_reaches_every_feature_with_its_number_even_before_the_line() -> None:
    file = parse_libra(
        "2,2\nMN {\n7 1.0 +v0_0\ntable {\n7 2.0 +v1_0\n8 3.0 +v1_1\n}\n7 +v0_1\nw 7 -inf\n}"
    )
    terms = [t for f in file.blocks[0].factors for t in factor_terms(f, file.cardinalities)]
    assert [weight for _, weight in terms] == [-math.inf, -math.inf, 3.0, 7.0]


def test_features_on_lines_of_their_own_are_not_run_together() -> None:
    file = parse_libra("2\nMN {\n3\n0.5 +v0_1\n}")
    assert [f.weight for f in file.blocks[0].factors if isinstance(f, LibraFeature)] == [3.0, 0.5]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_system(newline: str) -> None:
    text = "2,2\nMN {\n\n1 0.5 +v0_1\n\t-2 -v1_0 }\n\n"
    assert parse_libra(text.replace("\n", newline)) == parse_libra(text)


def test_dependency_network_has_a_block_for_each_variable() -> None:
    file = parse_libra("2,2\nDN {\nv1 {\ntree { (v0_0 -1 -2) }\n}\nv0 { 0.5 +v0_1\n}\n}\n")
    assert file.kind == "DN"
    assert [block.variable for block in file.blocks] == [1, 0]
    assert [len(block.factors) for block in file.blocks] == [1, 1]


def test_tree_deeper_than_the_interpreter_recurses() -> None:
    depth = 5000
    text = "2 MN { tree { " + "(v0_0 " * depth + "1" + " 0)" * depth + " } }"
    (factor,) = parse_libra(text).blocks[0].factors
    terms = list(factor_terms(factor, (2,)))
    assert len(terms) == depth + 1
    assert terms[0][1] == 1.0


def test_finite_weights_give_no_warning(tmp_path: Path) -> None:
    path = tmp_path / "model.mn"
    path.write_text("2\nMN {\n40.0 +v0_1\n}\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_libra(path).weights.tolist() == [40.0]


# What is refused, and where.


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"line 1, column 1: expected the number of values of v0.*got the end of the file"),
        ("MN {\n}", r"line 1, column 1: expected the number of values of v0.*got 'MN'"),
        ("2,x\nMN {}", r"line 1, column 3: expected the number of values of v1.*got 'x'"),
        ("2,0\nMN {}", r"line 1, column 3: expected the number of values of v1.*got '0'"),
        ("2,2\nXN {}", r"line 2, column 1: expected 'MN', 'DN' or 'BN'.*got 'XN'"),
        ("2 2\nMN {}", r"line 1, column 3: expected 'MN', 'DN' or 'BN'.*got '2'"),
        ("2,2\nMN\n0.5", r"line 3, column 1: expected '\{' after 'MN', got '0.5'"),
        ("2,2\nMN {\n0.5 +v0_1\n", r"line 4, column 1: expected '\}' for the '\{' of line 2"),
        ("2,2\nMN {\n}\n}", r"line 4, column 1: expected the end of the file.*got '\}'"),
        ("2,2\nMN {\n0.5 +v2_0\n}", r"line 3, column 5: no variable v2: .*v0 to v1"),
        ("2,3\nMN {\n0.5 +v0_0 -v1_3\n}", r"line 3, column 11: v1 has no value 3: .*0 to 2"),
        ("2,2\nMN {\nnan +v0_0\n}", r"line 3, column 1: expected a weight, .*got 'nan'"),
        ("2,2\nMN {\n0,5 +v0_0\n}", r"line 3, column 2: expected a test like.*got ','"),
        ("2,2\nMN {\n1.2.3 +v0_0\n}", r"line 3, column 1: expected a weight, .*got '1.2.3'"),
        ("2,2\nMN {\n0.5 v0_0\n}", r"line 3, column 5: expected a test like '\+v3_0'.*got 'v0_0'"),
        ("2,2\nMN {\n0.5 0.5 +v0_0\n}", r"line 3, column 1: .*parameter's number.*got '0.5'"),
        ("2,2\nMN {\nfeatures {\n1 +v0_0\n", r"line 5, column 1: expected '\}'.*line 3"),
        ("2,2\nMN {\ntable { (\n}}", r"line 3, column 9: expected a weight.*got '\('"),
        ("2,2\nMN {\ntree {\n(v0_0 1\n", r"line 5, column 1: .*in the tree, got the end"),
        ("2,2\nMN {\ntree {\n(v0_0\n 1 2 3)}}", r"line 5, column 6: expected '\)'.*line 4"),
        ("2,2\nMN {\ntree { (+v0_0 1 2) }}", r"line 3, column 9: .*like 'v3_0', got '\+v0_0'"),
        ("2,2\nMN {\ntree { (v0_2 1 2) }}", r"line 3, column 9: v0 has no value 2"),
        ("2,2\nMN {\ntree { 1 2 }}", r"line 3, column 10: expected '\}' after the tree, got '2'"),
        ("2,2\nMN {\nweight x 2\n}", r"line 3, column 8: expected the number of a parameter"),
        ("2,2\nMN {\nweight 1 }", r"line 3, column 10: expected the parameter's weight"),
        ("2,2\nMN {\nw 1 2\nw 1 3\n}", r"line 4, column 3: parameter 1 has a second weight"),
        ("2,2\nMN {\nv0 {\n}\n}", r"line 3, column 1: expected a weight.*got 'v0'"),
        ("2,2\nDN {\n0.5 +v0_1\n}", r"line 3, column 1: expected a variable's block.*got '0.5'"),
        ("2,2\nDN {\nv2 {}\n}", r"line 3, column 1: no variable v2"),
        ("2,2\nDN {\nv0 {}\nv0 {}\n}", r"line 4, column 1: v0 has a second block"),
        ("2,2\nBN {\nv0 {}\n", r"line 4, column 1: expected '\}' for the '\{' of line 2"),
    ],
)
def test_error_names_line_column_and_what_is_expected(text: str, message: str) -> None:
    with pytest.raises(ModelFileError, match=r"^model\.mn, " + message):
        parse_libra(text, name="model.mn")


@given(data=st.data())
def test_every_cut_of_a_file_is_refused(data: st.DataObject) -> None:
    text = (GOLDEN / "every_form.mn").read_text().rstrip()
    length = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(ModelFileError, match=r"line [0-9]+, column [0-9]+: "):
        parse_libra(text[:length])


@pytest.mark.parametrize(
    ("kind", "name"), [("DN", "a dependency network"), ("BN", "a Bayesian network")]
)
def test_other_kinds_of_network_are_named(kind: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.mn"
    path.write_text(f"2\n{kind} {{\nv0 {{\n0.5 +v0_1\n}}\n}}\n")
    with pytest.raises(ModelFileError, match=rf"model\.mn: expected a Markov network.*{name}"):
        read_libra(path)


def test_binary_file_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "model.mn"
    path.write_bytes(b"2,2\nMN \xff\xfe")
    with pytest.raises(ValueError, match=r"model\.mn, line 2: expected UTF-8"):
        read_libra(path)


def test_more_values_than_a_variable_can_have_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.mn"
    path.write_text("2,999999999\nMN {\n0.5 -v1_0\n}\n")
    with pytest.raises(ModelFileError, match=r"model\.mn, numbers of values: .*\[1\].*65535"):
        read_libra(path)


# There and back.


@settings(max_examples=50)
@given(network=networks(weights=st.floats(-1e300, 1e300)))
def test_round_trip_is_exact(network: MarkovNetwork, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("libra") / "model.mn"
    write_libra(network, path)
    again = read_libra(path)
    assert again.schema.cardinalities == network.schema.cardinalities
    assert weights_by_feature(again) == weights_by_feature(network)


def test_golden_file_is_what_we_write() -> None:
    text = (GOLDEN / "network.mn").read_text()
    assert format_libra(read_libra(GOLDEN / "network.mn")) == text


# Libra's own files.

MARKOV_FILES = {
    "nltcs-tree-weights.mn": (-4.849388, -4.930399),
    "nltcs-dn2mn-one-order-one-base.mn": (-5.448781, -5.573966),
    "nltcs-dn2mn-two-orders-marginals.mn": (-4.843170, -4.948586),
}
DEPENDENCY_FILES = {
    "nltcs-tree.dn": (-4.933806, -4.997975),
    "nltcs-logistic.dn": (-4.855789, -4.951509),
}


@pytest.mark.parametrize("name", MARKOV_FILES)
def test_log_potentials_of_libra_files_match_direct_evaluation(name: str, formats: Path) -> None:
    states = np.random.default_rng(1).integers(0, 2, size=(50, 16))
    text = (formats / name).read_text().split("MN {")[1]
    expected = [factors_value(text, x) for x in states]
    network = read_libra(formats / name)
    np.testing.assert_allclose(network.log_potential(states), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", MARKOV_FILES)
def test_libra_files_score_as_libra_says(
    name: str, formats: Path, benchmark: Callable[[str], Any]
) -> None:
    data = benchmark("nltcs")
    network = read_libra(formats / name)
    scores = (network.score(data.valid), network.score(data.test))
    np.testing.assert_allclose(scores, MARKOV_FILES[name], rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", DEPENDENCY_FILES)
def test_dependency_network_files_score_as_libra_says(
    name: str, formats: Path, benchmark: Callable[[str], Any]
) -> None:
    data = benchmark("nltcs")
    file = parse_libra((formats / name).read_text(), name=name)
    assert [block.variable for block in file.blocks] == list(range(16))
    scores = [conditional_score(file, np.asarray(split)) for split in (data.valid, data.test)]
    np.testing.assert_allclose(scores, DEPENDENCY_FILES[name], rtol=0, atol=1e-6)


def conditional_score(file: Any, rows: npt.NDArray[Any]) -> float:
    """The mean over the rows of the sum of the log-conditionals, each block normalised."""
    total = 0.0
    schema = Schema(file.cardinalities)
    for block in file.blocks:
        terms = [t for f in block.factors for t in factor_terms(f, file.cardinalities)]
        network = MarkovNetwork.from_terms(schema, terms)
        potentials = []
        for value in range(file.cardinalities[block.variable]):
            changed = rows.copy()
            changed[:, block.variable] = value
            potentials.append(network.log_potential(changed))
        observed = np.choose(rows[:, block.variable], potentials)
        total += float(np.mean(observed - np.logaddexp.reduce(potentials)))
    return total
