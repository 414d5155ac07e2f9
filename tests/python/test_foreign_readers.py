"""Our ``.uai`` files in the hands of others: pgmpy and pyAgrum read them and answer as we do.

Their exact answers share no line with ours, so that agreement speaks for the file format and for
our junction tree at once.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import feldspar as fs

Floats = npt.NDArray[np.float64]
MIDDLE = [19, 20, 27, 28, 35, 36]  # pixels, each of which depends on some other


def multi_valued() -> fs.MarkovNetwork:
    """A ring of variables with two to four values, and a chord; sets of values among the tests."""
    rng = np.random.default_rng(1)
    schema = fs.Schema([2, 3, 4, 3, 2, 4])
    pairs = [*itertools.pairwise(range(6)), (5, 0), (1, 4)]
    terms: list[tuple[Any, float]] = [
        ([(a, x), (b, y)], rng.normal())
        for a, b in pairs
        for x in range(schema.cardinalities[a])
        for y in range(schema.cardinalities[b])
        if rng.random() < 0.7
    ]
    terms += [([(2, {0, 3}), (5, {1, 2})], 0.9), ([(3, 2)], -0.4)]
    return fs.MarkovNetwork.from_terms(schema, terms)


def higher_order() -> fs.MarkovNetwork:
    """Conjunctions of one to five tests, binary and multi-valued variables mixed."""
    rng = np.random.default_rng(2)
    schema = fs.Schema([2, 3, 2, 2, 4, 2, 3, 2])
    terms = []
    for length in (1, 2, 3, 3, 4, 4, 5, 5, 5):
        scope = rng.choice(len(schema), size=length, replace=False)
        tests = [(int(v), int(rng.integers(schema.cardinalities[v]))) for v in scope]
        terms.append((tests, rng.normal(scale=2.0)))
    return fs.MarkovNetwork.from_terms(schema, terms)


def learned() -> fs.MarkovNetwork:
    """Leaf features of trees on a few pixels of the digits, with their weights."""
    pixels = fs.datasets.load("digits").train.to_numpy()[:, MIDDLE]
    return fs.DTSL(kappa=1e-2, conversion="default", prior_sd=1.0).fit(pixels).network_


def grid() -> fs.MarkovNetwork:
    """An Ising model on a grid of 3 x 4."""
    rng = np.random.default_rng(3)
    at = np.arange(12).reshape(3, 4)
    edges = [*zip(at[:, :-1].flat, at[:, 1:].flat), *zip(at[:-1].flat, at[1:].flat)]  # noqa: B905
    terms: list[tuple[Any, float]] = [([(v, 1)], rng.normal()) for v in range(12)]
    terms += [([(int(a), s), (int(b), s)], rng.normal()) for a, b in edges for s in (0, 1)]
    return fs.MarkovNetwork.from_terms(fs.Schema([2] * 12), terms)


def ask_pgmpy(path: Path, known: dict[int, int], n_variables: int) -> list[Floats | None]:
    pytest.importorskip("pgmpy")
    from pgmpy.inference import VariableElimination
    from pgmpy.readwrite import UAIReader

    engine = VariableElimination(UAIReader(str(path)).get_model())
    evidence = {f"var_{v}": value for v, value in known.items()}
    answers: list[Floats | None] = []
    for v in range(n_variables):
        if v in known:
            answers.append(None)
            continue
        values = engine.query([f"var_{v}"], evidence=evidence, show_progress=False).values
        answers.append(values / values.sum())  # pgmpy does not normalise those of Markov networks
    return answers


def ask_pyagrum(path: Path, known: dict[int, int], n_variables: int) -> list[Floats | None]:
    gum = pytest.importorskip("pyagrum")
    network = gum.loadMRF(str(path))
    for factor in network.factors():
        lay_out_as_written(network.factor(factor))
    engine = gum.ShaferShenoyMRFInference(network)
    engine.setEvidence({str(v): value for v, value in known.items()})
    engine.makeInference()
    return [
        None if v in known else np.asarray(engine.posterior(str(v)).toarray())
        for v in range(n_variables)
    ]


def lay_out_as_written(table: Any) -> None:
    """Put the cells of a table that pyAgrum has read where the format wants them.

    pyAgrum 3.3 takes the *first* variable of a scope as the one that changes fastest, where the
    format says the last. It reads the cells in the order of the file: one transposition is all.
    """
    cells = table.toarray().ravel()  # the array has the first variable as its last axis
    if table.nbrDim() > 1:
        table.fillWith(cells.reshape(table.shape).ravel(order="F").tolist())


# Both warn of their own modules on import, and pyAgrum does not survive warnings that are errors.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("ask", "tolerance"),
    [(ask_pgmpy, 1e-8), (ask_pyagrum, 2e-7)],  # pyAgrum reads numbers in single precision
    ids=["pgmpy", "pyagrum"],
)
@pytest.mark.parametrize("make", [multi_valued, higher_order, learned, grid])
def test_others_read_our_files_and_answer_alike(
    make: Any, ask: Any, tolerance: float, tmp_path: Path
) -> None:
    network = make()
    path = tmp_path / "model.uai"
    network.save(path)
    n_variables = len(network.schema)
    for known in ({}, {1: 1, n_variables - 2: 0}):
        ours = network.marginals(known, "exact")
        for v, theirs in enumerate(ask(path, known, n_variables)):
            if theirs is not None:
                np.testing.assert_allclose(ours[v], theirs, rtol=0, atol=tolerance)
