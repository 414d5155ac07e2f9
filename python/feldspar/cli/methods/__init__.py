"""What ``feldspar learn --method`` offers: a file for each method, a line here."""

from feldspar.cli.methods.conjunctions import CONJUNCTIONS
from feldspar.cli.methods.method import Method, Task

__all__ = ["METHODS", "Method", "Task"]

METHODS: tuple[Method, ...] = (CONJUNCTIONS,)
