"""The group of all commands, and the entry point."""

from __future__ import annotations

from typing import NoReturn

import click

import feldspar
from feldspar.cli.commands import COMMANDS
from feldspar.cli.failures import FriendlyGroup
from feldspar.cli.flags import common_flags

_EPILOG = """\b
Example:
  feldspar demo
  feldspar learn digits --order 2 -o digits.json
  feldspar score digits.json digits:test
"""


@click.group(
    cls=FriendlyGroup,
    commands=COMMANDS,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(feldspar.__version__, prog_name="feldspar")
@common_flags
def cli() -> None:
    """Learn Markov networks from discrete data, score them and look at them."""


def main() -> NoReturn:
    """Run the command line of this process."""
    # The same name however it is started: `feldspar` or `python -m feldspar`.
    cli.main(prog_name="feldspar")
    raise AssertionError("click exits by itself")
