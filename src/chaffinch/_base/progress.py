"""Progress that a terminal shows and a log never sees."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

__all__ = ["Progress", "progress_bar", "silent"]

Progress = Callable[[str, float], None]
"""Called with what is being done and the share done, 0 to 1 (or -1 when the end is not known)."""


def silent(_stage: str, _share: float) -> None:
    """Say nothing: the default."""


@contextlib.contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Progress]:
    """Give a `Progress` that draws a bar on standard error when a terminal watches, and nothing otherwise."""
    if quiet or not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)

        def show(stage: str, share: float) -> None:
            bar.update(task, description=stage, completed=max(share, 0.0), total=1.0 if share >= 0 else None)

        yield show
