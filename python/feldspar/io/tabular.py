"""Tables from files and to files: CSV, coded ``.data``, Parquet; plain or gzip."""

from __future__ import annotations

import io
from collections.abc import Collection
from pathlib import PurePath
from typing import Any, Literal, TypeAlias

from feldspar import _core
from feldspar._arrays import check_codes
from feldspar.io.csv_text import (
    MISSING_MARKS,
    Header,
    Marks,
    format_csv,
    part_with_columns,
    read_csv,
)
from feldspar.io.files import Source, Target, atomic_write, read_bytes, source_name
from feldspar.schema import Schema, listing
from feldspar.table import Table

Format: TypeAlias = Literal["auto", "csv", "data", "parquet"]

_SUFFIXES = {".data": "data", ".parquet": "parquet", ".pq": "parquet"}


def read_table(
    path: Source,
    *,
    schema: Schema | None = None,
    optional: Collection[str] = (),
    header: Header = "auto",
    weights: str | None = None,
    delimiter: str | None = None,
    missing: Marks = MISSING_MARKS,
    format: Format = "auto",
) -> Table:
    """Read a table from a file.

    Files whose name ends in ``.data`` hold integer codes, one example a line, without a header;
    a line may start with a weight, ``0.2|0,1,1``, and ``*`` is a missing entry. Files that end in
    ``.parquet`` are read by pyarrow. All others are taken for CSV: the values of a column are
    labels, integers if all of them are whole numbers (3 or 3.0), truth values if all of them are
    true or false, else text, and are coded in sorted order. Files may be packed with gzip.

    Parameters
    ----------
    path : path or open file
        What to read.
    schema : Schema, optional
        The variables to expect; a value without a code is an error. Columns of files with a
        header are matched by name.
    optional : collection of str
        Variables of the schema that a file with names need not have a column for, such as those to
        be predicted: they are missing in all rows then.
    header : bool or "auto"
        Whether the first line of a CSV file holds the names of the columns. "auto" takes it for a
        header if its cells are names none of which occurs again in its column; with a schema, if
        they are its names; with ``weights``, if that name is among them. Numbers are names where
        a text among them stands above numbers only, or where they are 0, 1, 2, ... or
        1, 2, 3, ..., and those from 2 on do not occur again. A line that is read as an example
        and yet looks like a header earns a warning. Names that are empty or equal are refused.
    weights : str, optional
        The column that holds the rows' weights.
    delimiter : str, optional
        What separates the cells; found from the first line if left out.
    missing : str, int or collection of these
        The cells of a CSV file that mean a missing entry, unless they are labels of the schema.
    format : {"auto", "csv", "data", "parquet"}
        Overrules the ending of the name.

    Returns
    -------
    Table
        The rows in the order of the file.

    Raises
    ------
    ValueError
        Naming file, line and column of what cannot be read.

    Examples
    --------
    >>> import io, os
    >>> table = read_table(io.StringIO(os.linesep.join(["rain,wind", "yes,2", "no,?", "no,0"])))
    >>> table
    Table(3 rows x 2 variables: rain (2), wind (2); 1 missing entry)
    >>> table.schema.labels
    (('no', 'yes'), (0, 2))
    """
    kind = _format_of(source_name(path), format)
    if kind == "parquet":
        return _read_parquet(path, schema, optional, weights)
    if kind == "data":
        if weights is not None:
            raise ValueError(
                f"weights: a .data file has no column names, got {weights!r}; "
                "its weights stand before the '|' of a line"
            )
        return _read_data(path, schema, delimiter or ",")
    return read_csv(
        path,
        schema=schema,
        optional=optional,
        header=header,
        weights=weights,
        delimiter=delimiter,
        missing=missing,
    )


def write_table(table: object, path: Target, *, weights: str | None = None) -> None:
    """Write a table to a file, completely or not at all.

    A name that ends in ``.data`` gets the codes, with the rows' weights in front if there are any;
    ``.parquet`` goes through pyarrow; anything else is CSV with a header and labels. A label that
    would be read back as a missing entry, such as ``NA``, is refused there.
    With ``.gz`` at the end the file is packed.

    Parameters
    ----------
    table : table, frame or array
        What to write.
    path : path
        Where to; an existing file is replaced.
    weights : str, optional
        The name of the column for the weights. A table with weights needs one, except in
        ``.data``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> table = Table.from_array([[0, 1], [1, -1]], names=["rain", "wind"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(table, pathlib.Path(folder) / "days.csv")
    ...     (pathlib.Path(folder) / "days.csv").read_text().split()
    ['rain,wind', '0,1', '1,']
    """
    data = Table.of(table)
    kind = _format_of(source_name(path), "auto")
    if kind == "data":
        return atomic_write(path, _format_data(data))
    if data.has_weights and weights is None:
        raise ValueError("weights: the table has weights; expected a name for their column")
    content = _format_parquet(data, weights) if kind == "parquet" else format_csv(data, weights)
    return atomic_write(path, content)


def _format_of(name: str, format: Format) -> Format:
    expected = ("auto", "csv", "data", "parquet")
    if format not in expected:
        raise ValueError(f"format: expected {listing(expected)}, got {format!r}")
    if format != "auto":
        return format
    suffix = PurePath(name.removesuffix(".gz")).suffix.lower()
    found: Format = _SUFFIXES.get(suffix, "csv")  # type: ignore[assignment]
    return found


def _read_data(path: Source, schema: Schema | None, delimiter: str) -> Table:
    content = read_bytes(path)
    try:
        codes, weights = _core.parse_integers(content, delimiter)
        if schema is not None:
            # Once more in Table, but there errors speak of rows; a file has lines.
            check_codes(codes, schema, place=lambda row: f"line {row + 1}")
        return Table.from_array(codes, schema=schema, sample_weight=weights)
    except ValueError as error:
        raise ValueError(f"{source_name(path)}: {error}") from error


def _format_data(table: Table) -> str:
    # The code -1 finds the last text.
    texts = [*map(str, range(max(table.schema.cardinalities))), "*"]
    lines = [",".join([texts[code] for code in row]) for row in table.codes.tolist()]
    if table.has_weights:
        # repr is the shortest text that reads back as the same number.
        weights = table.weights.tolist()
        lines = [f"{w!r}|{line}" for w, line in zip(weights, lines, strict=True)]
    return "".join(f"{line}\n" for line in lines)


def _pyarrow_parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install pyarrow") from error
    return pyarrow.parquet


def _read_parquet(
    path: Source, schema: Schema | None, optional: Collection[str], weights: str | None
) -> Table:
    parquet = _pyarrow_parquet()
    content = read_bytes(path)
    try:
        frame = parquet.read_table(io.BytesIO(content))
        if schema is None:
            return Table.from_frame(frame, weights=weights)
        part = part_with_columns(schema, frame.column_names, optional)
        return Table.from_frame(frame, schema=part, weights=weights)._among(schema)
    except (TypeError, ValueError, OSError) as error:
        # pyarrow's own errors derive from these; whatever they are called, it is the file that is
        # wrong.
        raise ValueError(f"{source_name(path)}: {error}") from error


def _format_parquet(table: Table, weights: str | None) -> bytes:
    parquet = _pyarrow_parquet()
    buffer = io.BytesIO()
    parquet.write_table(table.to_frame("pyarrow", weights=weights), buffer)
    return buffer.getvalue()
