"""Makes the folder a program: ``python bench/growth --page docs/growth.md``."""

import runpy
import sys
from pathlib import Path

# The folder that holds the package, in place of the package's own.
sys.path[0] = str(Path(__file__).resolve().parents[1])

runpy.run_module("growth.command", run_name="__main__")
