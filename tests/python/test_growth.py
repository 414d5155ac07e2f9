"""The program that measures how cost grows: its fits, its plan and its page. Nothing is timed."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from growth import inputs, page, plan, tasks
from growth.fits import exponents, predicted, upper_half
from growth.plan import Series
from growth.results import Measured, Results
from growth.runner import is_too_long

MACHINE = {"cpu": "a processor", "cores": 2}


def power_law(exponent: float, factor: float = 1e-3) -> list[tuple[float, float]]:
    return [(size, factor * size**exponent) for size in (10, 30, 100, 300, 1000)]


def results_of(cost: Callable[[Series, int], tuple[float, int]]) -> Results:
    """Return results that are complete."""
    points = [Measured(s.axis, s.task, size, *cost(s, size)) for s, size in plan.points()]
    return Results(MACHINE, points)


def as_explained(series: Series, size: int) -> tuple[float, int]:
    return 1e-6 * size**series.time, int(1e8 * size**series.memory)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.5])
def test_a_power_law_has_its_exponent(exponent: float) -> None:
    found = exponents(power_law(exponent))
    assert found.whole == pytest.approx(exponent)
    assert found.upper == pytest.approx(exponent)


def test_a_fixed_cost_shows_below_not_above() -> None:
    found = exponents([(size, 1.0 + 1e-4 * size**2) for size, _ in power_law(1)])
    assert found.whole is not None
    assert found.upper is not None
    assert found.whole < found.upper < 2


def test_the_upper_half_is_one_of_magnitudes() -> None:
    assert [size for size, _ in upper_half(power_law(1))] == [100, 300, 1000]


def test_few_points_have_no_exponent() -> None:
    assert exponents([]).upper is None
    assert exponents([(10, 1.0)]).whole is None
    assert exponents([(10, 1.0), (100, 10.0), (1000, 100.0)], floor=50.0).whole is None


def test_a_floor_does_not_move_the_upper_half() -> None:
    points = [(10, 0.1), (100, 0.1), (1000, 10.0), (10_000, 1000.0)]
    assert exponents(points, floor=1.0).upper == pytest.approx(2)


def test_the_next_size_is_predicted_from_the_last_two() -> None:
    assert predicted([(1, 5.0), (10, 1.0), (100, 100.0)], 1000) == pytest.approx(10_000)
    assert predicted([(10, 1.0)], 100) is None


def test_noise_does_not_predict_that_more_takes_less() -> None:
    assert predicted([(10, 2.0), (100, 1.0)], 1000) == 1.0


def test_results_come_back_and_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.json"
    results = results_of(as_explained)
    results.save(path)
    assert Results.open(path, MACHINE) == results
    with pytest.raises(SystemExit, match="another processor"):
        Results.open(path, {"cpu": "another processor"})


def test_sizes_beyond_the_limit_and_all_after_them_are_left_out() -> None:
    series = plan.SERIES[0]
    first, second, third, fourth, *_ = plan.axis(series.axis).sizes
    name = (series.axis, series.task)
    results = Results(MACHINE, [Measured(*name, first, 1.0, 1), Measured(*name, second, 3.0, 1)])
    assert not is_too_long(results, series, third, point_seconds=20.0)
    assert is_too_long(results, series, third, point_seconds=5.0)
    assert is_too_long(results, series, fourth, point_seconds=1e9)  # the third is not there
    results.points.append(Measured(*name, third, None, None))  # nor now: it did not end
    assert is_too_long(results, series, fourth, point_seconds=1e9)


def test_plan_and_code_name_the_same() -> None:
    assert set(plan.TASKS) == set(tasks.TASKS) == {series.task for series in plan.SERIES}
    assert {axis.name for axis in plan.AXES} == set(inputs.INPUTS)
    assert {series.axis for series in plan.SERIES} == set(inputs.INPUTS)
    for axis in plan.AXES:
        assert list(axis.sizes) == sorted(axis.sizes)


@pytest.mark.parametrize("series", plan.SERIES, ids=lambda s: f"{s.axis}-{s.task}")
def test_every_task_runs(series: Series, folder: Path) -> None:
    size = plan.axis(series.axis).sizes[0]
    tasks.TASKS[series.task](inputs.INPUTS[series.axis](size, folder))()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the inputs' folder, with a sample of the smallest size only."""
    made = tmp_path_factory.mktemp("growth")
    smallest = tuple(dataclasses.replace(axis, sizes=axis.sizes[:1]) for axis in plan.AXES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "AXES", smallest)
        inputs.ManyRows(smallest[0].sizes[0], made).make_files()
    return made


def test_random_conjunctions_hold_somewhere_and_ascend(tmp_path: Path) -> None:
    made = inputs.ManyFeatures(500, tmp_path)
    assert len(made.features) == 500
    firsts = [feature[0][0] for feature in made.features]
    assert firsts == sorted(firsts)
    for feature in made.features:
        assert 1 <= len(feature) <= 3
        assert np.logical_and.reduce([made.table.codes[:, v] == a for v, a in feature]).any()


def test_the_page_says_when_all_is_well() -> None:
    text = page.page_text(results_of(as_explained), "growth", point_seconds=30)
    assert "Nothing grows faster than its algorithm" in text
    assert "**" not in text
    assert "Left out" not in text
    assert "cpu a processor" in text
    for axis in plan.AXES:
        assert f"(growth/{axis.name}.svg)" in text


def test_the_page_names_what_grows_too_fast() -> None:
    bad = next(one for one in plan.SERIES if one.axis == "rows" and one.task == "score")

    def cost(series: Series, size: int) -> tuple[float, int]:
        seconds, memory = as_explained(series, size)
        return (seconds * size**0.5 if series == bad else seconds), memory

    text = page.page_text(results_of(cost), "growth", point_seconds=30)
    assert "- scores of rows, by rows: seconds 1.50 where 1.00 is explained" in text
    assert text.count("**1.50**") == 1


def test_the_page_says_what_was_left_out() -> None:
    results = results_of(as_explained)
    results.points = [
        point
        for point in results.points
        if (point.axis, point.task) != ("rows", "gibbs") or point.size < 300_000
    ]
    text = page.page_text(results, "growth", point_seconds=30)
    assert "Left out, as a point may take 30 s: Gibbs sampling from 300,000." in text


def test_page_and_pictures_are_the_same_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    results = results_of(as_explained)
    monkeypatch.setattr(plan, "AXES", plan.AXES[:1])
    monkeypatch.setattr(plan, "SERIES", [one for one in plan.SERIES if one.axis == "rows"])
    files = []
    for name in ("first", "second"):
        page.write_page(results, tmp_path / name / "growth.md", point_seconds=30)
        folder = tmp_path / name
        files.append(
            {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        )
    assert files[0] == files[1]
    assert set(files[0]) == {Path("growth.md"), Path("growth/rows.svg")}
