"""Reports: learners compared on the same data, as a table and as one page of HTML.

>>> from feldspar.report import compare_learners, comparison_page
"""

from feldspar.report.comparison import (
    Comparison,
    ComparisonData,
    Contender,
    compare_learners,
    comparison_page,
    contender,
)
from feldspar.report.page import Page

__all__ = [
    "Comparison",
    "ComparisonData",
    "Contender",
    "Page",
    "compare_learners",
    "comparison_page",
    "contender",
]
