"""Running units one at a time: what is there is taken, what is not is run and kept."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from feldspar._machine import machine, versions
from feldspar.network import MarkovNetwork
from feldspar.reproduce._kinds import KINDS, Context, Outcome, UnitError, learner_params
from feldspar.reproduce._store import Store
from feldspar.reproduce._units import Unit, is_here, unit_key

Report = Callable[[str], None]
Kinds = Mapping[str, Callable[[Unit, Context], Outcome]]

# What a unit may fail with without stopping the others; anything else is a bug and shows.
_FAILURES = (UnitError, ValueError, TypeError, ArithmeticError, OSError, ImportError, MemoryError)


class MissingError(Exception):
    """Why there is no result of a unit."""


class Runner:
    """Gives the results of units.

    Parameters
    ----------
    store : Store
    budget : float, optional
        Seconds after which no unit is started.
    time_limit : float, optional
        Seconds for each learner. A result that hit a shorter limit is run again.
    n_jobs : int, optional
    may_run : bool
        Whether units that have no result are run at all.
    again : bool
        Run units even if their results are there; each once.
    report : callable, optional
        Gets a line of text before and after each unit that is run.
    kinds : mapping, optional
        What units of each kind do.
    """

    def __init__(
        self,
        store: Store,
        *,
        budget: float | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        may_run: bool = True,
        again: bool = False,
        report: Report | None = None,
        kinds: Kinds = KINDS,
    ) -> None:
        self.store = store
        self.n_run = 0  # units run so far, successfully or not
        self.limits_hit = 0  # results given so far that a time limit had cut short
        self._ends = None if budget is None else time.monotonic() + budget
        self._time_limit = time_limit
        self._n_jobs = n_jobs
        self._may_run = may_run
        self._again = again
        self._report = report or (lambda text: None)
        self._kinds = kinds
        self._done: dict[str, dict[str, Any]] = {}
        self._failed: dict[str, str] = {}
        self._network: tuple[str, MarkovNetwork] | None = None

    def values(self, unit: Unit) -> dict[str, Any]:
        """Return what a unit found, running it if need be.

        Raises
        ------
        MissingError
            If it failed, or may not be run.
        """
        record = self.result(unit)
        self.limits_hit += bool(record["hit_time_limit"])
        values: dict[str, Any] = record["values"]
        return values

    def origins(self) -> list[str]:
        """Return what the results given so far were made with, each combination once."""
        found = {
            ", ".join(
                f"{name} {value}" for name, value in {**r["versions"], **r["machine"]}.items()
            )
            for r in self._done.values()
        }
        return sorted(found)

    def result(self, unit: Unit) -> dict[str, Any]:
        """Return the whole record of a unit, running it if need be."""
        network = None if unit.of is None else self.values(unit.of)["network_sha256"]
        try:
            params = None if unit.learner is None else learner_params(unit.learner)
        except UnitError as error:
            raise MissingError(str(error)) from None
        key = unit_key(unit, params, network)
        if key in self._failed:
            raise MissingError(self._failed[key])
        if key in self._done:
            return self._done[key]
        stored = self.store.load(unit, key)
        if stored is not None and not self._again and self._is_good(stored):
            self._done[key] = stored
            return stored
        self._check_may_run(unit, stored)
        return self._run(unit, key, params)

    def _is_good(self, stored: Mapping[str, Any]) -> bool:
        if stored["status"] != "done":
            return False
        if not stored["hit_time_limit"] or not self._may_run:
            return True
        had, wanted = stored["time_limit"], self._time_limit
        return had is not None and wanted is not None and had >= wanted

    def _check_may_run(self, unit: Unit, stored: Mapping[str, Any] | None) -> None:
        if not is_here(unit.dataset):
            raise MissingError("the data set is not here (feldspar data fetch gets it)")
        if not self._may_run:
            failed = stored is not None and stored["status"] == "failed"
            raise MissingError(stored["error"] if failed and stored else "not run")
        if self._ends is not None and time.monotonic() >= self._ends:
            raise MissingError("not run: the budget was over")

    def _run(self, unit: Unit, key: str, params: dict[str, Any] | None) -> dict[str, Any]:
        self._report(f"{unit.title} ...")
        started, cpu = time.perf_counter(), time.process_time()
        self.n_run += 1
        record: dict[str, Any] = {
            "unit": {
                "kind": unit.kind,
                "method": unit.method,
                "dataset": unit.dataset,
                "settings": dict(unit.settings),
                "learner": None if unit.learner is None else unit.learner.name,
                "params": params,
            },
            "versions": versions(),
            "machine": machine(),
            "n_jobs": self._n_jobs,
            "time_limit": self._time_limit,
        }
        try:
            outcome, told = self._outcome(unit, key)
        except _FAILURES as error:
            reason = _describe(error)
            self._failed[key] = reason
            self.store.save(unit, key, {**record, "status": "failed", "error": reason})
            self._report(f"{unit.title}: failed: {reason}")
            raise MissingError(reason) from error
        record |= {
            "status": "done",
            "values": outcome.values,
            "warnings": told,
            "hit_time_limit": any("time_limit" in text for text in told),
            "seconds": time.perf_counter() - started,
            "cpu_seconds": time.process_time() - cpu,
        }
        if outcome.network is not None:
            self.store.save_network(unit, key, outcome.network)
            checksum = outcome.values.get("network_sha256")
            self._network = None if checksum is None else (checksum, outcome.network)
        self.store.save(unit, key, record)
        # Read back: a second run must not see more than this one.
        self._done[key] = self.store.load(unit, key) or record
        self._report(f"{unit.title}: {record['seconds']:.1f} s")
        return self._done[key]

    def _outcome(self, unit: Unit, key: str) -> tuple[Outcome, list[str]]:
        checkpoint = self.store.checkpoint_file(unit, key)
        context = Context(
            lambda: self._network_of(unit), self._n_jobs, self._time_limit, checkpoint
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            outcome = self._kinds[unit.kind](unit, context)
        checkpoint.unlink(missing_ok=True)
        return outcome, list(dict.fromkeys(" ".join(str(w.message).split()) for w in caught))

    def _network_of(self, unit: Unit) -> MarkovNetwork:
        """Return the network that a unit scores: the last one learned, or from its file."""
        assert unit.of is not None
        record = self.result(unit.of)
        checksum = record["values"]["network_sha256"]
        if self._network is None or self._network[0] != checksum:
            self._network = checksum, self.store.load_network(unit.of, record["key"])
        return self._network[1]


def _describe(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        text = error.strerror.lower()  # without the path, which is of this machine only
    return f"out of memory ({text})" if isinstance(error, MemoryError) else text
