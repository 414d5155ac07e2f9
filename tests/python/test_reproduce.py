"""Reproducing the papers: units are run once, found again, and put beside the right numbers."""

import dataclasses
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import feldspar as fs
from feldspar import reproduce as papers
from feldspar.cli import cli
from feldspar.reproduce import _kinds, _run
from feldspar.reproduce._experiment import Column, Experiment, Measure, Options, Row
from feldspar.reproduce._figures import draw, picture
from feldspar.reproduce._kinds import Context, Outcome, UnitError, make_learner
from feldspar.reproduce._outcome import Cell, ExperimentResult, carry_out
from feldspar.reproduce._runner import MissingError, Runner
from feldspar.reproduce._store import Store
from feldspar.reproduce._texts import experiment_markdown, results_page
from feldspar.reproduce._units import (
    GIBBS,
    LearnerSpec,
    Unit,
    cmll_unit,
    data_checksum,
    fit_unit,
    network_checksum,
    unit_key,
)
from feldspar.reproduce.catalogue.shared import number_of

L1 = LearnerSpec("L1Neighborhood", {"C": 0.05, "rule": "or", "prior_sd": 1.0})
QUICK_CMLL: Mapping[str, Any] = {"method": "gibbs", "n_chains": 1, "burn_in": 1, "n_samples": 2}
PLL = Measure("PLL", is_score=True)


class Counter:
    """Kinds of units that note what was run; slow ones take their time."""

    def __init__(self, seconds: float = 0.0, fails: str = "") -> None:
        self.seconds = seconds
        self.fails = fails
        self.ran: list[str] = []

    def __call__(self, unit: Unit, context: Context) -> Outcome:
        self.ran.append(unit.title)
        time.sleep(self.seconds)
        if self.fails and self.fails in unit.title:
            raise ValueError(f"{unit.method} does not like\nthis")
        return Outcome({"value": float(len(unit.method)), "network_sha256": "same"})

    @property
    def kinds(self) -> dict[str, Callable[[Unit, Context], Outcome]]:
        return {"fake": self, "fit": self, "cmll": self}


def fake(method: str, dataset: str = "digits", **settings: Any) -> Unit:
    return Unit("fake", method, dataset, {"method": method, **settings})


def experiment(*methods: str, rows: tuple[str, ...] = ("digits",), **more: Any) -> Experiment:
    def value(method: str) -> Callable[[Runner, Row, Options], float]:
        return lambda runner, row, options: float(
            runner.values(fake(method, row.dataset, row=row.label))["value"]
        )

    columns = tuple(Column(m, m.upper(), PLL, value(m), m) for m in methods)
    return Experiment(
        "fake-table1", "a fake", tuple(Row(r, "digits") for r in rows), columns, **more
    )


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["reproduce", *arguments])


# ---- the papers' numbers ----


def test_every_published_column_is_there() -> None:
    n_printed = 0
    for found in papers.catalogue().values():
        for column in found.columns:
            if found.table is None:
                assert column.paper is None
                continue
            printed = [found.printed(row, column) for row in found.rows]
            assert all(number is not None for number in printed), (found.name, column.paper)
            n_printed += len(printed)
    assert n_printed > 1000


def test_numbers_as_printed() -> None:
    table3 = papers.published("lowd2014_table3_ncmll_npll")
    assert table3["ad"]["ncmll_dtl1"] == -0.006
    assert len(table3) == 20
    assert papers.published("davis2010_table2_cmll_minutes")["nltcs"]["cmll_blm"] == -5.253


