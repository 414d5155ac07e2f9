"""Measured points in a JSON file: saved one by one, so that an interrupted run goes on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from growth.fits import Point
from growth.plan import AxisName, Series, TaskName


@dataclass(frozen=True)
class Measured:
    """The cost of a task at a size; None where it did not end in time."""

    axis: AxisName
    task: TaskName
    size: int
    seconds: float | None
    bytes: int | None


@dataclass
class Results:
    """All points, and what they were made with."""

    made_with: dict[str, Any]
    points: list[Measured] = field(default_factory=list)

    def find(self, series: Series, size: int) -> Measured | None:
        """Return a point, if it is there."""
        return next((point for point in self._of(series) if point.size == size), None)

    def times(self, series: Series) -> list[Point]:
        """Return sizes and seconds of a series, ascending."""
        return sorted((p.size, p.seconds) for p in self._of(series) if p.seconds is not None)

    def memory(self, series: Series) -> list[Point]:
        """Return sizes and bytes of a series, ascending."""
        return sorted((p.size, float(p.bytes)) for p in self._of(series) if p.bytes is not None)

    def _of(self, series: Series) -> list[Measured]:
        return [p for p in self.points if (p.axis, p.task) == (series.axis, series.task)]

    def save(self, path: Path) -> None:
        """Write all, to a temporary name first."""
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".tmp")
        draft.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
        draft.replace(path)

    @classmethod
    def load(cls, path: Path) -> Results:
        """Read what was saved."""
        stored = json.loads(path.read_text(encoding="utf-8"))
        return cls(stored["made_with"], [Measured(**point) for point in stored["points"]])

    @classmethod
    def open(cls, path: Path, made_with: dict[str, Any]) -> Results:
        """Read what was saved, if anything was; figures of two machines do not mix."""
        if not path.exists():
            return cls(made_with)
        results = cls.load(path)
        if results.made_with != made_with:
            raise SystemExit(
                f"{path} was made with {results.made_with}, this is {made_with}; expected the same "
                "(name another file, or delete it)"
            )
        return results
