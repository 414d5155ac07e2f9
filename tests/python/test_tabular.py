from __future__ import annotations

import gzip
import io
import os
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feldspar.io.tabular import read_table, write_table
from feldspar.schema import Schema
from feldspar.table import Table

WEATHER = Schema([2, 3], names=["rain", "wind"], labels=[None, ["calm", "breeze", "gale"]])


def csv(text: str, **options) -> Table:
    return read_table(io.StringIO(text), **options)


@pytest.fixture
def write(tmp_path):
    def write_file(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


# --- .data ---


@pytest.mark.parametrize("packed", [False, True])
def test_data(write, packed):
    content = b"0,1,0\n1,*,2\n"
    path = write("x.data.gz", gzip.compress(content)) if packed else write("x.data", content)
    table = read_table(path)
    assert table.to_numpy().tolist() == [[0, 1, 0], [1, -1, 2]]
    assert table.schema == Schema([2, 2, 3])
    assert not table.has_weights
    assert read_table(str(path)) == table


def test_data_with_weights(write):
    table = read_table(write("x.data", "0.2|0,1\n1,0\n"))
    assert table.weights.tolist() == [0.2, 1]


def test_data_from_a_stream():
    assert csv("0 1\n1 0\n", format="data", delimiter=" ").to_numpy().tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0,1\n0,1,1\n", "line 2: expected 2 values as on line 1, got 3"),
        ("0,1\n0,x\n", "line 2, column 2: expected an integer 0 ... 65534 or '[*]', got 'x'"),
        ("0,1.5\n", "line 1, column 2: .* got '1.5'"),
        ("0,nan\n", "line 1, column 2: .* got 'nan'"),
        ("", "no rows: expected one example a line, got an empty text"),
        (b"\x89PNG\r\n\x1a\n", r"line 1, column 1: .* got '\\x89PNG'"),
        ("0|1,0\n0|0,1\n", "all 2 weights are zero"),
        ("-1|1,0\n", "line 1: expected a finite weight >= 0"),
    ],
)
def test_bad_data_names_file_and_place(write, content, message):
    with pytest.raises(ValueError, match=rf"x\.data: {message}|x\.data: .*{message}"):
        read_table(write("x.data", content))


def test_data_under_a_schema(write):
    path = write("x.data", "0,2\n1,0\n1,3\n")
    message = r"x\.data: line 3, column 1 \('wind'\): unseen value 3, expected 0 ... 2 \(calm"
    with pytest.raises(ValueError, match=message):
        read_table(path, schema=WEATHER)
    with pytest.raises(ValueError, match=r"x\.data: expected 1 columns \(v0\), got 2"):
        read_table(path, schema=Schema([4]))
    assert read_table(path, schema=Schema([2, 4])).schema == Schema([2, 4])


def test_data_has_no_weights_column(write):
    with pytest.raises(ValueError, match="has no column names, got 'n'"):
        read_table(write("x.data", "0,1\n"), weights="n")


@pytest.mark.parametrize("damage", ["truncated", "not gzip"])
def test_damaged_gzip(write, damage):
    content = gzip.compress(os.urandom(5000))[:-1000] if damage == "truncated" else b"0,1\n"
    with pytest.raises(ValueError, match=r"x\.data\.gz: .*gzip"):
        read_table(write("x.data.gz", content))


@pytest.mark.parametrize(
    ("name", "rows", "ones"), [("msnbc", 291326, 823365), ("c20ng", 11293, 507962)]
)
def test_large_benchmark_files(benchmark, name, rows, ones):
    train = benchmark(name).train
    assert len(train) == rows
    assert train.to_numpy().sum() == ones


# --- CSV ---


def test_csv_with_header():
    table = csv("rain,wind\nyes,2\nno,0\nno,?\n")
    assert table.schema == Schema([2, 2], names=["rain", "wind"], labels=[["no", "yes"], [0, 2]])
    assert table.to_numpy().tolist() == [[1, 1], [0, 0], [0, -1]]


