"""Questions to a network: probabilities of what is not known, given what is."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from feldspar import _core
from feldspar._jobs import resolve_jobs
from feldspar._progress import progress_bar
from feldspar._random import RandomState, core_seed
from feldspar.evidence import Evidence
from feldspar.features import core_float, core_int
from feldspar.schema import Schema
from feldspar.table import Table

if TYPE_CHECKING:
    from feldspar.network import MarkovNetwork

Floats: TypeAlias = npt.NDArray[np.float64]
Method: TypeAlias = Literal["auto", "exact", "bp", "meanfield", "gibbs", "mcsat"]


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """How an answer was found, and how sure it is.

    Attributes
    ----------
    method : str
        What was used; with ``method="auto"``, what was chosen.
    converged : bool or None
        Whether all rows converged; ``None`` for methods that have no such thing.
    seconds : float
    per_row : dict of arrays
        What the method tells of each row: ``r_hat`` and ``effective_size`` of samplers,
        ``iterations`` and ``residual`` of message passing, ``log_partition`` where it is known.
    standard_errors : array or None
        Of samplers: the standard error of every probability, laid out like the probabilities.
    reason : str
        Why the method was chosen, if it was chosen.
    """

    method: str
    converged: bool | None
    seconds: float
    per_row: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    standard_errors: Floats | None = None
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Marginals(Mapping[str, Floats]):
    """The distribution of every variable given the evidence, by name or index.

    ``marginals["cancer"]`` is an array of probabilities, one for each value; with many rows of
    evidence, an array of rows x values. Variables that are known have probability 1 at their value.

    Attributes
    ----------
    schema : Schema
    probabilities : array of float64 of shape (n_rows, n_values)
        All variables side by side.
    diagnostics : Diagnostics
    """

    schema: Schema
    probabilities: Floats
    diagnostics: Diagnostics
    is_single: bool

    def __getitem__(self, variable: str | int) -> Floats:
        """Return the probabilities of one variable's values."""
        try:
            v = self.schema.index(variable)
        except ValueError as error:  # what mappings promise, and `in` and `get` rely on
            raise KeyError(str(error)) from None
        first = sum(self.schema.cardinalities[:v])
        own = self.probabilities[:, first : first + self.schema.cardinalities[v]]
        return own[0] if self.is_single else own

    def __iter__(self) -> Iterator[str]:
        """Iterate over the variables' names."""
        return iter(self.schema.names)

    def __len__(self) -> int:
        """Return the number of variables."""
        return len(self.schema)

    def to_frame(self) -> Any:
        """Return a pandas data frame, a line for each value: variable, value, probability.

        With many rows of evidence a first column, ``row``, tells them apart.
        """
        import pandas as pd

        names = np.repeat(np.array(self.schema.names, dtype=object), self.schema.cardinalities)
        labels = [label for labels in self.schema.labels for label in labels]
        n_rows = len(self.probabilities)
        columns: dict[str, Any] = {
            "row": np.repeat(np.arange(n_rows), len(names)),
            "variable": np.tile(names, n_rows),
            "value": labels * n_rows,
            "probability": self.probabilities.ravel(),
        }
        if self.is_single:
            del columns["row"]
        return pd.DataFrame(columns)


@dataclass(frozen=True)
class _Running:
    """How a method shall run."""

    n_threads: int
    verbose: bool
    max_seconds: float


_Answer: TypeAlias = tuple[Floats, Diagnostics]


def marginals(
    network: MarkovNetwork,
    evidence: object = None,
    method: Method = "auto",
    *,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    **options: Any,
) -> Marginals:
    """Return the distribution of every variable given evidence.

    See :meth:`feldspar.MarkovNetwork.marginals`.
    """
    known = Evidence.of(network.schema, evidence)
    if time_limit is not None and not core_float("time_limit", time_limit) > 0:
        raise ValueError(f"time_limit must be positive, got {time_limit}")
    answer = _method(method, options)
    running = _Running(
        resolve_jobs(n_jobs), verbose, math.inf if time_limit is None else float(time_limit)
    )
    probabilities, diagnostics = answer(network, known, running, **options)
    return Marginals(network.schema, probabilities, diagnostics, known.is_single)


def _method(name: str, options: Mapping[str, Any]) -> Callable[..., _Answer]:
    """Return the function of a method; refuse options that it does not have."""
    if name not in _METHODS:
        known = ", ".join(map(repr, _METHODS))
        raise ValueError(f"method: expected one of {known}, got {name!r}")
    answer = _METHODS[name]
    parameters = inspect.signature(answer).parameters.values()
    own = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    for option in options:
        if option not in own:
            raise TypeError(
                f"method={name!r} has no option {option!r}; expected {', '.join(own) or 'none'}"
            )
    return answer


def _chain_options(
    running: _Running,
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
    chains.max_seconds = running.max_seconds
    return chains


def _gibbs(
    network: MarkovNetwork,
    evidence: Evidence,
    running: _Running,
    *,
    n_chains: int = 10,
    burn_in: int = 100,
    n_samples: int = 1000,
    thinning: int = 1,
    rao_blackwell: bool = True,
    standard_errors: bool = False,
    random_state: RandomState = None,
) -> _Answer:
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
    with progress_bar("gibbs", shown=running.verbose) as progress:
        sampled = _core.gibbs_marginals(
            network._core,
            evidence.codes,
            evidence.log_likelihoods,
            options,
            running.n_threads,
            progress,
        )
    return _sampled("gibbs", sampled)


def _mcsat(
    network: MarkovNetwork,
    evidence: Evidence,
    running: _Running,
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
) -> _Answer:
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
    with progress_bar("mcsat", shown=running.verbose) as progress:
        sampled = _core.mcsat_marginals(
            network._core,
            evidence.codes,
            evidence.log_likelihoods,
            options,
            running.n_threads,
            progress,
        )
    return _sampled("mcsat", sampled)


def _sampled(method: str, sampled: _core.SampledMarginals) -> _Answer:
    done = sampled.is_done.astype(bool)
    if sampled.status != "finished":
        why = "the time limit is over" if sampled.status == "time_limit" else "interrupted"
        warnings.warn(
            f"{why}: {int((~done).sum())} of {len(done)} rows are not finished; see "
            "diagnostics.per_row['is_done']",
            stacklevel=5,
        )
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
        standard_errors=sampled.standard_errors,
    )


def sample(
    network: MarkovNetwork,
    n: int,
    evidence: object = None,
    *,
    random_state: RandomState = None,
    burn_in: int = 100,
    thinning: int = 1,
    n_chains: int = 10,
    n_jobs: int | None = None,
) -> Table:
    """Draw samples by Gibbs sampling. See :meth:`feldspar.MarkovNetwork.sample`."""
    known = Evidence.of(network.schema, evidence)
    if len(known) != 1:
        raise ValueError(f"evidence: expected one row, got {len(known)}")
    count = core_int("n", n)
    if count < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    options = _core.SampleOptions()
    options.n_chains = core_int("n_chains", n_chains)
    options.burn_in = core_int("burn_in", burn_in)
    options.thinning = core_int("thinning", thinning)
    options.seed = core_seed(random_state)
    codes = _core.sample(
        network._core, known.codes, known.log_likelihoods, count, options, resolve_jobs(n_jobs)
    )
    return Table._of_parts(codes, network.schema, None)


_METHODS: dict[str, Callable[..., _Answer]] = {
    "gibbs": _gibbs,
    "mcsat": _mcsat,
}
