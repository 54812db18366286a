"""Fit all shadows: over processes, with progress and a time estimate, kept as they finish.

Each shadow draws its randomness from its own number, so neither the number of workers nor a kill in between changes a result.

Finished shadows are arrays in open files, so that a killed run goes on where it stopped. A folder holds `shadows.json` (what the shadows are of, as a fingerprint, and their seed) and for each part two files of arrays, written
beside and renamed into place. The tables in it are synthetic, yet a model without a promise may have copied records: the folder is the
owner's alone and its files are as confidential as the data. Where no folder is named, tables go to a file without a name, which the system takes
back however the process ends, killed or not.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import ChaffinchError, FileError, InputError
from ..._base.files import replacing, write_text
from ..._base.runtime import Progress, one_blas_thread, one_thread, silent, thread_count
from ..._base.seeds import Seed, child, seed_sequence
from ...table.table import Table
from .generator import Generator, code_array, value_reader
from .settings import ShadowRun

PARTS, SMALLEST, LARGEST = 100, 4, 50
"""Jobs to cut a run into, and the fewest and the most shadows of one: a kill loses what is being worked on."""


GRACE = 30.0
"""Seconds beyond the time limits of a job's shadows after which a worker that cannot be interrupted is given up."""


ABOUT = "shadows.json"


@dataclass(frozen=True)
class Working:
    """Who works on fits and for how long; none of it changes a result.

    Parameters
    ----------
    workers, executor
        Processes to use (joblib's; every core unless said), or any `concurrent.futures.Executor` to use instead. With one worker all
        is done in this process.
    shadow_folder
        A folder for finished shadows: a run that was stopped goes on from there.
    time_limit
        Seconds that one fit may take.
    """

    workers: int | None = None
    executor: Executor | None = None
    shadow_folder: Path | None = None
    time_limit: float | None = None
    progress: Progress = field(default=silent, repr=False)

    @classmethod
    def for_run(cls, run: ShadowRun, **others: Any) -> Working:
        """Return who works, with the folder and the time limit that settings name."""
        return cls(shadow_folder=run.shadow_folder, time_limit=run.time_limit, **others)


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
    if white is not None and not generator.fits:
        raise InputError(
            "A function gives tables and no model to look into: attack it from its tables."
        )
    root = seed_sequence(seed)
    store = store_for(
        working.shadow_folder, _fingerprint(generator, draws, root, tables, rows, white, sight)
    )
    done = np.concatenate([np.empty(0, dtype=np.int64), *(stored.ids for stored in store.parts())])
    remaining_ids = np.setdiff1d(np.arange(len(draws)), done)
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
            for ids in np.array_split(
                remaining_ids, ceil(len(remaining_ids) / size) if len(remaining_ids) else 0
            )
        ]
        if len(remaining_ids)
        else []
    )
    began = time.monotonic()
    finished = len(done)
    for result in results(jobs, working):
        if result.finished is not None:
            store.add(result.finished)
            finished += len(result.finished.ids)
        if result.failed is not None:
            raise _failure(result, store, finished, len(draws))
        working.progress(
            stage_words(finished, len(draws), len(remaining_ids), time.monotonic() - began),
            finished / len(draws),
        )
    return Shadows(store, tuple(store.parts()), len(draws), tables, time.monotonic() - began)


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
        position = np.full(self.n_shadows, -1, dtype=np.int64)
        position[wanted] = np.arange(len(wanted))
        out: NDArray[Any] | None = None
        for stored in self.parts:
            mine = position[stored.ids]
            if not (mine >= 0).any():
                continue
            codes = np.asarray(stored.codes)[mine >= 0, :tables]
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
        for stored in self.parts:
            out[stored.ids] = getattr(stored, what)
        return out


def stage_words(finished: int, total: int, new: int, seconds: float) -> str:
    """What is being done, and about how long it will take."""
    fitted = finished - (total - new)
    remaining = seconds / max(fitted, 1) * (total - finished)
    duration = f"{remaining / 60:.0f} min" if remaining >= 90 else f"{remaining:.0f} s"
    return f"shadow {finished:,} of {total:,}, about {duration} left"


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
    owns_executor = executor is None
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
                if owns_executor:
                    executor.shutdown(wait=False, kill_workers=True)  # type: ignore[call-arg]
                message = f"it, or one of the {LARGEST} after it, took longer than the limit and could not be interrupted"
                yield Done(None, hung, message)
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
    except BrokenExecutor:
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
    for word in (generator.description, base.schema.names, base.schema.sizes, *settings):
        digest.update(repr(word).encode() + b"\0")
    digest.update(np.ascontiguousarray(code_array(base)).tobytes())
    if generator.grid == "release":  # shadows are made of values, not of codes
        plain = value_reader(base).read(base)
        digest.update(
            np.ascontiguousarray(plain.numbers).tobytes()
            + np.ascontiguousarray(plain.level_codes).tobytes()
        )
    if sight is not None:
        digest.update(sight.targets.numbers.tobytes() + sight.targets.level_codes.tobytes())
    for taken in draws:
        digest.update(np.ascontiguousarray(taken, dtype=np.int64).tobytes() + b"\0")
    return digest.hexdigest()


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

    finished: ShadowPart | None
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


@dataclass(frozen=True, eq=False)
class ShadowPart:
    """Some shadows: their numbers, codes (shadows, tables, rows, columns), and what was seen of their models and values, if anything.

    `nodes`, `cells`: of models. `values`: of released values, (shadows, tables, targets, features).
    """

    ids: NDArray[np.int64]
    codes: NDArray[Any]
    nodes: NDArray[np.float32] | None = None
    cells: NDArray[np.float32] | None = None
    values: NDArray[np.float32] | None = None


