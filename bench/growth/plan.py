"""What is measured: which tasks along which axes, and how their cost should grow.

Plain values; `tasks` has the code that they name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

AxisName = str
TaskName = str


@dataclass(frozen=True)
class Axis:
    """What grows, and what stays as it is."""

    name: AxisName
    title: str
    setting: str
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Series:
    """A task along an axis, with the growth that its algorithm should have.

    Attributes
    ----------
    axis, task : str
    time, memory : float
        The largest exponents that the algorithm explains.
    reason : str
        Where they come from.
    """

    axis: AxisName
    task: TaskName
    time: float
    memory: float
    reason: str


# In the order of the page.
AXES = (
    Axis(
        "rows",
        "Rows",
        "Rows sampled from the network that DTSL learns on digits (64 pixels and the digit, which "
        "has ten values); nearly all are distinct.",
        (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    ),
    Axis(
        "variables",
        "Variables",
        "2,000 rows of binary variables, each of which tends to follow an earlier one; about one "
        "entry in 20 is 1. Feature sets have three features a variable.",
        (16, 50, 160, 500, 1_600, 5_000),
    ),
    Axis(
        "features",
        "Features",
        "Random conjunctions of up to three variables that hold on some row of 5,000; 500 binary "
        "variables as above.",
        (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    ),
    Axis(
        "values",
        "Values per variable",
        "5,000 rows of 20 variables, each of which tends to stay near an earlier one; 3,000 random "
        "conjunctions of up to three variables.",
        (2, 4, 8, 16, 32, 64),
    ),
)

TASKS = {
    "load": "table and merged rows",
    "trees": "trees of all variables",
    "l1": "L1 regressions of all variables, one C",
    "pairs": "all pairs as features",
    "build": "feature set from Python tuples",
    "index": "index of the PLL",
    "evaluation": "PLL, value and gradient",
    "weights": "weights, 20 iterations",
    "dn2mn": "DN2MN conversion",
    "gssl": "GSSL generation",
    "gibbs": "Gibbs sampling",
    "score": "scores of rows",
}

_STEPS = "an index and 20 steps: an evaluation, or the products of Newton's method, each"

SERIES = (
    Series("rows", "load", 1.08, 1, "a sort of packed rows: rows × log rows"),
    Series("rows", "trees", 1.13, 1, "rows × depth; depth grows by log rows, here from 13 to 21"),
    Series("rows", "l1", 1, 1, "a pass over the rows each iteration; C × rows stays"),
    Series("rows", "index", 1, 1, "each row, once for every context that holds on it"),
    Series("rows", "evaluation", 1, 1, "as the index"),
    Series("rows", "weights", 1, 1, _STEPS),
    Series("rows", "dn2mn", 1, 1, "tests on all paths; leaves have at least ten rows"),
    Series("rows", "gssl", 1, 1, "a start for each distinct row, then 100,000 draws"),
    Series("rows", "gibbs", 1, 1, "a chain of 100 sweeps a row, a quarter of the variables hidden"),
    Series("rows", "score", 1, 1, "each row, once for every context that holds on it"),
    Series("variables", "load", 1, 1, "bits of all entries"),
    Series("variables", "trees", 2, 2, "all pairs are counted: that is what is asked"),
    Series("variables", "l1", 2, 1, "for each variable a gradient of all the others"),
    Series("variables", "pairs", 2, 2, "the result has variables² / 2 features"),
    Series("variables", "index", 1, 1, "features grow with the variables"),
    Series("variables", "evaluation", 1, 1, "as the index"),
    Series("variables", "weights", 1, 1, _STEPS),
    Series("variables", "dn2mn", 1, 1, "tests on all paths; the trees' sizes stay"),
    Series("variables", "gssl", 1, 1, "100,000 draws of members as long as a row has ones"),
    Series("variables", "gibbs", 1, 1, "a visit to each hidden variable, 1,000 sweeps, ten rows"),
    Series("variables", "score", 1, 1, "features grow with the variables"),
    Series("features", "build", 1, 1, "each test is read and hashed"),
    Series("features", "index", 1, 1, "each (row, context) where the context holds"),
    Series("features", "evaluation", 1, 1, "as the index"),
    Series("features", "weights", 1, 1, _STEPS),
    Series("features", "dn2mn", 1, 1, "tests of all terms"),
    Series("features", "gibbs", 1, 1, "evidence put into each feature, 1,000 sweeps, ten rows"),
    Series("features", "score", 1, 1, "each (row, context) where the context holds"),
    Series("features", "gssl", 1, 1, "as many draws as the size says"),
    Series("values", "load", 0.33, 0, "bits of a code: three for 8 values, six for 64"),
    Series("values", "trees", 2, 2, "counts of (value, target's value) at each node"),
    Series("values", "l1", 2, 2, "a weight for each pair of values of a pair of variables"),
    Series("values", "index", 1, 1, "contexts get rarer, margins more: one for each value"),
    Series("values", "evaluation", 1, 1, "an exponential for each row, variable and value"),
    Series("values", "weights", 1, 1, _STEPS),
    Series("values", "dn2mn", 1, 1, "a term for each leaf and value of its target"),
    Series("values", "gssl", 0.2, 0.2, "draws as before, but fewer of them are equal"),
    Series("values", "gibbs", 1, 1, "a score for each value, 1,000 sweeps, ten rows"),
    Series("values", "score", 1, 1, "an exponential for each row, variable and value"),
)


def axis(name: AxisName) -> Axis:
    """Return an axis by its name."""
    return next(axis for axis in AXES if axis.name == name)


def points(series: tuple[Series, ...] = SERIES) -> Iterator[tuple[Series, int]]:
    """Iterate over what there is to measure: small sizes of everything come first."""
    for level in range(max(len(axis.sizes) for axis in AXES)):
        for one in series:
            sizes = axis(one.axis).sizes
            if level < len(sizes):
                yield one, sizes[level]
