"""Reading and writing dependency networks in the format that a file's name tells."""

from __future__ import annotations

from collections.abc import Callable

from feldspar.dependency import DependencyModel
from feldspar.io.files import Target, read_text
from feldspar.io.formats import format_of
from feldspar.io.libra_dependency import read_libra_dependency, write_libra_dependency
from feldspar.io.models import load_network
from feldspar.io.native_dependency import (
    FORMAT,
    read_native_dependency,
    write_native_dependency,
)
from feldspar.network import MarkovNetwork

__all__ = ["load_dependency_network", "load_model", "save_dependency_network"]

_READERS: dict[str, Callable[[Target], DependencyModel]] = {
    "json": read_native_dependency,
    "dn": read_libra_dependency,
}
_OTHER_READERS = dict.fromkeys(("mn", "uai"), "feldspar.MarkovNetwork.load")
_WRITERS: dict[str, Callable[[DependencyModel, Target], None]] = {
    "json": write_native_dependency,
    "dn": write_libra_dependency,
}


def load_dependency_network(path: Target, *, format: str | None = None) -> DependencyModel:
    """Read a dependency network from a ``.json`` or ``.dn`` file, packed (``.dn.gz``) or not.

    Parameters
    ----------
    path : str or Path
        The file.
    format : {"json", "dn"}, optional
        The format; by default what the file's name ends with, ``.gz`` aside.

    Returns
    -------
    DependencyModel

    Raises
    ------
    ValueError
        If the format is unknown or the file does not follow it; the message names the place.
    """
    return _READERS[format_of(path, format, _READERS, _OTHER_READERS)](path)


def save_dependency_network(
    network: DependencyModel, path: Target, *, format: str | None = None
) -> None:
    """Write a dependency network to a ``.json`` or ``.dn`` file, whole or not at all.

    Parameters
    ----------
    network : DependencyModel
        What to write; only ``.json`` files keep everything.
    path : str or Path
        The file; an old one is replaced.
    format : {"json", "dn"}, optional
        The format; by default what the file's name ends with, ``.gz`` aside.

    Raises
    ------
    ValueError
        If the format is unknown or cannot hold the network.
    """
    _WRITERS[format_of(path, format, _WRITERS)](network, path)


def load_model(path: Target) -> MarkovNetwork | DependencyModel:
    """Read a Markov network or a dependency network, whichever the file holds.

    Parameters
    ----------
    path : str or Path
        A ``.json``, ``.mn``, ``.uai`` or ``.dn`` file, packed (``.mn.gz``) or not.
    """
    name = str(path).lower().removesuffix(".gz")
    # Our own documents have their format in front.
    if name.endswith(".dn") or (name.endswith(".json") and FORMAT in read_text(path)[:200]):
        return load_dependency_network(path)
    return load_network(path)
