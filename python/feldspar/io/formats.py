"""Which format a file's name tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from feldspar.io.files import Target, source_name


def format_of(
    path: Target,
    format: str | None,
    known: Iterable[str],
    other_readers: Mapping[str, str] | None = None,
) -> str:
    """Return the format asked for, or else what the file's name ends with, ``.gz`` aside.

    Parameters
    ----------
    path : path or open file
    format : str, optional
    known : iterable of str
        The formats there are.
    other_readers : mapping, optional
        What reads files of formats that are not known here.

    Raises
    ------
    ValueError
        If it is none of the known formats, which are listed.

    Examples
    --------
    >>> format_of("model.MN.gz", None, ["json", "mn"])
    'mn'
    """
    formats = tuple(known)
    listed = ", ".join(map(repr, formats))
    if format is not None:
        if format not in formats:
            raise ValueError(f"format: expected one of {listed}, got {format!r}")
        return format
    name = source_name(path)
    suffix = Path(name.removesuffix(".gz")).suffix
    found = suffix.lower().removeprefix(".")
    if found not in formats:
        reader = (other_readers or {}).get(found)
        hint = f"; {reader} reads such files" if reader is not None else ""
        raise ValueError(
            f"{name}: the name of a network's file ends with one of {listed}, got {suffix!r}{hint}"
        )
    return found
