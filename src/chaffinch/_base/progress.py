"""Progress that a terminal shows and a log never sees."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Progress", "in_notebook", "progress_bar", "silent", "watched"]

Progress = Callable[[str, float], None]
"""Called with what is being done and the share done, 0 to 1 (or -1 when the end is not known)."""


def silent(_stage: str, _share: float) -> None:
    """Say nothing: the default."""


def in_notebook() -> bool:
    """Return whether a notebook's kernel runs this: it shows what is displayed, and keeps no log."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


@contextlib.contextmanager
def watched(progress: Progress | None) -> Iterator[Progress]:
    """Give the `Progress` that was asked for; where none was, a bar in a notebook and silence elsewhere."""
    if progress is not None or not in_notebook():
        yield silent if progress is None else progress
        return
    from rich.console import Console as Screen

    with progress_bar(console=Screen(force_jupyter=True)) as show:
        yield show


@contextlib.contextmanager
def progress_bar(*, quiet: bool = False, console: Console | None = None) -> Iterator[Progress]:
    """Give a `Progress` that draws a bar on standard error when a terminal watches, and nothing otherwise.

    The bar is of the stage, the clock beside it of the whole run: it goes on from one stage to the next, and while a stage
    reports nothing.
    """
    if quiet or not (sys.stderr.isatty() if console is None else console.is_terminal or console.is_jupyter):
        yield silent
        return
    from datetime import timedelta

    from rich.console import Console as Screen
    from rich.progress import BarColumn, ProgressColumn, Task, TextColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    class Clock(ProgressColumn):
        """The time since the start. rich's own column stops for good when a task first reaches its total."""

        def render(self, task: Task) -> Text:
            return Text(str(timedelta(seconds=int(task.elapsed or 0.0))), style="progress.elapsed")

    columns = (TextColumn("{task.description}"), BarColumn(), Clock())
    with Bar(*columns, console=console or Screen(stderr=True), transient=True) as bar:
        bar.add_task("", total=1.0)
        task = bar.tasks[0]

        def show(stage: str, share: float) -> None:
            task.total = 1.0 if share >= 0 else None  # set here: to `update`, a total of None is the total as it was
            bar.update(task.id, description=stage, completed=max(share, 0.0))

        yield show
