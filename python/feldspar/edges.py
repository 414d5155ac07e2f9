"""How strongly two variables of a network act on each other.

Between variables ``i`` and ``j``, all others fixed at ``x``, the network has a table of
interactions: its log odds ratios ``log [P(a, b | x) P(a', b' | x) / (P(a, b' | x) P(a', b | x))]``
for values ``a != a'`` of ``i`` and ``b != b'`` of ``j``. Only features that test both count for it.

The *strength* of an edge is the root mean square of these log odds ratios, over all pairs of values
and over all states ``x`` of the other variables, each counting alike. In an Ising network it is the
absolute weight of the pair. It is 0 only where the two are independent given all the others, and
does not depend on how the same distribution is written in features.

Where both variables are binary, the *log odds ratio* of the edge (of second against first value) is
its mean over the states ``x``: its sign says whether the two tend to go together, and its size
equals the strength where the others have no say.

Both are exact. With ``c_f`` a feature's table over the values of the pair, centred by rows and
columns, and ``P(f, g)`` the share of states ``x`` in which the other tests of ``f`` and ``g`` hold,
the mean square is ``4 / ((|i| - 1)(|j| - 1)) sum over f, g of w_f w_g <c_f, c_g> P(f, g)``: cost is
quadratic in the number of different contexts that an edge has, and linear in all else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, overload

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from feldspar.features import FeatureSet
    from feldspar.network import MarkovNetwork

_SHOWN = 10
# Contexts whose overlaps with the others of an edge are computed at a time.
_BLOCK = 128
_NEVER = -1e6  # a logarithm that no sum of others makes up for

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Context: TypeAlias = tuple[int, ...]  # kinds of tests


class Edge(NamedTuple):
    """Two variables that share a feature.

    Attributes
    ----------
    first, second : str
    strength : float
        Root mean square log odds ratio.
    log_odds_ratio : float or None
        Its mean, with sign, where both variables are binary.
    n_features : int
        How many features of non-zero weight the two share.
    """

    first: str
    second: str
    strength: float
    log_odds_ratio: float | None
    n_features: int

    @property
    def sign(self) -> int:
        """1 if the two tend to go together, -1 if not, 0 if there is no such thing to say."""
        return 0 if self.log_odds_ratio is None else int(np.sign(self.log_odds_ratio))


@dataclass(frozen=True, eq=False, repr=False)
class EdgeStrengths(Sequence[Edge]):
    """The edges of a network, the strongest first; see :mod:`feldspar.edges` for the measure."""

    edges: tuple[Edge, ...]

    @overload
    def __getitem__(self, index: int) -> Edge: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Edge, ...]: ...
    def __getitem__(self, index: int | slice) -> Edge | tuple[Edge, ...]:
        """Return an edge by its rank."""
        return self.edges[index]

    def __len__(self) -> int:
        """Return the number of edges."""
        return len(self.edges)

    def __iter__(self) -> Iterator[Edge]:
        """Iterate over the edges, the strongest first."""
        return iter(self.edges)

    def to_frame(self) -> Any:
        """Return a pandas data frame, a line for each edge, with the columns of :class:`Edge`."""
        import pandas as pd

        frame = pd.DataFrame(list(self.edges), columns=list(Edge._fields))
        return frame.astype({"strength": float, "log_odds_ratio": float, "n_features": int})

    def __repr__(self) -> str:
        """Return the strongest edges, a line each."""
        count = "1 edge" if len(self) == 1 else f"{len(self)} edges"
        lines = [f"{count}; strength (RMS log odds ratio), mean log odds ratio:"]
        for edge in self.edges[:_SHOWN]:
            ratio = " " * 8 if edge.log_odds_ratio is None else f"{edge.log_odds_ratio:+8.3f}"
            lines.append(f"  {edge.strength:8.3f}  {ratio}  {edge.first} - {edge.second}")
        if len(self) > _SHOWN:
            lines.append(f"  and {len(self) - _SHOWN} more")
        return "\n".join(lines)


def edge_strengths(network: MarkovNetwork) -> EdgeStrengths:
    """Return the edges by strength. See :meth:`feldspar.MarkovNetwork.edge_strengths`."""
    names, sizes = network.schema.names, network.schema.cardinalities
    kinds = _TestKinds(network.features)
    found = []
    for shared in _shared_features(network):
        i, j = shared.variables
        tables = _weighted_tables(network, shared)
        contexts, tables = _merged(kinds.contexts(shared), tables)
        shares = np.array([kinds.share(context) for context in contexts])
        mean = shares @ tables
        square = _mean_square(contexts, tables, shares, kinds)
        strength = math.sqrt(4 * square / ((sizes[i] - 1) * (sizes[j] - 1)))
        # A centred table of two by two has but one number, a quarter of the ratio, with its sign.
        ratio = float(4 * mean[3]) if sizes[i] == sizes[j] == 2 else None
        found.append(Edge(names[i], names[j], strength, ratio, len(shared.features)))
    found.sort(key=lambda edge: -edge.strength)  # stable: then in the order of the schema
    return EdgeStrengths(tuple(found))


class _Shared(NamedTuple):
    """The features that two variables share, and the places of their tests of the two."""

    variables: tuple[int, int]
    features: Integers
    first: Integers
    second: Integers


def _shared_features(network: MarkovNetwork) -> Iterator[_Shared]:
    """Iterate over the edges in the order of the schema."""
    begin, variables, _, _ = network.features._arrays
    lengths = np.where(network.weights != 0, np.diff(begin), 0)
    parts = []
    for length in range(2, int(lengths.max(initial=0)) + 1):
        features = np.flatnonzero(lengths == length)
        for a in range(length):
            for b in range(a + 1, length):
                parts.append((features, begin[features] + a, begin[features] + b))
    if not parts:
        return
    features, first, second = (np.concatenate(column) for column in zip(*parts, strict=True))
    keys = variables[first].astype(np.int64) * len(network.schema) + variables[second]
    order = np.lexsort((features, keys))
    cuts = np.flatnonzero(np.diff(keys[order])) + 1
    for rows in np.split(order, cuts):
        i, j = divmod(int(keys[rows[0]]), len(network.schema))
        yield _Shared((i, j), features[rows], first[rows], second[rows])


def _weighted_tables(network: MarkovNetwork, shared: _Shared) -> Floats:
    """Return each feature's table over the values of the pair, centred, times its weight."""
    sizes = [network.schema.cardinalities[v] for v in shared.variables]
    rows = network.features._admits(shared.first, sizes[0]).astype(np.float64)
    columns = network.features._admits(shared.second, sizes[1]).astype(np.float64)
    rows -= rows.mean(axis=1, keepdims=True)
    columns -= columns.mean(axis=1, keepdims=True)
    rows *= network.weights[shared.features][:, np.newaxis]
    tables: Floats = (rows[:, :, np.newaxis] * columns[:, np.newaxis, :]).reshape(len(rows), -1)
    return tables


