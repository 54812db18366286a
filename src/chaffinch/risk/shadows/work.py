"""What a worker does: fit some shadows, one after the other, each within its time, and say which one failed."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import ChaffinchError, InputError
from ..._base.runtime import Progress, one_blas_thread, one_thread, silent
from ...stats.splits import child
from .generator import Generator
from .store import ShadowPart


@dataclass(frozen=True)
class Working:
    """Who works on fits and for how long; none of it changes a result.

    Parameters
    ----------
    workers, executor
        Processes to use (joblib's; every core unless said), or any `concurrent.futures.Executor` to use instead. With one worker all
        is done in this process.
    keep
        A folder for finished shadows: a run that was stopped goes on from there.
    time_limit
        Seconds that one fit may take.
    """

    workers: int | None = None
    executor: Executor | None = None
    keep: Path | None = None
    time_limit: float | None = None
    progress: Progress = field(default=silent, repr=False)

    def check(self, what: str) -> None:
        """Raise unless the time limit leaves time."""
        if self.time_limit is not None and not self.time_limit > 0:
            raise InputError(
                f"The time limit of a {what} must be above 0 seconds. Got {self.time_limit:g}."
            )


@dataclass(frozen=True, eq=False)
class ShadowJob:
    """Some shadows to fit: their numbers, and for each the rows of the population it is fitted to."""

    generator: Generator
    ids: NDArray[np.int64]
    rows: tuple[NDArray[np.int64], ...]
    tables: int
    n_rows: int | None
    seed: np.random.SeedSequence
    white: Any
    time_limit: float | None
    sight: Any = None


@dataclass(frozen=True, eq=False)
class Done:
    """What came of a job: the shadows before the first that failed, and of that one its number and the reason."""

    part: ShadowPart | None
    failed: int | None = None
    reason: str = ""


class OutOfTime(BaseException):
    """Raised in a fit that takes too long. Not an Exception: a generator that catches those does not catch this."""


def work(job: ShadowJob) -> Done:
    """Return the shadows of a job. A shadow's randomness depends on its number alone, so who works on it changes nothing."""
    codes, nodes, cells, values = [], [], [], []
    failed, reason = None, ""
    with one_thread(), one_blas_thread():
        for number, rows in zip(job.ids, job.rows, strict=True):
            stream = child(job.seed, int(number))
            try:
                with within(job.time_limit):
                    table = job.generator.subset(rows)
                    n_rows = len(rows) if job.n_rows is None else job.n_rows
                    release = job.generator.release(
                        table, tables=job.tables, rows=n_rows, seed=stream, sight=job.sight
                    )
                    if job.white is not None:
                        nodes.append(job.white.nodes(release.model))
                        cells.append(job.white.cells(release.model))
                codes.append(release.codes)
                if release.values is not None:
                    values.append(release.values)
            except OutOfTime:
                failed, reason = (
                    int(number),
                    f"it took longer than the limit of {job.time_limit:g} s",
                )
            except ChaffinchError as error:
                failed, reason = int(number), str(error)
            except (
                Exception
            ) as error:  # a stranger's message may quote a record: it is not passed on
                failed, reason = int(number), f"the generator raised {type(error).__name__}"
            if failed is not None:
                break
    n_done = len(codes)
    if not n_done:
        return Done(None, failed, reason)
    seen = (
        {}
        if job.white is None
        else {"nodes": np.stack(nodes[:n_done]), "cells": np.stack(cells[:n_done])}
    )
    if job.sight is not None:
        seen["values"] = np.stack(values)
    return Done(ShadowPart(job.ids[:n_done], np.stack(codes), **seen), failed, reason)


@contextlib.contextmanager
def within(limit: float | None) -> Iterator[None]:
    """Interrupt the block after `limit` seconds, where the system can: in the main thread of a process, on Unix."""
    able = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if limit is None or not able:
        yield
        return

    def stop(_signal: int, _frame: Any) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
