"""Reading and writing networks in the format that a file's name tells."""

from __future__ import annotations

from collections.abc import Callable

from feldspar.io.files import Target
from feldspar.io.formats import format_of
from feldspar.io.libra import read_libra, write_libra
from feldspar.io.native import read_native, write_native
from feldspar.io.uai import read_uai, write_uai
from feldspar.network import MarkovNetwork

__all__ = ["load_network", "save_network"]

_READERS: dict[str, Callable[[Target], MarkovNetwork]] = {
    "json": read_native,
    "mn": read_libra,
    "uai": read_uai,
}
_OTHER_READERS = {"dn": "feldspar.DependencyNetwork.load"}
_WRITERS: dict[str, Callable[[MarkovNetwork, Target], None]] = {
    "json": write_native,
    "mn": write_libra,
    "uai": write_uai,
}


def load_network(path: Target, *, format: str | None = None) -> MarkovNetwork:
    r"""Read a network from a ``.json``, ``.mn`` or ``.uai`` file, packed (``.mn.gz``) or not.

    Parameters
    ----------
    path : str or Path
        The file.
    format : {"json", "mn", "uai"}, optional
        The format; by default what the file's name ends with, ``.gz`` aside.

    Returns
    -------
    MarkovNetwork
        The network; only ``.json`` files know names, labels and metadata.

    Raises
    ------
    ValueError
        If the format is unknown or the file does not follow it; the message names the place.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from feldspar.io.models import load_network
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.mn")
    ...     _ = path.write_text("2,2\nMN {\n0.5 +v0_1 +v1_1\n}\n")
    ...     network = load_network(path)
    >>> network.weights.tolist()
    [0.5]
    """
    return _READERS[format_of(path, format, _READERS, _OTHER_READERS)](path)


def save_network(network: MarkovNetwork, path: Target, *, format: str | None = None) -> None:
    """Write a network to a ``.json``, ``.mn`` or ``.uai`` file, whole or not at all.

    A name that ends with ``.gz``, like ``model.mn.gz``, has the file packed.

    Parameters
    ----------
    network : MarkovNetwork
        What to write; only ``.json`` files keep names, labels and metadata.
    path : str or Path
        The file; an old one is replaced.
    format : {"json", "mn", "uai"}, optional
        The format; by default what the file's name ends with, ``.gz`` aside.

    Raises
    ------
    ValueError
        If the format is unknown or cannot hold the network.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import feldspar as fs
    >>> from feldspar.io.models import load_network, save_network
    >>> network = fs.MarkovNetwork.from_terms(fs.Schema([2, 2]), [([(0, 1), (1, 1)], 0.5)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.json")
    ...     save_network(network, path)
    ...     load_network(path).weights.tolist()
    [0.5]
    """
    _WRITERS[format_of(path, format, _WRITERS)](network, path)
