"""A survey on health that never took place: multi-valued data from a network that is known."""

from __future__ import annotations

import itertools
import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from feldspar._random import RandomState, generator
from feldspar.datasets._catalogue import DatasetInfo
from feldspar.datasets._split import DataSplit
from feldspar.schema import Schema
from feldspar.table import Table

Term: TypeAlias = tuple[tuple[tuple[str, Any], ...], float]

_SIZES = (2000, 500, 500)
_SEED = 0

_VARIABLES: dict[str, tuple[str, ...]] = {
    "age": ("18-34", "35-54", "55-74", "75+"),
    "education": ("school", "vocational", "degree"),
    "smoker": ("never", "former", "current"),
    "exercise": ("never", "sometimes", "often"),
    "diet": ("poor", "fair", "good"),
    "stress": ("low", "medium", "high"),
    "sleep": ("bad", "fair", "good"),
    "health": ("poor", "fair", "good", "excellent"),
    "doctor": ("no", "yes"),
}

_TERMS: tuple[Term, ...] = (
    ((("age", "75+"),), -0.9),
    ((("education", "vocational"),), 0.4),
    ((("smoker", "never"),), 0.4),
    ((("smoker", "current"),), -0.9),
    ((("exercise", "never"),), -0.6),
    ((("exercise", "sometimes"),), 0.3),
    ((("stress", "high"),), -1.1),
    ((("sleep", "bad"),), -0.5),
    ((("health", "poor"),), -2.0),
    ((("health", "good"),), 0.9),
    ((("doctor", "yes"),), -0.8),
    ((("age", "18-34"), ("education", "degree")), 0.6),
    ((("age", {"55-74", "75+"}), ("smoker", "former")), 0.9),
    ((("education", "school"), ("smoker", "current")), 0.9),
    ((("education", "degree"), ("smoker", "current")), -0.9),
    ((("education", "degree"), ("diet", "good")), 0.8),
    ((("exercise", "never"), ("diet", "poor")), 1.1),
    ((("exercise", "often"), ("diet", "good")), 1.0),
    ((("age", {"18-34", "35-54"}), ("stress", "high")), 0.7),
    ((("stress", "high"), ("sleep", "bad")), 1.4),
    ((("stress", "low"), ("sleep", "good")), 1.0),
    ((("stress", "high"), ("smoker", "current")), 0.6),
    ((("smoker", "current"), ("health", {"poor", "fair"})), 0.9),
    ((("exercise", "often"), ("health", {"good", "excellent"})), 0.8),
    ((("sleep", "bad"), ("health", {"poor", "fair"})), 0.7),
    ((("health", "poor"), ("doctor", "yes")), 2.0),
    ((("health", "fair"), ("doctor", "yes")), 0.9),
    # Age alone is no reason to feel ill; age without exercise is.
    ((("age", {"55-74", "75+"}), ("exercise", "never"), ("health", {"poor", "fair"})), 1.6),
)


def survey_info() -> DatasetInfo:
    """Return sizes and source of the survey; the density is that of its binary question."""
    train, valid, test = _SIZES
    return DatasetInfo(
        name="survey",
        train=train,
        valid=valid,
        test=test,
        variables=len(_VARIABLES),
        density=0.43,
        source="made by feldspar: answers to nine questions on health with two to four values "
        "each, drawn from the network feldspar.datasets.survey_terms() with a fixed seed",
    )


def load_survey() -> DataSplit:
    """Return the survey in three parts, always alike."""
    # RandomState, unlike Generator, promises the same numbers in every version of NumPy.
    table = make_survey(sum(_SIZES), random_state=np.random.RandomState(_SEED))
    train, valid, _ = _SIZES
    parts = table[:train], table[train : train + valid], table[train + valid :]
    return DataSplit("survey", *parts, survey_info().description)


def make_survey(n: int = 2000, *, missing: float = 0.0, random_state: RandomState = 0) -> Table:
    """Draw answers to a survey on health: nine questions with two to four values each.

    The answers are independent draws from a Markov network that is known, `survey_terms`.

    Parameters
    ----------
    n : int
        Number of rows.
    missing : float
        The share of the answers to leave out, each by chance.
    random_state : int, numpy.random.Generator or numpy.random.RandomState, optional
        The same integer gives the same answers.

    Examples
    --------
    >>> make_survey(3, random_state=0).to_frame()[["age", "smoker", "health"]].shape
    (3, 3)
    """
    if n < 1:
        raise ValueError(f"n: expected at least 1 row, got {n}")
    if not 0 <= missing < 1:
        raise ValueError(f"missing: expected a share from 0 to less than 1, got {missing}")
    random = generator(random_state)
    states, chances = _distribution()
    drawn = states[np.searchsorted(np.cumsum(chances)[:-1], _uniform(random, (n,)))]
    if missing:
        holes = _uniform(random, drawn.shape) < missing
        drawn = np.where(holes, -1, drawn)
    return Table(drawn, survey_schema())


def survey_terms() -> tuple[Term, ...]:
    """Return the network that the survey is drawn from: conjunctions with their weights.

    Examples
    --------
    >>> import feldspar as fs
    >>> survey = fs.datasets.load("survey")
    >>> truth = fs.MarkovNetwork.from_terms(survey.schema, fs.datasets.survey_terms())
    >>> truth
    MarkovNetwork(9 variables, 28 features)
    """
    return _TERMS


def survey_schema() -> Schema:
    """Return the questions and their answers."""
    labels = list(_VARIABLES.values())
    return Schema([len(ls) for ls in labels], names=_VARIABLES, labels=labels)


def _distribution() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return every joint answer and its probability."""
    schema = survey_schema()
    states = np.array(list(itertools.product(*map(range, schema.cardinalities))), dtype=np.int64)
    log_potentials = np.zeros(len(states))
    for tests, weight in _TERMS:
        holds = np.ones(len(states), dtype=bool)
        for name, admitted in tests:
            values = admitted if isinstance(admitted, set) else {admitted}
            codes = [schema.code(name, value) for value in values]
            holds &= np.isin(states[:, schema.index(name)], codes)
        log_potentials[holds] += weight
    potentials = np.exp(log_potentials)
    return states, potentials / math.fsum(potentials)


def _uniform(
    random: np.random.Generator | np.random.RandomState, shape: tuple[int, ...]
) -> npt.NDArray[np.float64]:
    numbers: npt.NDArray[np.float64] = random.random(shape)  # both kinds have it
    return numbers
