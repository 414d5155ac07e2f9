"""Optima and sizes on the benchmark data, against values computed once with SciPy.

The models hold the positive conjunctions of every set of variables up to an order; SciPy was run to
full convergence. Needs the benchmark data, see the `benchmark` fixture.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

import feldspar as fs
from feldspar.datasets import DataSplit


class Reference(NamedTuple):
    """Mean per example: the training data's regularised objective and the test data's PLL."""

    name: str
    order: int
    prior_sd: float | None
    objective: float
    test_pll: float


REFERENCES = [
    Reference("nltcs", 2, None, -4.948242, -4.950559),
    Reference("nltcs", 3, 1.0, -4.835651, -4.935422),
    Reference("msnbc", 2, None, -6.061959, -6.059406),
    Reference("msnbc", 3, 1.0, -5.283758, -5.296325),
]


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda r: f"{r.name}, order {r.order}")
def test_reference_optimum(benchmark: Callable[[str], DataSplit], reference: Reference) -> None:
    data = benchmark(reference.name)
    features = fs.FeatureSet.conjunctions(data.train, order=reference.order)
    network = fs.learn_weights(features, data.train, prior_sd=reference.prior_sd)
    assert network.training_ is not None
    assert network.training_.status == "converged"
    assert network.training_.objective == pytest.approx(reference.objective, abs=1e-5)
    assert network.score(data.test) == pytest.approx(reference.test_pll, abs=5e-5)
    if reference.prior_sd is None:
        assert network.score(data.train) == pytest.approx(reference.objective, abs=1e-5)


@pytest.mark.parametrize(
    ("name", "rows", "n_variables"),
    [("msnbc", (291_326, 38_843, 58_265), 17), ("c20ng", (11_293, 3_764, 3_764), 910)],
)
def test_large_sets_are_read_whole(
    benchmark: Callable[[str], DataSplit], name: str, rows: tuple[int, int, int], n_variables: int
) -> None:
    data = benchmark(name)
    assert tuple(map(len, (data.train, data.valid, data.test))) == rows
    assert data.schema.cardinalities == (2,) * n_variables


@pytest.mark.parametrize(("name", "n_distinct"), [("nltcs", 2671)])
def test_identical_rows_merge(
    benchmark: Callable[[str], DataSplit], name: str, n_distinct: int
) -> None:
    train = benchmark(name).train
    distinct = train.distinct()
    assert len(distinct) == n_distinct
    assert distinct.weights.sum() == len(train)
