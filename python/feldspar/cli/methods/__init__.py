"""What ``feldspar learn --method`` offers: a line here for each method."""

from feldspar.cli.methods.conjunctions import CONJUNCTIONS
from feldspar.cli.methods.estimators import (
    BUSL_METHOD,
    DN2MN_METHOD,
    DTL1_METHOD,
    DTSL_METHOD,
    GSSL_METHOD,
    INDEPENDENT_METHOD,
    L1_METHOD,
)
from feldspar.cli.methods.method import Learned, Method, Task

__all__ = ["METHODS", "Learned", "Method", "Task"]

METHODS: tuple[Method, ...] = (
    CONJUNCTIONS,
    DTSL_METHOD,
    L1_METHOD,
    DTL1_METHOD,
    DN2MN_METHOD,
    GSSL_METHOD,
    BUSL_METHOD,
    INDEPENDENT_METHOD,
)
