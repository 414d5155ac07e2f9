from __future__ import annotations

import functools
import gzip
import hashlib
import http.server
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from feldspar import datasets
from feldspar.datasets import _catalogue, _files
from feldspar.schema import Schema

PARTS = {"train": "0,1\n1,1\n0,0\n", "valid": "1,0\n", "test": "1,1\n0,1\n"}


@pytest.fixture(autouse=True)
def _no_data_of_this_machine(monkeypatch, tmp_path, request):
    if "benchmark" not in request.fixturenames:
        monkeypatch.delenv("FELDSPAR_DATA", raising=False)
        monkeypatch.setenv("FELDSPAR_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def tiny(monkeypatch):
    """Let the catalogue have a data set called tiny, with two variables."""
    info = _catalogue.DatasetInfo("tiny", 3, 1, 2, 2, 0.5, "a test")
    sums = {
        f"datasets/tiny/tiny.{part}.data": hashlib.sha256(text.encode()).hexdigest()
        for part, text in PARTS.items()
    }
    monkeypatch.setattr(_catalogue, "_catalogue", lambda: {"tiny": info})
    monkeypatch.setattr(_files, "checksums", lambda: sums)


def put(folder: Path, *, flat: bool = False, packed: bool = False) -> Path:
    target = folder if flat else folder / "tiny"
    target.mkdir(parents=True)
    for part, text in PARTS.items():
        name = f"tiny.{part}.data" + ".gz" * packed
        (target / name).write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    return folder


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Serve a folder as the repository; returns the folder."""
    folder = tmp_path / "repository"
    put(folder / "datasets")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format, *arguments):
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        monkeypatch.setenv("FELDSPAR_DATA_URL", f"http://127.0.0.1:{httpd.server_port}/")
        yield folder
        httpd.shutdown()
        thread.join()


# --- the catalogue ---


def test_names():
    assert datasets.names() == [
        "digits", "survey", "nltcs", "msnbc", "kdd", "plants", "baudio", "jester", "bnetflix",
        "accidents", "tretail", "pumsb_star", "dna", "kosarek", "msweb", "book", "tmovie", "cwebkb",
        "cr52", "c20ng", "bbc", "ad",
    ]  # fmt: skip


def test_every_benchmark_file_has_a_checksum():
    expected = {
        _catalogue.repository_path(name, part)
        for name in _catalogue.benchmark_names()
        for part in _catalogue.PARTS
    }
    assert set(_catalogue.checksums()) == expected
    assert all(len(digest) == 64 for digest in _catalogue.checksums().values())


def test_info():
    nltcs = datasets.info("nltcs")
    assert (nltcs.train, nltcs.valid, nltcs.test, nltcs.variables) == (16181, 2157, 3236, 16)
    assert "16181 training" in nltcs.description
    assert "arranger1044/DEBD" in nltcs.description


@pytest.mark.parametrize("use", [datasets.load, datasets.info, datasets.verify])
def test_unknown_names(use):
    with pytest.raises(ValueError, match="no data set is called 'nltc'; did you mean nltcs"):
        use("nltc")
    with pytest.raises(
        ValueError, match="no data set is called 'xxxxxx'; expected digits, survey, nltcs"
    ):
        use("xxxxxx")


# --- digits ---


def test_digits():
    digits = datasets.load("digits")
    about = datasets.info("digits")
    parts = (digits.train, digits.valid, digits.test)
    assert tuple(map(len, parts)) == (about.train, about.valid, about.test)
    assert digits.schema == Schema(
        [2] * 64 + [10], names=[*(f"p{i // 8}{i % 8}" for i in range(64)), "digit"]
    )
    everything = np.concatenate([part.to_numpy() for part in parts])
    assert len(everything) == 1797
    assert abs(everything[:, :64].mean() - about.density) < 5e-4
    assert digits.description == about.description


def test_digits_hold_each_digit_in_proportion():
    digits = datasets.load("digits")
    shares = [np.bincount(p.to_numpy()[:, -1]) / len(p) for p in (digits.train, digits.test)]
    assert np.abs(shares[0] - shares[1]).max() < 0.01


def test_digits_are_those_of_scikit_learn_divided_always_alike():
    from sklearn.datasets import load_digits

    shades, digit = load_digits(return_X_y=True)
    rows = np.column_stack([shades >= 8, digit])
    train = datasets.load("digits").train
    assert train == datasets.load("digits").train
    assert {tuple(row) for row in train.to_numpy()} <= {tuple(row) for row in rows}
    # The split is part of published results: another sum means other data.
    assert hashlib.sha256(train.codes.tobytes()).hexdigest().startswith("bf78e494429065fb")


def test_digits_need_no_verification():
    assert datasets.verify("digits") == []


# --- files ---


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_layouts_of_the_folder(tmp_path, flat, packed):
    tiny = datasets.load("tiny", put(tmp_path / "home", flat=flat, packed=packed), download=False)
    assert tiny.train.to_numpy().tolist() == [[0, 1], [1, 1], [0, 0]]
    assert tiny.valid.to_numpy().tolist() == [[1, 0]]
    assert tiny.test.to_numpy().tolist() == [[1, 1], [0, 1]]
    assert tiny.schema == Schema([2, 2])
    assert tiny.name == "tiny"
    assert repr(tiny) == "DataSplit('tiny': 3 train, 1 valid, 2 test rows; 2 variables)"


@pytest.mark.usefixtures("tiny")
def test_order_of_the_folders(tmp_path, monkeypatch):
    home, data, cache = (put(tmp_path / name) for name in ("home", "data", "cache"))
    for count, folder in ((7, data), (9, cache)):
        (folder / "tiny" / "tiny.valid.data").write_text("0,0\n" * count)
    assert len(datasets.load("tiny", download=False).valid) == 9
    monkeypatch.setenv("FELDSPAR_DATA", str(data))
    assert len(datasets.load("tiny", download=False).valid) == 7
    assert len(datasets.load("tiny", home, download=False).valid) == 1
    (home / "tiny" / "tiny.test.data").unlink()  # a folder counts only with all three parts
    assert len(datasets.load("tiny", home, download=False).valid) == 7


@pytest.mark.usefixtures("tiny")
def test_nowhere(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"tiny/tiny\..*home, .*cache; set FELDSPAR_DATA"):
        datasets.load("tiny", tmp_path / "home", download=False)
    with pytest.raises(FileNotFoundError, match="are in none of"):
        datasets.verify("tiny")


@pytest.mark.usefixtures("tiny")
def test_files_of_another_width_are_refused(tmp_path):
    home = put(tmp_path / "home")
    (home / "tiny" / "tiny.test.data").write_text("0,1,1\n")
    with pytest.raises(ValueError, match=r"tiny\.test\.data: expected 2 columns"):
        datasets.load("tiny", home)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("packed", [False, True])
def test_verify(tmp_path, packed):
    home = put(tmp_path / "home", packed=packed)
    assert [file.name.split(".")[1] for file in datasets.verify("tiny", home)] == list(PARTS)


@pytest.mark.usefixtures("tiny")
def test_verify_names_the_file_that_differs(tmp_path):
    home = put(tmp_path / "home")
    (home / "tiny" / "tiny.valid.data").write_text("0,0\n")
    with pytest.raises(ValueError, match=r"tiny\.valid\.data: SHA-256 .* expected [0-9a-f]{64}"):
        datasets.verify("tiny", home)


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/xdg"}, "/xdg/feldspar"),
        ("linux", {}, "/home/me/.cache/feldspar"),
        ("darwin", {}, "/home/me/Library/Caches/feldspar"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/feldspar/Cache"),
        ("linux", {"FELDSPAR_CACHE": "/mine", "XDG_CACHE_HOME": "/xdg"}, "/mine"),
    ],
)
def test_cache_folder(monkeypatch, platform, variables, expected):
    for name in ("FELDSPAR_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    assert _files.cache_folder() == Path(expected)


# --- downloads ---


@pytest.mark.usefixtures("tiny", "server")
@pytest.mark.parametrize("to_home", [False, True])
def test_download_once(tmp_path, monkeypatch, to_home):
    pytest.importorskip("pooch")
    home = tmp_path / "home" if to_home else None
    downloaded = datasets.load("tiny", home)
    assert len(downloaded.train) == 3
    folder = home or tmp_path / "cache"
    assert sorted(p.name for p in (folder / "tiny").iterdir()) == sorted(
        f"tiny.{part}.data" for part in PARTS
    )
    monkeypatch.setenv("FELDSPAR_DATA_URL", "http://127.0.0.1:1/")
    assert datasets.load("tiny", home).train == downloaded.train


@pytest.mark.usefixtures("tiny")
def test_a_damaged_download_is_never_used(tmp_path, server):
    pytest.importorskip("pooch")
    (server / "datasets" / "tiny" / "tiny.valid.data").write_text("0,0\n")
    with pytest.raises(ValueError, match=r"tiny\.valid\.data is damaged: expected SHA-256"):
        datasets.load("tiny")
    assert not (tmp_path / "cache" / "tiny" / "tiny.valid.data").exists()


@pytest.mark.usefixtures("tiny")
def test_a_failed_download_names_the_address(server):
    pytest.importorskip("pooch")
    (server / "datasets" / "tiny" / "tiny.train.data").unlink()
    with pytest.raises(ConnectionError, match=r"tiny\.train\.data cannot be downloaded"):
        datasets.load("tiny")


@pytest.mark.usefixtures("tiny")
def test_without_pooch(monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"needs pooch: pip install pooch"):
        datasets.load("tiny")


# --- the real ones ---


@pytest.mark.parametrize("name", ["nltcs", "dna", "plants"])
def test_benchmark_sets_are_what_the_catalogue_says(benchmark, name):
    split = benchmark(name)
    about = datasets.info(name)
    assert [len(split.train), len(split.valid), len(split.test)] == [
        about.train, about.valid, about.test,
    ]  # fmt: skip
    assert split.schema == Schema([2] * about.variables)
    assert abs(split.train.to_numpy().mean() - about.density) < 1e-3
    assert len(datasets.verify(name)) == 3


def test_nltcs_has_2671_distinct_rows(benchmark):
    merged = benchmark("nltcs").train.distinct()
    assert len(merged) == 2671
    assert merged.weights.sum() == 16181