def _merged(contexts: list[Context], tables: Floats) -> tuple[list[Context], Floats]:
    """Add up the tables of equal contexts."""
    numbers: dict[Context, int] = {}
    which = [numbers.setdefault(context, len(numbers)) for context in contexts]
    if len(numbers) == len(contexts):
        return contexts, tables
    sums = np.zeros((len(numbers), tables.shape[1]))
    np.add.at(sums, which, tables)
    return list(numbers), sums


def _mean_square(
    contexts: list[Context], tables: Floats, shares: Floats, kinds: _TestKinds
) -> float:
    """Return the mean, over states of the other variables, of the sum of squares of the table."""
    own = sorted({kind for context in contexts for kind in context})
    if len(contexts) == 1 or not own:
        return float(shares @ (tables * tables).sum(axis=1))
    place = {kind: k for k, kind in enumerate(own)}
    tests = np.zeros((len(contexts), len(own)))
    for row, context in enumerate(contexts):
        tests[row, [place[kind] for kind in context]] = 1
    gains = tests @ kinds.log_gains(own)
    total = 0.0
    for first in range(0, len(contexts), _BLOCK):
        # Each pair of contexts once: what is right of the block counts for both sides.
        rows, columns = slice(first, first + _BLOCK), slice(first, None)
        both = np.exp(gains[rows] @ tests[columns].T) * shares[rows, np.newaxis] * shares[columns]
        both *= tables[rows] @ tables[columns].T
        total += 2 * float(both[:, _BLOCK:].sum()) + float(both[:, :_BLOCK].sum())
    return max(total, 0.0)  # rounding may take a sum of squares below


class _TestKinds:
    """The tests of a feature set, numbered so that equal tests have equal numbers."""

    def __init__(self, features: FeatureSet) -> None:
        begin, variables, value_begin, values = features._arrays
        numbers: dict[tuple[int, bytes], int] = {}
        self._begin = begin.tolist()
        self._sizes = features.schema.cardinalities
        self._tests: list[tuple[int, npt.NDArray[np.uint16]]] = []
        self._kinds: list[int] = []
        ends = value_begin.tolist()
        for t, variable in enumerate(variables.tolist()):
            admitted = values[ends[t] : ends[t + 1]]
            kind = numbers.setdefault((variable, admitted.tobytes()), len(numbers))
            if kind == len(self._tests):
                self._tests.append((variable, admitted))
            self._kinds.append(kind)
        self._shares = [len(admitted) / self._sizes[v] for v, admitted in self._tests]

    def contexts(self, shared: _Shared) -> list[Context]:
        """Return the kinds of the features' tests of variables other than the two."""
        columns = (shared.features, shared.first, shared.second)
        found = []
        for f, a, b in np.column_stack(columns).tolist():
            begin, end, kinds = self._begin[f], self._begin[f + 1], self._kinds
            found.append((*kinds[begin:a], *kinds[a + 1 : b], *kinds[b + 1 : end]))
        return found

    def share(self, context: Context) -> float:
        """Return the share of states in which a context holds."""
        return math.prod(self._shares[kind] for kind in context)

    def log_gains(self, kinds: list[int]) -> Floats:
        """Return, of each two tests, the log of how far the one makes the other more likely.

        0 for tests of different variables, `_NEVER` where both cannot hold.
        """
        gains: Floats = self._log_gains[kinds][:, kinds].toarray()
        return gains

    @cached_property
    def _log_gains(self) -> Any:
        """`log_gains` of all tests, as a sparse matrix: a block for each variable."""
        from scipy.sparse import csr_array

        of_variable: dict[int, list[int]] = {}
        for kind, (variable, _) in enumerate(self._tests):
            of_variable.setdefault(variable, []).append(kind)
        places, gains = [], []
        for variable, kinds in of_variable.items():
            admits = np.zeros((len(kinds), self._sizes[variable]))
            for row, kind in enumerate(kinds):
                admits[row, self._tests[kind][1]] = 1
            counts = admits.sum(axis=1)
            common = admits @ admits.T
            gain = common * self._sizes[variable] / np.outer(counts, counts)
            gains.append(np.where(common, np.log(np.where(common, gain, 1.0)), _NEVER).ravel())
            places.append(np.array(list(product(kinds, kinds))))
        where = tuple(np.concatenate(places).T)
        shape = (len(self._tests), len(self._tests))
        return csr_array((np.concatenate(gains), where), shape=shape)
