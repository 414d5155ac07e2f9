"""Completing digits of which only the upper half is seen: two questions to a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from feldspar.datasets import DataSplit
from feldspar.network import MarkovNetwork

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Completion:
    """Test digits, their lower half and label hidden, then filled in.

    Attributes
    ----------
    truth : array of int, rows x variables
    completed : array of int, rows x variables
        The most probable value of each variable on its own.
    likely : array of int, rows x variables
        A whole image that is probable as a whole: a mode, maybe not the highest.
    darkness : array of float64, rows x pixels
        The probability that a pixel is dark; 0 or 1 where it is seen.
    hidden : tuple of int
        The variables that were not seen; the label is the last one.
    majority : array of int
        Each variable's most frequent training value: the guess that looks at nothing.
    """

    truth: Codes
    completed: Codes
    likely: Codes
    darkness: npt.NDArray[np.float64]
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
    network: MarkovNetwork, data: DataSplit, *, n_samples: int = 200, seed: int = 0
) -> Completion:
    """Hide the lower half and the label of every test digit and complete it.

    Pixel by pixel by the marginals of Gibbs sampling, and as a whole by iterated conditional modes
    from several starts. Exact answers take far longer: half an image joins all that is hidden.
    """
    truth = data.test.codes.astype(np.int64)
    n_pixels = truth.shape[1] - 1
    hidden = (*range(n_pixels // 2, n_pixels), n_pixels)
    seen = truth.copy()
    seen[:, list(hidden)] = -1
    marginals = network.marginals(
        seen, "gibbs", n_chains=4, burn_in=50, n_samples=n_samples, random_state=seed
    )
    completed = np.column_stack([marginals[name].argmax(axis=1) for name in data.schema.names])
    likely = network.most_probable(seen, "icm", n_starts=20, random_state=seed).states.to_numpy()
    darkness = np.column_stack([marginals[v][:, 1] for v in range(n_pixels)])
    return Completion(truth, completed, likely.astype(np.int64), darkness, hidden, _majority(data))


def _majority(data: DataSplit) -> Codes:
    columns = data.train.codes.T
    return np.array([np.bincount(column).argmax() for column in columns], dtype=np.int64)
