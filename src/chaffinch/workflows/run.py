"""How a workflow runs, whatever it does: open, select, run, deliver.

A run has a seed, threads, progress, somebody who is told what it does, and a clock for its steps.
`start_run` begins one from Python, `cli.observer.console_run` one from the command line; its result
goes to the files of a `Destinations`, or into a `ResultFolder`.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .. import __version__
from .._base.errors import InputError
from .._base.files import files_in, write_json, write_text
from .._base.results import write_page
from .._base.runtime import Progress, T, notebook_progress, silent
from ..table import Note
from ..table.rows import Rows
from ..table.sources import EngineChoice

PACKAGES = ("numpy", "scipy", "scikit-learn", "pyarrow")


class Observer:
    """Is told what a workflow is about to do, and may say it to a person; this one says nothing.

    Of data under a promise of privacy it is told names of columns and public numbers alone.
    """

    def before_reading(self, choice: EngineChoice) -> None:
        """A source is about to be read, which is not private, by the engine that was chosen."""

    def opened(self, notes: Iterable[Note]) -> None:
        """Of private data the schema is known, and what it says by itself; no record was read."""

    def engine_changed(self, why: str) -> None:
        """Rows are read into memory after all, though they are many, and why."""

    def after_reading(self, rows: Rows) -> None:
        """A table was read, which is not private."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The seed, the threads, the progress, the observer, and the command where one was given.

    The same seed gives the same results; with a promise of privacy a seed is for tests, and voids it.
    """

    seed: int | None = None
    threads: int | None = None
    progress: Progress = silent
    observer: Observer = field(default_factory=Observer)
    command: str = ""

    @property
    def options(self) -> dict[str, Any]:
        """What studies take of a run."""
        return {"seed": self.seed, "threads": self.threads, "progress": self.progress}

    @property
    def facts(self) -> dict[str, Any]:
        """What may differ between two equal runs: versions, the date, the command."""
        versions = {
            "chaffinch": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        }
        date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        return {
            "versions": versions,
            "date": date,
            **({"command": self.command} if self.command else {}),
        }


@contextmanager
def start_run(
    *, seed: int | None = None, threads: int | None = None, progress: Progress | None = None
) -> Iterator[RunOptions]:
    """Give a run from Python: without a `progress`, a bar where a notebook watches, and silence elsewhere."""
    with notebook_progress(progress) as show:
        yield RunOptions(seed=seed, threads=threads, progress=show)


@dataclass(eq=False)
class Stopwatch:
    """Seconds that each step of a run took, in the order of their first begin."""

    seconds: dict[str, float] = field(default_factory=dict)
    start: float = field(default_factory=time.perf_counter)

    @property
    def elapsed(self) -> float:
        """Seconds since it was made."""
        return time.perf_counter() - self.start

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Add the time of a block that ends well to a step."""
        start = time.perf_counter()
        yield
        self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start

    def iterate(self, step: str, values: Iterable[T]) -> Iterator[T]:
        """Give values one by one, and add the time that each takes to come to a step."""
        iterator, end = iter(values), object()
        while True:
            with self.timed(step):
                value: Any = next(iterator, end)
            if value is end:
                return
            yield value


@dataclass(frozen=True, kw_only=True)
class Destinations:
    """The files that a result goes to; None: it is not written. `html` stays inside, `public` is the variant of it that may leave."""

    json: Path | None = None
    html: Path | None = None
    public: Path | None = None
    confidential: Path | None = None

    @property
    def paths(self) -> tuple[Path | None, ...]:
        """All of them, as `check_outputs` takes them."""
        return self.json, self.html, self.public, self.confidential

    def outside(self, folder: Path) -> tuple[Path | None, ...]:
        """Those that are not written into a folder, which is yet to be made."""
        inside = folder.resolve()
        return tuple(
            path for path in self.paths if path is not None and path.resolve().parent != inside
        )

    def write(
        self,
        result: Any,
        page: Callable[..., str] | None = None,
        *,
        data: Mapping[str, Any] | None = None,
    ) -> tuple[str, ...]:
        """Write a result wherever it goes, each file wholly or not at all, and return a line for each.

        `page` gives the page, with `public=True` its variant; `data`: what is written as JSON, in place of `result.to_dict()`.
        """
        if self.json is not None:
            write_json(self.json, result.to_dict() if data is None else data)
        if self.html is not None and page is not None:
            write_page(self.html, page())
        if self.public is not None and page is not None:
            write_page(self.public, page(public=True), public=True)
        if self.confidential is not None:
            text = json.dumps(result.confidential(), indent=1, ensure_ascii=False)
            write_text(self.confidential, f"{text}\n", mode=0o600)
        lines = [f"Wrote {path}." for path in self.paths[:-1] if path is not None]
        confidential = f"Wrote {self.confidential}: confidential."
        return (*lines, confidential) if self.confidential is not None else tuple(lines)


TO_RELEASE, CONFIDENTIAL = "to-release", "confidential"
"""The folders of a result: what is meant to leave once that is decided, and what stays inside."""

REFUSED = f"{CONFIDENTIAL}/refused"
"""The folder of tables that exceed their limit: they are not meant to leave."""

FOLDERS = (TO_RELEASE, CONFIDENTIAL)


@dataclass(frozen=True)
class ResultFolder:
    """A folder with one folder for what is meant to leave, and one for what stays inside, which its owner alone can open."""

    path: Path

    @property
    def leaving(self) -> Path:
        """The folder of what is meant to leave, made where it is not there."""
        folder = self.path / TO_RELEASE
        folder.mkdir(mode=0o755, exist_ok=True)
        return folder

    @property
    def inside(self) -> Path:
        """The folder of what stays inside, made where it is not there."""
        folder = self.path / CONFIDENTIAL
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def write_report(self, name: str, data: Mapping[str, Any], page: str) -> None:
        """Write a report, as JSON and as a page, into the folder of what stays inside."""
        write_json(self.inside / f"{name}.json", data, mode=0o600)
        write_page(self.inside / f"{name}.html", page)

    def refuse(self) -> None:
        """Move what was meant to leave to the folder of what was refused."""
        refused = self.path / REFUSED
        self.leaving.rename(refused)
        refused.chmod(0o700)

    def finish(self) -> list[str]:
        """Close what stays inside to others, remove folders that are empty, and return the names of all files."""
        for file in self.inside.rglob("*"):
            if file.is_file():
                file.chmod(0o600)
        for folder in (self.path / TO_RELEASE, self.path / REFUSED):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
        return files_in(self.path)


def check_inputs(
    folder: Path, inputs: Iterable[Path | None], *, names: Iterable[str] = FOLDERS
) -> None:
    """Raise where a file that is read lies in a folder that is replaced when results are written."""
    replaced = {(folder / name).resolve() for name in names}
    for path in inputs:
        if path is not None and replaced & set(path.resolve().parents):
            raise InputError(
                f"The input '{path}' lies in '{folder}' where the release is written, and would be overwritten. Name another folder."
            )


def path_of(data: Any) -> Path | None:
    """Return the path of what came as a file; None for what came as such."""
    return Path(data) if isinstance(data, str | os.PathLike) else None


def name_of(data: Any) -> str | None:
    """Return the name of what came as a file; None for what came as such."""
    return None if (path := path_of(data)) is None else path.name
