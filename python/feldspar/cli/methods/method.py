"""What a method of learning is to the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import click

from feldspar.table import Table
from feldspar.tuning import TunedWeights


@dataclass(frozen=True)
class Task:
    """What there is to learn from.

    Attributes
    ----------
    train : Table
    valid : Table or None
        Without it, a method that has a choice to make holds out a tenth of ``train``.
    seed : int
    n_jobs : int or None
    """

    train: Table
    valid: Table | None
    seed: int
    n_jobs: int | None


@dataclass(frozen=True)
class Method:
    """A method, by the name of its ``--method``.

    Attributes
    ----------
    name, summary : str
    options : tuple of click.Option
        Its hyper-parameters. Methods may share an option: the same object.
    learn : callable
        Gets the task and the values of the options by name.
    """

    name: str
    summary: str
    options: tuple[click.Option, ...]
    learn: Callable[[Task, Mapping[str, Any]], TunedWeights]
