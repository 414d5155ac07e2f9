"""Answers: probabilities, and how they were found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from feldspar.schema import Label, Schema

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# As many variables, and values of each, are shown.
_SHOWN = 10

Floats: TypeAlias = npt.NDArray[np.float64]
Status: TypeAlias = Literal["finished", "time_limit", "interrupted"]


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
        What the method tells of each row: ``r_hat`` (infinite for fewer than four samples a chain)
        and ``effective_size`` of samplers, ``iterations`` and ``residual`` of message passing,
        ``log_partition`` where it is known.
    standard_errors : array or None
        Of samplers: the standard error of every probability, laid out like the probabilities.
    status : {"finished", "time_limit", "interrupted"}
        Whether all rows were done; those that were not are told in ``per_row``.
    expected_error : float or None
        How far the probabilities may be off: 0 if they are exact, the largest standard error where
        a sampler was asked for them, and with ``method="auto"`` the largest difference from the
        sampler that belief propagation was held against. ``None`` if nothing is known of it.
    reason : str
        Why the method was chosen, if it was chosen.
    """

    method: str
    converged: bool | None
    seconds: float
    per_row: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    standard_errors: Floats | None = None
    status: Status = "finished"
    expected_error: float | None = None
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

        Needs matplotlib (the extra ``plot``).

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
