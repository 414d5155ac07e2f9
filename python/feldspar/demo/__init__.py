"""What ``feldspar demo`` does, as functions: networks of digits, and what they are good for.

>>> from feldspar.demo import Plan, run_demo
>>> result = run_demo(plans=[Plan("pixels alone", order=1, prior_sds=(1.0,))], n_starts=1)
>>> result.models[0].n_features
73
"""

from feldspar.demo._completion import Completion, climb, complete_digits
from feldspar.demo._models import (
    PLANS,
    Classification,
    DemoModel,
    Plan,
    classify_digits,
    learn_digit_models,
)
from feldspar.demo._picture import draw_demo, picture_png
from feldspar.demo._run import DemoResult, run_demo

__all__ = [
    "PLANS",
    "Classification",
    "Completion",
    "DemoModel",
    "DemoResult",
    "Plan",
    "classify_digits",
    "climb",
    "complete_digits",
    "draw_demo",
    "learn_digit_models",
    "picture_png",
    "run_demo",
]