def test_the_papers_tests_come_out_of_their_tables() -> None:
    # What the papers say of their own tables; they seem to use the normal approximation.
    def p(table: str, first: str, second: str) -> float:
        rows = papers.published(table).values()
        return fs.evaluation.compare_scores(
            [row[first] for row in rows], [row[second] for row in rows]
        ).p_value

    assert p("vanhaaren2012_table2_cmll", "gssl", "dtsl") == pytest.approx(0.0193, abs=0.003)
    assert p("vanhaaren2012_table2_cmll", "gssl", "blm") == pytest.approx(0.0002, abs=0.0002)
    one_sided = p("davis2010_table2_cmll_minutes", "cmll_blm", "cmll_dp") / 2
    assert one_sided == pytest.approx(0.032, abs=0.001)
    assert p("lowd2014_table3_ncmll_npll", "ncmll_dtsl", "ncmll_dp") < 0.001


def test_all_that_was_promised_is_listed() -> None:
    listed = papers.names()
    for name in (
        *(f"lowd2014-table{n}" for n in (2, 3, 4, 5)),
        *(f"lowd2014-figure{n}" for n in (3, 4, 6, 7, 8)),
        *("davis2010-table2", "davis2010-lesion-k1", "davis2010-lesion-hamming"),
        *("lowd2012-table4", "lowd2012-table5", "lowd2012-figure1"),
        *(f"vanhaaren2012-table{n}" for n in (2, 3, 4, 5)),
        *("lee2007-figure1a", "lee2007-figure1b", "lee2007-figure1c", "lee2007-figure2"),
    ):
        assert name in listed


@pytest.mark.parametrize(
    "name", ["lowd2014-table3", "lowd2014 table 3", "lowd2014_table3", "LOWD2014 Table3"]
)
def test_names_are_found_however_written(name: str) -> None:
    assert [found.name for found in papers.find_experiments([name])] == ["lowd2014-table3"]


def test_names_of_papers_and_halves_of_figures() -> None:
    assert len(papers.find_experiments(["lowd2014"])) == 9
    assert papers.find_experiments(["lowd2014 figure 9"])[0].name == "lowd2014-figure8"
    assert len(papers.find_experiments(["lee2007-figure1"])) == 3
    assert len(papers.find_experiments(["all"])) == len(papers.names())
    with pytest.raises(ValueError, match="did you mean lowd2014-table3"):
        papers.find_experiments(["lowd2015-table3"])


# ---- keys ----


def test_a_key_is_of_all_that_the_result_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    base = unit_key(fake("a"), {"kappa": 1}, None)
    assert base == unit_key(fake("a"), {"kappa": 1}, None)
    others = [
        unit_key(fake("a", seed=1), {"kappa": 1}, None),
        unit_key(fake("a"), {"kappa": 2}, None),
        unit_key(fake("a"), {"kappa": 1}, "network"),
        unit_key(fake("a", "nltcs"), {"kappa": 1}, None),
        unit_key(Unit("fit", "a", "digits"), {"kappa": 1}, None),
    ]
    monkeypatch.setattr("feldspar.reproduce._units._core.__version__", "99")
    others.append(unit_key(fake("a"), {"kappa": 1}, None))
    assert len({base, *others}) == 7


def test_keys_of_benchmark_sets_need_no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FELDSPAR_DATA", "/nowhere")
    assert data_checksum("nltcs") != data_checksum("plants")


def test_threads_and_limits_are_no_part_of_a_key() -> None:
    params = _kinds.learner_params(L1)
    assert not {"n_jobs", "verbose", "on_interrupt", "time_limit"} & set(params)
    assert params["C"] == 0.05
    assert params["gamma"] == 0.25  # a default, but one that results depend on
    nested = LearnerSpec("DTL1", {"l1": L1})
    assert "n_jobs" not in _kinds.learner_params(nested)["l1"]


# ---- the runner ----


def test_units_are_run_once_and_found_again(tmp_path: Path) -> None:
    count = Counter()
    for _ in range(2):
        runner = Runner(Store(tmp_path), kinds=count.kinds)
        assert runner.values(fake("abc"))["value"] == 3.0
        assert runner.values(fake("abc"))["value"] == 3.0
    assert count.ran == ["digits: fake abc"]


