"""What a command does when things go wrong: one line on standard error, and an exit code."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from feldspar.cli.flags import is_set

INCOMPLETE = 3  # part of the job was done, and the rest said why not
INTERRUPTED = 130  # what shells report of a program that Ctrl-C ended

# What bad input raises; the messages are made for users. Anything else is a bug.
_EXPECTED = (ValueError, OSError, ImportError, ArithmeticError)


class FriendlyGroup(click.Group):
    """A group whose commands end with a line and exit code 1 instead of a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; translate exceptions unless ``--debug`` is set."""
        try:
            with _short_warnings():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if is_set(ctx, "--debug") or _is_broken_pipe(error):
                raise
            raise click.ClickException(describe(error)) from error


def describe(error: Exception) -> str:
    """Return an error in one line.

    Examples
    --------
    >>> describe(FileNotFoundError(2, "No such file or directory", "a.csv"))
    'a.csv: no such file or directory'
    >>> describe(ValueError("line 3: expected 2 cells, got 1"))
    'line 3: expected 2 cells, got 1'
    """
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        text = f"{error.filename}: {error.strerror[0].lower()}{error.strerror[1:]}"
    elif isinstance(error, _EXPECTED) and str(error):
        text = str(error)
    else:
        text = f"{type(error).__name__}: {error} (not expected; --debug shows where)"
    return " ".join(text.split())


@contextmanager
def _short_warnings() -> Iterator[None]:
    """Show warnings as a line each, without the place in our code that they come from."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        click.echo(f"Warning: {' '.join(str(message).split())}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _is_broken_pipe(error: Exception) -> bool:
    """Tell whether the reader of our output went away; click ends quietly then."""
    return isinstance(error, OSError) and error.errno == errno.EPIPE
