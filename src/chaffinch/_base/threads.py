"""How many threads work, and a map over them for code that releases the GIL."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, TypeVar

from .errors import InputError

T = TypeVar("T")
R = TypeVar("R")

_ALONE: ContextVar[bool] = ContextVar("alone", default=False)
_HERE = threading.local()
"""Whether this thread is one of a map's: there, a further map must not wait for threads that wait for it."""


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


@functools.cache
def _libraries() -> Any:
    """The libraries with threads of their own: found once, since looking for them takes longer than many a fit."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def thread_count(threads: int | None = None) -> int:
    """Return the number of threads to use: what was asked, or every core this process may run on."""
    if threads is None and _ALONE.get():
        return 1
    if threads is None:
        return (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
    if threads < 1:
        raise InputError(f"threads must be at least 1. Got {threads}.")
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
