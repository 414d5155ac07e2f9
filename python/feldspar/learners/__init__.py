"""Learners of Markov networks: scikit-learn estimators."""

from feldspar.learners.busl import BUSL
from feldspar.learners.dependency_network import DependencyNetwork
from feldspar.learners.dn2mn import DN2MN
from feldspar.learners.dtl1 import DTL1
from feldspar.learners.dtsl import DTSL
from feldspar.learners.gssl import GSSL
from feldspar.learners.independent import Independent
from feldspar.learners.l1_neighborhood import L1Neighborhood
from feldspar.learners.stability import EdgeStability, stability_selection

__all__ = [
    "BUSL",
    "DN2MN",
    "DTL1",
    "DTSL",
    "GSSL",
    "DependencyNetwork",
    "EdgeStability",
    "Independent",
    "L1Neighborhood",
    "stability_selection",
]
