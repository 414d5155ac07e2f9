"""Why a network expects a value: the features that speak for it and against it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from feldspar.evidence import Evidence
from feldspar.schema import Label, listing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from feldspar.network import MarkovNetwork

_SHOWN = 10
ALONE = "(alone)"


class Contribution(NamedTuple):
    """What one feature adds to the log-odds.

    Attributes
    ----------
    feature : int
        Its number in ``network.features``.
    description : str
        The feature in words.
    log_odds : float
        Above 0 it speaks for the value, below 0 against it.
    others : tuple of str
        The other variables that it tests; none if it tests the target alone.
    """

    feature: int
    description: str
    log_odds: float
    others: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why a variable has one value rather than another, given the rest of a row.

    ``log P(value | rest) - log P(against | rest)`` is the sum of the weights of the features that
    hold with the one value but not with the other (negative in the opposite case), and nothing
    else: `contributions` add up to `log_odds`.

    Attributes
    ----------
    target : str
    value, against : labels
        The value that is explained, and the one that it is compared with.
    probability : float
        ``P(value | rest)``.
    log_odds : float
        ``log(P(value | rest) / P(against | rest))``.
    contributions : tuple of Contribution
        Largest first, whatever their sign.
    """

    target: str
    value: Label
    against: Label
    probability: float
    log_odds: float
    contributions: tuple[Contribution, ...]

    def by_variable(self) -> dict[str, float]:
        """Return what each other variable adds to the log-odds, largest first.

        A feature of several other variables counts for all of them in equal parts; one of the
        target alone counts as ``"(alone)"``. The sum is `log_odds`.
        """
        parts: dict[str, list[float]] = {}
        for contribution in self.contributions:
            owners = contribution.others or (ALONE,)
            for owner in owners:
                parts.setdefault(owner, []).append(contribution.log_odds / len(owners))
        sums = {name: math.fsum(values) for name, values in parts.items()}
        return dict(sorted(sums.items(), key=lambda item: -abs(item[1])))

    def to_frame(self) -> Any:
        """Return a pandas data frame, a line for each feature: ``description``, ``log_odds``."""
        import pandas as pd

        columns = ["feature", "description", "log_odds"]
        return pd.DataFrame([c[:3] for c in self.contributions], columns=columns)

    def plot(self, *, top: int = _SHOWN, ax: Axes | None = None) -> Axes:
        """Draw the largest contributions as bars, to the right for the value, to the left against.

        Needs matplotlib (the extra ``plot``).
        """
        from feldspar.plotting import draw_contributions

        shown = self.contributions[:top]
        rest = self.contributions[top:]
        bars = [(c.description, c.log_odds) for c in shown]
        if rest:
            bars.append((f"{len(rest)} more", math.fsum(c.log_odds for c in rest)))
        return draw_contributions(bars, title=self._headline(), ax=ax)

    def _headline(self) -> str:
        return (
            f"{self.target}: {self.value} rather than {self.against}, log-odds "
            f"{self.log_odds:+.3f} (P({self.value} | rest) = {self.probability:.3f})"
        )

    def __repr__(self) -> str:
        """Return the largest contributions, a line each."""
        lines = [self._headline()]
        lines += [f"  {c.log_odds:+8.3f}  {c.description}" for c in self.contributions[:_SHOWN]]
        rest = self.contributions[_SHOWN:]
        if rest:
            together = math.fsum(c.log_odds for c in rest)
            lines.append(f"  {together:+8.3f}  by {len(rest)} more together")
        return "\n".join(lines)


def explain(
    network: MarkovNetwork,
    row: object,
    target: str | int,
    value: Label = None,
    *,
    against: Label = None,
) -> Explanation:
    """Return which features push a variable which way.

    See :meth:`feldspar.MarkovNetwork.explain`.
    """
    schema = network.schema
    v = schema.index(target)
    codes = _known_codes(network, row, v)
    features, tests = _active_features(network, codes, v)
    admits = network.features._admits(tests, schema.cardinalities[v])
    weights = network.weights[features]
    scores = np.array([math.fsum(weights[admits[:, a]]) for a in range(schema.cardinalities[v])])
    chances = np.exp(scores - scores.max())
    chances /= chances.sum()
    for_, other = _values(network, v, value, against, chances)
    pushes = weights * (admits[:, for_].astype(int) - admits[:, other].astype(int))
    order = sorted(np.flatnonzero(pushes).tolist(), key=lambda i: -abs(pushes[i]))
    found = tuple(
        Contribution(
            feature=int(features[i]),
            description=network.features.describe(int(features[i])),
            log_odds=float(pushes[i]),
            others=tuple(
                schema.names[u] for u in network.features.variables(int(features[i])) if u != v
            ),
        )
        for i in order
    )
    return Explanation(
        target=schema.names[v],
        value=schema.label(v, for_),
        against=schema.label(v, other),
        probability=float(chances[for_]),
        log_odds=math.fsum(c.log_odds for c in found),
        contributions=found,
    )


def _known_codes(network: MarkovNetwork, row: object, target: int) -> npt.NDArray[np.int32]:
    """Return the row's codes; all that the target depends on must be known."""
    schema = network.schema
    evidence = Evidence.of(schema, row)
    if len(evidence) != 1:
        raise ValueError(f"row: expected one row, got {len(evidence)}")
    if evidence.log_likelihoods is not None:
        raise ValueError("row: expected values that are known, got soft evidence")
    codes: npt.NDArray[np.int32] = evidence.codes[0]
    blanket = network.markov_blanket(target)
    unknown = [name for name in blanket if codes[schema.index(name)] < 0]
    if unknown:
        raise ValueError(
            f"row: {listing(unknown)} {'is' if len(unknown) == 1 else 'are'} not known and "
            f"{'shares' if len(unknown) == 1 else 'share'} features with {schema.names[target]!r}; "
            "expected a value for each (network.impute fills them in)"
        )
    return codes


def _active_features(
    network: MarkovNetwork, codes: npt.NDArray[np.int32], target: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the features of the target whose other tests hold, and their tests of the target."""
    begin, variables, _, _ = network.features._arrays
    owner = np.repeat(np.arange(len(network.features)), np.diff(begin))
    tests = np.flatnonzero(variables == target)
    tests = tests[network.weights[owner[tests]] != 0]
    mine = np.zeros(len(network.features), dtype=bool)
    mine[owner[tests]] = True
    others = np.flatnonzero(mine[owner] & (variables != target))
    fails = others[~network.features._holds(others, codes)]
    mine[owner[fails]] = False
    tests = tests[mine[owner[tests]]]
    return owner[tests], tests


def _values(
    network: MarkovNetwork,
    target: int,
    value: Label,
    against: Label,
    chances: npt.NDArray[np.float64],
) -> tuple[int, int]:
    """Return the codes to compare: what was asked for, else the most probable ones."""
    schema = network.schema
    if len(chances) < 2:
        raise ValueError(f"target: {schema.names[target]!r} has a single value: nothing to explain")
    other = None if against is None else schema.code(target, against)
    ranked = [code for code in np.argsort(-chances, kind="stable").tolist() if code != other]
    for_ = ranked[0] if value is None else schema.code(target, value)
    if other is None:
        other = next(code for code in ranked if code != for_)
    if for_ == other:
        raise ValueError(f"against: expected another value than {schema.label(target, for_)!r}")
    return for_, other
