"""_waiting.py: how the core's threads wait, and what the environment is left like."""

import os
import subprocess
import sys

import pytest

from feldspar._waiting import threads_that_sleep

SHOW = "import os, feldspar; print(os.environ.get('OMP_WAIT_POLICY'))"


def _import_with(**settings: str) -> tuple[str, str]:
    """Import the package in a fresh process; return what it prints and what OpenMP says."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_"))}
    run = subprocess.run(
        [sys.executable, "-c", SHOW],
        env=environment | settings | {"OMP_DISPLAY_ENV": "true"},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.strip(), run.stderr


def test_the_environment_is_as_it_was() -> None:
    said, openmp = _import_with()
    assert said == "None"
    if "OMP_WAIT_POLICY" not in openmp:
        pytest.skip("the core has no OpenMP")
    assert "OMP_WAIT_POLICY = 'PASSIVE'" in openmp


def test_the_settings_of_the_user_stand() -> None:
    said, openmp = _import_with(OMP_WAIT_POLICY="active")
    assert said == "active"
    if "OMP_WAIT_POLICY" not in openmp:
        pytest.skip("the core has no OpenMP")
    assert "OMP_WAIT_POLICY = 'ACTIVE'" in openmp


def test_it_is_undone_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ImportError), threads_that_sleep():
        _fail_while_asleep()
    assert "OMP_WAIT_POLICY" not in os.environ


def _fail_while_asleep() -> None:
    assert os.environ["OMP_WAIT_POLICY"] == "passive"
    raise ImportError