def test_csv_with_quotes():
    table = csv('"a, b","c\nd"\n"x ""y""",1\nz,0\n')
    assert table.schema.names == ("a, b", "c\nd")
    assert table.schema.labels[0] == ('x "y"', "z")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("0,1\n1,0\n", None),
        ("a,b\na,c\n", None),  # a occurs again: data
        ("yes,yes\nno,yes\n", None),  # yes occurs again, and names would differ
        ("a,?\nb,c\n", None),  # a missing entry is no name
        ("no,3\nyes,3\n", None),  # nor is a number
        ("0,1,2\n1,0,1\n0,0,1\n", ("0", "1", "2")),  # pandas, without names
        ("1,2,3,4\n0,1,1,0\n1,0,1,0\n0,0,0,1\n", ("1", "2", "3", "4")),  # counted from 1
        ("1,2,3\n1,2,3\n0,0,0\n", None),
        ("1,2\n1,0\n", None),  # two numbers in order may be chance
        ("sex,2020,2021\n0,1,1\n1,1,0\n", ("sex", "2020", "2021")),  # sex: no number, as below
        ("sex,2020,2021\nm,1,1\nf,1,2021\n", None),
        ("0,1,2\n0,1,2\n", None),  # 2 occurs again: data
        ("a,b\n0,1\n", ("a", "b")),
        ("a\tb\n0\t1\n", ("a", "b")),
        ("a;b\n0;1\n", ("a", "b")),
    ],
)
def test_headers_are_recognised(text, names):
    table = csv(text)
    assert table.schema.names == (names or tuple(f"v{i}" for i in range(len(table.schema))))
    assert len(table) == text.count("\n") - (names is not None)


def test_header_can_be_said():
    assert csv("a,b\nc,d\n", header=False).schema.labels == (("a", "c"), ("b", "d"))
    assert csv("1,2\n1,0\n", header=True).schema.names == ("1", "2")
    with pytest.raises(ValueError, match="header: expected True, False or 'auto', got 'yes'"):
        csv("1,2\n", header="yes")


def test_a_column_of_weights_has_a_name():
    assert csv("yes,n\nyes,1\nno,2\n", weights="n").schema.names == ("yes",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("yes,b\nyes,1\nno,0\n", "'b' in column 2 stands above numbers only"),
        ("x,3\n1,1\n", "'x' in column 1 stands above numbers only"),
        ("2020,2021,2022\n0,1,1\n1,1,0\n1,0,0\n", "3 of its 3 values occur nowhere else"),
        ("age,size,?\nold,1\xbd,b\nyoung,2,c\nold,2,b\n", "2 of its 3 values occur nowhere else"),
    ],
)
def test_a_line_that_may_be_a_header_earns_a_warning(text, why):
    told = f"line 1 was read as an example, not as a header, but {why}"
    with pytest.warns(UserWarning, match=f"{told}.*header=True.*header=False") as caught:
        table = csv(text)
    assert len(table) == text.count("\n")
    assert caught[0].filename == __file__
    csv(text, header=False)
    assert len(csv(text, header=True)) == text.count("\n") - 1


@pytest.mark.parametrize("name", ["nltcs", "kdd", "plants"])
def test_codes_without_a_header_are_no_header(benchmark, name):
    codes = benchmark(name).train.to_numpy()
    for start in range(0, 2000, 20):
        rows = codes[start : start + 20]
        text = "".join(",".join(map(str, row)) + "\n" for row in rows.tolist())
        assert len(csv(text)) == len(rows)


def test_whole_numbers_beside_gaps():
    frame = pd.DataFrame({"smoker": ["no", "yes", "no"], "age": [3.0, None, -1.0]})
    text = frame.to_csv(index=False)  # 3.0 and -1.0
    schema = csv(text).schema
    assert schema == Table.from_frame(frame).schema
    later = csv("smoker,age\nno,3\nno,-1.0\n", schema=schema)
    assert later.to_numpy().tolist() == [[0, 1], [0, 0]]
    with pytest.raises(ValueError, match=r"line 3, column 'age': unseen value '2\.0'"):
        csv("smoker,age\nno,3\nno,2.0\n", schema=schema)


@pytest.mark.parametrize("text", ["rain\nTrue\nFalse\n\n", "rain\nTRUE\nTRUE\n", "rain\ntrue\n?\n"])
def test_truth_values(text):
    table = csv(text)
    assert table.schema.labels == ((False, True),)
    assert table.to_numpy()[0].tolist() == [1]
    assert csv("rain\ntrue\nperhaps\n").schema.labels == (("perhaps", "true"),)


