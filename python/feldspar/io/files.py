"""Bytes from files and to files: gzip on the way in, all or nothing on the way out."""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import secrets
import shutil
import zlib
from pathlib import Path
from typing import IO, TypeAlias

Target: TypeAlias = str | os.PathLike[str]
Source: TypeAlias = Target | IO[bytes] | IO[str]

_GZIP_MAGIC = b"\x1f\x8b"


def source_name(source: Source) -> str:
    """Return what to call a source in messages: its path, or ``<stream>`` if it has none.

    Examples
    --------
    >>> source_name("a/b.csv"), source_name(io.BytesIO())
    ('a/b.csv', '<stream>')
    """
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    if not hasattr(source, "read"):
        raise TypeError(f"expected a path or an open file, got {source!r}")
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


def read_bytes(source: Source) -> bytes:
    """Return the content of a path or an open file, unpacked if it is gzip.

    Whether it is gzip is told by its first two bytes. A file whose name ends in ``.gz`` must be.

    Raises
    ------
    ValueError
        If the gzip stream is truncated, damaged or not there; the file is named.
    """
    name = source_name(source)
    raw = _raw_bytes(source)
    if raw.startswith(_GZIP_MAGIC):
        try:
            return gzip.decompress(raw)
        except EOFError as error:
            raise ValueError(f"{name}: the gzip stream is truncated") from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{name}: the gzip stream is damaged ({error})") from error
    if name.endswith(".gz"):
        raise ValueError(f"{name}: expected a gzip file, got one that starts with {raw[:8]!r}")
    return raw


def read_text(source: Source) -> str:
    """Return the content of a path or an open file as text (UTF-8), unpacked if it is gzip.

    Raises
    ------
    ValueError
        If the bytes are not UTF-8 text; file and line are named.
    """
    raw = read_bytes(source)
    place = source_name(source)
    if b"\0" in raw:
        line = raw.count(b"\n", 0, raw.index(b"\0")) + 1
        raise ValueError(f"{place}, line {line}: expected text, got a zero byte (a binary file?)")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        got = raw[error.start : error.start + 1]
        raise ValueError(
            f"{place}, line {line}: expected UTF-8 text, got the byte {got!r}"
        ) from error


def open_text(source: Source) -> io.StringIO:
    """Return the text of :func:`read_text` as a file to read line by line, line ends kept."""
    return io.StringIO(read_text(source), newline="")


def atomic_write(path: Target, content: str | bytes) -> None:
    """Write a file completely or not at all.

    The content goes to a temporary name in the same folder, reaches the disk, and is then renamed:
    a reader sees the old file or the new one, and a failure leaves nothing behind. Text is
    written as UTF-8; a name that ends in ``.gz`` is packed, reproducibly.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     atomic_write(Path(folder) / "note.txt.gz", "hello")
    ...     read_text(Path(folder) / "note.txt.gz")
    'hello'
    """
    # A link keeps pointing to the file it names; that file is replaced.
    target = Path(path).resolve()
    data = content.encode() if isinstance(content, str) else content
    if target.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        # Mode "x" with the usual permissions, unlike tempfile, which would make the file private.
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            check_folder(target)
        if error.filename == str(temporary):  # nobody asked for that name
            raise type(error)(error.errno, error.strerror, str(target)) from error
        raise
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def check_folder(path: Target) -> None:
    """Raise ``FileNotFoundError`` unless the folder that a file is to be written to is there."""
    target = Path(path).resolve()
    if not target.parent.is_dir():
        reason = f"The folder {target.parent} does not exist"
        raise FileNotFoundError(errno.ENOENT, reason, str(target))


def _raw_bytes(source: Source) -> bytes:
    if isinstance(source, str | os.PathLike):
        return Path(source).read_bytes()
    content = source.read()
    return content.encode() if isinstance(content, str) else content
