"""Exact counts of the cells of columns, which noise is put in: of cells in memory column by column, of a file all columns in one pass over it.

Counts of parts add, so those of a file are those of its cells in memory, however it is cut into batches. What is counted is seen with the noise that a
charge has paid for, and not before: that a pass over a file counts other columns along with the one that was paid for shows nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..table.code_cache import writing_to
from ..table.domain import OTHER
from ..table.schema import Column
from ..table.spell import words_of
from ..table.types import PER_SECOND, is_numeric, is_whole, parse_type, value_type
from .domain import numbers_of
from .prepare import CellParts, StoredCells, typed_cells

READ_AT_ONCE = 1 << 20
"""Stored numbers that are in memory at a time."""


class CellTally(Protocol):
    """Counts cells of a column, part by part."""

    def add(self, cells: StoredCells) -> None:
        """Count some more rows."""


T = TypeVar("T", bound=CellTally)


class CellTallies(Generic[T]):
    """The tallies of columns, by name; each is handed out once, when its cells have been counted."""

    def __init__(self, cells: CellParts, tallies: Mapping[str, T]) -> None:
        self._cells, self._waiting, self._counted = cells, dict(tallies), dict[str, T]()

    def take(self, name: str) -> T:
        """Return the tally of a column, and hold it no more."""
        if name not in self._counted:
            names = [name] if self._cells.folder is None else list(self._waiting)
            tallies = {waiting_name: self._waiting.pop(waiting_name) for waiting_name in names}
            for chunk in self._cells.parts(names):
                for tally in tallies.values():
                    tally.add(chunk)
            self._counted |= tallies
        return self._counted.pop(name)


class StoredNumbers:
    """Numbers that are looked at again: eight bytes each, in a file where there is a place for it, else in memory."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self._held: list[NDArray[np.float64]] = []

    def add(self, numbers: NDArray[np.generic]) -> None:
        """Keep some more."""
        plain = numbers.astype(np.float64, copy=False)
        if self.file is None:
            self._held.append(plain)
            return
        with writing_to(self.file.parent), self.file.open("ab") as handle:
            handle.write(np.ascontiguousarray(plain).data)

    def parts(self) -> Iterator[NDArray[np.float64]]:
        """Yield all of them, in their order."""
        yield from self._held
        if self.file is not None and self.file.exists():
            with self.file.open("rb") as handle:
                while len(numbers := np.fromfile(handle, dtype=np.float64, count=READ_AT_ONCE)):
                    yield numbers

    def remove(self) -> None:
        """Let them go."""
        self._held.clear()
        if self.file is not None:
            self.file.unlink(missing_ok=True)


YEARS = (1800, 2200)


class LevelTally:
    """How often each level of a column occurs: words without the blanks around them, or numbers."""

    def __init__(self, column: Column, folder: Path | None) -> None:
        self.column, self.levels = column, LevelCounts(folder)

    def add(self, cells: StoredCells) -> None:
        """Count some more rows."""
        column = self.column
        values, _ = typed_cells(column, cells)
        if is_numeric(value_type(values.type)):
            numbers, present = numbers_of(values)
            present &= np.isfinite(numbers)  # no file could hold another as a level
            distinct, counts = np.unique(numbers[present], return_counts=True)
            self.levels.add(
                (n, c)
                for n, c in zip(distinct.tolist(), counts.tolist(), strict=True)
                if n not in column.missing
            )
            return
        coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        index = coded.indices.drop_null().to_numpy(zero_copy_only=False)
        word_counts = zip(
            words_of(coded.dictionary),
            np.bincount(index, minlength=len(coded.dictionary)).tolist(),
            strict=True,
        )
        bare = ((word.strip(), n) for word, n in word_counts if word is not None and n)
        self.levels.add(
            (word, n) for word, n in bare if word and word != OTHER and word not in column.missing
        )


class RangeTally:
    """How many numbers of a column lie in each cell of the public grid of bounds; and the numbers themselves, where they are looked at `again` for quantiles."""

    def __init__(self, column: Column, file: Path | None = None, *, again: bool = False) -> None:
        self.column = column
        kind = parse_type(column.type)
        self.integral = is_whole(kind) or column.kind == "integer"
        self.grid = _years(kind) if pa.types.is_date(kind) or pa.types.is_timestamp(kind) else None
        self.edges = bound_grid(self.integral) if self.grid is None else self.grid
        self.counts = np.zeros(len(self.edges) + 1, dtype=np.int64)
        self.numbers = StoredNumbers(file) if again else None

    def add(self, cells: StoredCells) -> None:
        """Count some more rows."""
        numbers = _numbers(self.column, cells)
        self.counts += bound_counts(numbers, self.edges)
        if self.numbers is not None:
            self.numbers.add(numbers)


def _numbers(column: Column, cells: StoredCells) -> NDArray[np.generic]:
    """The numbers of a column, without missing codes."""
    values, _ = typed_cells(column, cells)
    numbers, present = numbers_of(values)
    for code in column.missing:
        if not isinstance(code, str | bool):
            present = present & (numbers != code)
    return np.asarray(numbers[present])


def bound_grid(integral: bool) -> NDArray[np.float64]:
    """Return the public grid of bounds: 0, and 1, 2 and 5 times powers of ten, of both signs."""
    powers = range(0, 18) if integral else range(-9, 16)
    steps = np.array([mantissa * 10.0**power for power in powers for mantissa in (1, 2, 5)])
    return np.concatenate([-steps[::-1], [0.0], steps])


def bound_counts(numbers: NDArray[np.generic], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many numbers lie in each cell of a public grid, below and above it too."""
    return np.bincount(
        np.searchsorted(edges, numbers, side="right"), minlength=len(edges) + 1
    ).astype(np.int64)


def _years(kind: pa.DataType) -> NDArray[np.float64]:
    """The public grid of dates and times: the first of January of every year from 1800 to 2200."""
    days = np.array(
        [f"{year}-01-01" for year in range(YEARS[0], YEARS[1] + 1)], dtype="datetime64[D]"
    ).astype(np.int64)
    day = (
        1
        if kind == pa.date32()
        else 86_400 * (10**3 if kind == pa.date64() else PER_SECOND[kind.unit])
    )
    limit = 2.0**62
    return np.array([float(d) * day for d in days.tolist() if abs(float(d) * day) < limit])


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
        counted = self._held
        for level, n in counts:
            counted[level] = counted.get(level, 0) + n
        if self.folder is not None and len(counted) > MOST_LEVELS:
            self._write_run(self.folder)

    def sorted_items(self) -> Iterator[tuple[Any, int]]:
        """Yield each level once, in order, with its count; as often as asked."""
        items = sorted(self._held.items())
        if not self._runs:
            yield from items
            return
        for level, same in groupby(
            merge(items, *map(_read, self._runs), key=itemgetter(0)), key=itemgetter(0)
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