def test_truth_values_are_not_numbers():
    schema = Schema([2], names=["rain"], labels=[[False, True]])
    with pytest.raises(ValueError, match=r"line 3, column 'rain': unseen value '1\.0'"):
        csv("rain\ntrue\n1.0\n", schema=schema)


def test_integers_are_numbers_to_the_labels():
    table = csv("x\n10\n9\n-1\n+9\n", header=True)
    assert table.schema.labels == ((-1, 9, 10),)
    assert table.to_numpy().ravel().tolist() == [2, 1, 0, 1]


def test_missing_marks_can_be_chosen():
    table = csv("x\na\n?\nNA\n-\n", missing=("-",))
    assert table.schema.labels == (("?", "NA", "a"),)
    assert table.to_numpy().ravel().tolist() == [2, 0, 1, -1]


@pytest.mark.parametrize("missing", ["-9", -9, [-9], np.array([-9, -8])])
def test_a_single_mark_and_numbers_are_marks_too(missing):
    table = csv("x,y\n-9,1\n9,2\n4,1\n", missing=missing)
    assert table.schema.labels[0] == (4, 9)
    assert table.to_numpy()[:, 0].tolist() == [-1, 1, 0]


@pytest.mark.parametrize(
    "header", ['"Calm, at ease, well";sleep', '"a, ""b"",\nc, d";"e, f"', 'a;"x, y, z, u"', '"n";m']
)
def test_delimiters_within_quotes_do_not_count(header):
    assert csv(f"{header}\n1;yes\n2;no\n").schema.labels == ((1, 2), ("no", "yes"))


def test_quotes_count_after_blanks():
    table = csv('a, b\n"x", "1"\n"y",  "2"\n"x", "1"\n')
    assert table.schema.labels == (("x", "y"), (1, 2))
    assert csv('a, b\n"x", "1, 2"\n"y", "3"\n').schema.labels[1] == ("1, 2", "3")


def test_csv_blank_lines_and_blanks_are_skipped():
    table = csv("\na, b\n\n 0,1\n1 ,0\n\n")
    assert table.schema == Schema([2, 2], names=["a", "b"])
    assert table.to_numpy().tolist() == [[0, 1], [1, 0]]


def test_csv_under_a_schema_matches_columns_by_name():
    table = csv("wind,rain\ngale,1\ncalm,NA\n", schema=WEATHER)
    assert table.to_numpy().tolist() == [[1, 2], [-1, 0]]
    assert csv("1,gale\n", schema=WEATHER).to_numpy().tolist() == [[1, 2]]


def test_a_file_with_names_may_lack_optional_columns():
    for header in ("auto", True):
        table = csv("wind\ngale\ncalm\n", schema=WEATHER, optional=["rain"], header=header)
        assert table.to_numpy().tolist() == [[-1, 2], [-1, 0]]
    whole = csv("rain,wind\n1,gale\n", schema=WEATHER, optional=["rain"])
    assert whole.to_numpy().tolist() == [[1, 2]]
    assert csv("1,gale\n", schema=WEATHER, optional=["rain"]).to_numpy().tolist() == [[1, 2]]
    weighted = csv("wind,n\ngale,3\n", schema=WEATHER, optional=["rain"], weights="n")
    assert weighted.weights.tolist() == [3]
    with pytest.raises(ValueError, match="expected the columns rain, wind, got rain"):
        csv("rain\n1\n", schema=WEATHER, optional=["rain"], header=True)
    with pytest.raises(ValueError, match="snow"):
        csv("wind\ngale\n", schema=WEATHER, optional=["snow"])


def test_numbers_are_known_by_their_value():
    schema = Schema([3, 2], names=["dose", "n"], labels=[[0.5, 1.0, 2.0], [1, 2]])
    table = csv("dose,n\n0.50,1\n1,2.0\n2.0,+1\n.5,2e0\n", schema=schema)
    assert table.to_numpy().tolist() == [[0, 0], [1, 1], [2, 0], [0, 1]]
    with pytest.raises(ValueError, match=r"line 2, column 'dose': unseen value '1\.5'"):
        csv("dose,n\n1.5,1\n", schema=schema)


def test_truth_values_are_known_by_any_case():
    schema = Schema([2], names=["x"], labels=[[False, True]])
    table = csv("x\ntrue\nFalse\nTRUE\n", schema=schema)
    assert table.to_numpy().ravel().tolist() == [1, 0, 1]


