"""The whole of it: experiments carried out, their tables and plots written, the page of results."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from feldspar.io.files import Target, atomic_write
from feldspar.reproduce._experiment import Experiment, Options, selected
from feldspar.reproduce._figures import draw, picture
from feldspar.reproduce._kinds import KINDS
from feldspar.reproduce._outcome import ExperimentResult, carry_out
from feldspar.reproduce._runner import Kinds, Report, Runner
from feldspar.reproduce._store import Store
from feldspar.reproduce._texts import experiment_markdown, results_page
from feldspar.reproduce._units import GIBBS, MCSAT
from feldspar.reproduce.catalogue import catalogue

Inference = Literal["gibbs", "mcsat"]
_INFERENCE = {"gibbs": GIBBS, "mcsat": MCSAT}

DEFAULT_OUTPUT = "feldspar-results"


def find_experiments(names: Sequence[str]) -> list[Experiment]:
    """Return experiments by name, however it is written; a paper's name stands for all of its.

    Examples
    --------
    >>> [found.name for found in find_experiments(["lowd2014 table 3"])]
    ['lowd2014-table3']
    >>> [found.name for found in find_experiments(["lowd2012"])]
    ['lowd2012-table4', 'lowd2012-table5', 'lowd2012-figure1']
    """
    known = catalogue()
    if list(names) == ["all"]:
        return list(known.values())
    found: dict[str, Experiment] = {}
    for name in names:
        wanted = _bare(name)
        # Figures 8 and 9 are one, divided for want of room on a page.
        wanted = wanted.removesuffix("9") + "8" if wanted == "lowd2014figure9" else wanted
        matches = [e for e in known.values() if _bare(e.name) == wanted] or [
            e for e in known.values() if wanted and _bare(e.name).startswith(wanted)
        ]
        if not matches:
            close = difflib.get_close_matches(name, known, n=2)
            hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(known)}"
            raise ValueError(f"there is no experiment {name!r}; {hint}")
        found |= {match.name: match for match in matches}
    return list(found.values())


def reproduce(
    names: Sequence[str],
    *,
    datasets: Sequence[str] = (),
    methods: Sequence[str] = (),
    output: Target = DEFAULT_OUTPUT,
    budget: float | None = None,
    time_limit: float | None = None,
    inference: Inference = "gibbs",
    n_jobs: int | None = None,
    again: bool = False,
    report: Report | None = None,
    kinds: Kinds = KINDS,
) -> list[ExperimentResult]:
    """Carry out experiments of the papers and write our numbers beside theirs.

    Units (a learner on a data set, a score of what it learned) are run one at a time and kept in
    ``output``; those that are there are not run again, so that an interrupted call goes on where it
    was, and experiments share what they have in common.

    Parameters
    ----------
    names : sequence of str
        Experiments, papers, or ``["all"]``; see :func:`feldspar.reproduce.names`.
    datasets, methods : sequence of str
        Which ones; all if left out.
    output : path
        Where results, tables and plots go.
    budget : float, optional
        Minutes after which no unit is started. One that runs is not stopped.
    time_limit : float, optional
        Seconds for each learner; its best network so far counts, and the result says so.
    inference : {"gibbs", "mcsat"}
        What CMLL is computed by.
    n_jobs : int, optional
        Threads. Scores do not depend on it, times do.
    again : bool
        Run units even if their results are there.
    report : callable, optional
        Gets a line of text before and after each unit that is run.
    kinds : mapping, optional
        For tests: what units of each kind do.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = reproduce(["lowd2014 table 5"], datasets=["nltcs"], output=folder, budget=0)
    >>> found[0].is_complete, len(found[0].cells)
    (False, 6)
    """
    experiments = find_experiments(names)
    all_sets = [name for experiment in experiments for name in experiment.datasets]
    all_methods = [name for experiment in experiments for name in experiment.methods]
    selected(datasets, list(dict.fromkeys(all_sets)), "data set")
    selected(methods, list(dict.fromkeys(all_methods)), "method")
    choices = []
    for experiment in experiments:
        own_sets = [name for name in datasets if name in experiment.datasets]
        own_methods = [name for name in methods if name in experiment.methods]
        if (own_sets or not datasets) and (own_methods or not methods):
            choices.append((experiment, own_sets, own_methods))
    if not choices:
        raise ValueError("none of these experiments has both these data sets and these methods")
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    runner = Runner(
        Store(folder),
        budget=None if budget is None else 60 * budget,
        time_limit=time_limit,
        n_jobs=n_jobs,
        again=again,
        report=report,
        kinds=kinds,
    )
    results = []
    for experiment, own_sets, own_methods in choices:
        result = carry_out(
            experiment,
            runner,
            Options(_INFERENCE[inference]),
            datasets=own_sets,
            methods=own_methods,
        )
        _write(result, folder)
        results.append(result)
    return results


def write_results_page(
    page: Target,
    *,
    names: Sequence[str] = ("all",),
    output: Target = DEFAULT_OUTPUT,
    inference: Inference = "gibbs",
) -> list[ExperimentResult]:
    """Write the page of results from what is in ``output``, running nothing.

    Plots go beside the page, into a folder of its name.
    """
    runner = Runner(Store(Path(output)), may_run=False)
    options = Options(_INFERENCE[inference])
    results = [carry_out(experiment, runner, options) for experiment in find_experiments(names)]
    target = Path(page)
    pictures = {}
    for result in results:
        figure = draw(result)
        if figure is not None:
            file = target.parent / target.stem / f"{result.experiment.name}.svg"
            file.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(file, picture(figure, "svg"))
            pictures[result.experiment.name] = f"{target.stem}/{file.name}"
    guide = "guide/reproduce.md"
    has_guide = (target.parent / guide).exists()
    text = results_page(
        results, pictures, origins=runner.origins(), guide=guide if has_guide else None
    )
    atomic_write(target, text)
    return results


def _write(result: ExperimentResult, folder: Path) -> None:
    """Write tables and plots of an experiment; plots only where matplotlib is."""
    name = result.experiment.name
    picture_name = None
    try:
        figure = draw(result)
    except ImportError:
        figure = None
    if figure is not None:
        for kind in ("png", "svg"):
            atomic_write(folder / f"{name}.{kind}", picture(figure, kind))
        picture_name = f"{name}.png"
    text = json.dumps(result.to_dict(), indent=1, allow_nan=False)
    atomic_write(folder / f"{name}.json", text + "\n")
    atomic_write(folder / f"{name}.csv", result.to_csv())
    atomic_write(folder / f"{name}.md", experiment_markdown(result, picture_name))


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
