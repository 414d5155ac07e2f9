"""The ``feldspar`` command: it parses and calls functions that anyone can call.

``commands/`` has a file for each command and the list of them, ``methods/`` the same for what
``feldspar learn --method`` offers.
"""

from feldspar.cli.app import cli, main

__all__ = ["cli", "main"]
