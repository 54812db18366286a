"""How far a run is: a bar where a terminal or a notebook watches, a line for each stage of a long run where none does."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .compiled import told_of_compiling

if TYPE_CHECKING:
    from rich.console import Console


SAID_FROM = 10.0
"""Seconds from which on a run says its stages where no terminal watches: shorter ones are silent."""

KNOWN_FROM = 2.0
"""Seconds of a stage from which on the work that was measured tells how long the rest takes."""

WRITTEN_TO = "CHAFFINCH_PROGRESS"
"""The variable of the environment that names a file to write progress to, for a program that started this one."""

EVERY = 0.2
"""Seconds between two writings of that file, at the least."""

Progress = Callable[[str, float], None]
"""Called with what is being done and the share done, 0 to 1 (or -1 when the end is not known)."""


def silent(_stage: str, _share: float) -> None:
    """Say nothing: the default."""


class Stages:
    """A `Progress` that says which stage of how many it is, and in words what is being done there."""

    def __init__(self, progress: Progress, names: Sequence[str]) -> None:
        self.progress, self.names, self.number = progress, tuple(names), 0

    def enter(self, name: str) -> None:
        """Go on to a stage."""
        self.number = self.names.index(name)
        self("", -1)

    def __call__(self, doing: str, share: float) -> None:
        """Say what is being done in the stage, and the share of that which is done."""
        name = self.names[self.number]
        words = f"{name}: {doing}" if doing and doing != name else name
        self.progress(f"{self.number + 1} of {len(self.names)}, {words}", share)


def seconds_left(share: float, seconds: float) -> float | None:
    """Return how long the rest takes if it goes on as the share that is done did; None where that cannot be told yet.

    Examples
    --------
    >>> seconds_left(0.25, 10.0), seconds_left(0.0, 10.0), seconds_left(0.5, 1.0), seconds_left(-1, 10.0)
    (30.0, None, None, None)
    """
    if seconds < KNOWN_FROM or not 0.01 <= share < 1.0:
        return None
    return seconds * (1.0 - share) / share


@contextlib.contextmanager
def plain_lines(
    write: Callable[[str], object], clock: Callable[[], float] = time.monotonic
) -> Iterator[Progress]:
    """Give a `Progress` that writes a line for each new thing that is done, from ten seconds on, with the time so far."""
    start, said = clock(), [""]

    def show(stage: str, _share: float) -> None:
        seconds = clock() - start
        if seconds < SAID_FROM or stage == said[0]:
            return
        said[0] = stage
        write(f"After {seconds:.0f} s: {stage}.")

    yield show


@contextlib.contextmanager
def progress_file(
    path: str | os.PathLike[str], clock: Callable[[], float] = time.monotonic
) -> Iterator[Progress]:
    """Give a `Progress` that keeps a small JSON file up to date: what is being done, the share done, seconds so far, seconds left.

    A reader finds a whole file at any time. What cannot be written is left out: progress stops no run.
    """
    target, start = Path(path), clock()
    part = target.with_name(f".{target.name}.part")
    said, since, last = "", start, start - EVERY

    def show(stage: str, share: float) -> None:
        nonlocal said, since, last
        now = clock()
        if stage == said and now - last < EVERY:
            return
        if stage != said:
            said, since = stage, now
        last = now
        words = {
            "doing": stage,
            "share": round(share, 4),
            "seconds": round(now - start, 1),
            "left": seconds_left(share, now - since),
        }
        with contextlib.suppress(OSError):
            part.write_text(json.dumps(words), encoding="utf-8")
            os.replace(part, target)

    yield show


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
def progress_bar(
    *, quiet: bool = False, console: Console | None = None, plain: bool = False
) -> Iterator[Progress]:
    """Give a `Progress` that draws a bar on standard error when a terminal watches; otherwise `plain` lines of a long run, or nothing.

    The bar is of what is being done, the clock beside it of the whole run: it goes on from one stage to the next, and while a stage
    reports nothing. What is left is of what is being done, told from the part that is done. A run that has to compile says so in a line above
    the bar. Where a program that started this one named a file for it (`WRITTEN_TO`), that is kept up to date instead.
    """
    if written := os.environ.get(WRITTEN_TO):
        with (
            progress_file(written) as show_file,
            told_of_compiling(lambda sentence: show_file(sentence.rstrip("."), -1)),
        ):
            yield show_file
        return
    if quiet or not (
        sys.stderr.isatty() if console is None else console.is_terminal or console.is_jupyter
    ):
        if quiet or not plain:
            yield silent
            return
        with plain_lines(lambda line: print(line, file=sys.stderr, flush=True)) as show_lines:
            yield show_lines
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

    class Left(ProgressColumn):
        """The time that what is being done still takes, where the part that is done tells it."""

        def render(self, task: Task) -> Text:
            left = seconds_left(
                task.completed if task.total else -1.0, (task.elapsed or 0.0) - task.fields["since"]
            )
            return Text("" if left is None else f"{timedelta(seconds=round(left))} left")

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), Clock(), Left())
    with Bar(*columns, console=console or Screen(stderr=True), transient=True) as bar:
        bar.add_task("", total=1.0, since=0.0)
        task = bar.tasks[0]

        def show(stage: str, share: float) -> None:
            if stage != task.description:
                task.fields["since"] = task.elapsed or 0.0
            task.total = (
                1.0 if share >= 0 else None
            )  # set here: to `update`, a total of None is the total as it was
            bar.update(task.id, description=stage, completed=max(share, 0.0))

        with told_of_compiling(bar.console.print):
            yield show
