"""Delimited text with labels: cells to codes and back.

A column's values are labels: integers if all of them are whole numbers, truth values if all of them
are called true or false, else text, coded in sorted order.
Lines are counted from 1.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from feldspar._caution import warn_user
from feldspar.io.files import Source, open_text, source_name
from feldspar.schema import Label, Labels, Schema, known_label, listing, spellings
from feldspar.table import Table

Header: TypeAlias = bool | Literal["auto"]
Marks: TypeAlias = str | int | Collection[str | int]

MISSING_MARKS = ("", "*", "?", "NA", "N/A", "<NA>", "nan", "NaN", "null", "NULL")

_DELIMITERS = ",;\t|"
_QUOTED_CELL = re.compile(r'(^|[,;\t|]) *"(?:[^"]|"")*"', re.MULTILINE)
_SNIFFED = 2**16  # characters, more than any header needs
# pandas writes whole numbers as 3.0 where others in the column are missing.
_WHOLE_NUMBER = re.compile(r"([+-]?[0-9]+)(\.0*)?")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# Nearly all data hold these: that they occur, or occur again, says nothing.
_COMMON_NUMBERS = ("0", "1")
_IF_DATA = "pass header=False (to a command: --no-header)"


def read_csv(
    path: Source,
    *,
    schema: Schema | None,
    optional: Collection[str],
    header: Header,
    weights: str | None,
    delimiter: str | None,
    missing: Marks,
) -> Table:
    """Read a CSV file; the parameters are those of :func:`feldspar.read_table`."""
    marks = _texts_of_marks(missing)
    cells = _read_cells(path, delimiter)
    if schema is None:
        names = _header(cells, header, None, weights, marks)
        return _encode_cells(cells, names, None, weights, marks)
    part = part_with_columns(schema, cells.rows[0], optional)
    names = _header(cells, header, part, weights, marks)
    if names is None:  # then columns go by position
        part = schema
    return _encode_cells(cells, names, part, weights, marks)._among(schema)


def part_with_columns(schema: Schema, names: Collection[str], optional: Collection[str]) -> Schema:
    """Return the part of a schema that a file with these names is expected to have columns for."""
    for name in optional:
        schema.index(name)  # complains of those that do not exist
    there = {name.strip() for name in names}
    kept = [
        v for v, name in enumerate(schema.names) if name.strip() in there or name not in optional
    ]
    return schema if len(kept) == len(schema) or not kept else schema.select(kept)


def _texts_of_marks(missing: Marks) -> frozenset[str]:
    # A single text is a collection too, of its letters; and what a file holds is text.
    several = [missing] if isinstance(missing, str | int) else missing
    return frozenset(map(str, several))


def format_csv(table: Table, weights: str | None) -> str:
    """Return a table as CSV with a header and labels, empty cells where entries are missing."""
    names = list(table.schema.names)
    columns = [
        _texts(table.codes[:, position].tolist(), labels)
        for position, labels in enumerate(table.schema.labels)
    ]
    _refuse_marks(table)
    for name, labels, texts in zip(names, table.schema.labels, columns, strict=True):
        _refuse_twins(f"column {name!r}", labels, {text.strip() for text in set(texts)})
    if weights is not None:
        if weights in names:
            raise ValueError(f"weights: {weights!r} is already the name of a variable")
        names.append(weights)
        columns.append([repr(weight) for weight in table.weights.tolist()])
    lines = _Lines()
    writer = csv.writer(lines)
    writer.writerow(names)
    writer.writerows(zip(*columns, strict=True))
    return "".join(lines.written)


class _Lines:
    """Collects a writer's rows, each ended by a line feed.

    A writer told to end rows so itself would not quote a cell that holds a carriage return, and a
    reader would take that for the end of the row.
    """

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, row: str) -> None:
        self.written.append(row.removesuffix("\r\n") + "\n")


def _texts(codes: list[int], labels: Labels) -> list[str]:
    # The code -1 finds the last text, the empty one.
    texts = [*map(str, labels), ""]
    return [texts[code] for code in codes]


def _refuse_marks(table: Table) -> None:
    """Raise if a value would be taken for a gap when the file is read again."""
    for position, (name, labels) in enumerate(
        zip(table.schema.names, table.schema.labels, strict=True)
    ):
        for code, label in enumerate(labels):
            if str(label).strip() in MISSING_MARKS and (table.codes[:, position] == code).any():
                raise ValueError(
                    f"column {name!r}: the label {label!r} would be read as a missing entry; "
                    "expected another label, or a file that ends in .parquet or .data"
                )


@dataclass(frozen=True)
class _Cells:
    """The cells of a delimited file and where they stood."""

    file: str
    rows: list[list[str]]
    lines: list[int]  # the line on which each row ends, counted from 1

    def column(self, position: int) -> list[str]:
        return [row[position] for row in self.rows]

    def place(self, row: int, name: str) -> str:
        return f"{self.file}, line {self.lines[row]}, column {name!r}"


def _read_cells(path: Source, delimiter: str | None) -> _Cells:
    file = source_name(path)
    stream = open_text(path)
    delimiter = delimiter or _sniff(stream)
    # A quote counts at the beginning of a cell; blanks in front of it are no part of the cell.
    blanks = delimiter != " "
    reader = csv.reader(stream, delimiter=delimiter, skipinitialspace=blanks, strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for row in reader:
            if row:  # blank lines hold nothing
                rows.append([cell.strip() for cell in row])
                lines.append(reader.line_num)
    except csv.Error as error:
        raise ValueError(f"{file}, line {reader.line_num}: {error}") from error
    if not rows:
        raise ValueError(f"{file}: the file is empty; expected one example a line")
    width = len(rows[0])
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            raise ValueError(
                f"{file}, line {line}: expected {width} values as on line {lines[0]}, "
                f"got {len(row)}"
            )
    return _Cells(file, rows, lines)


def _sniff(stream: io.StringIO) -> str:
    """Return the delimiter that the first line has most of, the comma if it has none.

    Those within quotes do not count.
    """
    text = _QUOTED_CELL.sub(r"\1", stream.read(_SNIFFED))
    stream.seek(0)
    first = next((line for line in text.splitlines() if line.strip()), "")
    return max(_DELIMITERS, key=first.count)


def _header(
    cells: _Cells,
    header: Header,
    schema: Schema | None,
    weights: str | None,
    missing: Collection[str],
) -> list[str] | None:
    """Take the header off ``cells`` and return its names, or ``None`` if there is none."""
    if header not in (True, False, "auto"):
        raise ValueError(f"header: expected True, False or 'auto', got {header!r}")
    if header == "auto":
        header = _looks_like_header(cells, schema, weights, missing)
        if not header and schema is None:  # under a schema, what is no value is an error
            _warn_of_names(cells, missing)
    if not header:
        return None
    names = cells.rows.pop(0)
    line = cells.lines.pop(0)
    _check_names(names, f"{cells.file}, line {line}")
    if not cells.rows:
        raise ValueError(
            f"{cells.file}: no rows after line {line}, which was taken for a header; "
            f"if it holds data, {_IF_DATA}"
        )
    return names


def _check_names(names: list[str], place: str) -> None:
    otherwise = f"if the line holds data, {_IF_DATA}"
    if "" in names:
        hint = " (pandas writes its index so; to_csv(index=False) leaves it out)"
        raise ValueError(
            f"{place}: column {names.index('') + 1} has no name{hint * (names[0] == '')}; "
            f"expected a name for each; {otherwise}"
        )
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ValueError(
            f"{place}: two columns are called {twice!r}; expected names that differ; {otherwise}"
        )


def _looks_like_header(
    cells: _Cells, schema: Schema | None, weights: str | None, missing: Collection[str]
) -> bool:
    first = cells.rows[0]
    if weights in first:
        return True
    if schema is not None and {name.strip() for name in schema.names} <= set(first):
        return True
    # Columns without a name say nothing here: a header that has some is refused later, not read as
    # an example.
    telling = [i for i, cell in enumerate(first) if cell]
    if not telling or any(first[i] in missing for i in telling):
        return False
    has_numbers = any(_NUMBER.fullmatch(cell) for cell in first)
    # Above a single row, a name and a value look alike.
    if has_numbers and not (len(cells.rows) > 2 and _names_above_numbers(cells, missing)):
        if not _are_counted([first[i] for i in telling]):
            return False
        telling = [i for i in telling if first[i] not in _COMMON_NUMBERS]
    return not any(first[i] == row[i] for row in cells.rows[1:] for i in telling)


def _are_counted(names: list[str]) -> bool:
    """Tell whether columns without names were numbered, from 0 as pandas does or from 1.

    Two numbers in order may be chance.
    """
    counted = ([str(start + i) for i in range(len(names))] for start in (0, 1))
    return len(names) > 2 and names in counted


def _names_above_numbers(cells: _Cells, missing: Collection[str]) -> list[int]:
    """Return the columns whose first cell is no number, while all below it are."""
    return [
        position
        for position, cell in enumerate(cells.rows[0])
        if cell not in missing
        and not _NUMBER.fullmatch(cell)
        and _are_numbers(set(cells.column(position)[1:]).difference(missing))
    ]


def _are_numbers(texts: set[str]) -> bool:
    return bool(texts) and all(_NUMBER.fullmatch(text) for text in texts)


def _warn_of_names(cells: _Cells, missing: Collection[str]) -> None:
    """Warn where the first line was read as an example and yet looks like a header."""
    first = cells.rows[0]
    names = _names_above_numbers(cells, missing)
    unlike = [i for i in range(len(first)) if _is_unlike_its_column(cells, i, missing)]
    if names:
        why = f"{first[names[0]]!r} in column {names[0] + 1} stands above numbers only"
    elif 2 * len(unlike) > len(first):
        why = f"{len(unlike)} of its {len(first)} values occur nowhere else in their columns"
    else:
        return
    warn_user(
        f"{cells.file}: line {cells.lines[0]} was read as an example, not as a header, but {why}; "
        "header=True or header=False (of a command: --header, --no-header) says what it is",
    )


def _is_unlike_its_column(cells: _Cells, position: int, missing: Collection[str]) -> bool:
    """Tell whether a column's first value is the only one of its kind, while others repeat."""
    first, *others = cells.column(position)
    if first in missing or first in _COMMON_NUMBERS or first in others:
        return False
    return len(set(others)) < len(others)


