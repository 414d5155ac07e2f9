"""What a method of learning is to the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import click

from feldspar.network import MarkovNetwork
from feldspar.table import Table


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
class Learned:
    """What came of it.

    Attributes
    ----------
    network : MarkovNetwork
    valid_pll : float or None
        Its mean PLL on the validation data or the rows held out, if there are any.
    settings : dict
        All hyper-parameters, given or not.
    best_params : dict
        The values that the network was learned with, of those that were tried.
    trials : list of dict
        A row for each setting that was tried.
    """

    network: MarkovNetwork
    valid_pll: float | None
    settings: dict[str, Any]
    best_params: dict[str, Any]
    trials: list[dict[str, Any]]


@dataclass(frozen=True)
class Need:
    """What some options of a method need, since without it they would do nothing.

    Attributes
    ----------
    options : tuple of click.Option
    of : str
        As it is written on the command line.
    is_met : callable
        Gets those options of the method, by name, that were given.
    """

    options: tuple[click.Option, ...]
    of: str
    is_met: Callable[[Mapping[str, Any]], bool]


@dataclass(frozen=True)
class Method:
    """A method, by the name of its ``--method``.

    Attributes
    ----------
    name, summary : str
    options : tuple of click.Option
        Its hyper-parameters. Methods may share an option: the same object.
    learn : callable
        Gets the task and those options, by name, that were given.
    needs : tuple of Need
        Of options that others switch on.
    """

    name: str
    summary: str
    options: tuple[click.Option, ...]
    learn: Callable[[Task, Mapping[str, Any]], Learned]
    needs: tuple[Need, ...] = ()
