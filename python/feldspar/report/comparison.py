"""Learners compared on the same data: one table, and one page that tells all."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from feldspar._machine import machine, versions
from feldspar.evaluation import Score, pseudo_log_likelihood
from feldspar.missing import complete_rows, hold_out
from feldspar.network import MarkovNetwork
from feldspar.report.page import Page
from feldspar.report.svg import Bar, Series, bar_chart, dot_chart, graph, point_chart
from feldspar.table import Table

__all__ = ["Comparison", "ComparisonData", "Contender", "compare_learners", "comparison_page"]

_HELD_OUT = 0.1
_SHOWN_EDGES = 40
_EDGE_FEATURES = 4000  # the cost of strengths is quadratic in the features that an edge has
_SHOWN_FEATURES = 15
_SHOWN_TRIALS = 60

Report = Callable[[str], None]


class Learner(Protocol):
    """What can be compared: a learner of Markov networks."""

    network_: MarkovNetwork
    best_params_: dict[str, Any]
    trials_: list[dict[str, Any]]

    def fit(self, X: object, y: object = None, *, X_valid: object = None) -> Any:
        """Learn a network."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the hyper-parameters."""

    def set_params(self, **params: Any) -> Any:
        """Change hyper-parameters."""


@dataclass(frozen=True, eq=False)
class ComparisonData:
    """The rows that all contenders get; those that are complete are scored.

    Attributes
    ----------
    name : str
        What to call the data.
    train, valid : Table
    test : Table or None
        Without test rows, contenders are compared on the rows that they were tuned by.
    """

    name: str
    train: Table
    valid: Table
    test: Table | None = None

    @classmethod
    def of(
        cls,
        name: str,
        train: object,
        valid: object = None,
        test: object = None,
        *,
        seed: int = 0,
    ) -> ComparisonData:
        """Read the parts; a tenth of ``train`` is held out if there is nothing to tune by.

        Raises
        ------
        ValueError
            If no row of a part is complete.
        """
        table = Table.of(train)
        held = None if valid is None else Table.of(valid, schema=table.schema)
        rows = None if test is None else Table.of(test, schema=table.schema)
        if held is None:
            if len(table) < 2:
                raise ValueError(
                    f"{name} has {len(table)} row; expected more, to hold some out to tune by"
                )
            held, table = hold_out(table, _HELD_OUT, seed, name)
        data = cls(name, table, held, rows)
        data.scored_parts()  # found wanting before the work, not after it
        return data

    @property
    def judged_by(self) -> str:
        """The part that contenders are compared on."""
        return "valid" if self.test is None else "test"

    def parts(self) -> dict[str, Table]:
        """Return the parts there are, by name."""
        found = {"train": self.train, "valid": self.valid}
        return found if self.test is None else found | {"test": self.test}

    def scored_parts(self) -> dict[str, Table]:
        """Return the complete rows of the parts, by name."""
        return {
            part: complete_rows(table, f"{self.name}: the {part} rows", "to score")
            for part, table in self.parts().items()
        }

    def scored_note(self) -> str:
        """Return how many rows are scored, where that is not all of them; else nothing."""
        if not any(table.has_missing for table in self.parts().values()):
            return ""
        scored = self.scored_parts()
        counts = [f"{len(scored[part])} of {len(t)} {part}" for part, t in self.parts().items()]
        return f"only complete rows are scored: {', '.join(counts)}"


@dataclass(frozen=True, eq=False)
class Contender:
    """A learned network and what is known of it.

    Attributes
    ----------
    name : str
    network : MarkovNetwork
    settings, best_params : dict
        The hyper-parameters, and those that were chosen among several.
    trials : list of dict
    seconds : float
        Of learning, tuning included.
    pll : dict of Score
        By part of the data.
    cmll : Score or None
        On the part that contenders are compared on.
    warnings : list of str
        What the learner had to say: that it did not converge, or that its time was over.
    """

    name: str
    network: MarkovNetwork
    settings: dict[str, Any]
    best_params: dict[str, Any]
    trials: list[dict[str, Any]]
    seconds: float
    pll: dict[str, Score]
    cmll: Score | None = None
    warnings: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        network = self.network
        plain: dict[str, Any] = {
            "name": self.name,
            "n_features": len(network.features),
            "n_nonzero": int(np.count_nonzero(network.weights)),
            "mean_length": mean_length(network),
            "seconds": self.seconds,
            "pll": {part: score.mean for part, score in self.pll.items()},
            "stderr": {part: known(score.stderr) for part, score in self.pll.items()},
            "settings": plain_settings(self.settings),
            "best_params": plain_settings(self.best_params),
            "trials": [plain_settings(trial) for trial in self.trials],
            "warnings": self.warnings,
        }
        if self.cmll is not None:
            plain |= {"cmll": self.cmll.mean, "cmll_stderr": known(self.cmll.stderr)}
        return plain


