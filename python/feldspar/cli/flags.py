"""Flags that every command has. They may stand before or after the command's name."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar

import click
from click.core import ParameterSource

F = TypeVar("F", bound=Callable[..., Any])


def common_flags(command: F) -> F:
    """Add ``--json`` and ``--debug`` to a command or a group."""
    for decorate in (
        _flag("--debug", "Show the traceback of an error."),
        _flag("--json", "Print JSON, for machines."),
    ):
        command = decorate(command)
    return command


def is_set(context: click.Context, flag: str) -> bool:
    """Tell whether a flag was given to the command or to a group around it."""
    return bool(context.meta.get(_key(flag), False))


def is_given(context: click.Context, name: str) -> bool:
    """Tell whether the user gave an option, be it with its default value."""
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def refuse_given(context: click.Context, names: Collection[str], why: str) -> None:
    """Refuse options that would do nothing; ``why`` goes on after the option's name."""
    for parameter in context.command.params:
        if parameter.name in names and is_given(context, parameter.name):
            raise click.UsageError(f"{parameter.opts[0]} {why}.")


def _flag(name: str, help: str) -> Callable[[F], F]:
    def remember(context: click.Context, _: click.Parameter, value: bool) -> None:
        if value:
            context.meta[_key(name)] = True

    return click.option(name, is_flag=True, expose_value=False, callback=remember, help=help)


def _key(flag: str) -> str:
    # click shares `meta` between nested contexts and asks for a prefix.
    return f"feldspar.cli.{flag}"
