"""Bottom-up search as a step of learners: settings, checkpoints, and the weights at the end."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from feldspar import _core
from feldspar._jobs import resolve_jobs
from feldspar._progress import progress_bar
from feldspar.features import FeatureSet, core_float, core_int
from feldspar.io.checkpoint import SearchPoint, read_checkpoint, write_checkpoint
from feldspar.io.files import check_folder
from feldspar.learners._base import one_of
from feldspar.learners._race import Contender
from feldspar.learners._search import Search, WeightSettings
from feldspar.network import MarkovNetwork
from feldspar.schema import Schema
from feldspar.table import Table
from feldspar.weights import listed

Distance: TypeAlias = Literal["gvdm", "hamming"]

# The numbers of nearest examples that the paper generalises to.
NEIGHBORS = (1, 2, 5, 10, 20, 25, 50, 100, 200)
RELEARN_EVERY = 25

_TUNED = ("alpha", "relearn_every", "prior_sd")

_DISTANCES = {
    "gvdm": _core.DistanceKind.value_difference,
    "hamming": _core.DistanceKind.hamming,
}


@dataclass(frozen=True)
class BottomUpSettings:
    """How features are generalised.

    Attributes
    ----------
    alpha, relearn_every : list
        Values to try.
    neighbors : number or sequence
    distance : str
    power : int
    checkpoint : path or None
    checkpoint_every : float
    weights : WeightSettings
        Its prior_sd are values to try, too.
    """

    alpha: Sequence[Any]
    relearn_every: Sequence[Any]
    neighbors: object
    distance: object
    power: int
    checkpoint: str | os.PathLike[str] | None
    checkpoint_every: float
    weights: WeightSettings

    def paths(self) -> list[list[dict[str, Any]]]:
        """Return the settings to try: for each interval and prior, alphas from large to small."""
        alphas = sorted({core_float("alpha", alpha) for alpha in self.alpha}, reverse=True)
        return [
            [
                {
                    "alpha": alpha,
                    "relearn_every": core_int("relearn_every", every),
                    "prior_sd": None if sd is None else core_float("prior_sd", sd),
                }
                for alpha in alphas
            ]
            for every, sd in product(self.relearn_every, self.weights.prior_sd)
        ]

    def options(self, setting: Mapping[str, Any]) -> _core.BottomUpOptions:
        """Return what the core shall do with a setting of the grid."""
        options = _core.BottomUpOptions()
        options.alpha = setting["alpha"]
        options.relearn_every = setting["relearn_every"]
        options.prior_sd = math.inf if setting["prior_sd"] is None else setting["prior_sd"]
        options.neighbors = [core_float("neighbors", k) for k in listed(self.neighbors)]
        options.distance = _DISTANCES[one_of("distance", self.distance, tuple(_DISTANCES))]
        options.power = core_int("power", self.power)
        return options


def check_checkpoint(path: str | os.PathLike[str] | None) -> None:
    """Refuse what no checkpoint can be written to, before there is anything to lose."""
    if path is None:
        return
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"checkpoint: expected a path, got {path!r}")
    check_folder(path)


def generalize(
    search: Search,
    start: FeatureSet,
    weights: npt.NDArray[np.float64] | None,
    params: dict[str, Any],
    settings: BottomUpSettings,
) -> None:
    """Search from the features with each setting, and learn the weights of what is found.

    Without weights for the start, each is learned with one look at all of them. Once a smaller
    alpha has made things worse for certain, those still smaller are skipped.
    """
    checkpoint = Checkpoint(search, start, weights, settings)

    def attempt(setting: dict[str, Any]) -> list[Contender]:
        own = {name: setting[name] for name in _TUNED}
        return _generalize_with(search, start, weights, params, own, settings, checkpoint)

    for path in settings.paths():
        whole = [params | setting for setting in path]
        search.walk(whole, attempt, search.skip, exhaustive=settings.weights.exhaustive)


def _generalize_with(
    search: Search,
    start: FeatureSet,
    weights: npt.NDArray[np.float64] | None,
    params: dict[str, Any],
    setting: dict[str, Any],
    settings: BottomUpSettings,
    checkpoint: Checkpoint,
) -> list[Contender]:
    started = time.perf_counter()
    with search.clock.stage("structure"):
        network, status = _run(search, start, weights, setting, settings, checkpoint)
    search.add_structure_trial(
        {**params, **setting},
        valid_pll=None,
        n_features=len(network.features),
        seconds=time.perf_counter() - started,
    )
    own = {name: setting[name] for name in ("alpha", "relearn_every")}
    if status == "interrupted":  # no time for weights: as they are
        search.offer(network, {**params, **setting}, n_jobs=settings.weights.n_jobs)
        raise KeyboardInterrupt
    return search.learn_weights(
        network.features,
        {**params, **own},
        settings.weights.with_priors([setting["prior_sd"]]),
        initial_weights=network.weights,
    )


def _run(
    search: Search,
    start: FeatureSet,
    weights: npt.NDArray[np.float64] | None,
    setting: dict[str, Any],
    settings: BottomUpSettings,
    checkpoint: Checkpoint,
) -> tuple[MarkovNetwork, _core.SearchStatus]:
    """Run one search to its end, or to that of the time; return what it has reached."""
    threads = resolve_jobs(settings.weights.n_jobs)
    schema = search.data.train.schema
    known = checkpoint.find(setting)
    state = _core.BottomUpState.start(start._core, weights) if known is None else _state(known)
    core = _core.BottomUpSearch(search.data.dataset, state, settings.options(setting), threads)
    status: _core.SearchStatus = "advanced"
    if known is not None and known.position["finished"]:
        status = "finished"
    try:
        with progress_bar("generalising", shown=settings.weights.verbose) as progress:
            if known is None and weights is None:
                status = core.learn_weights(1, _seconds_left(search), threads, progress)
            while status == "advanced":
                checkpoint.keep(setting, core, finished=False)
                status = core.advance(_seconds_left(search), threads, progress)
    except KeyboardInterrupt:  # between two steps; within one the status tells
        status = "interrupted"
    if status == "finished":
        checkpoint.keep(setting, core, finished=True)
    checkpoint.write()
    return _network(schema, core.state()), status


def _seconds_left(search: Search) -> float:
    left = search.clock.seconds_left
    return math.inf if left is None else left


def _network(schema: Schema, state: _core.BottomUpState) -> MarkovNetwork:
    return MarkovNetwork(FeatureSet._of_core(schema, state.features), state.weights)


def _state(point: SearchPoint) -> _core.BottomUpState:
    position = point.position
    return _core.BottomUpState(
        point.network.features._core,
        np.ascontiguousarray(point.network.weights),
        position["n_fixed"],
        position["next"],
        bool(position["changed"]),
        position["round"],
        position["n_changes"],
    )


class Checkpoint:
    """The file, if there is to be one, in which searches are kept while they run.

    A search that goes on from the file ends where it would have ended, bit for bit: states are
    kept right after the weights were relearned, when there is nothing else to know.
    """

    def __init__(
        self,
        search: Search,
        start: FeatureSet,
        weights: npt.NDArray[np.float64] | None,
        settings: BottomUpSettings,
    ) -> None:
        self._path = settings.checkpoint
        self._every = core_float("checkpoint_every", settings.checkpoint_every)
        if not self._every >= 0:
            raise ValueError(f"checkpoint_every must not be negative, got {self._every}")
        self._points: dict[str, SearchPoint] = {}
        self._last: tuple[dict[str, Any], _core.BottomUpState, bool] | None = None
        self._written = time.perf_counter()
        self._schema = search.data.train.schema
        if self._path is None:
            return
        self._task = {
            "data": _digest(search.data.train),
            "start": _features_digest(start),
            # The search goes where they lead; without, they follow from the data.
            "start_weights": None if weights is None else _weights_digest(weights),
            "neighbors": [core_float("neighbors", k) for k in listed(settings.neighbors)],
            "distance": settings.distance,
            "power": settings.power,
        }
        if Path(self._path).exists():
            for point in read_checkpoint(self._path, self._schema, self._task):
                self._points[_key(point.setting)] = point

    def find(self, setting: Mapping[str, Any]) -> SearchPoint | None:
        """Return where the search with a setting was, if it was begun."""
        return self._points.get(_key(setting))

    def keep(
        self, setting: Mapping[str, Any], core: _core.BottomUpSearch, *, finished: bool
    ) -> None:
        """Remember where a search is, if there is a file; write it if the last time is long ago."""
        if self._path is None:  # a state is a copy of all features
            return
        self._last = (dict(setting), core.state(), finished)
        if time.perf_counter() - self._written >= self._every:
            self.write()

    def write(self) -> None:
        """Write what was kept last, if it is not in the file yet."""
        if self._path is None or self._last is None:
            return
        setting, state, finished = self._last
        position = {
            "finished": int(finished),
            "n_fixed": state.n_fixed,
            "next": state.next,
            "changed": int(state.changed),
            "round": state.round,
            "n_changes": state.n_changes,
        }
        self._points[_key(setting)] = SearchPoint(setting, position, _network(self._schema, state))
        write_checkpoint(self._path, self._schema, self._task, self._points.values())
        self._last = None
        self._written = time.perf_counter()


def _key(setting: Mapping[str, Any]) -> str:
    return repr(sorted(setting.items()))


def _digest(table: Table) -> str:
    content = hashlib.sha256(table.codes.astype(np.int32).tobytes())
    content.update(np.ascontiguousarray(table.weights, dtype=np.float64).tobytes())
    return content.hexdigest()


def _features_digest(features: FeatureSet) -> str:
    content = hashlib.sha256()
    for array in features._core.flatten():
        content.update(np.ascontiguousarray(array).tobytes())
    return content.hexdigest()


def _weights_digest(weights: npt.NDArray[np.float64]) -> str:
    return hashlib.sha256(np.ascontiguousarray(weights, dtype=np.float64).tobytes()).hexdigest()
