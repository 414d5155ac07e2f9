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
    climb,
    complete_digits,
    draw_demo,
    picture_png,
    run_demo,
)
from feldspar.demo._picture import digit_weights

SMALL = (
    Plan("independent", order=1, prior_sds=(1.0,)),
    Plan("pairs", order=2, min_support=60, prior_sds=(0.1, 0.5)),
)


@pytest.fixture(scope="module")
def result() -> DemoResult:
    return run_demo(plans=SMALL, n_starts=2)


def random_network(seed: int) -> fs.MarkovNetwork:
    random = np.random.RandomState(seed)
    schema = fs.Schema([2, 3, 2, 4])
    features = fs.FeatureSet(
        schema,
        [
            [(a, x), (b, y)]
            for a in range(4)
            for b in range(a + 1, 4)
            for x in range(1, schema.cardinalities[a])
            for y in range(schema.cardinalities[b])
        ],
    )
    return fs.MarkovNetwork(features, random.normal(size=len(features)))


def all_states(network: fs.MarkovNetwork) -> np.ndarray:
    return np.indices(network.schema.cardinalities).reshape(len(network.schema), -1).T


def test_scores_are_the_network_s(result: DemoResult) -> None:
    for model in result.models:
        assert model.valid_pll == model.network.score(result.data.valid)
        assert model.test_pll == model.network.score(result.data.test)
        assert model.n_features == len(model.network.features)


def test_the_prior_is_chosen_on_validation_data(result: DemoResult) -> None:
    pairs = result.models[1]
    other = fs.learn_weights(pairs.network.features, result.data.train, prior_sd=0.1)
    assert pairs.prior_sd == 0.5
    assert pairs.valid_pll > other.score(result.data.valid)


def test_the_best_model_goes_on(result: DemoResult) -> None:
    assert result.best is result.models[1]
    best = classify_digits(result.best.network, result.data.test)
    np.testing.assert_array_equal(result.classification.predicted, best.predicted)


def test_pairs_tell_digits_and_single_features_do_not(result: DemoResult) -> None:
    independent, pairs = result.models
    assert independent.accuracy < 0.2
    assert pairs.accuracy > 0.7


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


@pytest.mark.parametrize("seed", range(5))
def test_climbing_ends_in_local_modes(seed: int) -> None:
    network = random_network(seed)
    starts = all_states(network)
    hidden = [1, 3]
    ends = climb(network, starts, hidden)
    np.testing.assert_array_equal(ends[:, [0, 2]], starts[:, [0, 2]])
    potential = network.log_potential(ends)
    assert (potential >= network.log_potential(starts) - 1e-12).all()
    for variable in hidden:
        for value in range(network.schema.cardinalities[variable]):
            neighbours = ends.copy()
            neighbours[:, variable] = value
            assert (network.log_potential(neighbours) <= potential + 1e-8).all()


def test_climbing_takes_the_steepest_way() -> None:
    # From 0, 0 both variables gain by a change, b more; after it, a has nothing to gain.
    terms = [([(0, 1)], 1.0), ([(1, 1)], 2.0), ([(0, 1), (1, 1)], -3.0)]
    network = fs.MarkovNetwork.from_terms(fs.Schema([2, 2]), terms)
    assert climb(network, [[0, 0]], [0, 1]).tolist() == [[0, 1]]


def test_completion_keeps_what_is_seen(result: DemoResult) -> None:
    completion = result.completion
    seen = [v for v in range(65) if v not in completion.hidden]
    assert completion.hidden == tuple(range(32, 65))
    np.testing.assert_array_equal(completion.completed[:, seen], completion.truth[:, seen])


def test_completion_does_not_see_what_is_hidden(result: DemoResult) -> None:
    data = result.data
    spoilt = data.test.codes.copy()
    spoilt[:, 32:] = 0
    blind = fs.datasets.DataSplit(
        "spoilt", data.train, data.valid, fs.Table(spoilt, data.schema), ""
    )
    again = complete_digits(result.best.network, blind, n_starts=2)
    np.testing.assert_array_equal(again.completed, result.completion.completed)


def test_more_starts_find_better_states(result: DemoResult) -> None:
    network, data = result.best.network, result.data
    one, many = (complete_digits(network, data, n_starts=n).completed for n in (1, 6))
    assert network.log_potential(many).mean() > network.log_potential(one).mean()


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

    assert figures(run_demo(plans=SMALL, n_starts=2)) == figures(result)


def test_result_is_plain(result: DemoResult) -> None:
    plain = result.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["best"] == "pairs"


def test_progress_is_reported() -> None:
    lines: list[str] = []
    run_demo(plans=SMALL[:1], n_starts=1, report=lines.append)
    assert lines == ["learning: independent, 73 features", "completing half-hidden digits"]


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
    # Originals, seen and completed; mistakes; weights and their scale.
    assert len(figure.get_axes()) == 30 + 10 + 10 + 1
    assert picture_png(result).startswith(b"\x89PNG")
