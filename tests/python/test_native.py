"""Our own format: exact and complete, clear about what is wrong; and the choice by suffix."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import feldspar as fs
from feldspar.io.files import read_text
from feldspar.io.models import load_network, save_network
from feldspar.io.native import format_native, read_native, write_native
from feldspar.io.source import ModelFileError
from feldspar.network import MarkovNetwork
from feldspar.schema import Schema
from random_networks import networks, weights_by_feature

GOLDEN = Path(__file__).parent.parent / "golden"
V1 = GOLDEN / "network_v1.json"

doubles = st.floats(allow_nan=False, allow_infinity=False)
labels = st.text() | st.integers() | doubles | st.booleans()
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | doubles | st.text(),
    lambda values: st.lists(values) | st.dictionaries(st.text(), values),
    max_leaves=5,
)


@st.composite
def labelled_schemas(draw: st.DrawFn) -> Schema:
    names = draw(st.lists(st.text(min_size=1), min_size=1, max_size=3, unique=True))
    given = [draw(st.lists(labels, min_size=2, max_size=4, unique=True)) for _ in names]
    return Schema([len(ls) for ls in given], names=names, labels=given)


def with_types(schema: Schema) -> list[list[tuple[type, object]]]:
    """Labels beside their types, since 1, 1.0 and True are equal."""
    return [[(type(label), label) for label in ls] for ls in schema.labels]


# There and back.


@settings(max_examples=50)
@given(
    network=networks(schema=labelled_schemas(), weights=st.floats(-1e300, 1e300)),
    metadata=st.dictionaries(st.text(), json_values, max_size=3),
)
def test_round_trip_keeps_everything(
    network: MarkovNetwork, metadata: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("native") / "model.json"
    write_native(MarkovNetwork(network.features, network.weights, metadata=metadata), path)
    again = read_native(path)
    assert again.schema == network.schema
    assert with_types(again.schema) == with_types(network.schema)
    assert list(again.features) == list(network.features)
    assert again.weights.tolist() == network.weights.tolist()
    assert again.metadata == metadata


def test_version_1_stays_readable() -> None:
    network = read_native(V1)
    assert network.schema == Schema(
        [2, 3, 2, 4],
        names=["smoker", "age", "größe", "dose"],
        labels=[[False, True], ["young", "middle", "old"], [1, 2], [0.0, 0.5, 1.5, 2.0]],
    )
    assert [type(ls[0]) for ls in network.schema.labels] == [bool, str, int, float]
    assert weights_by_feature(network) == {
        ((0, 1),): -0.1,
        ((0, 1), (1, frozenset({1, 2}))): 1 / 3,
        ((1, 0), (3, frozenset({0, 1, 3}))): 2.5e-17,
        ((0, 0), (1, 2), (2, 0), (3, 3)): -1.2345678901234567,
    }
    assert network.metadata == {"learner": "by hand", "seed": 7}


def test_golden_file_is_what_we_write() -> None:
    def without_writer(text: str) -> str:
        return re.sub(r'"feldspar": ".*"', "", text)

    written = format_native(read_native(V1))
    assert without_writer(written) == without_writer(V1.read_text(encoding="utf-8"))


def test_one_feature_a_line() -> None:
    text = V1.read_text(encoding="utf-8")
    assert sum('"weight"' in line for line in text.splitlines()) == text.count('"weight"') == 4


def test_network_without_features_or_metadata(tmp_path: Path) -> None:
    network = MarkovNetwork.from_terms(Schema([2, 2]), [])
    write_native(network, tmp_path / "model.json")
    assert len(read_native(tmp_path / "model.json").features) == 0


def test_labels_that_are_not_json_are_refused_and_nothing_written(tmp_path: Path) -> None:
    network = MarkovNetwork.from_terms(Schema([2], labels=[[(0, 1), b"x"]]), [])
    with pytest.raises(ValueError, match=r"labels of 'v0': \(0, 1\) cannot be written"):
        write_native(network, tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [math.nan, {1, 2}])
def test_metadata_that_is_not_json_is_refused_and_nothing_written(
    value: object, tmp_path: Path
) -> None:
    network = MarkovNetwork.from_terms(Schema([2]), [([(0, 1)], 1.0)], metadata={"x": value})
    with pytest.raises(ValueError, match="metadata cannot be written as JSON"):
        write_native(network, tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


# What is refused, and where.


def test_text_that_is_not_json_is_placed(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(V1.read_text(encoding="utf-8").replace('"metadata": {', '"metadata": {,'))
    with pytest.raises(ModelFileError, match=r"model\.json, line 10, column 16: not JSON"):
        read_native(path)


@given(data=st.data())
def test_every_cut_of_a_file_is_refused(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = V1.read_text(encoding="utf-8").rstrip()
    path = tmp_path_factory.mktemp("native") / "model.json"
    path.write_text(text[: data.draw(st.integers(0, len(text) - 1))], encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"model\.json, line [0-9]+, column [0-9]+: not JSON"):
        read_native(path)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"version": 1' + "0" * 5000 + "}"], ids=["deep", "long number"]
)
def test_json_beyond_the_parser_names_the_file(text: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(text)
    with pytest.raises(ModelFileError, match=r"model\.json, the file: "):
        read_native(path)


def replaced(*keys: str | int, by: object) -> Callable[[Any], object]:
    """A change of the entry at a path of keys; without keys, of the whole content."""

    def change(content: Any) -> object:
        if not keys:
            return by
        target = content
        for key in keys[:-1]:
            target = target[key]
        target[keys[-1]] = by
        return content

    return change


def dropped(key: str) -> Callable[[Any], object]:
    return lambda content: {k: v for k, v in content.items() if k != key}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (replaced(by=[1, 2]), r"the file: expected an object, got \[1, 2\]"),
        (replaced(by={"nodes": []}), r"format: not a feldspar network.*got None"),
        (replaced("format", by="other"), r"format: not a feldspar network.*got 'other'"),
        (replaced("version", by="1"), r'version: expected an integer.*got "1"'),
        (replaced("version", by=True), r"version: expected an integer.*got true"),
        (replaced("version", by=2), r"version: .*version 2 .*reads up to version 1: upgrade"),
        (dropped("schema"), r"schema: missing"),
        (replaced("schema", by=[]), r"schema: expected an object, got \[\]"),
        (replaced("schema", "cardinalities", by=[2, 3]), r"schema: names: expected 2"),
        (replaced("schema", "cardinalities", 0, by="2"), r"schema: cardinalities\[0\] "),
        (dropped("metadata"), r"metadata: missing"),
        (dropped("features"), r"features: missing"),
        (replaced("features", by={}), r"features: expected a list, got \{\}"),
        (replaced("features", 1, by=[]), r"features\[1\]: expected an object.*got \[\]"),
        (replaced("features", 1, "sd", by=1), r"features\[1\]: expected an object with"),
        (replaced("features", 2, "weight", by="1"), r'features\[2\]\.weight: .*got "1"'),
        (replaced("features", 2, "weight", by=math.nan), r"features\[2\]\.weight: .*got NaN"),
        (replaced("features", 2, "weight", by=True), r"features\[2\]\.weight: .*got true"),
        (replaced("features", 2, "weight", by=10**400), r"features\[2\]\.weight: .*\.\.\.$"),
        (replaced("features", 0, "tests", by=[]), r"features\[0\]\.tests: .*at least one test"),
        (replaced("features", 0, "tests", 0, by=[0]), r"features\[0\]\.tests\[0\]: .*got \[0\]"),
        (replaced("features", 0, "tests", 0, 0, by=4), r"tests\[0\]\[0\]: a?.*0 to 3, got 4"),
        (replaced("features", 0, "tests", 0, 1, by=2), r"tests\[0\]\[1\]: .*0 to 1, got 2"),
        (replaced("features", 0, "tests", 0, 1, by=1.0), r"tests\[0\]\[1\]: .*got 1\.0"),
        (replaced("features", 1, "tests", 1, 1, by=[1, 3]), r"tests\[1\]\[1\]\[1\]: .*got 3"),
        (replaced("features", 1, "tests", 1, 1, by=[]), r"tests\[1\]\[1\]: expected some values"),
        (replaced("features", 1, "tests", 1, 1, by=[0, 1, 2]), r"\[1\]\[1\]: .*not all"),
        (replaced("features", 1, "tests", 1, by=[0, 0]), r"features\[1\]\.tests: .*at most one"),
    ],
)
def test_error_names_the_entry(
    change: Callable[[Any], object], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.json"
    content = json.loads(V1.read_text(encoding="utf-8"))
    path.write_text(json.dumps(change(content)))
    with pytest.raises(ModelFileError, match=rf"model\.json, .*{message}"):
        read_native(path)


# The choice of the format.


@pytest.mark.parametrize("name", ["model.json", "model.mn", "model.uai", "MODEL.MN", "a.mn.gz"])
def test_suffix_chooses_the_format(name: str, tmp_path: Path) -> None:
    network = MarkovNetwork.from_terms(Schema([2, 2]), [([(0, 1), (1, 1)], 0.5)])
    save_network(network, tmp_path / name)
    again = load_network(str(tmp_path / name))
    assert weights_by_feature(again) == pytest.approx(weights_by_feature(network))
    starts = {"json": "{", "mn": "2,2", "uai": "MARKOV"}
    suffix = name.removesuffix(".gz").rsplit(".", 1)[1].lower()
    assert read_text(tmp_path / name).startswith(starts[suffix])


def test_format_overrides_the_suffix(tmp_path: Path) -> None:
    network = MarkovNetwork.from_terms(Schema([2, 2]), [([(0, 1), (1, 1)], 0.5)])
    path = tmp_path / "model.txt"
    save_network(network, path, format="mn")
    assert path.read_text().startswith("2,2\nMN {")
    assert weights_by_feature(load_network(path, format="mn")) == weights_by_feature(network)


def test_unknown_suffix_and_format_list_the_known_ones(tmp_path: Path) -> None:
    network = MarkovNetwork.from_terms(Schema([2]), [])
    path = tmp_path / "model.pkl"
    for attempt in (lambda: save_network(network, path), lambda: load_network(path)):
        with pytest.raises(ValueError, match=r"model\.pkl: .*'json', 'mn', 'uai'.*got '\.pkl'"):
            attempt()
    with pytest.raises(ValueError, match=r"format: expected one of 'json'.*got 'xml'"):
        save_network(network, path, format="xml")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["dn", "dn.gz", "json"])
def test_dependency_networks_are_sent_to_their_reader(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"model.{suffix}"
    fs.DependencyNetwork.from_trees(Schema([2]), {0: [0.5, 0.5]}).save(path)
    with pytest.raises(ValueError, match=r"model\..*feldspar\.DependencyNetwork\.load"):
        MarkovNetwork.load(path)
    with pytest.raises(ValueError, match=r"ends with one of 'json', 'mn', 'uai', got '\.dn'$"):
        save_network(MarkovNetwork.from_terms(Schema([2]), []), tmp_path / "model.dn")


@pytest.mark.parametrize("suffix", ["mn", "uai", "json", "json.gz"])
def test_markov_networks_are_sent_to_their_reader(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"model.{suffix}"
    MarkovNetwork.from_terms(Schema([2, 2]), [([(0, 1), (1, 1)], 0.5)]).save(path)
    with pytest.raises(ValueError, match=r"model\..*feldspar\.MarkovNetwork\.load"):
        fs.DependencyNetwork.load(path)


def test_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="absent"):
        load_network(tmp_path / "absent.mn")
