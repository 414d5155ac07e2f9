"""Questions to a network: probabilities of what is not known, given what is."""

from __future__ import annotations

import inspect
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from feldspar import _core
from feldspar._jobs import resolve_jobs
from feldspar._progress import progress_bar
from feldspar._random import RandomState, core_seed
from feldspar.evidence import Evidence
from feldspar.features import core_float, core_int
from feldspar.schema import Label, Schema, listing
from feldspar.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from feldspar.network import MarkovNetwork

_SHOWN = 10

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


@dataclass(frozen=True, eq=False, repr=False)
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

    def probability(self, variable: str | int, value: Label) -> Any:
        """Return the probability of a variable's value, given by its label: a number.

        With many rows of evidence, an array with a number for each.
        """
        found = self[variable][..., self.schema.code(variable, value)]
        return float(found) if self.is_single else found

    def __repr__(self) -> str:
        """Return the first distributions in words, or how many rows there are."""
        how = f"by {self.diagnostics.method}"
        if not self.is_single:
            return f"Marginals({len(self.probabilities)} rows x {len(self)} variables, {how})"
        lines = [f"Marginals of {len(self)} variables, {how}:"]
        for name, labels in list(zip(self.schema.names, self.schema.labels, strict=True))[:_SHOWN]:
            shown = zip(labels[:_SHOWN], self[name][:_SHOWN].tolist(), strict=True)
            values = ", ".join(f"{label} {probability:.3f}" for label, probability in shown)
            lines.append(f"  {name}: {values}{', ...' if len(labels) > _SHOWN else ''}")
        if len(self) > _SHOWN:
            lines.append(f"  and {len(self) - _SHOWN} more")
        return "\n".join(lines)

    def plot(
        self,
        variables: Sequence[str | int] | None = None,
        *,
        row: int = 0,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw distributions as bars: of some variables, or of the first dozen.

        Needs matplotlib (``pip install feldspar[plot]``).

        Parameters
        ----------
        variables : sequence of str or int, optional
            Those to draw, by name or index.
        row : int
            Of many rows of evidence, the one to draw.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if left out.
        """
        from feldspar.plotting import draw_distributions

        if not 0 <= row < len(self.probabilities):
            raise ValueError(f"row: expected 0 ... {len(self.probabilities) - 1}, got {row}")
        chosen = range(len(self.schema)) if variables is None else map(self.schema.index, variables)
        distributions = {
            self.schema.names[v]: (
                self.schema.labels[v],
                self[v] if self.is_single else self[v][row],
            )
            for v in chosen
        }
        return draw_distributions(distributions, ax=ax)

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
_Found = TypeVar("_Found")


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
    return _sampled(
        "gibbs", _ask(_core.gibbs_marginals, network, evidence, options, running, "gibbs")
    )


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
    return _sampled(
        "mcsat", _ask(_core.mcsat_marginals, network, evidence, options, running, "mcsat")
    )


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


def _exact(
    network: MarkovNetwork,
    evidence: Evidence,
    running: _Running,
    *,
    max_table_entries: float = 1e8,
) -> _Answer:
    options = _core.JunctionTreeOptions()
    options.max_table_entries = core_float("max_table_entries", max_table_entries)
    options.max_seconds = running.max_seconds
    started = time.perf_counter()
    found = _ask(_core.junction_tree_marginals, network, evidence, options, running, "exact")
    return _found("exact", found, time.perf_counter() - started)


def _bp(
    network: MarkovNetwork,
    evidence: Evidence,
    running: _Running,
    *,
    schedule: Literal["synchronous", "residual"] = "synchronous",
    damping: float | None = None,
    max_iterations: int | None = None,
    tolerance: float | None = None,
) -> _Answer:
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
    options.max_seconds = running.max_seconds
    started = time.perf_counter()
    found = _ask(_core.belief_propagation_marginals, network, evidence, options, running, "bp")
    return _found("bp", found, time.perf_counter() - started)


def _meanfield(
    network: MarkovNetwork,
    evidence: Evidence,
    running: _Running,
    *,
    max_iterations: int | None = None,
    tolerance: float | None = None,
    n_starts: int = 1,
    random_state: RandomState = 0,
) -> _Answer:
    options = _core.MeanFieldOptions()
    if max_iterations is not None:
        options.max_iterations = core_int("max_iterations", max_iterations)
    if tolerance is not None:
        options.tolerance = core_float("tolerance", tolerance)
    options.n_starts = core_int("n_starts", n_starts)
    options.seed = core_seed(random_state)
    options.max_seconds = running.max_seconds
    started = time.perf_counter()
    found = _ask(_core.mean_field_marginals, network, evidence, options, running, "mean field")
    return _found("meanfield", found, time.perf_counter() - started)


def _auto(
    network: MarkovNetwork,
    evidence: Evidence,
    running: _Running,
    *,
    max_table_entries: float = 1e6,
    random_state: RandomState = None,
) -> _Answer:
    """Exact where the tables are small, else BP if it converges, else Gibbs."""
    limit = core_float("max_table_entries", max_table_entries)
    patterns = np.unique(np.where(evidence.codes < 0, -1, 0).astype(np.int32), axis=0)
    costs = _core.elimination_costs(network._core, patterns, limit, running.n_threads)
    largest = max(cost.table_entries for cost in costs)
    if all(cost.complete for cost in costs) and largest <= limit:
        answer = _exact(network, evidence, running, max_table_entries=limit)
        return _with_reason(answer, f"the tables have {largest:.3g} entries at most")
    answer = _bp(network, evidence, running)
    if answer[1].converged:
        return _with_reason(
            answer, "the tables of an exact answer are too large; belief propagation converged"
        )
    answer = _gibbs(network, evidence, running, random_state=random_state, standard_errors=True)
    return _with_reason(
        answer,
        "the tables of an exact answer are too large, and belief propagation did not converge",
    )


def _with_reason(answer: _Answer, reason: str) -> _Answer:
    return answer[0], replace(answer[1], reason=reason)


def _ask(
    function: Callable[..., _Found],
    network: MarkovNetwork,
    evidence: Evidence,
    options: object,
    running: _Running,
    title: str,
) -> _Found:
    """Call the core: all its methods are asked alike."""
    with progress_bar(title, shown=running.verbose) as progress:
        return function(
            network._core,
            evidence.codes,
            evidence.log_likelihoods,
            options,
            running.n_threads,
            progress,
        )


def _found(method: str, found: _core.Marginals, seconds: float) -> _Answer:
    statuses = np.array(found.statuses)
    left = int(np.isin(statuses, ["not_done", "time_limit"]).sum())
    if left:
        warnings.warn(
            f"the time limit is over: {left} of {len(statuses)} rows are not finished; see "
            "diagnostics.per_row['status']",
            stacklevel=5,
        )
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
    )


@dataclass(frozen=True, eq=False, repr=False)
class MostProbableStates:
    """The most probable completions of rows of evidence.

    Attributes
    ----------
    states : Table
        Complete rows.
    log_potentials : array of float64
        Sums of the weights of the features that hold on each.
    methods : list of str
        How each was found: ``"exact"``, ``"max-product"`` or ``"icm"``.
    proven : list of bool
        Whether it is proven that no state is more probable.
    is_single : bool
    """

    states: Table
    log_potentials: Floats
    methods: list[str]
    proven: list[bool]
    is_single: bool

    @property
    def state(self) -> dict[str, Any]:
        """The state of a single row of evidence: labels by name."""
        if not self.is_single:
            raise ValueError(f"there are {len(self.states)} states; expected one: use states")
        schema, codes = self.states.schema, self.states.to_numpy()[0].tolist()
        return {name: schema.label(v, codes[v]) for v, name in enumerate(schema.names)}

    def __repr__(self) -> str:
        """Return the state, or how many there are, and how sure it is."""
        if not self.is_single:
            sure = f"{sum(self.proven)} proven to be the most probable"
            return f"MostProbableStates({len(self.states)} rows, {sure})"
        shown = [f"{name}={label}" for name, label in self.state.items()]
        sure = "proven" if self.proven[0] else "not proven"
        return f"MostProbableStates({listing(shown)}; by {self.methods[0]}, {sure})"


_STATE_METHODS: dict[str, _core.MostProbableMethod] = {
    "auto": "automatic",
    "exact": "junction_tree",
    "max-product": "max_product",
    "icm": "icm",
}
_STATE_NAMES = {core: name for name, core in _STATE_METHODS.items()}


def most_probable(
    network: MarkovNetwork,
    evidence: object = None,
    method: str = "auto",
    *,
    n_starts: int = 10,
    random_state: RandomState = 0,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> MostProbableStates:
    """Return the most probable states. See :meth:`feldspar.MarkovNetwork.most_probable`."""
    known = Evidence.of(network.schema, evidence)
    if method not in _STATE_METHODS:
        expected = ", ".join(map(repr, _STATE_METHODS))
        raise ValueError(f"method: expected one of {expected}, got {method!r}")
    options = _core.MostProbableOptions()
    options.method = _STATE_METHODS[method]
    options.n_starts = core_int("n_starts", n_starts)
    options.seed = core_seed(random_state)
    if time_limit is not None:
        options.max_seconds = core_float("time_limit", time_limit)
    with progress_bar("most probable", shown=verbose) as progress:
        found = _core.most_probable(
            network._core,
            known.codes,
            known.log_likelihoods,
            options,
            resolve_jobs(n_jobs),
            progress,
        )
    return MostProbableStates(
        Table._of_parts(found.states, network.schema, None),
        found.log_potentials,
        [_STATE_NAMES[name] for name in found.methods],
        list(found.proven),
        known.is_single,
    )


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
    threads = resolve_jobs(n_jobs)
    seconds = math.inf if time_limit is None else core_float("time_limit", time_limit)
    entries = core_float("max_table_entries", max_table_entries)
    if method == "auto":
        cost = _core.elimination_costs(network._core, nothing.codes, entries, threads)[0]
        method = "exact" if cost.complete and cost.table_entries <= entries else "ais"
    if method == "exact":
        running = _Running(threads, False, seconds)
        _, diagnostics = _exact(network, nothing, running, max_table_entries=entries)
        return LogPartition(float(diagnostics.per_row["log_partition"][0]), "exact", 0.0, None)
    options = _core.AnnealingOptions()
    options.n_chains = core_int("n_chains", n_chains)
    options.n_temperatures = core_int("n_temperatures", n_temperatures)
    options.reverse = True
    options.seed = core_seed(random_state)
    options.max_seconds = seconds
    found = _core.annealed_log_partition(network._core, nothing.codes, None, options, threads)
    return LogPartition(
        found.forward.log_partition,
        "ais",
        found.forward.standard_error,
        found.reverse.log_partition,
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
    "auto": _auto,
    "exact": _exact,
    "bp": _bp,
    "meanfield": _meanfield,
    "gibbs": _gibbs,
    "mcsat": _mcsat,
}