def _encode_cells(
    cells: _Cells,
    names: list[str] | None,
    schema: Schema | None,
    weights: str | None,
    missing: frozenset[str],
) -> Table:
    order = _columns(cells, names, schema, weights)
    encoded: list[tuple[npt.NDArray[np.int32], Labels]] = []
    for position, (name, column) in enumerate(order.items()):
        values = cells.column(column)
        known = None if schema is None else schema.labels[position]
        encoded.append(_encode_column(cells, name, values, known, missing))
    if schema is None:
        labels = [ls for _, ls in encoded]
        schema = Schema([len(ls) for ls in labels], names=list(order), labels=labels)
    codes = np.column_stack([column_codes for column_codes, _ in encoded])
    return Table(codes, schema, _weights(cells, names, weights))


def _columns(
    cells: _Cells, names: list[str] | None, schema: Schema | None, weights: str | None
) -> dict[str, int]:
    """Return the column in the file of each variable, in the variables' order."""
    width = len(cells.rows[0])
    if names is None:
        if weights is not None:
            raise ValueError(
                f"{cells.file}: weights are in column {weights!r}, but the file has no header"
            )
        expected = [f"v{i}" for i in range(width)] if schema is None else list(schema.names)
        if len(expected) != width:
            raise ValueError(
                f"{cells.file}, line {cells.lines[0]}: expected {len(expected)} columns "
                f"({listing(expected)}), got {width}"
            )
        return {name: column for column, name in enumerate(expected)}
    found = {name: column for column, name in enumerate(names) if name != weights}
    if weights is not None and len(found) == len(names):
        raise ValueError(f"{cells.file}: no column is called {weights!r}; got {listing(names)}")
    if schema is None:
        return found
    # Cells have lost the blanks around them; names from elsewhere may have theirs.
    if set(found) != {name.strip() for name in schema.names}:
        raise ValueError(
            f"{cells.file}: expected the columns {listing(schema.names)}, "
            f"got {listing(list(found))}"
        )
    return {name: found[name.strip()] for name in schema.names}


