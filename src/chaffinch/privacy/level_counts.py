"""How often each level of a column occurs, counted part by part: in memory, or in sorted runs on disk where levels are very many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..table.code_cache import writing_to

MOST_LEVELS = 1 << 20
"""Distinct levels that are held in memory at a time, where there is a folder to put the others in."""

RUN_ROWS = 1 << 16
"""Levels of a run that are in memory while runs are merged."""


class LevelCounts:
    """Counts of levels, all words or all numbers, to which more are added; `folder`: where sorted runs may lie, None: all are held.

    Examples
    --------
    >>> counts = LevelCounts()
    >>> counts.add([("b", 2), ("a", 1)]); counts.add([("b", 3)])
    >>> list(counts.sorted_items())
    [('a', 1), ('b', 5)]
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._held: dict[Any, int] = {}
        self._runs: list[Path] = []

    def add(self, counts: Iterable[tuple[Any, int]]) -> None:
        """Add counts; a level may come any number of times."""
        held = self._held
        for level, n in counts:
            held[level] = held.get(level, 0) + n
        if self.folder is not None and len(held) > MOST_LEVELS:
            self._write_run(self.folder)

    def sorted_items(self) -> Iterator[tuple[Any, int]]:
        """Yield each level once, in order, with its count; as often as asked."""
        held = sorted(self._held.items())
        if not self._runs:
            yield from held
            return
        for level, same in groupby(
            merge(held, *map(_read, self._runs), key=itemgetter(0)), key=itemgetter(0)
        ):
            yield level, sum(n for _, n in same)

    def _write_run(self, folder: Path) -> None:
        levels = sorted(self._held.items())
        run = pa.table(
            {
                "level": [level for level, _ in levels],
                "n": pa.array([n for _, n in levels], pa.int64()),
            }
        )
        path = folder / f"{len(self._runs):05d}.arrow"
        with writing_to(folder):
            folder.mkdir(mode=0o700, exist_ok=True)
            with pa.ipc.new_file(str(path), run.schema) as writer:
                writer.write_table(run, max_chunksize=RUN_ROWS)
        self._runs.append(path)
        self._held = {}


def _read(path: Path) -> Iterator[tuple[Any, int]]:
    with pa.memory_map(str(path)) as mapped:
        run = pa.ipc.open_file(mapped)
        for i in range(run.num_record_batches):
            batch = run.get_batch(i)
            yield from zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
