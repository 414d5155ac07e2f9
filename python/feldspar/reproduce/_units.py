"""What is run once and kept: a learner on a data set, or a score of what it learned.

A unit is all that its result depends on. Its key is a digest of that: kind, settings, the data's
checksum and the version of the package; so that a result is found again, and never taken for
another's. Threads, time limits and budgets are not part of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from feldspar import _core, datasets
from feldspar.datasets import DataSplit
from feldspar.datasets._catalogue import PARTS, benchmark_names, checksums, repository_path
from feldspar.datasets._files import find_files
from feldspar.network import MarkovNetwork

# How the papers score: Lowd and Davis (2014), section 7.1.
GIBBS: Mapping[str, Any] = {
    "method": "gibbs",
    "groups": 4,
    "split": "random",
    "n_chains": 10,
    "burn_in": 100,
    "n_samples": 1000,
    "random_state": 0,
}
# Davis and Domingos (2010), section 5.2; they ran a single chain.
MCSAT: Mapping[str, Any] = {
    "method": "mcsat",
    "groups": 4,
    "split": "random",
    "n_chains": 1,
    "burn_in": 1000,
    "n_samples": 10000,
    "random_state": 0,
}


@dataclass(frozen=True)
class LearnerSpec:
    """A learner by name, with the parameters that differ from its defaults.

    A value that is itself a `LearnerSpec` becomes a learner within the learner.
    """

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Return the same as JSON knows it."""
        return {
            "learner": self.name,
            "params": {
                name: value.plain() if isinstance(value, LearnerSpec) else value
                for name, value in self.params.items()
            },
        }


@dataclass(frozen=True)
class Unit:
    """One thing to run.

    Attributes
    ----------
    kind : str
        What is done: one of ``feldspar.reproduce._kinds.KINDS``.
    method : str
        Short name of the learner, for people and for ``--methods``.
    dataset : str
    settings : dict
        Plain values; with `learner`, all that the result depends on.
    learner : LearnerSpec or None
    of : Unit or None
        The unit whose network is scored.
    label : str
        For the log, where method and data set do not tell enough.
    """

    kind: str
    method: str
    dataset: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    learner: LearnerSpec | None = None
    of: Unit | None = None
    label: str = ""

    @property
    def title(self) -> str:
        """A few words for a log."""
        share = self.settings.get("share")
        extra = self.label or ("" if share is None else f"1/{round(1 / share)} of the rows")
        return f"{self.dataset}: {self.kind} {self.method} {extra}".rstrip()


def fit_unit(
    method: str, learner: LearnerSpec, dataset: str, *, share: float | None = None
) -> Unit:
    """Return the unit that learns from a data set, or from a share of its training rows."""
    settings = {} if share is None or share >= 1 else {"share": share}
    return Unit("fit", method, dataset, settings, learner)


def cmll_unit(fit: Unit, options: Mapping[str, Any]) -> Unit:
    """Return the unit that scores what another has learned."""
    return Unit("cmll", fit.method, fit.dataset, dict(options), of=fit)


def unit_key(unit: Unit, learner_params: Mapping[str, Any] | None, network: str | None) -> str:
    """Return the digest of all that a unit's result depends on.

    Parameters
    ----------
    unit : Unit
    learner_params : mapping or None
        All parameters of the learner, defaults included.
    network : str or None
        The checksum of the network that is scored: equal networks share their scores.
    """
    parts = {
        "kind": unit.kind,
        "settings": dict(unit.settings),
        "learner": None if unit.learner is None else unit.learner.name,
        "params": learner_params,
        "network": network,
        "data": data_checksum(unit.dataset),
        "version": _core.__version__,
    }
    text = json.dumps(parts, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def data_checksum(name: str) -> str:
    """Return a digest of a data set; of benchmark sets without having them."""
    digest = hashlib.sha256()
    if name == "digits":
        split = datasets.load(name)
        for table in (split.train, split.valid, split.test):
            digest.update(np.ascontiguousarray(table.codes, dtype=np.int64).tobytes())
    elif name in datasets.names():
        for part in PARTS:
            digest.update(checksums()[repository_path(name, part)].encode())
    else:  # made by the unit itself, from its settings
        digest.update(name.encode())
    return digest.hexdigest()


def is_here(name: str) -> bool:
    """Tell whether a data set can be had without a download."""
    return name not in benchmark_names() or find_files(name, None) is not None


def load_checked(name: str) -> DataSplit:
    """Load a data set after comparing its files with the published sums."""
    split = datasets.load(name, download=False)
    datasets.verify(name)
    return split


def network_checksum(network: MarkovNetwork) -> str:
    """Return a digest of features and weights."""
    digest = hashlib.sha256(np.asarray(network.schema.cardinalities, dtype=np.int64).tobytes())
    for array in (*network.features._core.flatten(), network.weights):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
