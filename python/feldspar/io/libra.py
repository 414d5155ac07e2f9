"""Markov networks in the Libra toolkit's text format, ``.mn``.

The format holds cardinalities, features and weights. It has no place for the names of variables,
the labels of values or the metadata: they are not written, and a network that was read calls its
variables ``v0``, ``v1``, ... Use the native format to keep them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from feldspar.io.files import Target, atomic_write, read_text, source_name
from feldspar.io.libra_syntax import (
    LibraCondition,
    LibraFactor,
    LibraFeature,
    LibraFeatureList,
    LibraFile,
    LibraSplit,
    LibraTree,
    LibraTreeNode,
    parse_libra,
)
from feldspar.io.source import ModelFileError
from feldspar.io.terms import HARD_WEIGHT, Term, Test, soften_terms
from feldspar.network import MarkovNetwork
from feldspar.schema import Schema

__all__ = [
    "HARD_WEIGHT",
    "LibraFile",
    "conjunction_words",
    "factor_terms",
    "format_libra",
    "parse_libra",
    "read_libra",
    "write_libra",
]

_KIND_NAMES = {"DN": "a dependency network", "BN": "a Bayesian network"}


def read_libra(path: Target) -> MarkovNetwork:
    r"""Read a Markov network from a ``.mn`` file.

    Every factor becomes features: a feature list its own, a tree one for each leaf. Constants
    (features without tests) are left out, since they change no probability. Infinite weights
    become `HARD_WEIGHT` of the same sign, with a warning that says how many.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    MarkovNetwork
        Variables without names or labels.

    Raises
    ------
    ModelFileError
        If the file does not follow the format (naming line and column), or holds a dependency or
        Bayesian network.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from feldspar.io.libra import read_libra
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.mn")
    ...     _ = path.write_text("2,2\nMN {\n0.5 +v0_1 +v1_1\n}\n")
    ...     network = read_libra(path)
    >>> network.log_potential([[1, 1], [1, 0]]).tolist()
    [0.5, 0.0]
    """
    name = source_name(path)
    file = parse_libra(read_text(path), name=name)
    if file.kind != "MN":
        message = f"{name}: expected a Markov network (MN), got {_KIND_NAMES[file.kind]}"
        raise ModelFileError(f"{message} ({file.kind})")
    try:
        schema = Schema(file.cardinalities)
    except ValueError as error:  # more values than a variable can have
        raise ModelFileError(f"{name}, numbers of values: {error}") from None
    terms = [
        term
        for block in file.blocks
        for factor in block.factors
        for term in factor_terms(factor, file.cardinalities)
    ]
    return MarkovNetwork.from_terms(schema, soften_terms(terms, name=name))


def write_libra(network: MarkovNetwork, path: Target) -> None:
    """Write a Markov network to a ``.mn`` file, whole or not at all.

    Parameters
    ----------
    network : MarkovNetwork
        What to write. Names, labels and metadata have no place in this format.
    path : str or Path
        The file; an old one is replaced.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import feldspar as fs
    >>> from feldspar.io.libra import write_libra
    >>> network = fs.MarkovNetwork.from_terms(fs.Schema([2, 3]), [([(0, 1), (1, {0, 2})], 0.5)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.mn")
    ...     write_libra(network, path)
    ...     print(path.read_text(), end="")
    2,3
    MN {
    0.5 +v0_1 -v1_1
    }
    """
    atomic_write(path, format_libra(network))


def format_libra(network: MarkovNetwork) -> str:
    """Return the text of a ``.mn`` file: one feature a line, weights that read back exactly."""
    cardinalities = network.schema.cardinalities
    lines = [",".join(map(str, cardinalities)), "MN {"]
    pairs = zip(network.features, network.weights.tolist(), strict=True)
    lines += [conjunction_words(tests, weight, cardinalities) for tests, weight in pairs]
    return "\n".join([*lines, "}", ""])


def conjunction_words(tests: Iterable[Test], weight: float, cardinalities: tuple[int, ...]) -> str:
    """Return the line of a weighted conjunction."""
    words = [repr(weight)]
    for variable, admitted in tests:
        words.extend(_test_words(variable, admitted, cardinalities[variable]))
    return " ".join(words)


def _test_words(variable: int, admitted: int | frozenset[int], cardinality: int) -> list[str]:
    """Return the tests whose conjunction admits exactly these values: the format has no sets."""
    if isinstance(admitted, int):
        return [f"+v{variable}_{admitted}"]
    return [f"-v{variable}_{value}" for value in range(cardinality) if value not in admitted]


def factor_terms(factor: LibraFactor, cardinalities: tuple[int, ...]) -> Iterator[Term]:
    """Yield weighted conjunctions whose sum is the factor.

    Parameters
    ----------
    factor : LibraFeature, LibraFeatureList or LibraTree
        A factor of a parsed file.
    cardinalities : tuple of int
        The number of values of each variable.

    Yields
    ------
    (conjunction, weight)
        In the order of the file. A conjunction may test a variable more than once.

    Examples
    --------
    >>> from feldspar.io.libra import factor_terms, parse_libra
    >>> file = parse_libra("2,3 MN { tree { (v1_0 0.5 -0.5) } }")
    >>> list(factor_terms(file.blocks[0].factors[0], file.cardinalities))
    [(((1, 0),), 0.5), (((1, frozenset({1, 2})),), -0.5)]
    """
    match factor:
        case LibraFeature(weight, conditions):
            yield tuple(_test(condition, cardinalities) for condition in conditions), weight
        case LibraFeatureList(features):
            for feature in features:
                yield from factor_terms(feature, cardinalities)
        case LibraTree(root):
            yield from _leaf_terms(root, cardinalities)


def _leaf_terms(root: LibraTreeNode, cardinalities: tuple[int, ...]) -> Iterator[Term]:
    """Yield the path to each leaf with the leaf's value, from left to right."""
    waiting: list[tuple[tuple[Test, ...], LibraTreeNode]] = [((), root)]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, LibraSplit):
            for equal, branch in ((False, node.other), (True, node.equal)):
                condition = LibraCondition(node.variable, node.value, equal)
                waiting.append(((*path, _test(condition, cardinalities)), branch))
        else:
            yield path, node


def _test(condition: LibraCondition, cardinalities: tuple[int, ...]) -> Test:
    if condition.equal:
        return condition.variable, condition.value
    others = frozenset(range(cardinalities[condition.variable])) - {condition.value}
    return condition.variable, others