def _encode_column(
    cells: _Cells,
    name: str,
    values: Sequence[str],
    labels: Labels | None,
    missing: frozenset[str],
) -> tuple[npt.NDArray[np.int32], Labels]:
    """Return the codes of a column and its labels; the labels are found if not given."""
    if labels is not None:
        # A label that is spelled like a gap is meant; only the empty text never is.
        missing -= {text for label in labels for text in spellings(label) if text}
    distinct = set(values) - missing
    if labels is None:
        texts = _label_texts(cells, name, values, distinct)
        labels = tuple(dict.fromkeys(label for label, _ in texts))
        codes_of_labels = {label: code for code, label in enumerate(labels)}
        lookup = {text: codes_of_labels[label] for label, text in texts}
    else:
        _refuse_twins(f"{cells.file}, column {name!r}", labels, distinct)
        lookup = _codes_of_texts(labels, distinct)
    for value in distinct - lookup.keys():
        row = values.index(value)
        raise ValueError(
            f"{cells.place(row, name)}: unseen value {value!r}, expected {listing(labels)}"
        )
    lookup.update(dict.fromkeys(missing, -1))
    return np.fromiter((lookup[v] for v in values), np.int32, count=len(values)), labels


def _label_texts(
    cells: _Cells, name: str, values: Sequence[str], distinct: set[str]
) -> list[tuple[Label, str]]:
    """Return the labels of a column, sorted, each with a text that stands for it."""
    if not distinct:
        raise ValueError(
            f"{cells.file}, column {name!r}: all values are missing, so its labels are unknown; "
            "expected some values: leave the column out"
        )
    whole = {text: _whole_number(text) for text in distinct}
    if None not in whole.values():
        return sorted((number, text) for text, number in whole.items() if number is not None)
    if all(_NUMBER.fullmatch(text) for text in distinct):
        row = next(i for i, v in enumerate(values) if v in distinct and whole[v] is None)
        raise ValueError(
            f"{cells.place(row, name)}: expected discrete values, got {values[row]!r}; read the "
            "file into a data frame and cut it into intervals with feldspar.discretize"
        )
    truth_values = {text: label for label in (False, True) for text in spellings(label)}
    if distinct <= truth_values.keys():
        return sorted((label, text) for text, label in truth_values.items())
    return sorted((text, text) for text in distinct)


