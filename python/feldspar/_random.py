"""From what users call a random state to the seed of the core's streams."""

from __future__ import annotations

import operator
import secrets
from typing import TypeAlias

import numpy as np

RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None

_SEEDS = 2**64


def core_seed(random_state: RandomState) -> int:
    """Return a seed: the integer itself, one drawn from a generator, or for ``None`` a fresh one.

    Examples
    --------
    >>> core_seed(7)
    7
    """
    if random_state is None:
        return secrets.randbelow(_SEEDS)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(_SEEDS - 1, dtype=np.uint64, endpoint=True))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(_SEEDS, dtype=np.uint64))
    try:
        seed = operator.index(random_state)
    except TypeError:
        raise TypeError(
            f"random_state: expected None, an integer or a generator of NumPy, got {random_state!r}"
        ) from None
    if not 0 <= seed < _SEEDS:
        raise ValueError(f"random_state: expected an integer from 0 to 2**64 - 1, got {seed}")
    return seed


def generator(random_state: RandomState) -> np.random.Generator | np.random.RandomState:
    """Return the source of random numbers that a ``random_state`` stands for."""
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return random_state
    return np.random.default_rng(None if random_state is None else core_seed(random_state))
