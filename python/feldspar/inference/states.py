"""States of all variables: the most probable ones, and samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from feldspar import _core
from feldspar._caution import warn_user
from feldspar._jobs import resolve_jobs
from feldspar._random import RandomState, core_seed
from feldspar.evidence import Evidence
from feldspar.features import core_int
from feldspar.inference.answers import Floats
from feldspar.inference.methods import table_limit
from feldspar.inference.running import Running, ask
from feldspar.schema import listing
from feldspar.table import Table

if TYPE_CHECKING:
    from feldspar.network import MarkovNetwork


@dataclass(frozen=True, eq=False, repr=False)
class MostProbableStates:
    """The most probable completions of rows of evidence.

    Attributes
    ----------
    states : Table
        Complete rows.
    log_potentials : array of float64
        Sums of the weights of the features that hold on each, soft evidence left out.
    methods : list of str
        How each was found: ``"exact"``, ``"max-product"`` or ``"icm"``.
    proven : list of bool
        Whether it is proven that no state is more probable.
    is_done : array of bool
        Whether a row was come to before the time limit; the others have missing values.
    is_single : bool
    """

    states: Table
    log_potentials: Floats
    methods: list[str]
    proven: list[bool]
    is_done: npt.NDArray[np.bool_]
    is_single: bool

    @property
    def state(self) -> dict[str, Any]:
        """The state of a single row of evidence: labels by name."""
        if not self.is_single:
            raise ValueError(f"there are {len(self.states)} states; expected one: use states")
        if not self.is_done[0]:
            raise ValueError("the time limit was over before a state was found")
        schema, codes = self.states.schema, self.states.to_numpy()[0].tolist()
        return {name: schema.label(v, codes[v]) for v, name in enumerate(schema.names)}

    def __repr__(self) -> str:
        """Return the state, or how many there are, and how sure it is."""
        if not self.is_single:
            sure = f"{sum(self.proven)} proven to be the most probable"
            return f"MostProbableStates({len(self.states)} rows, {sure})"
        if not self.is_done[0]:
            return "MostProbableStates(none found within the time limit)"
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
    max_table_entries: float | None = None,
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
    if max_table_entries is not None:
        options.max_table_entries = table_limit(max_table_entries)
    options.n_starts = core_int("n_starts", n_starts)
    options.seed = core_seed(random_state)
    running = Running.of(time_limit=time_limit, n_jobs=n_jobs, verbose=verbose)
    options.max_seconds = running.max_seconds
    found = ask(_core.most_probable, network, known, options, running, "most probable")
    is_done = np.array([status != "not_done" for status in found.statuses])
    if not is_done.all():
        warn_user(
            f"the time limit is over: {int((~is_done).sum())} of {len(is_done)} rows are not done; "
            "see is_done",
        )
    states = Table._of_parts(found.states, network.schema, None)
    log_potentials = found.log_potentials
    if known.log_likelihoods is not None and is_done.all():  # the core counts soft evidence in
        log_potentials = network.log_potential(states)
    return MostProbableStates(
        states,
        log_potentials,
        [_STATE_NAMES[name] for name in found.methods],
        list(found.proven),
        is_done,
        known.is_single,
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
