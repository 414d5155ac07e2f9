"""Reports: comparisons say what the networks say, and pages need nothing from elsewhere."""

import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import feldspar as fs
from feldspar.report import (
    Comparison,
    ComparisonData,
    Page,
    compare_learners,
    comparison_page,
    contender,
)
from feldspar.report.comparison import network_figure
from feldspar.report.svg import Bar, Series, bar_chart, dot_chart, graph, pixels, point_chart

NAMES = ["a<b", "x & y", "snow", "wind"]


class Checker(HTMLParser):
    """Reads a page; knows its tags, and fails on one that is not closed in its turn."""

    VOID = ("meta", "link", "circle", "line", "rect", "polyline", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in self.VOID or tag in ("circle", "rect", "line"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def table() -> fs.Table:
    random = np.random.RandomState(0)
    first = random.randint(2, size=400)
    second = np.where(random.random_sample(400) < 0.9, first, 1 - first)
    third = np.where(random.random_sample(400) < 0.8, 1 - first, first)
    fourth = random.randint(3, size=400)
    codes = np.column_stack([first, second, third, fourth])
    return fs.Table(codes, fs.Schema([2, 2, 2, 3], names=NAMES))


@pytest.fixture(scope="module")
def comparison(table: fs.Table) -> Comparison:
    learners = {
        "trees": fs.DTSL(kappa=0.1, conversion="prune", prior_sd=[1.0, 0.1]),
        "pairs": fs.L1Neighborhood(C=[0.1, 1.0], rule="or", prior_sd=1.0),
    }
    return compare_learners(
        learners, table[:200], X_valid=table[200:300], X_test=table[300:], name="we & <ather>"
    )


def test_scores_are_those_of_the_networks(comparison: Comparison, table: fs.Table) -> None:
    for one in comparison.contenders:
        assert one.pll["test"].mean == pytest.approx(one.network.score(table[300:]))
        assert one.pll["train"].mean == pytest.approx(one.network.score(table[:200]))
    assert comparison.data.judged_by == "test"


def test_the_gap_to_the_best_is_paired(comparison: Comparison) -> None:
    best = comparison.best
    other = next(one for one in comparison.contenders if one is not best)
    gap, error = comparison.behind_best(other)
    per_row = best.pll["test"].per_example - other.pll["test"].per_example
    assert gap == pytest.approx(per_row.mean())
    assert error == pytest.approx(per_row.std(ddof=1) / math.sqrt(len(per_row)))
    assert comparison.behind_best(best)[0] == 0


def test_weights_of_rows_count(table: fs.Table) -> None:
    weights = np.arange(1.0, 101.0)
    weighted = fs.Table(table.codes[300:], table.schema, weights)
    repeated = table.codes[300:].repeat(weights.astype(int), axis=0)
    learner = fs.L1Neighborhood(C=1.0, rule="or", prior_sd=1.0)
    other = fs.L1Neighborhood(C=0.01, rule="or", prior_sd=1.0)
    gaps = []
    for test in (weighted, fs.Table(repeated, table.schema)):
        found = compare_learners({"a": learner, "b": other}, table[:300], X_test=test)
        gaps.append([found.behind_best(one) for one in found.contenders])
    np.testing.assert_allclose(gaps[0], gaps[1], rtol=1e-9)


def test_without_validation_rows_all_tune_by_the_same(table: fs.Table) -> None:
    data = ComparisonData.of("x", table, seed=3)
    assert (len(data.train), len(data.valid)) == (360, 40)
    assert data.judged_by == "valid"
    again = ComparisonData.of("x", table, seed=3)
    np.testing.assert_array_equal(data.valid.codes, again.valid.codes)
    with pytest.raises(ValueError, match="x has 1 row; expected more"):
        ComparisonData.of("x", table[:1])


def with_gaps(table: fs.Table) -> fs.Table:
    codes = table.to_numpy()
    codes[::4, 1] = -1
    return fs.Table(codes, table.schema)


@pytest.mark.filterwarnings("ignore::feldspar.missing.MissingValuesWarning")
def test_complete_rows_are_scored(table: fs.Table) -> None:
    learners = {"alone": fs.Independent(prior_sd=1.0), "pairs": fs.L1Neighborhood(C=0.1)}
    test = with_gaps(table[300:])
    found = compare_learners(learners, with_gaps(table[:300]), X_test=test)
    complete = test[(test.codes >= 0).all(axis=1)]
    for one in found.contenders:
        assert one.pll["test"].mean == pytest.approx(one.network.score(complete))
    assert found.behind_best(found.best)[0] == 0
    assert found.data.scored_note() == (
        "only complete rows are scored: 203 of 278 train, 22 of 22 valid, 75 of 100 test"
    )
    assert found.to_dict()["scored_rows"] == {"train": 203, "valid": 22, "test": 75}
    assert "Only complete rows are scored: 203 of 278 train" in comparison_page(found)


def test_rows_that_cannot_be_scored_are_found_before_the_work(table: fs.Table) -> None:
    codes = table.to_numpy()
    codes[:, 2] = -1
    hollow = fs.Table(codes, table.schema)
    expected = "we: the test rows: none of the 400 rows is complete; .* snow .400.; .* to score"
    with pytest.raises(ValueError, match=expected):
        ComparisonData.of("we", table, None, hollow)
    with pytest.raises(ValueError, match="we: none of the 400 rows is complete"):
        ComparisonData.of("we", hollow)


def test_complete_rows_are_tuned_by_where_some_are_held_out(table: fs.Table) -> None:
    data = ComparisonData.of("x", with_gaps(table), seed=3)
    assert (len(data.train), len(data.valid)) == (370, 30)
    assert not data.valid.has_missing


def test_ctrl_c_ends_the_comparison(table: fs.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    from feldspar.learners._search import Search

    take, taken = Search._take, []

    def interrupted(self: Search, contender: object) -> None:
        take(self, contender)
        taken.append(contender)
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "_take", interrupted)
    learner = fs.Independent(prior_sd=[1.0, 0.1])
    with pytest.raises(KeyboardInterrupt):
        compare_learners({"first": learner, "second": learner}, table)
    assert len(taken) == 1
    assert learner.on_interrupt == "return"
    assert not hasattr(learner, "network_")


def test_plain_values_are_json(comparison: Comparison) -> None:
    import json

    plain = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert plain["best"] == comparison.best.name
    assert [one["name"] for one in plain["contenders"]] == ["trees", "pairs"]
    assert plain["contenders"][0]["settings"]["prior_sd"] == [1.0, 0.1]


def test_the_page_is_well_formed_and_needs_nothing(comparison: Comparison) -> None:
    page = comparison_page(comparison)
    seen = Checker(page)
    tags = {tag for tag, *_ in seen.attributes}
    assert not tags & {"script", "img", "iframe", "object", "embed"}
    for tag, name, value in seen.attributes:
        if name in ("src", "href", "xlink:href", "action", "data", "srcset"):
            assert (tag, value) == ("link", "data:,")
        assert not name.startswith("on")
    assert not re.search(r"@import|url\(|https?://(?!www\.w3\.org/2000/svg)", page)
    assert "prefers-color-scheme: dark" in page


def test_the_page_tells_all(comparison: Comparison) -> None:
    page = comparison_page(comparison)
    for one in comparison.contenders:
        assert f"{one.pll['test'].mean:.4f}" in page
    assert "we &amp; &lt;ather&gt;" in page
    assert "a&lt;b" in page  # a node, and features
    assert "a<b" not in page
    assert "seed" in page
    assert fs.__version__ in page
    assert "kappa" in page


def test_a_failure_is_told(comparison: Comparison) -> None:
    told = Comparison(comparison.data, comparison.contenders, {"third": "it <broke>"})
    assert "third failed: it &lt;broke&gt;" in comparison_page(told)
    nothing = Comparison(comparison.data, [], {"third": "broke"})
    assert "third failed" in comparison_page(nothing)
    assert nothing.to_dict()["best"] is None


def test_a_contender_without_features_or_trials(table: fs.Table) -> None:
    empty = fs.MarkovNetwork(fs.FeatureSet(table.schema, []), [])
    data = ComparisonData.of("x", table)
    one = contender("empty", empty, data, settings={}, best_params={}, trials=[], seconds=0.0)
    page = comparison_page(Comparison(data, [one]))
    Checker(page)
    assert "empty: no edges" in page
    assert "<svg" not in page[page.index("Networks") :]


def test_edges_of_a_large_network_are_those_of_its_heart(
    table: fs.Table, comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = comparison.contenders[0]
    whole, caption = network_figure(one)
    assert caption == f"trees: all {len(one.network.edge_strengths())} edges"
    assert "a&lt;b – x &amp; y" in whole
    monkeypatch.setattr("feldspar.report.comparison._EDGE_FEATURES", 3)
    heart, caption = network_figure(one)
    assert "by the 3 features of most account" in caption
    assert heart.count("<line") < whole.count("<line")


def test_cmll_is_shown_where_it_is_known(table: fs.Table, comparison: Comparison) -> None:
    network = comparison.contenders[0].network
    one = contender(
        "a",
        network,
        comparison.data,
        settings={},
        best_params={},
        trials=[],
        seconds=1.0,
        cmll_options={"groups": 2, "method": "exact", "random_state": 1},
    )
    expected = network.cmll(comparison.data.test, groups=2, method="exact", random_state=1)
    assert one.to_dict()["cmll"] == expected.mean
    columns, rows = Comparison(comparison.data, [one]).table()
    assert rows[0][columns.index("CMLL")] == f"{expected.mean:.4f}"


# ---- charts ----


def positions(svg: str, attribute: str) -> list[float]:
    return [float(x) for x in re.findall(rf'<circle [^>]*{attribute}="([-\d.]+)"', svg)]


def test_dots_stand_where_their_values_are() -> None:
    drawn = dot_chart([Bar("a", -3.0, 0.1), Bar("b", -2.0), Bar("c", -2.5)], title="t")
    x = positions(drawn, "cx")
    assert x[0] < x[2] < x[1]
    assert x[2] - x[0] == pytest.approx(x[1] - x[2], abs=0.2)
    Checker(drawn)


@pytest.mark.parametrize("values", [[0.0], [5.0, 5.0], [1e-9, 2e-9], [1e9, 3e9], [-0.001, 0.001]])
def test_charts_of_any_range(values: list[float]) -> None:
    bars = [Bar(f"bar {i}", value) for i, value in enumerate(values)]
    series = [Series("s", [1.0 + i for i in range(len(values))], values)]
    for drawn in (
        dot_chart(bars, title=""),
        bar_chart([Bar(bar.label, abs(bar.value)) for bar in bars], title=""),
        point_chart(series, title="", x_label="x", y_label="y", log_x=True, joined=True),
    ):
        Checker(drawn)
        assert "nan" not in drawn
        assert "inf" not in drawn


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([-0.085, -0.055], ["-0.09", "-0.08", "-0.07", "-0.06", "-0.05"]),
        ([-0.3, 0.3], ["-0.4", "-0.2", "0", "0.2", "0.4"]),
        ([-1500.0, 0.0], ["-1,500", "-1,000", "-500", "0"]),
    ],
)
def test_numbers_below_zero_keep_their_sign(values: list[float], names: list[str]) -> None:
    drawn = dot_chart([Bar(str(i), value) for i, value in enumerate(values)], title="")
    assert re.findall(r'class="tick[^"]*">([^<]*)<', drawn) == names


def test_graphs_are_laid_out_the_same_way_each_time() -> None:
    edges = [(0, 1, 1.0, 1), (1, 2, 0.5, -1), (3, 4, 0.2, 0)]
    names = list("abcde")
    drawn = graph(names, edges, title="g")
    assert drawn == graph(names, edges, title="g")
    assert drawn.count('class="edge against"') == 1
    assert drawn.count('class="edge neutral"') == 1
    x, y = positions(drawn, "cx"), positions(drawn, "cy")
    assert all(0 < place < 460 for place in (*x, *y))
    apart = math.hypot(x[0] - x[3], y[0] - y[3])
    assert math.hypot(x[3] - x[4], y[3] - y[4]) < apart


def test_pixels_are_drawn_where_they_are_dark() -> None:
    image = np.zeros((2, 2))
    image[1, 0] = 1.0
    hidden = np.array([[False, True], [False, False]])
    drawn = pixels(image, title="t", unknown=hidden)
    assert drawn.count('class="ink"') == 1
    assert 'x="0" y="8" width="8" height="8" class="ink"' in drawn
    assert drawn.count('class="unknown"') == 1


def test_pages_escape_what_they_are_given() -> None:
    page = Page("<title>", "<lead>")
    page.heading("<heading>")
    page.paragraph("<paragraph>")
    page.table(["<column>"], [["<cell>"], [None]])
    page.details("<summary>", ["c"], [["<hidden>"]])
    text = page.html()
    Checker(text)
    for word in ("title", "lead", "heading", "paragraph", "column", "cell", "summary", "hidden"):
        assert f"&lt;{word}&gt;" in text