def _refuse_twins(place: str, labels: Labels, texts: Collection[str]) -> None:
    """Raise if one of the texts in a file may be either of two labels."""
    owners: dict[str, Label] = {}
    for label in labels:
        for text in spellings(label):
            if owners.setdefault(text, label) is not label and text in texts:
                raise ValueError(
                    f"{place}: the labels {owners[text]!r} and {label!r} are both {text!r} in a "
                    "CSV file; expected others, or a file that ends in .parquet or .data"
                )


def _codes_of_texts(labels: Labels, texts: set[str]) -> dict[str, int]:
    """Return the code of each text that stands for a label, those in a file included."""
    codes = {text: code for code, label in enumerate(labels) for text in spellings(label)}
    numbers = {label: code for code, label in enumerate(labels) if type(label) in (int, float)}
    for text in texts - codes.keys():
        number, known = _number(text), known_label(text, codes)
        if number in numbers:
            codes[text] = numbers[number]
        elif known in codes:
            codes[text] = codes[known]
    return codes


def _number(text: str) -> float | None:
    whole = _whole_number(text)
    return float(text) if whole is None and _NUMBER.fullmatch(text) else whole


def _whole_number(text: str) -> int | None:
    found = _WHOLE_NUMBER.fullmatch(text)
    return int(found[1]) if found else None


def _weights(
    cells: _Cells, names: list[str] | None, weights: str | None
) -> npt.NDArray[np.float64] | None:
    if names is None or weights is None:
        return None
    texts = cells.column(names.index(weights))
    numbers = np.empty(len(texts))
    for row, text in enumerate(texts):
        number = float(text) if _NUMBER.fullmatch(text) else np.nan
        if not (np.isfinite(number) and number >= 0):
            raise ValueError(
                f"{cells.place(row, weights)}: expected a finite weight >= 0, got {text!r}"
            )
        numbers[row] = number
    if not numbers.any():
        raise ValueError(f"{cells.file}, column {weights!r}: all weights are 0")
    return numbers
