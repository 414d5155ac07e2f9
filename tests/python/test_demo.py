"""The demonstration as functions: its numbers are what it says they are."""

import json

import numpy as np
import pytest

import feldspar as fs
from feldspar.demo import (
    Classification,
    DemoResult,
    Plan,
    classify_digits,
    complete_digits,
    default_plans,
    demo_page,
    draw_demo,
    picture_png,
    run_demo,
)
from feldspar.demo._picture import digit_weights


def small_plans() -> list[Plan]:
    return [
        Plan("independent", fs.L1Neighborhood(C=1e-9, rule="or", prior_sd=1.0)),
        Plan("pairs", fs.L1Neighborhood(C=0.05, rule="or", prior_sd=[0.1, 1.0], tolerance=1e-3)),
    ]


@pytest.fixture(scope="module")
def result() -> DemoResult:
    return run_demo(plans=small_plans(), n_samples=20)


def test_scores_are_the_network_s(result: DemoResult) -> None:
    for one in result.models.contenders:
        assert one.pll["valid"].mean == pytest.approx(one.network.score(result.data.valid))
        assert one.pll["test"].mean == pytest.approx(one.network.score(result.data.test))


def test_the_best_on_validation_images_goes_on(result: DemoResult) -> None:
    assert result.best.name == "pairs"
    assert result.best.best_params["prior_sd"] == 1.0
    best = classify_digits(result.best.network, result.data.test)
    np.testing.assert_array_equal(result.classification.predicted, best.predicted)


def test_pairs_tell_digits_and_single_features_do_not(result: DemoResult) -> None:
    assert len(result.models.contenders[0].network.features) == 73
    assert result.accuracies["independent"] < 0.2
    assert result.accuracies["pairs"] > 0.7


def test_mistakes_come_most_confident_first() -> None:
    told = Classification(
        truth=np.array([1, 2, 3, 4]),
        predicted=np.array([1, 7, 3, 9]),
        probability=np.array([0.9, 0.5, 0.9, 0.6]),
    )
    assert told.mistakes.tolist() == [3, 1]
    assert told.accuracy == 0.5


def test_probability_is_the_conditional(result: DemoResult) -> None:
    row = 5
    told = result.classification
    codes = np.repeat(result.data.test.codes[[row]], 10, axis=0)
    codes[:, -1] = np.arange(10)
    # By hand: the ten potentials of a row, normalised.
    potentials = np.exp(result.best.network.log_potential(codes))
    expected = potentials / potentials.sum()
    assert told.predicted[row] == expected.argmax()
    assert told.probability[row] == pytest.approx(expected.max(), abs=1e-10)


def test_completion_keeps_what_is_seen(result: DemoResult) -> None:
    completion = result.completion
    seen = [v for v in range(65) if v not in completion.hidden]
    assert completion.hidden == tuple(range(32, 65))
    for images in (completion.completed, completion.likely):
        np.testing.assert_array_equal(images[:, seen], completion.truth[:, seen])
    np.testing.assert_array_equal(completion.darkness[:, :32], completion.truth[:, :32])


def test_completion_does_not_see_what_is_hidden(result: DemoResult) -> None:
    data = result.data
    spoilt = data.test.codes.copy()
    spoilt[:, 32:] = 0
    blind = fs.datasets.DataSplit(
        "spoilt", data.train, data.valid, fs.Table(spoilt, data.schema), ""
    )
    again = complete_digits(result.best.network, blind, n_samples=20)
    np.testing.assert_array_equal(again.completed, result.completion.completed)
    np.testing.assert_array_equal(again.likely, result.completion.likely)


def test_the_completion_is_what_is_more_probable_than_not(result: DemoResult) -> None:
    completion = result.completion
    dark = completion.completed[:, 32:64] == 1
    assert (completion.darkness[:, 32:][dark] >= 0.5).all()
    assert (completion.darkness[:, 32:][~dark] <= 0.5).all()
    # A likely image is at least as probable as the truth more often than not.
    network = result.best.network
    likely, truth = (network.log_potential(x) for x in (completion.likely, completion.truth))
    assert (likely >= truth).mean() > 0.9


def test_completion_beats_the_guess_that_looks_at_nothing(result: DemoResult) -> None:
    completion = result.completion
    hidden = completion.truth[:, 32:64]
    guess = np.round(result.data.train.codes[:, 32:64].mean(axis=0))
    assert completion.majority_accuracy == (guess == hidden).mean()
    assert completion.pixel_accuracy == (completion.completed[:, 32:64] == hidden).mean()
    assert completion.pixel_accuracy > completion.majority_accuracy
    assert completion.label_accuracy > 0.3


def test_the_same_again_but_for_the_time(result: DemoResult) -> None:
    def figures(run: DemoResult) -> dict[str, object]:
        plain = run.to_dict()
        for model in plain["models"]:
            del model["seconds"]
        return plain

    assert figures(run_demo(plans=small_plans(), n_samples=20)) == figures(result)


def test_result_is_plain(result: DemoResult) -> None:
    plain = result.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["best"] == "pairs"


def test_progress_is_reported() -> None:
    lines: list[str] = []
    run_demo(plans=small_plans()[:1], n_samples=2, report=lines.append)
    assert lines == ["learning: independent", "completing half-hidden digits"]


def test_the_plans_are_several_learners() -> None:
    plans = default_plans()
    assert len({type(plan.learner) for plan in plans}) >= 4
    assert len({plan.name for plan in plans}) == len(plans)


def test_digit_weights_say_which_pixels_speak_for_a_digit() -> None:
    schema = fs.datasets.load("digits").schema
    terms = [
        ([("p03", 1), ("digit", 7)], 2.0),
        ([("p03", 1), ("p04", 1)], 9.0),
        ([("digit", 7)], 9.0),
    ]
    weights = digit_weights(fs.MarkovNetwork.from_terms(schema, terms))
    assert weights.shape == (10, 64)
    assert weights[7, 3] == pytest.approx(1.8)  # two, less the mean over ten digits
    assert weights[0, 3] == pytest.approx(-0.2)
    assert np.count_nonzero(weights) == 10


def test_picture(result: DemoResult) -> None:
    pytest.importorskip("matplotlib")
    figure = draw_demo(result)
    # Originals, seen, grey and whole; mistakes; weights and their scale.
    assert len(figure.get_axes()) == 40 + 10 + 10 + 1
    assert picture_png(result).startswith(b"\x89PNG")


def test_page(result: DemoResult) -> None:
    page = demo_page(result)
    assert f"{result.classification.accuracy:.1%}" in page
    assert f"{result.completion.pixel_accuracy:.1%}" in page
    # Ten digits in four images each, and ten mistakes.
    assert page.count('class="pixels"') == 50
