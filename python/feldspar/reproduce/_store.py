"""Results on disk: a file for each unit, whole or not there at all."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feldspar.io.files import atomic_write
from feldspar.network import MarkovNetwork
from feldspar.reproduce._units import Unit

_FORMAT = "feldspar-result"


@dataclass(frozen=True)
class Store:
    """A folder of results.

    Attributes
    ----------
    folder : Path
    """

    folder: Path

    def load(self, unit: Unit, key: str) -> dict[str, Any] | None:
        """Return a unit's result, or ``None``; a file that cannot be read counts as none."""
        try:
            result = json.loads(self._file(unit, key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        is_ours = isinstance(result, dict) and result.get("format") == _FORMAT
        return result if is_ours and result.get("key") == key else None

    def save(self, unit: Unit, key: str, result: dict[str, Any]) -> None:
        """Write a unit's result."""
        file = self._file(unit, key)
        file.parent.mkdir(parents=True, exist_ok=True)
        whole = _finite({"format": _FORMAT, "key": key, **result})
        atomic_write(file, json.dumps(whole, indent=1, allow_nan=False) + "\n")

    def save_network(self, unit: Unit, key: str, network: MarkovNetwork) -> None:
        """Write the network that a unit has learned, for scores to come."""
        file = self._network_file(unit, key)
        file.parent.mkdir(parents=True, exist_ok=True)
        network.save(file)

    def load_network(self, unit: Unit, key: str) -> MarkovNetwork:
        """Read a network back."""
        return MarkovNetwork.load(self._network_file(unit, key))

    def checkpoint_file(self, unit: Unit, key: str) -> Path:
        """Return where a learner that can may keep its search while it runs."""
        folder = self.folder / "checkpoints"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / self._file(unit, key).name

    def _file(self, unit: Unit, key: str) -> Path:
        # Nothing that is no part of the key: whoever asks for the same finds the same file.
        words = [unit.dataset, unit.kind, "" if unit.learner is None else unit.learner.name]
        name = re.sub(r"[^a-z0-9]+", "-", "-".join(filter(None, words)).lower())
        return self.folder / "units" / f"{name}-{key[:16]}.json"

    def _network_file(self, unit: Unit, key: str) -> Path:
        file = self._file(unit, key)
        return self.folder / "networks" / f"{file.stem}.json.gz"


def _finite(value: Any) -> Any:
    """Return the same without numbers that JSON does not know: ``None`` stands for them."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
