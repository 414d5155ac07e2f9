"""Evidence on the command line: ``NAME=VALUE``, several of them separated by commas.

Names and labels may hold commas and equals signs themselves, as the intervals of
``feldspar.discretize`` do. The names that a model knows tell what is meant: a comma separates where
a name and an equals sign follow it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import click

from feldspar.schema import Schema

_POSITION = re.compile(r"[0-9]+(?=\s*=)")


def parse_evidence(schema: Schema, texts: Sequence[str]) -> dict[int, Any]:
    """Return the evidence that texts such as ``name=value,name=value`` stand for.

    Examples
    --------
    >>> schema = Schema([2, 2], names=["age", "rain"], labels=[["[0, 9)", "[9, inf)"], None])
    >>> parse_evidence(schema, ["age=[0, 9),rain=1"])
    {0: '[0, 9)', 1: 1}
    """
    known: dict[int, Any] = {}
    for text in texts:
        for name, value in _pairs(schema, text):
            v = index_of(schema, name)
            if v in known:
                raise click.BadParameter(f"{name!r} is given twice", param_hint="--evidence")
            known[v] = _value(schema, v, value)
    return known


def index_of(schema: Schema, name: str) -> int:
    """Return the position of a variable, which a text gives by name or by number."""
    if name in schema.names:
        return schema.index(name)
    bare = _bare_names(schema)
    if name in bare:
        return bare.index(name)
    return schema.index(int(name) if name.isdecimal() else name)


def _bare_names(schema: Schema) -> list[str]:
    """Return the names without blanks at their ends, which evidence has lost."""
    return [name.strip() for name in schema.names]


def _pairs(schema: Schema, text: str) -> Iterator[tuple[str, str]]:
    rest = text.strip(", ")
    while rest:
        name = _first_name(schema, rest)
        after = rest[len(name) :].lstrip().removeprefix("=")
        end = _end_of_value(schema, index_of(schema, name), after)
        yield name, after[:end].strip()
        rest = after[end:].strip(", ")


def _first_name(schema: Schema, text: str) -> str:
    known = _known_name(schema, text)
    if known is not None:
        return known
    name, equals, _ = text.partition("=")
    if not equals or "," in name:
        part = text.partition(",")[0]
        raise click.BadParameter(f"expected NAME=VALUE, got {part!r}", param_hint="--evidence")
    return name.strip()


def _known_name(schema: Schema, text: str) -> str | None:
    """Return the longest name, or else the number, of a variable that a text assigns to."""
    fitting = [
        name
        for name in _bare_names(schema)
        if text.startswith(name) and text[len(name) :].lstrip().startswith("=")
    ]
    if fitting:
        return max(fitting, key=len)
    position = _POSITION.match(text)
    return position[0] if position and int(position[0]) < len(schema) else None


def _end_of_value(schema: Schema, v: int, text: str) -> int:
    """Return where the value ends that a text begins with."""
    commas = [i for i, character in enumerate(text) if character == ","]
    followed = (i for i in commas if _known_name(schema, text[i:].lstrip(", ")) is not None)
    end = next(followed, len(text))
    if _is_value(schema, v, text[:end]):
        return end
    # What follows a value may be a name with an error in it; that is told of next.
    return next((i for i in commas if i < end and _is_value(schema, v, text[:i])), end)


def _is_value(schema: Schema, v: int, text: str) -> bool:
    return _value(schema, v, text.strip()) in (*schema.labels[v], *range(schema.cardinalities[v]))


def _value(schema: Schema, v: int, text: str) -> Any:
    """Return the label that a text names, or else the code."""
    label = schema.label_of_text(v, text)
    is_code = label not in schema.labels[v] and text.removeprefix("-").isdecimal()
    return int(text) if is_code else label