def test_csv_weights():
    table = csv("x,n\na,2\nb,0.5\n", weights="n")
    assert table.schema.names == ("x",)
    assert table.weights.tolist() == [2, 0.5]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a,b\n0,1\n0\n", {}, "line 3: expected 2 values as on line 1, got 1"),
        ("a,b\n0,1\n0,1,1\n", {}, "line 3: expected 2 values as on line 1, got 3"),
        ("", {}, "the file is empty"),
        ("\n\n", {}, "the file is empty"),
        ("a,b\n", {}, "no rows after line 1, which was taken for a header; .* header=False"),
        ("a,a\n0,1\n", {"header": True}, "line 1: two columns are called 'a'"),
        ("a,b\n0,1\n1,0.5\n", {}, "line 3, column 'b': expected discrete .*'0.5'; .*discretize"),
        ("a,b\n0,?\n1,\n", {}, "column 'b': all values are missing"),
        ("a\nx\n\"y\n", {}, "line 3: unexpected end of data"),
        ("rain,wind\n0,calm\n\n1,storm\n", {"schema": WEATHER},
         "line 4, column 'wind': unseen value 'storm', expected calm, breeze, gale"),
        ("rain,sun\n0,calm\n", {"schema": WEATHER}, "expected the columns rain, wind, got rain"),
        ("0,calm,1\n", {"schema": WEATHER}, "line 1: expected 2 columns .rain, wind., got 3"),
        ("a,n\n0,1\n1,-2\n", {"weights": "n"}, "line 3, column 'n': .* weight >= 0, got '-2'"),
        ("a,n\n0,1\n1,\n", {"weights": "n"}, "line 3, column 'n': .* weight >= 0, got ''"),
        ("a,n\n0,0\n1,0\n", {"weights": "n"}, "column 'n': all weights are 0"),
        ("a,b\n0,1\n", {"weights": "n"}, "no column is called 'n'; got a, b"),
        ("0,1\n", {"weights": "n"}, "weights are in column 'n', but the file has no header"),
        (b"a\n\0\n", {}, "line 2: expected text, got a zero byte"),
        (b"a\n\xff\n", {}, "line 2: expected UTF-8 text"),
    ],
)  # fmt: skip
def test_bad_csv_names_file_and_place(write, content, options, message):
    with pytest.raises(ValueError, match=rf"x\.csv(:|,) {message}"):
        read_table(write("x.csv", content), **options)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_table(tmp_path / "nowhere.csv")


def test_unknown_format():
    with pytest.raises(ValueError, match="format: expected auto, csv, data, parquet, got 'xls'"):
        csv("a\n1\n", format="xls")


# --- Parquet ---


def test_bad_parquet_names_the_file(write):
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=r"x\.parquet: "):
        read_table(write("x.parquet", b"PAR1 or not"))


def test_bad_columns_of_parquet_name_the_file(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": [0.5, 1.0]}), path)
    with pytest.raises(ValueError, match=r"x\.parquet: row 0, column 'x': expected discrete"):
        read_table(path)
    pq.write_table(pa.table({"x": [[1], [2]]}), path)
    with pytest.raises(ValueError, match=r"x\.parquet: column 'x' has type List"):
        read_table(path)


# --- writing ---


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.parquet"])
def test_write_and_read_again(tmp_path, name):
    table = Table([[0, 2], [1, 0], [1, -1], [0, 1]], WEATHER, [1.0, 0.1, 2.5, 3.0])
    write_table(table, tmp_path / name, weights="n")
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert read_table(tmp_path / name, schema=WEATHER, weights="n") == table


@pytest.mark.parametrize("name", ["x.data", "x.data.gz"])
@pytest.mark.parametrize("weights", [None, [1.0, 0.1, 1e-300]])
def test_write_and_read_codes_again(tmp_path, name, weights):
    table = Table([[0, 12], [1, -1], [1, 0]], Schema([2, 13]), weights)
    write_table(table, tmp_path / name)
    assert read_table(tmp_path / name) == table
    assert (tmp_path / name).read_bytes().startswith(b"\x1f\x8b") == name.endswith("gz")


text_labels = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).map(
    lambda text: f"<{text}>"  # no blanks at the ends, no marks of missing entries
)


