"""The grammar of the Libra toolkit's model files: text to a plain value.

::

    file     = integer {"," integer} ("MN" block | ("DN" | "BN") "{" {variable block} "}")
    block    = "{" {factor | tied} "}"
    factor   = feature | ("features" | "table") "{" {feature} "}" | "tree" "{" tree "}"
    feature  = [integer] number {("+" | "-") variable "_" integer}       (ends with its line)
    tree     = number | "(" variable "_" integer tree tree ")"
    tied     = ("w" | "weight") integer number
    variable = "v" integer

The first line counts the values of each variable. Numbers are log-potentials and may be ``inf`` or
``-inf``. Keywords may be in capitals or not; ``#`` starts a comment that ends with the line. The
integer before a feature's weight numbers its parameter: a `tied` line, anywhere in the file, gives
its weight to every feature with that number, in place of the weight that stands there.

Markov, dependency and Bayesian networks share this grammar, and so this parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, cast

from feldspar.io.source import Token, TokenStream

_COMMENT = re.compile(r"#.*")
_INTEGER = re.compile(r"[0-9]{1,9}")
_NUMBER = re.compile(
    r"[-+]?(?:inf(?:inity)?|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?)", re.IGNORECASE
)
_BLOCK_NAME = re.compile(r"v([0-9]{1,9})")
_CONDITION = re.compile(r"([-+]?)v([0-9]{1,9})_([0-9]{1,9})")

NetworkKind: TypeAlias = Literal["MN", "DN", "BN"]


@dataclass(frozen=True, slots=True)
class LibraCondition:
    """``+v3_1`` (the variable has the value) or ``-v3_1`` (it has another)."""

    variable: int
    value: int
    equal: bool


@dataclass(frozen=True, slots=True)
class LibraFeature:
    """A weight where all the conditions hold, 0 elsewhere."""

    weight: float
    conditions: tuple[LibraCondition, ...]
    parameter: int | None = None


@dataclass(frozen=True, slots=True)
class LibraFeatureList:
    """The sum of its features; ``exclusive`` if the file says that at most one holds."""

    features: tuple[LibraFeature, ...]
    exclusive: bool


@dataclass(frozen=True, slots=True)
class LibraSplit:
    """``(v2_0 A B)``: the value of A where the variable has the value, else that of B."""

    variable: int
    value: int
    equal: LibraTreeNode
    other: LibraTreeNode


LibraTreeNode: TypeAlias = "LibraSplit | float"


@dataclass(frozen=True, slots=True)
class LibraTree:
    """A decision tree with log-potentials at its leaves."""

    root: LibraTreeNode


LibraFactor: TypeAlias = LibraFeature | LibraFeatureList | LibraTree


@dataclass(frozen=True, slots=True)
class LibraBlock:
    """Factors that add up: a whole Markov network, or one variable's conditional distribution."""

    variable: int | None
    factors: tuple[LibraFactor, ...]


@dataclass(frozen=True, slots=True)
class LibraFile:
    """What a file says, in its own order.

    Attributes
    ----------
    kind : {"MN", "DN", "BN"}
        Markov, dependency or Bayesian network.
    cardinalities : tuple of int
        The number of values of each variable.
    blocks : tuple of LibraBlock
        One without a variable for a Markov network, else one for each variable that the file
        describes. Tied weights are already in their features.
    """

    kind: NetworkKind
    cardinalities: tuple[int, ...]
    blocks: tuple[LibraBlock, ...]


def parse_libra(text: str, *, name: str = "<text>") -> LibraFile:
    r"""Parse the text of a Libra model file.

    Parameters
    ----------
    text : str
        The whole file.
    name : str, default "<text>"
        What errors call it, usually the path.

    Returns
    -------
    LibraFile
        The file as a plain value.

    Raises
    ------
    ModelFileError
        Naming the line and column, what was expected and what stands there.

    Examples
    --------
    >>> from feldspar.io.libra_syntax import parse_libra
    >>> file = parse_libra("2,3\nMN {\n0.5 +v0_1 -v1_2\n}\n")
    >>> file.kind, file.cardinalities
    ('MN', (2, 3))
    >>> file.blocks[0].factors[0].weight
    0.5
    """
    return _Parser(TokenStream(text, name=name, comment=_COMMENT)).file()