@dataclass(frozen=True, eq=False)
class Comparison:
    """Contenders on the same data, in the order given.

    Attributes
    ----------
    data : ComparisonData
    contenders : list of Contender
    failures : dict of str
        Why a contender is missing, by name.
    seed : int
    """

    data: ComparisonData
    contenders: list[Contender]
    failures: dict[str, str] = field(default_factory=dict)
    seed: int = 0

    @property
    def best(self) -> Contender:
        """The contender with the best score on the part they are compared on."""
        part = self.data.judged_by
        return max(self.contenders, key=lambda one: one.pll[part].mean)

    def behind_best(self, contender: Contender) -> tuple[float, float]:
        """Return how far a contender's PLL is behind the best, and the paired standard error."""
        part = self.data.judged_by
        mine, best = contender.pll[part].per_example, self.best.pll[part].per_example
        weights = self.data.scored_parts()[part].weights
        gap = best - mine
        mean, total = float(np.average(gap, weights=weights)), float(weights.sum())
        if contender is self.best or total <= 1:
            return mean, math.nan
        variance = float(weights @ (gap - mean) ** 2) / (total - 1)
        return mean, math.sqrt(variance / total)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain values."""
        return {
            "data": self.data.name,
            "rows": {part: len(table) for part, table in self.data.parts().items()},
            "scored_rows": {part: len(rows) for part, rows in self.data.scored_parts().items()},
            "n_variables": len(self.data.train.schema),
            "judged_by": self.data.judged_by,
            "seed": self.seed,
            "best": self.best.name if self.contenders else None,
            "contenders": [
                one.to_dict() | {"behind_best": self.behind_best(one)[0]} for one in self.contenders
            ],
            "failures": dict(self.failures),
            "versions": versions(),
            "machine": machine(),
        }

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the columns and the rows of the table of contenders, as text."""
        parts = list(self.data.parts())
        columns = ["method", "features", "length", *(f"{part} PLL" for part in parts)]
        columns += ["± s.e.", "behind best"]
        has_cmll = any(one.cmll is not None for one in self.contenders)
        columns += ["CMLL"] * has_cmll + ["seconds"]
        rows = []
        for one in self.contenders:
            gap, error = self.behind_best(one)
            row = [one.name, f"{len(one.network.features):,}", f"{mean_length(one.network):.2f}"]
            row += [f"{one.pll[part].mean:.4f}" for part in parts]
            row.append(_number(one.pll[self.data.judged_by].stderr, 4))
            row.append("best" if one is self.best else f"{gap:.4f} ± {_number(error, 4)}")
            row += [_number(one.cmll.mean if one.cmll else math.nan, 4)] * has_cmll
            rows.append([*row, f"{one.seconds:.2f}"])
        return columns, rows


def compare_learners(
    learners: Mapping[str, Learner],
    X: object,
    *,
    X_valid: object = None,
    X_test: object = None,
    name: str = "data",
    seed: int = 0,
    report: Report | None = None,
) -> Comparison:
    """Fit learners on the same rows and score what they learn on those that are complete.

    The learners themselves stay as they are: copies of them are fitted. Ctrl-C ends the comparison.

    Parameters
    ----------
    learners : mapping from names to learners
        Their own ``random_state`` holds.
    X : table, frame or array
        The rows to learn from.
    X_valid : table, frame or array, optional
        The rows to tune by; a tenth of ``X`` if left out.
    X_test : table, frame or array, optional
        The rows to compare on; if left out, those of ``X_valid``.
    name : str
        What to call the data.
    seed : int
        For the rows held out.
    report : callable, optional
        Gets a line of text before each learner.

    Examples
    --------
    >>> import feldspar as fs
    >>> from feldspar.report import compare_learners
    >>> digits = fs.datasets.load("digits")
    >>> learners = {"trees": fs.DN2MN(kappa=0.01), "regressions": fs.DN2MN(cpd="logistic", C=0.05)}
    >>> found = compare_learners(learners, digits.train, X_valid=digits.valid, X_test=digits.test)
    >>> found.best.name
    'trees'
    """
    from sklearn.base import clone

    data = ComparisonData.of(name, X, X_valid, X_test, seed=seed)
    contenders = []
    for title, learner in learners.items():
        if report is not None:
            report(f"learning: {title}")
        fitted = clone(learner)
        if "on_interrupt" in fitted.get_params(deep=False):
            # What a learner has found when it is interrupted is no result to compare.
            fitted.set_params(on_interrupt="raise")
        started = time.perf_counter()
        fitted.fit(data.train, X_valid=data.valid)
        seconds = time.perf_counter() - started
        contenders.append(
            contender(
                title,
                fitted.network_,
                data,
                settings=learner.get_params(deep=False),
                best_params=fitted.best_params_,
                trials=fitted.trials_,
                seconds=seconds,
            )
        )
    return Comparison(data, contenders, seed=seed)


