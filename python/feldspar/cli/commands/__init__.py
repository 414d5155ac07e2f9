"""The commands: a file for each, a line here."""

import click

from feldspar.cli.commands.compare import compare
from feldspar.cli.commands.completion import completion
from feldspar.cli.commands.convert import convert
from feldspar.cli.commands.data import data
from feldspar.cli.commands.demo import demo
from feldspar.cli.commands.learn import learn
from feldspar.cli.commands.query import query
from feldspar.cli.commands.reproduce import reproduce
from feldspar.cli.commands.sample import sample
from feldspar.cli.commands.score import score
from feldspar.cli.commands.show import show

__all__ = ["COMMANDS"]

COMMANDS: list[click.Command] = [
    demo,
    learn,
    score,
    query,
    sample,
    show,
    compare,
    reproduce,
    convert,
    data,
    completion,
]
