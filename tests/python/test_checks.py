"""The battery of `feldspar.checks` over every exported learner."""

from __future__ import annotations

import pytest
from sklearn.base import clone

import feldspar as fs
from feldspar import checks
from feldspar.learners._search import Search

LEARNERS = checks.all_learners()


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", LEARNERS)
def test_learner(name: str, check: checks.Check) -> None:
    check(clone(LEARNERS[name]))


def test_every_learner_is_there() -> None:
    assert {"DTSL", "L1Neighborhood", "DTL1", "DN2MN", "DependencyNetwork"} <= set(LEARNERS)
    assert all(name in fs.__all__ for name in LEARNERS)


class Forgetful(fs.L1Neighborhood):
    """Changes its own parameters and the seed's meaning: what the battery is there to find."""

    count = 0

    def _search(self, search: Search) -> None:
        type(self).count += 1
        self.prior_sd = 1.0 / type(self).count
        super()._search(search)


@pytest.mark.parametrize("check", [checks.check_copies, checks.check_same_seed_same_network])
def test_the_battery_can_fail(check: checks.Check) -> None:
    with pytest.raises(AssertionError):
        check(Forgetful(C=0.1, rule="or", n_jobs=1))