def test_again_runs_each_unit_once_more(tmp_path: Path) -> None:
    count = Counter()
    Runner(Store(tmp_path), kinds=count.kinds).values(fake("a"))
    runner = Runner(Store(tmp_path), kinds=count.kinds, again=True)
    runner.values(fake("a"))
    runner.values(fake("a"))
    assert len(count.ran) == 2


def test_a_record_tells_how_it_was_made(tmp_path: Path) -> None:
    runner = Runner(Store(tmp_path), kinds=Counter().kinds, n_jobs=2)
    runner.values(fake("a", seed=5))
    (file,) = (tmp_path / "units").iterdir()
    record = json.loads(file.read_text())
    assert record["unit"]["settings"] == {"method": "a", "seed": 5}
    assert record["versions"]["feldspar"] == fs.__version__
    assert set(record["machine"]) == {"cpu", "cores", "system"}
    assert record["n_jobs"] == 2
    assert record["status"] == "done"
    assert str(tmp_path) not in file.read_text()


def test_a_damaged_or_half_written_record_is_run_again(tmp_path: Path) -> None:
    count = Counter()
    Runner(Store(tmp_path), kinds=count.kinds).values(fake("a"))
    (file,) = (tmp_path / "units").iterdir()
    whole = file.read_text()
    for text in ("", whole[: len(whole) // 2], "[]", whole.replace('"key": "', '"key": "x')):
        file.write_text(text)
        Runner(Store(tmp_path), kinds=count.kinds).values(fake("a"))
    assert len(count.ran) == 5


def test_a_failure_is_told_kept_and_tried_again(tmp_path: Path) -> None:
    log: list[str] = []
    broken = Counter(fails="bad")
    runner = Runner(Store(tmp_path), kinds=broken.kinds, report=log.append)
    for _ in range(2):
        with pytest.raises(MissingError, match="bad does not like this"):
            runner.values(fake("bad"))
    assert broken.ran == ["digits: fake bad"]
    assert log[-1] == "digits: fake bad: failed: bad does not like this"
    # Looking only, the reason is still known; running, it gets another chance.
    with pytest.raises(MissingError, match="does not like"):
        Runner(Store(tmp_path), may_run=False).values(fake("bad"))
    assert Runner(Store(tmp_path), kinds=Counter().kinds).values(fake("bad"))["value"] == 3


def test_an_interruption_leaves_the_rest(tmp_path: Path) -> None:
    def interrupted(unit: Unit, context: Context) -> Outcome:
        if unit.method == "two":
            raise KeyboardInterrupt
        return Outcome({"value": 1.0})

    runner = Runner(Store(tmp_path), kinds={"fake": interrupted})
    runner.values(fake("one"))
    with pytest.raises(KeyboardInterrupt):
        runner.values(fake("two"))
    count = Counter()
    resumed = Runner(Store(tmp_path), kinds=count.kinds)
    assert resumed.values(fake("one"))["value"] == 1.0
    resumed.values(fake("two"))
    assert count.ran == ["digits: fake two"]


def test_a_learner_goes_on_from_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Resumable(fs.L1Neighborhood):
        def __init__(self, *, C: float = 0.05, checkpoint: Path | None = None) -> None:
            super().__init__(C=C, rule="or", prior_sd=1.0)
            self.checkpoint = checkpoint

        def fit(self, *args: Any, **kwargs: Any) -> Any:
            assert self.checkpoint is not None
            is_broken = not self.checkpoint.exists()
            self.checkpoint.write_text("half way")
            if is_broken:
                raise KeyboardInterrupt
            return super().fit(*args, **kwargs)

    monkeypatch.setattr("feldspar.learners.Resumable", Resumable, raising=False)
    unit = fit_unit("r", LearnerSpec("Resumable"), "digits")
    with pytest.raises(KeyboardInterrupt):
        Runner(Store(tmp_path)).values(unit)
    values = Runner(Store(tmp_path)).values(unit)
    assert values["pll"] < 0
    assert "seconds" not in values  # those before the break are not known
    assert list((tmp_path / "checkpoints").iterdir()) == []


def test_numbers_that_are_not_finite_are_missing(tmp_path: Path) -> None:
    def infinite(unit: Unit, context: Context) -> Outcome:
        return Outcome({"cmll": -np.inf, "trials": [{"valid_pll": np.nan}]})

    runner = Runner(Store(tmp_path), kinds={"fake": infinite})
    value = number_of(lambda row: fake("a"), "cmll")
    with pytest.raises(MissingError, match="cmll is not finite"):
        value(runner, Row("digits", "digits"), Options(GIBBS))


def test_a_bug_is_not_hidden(tmp_path: Path) -> None:
    def broken(unit: Unit, context: Context) -> Outcome:
        raise KeyError("x")

    with pytest.raises(KeyError):
        Runner(Store(tmp_path), kinds={"fake": broken}).values(fake("a"))


def test_the_budget_starts_nothing_when_it_is_over(tmp_path: Path) -> None:
    slow = Counter(seconds=0.05)
    runner = Runner(Store(tmp_path), kinds=slow.kinds, budget=0.07)
    done, missing = [], []
    for number in range(6):
        try:
            done.append(runner.values(fake("u", number=number)))
        except MissingError as reason:
            missing.append(str(reason))
    assert 1 <= len(done) == len(slow.ran) <= 2
    assert set(missing) == {"not run: the budget was over"}
    # What is there costs nothing and is given even without a budget.
    broke = Runner(Store(tmp_path), kinds=slow.kinds, budget=0)
    assert broke.values(fake("u", number=0))["value"] == 1.0


def test_the_next_run_goes_on(tmp_path: Path) -> None:
    slow = Counter(seconds=0.03)
    units = [fake("u", number=number) for number in range(4)]
    n_calls = 0
    while len(slow.ran) < len(units):
        runner = Runner(Store(tmp_path), kinds=slow.kinds, budget=0.04)
        n_calls += 1
        for unit in units:
            try:
                runner.values(unit)
            except MissingError:
                break
    assert len(slow.ran) == len(units)
    assert n_calls > 1


def test_a_result_that_hit_a_shorter_limit_is_run_again(tmp_path: Path) -> None:
    ran: list[float | None] = []

    def limited(unit: Unit, context: Context) -> Outcome:
        import warnings

        ran.append(context.time_limit)
        if context.time_limit is not None and context.time_limit < 5:
            warnings.warn("the time_limit of 1 s is over", stacklevel=1)
        return Outcome({"value": 0.0})

    def values(time_limit: float | None) -> None:
        Runner(Store(tmp_path), kinds={"fake": limited}, time_limit=time_limit).values(fake("a"))

    for limit in (1.0, 1.0, 0.5, 2.0, 10.0, 3.0, None):
        values(limit)
    # Not for less time; once it was done in time, never again.
    assert ran == [1.0, 2.0, 10.0]


def test_what_a_limit_cut_short_is_marked(tmp_path: Path) -> None:
    def limited(unit: Unit, context: Context) -> Outcome:
        import warnings

        if unit.method == "slow":
            warnings.warn("the time_limit of 1 s is over", stacklevel=1)
        return Outcome({"value": 5.0})

    runner = Runner(Store(tmp_path), kinds={"fake": limited}, time_limit=1.0)
    found = carry_out(experiment("slow", "fast"), runner, Options(GIBBS))
    assert [cell.is_limited for cell in found.cells] == [True, False]
    text = experiment_markdown(found)
    assert "| 5.000* | 5.000 |" in text
    assert "Stopped by its time limit" in text
    assert fs.__version__ in runner.origins()[0]


def test_a_time_that_was_cut_short_is_compared_with_none() -> None:
    column = experiment("slow").columns[0]
    for measure, compared in ((Measure("seconds", 2, "ratio"), None), (column.measure, 2.0)):
        own = dataclasses.replace(column, measure=measure)
        cell = Cell(Row("nltcs", "nltcs"), own, 5.0, 3.0, is_limited=True)
        assert cell.compared == compared


def test_equal_networks_share_their_scores(tmp_path: Path) -> None:
    count = Counter()
    runner = Runner(Store(tmp_path), kinds=count.kinds)
    for method, C in (("one", 0.05), ("two", 0.1)):
        spec = LearnerSpec("L1Neighborhood", {"C": C})
        fit = fit_unit(method, spec, "digits")
        assert runner.values(cmll_unit(fit, QUICK_CMLL))["value"] > 0
    # The fake networks have one checksum: the second score is the first one's.
    assert count.ran == ["digits: fit one", "digits: cmll one", "digits: fit two"]


def test_a_data_set_that_is_not_here_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FELDSPAR_DATA", str(tmp_path))
    monkeypatch.setenv("FELDSPAR_CACHE", str(tmp_path))
    count = Counter()
    with pytest.raises(MissingError, match="the data set is not here"):
        Runner(Store(tmp_path), kinds=count.kinds).values(fake("a", "nltcs"))
    assert count.ran == []


# ---- what units do ----


def test_fit_and_cmll_are_the_learner_s(tmp_path: Path) -> None:
    runner = Runner(Store(tmp_path))
    fit = fit_unit("l1", L1, "digits")
    values = runner.values(fit)
    data = fs.datasets.load("digits")
    network = make_learner(L1).fit(data.train, X_valid=data.valid).network_
    assert values["pll"] == pytest.approx(network.score(data.test))
    assert values["npll"] == pytest.approx(network.score(data.test) / 65)
    assert values["n_features"] == len(network.features)
    assert values["mean_length"] == pytest.approx(network.features.lengths.mean())
    assert values["network_sha256"] == network_checksum(network)
    expected = network.cmll(data.test, **QUICK_CMLL).mean
    assert runner.values(cmll_unit(fit, QUICK_CMLL))["cmll"] == pytest.approx(expected)
    # From the file of another process, too.
    for file in (tmp_path / "units").glob("*cmll*"):
        file.unlink()
    later = Runner(Store(tmp_path))
    assert later.values(cmll_unit(fit, QUICK_CMLL))["cmll"] == pytest.approx(expected)


def test_a_share_of_the_rows_is_within_a_larger_one() -> None:
    train = fs.datasets.load("digits").train
    small, large = (_kinds._share(train, share).codes for share in (0.25, 0.5))
    assert (len(small), len(large)) == (314, 629)
    rows = {row.tobytes() for row in large}
    assert all(row.tobytes() in rows for row in small)


def test_conversions_lose_what_they_lose(tmp_path: Path) -> None:
    spec = LearnerSpec("DependencyNetwork", {"cpd": "tree", "kappa": 0.01})
    values = Runner(Store(tmp_path)).values(Unit("conversions", "dn", "digits", {}, spec))
    assert list(values["npll_lost"]) == [title for title, *_ in _kinds.CONVERSIONS]
    data = fs.datasets.load("digits")
    source = fs.DependencyNetwork(cpd="tree", kappa=0.01).fit(data.train, X_valid=data.valid)
    markov = source.to_markov(orders="opposite", base="marginals")
    lost = source.score(data.test) / 65 - markov.score(data.test) / 65
    assert values["npll_lost"]["two orders, marginals"] == pytest.approx(lost)


def test_recovery_of_a_known_structure(tmp_path: Path) -> None:
    settings = {"n_variables": 6, "n_neighbors": 2, "n_train": 2000, "n_test": 50, "seed": 0}
    settings["edge_threshold"] = 0.1
    runner = Runner(Store(tmp_path))
    true = runner.values(Unit("recovery", "true", "synthetic", settings))
    assert true["hamming"] == 0
    spec = LearnerSpec("L1Neighborhood", {"C": 0.05, "rule": "and", "prior_sd": 1.0})
    learned = runner.values(Unit("recovery", "l1", "synthetic", settings, spec))
    assert learned["hamming"] <= 3
    none = LearnerSpec("L1Neighborhood", {"C": 1e-9, "rule": "and", "prior_sd": 1.0})
    nothing = runner.values(Unit("recovery", "none", "synthetic", settings, none))
    assert nothing["n_edges"] == 0
    assert nothing["hamming"] > learned["hamming"]
    assert nothing["cmll"] < learned["cmll"]


def test_digits_of_one_kind(tmp_path: Path) -> None:
    unit = Unit("digit", "l1", "digits", {"digit": 3, "n_train": 50, "seed": 0}, L1)
    assert -64 * np.log(2) < Runner(Store(tmp_path)).values(unit)["cmll"] < 0


def test_a_learner_that_is_not_there_is_told() -> None:
    with pytest.raises(UnitError, match="this version of feldspar has no learner Oracle"):
        make_learner(LearnerSpec("Oracle"))
    with pytest.raises(UnitError, match="DTSL has no parameter depth; it has conversion, "):
        make_learner(LearnerSpec("DTSL", {"depth": 3}))


def test_learners_that_are_there_know_their_parameters() -> None:
    from feldspar import learners

    units: list[Unit] = []
    noted = Runner(Store(Path()), may_run=False)
    chosen = {"values": {"best_params": {"C": 1.0}}, "hit_time_limit": False}
    noted.result = lambda unit: units.append(unit) or chosen  # type: ignore[method-assign]
    for found in papers.catalogue().values():
        for column in found.columns:
            with pytest.raises(MissingError):
                column.value(noted, found.rows[0], Options(GIBBS))
    specs = {id(u.learner): u.learner for u in units if u.learner is not None}.values()
    assert len(specs) > 10
    for spec in specs:
        if hasattr(learners, spec.name):
            make_learner(spec)


# ---- tables ----


@pytest.fixture
def result(tmp_path: Path) -> ExperimentResult:
    made = experiment("dp", "dtsl", "missing", rows=("nltcs", "plants"), tests=(("dtsl", "dp"),))
    made = Experiment(
        **{**vars(made), "table": "lowd2014_table4_seconds", "departures": ("Not theirs.",)}
    )
    columns = tuple(
        Column(c.method, c.title, c.measure, c.value, None if c.method == "missing" else c.method)
        for c in made.columns
    )
    made = Experiment(**{**vars(made), "columns": columns})
    runner = Runner(Store(tmp_path), kinds=Counter(fails="missing").kinds)
    return carry_out(made, runner, Options(GIBBS))


def test_cells_are_beside_the_paper_s(result: ExperimentResult) -> None:
    cell = result.cells[1]
    assert (cell.row.label, cell.column.method) == ("nltcs", "dtsl")
    assert (cell.ours, cell.paper, cell.compared) == (4.0, 1089.0, 4.0 - 1089.0)
    assert not result.is_complete
    missing = [cell for cell in result.cells if cell.ours is None]
    assert [cell.row.label for cell in missing] == ["nltcs", "plants"]
    assert result.missing() == {"missing does not like this": {"MISSING": ["nltcs", "plants"]}}


def test_scores_are_counted_per_variable(result: ExperimentResult) -> None:
    assert result.cells[1].per_variable == pytest.approx((4 - 1089) / 65)
    counts = result.standing(result.cells[1].column)
    assert counts == {"better": 0, "equal": 0, "worse": 2, "stopped": 0}


def test_scores_of_stopped_learners_are_counted_as_such_and_tested_with_none(
    result: ExperimentResult,
) -> None:
    stopped = [
        dataclasses.replace(cell, is_limited=cell.column.method == "dtsl") for cell in result.cells
    ]
    found = dataclasses.replace(result, cells=tuple(stopped))
    assert found.standing(found.cells[1].column)["stopped"] == 2
    assert found.tests() == []
    text = experiment_markdown(found)
    assert "of these stopped" in text
    assert "| DTSL | 0 | 0 | 2 | 2 |" in text
    assert "of these stopped" not in experiment_markdown(result)


def test_tests_are_of_ours_and_of_the_paper_s(result: ExperimentResult) -> None:
    (test,) = result.tests()
    assert (test.first, test.second) == ("DTSL", "DP")
    assert (test.ours.wins, test.ours.n) == (2, 2)  # names of four letters against two
    assert test.paper is not None
    assert test.paper.losses == 2
    assert test.paper_all is not None
    assert test.paper_all.n == 20


def test_times_are_ratios_and_shorter_is_better(tmp_path: Path) -> None:
    seconds = Measure("seconds", 2, "ratio")
    made = experiment("a", "abcd", rows=("x", "y"), tests=(("a", "abcd"),))
    columns = tuple(Column(c.method, c.title, seconds, c.value, None) for c in made.columns)
    made = Experiment(**{**vars(made), "columns": columns})
    found = carry_out(made, Runner(Store(tmp_path), kinds=Counter().kinds), Options(GIBBS))
    (test,) = found.tests()
    assert test.ours.wins == 2


def test_texts(result: ExperimentResult) -> None:
    text = experiment_markdown(result, "picture.svg")
    assert "| nltcs | 1,934.000 | 2.000 | −1,932.000 | 1,089.000 | 4.000 | −1,085.000 |" in text
    assert "missing does not like this: MISSING everywhere" in text
    assert "![a fake](picture.svg)" in text
    assert "- Not theirs." in text
    assert "2:0:0" in text
    page = results_page([result], {"fake-table1": "results/a.svg"})
    assert "do not edit" in page
    assert "| [fake-table1](#fake-table1) | a fake | 4 of 6 |" in page
    assert "made with x 1" in results_page([result], {}, origins=["made with x 1"])
    assert len(result.to_csv().splitlines()) == 7
    json.dumps(result.to_dict(), allow_nan=False)


def test_selections_must_be_known(tmp_path: Path) -> None:
    runner = Runner(Store(tmp_path), kinds=Counter().kinds)
    made = experiment("a", "b")
    only = carry_out(made, runner, Options(GIBBS), methods=["b"])
    assert [cell.column.method for cell in only.cells] == ["b"]
    with pytest.raises(ValueError, match="there is no method 'c' here; expected a, b"):
        carry_out(made, runner, Options(GIBBS), methods=["c"])


def test_every_form_of_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")

    class Numbers(Runner):
        def values(self, unit: Unit) -> dict[str, Any]:
            n = 1.0 + len(unit.method)
            parts = {"structure": n, "weights": n, "total": n}
            scores = {"cmll": -n, "ncmll": -n, "npll": -n, "pll": -n, "hamming": n}
            lost = {title: n / 100 for title, *_ in _kinds.CONVERSIONS}
            sizes = {"n_features": n, "n_nonzero": n, "mean_length": n, "mean_nonzero_length": n}
            times = n if unit.kind == "recovery" else parts
            return {**scores, **sizes, "seconds": times, "npll_lost": lost, "best_params": {}}

    drawn = set()
    for found in papers.catalogue().values():
        if found.figure in drawn:
            continue
        names = list(found.datasets)[:2]
        made = carry_out(found, Numbers(Store(tmp_path)), Options(GIBBS), datasets=names)
        figure = draw(made)
        drawn.add(found.figure)
        assert (figure is None) == (found.figure == "none")
        if figure is not None and found.figure == "lines":
            assert picture(figure, "svg") == picture(figure, "svg")
    assert drawn == set(_run.draw.__globals__["FORMS"])


def test_a_learning_curve_has_more_than_one_point(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")

    class Numbers(Runner):
        def values(self, unit: Unit) -> dict[str, Any]:
            assert unit.of is not None
            if unit.dataset == "nltcs" and "share" in unit.of.settings:
                raise MissingError("not run")
            return {"ncmll": -1.0}

    found = papers.catalogue()["lowd2014-figure8"]
    made = carry_out(found, Numbers(Store(tmp_path)), Options(GIBBS), datasets=["nltcs", "plants"])
    figure = draw(made)
    assert figure is not None
    assert [axis.get_title() for axis in figure.axes] == ["plants"]


# ---- the whole ----


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """The catalogue with one small experiment, whose units only count."""
    count = Counter()
    made = experiment("dp", "dtsl", table="lowd2014_table4_seconds", rows=("nltcs", "plants"))
    monkeypatch.setattr(_run, "catalogue", lambda: {made.name: made})
    monkeypatch.setattr("feldspar.reproduce._runner.KINDS", count.kinds)
    monkeypatch.setattr(
        _run.reproduce,
        "__kwdefaults__",
        {
            **(_run.reproduce.__kwdefaults__ or {}),
            "kinds": count.kinds,
        },
    )
    return count


def test_the_command_writes_tables_and_resumes(
    quick: Counter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = run("fake-table1", "--output", "out", "--json")
    assert first.exit_code == 0, first.output
    assert "digits: fake dp: 0.0 s" in first.stderr
    plain = json.loads(first.stdout)
    assert plain["experiments"][0]["complete"]
    written = {path.name for path in Path("out").iterdir()}
    assert {"fake-table1.json", "fake-table1.csv", "fake-table1.md", "units"} <= written
    second = run("fake-table1", "--output", "out")
    assert second.stderr == ""
    assert len(quick.ran) == 4
    assert "DTSL ours" in second.stdout


def test_the_command_tells_what_is_missing(
    quick: Counter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("fake-table1", "--budget", "0")
    assert result.exit_code == 3
    assert "missing, 4: DP, DTSL: not run: the budget was over" in result.stdout
    assert "the same command goes on" in result.stderr
    assert quick.ran == []


def test_the_page_runs_nothing(
    quick: Counter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("fake-table1", "--methods", "dp", "--output", "out")
    assert len(quick.ran) == 2
    result = run("--page", "results.md", "--output", "out")
    assert result.exit_code == 0, result.output
    assert len(quick.ran) == 2
    text = Path("results.md").read_text()
    assert "2 of 4" in text
    assert "not run: DTSL everywhere" in text
    for link in (line.split("](")[1].rstrip(")") for line in text.splitlines() if "![" in line):
        assert Path(link).exists()


def test_wrong_use_of_the_command() -> None:
    assert run().exit_code == 2
    assert "name a TABLE" in run().stderr
    wrong = run("lowd2014-table33")
    assert wrong.exit_code == 1
    assert "did you mean" in wrong.stderr
    assert "no data set 'nope' here" in run("lowd2014-table3", "--datasets", "nope").stderr
    assert "no method 'nope' here" in run("lowd2014-table3", "--methods", "nope").stderr
    assert run("--page", "absent/results.md").exit_code == 2


def test_a_choice_that_leaves_no_experiment(tmp_path: Path) -> None:
    names = ["lowd2014-table3", "lee2007-figure1a"]
    chosen = run(*names, "--datasets", "nltcs", "--methods", "true", "--output", str(tmp_path))
    assert chosen.exit_code == 1
    told = "none of these experiments has both these data sets and these methods"
    assert told in chosen.stderr
    with pytest.raises(ValueError, match=told):
        papers.reproduce(names, datasets=["nltcs"], methods=["true"], output=tmp_path)


def test_the_folder_of_the_page_is_looked_for_before_the_work(
    quick: Counter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lost = run("fake-table1", "--page", "absent/results.md")
    assert lost.exit_code == 2
    assert "--page" in lost.stderr
    assert quick.ran == []
    made = run("fake-table1", "--output", "new/deep", "--page", "new/results.md")
    assert made.exit_code == 0, made.output
    assert Path("new/results.md").exists()


def test_the_list_names_all() -> None:
    listed = json.loads(run("--list", "--json").stdout)["experiments"]
    assert [entry["name"] for entry in listed] == papers.names()
    shown = run("--list").stdout
    assert all(name in shown for name in papers.names())
    assert "made on the way" in shown
