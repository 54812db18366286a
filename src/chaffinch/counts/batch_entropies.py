"""Joint entropies of many sets of columns from batches of codes, in bounded memory and few passes.

Sets that differ in their last column alone share the work on the others: the combinations of those that occur are numbered in order of
appearance, and a table of number by last column is counted for each. So tables grow with the combinations that occur, not with those
that might. Per batch one set after the other is counted: its table stays in near memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod

import numpy as np
from numpy.typing import NDArray

from .._base.threads import thread_count, thread_map
from ..table.codes import Codes
from .counter import Columns
from .scores import entropy_of_counts

__all__ = ["batch_entropies"]

MOST_BEGINNINGS = 1 << 22
"""Combinations of all columns but the last that may be told apart; sets with more are left to be counted otherwise."""

NUMBERED_FROM = 1 << 10
"""Possible combinations from which those that occur are numbered."""

BUDGET = 1 << 25
"""Cells, 4 bytes each, that are counted in one pass; what does not fit waits for the next."""


class _Beginning:
    """The tables of all sets that begin alike: combinations of the beginning by each last column."""

    def __init__(self, columns: Columns, lasts: list[int], sizes: tuple[int, ...]) -> None:
        self.columns, self.lasts = columns, lasts
        self.levels = [sizes[c] for c in lasts]
        possible = prod(sizes[c] for c in columns)
        self.numbers: NDArray[np.uint32] | None = np.zeros(possible, dtype=np.uint32) if possible >= NUMBERED_FROM else None
        self.distinct = 0 if self.numbers is not None else possible
        self.tables = [np.zeros(self.distinct * level, dtype=np.uint32) for level in self.levels]

    @property
    def cells(self) -> int:
        """The cells of its tables and of the list of numbers."""
        return sum(map(len, self.tables)) + (0 if self.numbers is None else len(self.numbers))

    def add(self, codes: Codes, keys: NDArray[np.uint32]) -> None:
        """Add a batch of rows; `keys` are the cells of the beginning's columns."""
        from . import kernels

        if self.numbers is not None:
            keys = keys.copy()
            self.distinct = int(kernels.renumber(keys, self.numbers, self.distinct))
            for i, level in enumerate(self.levels):
                if self.distinct * level > len(self.tables[i]):
                    grown = np.zeros(2 * self.distinct * level, dtype=np.uint32)
                    grown[: len(self.tables[i])] = self.tables[i]
                    self.tables[i] = grown
        for last, level, table in zip(self.lasts, self.levels, self.tables, strict=True):
            kernels.bump(keys, codes[last], np.uint32(level), table)

    def results(self, n_rows: int) -> Iterable[tuple[float, int]]:
        """Return the entropy and the number of filled cells of each set, and then of the beginning itself."""
        for table in (*self.tables, self.tables[0].reshape(-1, self.levels[0]).sum(axis=1)):
            counts = table[table > 0].astype(np.int64)
            yield entropy_of_counts(counts, n_rows), len(counts)


def batch_entropies(
    batches: Callable[[], Iterable[Codes]], sizes: tuple[int, ...], sets: list[Columns], n_rows: int, *, threads: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the entropy and the number of filled cells of each set (sorted, none empty); -1 cells where its beginning may have too many combinations.

    `batches` gives all rows as often as asked: once for each 2^25 cells that are filled.
    """
    values, filled = np.zeros(len(sets)), np.full(len(sets), -1, dtype=np.int64)
    if not 0 < n_rows < 1 << 32:
        return values, filled
    waiting = _grouped(sets, sizes)
    workers = thread_count(threads)
    while waiting:
        open_ones: list[_Beginning] | None = None
        for codes in batches():
            if open_ones is None:
                open_ones = _first(codes, waiting, sets, sizes)
            else:
                parts = [open_ones[i::workers] for i in range(workers)]
                thread_map(lambda part: _add_all(part, codes, sizes), [part for part in parts if part], threads=workers)  # noqa: B023
            while len(open_ones) > 1 and sum(one.cells for one in open_ones) > 2 * BUDGET:
                open_ones.pop()  # it grew: counted in a later pass
        for one, (_, places) in zip(open_ones or (), waiting, strict=False):
            for q, (value, n) in zip(places, one.results(n_rows), strict=False):
                values[q], filled[q] = value, n
        waiting = waiting[len(open_ones or waiting) :]
    return values, filled


def _grouped(sets: list[Columns], sizes: tuple[int, ...]) -> list[tuple[Columns, list[int]]]:
    """Return beginnings, ascending, with the places of the sets whose last column they lack and, at the end, of the set that they are: that is summed, not counted."""
    place = {columns: q for q, columns in enumerate(sets)}
    groups: dict[Columns, list[Columns]] = {}
    for columns in sorted(sets):
        if prod(sizes[c] for c in columns[:-1]) <= MOST_BEGINNINGS:
            groups.setdefault(columns[:-1], []).append(columns)
    for beginning in sorted(groups, key=len, reverse=True):  # what has sets of its own to count is not counted itself
        groups[beginning] = [columns for columns in groups[beginning] if not groups.get(columns)]
    return [
        (beginning, [place[columns] for columns in (*group, beginning) if columns in place])
        for beginning, group in sorted(groups.items()) if group
    ]  # fmt: skip


def _first(codes: Codes, waiting: list[tuple[Columns, list[int]]], sets: list[Columns], sizes: tuple[int, ...]) -> list[_Beginning]:
    """Count the first batch for as many beginnings as fit, one at least."""
    out: list[_Beginning] = []
    total = 0
    for columns, places in waiting:
        one = _Beginning(columns, [sets[q][-1] for q in places if sets[q] != columns], sizes)
        if out and total + one.cells > BUDGET:
            break
        _add_all([one], codes, sizes)
        out.append(one)
        total += one.cells
        if total > BUDGET:
            break
    return out


def _add_all(beginnings: list[_Beginning], codes: Codes, sizes: tuple[int, ...]) -> None:
    """Add a batch to several, which share the keys of columns that they begin with."""
    from . import kernels

    path: list[tuple[int, NDArray[np.uint32]]] = []
    keys, nothing = np.empty(codes.n_rows, dtype=np.uint32), np.zeros(codes.n_rows, dtype=np.uint32)
    for one in beginnings:
        depth = 0
        while depth < min(len(path), len(one.columns)) and path[depth][0] == one.columns[depth]:
            depth += 1
        del path[depth:]
        for column in one.columns[depth:]:
            before = path[-1][1] if path else nothing
            path.append((column, kernels.folded(before, codes[column], np.uint32(sizes[column]))))
        keys[:] = path[-1][1] if path else nothing
        one.add(codes, keys)