def contender(
    name: str,
    network: MarkovNetwork,
    data: ComparisonData,
    *,
    settings: Mapping[str, Any],
    best_params: Mapping[str, Any],
    trials: Sequence[Mapping[str, Any]],
    seconds: float,
    cmll_options: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    warnings: Sequence[str] = (),
) -> Contender:
    """Score a network on the complete rows of all parts; with ``cmll_options``, by CMLL too."""
    parts = data.scored_parts()
    return Contender(
        name=name,
        network=network,
        settings=dict(settings),
        best_params=dict(best_params),
        trials=[dict(trial) for trial in trials],
        seconds=seconds,
        pll={
            part: pseudo_log_likelihood(network, table, n_jobs=n_jobs)
            for part, table in parts.items()
        },
        cmll=None
        if cmll_options is None
        else network.cmll(parts[data.judged_by], n_jobs=n_jobs, **cmll_options),
        warnings=list(warnings),
    )


def comparison_page(comparison: Comparison) -> str:
    """Return the page of a comparison: tables, plots, networks, settings, seeds.

    One file of HTML that needs nothing else.
    """
    data = comparison.data
    sizes = ", ".join(f"{len(table):,} {part}" for part, table in data.parts().items())
    page = Page(
        f"Learners compared on {data.name}",
        f"{len(data.train.schema)} variables; {sizes} rows. Compared by the mean "
        f"pseudo-log-likelihood (PLL) of the {data.judged_by} rows: higher is better.",
    )
    _scores(page, comparison)
    _tuning(page, comparison)
    _networks(page, comparison)
    _settings(page, comparison)
    _provenance(page, comparison)
    return page.html()


def _scores(page: Page, comparison: Comparison) -> None:
    part = comparison.data.judged_by
    page.heading("Scores")
    if comparison.contenders:
        columns, rows = comparison.table()
        best = comparison.contenders.index(comparison.best)
        page.table(columns, rows, best={columns.index(f"{part} PLL"): best})
        page.paragraph(
            "± s.e. is the standard error of the mean over rows; “behind best” is the mean "
            "difference to the best contender, row by row, with its standard error: a gap of "
            "less than two of them says little.",
            kind="note",
        )
        note = comparison.data.scored_note()
        if note:
            page.paragraph(f"{note[0].upper()}{note[1:]}.", kind="note")
        if comparison.data.test is None:
            page.paragraph(
                "There are no test rows: contenders are compared on the rows that they were tuned "
                "by, which favours those that tried more.",
                kind="note",
            )
        page.figures(score_figures(comparison.contenders, part))
    for one in comparison.contenders:
        for text in one.warnings:
            page.paragraph(f"{one.name}: {text}.")
    for name, reason in comparison.failures.items():
        page.paragraph(f"{name} failed: {reason}")


def score_figures(contenders: Sequence[Contender], part: str) -> list[tuple[str, str]]:
    """Return the charts of scores, times and sizes, each with its caption."""
    scores = [Bar(one.name, one.pll[part].mean, known(one.pll[part].stderr)) for one in contenders]
    figures = [
        (
            dot_chart(scores, title=f"{part} PLL"),
            f"Mean PLL of the {part} rows, with one standard error.",
        )
    ]
    if any(one.cmll is not None for one in contenders):
        cmll = [
            Bar(one.name, one.cmll.mean, known(one.cmll.stderr)) for one in contenders if one.cmll
        ]
        figures.append((dot_chart(cmll, title="CMLL"), "Conditional marginal log-likelihood."))
    times = [Bar(one.name, one.seconds) for one in contenders]
    sizes = [Bar(one.name, len(one.network.features)) for one in contenders]
    return [
        *figures,
        (bar_chart(times, title="seconds"), "Seconds of learning, tuning included."),
        (bar_chart(sizes, title="features", digits=0), "Features of the network."),
    ]


def _tuning(page: Page, comparison: Comparison) -> None:
    series = []
    for one in comparison.contenders:
        tried = [t for t in one.trials if _is_plottable(t)]
        if tried:
            sizes = [t["n_features"] for t in tried]
            series.append(Series(one.name, sizes, [t["valid_pll"] for t in tried]))
    if not series:
        return
    page.heading("What was tried")
    drawing = point_chart(
        series,
        title="trials",
        x_label="features",
        y_label="validation PLL",
        log_x=True,
    )
    page.figure(drawing, "Every setting that was tried: size of the network and validation PLL.")
    for one in comparison.contenders:
        scored = [t for t in one.trials if t.get("valid_pll") is not None]
        scored.sort(key=lambda trial: -trial["valid_pll"])
        if len(scored) > 1:
            columns = list(dict.fromkeys(name for trial in scored for name in trial))
            rows = [[_shown(trial.get(c)) for c in columns] for trial in scored[:_SHOWN_TRIALS]]
            names = [name.replace("_", " ") for name in columns]
            page.details(f"{one.name}: {len(scored)} trials, the best first", names, rows)


