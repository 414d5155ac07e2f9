"""learners/_race.py: who may still win."""

from __future__ import annotations

import math

import numpy as np
import pytest

import feldspar as fs
from feldspar.learners._race import STEPS, Contender, leader, sort_out
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
    contender = Contender(None, (1.0,) if margin else (), {}, {})
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


def test_only_the_beaten_are_given_up() -> None:
    best, close, far = _judged(-1.0, 0.1), _judged(-1.25, 0.2), _judged(-1.4, 0.1)
    assert sort_out([far, best, close]) == [far, best, close]
    assert [c.is_given_up for c in (far, best, close)] == [True, False, False]
    assert leader([close, best]) is best


def test_only_final_weights_beat_others_for_good() -> None:
    final, worse, loose = _judged(-1.0), _judged(-1.0 - 1e-12), _judged(-1.3, 0.2)
    assert sort_out([final, worse, loose]) == [final]
    assert worse.is_given_up
    assert loose.row == {"status": "given_up"}


def test_what_a_falling_one_had_beaten_is_taken_up_again() -> None:
    falling, final, loose = _judged(-1.0, 0.1), _judged(-1.5), _judged(-1.6, 0.2)
    assert sort_out([falling, final, loose]) == [falling, final, loose]
    assert final.is_given_up
    assert loose.row["status"] == "given_up"
    falling.valid_pll = -3.0  # by more than its margin
    assert sort_out([falling, final, loose]) == [final, loose]
    assert not final.is_given_up
    assert not loose.is_given_up
    assert loose.row["status"] == "unfinished"
    assert leader([final, loose]) is final


def test_what_was_given_up_goes_on_from_where_it_was() -> None:
    judge = PseudoLikelihood(FEATURES, VALID, n_jobs=1)

    def resume(network: fs.MarkovNetwork) -> tuple[WeightRun, PseudoLikelihood]:
        likelihood = PseudoLikelihood(FEATURES, TRAIN, n_jobs=1)
        run = WeightRun(
            likelihood,
            prior_sd=1.0,
            initial_weights=network.weights,
            max_iterations=1000,
            verbose=False,
            earlier=network.training_,
        )
        return run, judge

    contender = Contender(_run(1.0), (1e-3, 1e-12), {}, {}, judge, resume)
    contender.advance(time_limit=None)
    before = contender.row["iterations"]
    contender.give_up()
    contender.take_up()
    contender.advance(time_limit=None)
    direct = _run(1.0).advance(tolerance=1e-12, time_limit=None)
    np.testing.assert_allclose(contender.network.weights, direct.weights, atol=1e-5)
    report = contender.network.training_
    assert report is not None
    assert report.iterations == contender.row["iterations"] > before
    assert [step for step, _, _ in report.history] == list(range(report.iterations + 1))


def _chain(seed: int) -> tuple[fs.Table, fs.Table]:
    """Few rows of variables with several values, each often a copy of the one before."""
    random = np.random.default_rng(seed)
    cardinalities = random.integers(2, 6, random.integers(4, 8)).tolist()

    def rows(n: int) -> fs.Table:
        codes = np.zeros((n, len(cardinalities)), dtype=int)
        for v, cardinality in enumerate(cardinalities):
            codes[:, v] = random.choice(cardinality, n, p=random.dirichlet(np.ones(cardinality)))
            if v:
                copied = random.random(n) < 0.8
                codes[copied, v] = codes[copied, v - 1] % cardinality
        return fs.Table.from_array(codes, cardinalities=cardinalities)

    return rows(int(random.integers(60, 400))), rows(60)


@pytest.mark.parametrize("seed", [60, 121, 230, 300, 327])
def test_no_network_that_was_tried_validates_better_than_the_best(seed: int) -> None:
    # Wide priors look best here for a while, and then fall far below what they had beaten.
    train, valid = _chain(seed)
    learner = fs.L1Neighborhood(n_jobs=1).fit(train, X_valid=valid)
    scores = [row["valid_pll"] for row in learner.trials_ if row["stage"] == "weights"]
    assert learner.valid_pll_ == pytest.approx(max(s for s in scores if s is not None), abs=1e-9)
    assert learner.network_.training_ is not None
    assert learner.network_.training_.converged


def test_without_validation_rows_nobody_is_beaten() -> None:
    one, other = _judged(None), _judged(None)
    assert sort_out([one, other]) == [one, other]
    assert not one.is_given_up
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
