"""Lee, Ganapathi and Koller (2007): features introduced one by one under an L1 penalty."""

from __future__ import annotations

from collections.abc import Callable

from feldspar.reproduce._experiment import Column, Experiment, Measure, Row
from feldspar.reproduce._units import LearnerSpec, Unit
from feldspar.reproduce.catalogue.shared import CMLL, FIGURE_NOTE, SECONDS, number_of

_PENALTY_METHODS = (("L1", "l1"), ("L2", "l2"), ("None", "none"))
_SCHEMES = ("gain", "grad", "simple")


def _grafting(scheme: str, penalty: str) -> LearnerSpec:
    return LearnerSpec("Grafting", {"scheme": scheme, "penalty": penalty})


def lee2007() -> list[Experiment]:
    """Return the experiments of this paper."""
    synthetic: dict[str, float] = {
        "n_variables": 25,
        "n_neighbors": 4,
        "n_train": 400,
        "n_test": 500,
        "edge_threshold": 0.1,
        "seed": 0,
    }

    def rows(name: str, values: tuple[int, ...], label: str) -> tuple[Row, ...]:
        return tuple(
            Row(f"{label} {value}", "synthetic", {**synthetic, name: value}) for value in values
        )

    def unit(method: str, spec: LearnerSpec | None) -> Callable[[Row], Unit]:
        return lambda row: Unit(
            "recovery", method, row.dataset, row.settings, spec, label=row.label
        )

    contenders: dict[str, tuple[str, LearnerSpec | None]] = {
        f"grad-{penalty}" if penalty == "l2" else f"gain-{penalty}": (
            title,
            _grafting("grad" if penalty == "l2" else "gain", penalty),
        )
        for title, penalty in _PENALTY_METHODS
    }
    contenders["true"] = ("True", None)

    def columns(*measures: tuple[Measure, str]) -> tuple[Column, ...]:
        return tuple(
            Column(method, title, measure, number_of(unit(method, spec), name))
            for measure, name in measures
            for method, (title, spec) in contenders.items()
        )

    hamming = Measure("wrong edges", 0, "none")
    stopping = (
        "L1's penalty is chosen by the PLL of held-out rows, which likes weak edges; L2 and None "
        "stop introducing features at small gradients, which the paper does not. Wrong edges "
        "compare accordingly."
    )
    note = (
        "The paper does not tell the weights of its synthetic networks; ours are 0.5 to 1.5 in "
        "size, of either sign. Edges count if a weight is above 0.1. CMLL: one of four "
        "groups is seen."
    )
    digits = tuple(Row(f"digit {d}", "digits", {"digit": d}) for d in range(10))
    return [
        Experiment(
            "lee2007-figure1a",
            "Synthetic networks: CMLL and wrong edges against training rows",
            rows("n_train", (50, 100, 200, 400, 800), "rows"),
            columns((CMLL, "cmll"), (hamming, "hamming")),
            figure="lines",
            departures=(FIGURE_NOTE, note, stopping),
        ),
        Experiment(
            "lee2007-figure1b",
            "Synthetic networks: CMLL and wrong edges against neighbours per variable",
            rows("n_neighbors", (2, 3, 4, 5, 6), "neighbours"),
            columns((CMLL, "cmll"), (hamming, "hamming")),
            figure="lines",
            departures=(FIGURE_NOTE, note, stopping),
        ),
        Experiment(
            "lee2007-figure1c",
            "Synthetic networks: seconds against variables",
            rows("n_variables", (10, 20, 30, 40, 50), "variables"),
            columns((SECONDS, "seconds"), (CMLL, "cmll")),
            figure="lines",
            departures=(FIGURE_NOTE, note),
        ),
        Experiment(
            "lee2007-figure2",
            "CMLL of networks of one digit each, by feature introduction and penalty",
            digits,
            tuple(
                Column(
                    f"{scheme}-{penalty}",
                    f"{scheme.capitalize()}-{title}",
                    CMLL,
                    number_of(_digit_unit(scheme, penalty), "cmll"),
                )
                for scheme in _SCHEMES
                for title, penalty in _PENALTY_METHODS
                if not (scheme == "gain" and penalty == "l2")
            ),
            tests=(("gain-l1", "grad-l2"), ("gain-l1", "gain-none"), ("gain-l1", "simple-l1")),
            figure="bars",
            departures=(
                FIGURE_NOTE,
                (
                    "The digits of scikit-learn (8 x 8 pixels, dark or not) stand in for MNIST at "
                    "16 x 16; 50 images to learn from, the rest to test on, as in the paper. The "
                    "HapMap data of figure 2c are not reproduced."
                ),
            ),
        ),
    ]


def _digit_unit(scheme: str, penalty: str) -> Callable[[Row], Unit]:
    return lambda row: Unit(
        "digit",
        f"{scheme}-{penalty}",
        row.dataset,
        {**row.settings, "n_train": 50, "seed": 0},
        _grafting(scheme, penalty),
        label=row.label,
    )