class Store(Protocol):
    """Where finished shadows are."""

    def add(self, new_part: ShadowPart) -> None:
        """Add a part."""
        ...

    def parts(self) -> list[ShadowPart]:
        """Return what is there; codes stay on disk until they are looked at."""
        ...

    def leave(self) -> Path:
        """Return a folder with what is there, to go on from in another run."""
        ...


def store_for(folder: Path | None, fingerprint: str) -> Store:
    """Return the store in a folder, or one that nobody else can open and that ends with its run."""
    return UnnamedStore(fingerprint) if folder is None else FolderStore(folder, fingerprint)


class UnnamedStore:
    """Shadows in a file without a name (where the system has such; else one that is deleted when it is closed)."""

    def __init__(self, fingerprint: str) -> None:
        self._fingerprint = fingerprint
        self._file = tempfile.TemporaryFile(prefix="chaffinch-shadows-")  # noqa: SIM115 (it lives as long as the store)
        self._parts: list[ShadowPart] = []

    def add(self, new_part: ShadowPart) -> None:
        """Add a part; its codes go to the file."""
        codes = np.ascontiguousarray(new_part.codes)
        offset = self._file.seek(0, 2)
        self._file.write(codes.tobytes())
        self._file.flush()
        mapped = (
            np.memmap(self._file, codes.dtype, "r", offset, codes.shape) if codes.size else codes
        )
        self._parts.append(replace(new_part, codes=mapped))

    def parts(self) -> list[ShadowPart]:
        """Return what is there; codes stay on disk until they are looked at."""
        return list(self._parts)

    def leave(self) -> Path:
        """Return a folder, the owner's alone, that what is there was written to."""
        store = FolderStore(Path(tempfile.mkdtemp(prefix="chaffinch-shadows-")), self._fingerprint)
        for stored in self._parts:
            store.add(stored)
        return store.folder


class FolderStore:
    """A folder of finished shadows that was named: it is kept."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder = _existing_folder(folder)
        self._check(fingerprint)

    def leave(self) -> Path:
        """Return the folder."""
        return self.folder

    def _check(self, fingerprint: str) -> None:
        about = _about(self.folder)
        stored_fingerprint = about.get("fingerprint")
        if stored_fingerprint is None:
            write_text(
                self.folder / ABOUT,
                json.dumps({**about, "fingerprint": fingerprint}),
                mode=0o600,
                overwrite=True,
            )
        elif stored_fingerprint != fingerprint:
            raise InputError(
                f"The folder '{self.folder}' holds shadows of other data or other settings. Name another, or delete it."
            )

    def add(self, new_part: ShadowPart) -> None:
        """Write a part; it is there when its second file is."""
        name = f"{int(new_part.ids[0]):07d}-{secrets.token_hex(3)}"
        with (
            replacing(self.folder / f"codes-{name}.npy", mode=0o600) as path,
            open(path, "wb") as handle,
        ):
            np.save(handle, new_part.codes)
        seen = {
            key: value
            for key in ("nodes", "cells", "values")
            if (value := getattr(new_part, key)) is not None
        }
        with (
            replacing(self.folder / f"shadows-{name}.npz", mode=0o600) as path,
            open(path, "wb") as handle,
        ):
            np.savez(handle, ids=new_part.ids, **seen)

    def parts(self) -> list[ShadowPart]:
        """Return what is there; codes stay on disk until they are looked at. Files are arrays of numbers: numpy loads no objects unless told to."""
        out = []
        for path in sorted(self.folder.glob("shadows-*.npz")):
            codes = path.with_name("codes-" + path.stem.removeprefix("shadows-") + ".npy")
            try:
                with np.load(path) as archive:
                    seen = {key: archive[key] for key in archive.files}
                out.append(ShadowPart(seen.pop("ids"), np.load(codes, mmap_mode="r"), **seen))
            except (OSError, ValueError, KeyError, EOFError) as error:
                raise FileError(
                    f"The file '{path.name}' in '{self.folder}' is damaged. Delete it: its shadows are fitted again."
                ) from error
        return out


def stored_seed(folder: Path | None, seed: Seed) -> Seed:
    """Return the seed of the shadows in a folder where none is given, so that a run without a seed can be resumed too."""
    if folder is None:
        return seed
    path = _existing_folder(folder)
    about = _about(path)
    if "seed" not in about:
        number = (
            seed
            if isinstance(seed, int)
            else int(seed_sequence(seed).generate_state(1, np.uint64)[0])
        )
        about["seed"] = number
        write_text(path / ABOUT, json.dumps(about), mode=0o600, overwrite=True)
    return int(about["seed"]) if seed is None else seed


def _existing_folder(folder: Path) -> Path:
    """Return the folder for shadows, which is the owner's alone; make it if need be."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise FileError(f"Cannot keep shadows in '{path}': it is a file. Name a folder.")
    if path.is_dir() and any(path.iterdir()) and not (path / ABOUT).exists():
        raise FileError(
            f"Cannot keep shadows in '{path}': it holds other files. Name an empty folder or one with shadows."
        )
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"Cannot make the folder '{path}': {error.strerror or 'the system refused'}."
        ) from error
    return path


def _about(folder: Path) -> dict[str, Any]:
    path = folder / ABOUT
    if not path.exists():
        return {}
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileError(
            f"The file '{path}' is damaged. Delete the folder to begin anew."
        ) from error
    if not isinstance(facts, dict):
        raise FileError(f"The file '{path}' is not about shadows. Name another folder.")
    return facts
