"""How a workflow is run: its seed, its threads, who is told how far it is, and what a result says of the run."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from .. import __version__
from .._base.runtime import Progress, silent
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
