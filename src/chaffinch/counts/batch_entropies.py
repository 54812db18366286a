"""Joint entropies of many sets of columns from batches of codes, in bounded memory and few passes.

Sets that differ in their last column alone share the work on the others: the combinations of those that occur are numbered in order of
appearance, and a table of number by last column is counted for each. So tables grow with the combinations that occur, not with those
that might. Columns with few levels come last, and several such share a table, from which those of each are summed: half as many tables are
counted. Per batch one table after the other is counted: it stays in near memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod

import numpy as np
from numpy.typing import NDArray

from .._base.runtime import thread_count, thread_map
from ..table.codes import Codes
from .counter import Columns
from .scores import EntropySum

MOST_BEGINNINGS = 1 << 22
"""Combinations of all columns but the last that there may be; sets with more are left to be counted otherwise."""

NUMBERED_FROM = 1 << 10
"""Possible combinations from which those that occur are numbered."""

BUDGET = 1 << 25
"""Cells, 4 bytes each, that are counted in one pass; what does not fit waits for the next."""

SHARED_LEVELS = 64
"""Combinations of the last columns that share a table at most."""

Numbers = NDArray[np.uint32]


class _Prefix:
    """The numbers of the combinations of some columns: their own where those that might occur are few, else in order of appearance."""

    def __init__(self, before: _Prefix | None, size: int) -> None:
        self.before, self.size = before, size
        self.possible: int = size * (1 if before is None else before.possible)
        self.numbers: Numbers | None = (
            np.zeros(0, dtype=np.uint32) if self.possible >= NUMBERED_FROM else None
        )
        self.distinct = 0 if self.numbers is not None else self.possible

    def number(self, before: Numbers, codes: NDArray[np.unsignedinteger], out: Numbers) -> None:
        """Fill in the numbers of some rows from those of all columns but the last, and the codes of that."""
        from . import kernels

        if self.numbers is None:
            kernels.fold(before, codes, np.uint32(self.size), out)
            return
        known = 1 if self.before is None else self.before.distinct
        self.numbers = _grown(self.numbers, known * self.size)
        self.distinct = int(
            kernels.number(before, codes, np.uint32(self.size), self.numbers, self.distinct, out)
        )


class _Beginning:
    """The tables of all sets that begin alike: combinations of the beginning by each group of last columns."""

    def __init__(
        self, columns: Columns, lasts: list[int], sizes: tuple[int, ...], prefix: _Prefix | None
    ) -> None:
        self.columns, self.lasts, self.prefix = columns, lasts, prefix
        self.groups = _packed(lasts, sizes)
        self.shapes = [tuple(sizes[c] for c in group) for group in self.groups]
        self.tables: list[Numbers] = [np.zeros(0, dtype=np.uint32) for _ in self.groups]

    @property
    def distinct(self) -> int:
        """The combinations of the beginning so far."""
        return 1 if self.prefix is None else self.prefix.distinct

    @property
    def cells(self) -> int:
        """The cells of its tables and of the list of numbers."""
        own = self.prefix.numbers if self.prefix is not None else None
        return sum(map(len, self.tables)) + (0 if own is None else len(own))

    def add(
        self, numbers: Numbers, codes: Callable[[Columns], NDArray[np.unsignedinteger]]
    ) -> None:
        """Add a batch of rows, given the numbers of the beginning and what gives the codes of a group of columns."""
        from . import kernels

        for i, (group, shape) in enumerate(zip(self.groups, self.shapes, strict=True)):
            self.tables[i] = _grown(self.tables[i], self.distinct * prod(shape))
            kernels.bump(numbers, codes(group), np.uint32(prod(shape)), self.tables[i])

    def results(self, entropy: EntropySum) -> Iterable[tuple[float, int]]:
        """Return the entropy and the number of filled cells of each set, in the order of the last columns, and then of the beginning itself."""
        by_last = dict[int, tuple[float, int]]()
        alone = (0.0, 1)
        for group, shape, table in zip(self.groups, self.shapes, self.tables, strict=True):
            *own, alone = entropy.margins(table, self.distinct, shape)
            by_last |= dict(zip(group, own, strict=True))
        return [*(by_last[last] for last in self.lasts), alone]


class _Share:
    """The work of one thread: beginnings that wait, those that are counted in this pass, and the numbers that they share."""

    def __init__(
        self,
        waiting: list[tuple[Columns, list[int]]],
        lasts: Callable[[int], int],
        sizes: tuple[int, ...],
        budget: int,
    ) -> None:
        self.waiting, self.lasts, self.sizes, self.budget = waiting, lasts, sizes, budget
        self.begin()

    def begin(self) -> None:
        """Begin a pass."""
        self.open: list[_Beginning] = []
        self.started = False
        self.prefixes: dict[Columns, _Prefix] = {}
        self.buffers: list[Numbers] = []

    def add(self, codes: Codes) -> None:
        """Add a batch to all beginnings that are open; the first opens as many as fit, one at least."""
        self.path: list[int] = []
        self.grouped: dict[Columns, NDArray[np.unsignedinteger]] = {}
        self.codes = codes
        for one in self.open:
            one.add(self._numbers(one.columns), self._group)
        total = 0
        for columns, places in self.waiting if not self.started else ():
            prefix = self._prefix(columns) if columns else None
            one = _Beginning(columns, [self.lasts(q) for q in places if q >= 0], self.sizes, prefix)
            one.add(self._numbers(columns), self._group)
            self.open.append(one)
            total += one.cells
            if total > self.budget:
                break
        self.started = True
        while len(self.open) > 1 and sum(one.cells for one in self.open) > 2 * self.budget:
            self.open.pop()  # it grew: counted in a later pass

    def _prefix(self, columns: Columns) -> _Prefix:
        if columns not in self.prefixes:
            before = self._prefix(columns[:-1]) if len(columns) > 1 else None
            self.prefixes[columns] = _Prefix(before, self.sizes[columns[-1]])
        return self.prefixes[columns]

    def _numbers(self, columns: Columns) -> Numbers:
        """The numbers of a beginning in all rows of the batch; what it shares with the one before is not worked out again."""
        n = self.codes.n_rows
        while len(self.buffers) <= len(columns) or len(self.buffers[0]) < n:
            self.buffers = [
                np.zeros(max(n, len(self.buffers[0]) if self.buffers else 0), dtype=np.uint32)
                for _ in range(len(columns) + 1)
            ]
            self.path = []
        depth = 0
        while depth < min(len(self.path), len(columns)) and self.path[depth] == columns[depth]:
            depth += 1
        for i in range(depth, len(columns)):
            self._prefix(columns[: i + 1]).number(
                self.buffers[i][:n], self.codes[columns[i]], self.buffers[i + 1][:n]
            )
        self.path = list(columns)
        return self.buffers[len(columns)][:n]

    def _group(self, columns: Columns) -> NDArray[np.unsignedinteger]:
        """The codes of several columns as one."""
        if len(columns) == 1:
            return self.codes[columns[0]]
        if columns not in self.grouped:
            cells = np.zeros(self.codes.n_rows, dtype=np.uint8)
            for column in columns:
                cells *= np.uint8(self.sizes[column])
                cells += self.codes[column]
            self.grouped[columns] = cells
        return self.grouped[columns]


def batch_entropies(
    batches: Callable[[], Iterable[Codes]],
    sizes: tuple[int, ...],
    sets: list[Columns],
    n_rows: int,
    *,
    threads: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the entropy and the number of filled cells of each set (sorted, none empty); -1 cells where its beginning may have too many combinations.

    `batches` gives all rows as often as asked: once for each 2^25 cells that are filled.
    """
    values, filled = np.zeros(len(sets)), np.full(len(sets), -1, dtype=np.int64)
    if not 0 < n_rows < 1 << 32:
        return values, filled
    words = [_word(columns, sizes) for columns in sets]
    waiting, entropy, workers = _grouped(words, sizes), EntropySum(n_rows), thread_count(threads)
    parts = [waiting[i::workers] for i in range(workers)]
    shares = [
        _Share(part, lambda q: words[q][-1], sizes, BUDGET // workers) for part in parts if part
    ]
    while shares:
        for share in shares:
            share.begin()
        for codes in batches():
            thread_map(lambda share: share.add(codes), shares, threads=workers)  # noqa: B023
        for share in shares:
            for one, (_, places) in zip(share.open, share.waiting, strict=False):
                for q, (value, n) in zip(
                    [*(q for q in places if q >= 0), *(~q for q in places if q < 0)],
                    one.results(entropy),
                    strict=False,
                ):
                    values[q], filled[q] = value, n
            share.waiting = share.waiting[
                len(share.open) if share.started else len(share.waiting) :
            ]
        shares = [share for share in shares if share.waiting]
    return values, filled


def _word(columns: Columns, sizes: tuple[int, ...]) -> Columns:
    """The columns of a set in the order in which they are numbered: those with many levels first, unless all but the last might have too many combinations."""
    order = tuple(sorted(columns, key=lambda c: (-sizes[c], c)))
    return (
        order if prod(sizes[c] for c in order[:-1]) <= MOST_BEGINNINGS else (*order[1:], order[0])
    )


def _grouped(words: list[Columns], sizes: tuple[int, ...]) -> list[tuple[Columns, list[int]]]:
    """Return beginnings, ascending, with the places of the sets whose last column they lack and, as its complement, of the set that they are: that is summed, not counted."""
    place = {word: q for q, word in enumerate(words)}
    groups: dict[Columns, list[Columns]] = {}
    for word in sorted(words):
        if prod(sizes[c] for c in word[:-1]) <= MOST_BEGINNINGS:
            groups.setdefault(word[:-1], []).append(word)
    for beginning in sorted(
        groups, key=len, reverse=True
    ):  # what has sets of its own to count is not counted itself
        groups[beginning] = [word for word in groups[beginning] if not groups.get(word)]
    return [
        (
            beginning,
            [
                *(place[word] for word in group),
                *([~place[beginning]] if beginning in place else []),
            ],
        )
        for beginning, group in sorted(groups.items())
        if group
    ]


def _packed(lasts: list[int], sizes: tuple[int, ...]) -> list[Columns]:
    """Return columns in groups that have few combinations: each joins the first that has room for it."""
    groups: list[list[int]] = []
    for column in sorted(lasts, key=lambda c: (-sizes[c], c)):
        room = (
            group for group in groups if prod(sizes[c] for c in (*group, column)) <= SHARED_LEVELS
        )
        group = next(room, None)
        if group is None:
            groups.append(group := [])
        group.append(column)
    return [tuple(group) for group in groups]


def _grown(cells: Numbers, least: int) -> Numbers:
    """Return cells with at least so many places, twice as many as are needed where it has to grow."""
    if least <= len(cells):
        return cells
    grown = np.zeros(least if not len(cells) else 2 * least, dtype=np.uint32)
    grown[: len(cells)] = cells
    return grown
