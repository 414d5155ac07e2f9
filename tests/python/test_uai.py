"""The UAI competition's format: what it means, what is refused and where, there and back."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feldspar.io.libra import read_libra
from feldspar.io.source import ModelFileError
from feldspar.io.uai import HARD_WEIGHT, format_uai, read_uai, write_uai
from feldspar.network import MarkovNetwork
from feldspar.schema import Schema
from random_networks import every_state, networks, weights_by_feature

GOLDEN = Path(__file__).parent.parent / "golden"


def read_text(folder: Path, text: str) -> MarkovNetwork:
    path = folder / "model.uai"
    path.write_text(text)
    return read_uai(path)


# What a file means.


def test_last_variable_of_a_scope_changes_fastest(tmp_path: Path) -> None:
    # The scope is (2, 0), so cell 3 * x2 + x0 belongs to the joint value (x2, x0).
    cells = [1.5, 2.0, 2.5, 3.0, 3.5, 4.0]
    text = "MARKOV\n3\n3 2 2\n2\n2 2 0\n1 1\n\n6\n" + " ".join(map(str, cells)) + "\n\n2\n 5 0.25\n"
    network = read_text(tmp_path, text)
    states = every_state(Schema([3, 2, 2]))
    tables = [math.log(cells[3 * c + a]) + math.log([5, 0.25][b]) for a, b, c in states.tolist()]
    np.testing.assert_allclose(network.log_potential(states), tables, rtol=0, atol=1e-12)


@pytest.mark.parametrize("preamble", ["MARKOV", "BAYES", "markov"])
@pytest.mark.parametrize("space", [" ", "\n", "\t\r\n  "])
def test_any_white_space_and_both_preambles(preamble: str, space: str, tmp_path: Path) -> None:
    words = [preamble, "1", "2", "1", "1", "0", "2", "1", "2.5E-1"]
    network = read_text(tmp_path, space + space.join(words) + space)
    assert weights_by_feature(network) == {((0, 1),): math.log(0.25)}


def test_comment_lines_are_left_out(tmp_path: Path) -> None:
    text = "c\nc a comment 1 2 3\nMARKOV\n1\n2\n  c another\n1\n1 0\n2\n1 2\n"
    assert weights_by_feature(read_text(tmp_path, text)) == {((0, 1),): math.log(2.0)}


def test_factor_without_variables_is_a_constant(tmp_path: Path) -> None:
    assert len(read_text(tmp_path, "MARKOV 1 2 1 0 1 7.0").features) == 0


def test_zeros_become_hard_weights_with_one_warning(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"model\.uai: 2 infinite") as caught:
        network = read_text(tmp_path, "MARKOV 2  2 2  1  2 0 1  4  0 1 1 0.0")
    assert len(caught) == 1
    expected = {((0, 0), (1, 0)): -HARD_WEIGHT, ((0, 1), (1, 1)): -HARD_WEIGHT}
    assert weights_by_feature(network) == expected


# What is refused, and where.


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"line 1, column 1: expected 'MARKOV' or 'BAYES', got the end of the file"),
        ("ISING 1", r"line 1, column 1: expected 'MARKOV' or 'BAYES', got 'ISING'"),
        ("MARKOV\n0", r"line 2, column 1: expected the number of variables.*got '0'"),
        ("MARKOV\n2.0", r"line 2, column 1: expected the number of variables.*got '2.0'"),
        ("MARKOV\n2\n2 0", r"line 3, column 3: expected .* values of variable 1.*got '0'"),
        ("MARKOV\n1\n70000", r"line 3, column 1: .*values of variable 0, at most 65535"),
        ("MARKOV\n1\n2\n-1", r"line 4, column 1: expected the number of factors.*got '-1'"),
        ("MARKOV\n1\n2\n1\n1 1", r"line 5, column 3: factor 0: no variable 1, they are 0 to 0"),
        ("MARKOV\n2\n2 2\n1\n2 1 1", r"line 5, column 5: factor 0: variable 1 twice"),
        ("MARKOV\n1\n2\n1\n1 a", r"line 5, column 3: expected a variable of factor 0.*got 'a'"),
        ("MARKOV\n1\n3\n1\n1 0\n2\n1 1", r"line 6, column 1: factor 0 .*\(0\) has 3 cells, got 2"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1", r"line 7, column 2: expected cell 1 of factor 0.*the end"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1 -1", r"line 7, column 3: expected cell 1.*got '-1'"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1 nan", r"line 7, column 3: expected cell 1.*got 'nan'"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1 inf", r"line 7, column 3: expected cell 1.*got 'inf'"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1 1e999", r"line 7, column 3: expected cell 1.*got '1e999'"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n0 0", r"line 6, column 1: factor 0 is 0 everywhere"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1 2\n3", r"line 8, column 1: expected the end .*got '3'"),
    ],
)
def test_error_names_line_column_and_what_is_expected(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelFileError, match=r"model\.uai, " + message):
        read_text(tmp_path, text)


# There and back.


@settings(max_examples=50)
@given(network=networks())
def test_round_trip_keeps_the_log_potential(
    network: MarkovNetwork, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("uai") / "model.uai"
    write_uai(network, path)
    again = read_uai(path)
    assert again.schema.cardinalities == network.schema.cardinalities
    states = every_state(network.schema)
    np.testing.assert_allclose(
        again.log_potential(states), network.log_potential(states), rtol=0, atol=1e-12
    )


def test_conjunctions_of_single_values_keep_their_structure(tmp_path: Path) -> None:
    terms = [([(0, 1)], 0.5), ([(1, 2)], -0.25), ([(0, 1), (1, 2)], 2.0), ([(2, 0)], 1.0)]
    network = MarkovNetwork.from_terms(Schema([2, 3, 2, 2]), terms)
    write_uai(network, tmp_path / "model.uai")
    again = weights_by_feature(read_uai(tmp_path / "model.uai"))
    assert again == pytest.approx(weights_by_feature(network), abs=1e-15)


def test_every_variable_is_in_a_factor() -> None:
    network = MarkovNetwork.from_terms(Schema([2, 3, 2]), [([(1, 0)], 1.0)])
    lines = format_uai(network).splitlines()
    assert lines[3:7] == ["3", "1 1", "1 0", "1 2"]


def test_features_that_overlap_in_one_factor_add_up() -> None:
    terms = [([(0, frozenset({0, 1}))], 1.0), ([(0, frozenset({1, 2}))], 2.0)]
    text = format_uai(MarkovNetwork.from_terms(Schema([3]), terms))
    expected = [math.exp(1.0), math.exp(3.0), math.exp(2.0)]
    assert list(map(float, text.splitlines()[-1].split())) == pytest.approx(expected, rel=1e-15)


def test_golden_file_holds_the_same_network_as_its_twin() -> None:
    network, twin = read_uai(GOLDEN / "network.uai"), read_libra(GOLDEN / "network.mn")
    states = every_state(twin.schema)
    np.testing.assert_allclose(
        network.log_potential(states), twin.log_potential(states), rtol=0, atol=1e-15
    )


def test_feature_with_too_large_a_table_is_named(tmp_path: Path) -> None:
    schema = Schema([3, 3, 3], names=["ann", "bob", "eve"])
    network = MarkovNetwork.from_terms(
        schema, [([(0, 1)], 1.0), ([(0, 1), (1, frozenset({0, 2})), (2, 2)], 1.0)]
    )
    path = tmp_path / "model.uai"
    message = r"feature 1 \(ann=1 & bob in \{0, 2\} & eve=2\) .* 27 cells.*max_table=26"
    with pytest.raises(ValueError, match=message):
        write_uai(network, path, max_table=26)
    assert not path.exists()
    write_uai(network, path, max_table=27)
    assert path.exists()


@settings(max_examples=20)
@given(shift=st.floats(720.0, 1e6))
def test_large_weights_are_scaled_not_overflown(
    shift: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("uai") / "model.uai"
    terms = [([(0, 0)], shift), ([(0, 1)], shift + 1.0), ([(0, 2)], shift - 2.0)]
    write_uai(MarkovNetwork.from_terms(Schema([3]), terms), path)
    potentials = read_uai(path).log_potential(np.array([[0], [1], [2]]))
    np.testing.assert_allclose(potentials - potentials[0], [0, 1, -2], rtol=0, atol=1e-9)


def test_potentials_that_fit_under_no_scale_are_refused() -> None:
    network = MarkovNetwork.from_terms(Schema([2]), [([(0, 0)], -1000.0), ([(0, 1)], 1000.0)])
    with pytest.raises(ValueError, match=r"variables \(0,\).* from -1000 to 1000"):
        format_uai(network)
