"""Data sets to learn from: the digits of scikit-learn, a survey, and twenty benchmark sets.

The benchmark sets are looked for in ``data_home``, in the folder named by the environment
variable ``FELDSPAR_DATA``, and in the user's cache (``FELDSPAR_CACHE`` names another); if they are
nowhere, they are downloaded into ``data_home`` or the cache and checked.
"""

from __future__ import annotations

from pathlib import Path

from feldspar.datasets._catalogue import DatasetInfo, benchmark_info, benchmark_names
from feldspar.datasets._digits import digits_info, load_digits
from feldspar.datasets._files import benchmark_files, checked_files
from feldspar.datasets._split import DataSplit
from feldspar.datasets._survey import load_survey, make_survey, survey_info, survey_terms
from feldspar.io.files import Target
from feldspar.io.tabular import read_table
from feldspar.schema import Schema

__all__ = [
    "DataSplit",
    "DatasetInfo",
    "info",
    "load",
    "make_survey",
    "names",
    "survey_terms",
    "verify",
]

# Those that need no file.
_BUILT_IN = {"digits": (digits_info, load_digits), "survey": (survey_info, load_survey)}


def names() -> list[str]:
    """Return the names that :func:`load` knows.

    Examples
    --------
    >>> names()[:4]
    ['digits', 'survey', 'nltcs', 'msnbc']
    """
    return [*_BUILT_IN, *benchmark_names()]


def info(name: str) -> DatasetInfo:
    """Return the sizes and the source of a data set without loading it.

    Examples
    --------
    >>> info("plants").variables
    69
    """
    return _BUILT_IN[name][0]() if name in _BUILT_IN else benchmark_info(name)


def load(name: str, data_home: Target | None = None, *, download: bool = True) -> DataSplit:
    """Load a data set, divided into training, validation and test rows.

    Parameters
    ----------
    name : str
        One of :func:`names`. ``digits`` comes with scikit-learn and needs no file: its 64 pixels,
        dark or not, are named ``p00`` ... ``p77`` by row and column, and ``digit`` is last.
        ``survey`` has nine questions with two to four named values, drawn by `make_survey`.
    data_home : path, optional
        The folder to look into first, and to download to. It holds ``NAME/NAME.train.data``
        and so on, or the files themselves; they may be packed with gzip.
    download : bool
        Whether a set that is found nowhere may be downloaded (needs pooch, the extra ``download``).

    Returns
    -------
    DataSplit
        ``train``, ``valid``, ``test``, ``schema``, ``description`` and ``name``.

    Raises
    ------
    ValueError
        If the name is unknown, or a file is damaged.
    FileNotFoundError
        If the files are nowhere and ``download`` is false; the places searched are listed.

    Examples
    --------
    >>> digits = load("digits")
    >>> digits.schema.names[0], digits.schema.names[-1], digits.schema.cardinalities[-1]
    ('p00', 'digit', 10)
    >>> len(digits.train), len(digits.valid), len(digits.test)
    (1258, 180, 359)
    """
    if name in _BUILT_IN:
        return _BUILT_IN[name][1]()
    about = benchmark_info(name)
    files = benchmark_files(name, _optional_path(data_home), download=download)
    schema = Schema([2] * about.variables)
    train, valid, test = (read_table(file, schema=schema, format="data") for file in files)
    return DataSplit(name, train, valid, test, about.description)


def verify(name: str, data_home: Target | None = None) -> list[Path]:
    """Check the local copy of a data set against the published SHA-256 sums.

    Returns
    -------
    list of Path
        The files that were checked, all of them good; none for ``digits`` and ``survey``.

    Raises
    ------
    ValueError
        Naming a file that differs from the published one.
    FileNotFoundError
        If there is no local copy.
    """
    if name in _BUILT_IN:
        return []
    benchmark_info(name)
    return checked_files(name, _optional_path(data_home))


def _optional_path(folder: Target | None) -> Path | None:
    return None if folder is None else Path(folder)
