"""What ``feldspar demo`` does, as functions: networks of digits, and what they are good for.

>>> import feldspar as fs
>>> from feldspar.demo import Plan, run_demo
>>> result = run_demo(plans=[Plan("trees", fs.DN2MN(kappa=0.1))], n_samples=5)
>>> result.best.name, result.classification.accuracy > 0.5
('trees', True)
"""

from feldspar.demo._completion import Completion, complete_digits
from feldspar.demo._models import (
    Classification,
    Plan,
    classify_digits,
    default_plans,
    learn_digit_models,
)
from feldspar.demo._page import demo_page
from feldspar.demo._picture import draw_demo, picture_png
from feldspar.demo._run import DemoResult, run_demo

__all__ = [
    "Classification",
    "Completion",
    "DemoResult",
    "Plan",
    "classify_digits",
    "complete_digits",
    "default_plans",
    "demo_page",
    "draw_demo",
    "learn_digit_models",
    "picture_png",
    "run_demo",
]
