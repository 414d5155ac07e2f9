"""``feldspar completion``: the script that lets a shell complete commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from feldspar.cli.flags import common_flags
from feldspar.cli.output import emit

SHELLS = ("bash", "zsh", "fish")

_EPILOG = """\b
Example:
  feldspar completion bash >> ~/.bashrc
  feldspar completion zsh >> ~/.zshrc
  feldspar completion fish > ~/.config/fish/completions/feldspar.fish
"""


@click.command(epilog=_EPILOG)
@click.argument("shell", type=click.Choice(SHELLS))
@common_flags
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script for SHELL that completes commands, options, methods and data sets.

    The shell must read it when it starts: append it to the shell's own file, as in the example.
    """
    kind = get_completion_class(shell)
    assert kind is not None  # click knows these three
    made = kind(context.find_root().command, {}, "feldspar", "_FELDSPAR_COMPLETE")
    # Not `source()`: for bash it asks the installed bash for its version.
    script = made.source_template % made.source_vars()
    emit({"shell": shell, "script": script}, lambda: click.echo(script))
