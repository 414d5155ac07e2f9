"""Dependency networks in feldspar's own format, ``.json``: complete, exact and readable.

::

    {
      "format": "feldspar-dependency-network",
      ...                                          (as in every document of ours)
      "marginals": [[0.25, 0.75], ...],            (or null)
      "conditionals": [
        {"variable": 0, "nodes": [
          {"split": [3, 1], "gain": 12.5, "log_probabilities": [-0.7, -0.7]},
          {"log_probabilities": [-0.1, -2.4]},
          ...
        ]},
        {"variable": 1, "terms": [
          {"weight": 0.25, "tests": [[0, 1], [1, 1]]},
          ...
        ]},
        ...
      ]
    }

The nodes of a tree are in preorder: a split is followed by its subtree for rows that have the
value, then by the one for the others; a node without a split is a leaf.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from feldspar._trees import FlatTrees, Node, nodes_of
from feldspar.dependency import DependencyModel, FlatTerms, core_of
from feldspar.features import CodedTest
from feldspar.io.document import Document, document_text, json_text, line_list, term_text
from feldspar.io.files import Target, atomic_write, read_text, source_name

__all__ = [
    "FORMAT",
    "VERSION",
    "format_native_dependency",
    "read_native_dependency",
    "write_native_dependency",
]

FORMAT = "feldspar-dependency-network"
VERSION = 1


def write_native_dependency(network: DependencyModel, path: Target) -> None:
    """Write a network with everything it knows to a ``.json`` file, whole or not at all.

    Parameters
    ----------
    network : DependencyModel
        What to write.
    path : str or Path
        The file; an old one is replaced.

    Raises
    ------
    ValueError
        If the metadata or the labels are not JSON: other types, or numbers that are not finite.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import feldspar as fs
    >>> network = fs.DependencyNetwork.from_trees(fs.Schema([2]), {0: [0.5, 0.5]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.json")
    ...     write_native_dependency(network, path)
    ...     read_native_dependency(path)
    DependencyNetwork(1 variables: 1 tree)
    """
    atomic_write(path, format_native_dependency(network))


def format_native_dependency(network: DependencyModel) -> str:
    """Return the text of a ``.json`` file: one node or term a line."""
    known = network.marginals
    marginals = None if known is None else [p.tolist() for p in known]
    parts = {
        "marginals": json_text("marginals", marginals),
        "conditionals": line_list(_conditional_texts(network)),
    }
    return document_text(FORMAT, VERSION, network.schema, network.metadata, parts)


def _conditional_texts(network: DependencyModel) -> Iterator[str]:
    trees = nodes_of(network._conditional_core.flatten()[0], network.schema.cardinalities)
    for v in range(len(network.schema)):
        if v in trees:
            part, texts = "nodes", [_node_text(node) for node in trees[v]]
        else:
            terms = network.terms(v)
            pairs = zip(terms.features, terms.weights.tolist(), strict=True)
            part, texts = "terms", [term_text(tests, weight) for tests, weight in pairs]
        yield f'{{"variable": {v}, "{part}": {line_list(texts, indent="    ")}}}'


def _node_text(node: Node) -> str:
    content: dict[str, object] = {}
    if node.split is not None:
        content = {"split": list(node.split), "gain": node.gain}
    content["log_probabilities"] = list(node.log_probabilities)
    return json_text("conditionals", content)


def read_native_dependency(path: Target) -> DependencyModel:
    """Read a network from a ``.json`` file.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    DependencyModel
        Equal to what was written.

    Raises
    ------
    ModelFileError
        If the file is not JSON (naming line and column), is something else than a dependency
        network, comes from a newer version, or has a wrong entry (named like
        ``conditionals[12].nodes[0].split``).
    """
    document = Document(source_name(path), read_text(path), format=FORMAT, version=VERSION)
    schema = document.schema
    trees, terms = FlatTrees(), FlatTerms(schema)
    for i, conditional in enumerate(document.part("conditionals", list, "a list")):
        _read_conditional(document, f"conditionals[{i}]", conditional, trees, terms)
    marginals = document.part("marginals", (list, type(None)), "a list or null")
    metadata = document.part("metadata", dict, "an object")
    try:
        core = core_of(schema, trees, terms)
    except ValueError as error:
        raise document.error("conditionals", str(error)) from None
    try:
        return DependencyModel._of_core(schema, core, marginals=marginals, metadata=metadata)
    except (TypeError, ValueError) as error:
        raise document.error("marginals", str(error)) from None


def _read_conditional(
    document: Document, place: str, content: object, trees: FlatTrees, terms: FlatTerms
) -> None:
    keys = content.keys() if isinstance(content, dict) else set()
    if not isinstance(content, dict) or keys not in ({"variable", "nodes"}, {"variable", "terms"}):
        raise document.wrong(place, 'an object with "variable" and "nodes" or "terms"', content)
    n_variables = len(document.schema)
    target = document.number(f"{place}.variable", "a variable", content["variable"], n_variables)
    part = "nodes" if "nodes" in keys else "terms"
    entries = content[part]
    if not isinstance(entries, list):
        raise document.wrong(f"{place}.{part}", "a list", entries)
    if part == "terms":
        pairs = document.terms(f"{place}.terms", entries)
        terms.append(target, [(map(CodedTest, tests), weight) for tests, weight in pairs])
        return
    width = document.schema.cardinalities[target]
    nodes = [
        _node(document, f"{place}.nodes[{i}]", entry, width) for i, entry in enumerate(entries)
    ]
    try:
        trees.append(target, nodes)
    except ValueError as error:
        raise document.error(f"{place}.nodes", str(error)) from None


def _node(document: Document, place: str, entry: Any, width: int) -> Node:
    keys = entry.keys() if isinstance(entry, dict) else set()
    if keys not in ({"log_probabilities"}, {"log_probabilities", "split", "gain"}):
        expected = 'an object with "log_probabilities" and, but for leaves, "split" and "gain"'
        raise document.wrong(place, expected, entry)
    logs = entry["log_probabilities"]
    if not isinstance(logs, list) or len(logs) != width:
        raise document.wrong(f"{place}.log_probabilities", f"a list of {width} numbers", logs)
    own = [document.finite(f"{place}.log_probabilities[{a}]", p) for a, p in enumerate(logs)]
    if "split" not in keys:
        return Node(own)
    split = entry["split"]
    if not isinstance(split, list) or len(split) != 2:
        raise document.wrong(f"{place}.split", "[variable, value]", split)
    cardinalities = document.schema.cardinalities
    variable = document.number(f"{place}.split[0]", "a variable", split[0], len(cardinalities))
    what = f"a value of variable {variable}"
    value = document.number(f"{place}.split[1]", what, split[1], cardinalities[variable])
    return Node(own, (variable, value), document.finite(f"{place}.gain", entry["gain"]))