@dataclass(slots=True)
class _OpenSplit:
    """A split of which not both branches have been read."""

    start: Token
    variable: int
    value: int
    branches: list[LibraTreeNode] = field(default_factory=list)


class _Parser:
    """Recursive descent: one method for each rule of the grammar above."""

    def __init__(self, tokens: TokenStream) -> None:
        self._tokens = tokens
        self._cardinalities: tuple[int, ...] = ()
        self._tied: dict[int, float] = {}

    def file(self) -> LibraFile:
        self._cardinalities = self._header()
        kind = self._kind()
        start = self._open(kind)
        if kind == "MN":
            blocks: tuple[LibraBlock, ...] = (LibraBlock(None, self._factors(start)),)
        else:
            blocks = self._conditionals(start)
        if (token := self._tokens.take()).text:
            raise self._tokens.unexpected(token, f"the end of the file after '{kind} {{ ... }}'")
        return LibraFile(kind, self._cardinalities, self._with_tied_weights(blocks))

    def _header(self) -> tuple[int, ...]:
        first = self._tokens.peek()
        cardinalities = [self._cardinality(0)]
        while self._tokens.peek().text == "," and self._tokens.peek().line == first.line:
            self._tokens.take()
            cardinalities.append(self._cardinality(len(cardinalities)))
        return tuple(cardinalities)

    def _cardinality(self, variable: int) -> int:
        token = self._tokens.take()
        if not _INTEGER.fullmatch(token.text) or int(token.text) == 0:
            expected = f"the number of values of v{variable}, a positive integer as in '2,2,3'"
            raise self._tokens.unexpected(token, expected)
        return int(token.text)

    def _kind(self) -> NetworkKind:
        token = self._tokens.take()
        kind = token.text.upper()
        if kind not in ("MN", "DN", "BN"):
            raise self._tokens.unexpected(token, "'MN', 'DN' or 'BN' after the numbers of values")
        return cast(NetworkKind, kind)

    def _conditionals(self, start: Token) -> tuple[LibraBlock, ...]:
        blocks: dict[int, LibraBlock] = {}
        while not self._closes(start):
            token = self._tokens.take()
            match = _BLOCK_NAME.fullmatch(token.text)
            if not match:
                raise self._tokens.unexpected(token, "a variable's block, as in 'v3 {', or '}'")
            variable = self._known_variable(token, match[1])
            if variable in blocks:
                raise self._tokens.error(token, f"v{variable} has a second block")
            blocks[variable] = LibraBlock(variable, self._factors(self._open(token.text)))
        return tuple(blocks.values())

    def _factors(self, start: Token) -> tuple[LibraFactor, ...]:
        factors: list[LibraFactor] = []
        while not self._closes(start):
            keyword = self._tokens.peek().text.lower()
            if keyword in ("w", "weight"):
                self._tied_weight()
            elif keyword == "tree":
                factors.append(self._tree_factor())
            elif keyword in ("features", "table"):
                factors.append(self._feature_list(exclusive=keyword == "features"))
            else:
                factors.append(self._feature())
        return tuple(factors)

    def _tied_weight(self) -> None:
        self._tokens.take()
        token = self._tokens.take()
        if not _INTEGER.fullmatch(token.text):
            raise self._tokens.unexpected(token, "the number of a parameter, as in 'weight 7 0.35'")
        parameter = int(token.text)
        if parameter in self._tied:
            raise self._tokens.error(token, f"parameter {parameter} has a second weight")
        self._tied[parameter] = self._number("the parameter's weight, a number")

    def _feature_list(self, *, exclusive: bool) -> LibraFeatureList:
        start = self._open(self._tokens.take().text)
        features: list[LibraFeature] = []
        while not self._closes(start):
            features.append(self._feature())
        return LibraFeatureList(tuple(features), exclusive)

    def _feature(self) -> LibraFeature:
        first = self._tokens.peek()
        number = self._number("a weight, 'features', 'table', 'tree' or '}'")
        parameter = None
        second = self._tokens.peek()
        if second.line == first.line and _NUMBER.fullmatch(second.text):
            if not _INTEGER.fullmatch(first.text):
                raise self._tokens.unexpected(first, "a parameter's number before the weight")
            parameter, number = int(first.text), self._number("a weight")
        conditions: list[LibraCondition] = []
        # The end of the line matters: "3" and "0.5 +v0_1" below it are two features, not one.
        while (token := self._tokens.peek()).line == first.line and token.text not in ("", "}"):
            conditions.append(self._condition(signed=True))
        return LibraFeature(number, tuple(conditions), parameter)

    def _condition(self, *, signed: bool) -> LibraCondition:
        token = self._tokens.take()
        match = _CONDITION.fullmatch(token.text)
        if not match or bool(match[1]) != signed:
            example = "'+v3_0' or '-v3_0'" if signed else "'v3_0'"
            raise self._tokens.unexpected(token, f"a test like {example}")
        variable = self._known_variable(token, match[2])
        value, cardinality = int(match[3]), self._cardinalities[variable]
        if value >= cardinality:
            problem = f"v{variable} has no value {value}: its values are 0 to {cardinality - 1}"
            raise self._tokens.error(token, problem)
        return LibraCondition(variable, value, match[1] != "-")

    def _known_variable(self, token: Token, digits: str) -> int:
        variable, n_variables = int(digits), len(self._cardinalities)
        if variable >= n_variables:
            problem = f"no variable v{variable}: the first line has v0 to v{n_variables - 1}"
            raise self._tokens.error(token, problem)
        return variable

    def _tree_factor(self) -> LibraTree:
        start = self._open(self._tokens.take().text)
        root = self._tree()
        if not self._closes(start):
            raise self._tokens.unexpected(self._tokens.peek(), "'}' after the tree")
        return LibraTree(root)

    def _tree(self) -> LibraTreeNode:
        # A stack of our own: a tree may be deeper than Python's calls may be.
        open_splits: list[_OpenSplit] = []
        while True:
            start = self._tokens.peek()
            if start.text == "(":
                self._tokens.take()
                condition = self._condition(signed=False)
                open_splits.append(_OpenSplit(start, condition.variable, condition.value))
                continue
            node: LibraTreeNode = self._number("a number or '(' in the tree")
            while open_splits:
                open_splits[-1].branches.append(node)
                if len(open_splits[-1].branches) == 1:
                    break
                node = self._close_split(open_splits.pop())
            else:
                return node

    def _close_split(self, split: _OpenSplit) -> LibraSplit:
        if (token := self._tokens.take()).text != ")":
            raise self._tokens.unexpected(token, f"')' for the '(' of line {split.start.line}")
        return LibraSplit(split.variable, split.value, *split.branches)

    def _number(self, expected: str) -> float:
        token = self._tokens.take()
        if not _NUMBER.fullmatch(token.text):
            raise self._tokens.unexpected(token, expected)
        return float(token.text)

    def _open(self, what: str) -> Token:
        if (token := self._tokens.take()).text != "{":
            raise self._tokens.unexpected(token, f"'{{' after '{what}'")
        return token

    def _closes(self, start: Token) -> bool:
        """Take the closing brace if it is next; a file that ends here was cut off."""
        token = self._tokens.peek()
        if not token.text:
            raise self._tokens.unexpected(token, f"'}}' for the '{{' of line {start.line}")
        if token.text == "}":
            self._tokens.take()
        return token.text == "}"

    def _with_tied_weights(self, blocks: tuple[LibraBlock, ...]) -> tuple[LibraBlock, ...]:
        if not self._tied:
            return blocks
        return tuple(
            replace(block, factors=tuple(_map_features(self._tie, f) for f in block.factors))
            for block in blocks
        )

    def _tie(self, feature: LibraFeature) -> LibraFeature:
        if feature.parameter is None or feature.parameter not in self._tied:
            return feature
        return replace(feature, weight=self._tied[feature.parameter])


def _map_features(
    change: Callable[[LibraFeature], LibraFeature], factor: LibraFactor
) -> LibraFactor:
    match factor:
        case LibraFeature():
            return change(factor)
        case LibraFeatureList(features):
            return replace(factor, features=tuple(map(change, features)))
        case LibraTree():
            return factor
