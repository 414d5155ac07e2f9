"""log Z: exact, or by annealed importance sampling."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from feldspar import _core
from feldspar._caution import warn_user
from feldspar._random import RandomState, core_seed
from feldspar.evidence import Evidence
from feldspar.features import core_int
from feldspar.inference.methods import exact, table_limit
from feldspar.inference.running import Running

if TYPE_CHECKING:
    from feldspar.network import MarkovNetwork

_TOO_SHORT = "the time limit of {:g} seconds was over before log Z was found"


@dataclass(frozen=True)
class LogPartition:
    """The logarithm of the partition function; ``float(result)`` is the value.

    Attributes
    ----------
    value : float
    method : {"exact", "ais"}
    stderr : float
        0 if exact.
    reverse : float or None
        Of annealed importance sampling: the estimate from the other side. The value comes from
        below, this one from above; a gap between them shows that more temperatures are needed.
        ``None`` too if a time limit left no time for it.
    """

    value: float
    method: str
    stderr: float
    reverse: float | None

    def __float__(self) -> float:
        """Return the value."""
        return self.value


def log_partition(
    network: MarkovNetwork,
    method: Literal["auto", "exact", "ais"] = "auto",
    *,
    max_table_entries: float = 1e7,
    n_chains: int = 100,
    n_temperatures: int = 1000,
    random_state: RandomState = 0,
    time_limit: float | None = None,
    n_jobs: int | None = None,
) -> LogPartition:
    """Return log Z. See :meth:`feldspar.MarkovNetwork.log_partition`."""
    if method not in ("auto", "exact", "ais"):
        raise ValueError(f"method: expected 'auto', 'exact' or 'ais', got {method!r}")
    nothing = Evidence.of(network.schema)
    running = Running.of(time_limit=time_limit, n_jobs=n_jobs)
    entries = table_limit(max_table_entries)
    if method == "auto":
        cost = _core.elimination_costs(network._core, nothing.codes, entries, running.n_threads)[0]
        method = "exact" if cost.complete and cost.table_entries <= entries else "ais"
    if method == "exact":
        return _exact(network, nothing, running, entries)
    options = _core.AnnealingOptions()
    options.n_chains = core_int("n_chains", n_chains)
    options.n_temperatures = core_int("n_temperatures", n_temperatures)
    options.reverse = True
    options.seed = core_seed(random_state)
    options.max_seconds = running.seconds_left
    return _annealed(network, nothing, running, options)


def _exact(
    network: MarkovNetwork, nothing: Evidence, running: Running, max_table_entries: float
) -> LogPartition:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the time limit: there is no part of an answer
        _, diagnostics = exact(network, nothing, running, max_table_entries=max_table_entries)
    value = float(diagnostics.per_row["log_partition"][0])
    if math.isnan(value):
        raise TimeoutError(_TOO_SHORT.format(running.max_seconds))
    return LogPartition(value, "exact", 0.0, None)


def _annealed(
    network: MarkovNetwork, nothing: Evidence, running: Running, options: _core.AnnealingOptions
) -> LogPartition:
    found = _core.annealed_log_partition(
        network._core, nothing.codes, None, options, running.n_threads
    )
    forward, reverse = found.forward, found.reverse
    if math.isnan(forward.log_partition):
        raise TimeoutError(_TOO_SHORT.format(running.max_seconds))
    if found.status != "finished":
        warn_user(
            f"the time limit is over: {forward.n_chains} of {options.n_chains} chains forward and "
            f"{reverse.n_chains} in reverse are finished",
        )
    return LogPartition(
        forward.log_partition,
        "ais",
        forward.standard_error,
        None if math.isnan(reverse.log_partition) else reverse.log_partition,
    )
