from __future__ import annotations

import gzip
import io
import os
import stat

import pytest

from feldspar.io.files import atomic_write, open_text, read_bytes, read_text, source_name


def test_gzip_is_told_by_its_content(tmp_path):
    packed = tmp_path / "no_suffix"
    packed.write_bytes(gzip.compress(b"0,1\n"))
    assert read_bytes(packed) == b"0,1\n"
    assert read_bytes(io.BytesIO(packed.read_bytes())) == b"0,1\n"
    assert read_bytes(io.StringIO("0,1\n")) == b"0,1\n"


def test_truncated_gzip(tmp_path):
    path = tmp_path / "x.data.gz"
    path.write_bytes(gzip.compress(bytes(range(256)) * 50)[:-20])
    with pytest.raises(ValueError, match=r"x\.data\.gz: the gzip stream is truncated"):
        read_bytes(path)


def test_damaged_gzip(tmp_path):
    path = tmp_path / "x.data.gz"
    content = bytearray(gzip.compress(b"0,1\n" * 50))
    content[-5] ^= 0xFF  # the checksum
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"x\.data\.gz: the gzip stream is damaged"):
        read_bytes(path)


def test_not_gzip(tmp_path):
    path = tmp_path / "x.data.gz"
    path.write_bytes(b"0,1\n")
    with pytest.raises(ValueError, match=r"x\.data\.gz: expected a gzip file, got .*b'0,1"):
        read_bytes(path)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_bytes(tmp_path / "nowhere.csv")


def test_text_drops_the_byte_order_mark(tmp_path):
    (tmp_path / "x.csv").write_bytes("\ufeffä,b\r\n".encode())
    assert read_text(tmp_path / "x.csv") == "ä,b\r\n"
    assert open_text(tmp_path / "x.csv").readline() == "ä,b\r\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\xff\n", r"x\.csv, line 2: expected UTF-8 text, got the byte b'\\xff'"),
        (b"a\n\nb\0c", r"x\.csv, line 3: expected text, got a zero byte"),
    ],
)
def test_binary_junk_names_the_line(tmp_path, content, message):
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_text(tmp_path / "x.csv")


def test_source_names(tmp_path):
    assert source_name(tmp_path / "x") == str(tmp_path / "x")
    with (tmp_path / "y").open("w") as file:
        assert source_name(file) == str(tmp_path / "y")
    assert source_name(io.StringIO()) == "<stream>"


def test_atomic_write_replaces(tmp_path):
    path = tmp_path / "x.txt"
    atomic_write(path, "one")
    atomic_write(path, b"two")
    assert path.read_bytes() == b"two"
    assert [file.name for file in tmp_path.iterdir()] == ["x.txt"]


def test_atomic_write_packs_reproducibly(tmp_path):
    atomic_write(tmp_path / "x.gz", "ä")
    content = (tmp_path / "x.gz").read_bytes()
    assert gzip.decompress(content).decode() == "ä"
    assert content[4:8] == bytes(4)  # no time of writing


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "x.txt"
    path.write_text("old")

    def fail(descriptor):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        atomic_write(path, "new")
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["x.txt"]


def test_the_folder_must_be_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        atomic_write(tmp_path / "nowhere" / "x.txt", "")


@pytest.mark.skipif(os.name == "nt", reason="permissions and links as on POSIX")
def test_permissions_and_links_survive(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("old")
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(path)
    atomic_write(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
