"""The pages tell the truth: every example in them runs, every link between them leads somewhere.

The ```python blocks of a page run in order in one namespace, in an empty directory; the lines
`$ feldspar ...` of its ```console blocks run as commands in the same directory.
"""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"^```(?P<language>python|console)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
COMMAND = re.compile(r"^\$ (feldspar .*)$", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)")


class Block(NamedTuple):
    """A fenced block of a page, with the line where its code begins."""

    language: str
    line: int
    code: str


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text("utf-8")
    for match in BLOCK.finditer(text):
        yield Block(match["language"], text.count("\n", 0, match.start("code")) + 1, match["code"])


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def run_commands(code: str) -> None:
    """Run the `$ feldspar` lines with this interpreter's feldspar, whatever the PATH says."""
    for command in COMMAND.findall(code):
        arguments = shlex.split(command)[1:]
        result = subprocess.run(
            [sys.executable, "-c", "from feldspar.cli import main; main()", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, f"$ {command}\n{result.stdout}{result.stderr}"


@pytest.mark.parametrize("page", [page for page in PAGES if any(blocks(page))], ids=page_id)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language == "python":
            # Newlines in front make a traceback name the line of the page.
            code = compile("\n" * (block.line - 1) + block.code, str(page), "exec")
            exec(code, namespace)
        else:
            run_commands(block.code)


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page: Path) -> None:
    targets = LINK.findall(page.read_text("utf-8"))
    broken = [target for target in targets if not (page.parent / target).exists()]
    assert not broken


def test_readme_shows_the_program_that_the_tests_compile() -> None:
    program = (ROOT / "examples" / "learn_weights.cpp").read_text("utf-8")
    assert f"```cpp\n{program}```\n" in (ROOT / "README.md").read_text("utf-8")


def test_readme_shows_python_and_command_line() -> None:
    assert {block.language for block in blocks(ROOT / "README.md")} == {"python", "console"}
