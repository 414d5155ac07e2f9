"""Questions to a network: probabilities of what is not known, given what is.

``answers`` says what comes back, ``methods`` and ``automatic`` how it is found, ``states`` and
``partition`` answer the questions that are not about single variables.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from feldspar.evidence import Evidence
from feldspar.inference.answers import Diagnostics, Marginals
from feldspar.inference.automatic import auto
from feldspar.inference.methods import Answer, bp, exact, gibbs, mcsat, meanfield
from feldspar.inference.partition import LogPartition, log_partition
from feldspar.inference.running import Running
from feldspar.inference.states import MostProbableStates, most_probable, sample

if TYPE_CHECKING:
    from feldspar.network import MarkovNetwork

__all__ = [
    "Diagnostics",
    "LogPartition",
    "Marginals",
    "Method",
    "MostProbableStates",
    "log_partition",
    "marginals",
    "most_probable",
    "sample",
]

Method: TypeAlias = Literal["auto", "exact", "bp", "meanfield", "gibbs", "mcsat"]

_METHODS: dict[str, Callable[..., Answer]] = {
    "auto": auto,
    "exact": exact,
    "bp": bp,
    "meanfield": meanfield,
    "gibbs": gibbs,
    "mcsat": mcsat,
}


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
    answer = _method(method, options)
    running = Running.of(time_limit=time_limit, n_jobs=n_jobs, verbose=verbose)
    probabilities, diagnostics = answer(network, known, running, **options)
    return Marginals(network.schema, probabilities, diagnostics, known.is_single)


def _method(name: str, options: Mapping[str, Any]) -> Callable[..., Answer]:
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
