"""What a result was made with: versions and machine, without names of hosts, users or folders."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from pathlib import Path

from feldspar import _core

# What results may depend on, beside ourselves.
_PACKAGES = ("numpy", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    """Return the versions of feldspar, of Python and of what the results may depend on.

    Examples
    --------
    >>> sorted(versions())
    ['feldspar', 'numpy', 'python', 'scikit-learn', 'scipy']
    """
    found = {"feldspar": _core.__version__, "python": platform.python_version()}
    return found | {name: metadata.version(name) for name in _PACKAGES}


def machine() -> dict[str, str | int]:
    """Return the processor, the number of cores this process may use, and the system.

    Examples
    --------
    >>> sorted(machine())
    ['cores', 'cpu', 'system']
    """
    return {"cpu": _cpu_model(), "cores": _cores(), "system": platform.system()}


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu_model() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return " ".join(found[1].split()) if found else platform.machine()
