"""Fit all shadows: over processes, with progress and a time estimate, kept as they finish.

Each shadow draws its randomness from its own number, so neither the number of workers nor a kill in between changes a result.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import ChaffinchError, InputError
from ..._base.runtime import thread_count
from ..._base.seeds import Seed, seed_sequence
from ...table.table import Table
from .generator import Generator, coded, value_reader
from .store import ShadowPart, Store, store_for
from .work import Done, ShadowJob, Working, work

PARTS, SMALLEST, LARGEST = 100, 4, 50
"""Jobs to cut a run into, and the fewest and the most shadows of one: a kill loses what is being worked on."""
GRACE = 30.0
"""Seconds beyond the time limits of a job's shadows after which a worker that cannot be interrupted is given up."""


@dataclass(frozen=True, eq=False)
class Shadows:
    """Finished shadows. Their tables stay on disk and are read a part at a time."""

    store: Store
    parts: tuple[ShadowPart, ...]
    n_shadows: int
    tables: int
    seconds: float
    """Time that the fits took in this run; shadows found finished cost nothing."""

    def gather(
        self,
        look: Callable[[NDArray[Any]], NDArray[Any]],
        *,
        only: NDArray[np.int64] | None = None,
        tables: int | None = None,
    ) -> NDArray[Any]:
        """Return what `look` sees in each table, (shadows, tables, ...); `look` is given (tables, rows, columns).

        `only` names the shadows to look at, in the order in which they are returned, and `tables` how many of each; without them all.
        """
        wanted = np.arange(self.n_shadows) if only is None else only
        place = np.full(self.n_shadows, -1, dtype=np.int64)
        place[wanted] = np.arange(len(wanted))
        out: NDArray[Any] | None = None
        for part in self.parts:
            mine = place[part.ids]
            if not (mine >= 0).any():
                continue
            codes = np.asarray(part.codes)[mine >= 0, :tables]
            seen = look(codes.reshape(-1, *codes.shape[2:]))
            seen = seen.reshape(len(codes), codes.shape[1], *seen.shape[1:])
            if out is None:
                out = np.empty((len(wanted), *seen.shape[1:]), dtype=seen.dtype)
            out[mine[mine >= 0]] = seen
        assert out is not None
        return out

    @cached_property
    def nodes(self) -> NDArray[np.float32]:
        """What was seen of each target under each model, (shadows, targets, features)."""
        return self._seen("nodes")

    @cached_property
    def cells(self) -> NDArray[np.float32]:
        """What was seen of each model, (shadows, features)."""
        return self._seen("cells")

    @cached_property
    def values(self) -> NDArray[np.float32]:
        """What was seen of each target in released values, (shadows, tables, targets, features)."""
        return self._seen("values")

    def _seen(self, what: str) -> NDArray[np.float32]:
        first = getattr(self.parts[0], what)
        out = np.empty((self.n_shadows, *first.shape[1:]), dtype=np.float32)
        for part in self.parts:
            out[part.ids] = getattr(part, what)
        return out


def run_shadows(
    generator: Generator,
    draws: Sequence[NDArray[np.int64]] | NDArray[np.int64],
    *,
    tables: int = 1,
    rows: int | None = None,
    white: Any = None,
    sight: Any = None,
    seed: Seed = None,
    working: Working | None = None,
) -> Shadows:
    """Fit a generator to subsets of its population, each with independent noise, and return what they released.

    `draws`: for each shadow the rows of `generator.base` that it is fitted to. `tables`: synthetic tables to draw from each fit.
    `rows`: rows of a synthetic table; as many as the shadow has, unless said (needed where shadows differ in size). `white`: what looks
    at each model: an object with `nodes(model)` and `cells(model)`. `sight`: what looks at released values: an object with `look(values)`.

    Raises
    ------
    InputError
        If a shadow fails: says which, and where the finished ones are kept.
    """
    if tables < 1:
        raise InputError(f"A shadow must give at least 1 table. Got {tables}.")
    working = working or Working()
    working.check("shadow")
    if white is not None and not generator.fits:
        raise InputError(
            "A function gives tables and no model to look into: attack it from its tables."
        )
    root = seed_sequence(seed)
    store = store_for(
        working.keep, _fingerprint(generator, draws, root, tables, rows, white, sight)
    )
    done = np.concatenate([np.empty(0, dtype=np.int64), *(part.ids for part in store.parts())])
    left = np.setdiff1d(np.arange(len(draws)), done)
    size = max(SMALLEST, min(LARGEST, ceil(len(draws) / PARTS)))
    jobs = (
        [
            ShadowJob(
                generator,
                ids,
                tuple(np.asarray(draws[i]) for i in ids),
                tables,
                rows,
                root,
                white,
                working.time_limit,
                sight,
            )
            for ids in np.array_split(left, ceil(len(left) / size) if len(left) else 0)
        ]
        if len(left)
        else []
    )
    began = time.monotonic()
    finished = len(done)
    for result in results(jobs, working):
        if result.part is not None:
            store.add(result.part)
            finished += len(result.part.ids)
        if result.failed is not None:
            raise _failure(result, store, finished, len(draws))
        working.progress(
            stage_words(finished, len(draws), len(left), time.monotonic() - began),
            finished / len(draws),
        )
    return Shadows(store, tuple(store.parts()), len(draws), tables, time.monotonic() - began)


