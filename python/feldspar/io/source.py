"""The text of a model file, cut into tokens, and the errors that name a place in it."""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(r"[{}(),]|[^\s{}(),]+")


class ModelFileError(ValueError):
    """A model file does not follow its format; the message names the file and the place."""


class Token(NamedTuple):
    """A word or a bracket, with its place (both counted from 1); the end of the file is ``""``."""

    text: str
    line: int
    column: int


class TokenStream:
    """The tokens of a text, read one after the other with one token of look-ahead.

    Parameters
    ----------
    text : str
        What to read.
    name : str
        What errors call it, usually the path.
    comment : re.Pattern[str]
        What to leave out of a line before it is cut into tokens; it must reach to the end of the
        line, so that the columns of the rest stay true.
    """

    def __init__(self, text: str, *, name: str, comment: re.Pattern[str]) -> None:
        self.name = name
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._tokens = [
            Token(match.group(), number, match.start() + 1)
            for number, line in enumerate(lines, start=1)
            for match in _TOKEN.finditer(comment.sub("", line))
        ]
        self._end = Token("", len(lines), len(lines[-1]) + 1)
        self._position = 0

    def peek(self) -> Token:
        """Return the next token without taking it."""
        if self._position < len(self._tokens):
            return self._tokens[self._position]
        return self._end

    def take(self) -> Token:
        """Return the next token and move past it."""
        token = self.peek()
        self._position += 1
        return token

    def error(self, token: Token, problem: str) -> ModelFileError:
        """Return an error that names the place of ``token``."""
        return ModelFileError(f"{self.name}, line {token.line}, column {token.column}: {problem}")

    def unexpected(self, token: Token, expected: str) -> ModelFileError:
        """Return an error that says what was expected and what stands there."""
        got = repr(token.text) if token.text else "the end of the file"
        return self.error(token, f"expected {expected}, got {got}")
