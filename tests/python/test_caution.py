"""Warnings point at the line of the user's that led to them, whatever lies between."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import feldspar as fs

GAPS = np.array([[0, 0], [1, 1], [0, 1], [1, -1]] * 10)
PAIR = [[(0, 1)], [(0, 1), (1, 1)]]


def read_numbers_under_a_name(folder: Path) -> None:
    file = folder / "data.csv"
    file.write_text("x,3\n1,1\n")
    fs.read_table(file)


def read_a_hard_factor(folder: Path) -> None:
    file = folder / "hard.uai"
    file.write_text("MARKOV\n1\n2\n1\n1 0\n2\n0.0 1.0\n")
    fs.MarkovNetwork.load(file)


def fit_with_gaps(_: Path) -> None:
    fs.DTSL(kappa=0.1, conversion="prune", prior_sd=1.0).fit(GAPS)


def fit_with_gaps_in_x_valid(_: Path) -> None:
    fs.DTSL(kappa=0.1, prior_sd=1.0).fit(GAPS[::4], X_valid=GAPS)


def fit_in_no_time(_: Path) -> None:
    fs.DTSL(time_limit=1e-6).fit(fs.datasets.make_survey(100, random_state=0))


def learn_with_gaps(_: Path) -> None:
    fs.learn_weights(PAIR, GAPS)


def learn_in_one_iteration(_: Path) -> None:
    rows = np.random.default_rng(0).integers(0, 2, (50, 4))
    fs.learn_weights(fs.FeatureSet.conjunctions(rows, order=2), rows, max_iterations=1)


def tune_in_one_iteration(_: Path) -> None:
    rows = np.random.default_rng(0).integers(0, 2, (50, 4))
    features = fs.FeatureSet.conjunctions(rows, order=2)
    fs.tune_weights(features, rows, prior_sd=[1.0, 2.0], max_iterations=1)


def take_identifiers(_: Path) -> None:
    fs.FeatureSet.conjunctions(np.arange(120)[:, np.newaxis] * [1, 0] + [0, 1], order=1)


def cut_a_constant(_: Path) -> None:
    fs.preprocessing.Discretizer().fit(np.full((20, 1), 0.5))


@pytest.mark.parametrize(
    "act",
    [
        read_numbers_under_a_name,
        read_a_hard_factor,
        fit_with_gaps,
        fit_with_gaps_in_x_valid,
        fit_in_no_time,
        learn_with_gaps,
        learn_in_one_iteration,
        tune_in_one_iteration,
        take_identifiers,
        cut_a_constant,
    ],
)
def test_the_line_that_is_warned_of_is_the_users(
    act: Callable[[Path], None], tmp_path: Path
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act(tmp_path)
    assert caught
    assert {warning.filename for warning in caught} == {__file__}
