"""Where the files of a benchmark set are: found on this machine, else downloaded and checked."""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from feldspar.datasets._catalogue import PARTS, checksums, repository_path
from feldspar.io.files import read_bytes

DEFAULT_URL = "https://raw.githubusercontent.com/arranger1044/DEBD/master/"


def benchmark_files(name: str, data_home: Path | None, *, download: bool) -> list[Path]:
    """Return the files of the three parts, downloading them if need be and allowed."""
    found = find_files(name, data_home)
    if found is not None:
        return found
    if not download:
        raise FileNotFoundError(_not_found(name, data_home))
    folder = cache_folder() if data_home is None else data_home
    return [_download(name, part, folder) for part in PARTS]


def checked_files(name: str, data_home: Path | None) -> list[Path]:
    """Return the local files of a set after comparing each with its published checksum."""
    files = find_files(name, data_home)
    if files is None:
        raise FileNotFoundError(_not_found(name, data_home))
    for file, part in zip(files, PARTS, strict=True):
        expected = checksums()[repository_path(name, part)]
        got = hashlib.sha256(read_bytes(file)).hexdigest()
        if got != expected:
            raise ValueError(f"{file}: SHA-256 of the unpacked file is {got}, expected {expected}")
    return files


def find_files(name: str, data_home: Path | None) -> list[Path] | None:
    """Return the files of the first folder that has all three parts."""
    for folder in _folders(data_home):
        files = [_find(folder, name, part) for part in PARTS]
        present = [file for file in files if file is not None]
        if len(present) == len(PARTS):
            return present
    return None


def cache_folder() -> Path:
    """Return where downloads are kept: ``$FELDSPAR_CACHE``, else the platform's usual place."""
    override = os.environ.get("FELDSPAR_CACHE")
    if override:
        return Path(override)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(base) / "feldspar" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "feldspar"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "feldspar"


def _folders(data_home: Path | None) -> Iterator[Path]:
    if data_home is not None:
        yield data_home
    if os.environ.get("FELDSPAR_DATA"):
        yield Path(os.environ["FELDSPAR_DATA"])
    yield cache_folder()


def _find(folder: Path, name: str, part: str) -> Path | None:
    file = f"{name}.{part}.data"
    candidates = (folder / name / file, folder / name / f"{file}.gz", folder / file)
    return next((p for p in (*candidates, folder / f"{file}.gz") if p.is_file()), None)


def _not_found(name: str, data_home: Path | None) -> str:
    places = ", ".join(str(folder) for folder in _folders(data_home))
    return (
        f"the files {name}/{name}.{{train,valid,test}}.data[.gz] are in none of: {places}; "
        "set FELDSPAR_DATA to their folder or allow the download"
    )


def _download(name: str, part: str, folder: Path) -> Path:
    """Fetch one part; what does not match its checksum is deleted, never used."""
    path = repository_path(name, part)
    # A mirror may stand in; the checksums are ours either way.
    base = os.environ.get("FELDSPAR_DATA_URL", DEFAULT_URL).rstrip("/")
    digest = checksums()[path]
    try:
        file = _pooch(name).retrieve(
            url=f"{base}/{path}",
            known_hash=f"sha256:{digest}",
            fname=f"{name}.{part}.data",
            path=folder / name,
        )
    except ValueError as error:
        raise ValueError(
            f"the download of {base}/{path} is damaged: expected SHA-256 {digest} ({error})"
        ) from error
    except OSError as error:
        # What the connection said is long, and kept as the cause.
        raise ConnectionError(
            f"{base}/{path} cannot be downloaded; if you have the file, name the folder that holds "
            f"{name}/{name}.{part}.data by data_home or the environment variable FELDSPAR_DATA"
        ) from error
    return Path(file)


def _pooch(name: str) -> Any:
    try:
        # By name: pooch has no types, and need not be there.
        return importlib.import_module("pooch")
    except ImportError as error:
        raise ImportError(
            f"the data set {name!r} is not on this machine and downloading it needs pooch: "
            "pip install pooch"
        ) from error