def stage_words(finished: int, total: int, new: int, seconds: float) -> str:
    """What is being done, and about how long it will take."""
    fitted = finished - (total - new)
    remaining = seconds / max(fitted, 1) * (total - finished)
    words = f"{remaining / 60:.0f} min" if remaining >= 90 else f"{remaining:.0f} s"
    return f"shadow {finished:,} of {total:,}, about {words} left"


def _failure(result: Done, store: Store, finished: int, total: int) -> InputError:
    where = ""
    if finished:
        where = f" {finished:,} finished shadows are kept in '{store.leave()}': name it as the folder to keep shadows in to go on, or delete it."
    return InputError(
        f"Shadow {result.failed} of {total:,} (counted from 0) failed: {result.reason.rstrip('.')}.{where}"
    )


def results(jobs: list[ShadowJob], working: Working) -> Iterator[Done]:
    """The results of jobs as they come."""
    executor, workers = working.executor, thread_count(working.workers)
    if executor is None and (workers == 1 or len(jobs) == 1):
        yield from map(work, jobs)
        return
    own = executor is None
    if executor is None:
        from joblib.externals.loky import get_reusable_executor

        executor = get_reusable_executor(max_workers=workers, timeout=120)
    pending: set[Future[Done]] = set()
    try:
        numbers = {}
        for job in jobs:
            future = executor.submit(work, job)
            numbers[future] = job
            pending.add(future)
        limit = (
            None
            if jobs[0].time_limit is None
            else jobs[0].time_limit * max(len(job.ids) for job in jobs) + GRACE
        )
        while pending:
            ready, pending = wait(pending, timeout=limit, return_when=FIRST_COMPLETED)
            if not ready:
                hung = min(
                    int(numbers[f].ids[0]) for f in ({f for f in pending if f.running()} or pending)
                )
                if own:
                    executor.shutdown(wait=False, kill_workers=True)  # type: ignore[call-arg]
                words = f"it, or one of the {LARGEST} after it, took longer than the limit and could not be interrupted"
                yield Done(None, hung, words)
                return
            for future in ready:
                yield _result(future, numbers[future])
    finally:
        for future in pending:
            future.cancel()


def _result(future: Future[Done], job: ShadowJob) -> Done:
    try:
        return future.result()
    except ChaffinchError:
        raise
    except BrokenProcessPool:
        return Done(None, int(job.ids[0]), "a worker process ended (out of memory, or killed)")
    except Exception as error:
        why = f"it could not be sent to a worker or back ({type(error).__name__}): use one worker, or a generator that can be copied between processes"
        return Done(None, int(job.ids[0]), why)


def _fingerprint(
    generator: Generator,
    draws: Sequence[NDArray[np.int64]] | NDArray[np.int64],
    root: np.random.SeedSequence,
    tables: int,
    rows: int | None,
    white: Any,
    sight: Any,
) -> str:
    """A hash of all that shadows depend on. A function is known by its name: who changes it names another folder."""
    digest = hashlib.sha256()
    base: Table = generator.base
    settings = (
        root.entropy,
        root.spawn_key,
        tables,
        rows,
        white is not None,
        generator.grid,
        getattr(sight, "names", None),
    )
    for word in (generator.words, base.schema.names, base.schema.sizes, *settings):
        digest.update(repr(word).encode() + b"\0")
    digest.update(np.ascontiguousarray(coded(base)).tobytes())
    if generator.grid == "release":  # shadows are made of values, not of codes
        plain = value_reader(base).read(base)
        digest.update(
            np.ascontiguousarray(plain.numbers).tobytes()
            + np.ascontiguousarray(plain.words).tobytes()
        )
    if sight is not None:
        digest.update(sight.targets.numbers.tobytes() + sight.targets.words.tobytes())
    for taken in draws:
        digest.update(np.ascontiguousarray(taken, dtype=np.int64).tobytes() + b"\0")
    return digest.hexdigest()
