"""learners/_race.py: who may still win."""

from __future__ import annotations

import math

import numpy as np
import pytest

import feldspar as fs
from feldspar.learners._race import STEPS, Contender, divide, leader
from feldspar.learners._search import _best_start
from feldspar.weights import PseudoLikelihood, WeightRun

RNG = np.random.default_rng(5)
HIDDEN = RNG.integers(0, 2, 400)
X = (RNG.random((400, 6)) < np.where(HIDDEN, 0.8, 0.3)[:, None]).astype(int)
TRAIN, VALID = X[:300], X[300:]
FEATURES = fs.FeatureSet.conjunctions(TRAIN, order=3)


def _run(prior_sd: float | None, max_iterations: int = 1000) -> WeightRun:
    return WeightRun(
        PseudoLikelihood(FEATURES, TRAIN, n_jobs=1),
        prior_sd=prior_sd,
        initial_weights=None,
        max_iterations=max_iterations,
        verbose=False,
    )


def _judged(valid_pll: float | None, margin: float = 0.0) -> Contender:
    contender = Contender(None, (), {}, {})
    contender.valid_pll = valid_pll
    contender.margin = margin
    return contender


def _settled(prior_sd: float | None, tolerance: float = 1e-8) -> tuple[list[float], list[float]]:
    """Return the validation PLL and the margin after each step."""
    steps = tuple(tolerance * step for step in STEPS)
    judge = PseudoLikelihood(FEATURES, VALID, n_jobs=1)
    contender = Contender(_run(prior_sd), steps, {}, {}, judge)
    plls, margins = [], []
    while contender.steps_left:
        contender.advance(time_limit=None)
        assert contender.valid_pll == pytest.approx(contender.network.score(VALID), abs=1e-12)
        plls.append(contender.valid_pll)
        margins.append(contender.margin)
    return plls, margins


@pytest.mark.parametrize("prior_sd", [0.1, 1.0, 10.0, None])
def test_the_margin_holds_what_is_still_to_come(prior_sd: float | None) -> None:
    plls, margins = _settled(prior_sd, tolerance=1e-6)
    assert len(plls) == len(STEPS)
    assert margins[-1] == 0
    for pll, margin in zip(plls, margins, strict=True):
        assert abs(pll - plls[-1]) <= margin
    assert margins[:-1] == sorted(margins[:-1], reverse=True)


def test_steps_lead_where_one_run_leads() -> None:
    stepped = Contender(_run(1.0), (1e-3, 1e-6, 1e-12), {}, {})
    while stepped.steps_left:
        stepped.advance(time_limit=None)
    direct = _run(1.0).advance(tolerance=1e-12, time_limit=None)
    np.testing.assert_allclose(stepped.network.weights, direct.weights, atol=1e-5)
    report = stepped.network.training_
    assert report is not None
    assert direct.training_ is not None
    assert report.evaluations == stepped.row["evaluations"]
    # What is known of the curvature is kept: the steps cost little more than one run.
    assert report.evaluations <= direct.training_.evaluations + 15
    steps, objectives, seconds = zip(*report.history, strict=True)
    assert list(steps) == list(range(report.iterations + 1))
    assert list(objectives) == sorted(objectives)
    assert list(seconds) == sorted(seconds)


@pytest.mark.parametrize("lead", [0.01, 0.05])
def test_a_setting_is_learned_until_it_is_known_to_lose(lead: float) -> None:
    judge = PseudoLikelihood(FEATURES, VALID, n_jobs=1)
    behind = Contender(_run(10.0), (1e-2, 1e-8), {}, {}, judge)
    behind.advance(time_limit=None)
    assert behind.valid_pll is not None
    assert behind.margin > 2 * lead
    rival = _judged(behind.valid_pll + lead)
    while behind.steps_left and not behind.is_beaten_by(rival):
        behind.advance(time_limit=None, rival=rival)
    assert behind.is_beaten_by(rival)
    assert behind.steps_left == (1e-8,)  # that far it did not have to go
    assert behind.margin > 0.5 * lead  # nor much further than to this


def test_who_leads_goes_to_the_next_tolerance() -> None:
    ahead = Contender(_run(1.0), (1e-2, 1e-3), {}, {}, PseudoLikelihood(FEATURES, VALID, n_jobs=1))
    ahead.advance(time_limit=None, rival=_judged(None))
    assert ahead.valid_pll is not None
    ahead.advance(time_limit=None, rival=_judged(ahead.valid_pll - 1e-3))
    assert not ahead.steps_left


def test_iterations_are_counted_over_all_steps() -> None:
    contender = Contender(_run(1.0, max_iterations=7), (1e-2, 1e-12), {}, {})
    contender.advance(time_limit=None)
    assert contender.row["status"] == "unfinished"
    contender.advance(time_limit=None)
    assert contender.row["status"] == "max_iterations"
    assert contender.row["iterations"] == 7
    assert not contender.steps_left


def test_only_the_beaten_are_divided_off() -> None:
    best, close, far = _judged(-1.0, 0.1), _judged(-1.25, 0.2), _judged(-1.4, 0.1)
    assert divide([far, best, close]) == ([best, close], [far])
    assert leader([close, best]) is best
    final, worse = _judged(-1.0), _judged(-1.0 - 1e-12)
    assert divide([final, worse]) == ([final], [worse])


def test_without_validation_rows_nobody_is_beaten() -> None:
    one, other = _judged(None), _judged(None)
    assert divide([one, other]) == ([one, other], [])
    assert leader([one, other]) is other  # of one setting, what it came to last
    assert one.at_most == -math.inf


def test_weights_start_from_the_better_of_two() -> None:
    likelihood = PseudoLikelihood(FEATURES, TRAIN, n_jobs=1)
    learned = fs.learn_weights(FEATURES, TRAIN, prior_sd=1.0, n_jobs=1).weights
    zeros = np.zeros(len(FEATURES))
    for starts in ([zeros, learned], [learned, zeros]):
        assert np.array_equal(_best_start(likelihood, 1.0, starts), learned)
        assert np.array_equal(_best_start(likelihood, 1e-3, starts), zeros)  # the prior counts
    assert np.array_equal(_best_start(likelihood, 1.0, [None, zeros]), zeros)
    assert _best_start(likelihood, 1.0, [None, None]) is None
