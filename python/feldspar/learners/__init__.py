"""Learners of Markov networks: scikit-learn estimators."""

from feldspar.learners.blm import BLM
from feldspar.learners.busl import BUSL
from feldspar.learners.dependency_network import DependencyNetwork
from feldspar.learners.dn2mn import DN2MN
from feldspar.learners.dtblm import DTBLM
from feldspar.learners.dtl1 import DTL1
from feldspar.learners.dtsl import DTSL
from feldspar.learners.grafting import Grafting, GraftingCertificate
from feldspar.learners.gssl import GSSL
from feldspar.learners.independent import Independent
from feldspar.learners.l1_neighborhood import L1Neighborhood
from feldspar.learners.stability import EdgeStability, stability_selection
from feldspar.learners.top_down import TopDown

__all__ = [
    "BLM",
    "BUSL",
    "DN2MN",
    "DTBLM",
    "DTL1",
    "DTSL",
    "GSSL",
    "DependencyNetwork",
    "EdgeStability",
    "Grafting",
    "GraftingCertificate",
    "Independent",
    "L1Neighborhood",
    "TopDown",
    "stability_selection",
]