@given(st.lists(text_labels, min_size=1, max_size=4, unique=True), st.data())
def test_any_label_survives_csv(tmp_path_factory, labels, data):
    schema = Schema([len(labels)], names=["x"], labels=[labels])
    codes = data.draw(st.lists(st.integers(-1, len(labels) - 1), min_size=1))
    table = Table(np.array(codes)[:, None], schema)
    path = tmp_path_factory.mktemp("labels") / "x.csv"
    write_table(table, path)
    assert read_table(path, schema=schema, header=True) == table


@pytest.mark.parametrize("label", ["NA", "?", "", " nan "])
def test_labels_spelled_like_gaps_are_not_written(tmp_path, label):
    table = Table([[0], [1]], Schema([2], names=["answer"], labels=[["yes", label]]))
    message = f"column 'answer': the label {label!r} would be read as a missing entry"
    with pytest.raises(ValueError, match=re.escape(message) + ".*parquet"):
        write_table(table, tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []
    write_table(table, tmp_path / "x.parquet")
    assert read_table(tmp_path / "x.parquet", schema=table.schema) == table
    write_table(table[:1], tmp_path / "x.csv")  # no row has it


def test_blanks_around_names_and_labels_do_not_count(tmp_path):
    # What pandas makes of a file with a blank after each comma.
    frame = pd.read_csv(io.StringIO("age, work\n1, Private\n2, ?\n2, State\n"))
    table = Table.from_frame(frame)
    assert table.schema.names[1] == " work"
    assert csv("age, work\n1, Private\n2, ?\n2, State\n", schema=table.schema) == table
    assert csv("work,age\nPrivate,1\n?,2\nState,2\n", schema=table.schema) == table
    write_table(table[::2], tmp_path / "x.csv")
    assert read_table(tmp_path / "x.csv", schema=table.schema) == table[::2]


@pytest.mark.parametrize("labels", [["a", " a"], [1, "1"], [None, "None"], [True, "true"]])
def test_labels_spelled_alike_are_neither_written_nor_read(tmp_path, labels):
    table = Table([[0], [1]], Schema([3], names=["x"], labels=[[*labels, "b"]]))
    message = f"column 'x': the labels {labels[0]!r} and {labels[1]!r} are both "
    with pytest.raises(ValueError, match=re.escape(message)):
        write_table(table, tmp_path / "x.csv")
    with pytest.raises(ValueError, match=re.escape(message)):
        csv(f"x\n{labels[1]}\nb\n", schema=table.schema)
    assert csv("x\nb\nb\n", schema=table.schema).to_numpy().tolist() == [[2], [2]]


def test_a_schema_tells_labels_from_gaps():
    schema = Schema([2], names=["answer"], labels=[["yes", "NA"]])
    table = csv("answer\nyes\nNA\n?\n", schema=schema)
    assert table.to_numpy().ravel().tolist() == [0, 1, -1]
    assert csv("answer,n\nyes,1\n,2\n", schema=schema, weights="n").has_missing


def test_weights_are_not_dropped_silently(tmp_path):
    table = Table.from_array([[0], [1]], sample_weight=[1, 2])
    with pytest.raises(ValueError, match="weights: the table has weights; expected a name"):
        write_table(table, tmp_path / "x.csv")
    with pytest.raises(ValueError, match="weights: 'v0' is already the name of a variable"):
        write_table(table, tmp_path / "x.csv", weights="v0")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["days.csv", "days.parquet"])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_are_written_like_tables(make, name, tmp_path):
    columns = {"rain": ["yes", "no", None], "wind": [2, 0, 2]}
    write_table(make(columns), tmp_path / name)
    again = read_table(tmp_path / name)
    assert again == Table.from_frame(pd.DataFrame(columns))


def test_arrays_are_written_like_tables(tmp_path):
    write_table(np.array([[0, 1], [1, -1]]), tmp_path / "days.data")
    assert (tmp_path / "days.data").read_text().split() == ["0,1", "1,*"]


@pytest.mark.parametrize("name", ["doses.csv", "doses.parquet"])
def test_categories_that_are_numbers_come_back(tmp_path, name):
    table = Table.from_frame(pd.DataFrame({"dose": pd.Categorical([0.5, 2.0, None, 1.0])}))
    write_table(table, tmp_path / name)
    assert read_table(tmp_path / name, schema=table.schema) == table
