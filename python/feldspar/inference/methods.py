"""The methods: each turns a network and evidence into probabilities, with options of its own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from feldspar import _core
from feldspar._caution import warn_user
from feldspar._random import RandomState, core_seed
from feldspar.evidence import Evidence
from feldspar.features import core_float, core_int
from feldspar.inference.answers import Diagnostics, Floats, Status
from feldspar.inference.running import Running, ask

if TYPE_CHECKING:
    from feldspar.network import MarkovNetwork

Answer: TypeAlias = tuple[Floats, Diagnostics]


def _chain_options(
    running: Running,
    n_chains: int,
    burn_in: int,
    n_samples: int,
    thinning: int,
    rao_blackwell: bool,
    standard_errors: bool,
    random_state: RandomState,
) -> _core.ChainOptions:
    chains = _core.ChainOptions()
    chains.n_chains = core_int("n_chains", n_chains)
    chains.burn_in = core_int("burn_in", burn_in)
    chains.n_samples = core_int("n_samples", n_samples)
    chains.thinning = core_int("thinning", thinning)
    chains.rao_blackwell = bool(rao_blackwell)
    chains.standard_errors = bool(standard_errors)
    chains.seed = core_seed(random_state)
    chains.max_seconds = running.seconds_left
    return chains


def gibbs(
    network: MarkovNetwork,
    evidence: Evidence,
    running: Running,
    *,
    n_chains: int = 10,
    burn_in: int = 100,
    n_samples: int = 1000,
    thinning: int = 1,
    rao_blackwell: bool = True,
    standard_errors: bool = False,
    random_state: RandomState = None,
) -> Answer:
    """Gibbs sampling."""
    options = _core.GibbsOptions()
    options.chains = _chain_options(
        running,
        n_chains,
        burn_in,
        n_samples,
        thinning,
        rao_blackwell,
        standard_errors,
        random_state,
    )
    return _sampled(
        "gibbs", ask(_core.gibbs_marginals, network, evidence, options, running, "gibbs")
    )


def mcsat(
    network: MarkovNetwork,
    evidence: Evidence,
    running: Running,
    *,
    n_chains: int = 10,
    burn_in: int = 100,
    n_samples: int = 1000,
    thinning: int = 1,
    rao_blackwell: bool = True,
    standard_errors: bool = False,
    walk_probability: float | None = None,
    temperature: float | None = None,
    max_moves: int | None = None,
    random_state: RandomState = None,
) -> Answer:
    """MC-SAT: slice sampling by satisfying constraints."""
    options = _core.McSatOptions()
    options.chains = _chain_options(
        running,
        n_chains,
        burn_in,
        n_samples,
        thinning,
        rao_blackwell,
        standard_errors,
        random_state,
    )
    sat = options.sat
    if walk_probability is not None:
        sat.walk_probability = core_float("walk_probability", walk_probability)
    if temperature is not None:
        sat.temperature = core_float("temperature", temperature)
    if max_moves is not None:
        sat.max_moves = core_int("max_moves", max_moves)
    options.sat = sat
    return _sampled(
        "mcsat", ask(_core.mcsat_marginals, network, evidence, options, running, "mcsat")
    )


def _sampled(method: str, sampled: _core.SampledMarginals) -> Answer:
    done = sampled.is_done.astype(bool)
    if sampled.status != "finished":
        _warn_of_rest(sampled.status, int((~done).sum()), len(done), "is_done")
    errors = sampled.standard_errors
    return sampled.probabilities, Diagnostics(
        method=method,
        converged=None,
        seconds=sampled.seconds,
        per_row={
            "r_hat": sampled.r_hat,
            "effective_size": sampled.effective_size,
            "n_samples": sampled.n_samples,
            "is_done": done,
        },
        standard_errors=errors,
        status=sampled.status,
        expected_error=None if errors is None else _largest(errors, sampled.probabilities),
    )


def _largest(errors: Floats, probabilities: Floats) -> float | None:
    """Return the largest error, ``None`` if some are not known: those of rows cut short."""
    found = ~np.isnan(probabilities)
    if not found.any() or np.isnan(errors[found]).any():
        return None
    return float(errors[found].max())


def _warn_of_rest(status: Status, n_left: int, n_rows: int, where: str) -> None:
    why = "the time limit is over" if status == "time_limit" else "interrupted"
    rest = f"{n_left} of {n_rows} rows are not finished; see diagnostics.per_row[{where!r}]"
    warn_user(f"{why}: {rest if n_left else 'after the last row, all are finished'}")


def table_limit(max_table_entries: object) -> float:
    """Return the parameter of that name; refuse what no table could meet."""
    limit = core_float("max_table_entries", max_table_entries)
    if not limit >= 1:
        raise ValueError(f"max_table_entries must be at least 1, got {limit:g}")
    return limit


def exact(
    network: MarkovNetwork,
    evidence: Evidence,
    running: Running,
    *,
    max_table_entries: float = 1e8,
) -> Answer:
    """A junction tree."""
    options = _core.JunctionTreeOptions()
    options.max_table_entries = table_limit(max_table_entries)
    options.max_seconds = running.seconds_left
    started = time.perf_counter()
    found = ask(_core.junction_tree_marginals, network, evidence, options, running, "exact")
    return _found("exact", found, time.perf_counter() - started)


def bp(
    network: MarkovNetwork,
    evidence: Evidence,
    running: Running,
    *,
    schedule: Literal["synchronous", "residual"] = "synchronous",
    damping: float | None = None,
    max_iterations: int | None = None,
    tolerance: float | None = None,
) -> Answer:
    """Loopy belief propagation."""
    options = _core.BeliefPropagationOptions()
    if schedule not in ("synchronous", "residual"):
        raise ValueError(f"schedule: expected 'synchronous' or 'residual', got {schedule!r}")
    options.schedule = schedule
    if damping is not None:
        options.damping = core_float("damping", damping)
    if max_iterations is not None:
        options.max_iterations = core_int("max_iterations", max_iterations)
    if tolerance is not None:
        options.tolerance = core_float("tolerance", tolerance)
    options.max_seconds = running.seconds_left
    started = time.perf_counter()
    found = ask(_core.belief_propagation_marginals, network, evidence, options, running, "bp")
    return _found("bp", found, time.perf_counter() - started)


def meanfield(
    network: MarkovNetwork,
    evidence: Evidence,
    running: Running,
    *,
    max_iterations: int | None = None,
    tolerance: float | None = None,
    n_starts: int = 1,
    random_state: RandomState = 0,
) -> Answer:
    """Mean field: the best product of independent distributions."""
    options = _core.MeanFieldOptions()
    if max_iterations is not None:
        options.max_iterations = core_int("max_iterations", max_iterations)
    if tolerance is not None:
        options.tolerance = core_float("tolerance", tolerance)
    options.n_starts = core_int("n_starts", n_starts)
    options.seed = core_seed(random_state)
    options.max_seconds = running.seconds_left
    started = time.perf_counter()
    found = ask(_core.mean_field_marginals, network, evidence, options, running, "mean field")
    return _found("meanfield", found, time.perf_counter() - started)


def _found(method: str, found: _core.Marginals, seconds: float) -> Answer:
    statuses = np.array(found.statuses)
    left = int(np.isin(statuses, ["not_done", "time_limit"]).sum())
    if left:
        _warn_of_rest("time_limit", left, len(statuses), "status")
    is_exact = found.log_partition_kind == "exact" and not left
    return found.probabilities, Diagnostics(
        method=method,
        converged=bool((statuses == "converged").all()),
        seconds=seconds,
        per_row={
            "status": statuses,
            "iterations": found.iterations,
            "residual": found.residuals,
            "log_partition": found.log_partitions,
        },
        status="time_limit" if left else "finished",
        expected_error=0.0 if is_exact else None,
    )
