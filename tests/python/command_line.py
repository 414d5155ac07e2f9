"""Commands run as a user would, for the tests of the command line."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner, Result

from feldspar.cli import cli

RAIN = "rain,wind\nyes,gale\nyes,gale\nno,calm\nno,calm\nno,gale\nyes,calm\nno,calm\nyes,gale\n"
QUICK = ["--min-support", "0"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def run_json(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    content: dict[str, Any] = json.loads(result.stdout)
    return content


def failure(*arguments: str) -> str:
    """Run a command that must fail on its input; return its one line on standard error."""
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr
