"""The battery of `feldspar.checks` over every exported learner."""

from __future__ import annotations

from typing import Any, ClassVar

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


class Patient(fs.L1Neighborhood):
    """Names settings of its own to be checked with."""

    _quick: ClassVar[dict[str, Any]] = {"max_iterations": 7, "C": (0.3, 0.1)}


def test_quick_settings() -> None:
    two = checks.quick(Patient())
    assert (two.max_iterations, two.C, two.rule) == (7, [0.1, 0.3], ["and", "or"])
    assert checks.quick(Patient(), 1).C == 0.1
    assert checks.quick(fs.L1Neighborhood(C=5.0)).C == 5.0
