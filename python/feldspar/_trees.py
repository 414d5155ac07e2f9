"""Decision trees on their way into the flat arrays of the core, and out of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from feldspar import _core
from feldspar.schema import Label, Schema

FloatArray: TypeAlias = npt.NDArray[np.float64]

_ROUNDING = 1e-6


@dataclass(frozen=True)
class Split:
    """Where a decision tree asks whether a variable has a value.

    Parameters
    ----------
    variable : str or int
        By name or index.
    value : label
        By label, or by code where no label is an integer.
    yes, no : Split or sequence of float
        What follows if it has and if it has not: another split or, at a leaf, the probabilities of
        the target's values.
    """

    variable: str | int
    value: Label
    yes: Tree
    no: Tree


Tree: TypeAlias = "Split | Sequence[float]"


class Node(NamedTuple):
    """A node as the core has it; nodes in preorder make a tree."""

    log_probabilities: Sequence[float]
    split: tuple[int, int] | None = None  # variable and value; None: a leaf
    gain: float = 0.0


def coded_nodes(schema: Schema, target: int, tree: Tree) -> list[Node]:
    """Return a tree as users write it in preorder, by codes.

    Such a tree says nothing of its inner nodes. They get the mean of their two children.
    """
    splits: list[tuple[int, int] | None] = []
    leaves: list[FloatArray | None] = []
    waiting: list[Tree] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Split):
            variable = schema.index(node.variable)
            splits.append((variable, schema.code(variable, node.value)))
            leaves.append(None)
            waiting += [node.no, node.yes]
        else:
            splits.append(None)
            leaves.append(_leaf(schema, target, node))
    return [
        Node(np.log(p).tolist(), split)
        for p, split in zip(_with_inner(splits, leaves), splits, strict=True)
    ]


def fill_inner(nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes of a tree, the distributions of inner ones made from those of the leaves."""
    splits = [node.split for node in nodes]
    leaves = [None if node.split else np.exp(np.array(node.log_probabilities)) for node in nodes]
    return [
        node._replace(log_probabilities=np.log(p).tolist()) if node.split else node
        for p, node in zip(_with_inner(splits, leaves), nodes, strict=True)
    ]


def _with_inner(splits: Sequence[object | None], leaves: list[FloatArray | None]) -> list[Any]:
    """Return a distribution for every node, in preorder."""
    result: list[Any] = [None] * len(leaves)
    done: list[FloatArray] = []  # distributions of finished subtrees, the first one last
    for place in reversed(range(len(leaves))):
        leaf = leaves[place]
        result[place] = (done.pop() + done.pop()) / 2 if splits[place] else leaf
        done.append(result[place])
    return result


def _leaf(schema: Schema, target: int, probabilities: Sequence[float]) -> FloatArray:
    name, cardinality = schema.names[target], schema.cardinalities[target]
    try:
        leaf = np.array(probabilities, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"tree of {name!r}: expected a Split or probabilities, got {probabilities!r}"
        ) from None
    if leaf.shape != (cardinality,):
        raise ValueError(
            f"tree of {name!r}: expected {cardinality} probabilities in a leaf, "
            f"one for each value, got {probabilities!r}"
        )
    if not (leaf > 0).all() or not abs(leaf.sum() - 1) <= _ROUNDING:
        raise ValueError(
            f"tree of {name!r}: expected probabilities above 0 that add up to 1 in a leaf, "
            f"got {leaf.tolist()}"
        )
    return np.asarray(leaf / leaf.sum())


class FlatTrees:
    """Trees on their way into the flat arrays of the core."""

    def __init__(self) -> None:
        self._targets: list[int] = []
        self._node_begin = [0]
        self._variables: list[int] = []
        self._values: list[int] = []
        self._yes: list[int] = []
        self._no: list[int] = []
        self._gains: list[float] = []
        self._log_probabilities: list[float] = []

    def append(self, target: int, nodes: Sequence[Node]) -> None:
        """Add the tree of a variable: nodes in preorder, each split followed by its two subtrees.

        Raises
        ------
        ValueError
            If nodes are missing or left over.
        """
        begin = self._node_begin[-1]
        open_splits: list[int] = []  # whose `no` child is still to come
        complete = False
        for place, node in enumerate(nodes):
            if complete:
                raise ValueError(f"the tree is complete after {place} nodes, got {len(nodes)}")
            variable, value = node.split or (0, 0)
            self._variables.append(variable)
            self._values.append(value)
            self._yes.append(place + 1 if node.split else 0)
            self._no.append(0)
            self._gains.append(node.gain)
            self._log_probabilities.extend(node.log_probabilities)
            if node.split:
                open_splits.append(place)
            elif open_splits:
                self._no[begin + open_splits.pop()] = place + 1
            else:
                complete = True
        if not complete:
            raise ValueError(f"the tree is not complete after its {len(nodes)} nodes")
        self._targets.append(target)
        self._node_begin.append(len(self._variables))

    def arrays(self) -> _core.FlatTrees:
        """Return what was added."""
        return (
            np.asarray(self._targets, dtype=np.uint32),
            np.asarray(self._node_begin, dtype=np.int64),
            np.asarray(self._variables, dtype=np.uint32),
            np.asarray(self._values, dtype=np.uint16),
            np.asarray(self._yes, dtype=np.uint32),
            np.asarray(self._no, dtype=np.uint32),
            np.asarray(self._gains, dtype=np.float64),
            np.asarray(self._log_probabilities, dtype=np.float64),
        )


def nodes_of(flat: _core.FlatTrees, cardinalities: Sequence[int]) -> dict[int, list[Node]]:
    """Return the trees of flat arrays by their target."""
    targets, node_begin, variables, values, yes, _, gains, log_probabilities = (
        array.tolist() for array in flat
    )
    trees: dict[int, list[Node]] = {}
    first = 0
    for i, target in enumerate(targets):
        width = cardinalities[target]
        trees[target] = []
        for k in range(node_begin[i], node_begin[i + 1]):
            split = (variables[k], values[k]) if yes[k] else None
            own = log_probabilities[first : first + width]
            trees[target].append(Node(own, split, gains[k]))
            first += width
    return trees


def depth_of(nodes: Sequence[Node]) -> int:
    """Return the number of splits on the longest path."""
    depths: list[int] = []
    for node in reversed(nodes):
        depths.append(1 + max(depths.pop(), depths.pop()) if node.split else 0)
    return depths[0]


def tree_of(schema: Schema, nodes: Sequence[Node]) -> Tree:
    """Return a tree with names and labels."""
    done: list[Tree] = []
    for node in reversed(nodes):
        if node.split is None:
            done.append(tuple(np.exp(np.array(node.log_probabilities)).tolist()))
            continue
        variable, value = node.split
        yes, no = done.pop(), done.pop()
        done.append(Split(schema.names[variable], schema.label(variable, value), yes, no))
    return done[0]
