"""Progress of long calls, shown on a terminal and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

# stage, steps done, steps in all (0: unknown), figure of merit so far
ProgressCallback: TypeAlias = Callable[[str, float, float, float], None]


@contextmanager
def progress_bar(title: str, *, shown: bool) -> Iterator[ProgressCallback | None]:
    """Give a callback for the core that draws a bar on standard error, or ``None``.

    The bar vanishes when the work is done, and is never drawn where nobody would see it move.
    """
    if not shown or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        TextColumn("{task.completed:.0f} steps"),
        TextColumn("value {task.fields[value]:.6g}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None, value=float("nan"))

        def update(stage: str, done: float, total: float, value: float) -> None:
            bar.update(task, description=f"{title}: {stage}", completed=done, value=value)

        yield update
