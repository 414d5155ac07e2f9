"""What ``feldspar learn --method`` offers: a line here for each method."""

from feldspar.cli.methods.conjunctions import CONJUNCTIONS
from feldspar.cli.methods.estimators import (
    BLM_METHOD,
    BUSL_METHOD,
    DN2MN_METHOD,
    DTBLM_METHOD,
    DTL1_METHOD,
    DTSL_METHOD,
    GRAFTING_METHOD,
    GSSL_METHOD,
    INDEPENDENT_METHOD,
    L1_METHOD,
    TOPDOWN_METHOD,
)
from feldspar.cli.methods.method import Learned, Method, Task

__all__ = ["METHODS", "Learned", "Method", "Task"]

METHODS: tuple[Method, ...] = (
    CONJUNCTIONS,
    DTSL_METHOD,
    L1_METHOD,
    DTL1_METHOD,
    DN2MN_METHOD,
    GRAFTING_METHOD,
    BLM_METHOD,
    DTBLM_METHOD,
    TOPDOWN_METHOD,
    GSSL_METHOD,
    BUSL_METHOD,
    INDEPENDENT_METHOD,
)
