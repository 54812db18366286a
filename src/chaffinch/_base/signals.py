"""The signal that schedulers send to end a process, as an exception, so that what is half done is undone."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

TERMINATED = 128 + signal.SIGTERM
"""The exit code of a process that SIGTERM ended, as shells give it."""


@contextmanager
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
