"""feldspar: feature learning for discrete sparse random fields.

Learns Markov networks, log-linear models with conjunctive features, from discrete data.

>>> import feldspar as fs
>>> digits = fs.datasets.load("digits")
>>> features = fs.FeatureSet.conjunctions(digits.train, order=2, min_support=20, supported_from=2)
>>> network = fs.learn_weights(features, digits.train, prior_sd=0.5)
>>> bool(network.score(digits.test) > -20)
True
"""

try:
    from feldspar._core import __version__
except ImportError as error:  # a source tree without its compiled part
    raise ImportError(
        "feldspar's compiled core is missing: install the package (pip install .) instead of "
        "importing it from its source folder"
    ) from error

from importlib import import_module
from typing import TYPE_CHECKING

from feldspar import datasets, optimize
from feldspar.conditionals import Conditionals
from feldspar.dependency import Split
from feldspar.features import FeatureSet
from feldspar.inference import Marginals
from feldspar.io.tabular import read_table, write_table
from feldspar.missing import MissingValuesWarning
from feldspar.network import MarkovNetwork
from feldspar.preprocessing import binarize, discretize
from feldspar.schema import Schema
from feldspar.table import Table
from feldspar.training import TrainingReport
from feldspar.tuning import TunedWeights, tune_weights
from feldspar.weights import PseudoLikelihood, learn_weight_path, learn_weights

if TYPE_CHECKING:
    from feldspar import evaluation, report
    from feldspar.learners import (
        BLM,
        BUSL,
        DN2MN,
        DTBLM,
        DTL1,
        DTSL,
        GSSL,
        DependencyNetwork,
        EdgeStability,
        Grafting,
        GraftingCertificate,
        Independent,
        L1Neighborhood,
        TopDown,
        stability_selection,
    )

__all__ = [
    "BLM",
    "BUSL",
    "DN2MN",
    "DTBLM",
    "DTL1",
    "DTSL",
    "GSSL",
    "Conditionals",
    "DependencyNetwork",
    "EdgeStability",
    "FeatureSet",
    "Grafting",
    "GraftingCertificate",
    "Independent",
    "L1Neighborhood",
    "Marginals",
    "MarkovNetwork",
    "MissingValuesWarning",
    "PseudoLikelihood",
    "Schema",
    "Split",
    "Table",
    "TopDown",
    "TrainingReport",
    "TunedWeights",
    "__version__",
    "binarize",
    "datasets",
    "discretize",
    "evaluation",
    "learn_weight_path",
    "learn_weights",
    "optimize",
    "read_table",
    "report",
    "stability_selection",
    "tune_weights",
    "write_table",
]

# Learners are scikit-learn estimators, and scikit-learn takes longer to import than all the rest.
_LEARNERS = frozenset(
    {
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
    }
)


_MODULES = frozenset({"evaluation", "report"})


def __getattr__(name: str) -> object:
    """Import learners and modules when they are first asked for."""
    if name in _MODULES:
        return import_module(f"feldspar.{name}")
    if name not in _LEARNERS:
        raise AttributeError(f"module 'feldspar' has no attribute {name!r}")
    from feldspar import learners

    return getattr(learners, name)


def __dir__() -> list[str]:
    """Name what is imported later, too."""
    return sorted({*globals(), *_LEARNERS, *_MODULES})
