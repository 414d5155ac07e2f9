"""Completing digits of which only the upper half is seen.

Iterated conditional modes: the hidden variables start somewhere and climb, one change at a time,
to a state that no single change makes more probable. That needs nothing but the conditional
distributions of complete rows. It finds a local mode, not the most probable completion, which is
why several starts are tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from feldspar.datasets import DataSplit
from feldspar.network import MarkovNetwork

Codes = npt.NDArray[np.int64]

# Below this a change is rounding, and two states of equal probability could alternate for ever.
_LEAST_GAIN = 1e-9


@dataclass(frozen=True, eq=False)
class Completion:
    """Test digits, their lower half and label hidden, then filled in.

    Attributes
    ----------
    truth, completed : array of int, rows x variables
    hidden : tuple of int
        The variables that were not seen; the label is the last one.
    majority : array of int
        Each variable's most frequent training value: the guess that looks at nothing.
    """

    truth: Codes
    completed: Codes
    hidden: tuple[int, ...]
    majority: Codes

    @property
    def pixel_accuracy(self) -> float:
        """The part of the hidden pixels that are filled in right."""
        pixels = list(self.hidden[:-1])
        return float((self.completed[:, pixels] == self.truth[:, pixels]).mean())

    @property
    def majority_accuracy(self) -> float:
        """The same for the guess by majority."""
        pixels = list(self.hidden[:-1])
        return float((self.majority[pixels] == self.truth[:, pixels]).mean())

    @property
    def label_accuracy(self) -> float:
        """The part of the digits that are told right from their upper half."""
        return float((self.completed[:, -1] == self.truth[:, -1]).mean())

    def to_dict(self) -> dict[str, Any]:
        """Return the rates."""
        return {
            "n_digits": len(self.truth),
            "hidden_pixels": len(self.hidden) - 1,
            "pixel_accuracy": self.pixel_accuracy,
            "majority_pixel_accuracy": self.majority_accuracy,
            "label_accuracy": self.label_accuracy,
        }


def complete_digits(
    network: MarkovNetwork, data: DataSplit, *, n_starts: int = 5, seed: int = 0
) -> Completion:
    """Hide the lower half and the label of every test digit and complete it.

    Each start copies the hidden part of a random training digit; of the states that the starts
    climb to, the one with the largest potential is kept. (Of states that agree with what is seen,
    it is the most probable.)
    """
    truth = data.test.codes.astype(np.int64)
    n_pixels = truth.shape[1] - 1
    hidden = (*range(n_pixels // 2, n_pixels), n_pixels)
    states = _starts(data, truth, hidden, n_starts, seed)
    states = climb(network, states, hidden)
    potentials = network.log_potential(states).reshape(len(truth), n_starts)
    chosen = np.arange(len(truth)) * n_starts + potentials.argmax(axis=1)
    return Completion(truth, states[chosen], hidden, _majority(data))


def climb(network: MarkovNetwork, states: npt.ArrayLike, hidden: Sequence[int]) -> Codes:
    """Change hidden variables, always the one that gains most, until no change gains.

    Parameters
    ----------
    network : MarkovNetwork
    states : array of int, rows x variables
        Complete rows to start from.
    hidden : sequence of int
        The variables that may change.

    Returns
    -------
    array of int
        For each row a local mode of the hidden variables given the others.

    Examples
    --------
    >>> import feldspar as fs
    >>> agree = [([("a", 1), ("b", 1)], 2.0), ([("a", 0), ("b", 0)], 2.0)]
    >>> network = fs.MarkovNetwork.from_terms(fs.Schema([2, 2], names=["a", "b"]), agree)
    >>> climb(network, [[1, 0], [0, 0]], hidden=[1]).tolist()
    [[1, 1], [0, 0]]
    """
    current = np.array(states, dtype=np.int64)
    climbing = np.arange(len(current))
    while climbing.size:
        gains, values = _best_changes(network, current[climbing], hidden)
        place = gains.argmax(axis=1)
        rows = np.flatnonzero(gains.max(axis=1) > _LEAST_GAIN)
        climbing, place = climbing[rows], place[rows]
        current[climbing, np.asarray(hidden)[place]] = values[rows, place]
    return current


def _best_changes(
    network: MarkovNetwork, states: Codes, hidden: Sequence[int]
) -> tuple[npt.NDArray[np.float64], Codes]:
    """Return each hidden variable's best value on each row, and the log-odds it gains."""
    conditionals = network.conditionals(states)
    gains = np.empty((len(states), len(hidden)))
    values = np.empty(gains.shape, dtype=np.int64)
    rows = np.arange(len(states))
    for place, variable in enumerate(hidden):
        # A value may be so improbable that its probability is 0 in floating point.
        log_p = np.log(np.maximum(conditionals[variable], np.finfo(float).tiny))
        values[:, place] = log_p.argmax(axis=1)
        gains[:, place] = log_p.max(axis=1) - log_p[rows, states[:, variable]]
    return gains, values


def _starts(
    data: DataSplit, truth: Codes, hidden: Sequence[int], n_starts: int, seed: int
) -> Codes:
    # RandomState, unlike Generator, promises the same numbers in every version of NumPy.
    random = np.random.RandomState(seed)
    states = np.repeat(truth, n_starts, axis=0)
    donors = data.train.codes[random.randint(len(data.train), size=len(states))]
    states[:, list(hidden)] = donors[:, list(hidden)]
    return states


def _majority(data: DataSplit) -> Codes:
    columns = data.train.codes.T
    return np.array([np.bincount(column).argmax() for column in columns], dtype=np.int64)