def _is_plottable(trial: Mapping[str, Any]) -> bool:
    score = trial.get("valid_pll")
    is_network = trial.get("stage", "weights") == "weights"
    return is_network and score is not None and math.isfinite(score) and trial["n_features"] > 0


def _networks(page: Page, comparison: Comparison) -> None:
    if not comparison.contenders:
        return
    page.heading("Networks")
    page.paragraph(
        "The strongest edges of each network. Blue: the two variables tend to be alike; orange and "
        "dashed: they tend to differ; grey: one of them has more than two values. The width is the "
        "strength: the root mean square of the log odds ratios between the two, over the states of "
        "all others.",
        kind="note",
    )
    drawings = [network_figure(one) for one in comparison.contenders]
    page.figures((drawing, caption) for drawing, caption in drawings if drawing)
    for drawing, caption in drawings:
        if not drawing:
            page.paragraph(f"{caption}.", kind="note")
    for one in comparison.contenders:
        heaviest = np.argsort(-np.abs(one.network.weights), kind="stable")[:_SHOWN_FEATURES]
        rows = [
            (one.network.features.describe(j), f"{one.network.weights[j]:+.4f}")
            for j in heaviest.tolist()
        ]
        page.details(f"{one.name}: the heaviest features", ["feature", "weight"], rows)


def network_figure(one: Contender, *, n_edges: int = _SHOWN_EDGES) -> tuple[str, str]:
    """Return a drawing of a network's strongest edges (empty if it has none), and its caption."""
    network = _core_of_edges(one.network)
    edges = network.edge_strengths()
    if not len(edges):
        return "", f"{one.name}: no edges"
    names = list(dict.fromkeys(n for e in edges[:n_edges] for n in (e.first, e.second)))
    drawn = [
        (names.index(edge.first), names.index(edge.second), edge.strength, edge.sign)
        for edge in edges[:n_edges]
    ]
    if len(network.features) < len(one.network.features):
        which = (
            f"the {len(drawn)} strongest edges, by the {_EDGE_FEATURES:,} features of most account"
        )
    elif len(edges) > n_edges:
        which = f"the {n_edges} strongest of {len(edges):,} edges"
    else:
        which = f"all {len(edges)} edges"
    return graph(names, drawn, title=one.name), f"{one.name}: {which}"


def _core_of_edges(network: MarkovNetwork) -> MarkovNetwork:
    """Return a network with the features that count most for its edges, where there are too many.

    A feature of many tests holds on few states, and so counts little for the mean over states.
    """
    if len(network.features) <= _EDGE_FEATURES:
        return network
    account = np.abs(network.weights) * 0.5**network.features.lengths
    kept = np.sort(np.argsort(-account, kind="stable")[:_EDGE_FEATURES]).tolist()
    terms = ((network.features[j], float(network.weights[j])) for j in kept)
    return MarkovNetwork.from_terms(network.schema, terms)


def _settings(page: Page, comparison: Comparison) -> None:
    page.heading("Settings")
    for one in comparison.contenders:
        chosen = plain_settings(one.best_params)
        rows = [
            (name, _shown(value), _shown(chosen[name]) if name in chosen else "")
            for name, value in plain_settings(one.settings).items()
        ]
        known_names = {name for name, *_ in rows}
        rows += [(n, "", _shown(v)) for n, v in chosen.items() if n not in known_names]
        page.details(f"{one.name}", ["setting", "given or tried", "chosen"], rows)


def _provenance(page: Page, comparison: Comparison) -> None:
    page.heading("How this was made")
    rows = [("seed", comparison.seed), *versions().items(), *machine().items()]
    page.table(["", ""], rows, text=2)
    page.paragraph("Same data, settings and seed: same networks, on any number of threads.")


def mean_length(network: MarkovNetwork) -> float:
    """Return the mean number of tests of a network's features; 0 if it has none."""
    lengths = network.features.lengths
    return float(np.mean(lengths)) if len(lengths) else 0.0


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as values that JSON knows; learners within learners become dicts."""
    return {name: _plain(value) for name, value in settings.items()}


def _plain(value: Any) -> Any:
    if hasattr(value, "get_params"):
        return {"learner": type(value).__name__, **plain_settings(value.get_params(deep=False))}
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(part) for part in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_shown(part)}" for name, part in value.items())
    return ", ".join(map(_shown, value)) if isinstance(value, list | tuple) else str(value)


def known(value: float) -> float | None:
    """Return a number, or ``None`` for one that is not known."""
    return None if math.isnan(value) else value


def _number(value: float, digits: int) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}"
