"""Fixtures that several test files share."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from command_line import QUICK, RAIN, run
from feldspar import datasets
from feldspar.datasets import DataSplit

# Shells start background jobs with Ctrl-C ignored, and Python leaves it so; our tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# An example may take its time: a busy machine is no defect.
settings.register_profile("unhurried", settings(), deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def benchmark() -> Callable[[str], DataSplit]:
    """Load benchmark sets from $FELDSPAR_DATA; else skip, or fail if FELDSPAR_REQUIRE_DATA=1."""

    def load(name: str) -> DataSplit:
        if not os.environ.get("FELDSPAR_DATA"):
            reason = f"FELDSPAR_DATA is not set: the folder of the benchmark set {name!r}"
            if os.environ.get("FELDSPAR_REQUIRE_DATA") == "1":
                pytest.fail(reason)
            pytest.skip(reason)
        return datasets.load(name, download=False)

    return load


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder with some rows in rain.csv."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rain.csv").write_text(RAIN)
    return tmp_path


@pytest.fixture
def model(folder: Path) -> str:
    """A small model with names and labels, of the rows in rain.csv."""
    assert run("learn", "rain.csv", *QUICK, "-o", "rain.json").exit_code == 0
    return "rain.json"
