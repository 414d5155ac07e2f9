"""If only one test is run on a wheel, this one: the package imports, is whole, and stays light.

Needs nothing but pytest and the installed package; runs without conftest.
"""

import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files

import pytest

import feldspar

EXTRAS = ["matplotlib", "networkx", "pandas", "polars", "pooch", "pyarrow"]


def run_python(code: str) -> str:
    """Run code in a fresh interpreter, warnings as errors, and return what it prints."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_package_core_and_metadata_agree_on_the_version() -> None:
    assert feldspar.__version__ == feldspar._core.__version__ == version("feldspar")


@pytest.mark.parametrize("extra", EXTRAS)
def test_import_pulls_in_no_extra(extra: str) -> None:
    loaded = run_python(f"import sys, feldspar; print({extra!r} in sys.modules)")
    assert loaded.strip() == "False"


def test_import_prints_nothing() -> None:
    assert run_python("import feldspar") == ""


def test_every_promised_name_is_there() -> None:
    missing = [name for name in feldspar.__all__ if not hasattr(feldspar, name)]
    assert not missing


def test_modules_come_when_they_are_asked_for() -> None:
    """In a fresh interpreter: once anything has imported them, they are there anyway."""
    asked = "fs.evaluation.pseudo_log_likelihood, fs.report.compare_learners"
    run_python(f"import feldspar as fs; {asked}; assert fs.report is fs.report")
    early = "{'sklearn', 'feldspar.evaluation', 'feldspar.report'} & set(sys.modules)"
    assert run_python(f"import sys, feldspar; print({early})").strip() == "set()"
    assert {"evaluation", "report"} <= {*feldspar.__all__} & {*dir(feldspar)}


@pytest.mark.parametrize("name", ["py.typed", "_core.pyi"])
def test_types_are_shipped(name: str) -> None:
    assert files("feldspar").joinpath(name).is_file()
