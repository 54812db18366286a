"""How work runs in this process: its threads, its progress, the signal that ends it, and the memory it gives back."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from .checks import check_at_least
from .compiled import told_of_compiling

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")

R = TypeVar("R")

_ALONE: ContextVar[bool] = ContextVar("alone", default=False)

_HERE = threading.local()
"""Whether this thread is one of a map's: there, a further map must not wait for threads that wait for it."""


@dataclass(frozen=True, eq=False)
class SharedWork:
    """What several askers of the same thing need, worked out when the first asks for it.

    Examples
    --------
    >>> shared = SharedWork()
    >>> shared.once("sum", lambda: 1 + 1), shared.once("sum", lambda: 1 / 0)
    (2, 2)
    """

    _shared: dict[str, Any] = field(default_factory=dict, repr=False, kw_only=True)

    def once(self, name: str, work: Callable[[], T]) -> T:
        """Return the result of some work, which is done the first time."""
        if name not in self._shared:
            self._shared[name] = work()
        result: T = self._shared[name]
        return result


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Have everything in the block that does not ask for a number of threads use one: for work that is itself one of many."""
    token = _ALONE.set(True)
    try:
        yield
    finally:
        _ALONE.reset(token)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Have linear algebra in the block use one thread: several add in another order, and on busy cores wait more than they work."""
    return _libraries().limit(limits=1, user_api="blas")


def thread_count(threads: int | None = None) -> int:
    """Return the number of threads to use: what was asked, or every core this process may run on."""
    if threads is None and _ALONE.get():
        return 1
    if threads is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    check_at_least("threads", threads, 1)
    return threads


def thread_map(
    function: Callable[[T], R], items: Sequence[T], *, threads: int | None = None
) -> list[R]:
    """Return `[function(item) for item in items]`, in order, worked by threads.

    Use it for work that releases the GIL (compiled kernels, Arrow). One thread or one item runs in place, and so does a map
    inside another one.
    """
    workers = min(thread_count(threads), len(items))
    if workers <= 1 or getattr(_HERE, "working", False):
        return [function(item) for item in items]

    def work(item: T) -> R:
        _HERE.working = True
        return function(item)

    return list(_pool(os.getpid(), workers).map(work, items))


@functools.lru_cache(maxsize=8)
def _pool(process: int, workers: int) -> ThreadPoolExecutor:
    """The threads of a process, kept: starting them anew costs more than many a piece of work, above all on a busy machine."""
    return ThreadPoolExecutor(workers)


@functools.cache
def _libraries() -> Any:
    """The libraries with threads of their own: found once, since looking for them takes longer than many a fit."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


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
        text = f"{name}: {doing}" if doing and doing != name else name
        self.progress(f"{self.number + 1} of {len(self.names)}, {text}", share)


@contextlib.contextmanager
def notebook_progress(progress: Progress | None) -> Iterator[Progress]:
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
            seconds = seconds_left(
                task.completed if task.total else -1.0, (task.elapsed or 0.0) - task.fields["since"]
            )
            return Text("" if seconds is None else f"{timedelta(seconds=round(seconds))} left")

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


def in_notebook() -> bool:
    """Return whether a notebook's kernel runs this: it shows what is displayed, and keeps no log."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


WRITTEN_TO = "CHAFFINCH_PROGRESS"
"""The variable of the environment that names a file to write progress to, for a program that started this one."""

EVERY = 0.2
"""Seconds between two writings of that file, at the least."""


@contextlib.contextmanager
def progress_file(
    path: str | os.PathLike[str], clock: Callable[[], float] = time.monotonic
) -> Iterator[Progress]:
    """Give a `Progress` that keeps a small JSON file up to date: what is being done, the share done, seconds so far, seconds left.

    A reader finds a whole file at any time. What cannot be written is left out: progress stops no run.
    """
    target, start = Path(path), clock()
    partial = target.with_name(f".{target.name}.part")
    stage_before, since, last = "", start, start - EVERY

    def show(stage: str, share: float) -> None:
        nonlocal stage_before, since, last
        now = clock()
        if stage == stage_before and now - last < EVERY:
            return
        if stage != stage_before:
            stage_before, since = stage, now
        last = now
        status = {
            "doing": stage,
            "share": round(share, 4),
            "seconds": round(now - start, 1),
            "left": seconds_left(share, now - since),
        }
        with contextlib.suppress(OSError):
            partial.write_text(json.dumps(status), encoding="utf-8")
            os.replace(partial, target)

    yield show


SAID_FROM = 10.0
"""Seconds from which on a run says its stages where no terminal watches: shorter ones are silent."""


@contextlib.contextmanager
def plain_lines(
    write: Callable[[str], object], clock: Callable[[], float] = time.monotonic
) -> Iterator[Progress]:
    """Give a `Progress` that writes a line for each new thing that is done, from ten seconds on, with the time so far."""
    start, stage_before = clock(), [""]

    def show(stage: str, _share: float) -> None:
        seconds = clock() - start
        if seconds < SAID_FROM or stage == stage_before[0]:
            return
        stage_before[0] = stage
        write(f"After {seconds:.0f} s: {stage}.")

    yield show


KNOWN_FROM = 2.0
"""Seconds of a stage from which on the work that was measured tells how long the rest takes."""


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


TERMINATED = 128 + signal.SIGTERM
"""The exit code of a process that SIGTERM ended, as shells give it."""


@contextlib.contextmanager
def raising_on_sigterm(
    error: Callable[[], BaseException] = lambda: SystemExit(TERMINATED),
) -> Iterator[None]:
    """Have SIGTERM raise an exception in the main thread while the block runs; unless somebody listens to it already."""
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield
        return

    def end(number: int, frame: object) -> NoReturn:
        raise error()

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def giving_back(progress: Progress) -> Progress:
    """Return a `Progress` that gives memory back whenever something else is being done than before."""
    last = [""]

    def show(doing: str, share: float) -> None:
        if doing != last[0]:
            last[0] = doing
            give_memory_back()
        progress(doing, share)

    return show


def give_memory_back() -> None:
    """Return what Arrow's and C's allocators hold unused to the system, where they can; call it between steps that each take much."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    trim = _trim()
    if trim is not None:
        trim(0)


@functools.cache
def _trim() -> Any:
    """The function of the C library that does it; None elsewhere than with glibc."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return None
