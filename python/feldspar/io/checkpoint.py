"""Checkpoints of long searches, ``.json``: what is known, exactly, so that a search can go on.

A document (`feldspar.io.document`) of the format ``feldspar-checkpoint``. Its ``metadata`` say what
the search is for, and a search goes on only if they are the same; ``searches`` has an entry for
each that was begun: its ``setting``, its ``position`` and the weighted features it has reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from feldspar.features import CodedTest
from feldspar.io.document import Document, document_text, json_text, line_list, term_text
from feldspar.io.files import Target, atomic_write, read_text, source_name
from feldspar.network import MarkovNetwork
from feldspar.schema import Schema

__all__ = ["SearchPoint", "read_checkpoint", "write_checkpoint"]

FORMAT = "feldspar-checkpoint"
VERSION = 1


@dataclass(frozen=True, eq=False)
class SearchPoint:
    """Where a search is.

    Attributes
    ----------
    setting : dict
        What the search is run with; plain values.
    position : dict of int
        How far it is.
    network : MarkovNetwork
        What it has reached.
    """

    setting: Mapping[str, Any]
    position: Mapping[str, int]
    network: MarkovNetwork


def write_checkpoint(
    path: Target, schema: Schema, task: Mapping[str, Any], points: Iterable[SearchPoint]
) -> None:
    """Write a checkpoint, whole or not at all: a reader finds the old one or the new one."""
    searches = line_list(_point_text(point) for point in points)
    atomic_write(path, document_text(FORMAT, VERSION, schema, task, {"searches": searches}))


def read_checkpoint(path: Target, schema: Schema, task: Mapping[str, Any]) -> list[SearchPoint]:
    """Return the searches of a checkpoint.

    Raises
    ------
    ModelFileError
        If the file is no checkpoint.
    ValueError
        If it is one of another task: other data or other parameters; what differs is named.
    """
    name = source_name(path)
    document = Document(name, read_text(path), format=FORMAT, version=VERSION)
    found = document.part("metadata", dict, "an object")
    if document.schema != schema:
        raise ValueError(f"{name}: a checkpoint of other data: its variables or values differ")
    for key in sorted({*task, *found}):
        if task.get(key) != found.get(key):
            raise ValueError(
                f"{name}: a checkpoint of another search: {key} was {found.get(key)!r} there and "
                f"is {task.get(key)!r} here; expected the same, or another file"
            )
    searches = document.part("searches", list, "a list")
    return [_point(document, f"searches[{i}]", entry) for i, entry in enumerate(searches)]


def _point_text(point: SearchPoint) -> str:
    network = point.network
    pairs = zip(network.features, network.weights.tolist(), strict=True)
    head = json_text("setting", dict(point.setting)), json_text("position", dict(point.position))
    features = line_list((term_text(tests, weight) for tests, weight in pairs), indent="    ")
    return f'{{"setting": {head[0]}, "position": {head[1]}, "features": {features}}}'


def _point(document: Document, place: str, entry: Any) -> SearchPoint:
    if not isinstance(entry, dict) or entry.keys() != {"setting", "position", "features"}:
        raise document.wrong(place, 'an object with "setting", "position" and "features"', entry)
    terms = document.terms(f"{place}.features", entry["features"])
    # Marked as codes: a plain integer might be the label of another value.
    coded = [(map(CodedTest, tests), weight) for tests, weight in terms]
    return SearchPoint(
        setting=entry["setting"],
        position=entry["position"],
        network=MarkovNetwork.from_terms(document.schema, coded),
    )
