"""Markov networks in feldspar's own format, ``.json``: complete, exact and readable.

::

    {
      "format": "feldspar-markov-network",
      "version": 1,
      "feldspar": "0.1.0",
      "schema": {...},
      "metadata": {...},
      "features": [
        {"weight": 0.25, "tests": [[0, 1], [3, [0, 2]]]},
        ...
      ]
    }

A test is a variable and a value, or a variable and a list of values, all by number; the schema has
their names and labels. Floats are written with as many digits as make them read back exactly.
``version`` counts changes that older programs cannot read; ``feldspar`` is the version of the
program that wrote the file, for people.
"""

from __future__ import annotations

from feldspar.features import CodedTest
from feldspar.io.document import Document, document_text, line_list, term_text
from feldspar.io.files import Target, atomic_write, read_text, source_name
from feldspar.network import MarkovNetwork

__all__ = ["FORMAT", "VERSION", "format_native", "read_native", "write_native"]

FORMAT = "feldspar-markov-network"
VERSION = 1


def write_native(network: MarkovNetwork, path: Target) -> None:
    """Write a network with everything it knows to a ``.json`` file, whole or not at all.

    Parameters
    ----------
    network : MarkovNetwork
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
    >>> from feldspar.io.native import read_native, write_native
    >>> network = fs.MarkovNetwork.from_terms(fs.Schema([2, 3]), [([(0, 1), (1, {0, 2})], 0.1)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.json")
    ...     write_native(network, path)
    ...     print(path.read_text().splitlines()[-3].strip())
    ...     read_native(path).weights.tolist()
    {"weight": 0.1, "tests": [[0, 1], [1, [0, 2]]]}
    [0.1]
    """
    atomic_write(path, format_native(network))


def format_native(network: MarkovNetwork) -> str:
    """Return the text of a ``.json`` file: one feature a line."""
    pairs = zip(network.features, network.weights.tolist(), strict=True)
    features = line_list(term_text(tests, weight) for tests, weight in pairs)
    return document_text(FORMAT, VERSION, network.schema, network.metadata, {"features": features})


def read_native(path: Target) -> MarkovNetwork:
    """Read a network from a ``.json`` file.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    MarkovNetwork
        Equal to what was written: schema with labels, features, weights, metadata.

    Raises
    ------
    ModelFileError
        If the file is not JSON (naming line and column), is something else than a network, comes
        from a newer version, or has a wrong entry (named like ``features[12].tests[0]``).

    Examples
    --------
    See `write_native`.
    """
    document = Document(source_name(path), read_text(path), format=FORMAT, version=VERSION)
    terms = document.terms("features", document.part("features", list, "a list"))
    metadata = document.part("metadata", dict, "an object")
    # Marked as codes: a plain integer might be the label of another value.
    coded = [(map(CodedTest, tests), weight) for tests, weight in terms]
    return MarkovNetwork.from_terms(document.schema, coded, metadata=metadata)
