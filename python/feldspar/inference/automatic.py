"""``method="auto"``: exact if cheap, else belief propagation if it can be believed, else Gibbs.

Belief propagation that converges may still be wrong, in models with short cycles of strong weights
by a great deal. So its answer is held against a short Gibbs run: agreement gives the error to
expect, disagreement beyond the sampler's own errors hands the question over to Gibbs.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from feldspar import _core
from feldspar._random import RandomState, core_seed
from feldspar.evidence import Evidence
from feldspar.inference.answers import Floats
from feldspar.inference.methods import Answer, bp, exact, gibbs, table_limit
from feldspar.inference.running import Running

if TYPE_CHECKING:
    from feldspar.network import MarkovNetwork

# Patterns of hidden variables whose tables are sized up before the clock is looked at again.
PATTERNS_AT_ONCE = 32
# The check: rows that are looked at, sweeps of each of ten chains, and what counts as a
# contradiction: a difference this much larger than four standard errors.
CHECKED_ROWS = 50
CHECK_BURN_IN, CHECK_SAMPLES = 100, 400
TOLERATED = 0.01
# Chains further apart than this have not met: they contradict nobody.
MIXED = 1.1


def auto(
    network: MarkovNetwork,
    evidence: Evidence,
    running: Running,
    *,
    max_table_entries: float = 1e6,
    random_state: RandomState = 0,
) -> Answer:
    """Answer with the method that suits the model and the evidence."""
    limit = table_limit(max_table_entries)
    seed = core_seed(random_state)
    largest = _largest_tables(network, evidence, running, limit)
    if largest is None:
        return _because(bp(network, evidence, running), "no time was left to look for a method")
    if largest <= limit:
        answer = exact(network, evidence, running, max_table_entries=limit)
        return _because(answer, f"the tables have {largest:,.0f} entries at most")
    answer = bp(network, evidence, running)
    if answer[1].status != "finished":
        return _because(answer, f"{_TOO_LARGE}; no time was left to look further")
    if not answer[1].converged:
        why = "belief propagation did not converge"
    else:
        check = _check(network, evidence, running, answer[0], seed)
        why = f"belief propagation converged, {check.in_words(len(evidence))}"
        if check.contradicts and running.is_over:
            why += "; no time was left to sample"
        if not check.contradicts or running.is_over:
            found, diagnostics = _because(answer, f"{_TOO_LARGE}; {why}")
            return found, replace(diagnostics, expected_error=check.difference)
    answer = gibbs(network, evidence, running, random_state=seed, standard_errors=True)
    apart = float(
        np.max(answer[1].per_row["r_hat"], initial=1.0, where=answer[1].per_row["is_done"])
    )
    if apart > MIXED:
        why += f"; chains have not mixed (R-hat up to {apart:.2f}), so that errors may be larger"
    return _because(answer, f"{_TOO_LARGE}; {why}")


def _largest_tables(
    network: MarkovNetwork, evidence: Evidence, running: Running, limit: float
) -> float | None:
    """Return how many entries the tables of an exact answer have at most, infinity if too many.

    ``None`` if the time limit is over first. Rows that hide the same variables cost the same.
    """
    patterns = np.unique(np.where(evidence.codes < 0, -1, 0).astype(np.int32), axis=0)
    largest = 0.0
    for first in range(0, len(patterns), PATTERNS_AT_ONCE):
        if running.is_over:
            return None
        some = patterns[first : first + PATTERNS_AT_ONCE]
        for cost in _core.elimination_costs(network._core, some, limit, running.n_threads):
            if not cost.complete or not cost.table_entries <= limit:
                return math.inf
            largest = max(largest, cost.table_entries)
    return largest


_TOO_LARGE = "the tables of an exact answer are too large"


def _because(answer: Answer, reason: str) -> Answer:
    return answer[0], replace(answer[1], reason=reason)


@dataclass(frozen=True)
class _Check:
    """A short Gibbs run beside an answer."""

    n_rows: int
    n_mixed: int  # rows whose chains have met
    difference: float | None  # the largest, of rows whose chains have met
    contradicts: bool

    def in_words(self, n_rows: int) -> str:
        which = "it" if n_rows == 1 else f"{self.n_rows} of the {n_rows} rows"
        if self.difference is None:
            return f"but a short Gibbs run to check {which} did not mix"
        verb = "contradicts" if self.contradicts else "agrees with"
        text = f"{'but ' if self.contradicts else ''}a short Gibbs run {verb} {which}"
        if self.n_mixed < self.n_rows:
            text += f" ({self.n_mixed} of its {self.n_rows} runs mixed)"
        return f"{text}: probabilities differ by up to {self.difference:.2g}"


def _check(
    network: MarkovNetwork, evidence: Evidence, running: Running, answer: Floats, seed: int
) -> _Check:
    rows = np.unique(np.linspace(0, len(evidence) - 1, CHECKED_ROWS).round().astype(np.int64))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows of the check that a time limit leaves are not missed
        sampled, diagnostics = gibbs(
            network,
            _rows(evidence, rows),
            running,
            burn_in=CHECK_BURN_IN,
            n_samples=CHECK_SAMPLES,
            standard_errors=True,
            random_state=seed,
        )
    if diagnostics.status == "interrupted":
        raise KeyboardInterrupt
    mixed = diagnostics.per_row["is_done"] & (diagnostics.per_row["r_hat"] < MIXED)
    if not mixed.any():
        return _Check(len(rows), 0, None, contradicts=False)
    errors = diagnostics.standard_errors
    assert errors is not None
    differences = np.abs(answer[rows] - sampled)[mixed]
    return _Check(
        len(rows),
        int(mixed.sum()),
        float(differences.max()),
        contradicts=bool((differences > 4 * errors[mixed] + TOLERATED).any()),
    )


def _rows(evidence: Evidence, rows: npt.NDArray[np.int64]) -> Evidence:
    soft = evidence.log_likelihoods
    return Evidence(
        evidence.schema,
        np.ascontiguousarray(evidence.codes[rows]),
        None if soft is None else np.ascontiguousarray(soft[rows]),
        is_single=False,
    )
