"""Dependency networks in the Libra toolkit's text format, ``.dn``.

The format holds cardinalities and one block of factors for each variable. It has no place for
names, labels, marginals and metadata, nor for what is known of the inner nodes of trees: use the
native format to keep them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from feldspar._trees import FlatTrees, Node, fill_inner, nodes_of
from feldspar.dependency import DependencyModel, FlatTerms, core_of
from feldspar.io.files import Target, atomic_write, read_text, source_name
from feldspar.io.libra import conjunction_words, factor_terms
from feldspar.io.libra_syntax import (
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
from feldspar.io.terms import Term, finite_weight, warn_of_hard_weights
from feldspar.schema import Schema

__all__ = ["format_libra_dependency", "read_libra_dependency", "write_libra_dependency"]

_KIND_NAMES = {"MN": "a Markov network", "BN": "a Bayesian network"}

# What sums of probabilities, written with six or more digits, may be off; beyond it they are
# mended.
_EXACT = 1e-12


# Indenting every level would make the file of a degenerate tree grow with the square of its depth.
_DEEPEST_INDENT = 30


def read_libra_dependency(path: Target) -> DependencyModel:
    r"""Read a dependency network from a ``.dn`` file.

    A block that is a decision tree with the variable itself at the ends of the paths becomes a
    tree; any other becomes the terms of a log-linear conditional. Either way the numbers count
    up to what is common to all values of the variable, so that probabilities add up to 1. Infinite
    ones become `feldspar.io.terms.HARD_WEIGHT` of the same sign, with a warning that says how many.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    DependencyModel
        Variables without names or labels; no marginals.

    Raises
    ------
    ModelFileError
        If the file does not follow the format (naming line and column), holds another kind of
        network, or has no block for some variable.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.dn")
    ...     _ = path.write_text("2,2\nDN {\nv0 {\n0.5 +v0_1 +v1_1\n}\nv1 {\n-1.0 +v1_0\n}\n}\n")
    ...     read_libra_dependency(path)
    DependencyNetwork(2 variables: 2 log-linear)
    """
    name = source_name(path)
    file = parse_libra(read_text(path), name=name)
    if file.kind != "DN":
        raise ModelFileError(
            f"{name}: expected a dependency network (DN), got {_KIND_NAMES[file.kind]} "
            f"({file.kind})"
        )
    try:
        schema = Schema(file.cardinalities)
    except ValueError as error:  # more values than a variable can have
        raise ModelFileError(f"{name}, numbers of values: {error}") from None
    factors = {block.variable: block.factors for block in file.blocks}
    for v in range(len(schema)):
        if v not in factors:
            raise ModelFileError(f"{name}: expected a block for each variable, v{v} has none")
    # The caller of this function's caller is who called with the file's name.
    warn_of_hard_weights(_weights(file), name=name)
    trees, terms = FlatTrees(), FlatTerms(schema)
    for v in range(len(schema)):
        _append_conditional(v, factors[v], file.cardinalities, trees, terms)
    return DependencyModel._of_core(schema, core_of(schema, trees, terms))


def _weights(file: LibraFile) -> Iterator[float]:
    """Yield every number of the file."""
    waiting: list[LibraFactor | LibraTreeNode] = [f for block in file.blocks for f in block.factors]
    while waiting:
        match waiting.pop():
            case LibraFeature(weight):
                yield weight
            case LibraFeatureList(features):
                waiting += features
            case LibraTree(root):
                waiting.append(root)
            case LibraSplit(_, _, equal, other):
                waiting += [equal, other]
            case float(leaf):
                yield leaf


def _append_conditional(
    target: int,
    factors: Sequence[LibraFactor],
    cardinalities: tuple[int, ...],
    trees: FlatTrees,
    terms: FlatTerms,
) -> None:
    nodes = _nodes(factors, target, cardinalities[target])
    if nodes is not None:
        trees.append(target, fill_inner(nodes))
        return
    pairs = [term for factor in factors for term in factor_terms(factor, cardinalities)]
    # What does not test the variable weighs all its values alike.
    deciding = [term for term in pairs if cardinalities[target] > 1 and _tests(term, target)]
    terms.append(target, [(tests, finite_weight(weight)) for tests, weight in deciding])


def _tests(term: Term, target: int) -> bool:
    return any(variable == target for variable, _ in term[0])


def _nodes(factors: Sequence[LibraFactor], target: int, cardinality: int) -> list[Node] | None:
    """Return a tree in preorder, or None if there is none that ends with the target."""
    if len(factors) != 1 or not isinstance(factors[0], LibraTree):
        return None
    nodes: list[Node] = []
    waiting: list[LibraTreeNode] = [factors[0].root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, LibraSplit) and node.variable != target:
            nodes.append(Node([0.0] * cardinality, (node.variable, node.value)))
            waiting += [node.other, node.equal]
            continue
        scores = [_score(node, target, value) for value in range(cardinality)]
        finite = [score for score in scores if score is not None]
        if len(finite) < len(scores):
            return None
        nodes.append(Node(_normalized(finite)))
    return nodes


def _score(node: LibraTreeNode, target: int, value: int) -> float | None:
    """Return what the end of a path says of one value of the target; None if it asks others."""
    while isinstance(node, LibraSplit):
        if node.variable != target:
            return None
        node = node.equal if node.value == value else node.other
    return finite_weight(node)


def _normalized(scores: Sequence[float]) -> list[float]:
    total = float(np.logaddexp.reduce(np.array(scores)))
    # Numbers that are log-probabilities already stay as they are: what we write reads back exactly.
    return list(scores) if math.fabs(total) <= _EXACT else [score - total for score in scores]


def write_libra_dependency(network: DependencyModel, path: Target) -> None:
    """Write a dependency network to a ``.dn`` file, whole or not at all.

    Parameters
    ----------
    network : DependencyModel
        What to write. Names, labels, marginals and metadata have no place in this format.
    path : str or Path
        The file; an old one is replaced.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import feldspar as fs
    >>> tree = fs.Split(1, 2, yes=[0.5, 0.5], no=[0.25, 0.75])
    >>> network = fs.DependencyNetwork.from_trees(fs.Schema([2, 3]), {0: tree, 1: [0.2, 0.3, 0.5]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.dn")
    ...     write_libra_dependency(network, path)
    ...     print(path.read_text(), end="")
    2,3
    DN {
    v0 {
    tree {
    (v1_2
        (v0_0 -0.6931471805599453 -0.6931471805599453)
        (v0_0 -1.3862943611198906 -0.2876820724517809))
    }
    }
    v1 {
    tree {
    (v1_0 -1.6094379124341003 (v1_1 -1.2039728043259361 -0.6931471805599453))
    }
    }
    }
    """
    atomic_write(path, format_libra_dependency(network))


def format_libra_dependency(network: DependencyModel) -> str:
    """Return the text of a ``.dn`` file, with numbers that read back exactly."""
    cardinalities = network.schema.cardinalities
    trees = nodes_of(network._conditional_core.flatten()[0], cardinalities)
    lines = [",".join(map(str, cardinalities)), "DN {"]
    for v in range(len(cardinalities)):
        lines.append(f"v{v} {{")
        if v in trees:
            lines += ["tree {", *_tree_lines(v, trees[v]), "}"]
        else:
            terms = network.terms(v)
            pairs = zip(terms.features, terms.weights.tolist(), strict=True)
            lines += [conjunction_words(tests, weight, cardinalities) for tests, weight in pairs]
        lines.append("}")
    return "\n".join([*lines, "}", ""])


def _tree_lines(target: int, nodes: Sequence[Node]) -> Iterator[str]:
    """Yield a tree, a node a line; splits on the target stand for a leaf's probabilities."""
    open_branches: list[int] = []  # for each open split, how many of its branches are not complete
    for node in nodes:
        indent = "    " * min(len(open_branches), _DEEPEST_INDENT)
        if node.split is not None:
            variable, value = node.split
            yield f"{indent}(v{variable}_{value}"
            open_branches.append(2)
            continue
        closing = 0
        while open_branches:
            open_branches[-1] -= 1
            if open_branches[-1] > 0:
                break
            open_branches.pop()
            closing += 1
        yield indent + _leaf_text(target, node.log_probabilities) + ")" * closing


def _leaf_text(target: int, log_probabilities: Sequence[float]) -> str:
    *first, last = map(repr, log_probabilities)
    opened = [f"(v{target}_{value} {text} " for value, text in enumerate(first)]
    return "".join(opened) + last + ")" * len(first)
