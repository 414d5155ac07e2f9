"""The edges of a network that matter most."""

from __future__ import annotations

import numpy as np

from feldspar.network import MarkovNetwork


def strongest_edges(network: MarkovNetwork, n: int) -> list[tuple[int, int, float, int]]:
    """Return pairs of variables, the strength of what joins them and its sign, strongest first.

    For two-valued variables the strength is their log odds ratio, averaged over all states of
    the other variables; the sign is positive where they tend to be alike, and 0 where a variable
    has more values.

    Examples
    --------
    >>> import feldspar as fs
    >>> terms = [([(0, 1), (1, 1)], 2.0), ([(0, 1), (2, 1)], -3.0)]
    >>> strongest_edges(fs.MarkovNetwork.from_terms(fs.Schema([2, 2, 2]), terms), 5)
    [(0, 2, 3.0, -1), (0, 1, 2.0, 1)]
    """
    from scipy.sparse import csr_array

    begin, variables, value_begin, values = network.features._core.flatten()
    owner = np.repeat(np.arange(len(network.features)), np.diff(begin))
    cards = np.asarray(network.schema.cardinalities)
    chance = np.diff(value_begin) / cards[variables]
    sign = np.where(np.asarray(values)[value_begin[:-1]] == 0, -1.0, 1.0)
    # A feature holds on a share of the states, that of its tests' chances; a pair of its tests is
    # looked at with the others averaged out.
    share = np.ones(len(network.features))
    np.multiply.at(share, owner, chance)
    shape = (len(network.features), len(network.schema))
    tests = csr_array((sign / chance, variables, begin), shape=shape)
    weighted = tests.multiply((network.weights * share)[:, None]).tocsr()
    strengths = np.triu((tests.T @ weighted).toarray(), k=1)
    first, second = np.nonzero(strengths)
    order = np.argsort(-np.abs(strengths[first, second]), kind="stable")[:n]
    found: list[tuple[int, int, float, int]] = []
    for a, b in zip(first[order].tolist(), second[order].tolist(), strict=True):
        strength = float(strengths[a, b])
        direction = int(np.sign(strength)) if cards[a] == cards[b] == 2 else 0
        found.append((a, b, abs(strength), direction))
    return found
