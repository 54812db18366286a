"""Which engine works on files: all rows in memory, or batch by batch in bounded memory. The one place that estimates and chooses."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Unpack

from .._base.errors import unknown_name
from .._base.text import size_words
from .formats.options import FileOptions
from .sources import expected_shape, located

Engine = Literal["auto", "memory", "stream"]
ENGINES: tuple[Engine, ...] = ("auto", "memory", "stream")
"""How files are worked on: "memory": all rows are held; "stream": batches of them; "auto": the first where they fit."""

HELD = 42
"""Bytes that a cell takes while a table is read and coded: 5.9 GiB for 10,000,000 rows of 15 columns."""

UNPACKED = 10
"""Bytes in memory for each byte of a file whose rows cannot be told without reading it."""

SHARE = 0.5
"""The share of free memory that tables may take before they are read batch by batch: measuring needs room beside them."""

_LIMITS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)
"""Files in which Linux says what a container may use, and what it uses."""


@dataclass(frozen=True)
class EngineChoice:
    """The engine that works on files, whether it was chosen for them, and the bytes that decided: of their tables, and free ones."""

    engine: Literal["memory", "stream"]
    chosen: bool = False
    needed: int | None = None
    free: int | None = None

    @property
    def stream(self) -> bool:
        """Whether rows are read batch by batch."""
        return self.engine == "stream"

    @property
    def sentence(self) -> str:
        """What to say of the choice; empty where it was made by whoever asked, or where a table fits as tables do."""
        if not self.chosen or not self.stream or self.needed is None or self.free is None:
            return ""
        return (
            f"Rows are read batch by batch (--engine stream): in memory they would take about {size_words(self.needed)}, "
            f"and {size_words(self.free)} are free."
        )


def choose_engine(
    engine: str,
    paths: Sequence[str | os.PathLike[str]],
    *,
    free: int | None = None,
    **options: Unpack[FileOptions],
) -> EngineChoice:
    """Return the engine for files: the one that was asked for, or for "auto" memory where their tables fit in half of what is free.

    Examples
    --------
    >>> choose_engine("stream", [])
    EngineChoice(engine='stream', chosen=False, needed=None, free=None)
    """
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    if engine != "auto":
        return EngineChoice("stream" if engine == "stream" else "memory")
    room = free_bytes() if free is None else free
    needed = sum(estimated_bytes(path, **options) for path in paths)
    fits = room is None or needed <= SHARE * room
    return EngineChoice("memory" if fits else "stream", True, needed, room)


def estimated_bytes(path: str | os.PathLike[str], **options: Unpack[FileOptions]) -> int:
    """Return about how many bytes the table of a file takes in memory, from its metadata or its size; 0 for a file that is not there."""
    file = located(path)[0]
    shape = expected_shape(Path(path), **options)
    if shape is not None:
        return HELD * shape[0] * shape[1]
    try:
        return UNPACKED * file.stat().st_size
    except OSError:
        return 0  # reading it says what is wrong


def free_bytes() -> int | None:
    """Return how many bytes this process may still take: of the machine, or of its container where that has fewer; None if unknown."""
    known = [
        left
        for left in (_free_of_machine(), *(_left(*files) for files in _LIMITS))
        if left is not None
    ]
    return min(known) if known else None


def _free_of_machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return None  # Windows


def _left(limit: Path, used: Path) -> int | None:
    """Return what a limit leaves; None where there is no limit."""
    try:
        return max(int(limit.read_text("ascii")) - int(used.read_text("ascii")), 0)
    except (OSError, ValueError):
        return None
