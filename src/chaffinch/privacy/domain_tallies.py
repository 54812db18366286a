"""What is counted of a column of which levels or bounds are to be discovered, part by part: exact counts, for noise to be put in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..table.codec import OTHER
from ..table.schema import Column
from ..table.spell import words_of
from ..table.types import PER_SECOND, is_numeric, is_whole, parse_type, value_type
from .domain import numbers_of
from .level_counts import LevelCounts
from .prepare import StoredCells, typed_cells
from .tallies import StoredNumbers

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
        every = zip(
            words_of(coded.dictionary),
            np.bincount(index, minlength=len(coded.dictionary)).tolist(),
            strict=True,
        )
        bare = ((word.strip(), n) for word, n in every if word is not None and n)
        self.levels.add(
            (word, n) for word, n in bare if word and word != OTHER and word not in column.missing
        )


class RangeTally:
    """How many numbers of a column lie in each cell of the public grid of bounds; and the numbers themselves, where they are looked at `again` for quantiles."""

    def __init__(self, column: Column, file: Path | None = None, *, again: bool = False) -> None:
        self.column = column
        kind = parse_type(column.type)
        self.whole = is_whole(kind) or column.kind == "integer"
        self.grid = _years(kind) if pa.types.is_date(kind) or pa.types.is_timestamp(kind) else None
        self.edges = bound_grid(self.whole) if self.grid is None else self.grid
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


def bound_grid(whole: bool) -> NDArray[np.float64]:
    """Return the public grid of bounds: 0, and 1, 2 and 5 times powers of ten, of both signs."""
    powers = range(0, 18) if whole else range(-9, 16)
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
    most = 2.0**62
    return np.array([float(d) * day for d in days.tolist() if abs(float(d) * day) < most])
