"""Joint entropies of many sets of columns, counted from the codes of rows.

*Set after set* (`row_entropies`): sets that begin alike share the numbers of the rows'
combinations. Where rows are few this is the quickest way, since nothing else is held. Of a file
that is read in batches only the columns are in memory whose sets are being counted
(`column_entropies`): a table with many columns and few rows takes few passes so.

*Batch by batch* (`batch_entropies`), in bounded memory and few passes: sets that differ in their
last column alone share the work on the others. The combinations of those that occur are numbered in
order of appearance, and a table of number by last column is counted for each. So tables grow with
the combinations that occur, not with those that might. Columns with few levels come last, and
several such share a table, from which those of each are summed: half as many tables are counted.
Per batch one table after the other is counted: it stays in near memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.compiled import jit
from .._base.runtime import thread_count, thread_map
from ..table.code_cache import BLOCK_ROWS
from ..table.codes import Codes, narrowest
from .plan import Columns

FEW_ROWS = 1 << 18
"""Rows up to which counting set after set from all rows is quicker than batch by batch: near memory
holds the numbers of all rows.
"""

MANY_SETS = 100
"""Sets from which a table in memory with many rows is counted as a stream is: near memory then
holds a batch, and no longer the numbers of all rows.
"""

SCRATCH_CELLS = 1 << 26
"""Cells of scratch at most; sets that need more are left to be counted otherwise."""

HELD_BYTES = 1 << 26
"""Bytes of the columns of a file that are in memory at a time."""

PIECE_VISITS = 1 << 28
"""Rows times sets that a compiled function works on before anything else can happen: some tenths of
a second, for which Ctrl-C waits.
"""

FEW = 1 << 16
"""Counts up to which c log c is looked up."""

MAX_PREFIXES = 1 << 22
"""Combinations of all columns but the last that there may be; sets with more are left to be counted
otherwise.
"""

NUMBERED_FROM = 1 << 10
"""Possible combinations from which those that occur are numbered."""

BUDGET = 1 << 25
"""Cells, 4 bytes each, that are counted in one pass; what does not fit waits for the next."""

SHARED_LEVELS = 64
"""Combinations of the last columns that share a table at most."""

Numbers = NDArray[np.uint32]


def table_entropies(
    codes: Codes, sets: list[Columns], *, threads: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the entropy and the number of filled cells of each column set of a table in memory.
    Sets are sorted and not empty; -1 cells mark a set that needs too much scratch.
    """
    values, filled = nothing_counted(len(sets))
    if codes.n_rows >= FEW_ROWS and len(sets) >= MANY_SETS:
        starts = range(0, codes.n_rows, BLOCK_ROWS)
        values, filled = batch_entropies(
            lambda: (codes.between(start, start + BLOCK_ROWS) for start in starts),
            codes.sizes,
            sets,
            codes.n_rows,
            threads=threads,
        )
    uncounted = np.flatnonzero(filled < 0)
    if len(uncounted):
        values[uncounted], filled[uncounted] = row_entropies(
            codes, [sets[q] for q in uncounted], threads=threads
        )
    return values, filled


def nothing_counted(n_sets: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return zero entropies and -1 filled cells: the marks of sets that were not counted."""
    return np.zeros(n_sets), np.full(n_sets, -1, dtype=np.int64)


def row_entropies(
    codes: Codes, sets: Sequence[Columns], *, threads: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return entropies and filled cells as `table_entropies`, each set counted from all rows."""
    n_rows = codes.n_rows
    spread, filled = spread_of_sets(codes, *pad_sets(sets), threads=threads)
    return np.maximum(np.log(n_rows) - (spread.real + spread.imag) / n_rows, 0.0), filled


def spread_of_sets(
    codes: Codes,
    sets: NDArray[np.int64],
    widths: NDArray[np.int64],
    *,
    threads: int | None = None,
) -> tuple[NDArray[np.complex128], NDArray[np.int64]]:
    """Return the sum of c log c (in two parts, see `count_log_count`) and the number of filled
    cells of each set in the form of `pad_sets`; -1 cells mark a set that needs too much scratch.
    """
    n_rows, width = codes.n_rows, sets.shape[1]
    c_log_c = count_log_count(np.arange(n_rows + 2), n_rows)
    spread, filled = np.zeros(len(sets), dtype=np.complex128), np.zeros(len(sets), dtype=np.int64)
    where = (codes.groups, codes.rows, np.array(codes.sizes, dtype=np.int64), *codes.matrices)
    n_cells = scratch(codes.sizes, n_rows, width)

    def work(run: slice) -> None:
        ids, cells = np.zeros((width, n_rows), dtype=np.uint32), np.zeros(n_cells, dtype=np.uint32)
        sum_sets(sets[run], widths[run], *where, ids, cells, c_log_c, spread[run], filled[run])

    in_threads(work, len(sets), n_rows=n_rows, visits=len(sets), threads=threads)
    return spread, filled


def pad_sets(sets: Sequence[Columns]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return column sets as the rows of one array, padded with -1, and their widths."""
    widths = np.fromiter(map(len, sets), dtype=np.int64, count=len(sets))
    out = np.full((len(sets), max(1, int(widths.max(initial=0)))), -1, dtype=np.int64)
    out[np.arange(out.shape[1]) < widths[:, None]] = np.fromiter(
        (c for columns in sets for c in columns), dtype=np.int64, count=int(widths.sum())
    )
    return out, widths


def scratch(sizes: Sequence[int], n_rows: int, width: int) -> int:
    """Return the largest number of scratch cells that a set of `width` columns may need."""
    return int(min(SCRATCH_CELLS, n_rows * max(sizes, default=1), prod(sorted(sizes)[-width:])))


def in_threads(
    work: Callable[[slice], None], n_sets: int, *, n_rows: int, visits: int, threads: int | None
) -> None:
    """Run the work for all sets in short runs, on several threads where that pays."""
    workers = 1 if n_rows * visits < 2_000_000 else thread_count(threads)
    pieces = max(4 * workers if workers > 1 else 1, -(-n_rows * visits // PIECE_VISITS))
    edges = np.linspace(0, n_sets, min(pieces, n_sets) + 1).astype(int)
    thread_map(work, [slice(int(a), int(b)) for a, b in pairwise(edges) if b > a], threads=workers)


def column_entropies(
    batches: Callable[[], Iterable[Codes]],
    sizes: tuple[int, ...],
    sets: list[Columns],
    n_rows: int,
    *,
    threads: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return entropies and filled cells as `row_entropies`, for rows that come in batches;
    `batches` is called once for each run of columns that fits into memory.
    """
    values, filled = np.zeros(len(sets)), np.zeros(len(sets), dtype=np.int64)
    for run, columns in _runs(sets, sizes, n_rows):
        number = {column: index for index, column in enumerate(columns)}
        renamed = [tuple(number[column] for column in sets[q]) for q in run]
        run_codes = Codes.gathered(
            (codes.columns(columns) for codes in batches()),
            [sizes[column] for column in columns],
            n_rows,
        )
        values[run.start : run.stop], filled[run.start : run.stop] = row_entropies(
            run_codes, renamed, threads=threads
        )
    return values, filled


def _runs(
    sets: Sequence[Columns], sizes: tuple[int, ...], n_rows: int
) -> Iterator[tuple[range, list[int]]]:
    """Yield runs of column sets with the columns of each run, ascending: as many as fit into
    `HELD_BYTES`.
    """
    bytes_of = [np.dtype(narrowest(size)).itemsize * n_rows for size in sizes]
    first, columns, n_bytes = 0, set[int](), 0
    for q, column_set in enumerate(sets):
        new = [column for column in column_set if column not in columns]
        more = sum(bytes_of[column] for column in new)
        if columns and n_bytes + more > HELD_BYTES:
            yield range(first, q), sorted(columns)
            first, columns, n_bytes = (
                q,
                set(column_set),
                sum(bytes_of[column] for column in column_set),
            )
        else:
            columns.update(new)
            n_bytes += more
    if sets:
        yield range(first, len(sets)), sorted(columns)


def batch_entropies(
    batches: Callable[[], Iterable[Codes]],
    sizes: tuple[int, ...],
    sets: list[Columns],
    n_rows: int,
    *,
    threads: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the entropy and the number of filled cells of each column set, counted batch by batch.
    Sets are sorted and not empty; -1 cells mark a set whose prefix may have too many combinations.

    `batches` gives all rows as often as asked: once for each 2^25 cells that are filled.
    """
    values, filled = nothing_counted(len(sets))
    if not 0 < n_rows < 1 << 32:
        return values, filled
    orders = [_column_order(columns, sizes) for columns in sets]
    waiting, entropy, workers = (
        _group_prefixes(orders, sizes),
        EntropySum(n_rows),
        thread_count(threads),
    )
    portions = [waiting[i::workers] for i in range(workers)]
    shares = [
        _Share(portion, lambda q: orders[q][-1], sizes, BUDGET // workers)
        for portion in portions
        if portion
    ]
    while shares:
        for share in shares:
            share.begin()
        for codes in batches():
            thread_map(lambda share: share.add(codes), shares, threads=workers)  # noqa: B023
        for share in shares:
            for tables, (_, places) in zip(share.open, share.waiting, strict=False):
                for q, (value, n) in zip(
                    [*(q for q in places if q >= 0), *(~q for q in places if q < 0)],
                    tables.results(entropy),
                    strict=False,
                ):
                    values[q], filled[q] = value, n
            share.waiting = share.waiting[
                len(share.open) if share.started else len(share.waiting) :
            ]
        shares = [share for share in shares if share.waiting]
    return values, filled


def _column_order(columns: Columns, sizes: tuple[int, ...]) -> Columns:
    """Return the columns of a set in the order in which they are numbered: those with many levels
    first, unless all but the last may have too many combinations.
    """
    order = tuple(sorted(columns, key=lambda c: (-sizes[c], c)))
    return order if prod(sizes[c] for c in order[:-1]) <= MAX_PREFIXES else (*order[1:], order[0])


def _group_prefixes(
    orders: list[Columns], sizes: tuple[int, ...]
) -> list[tuple[Columns, list[int]]]:
    """Return the column prefixes, ascending, each with the indices of the sets that add one column
    to it. The complement of an index stands for the set that is the prefix itself: it is summed,
    not counted.
    """
    position = {order: q for q, order in enumerate(orders)}
    groups: dict[Columns, list[Columns]] = {}
    for order in sorted(orders):
        if prod(sizes[c] for c in order[:-1]) <= MAX_PREFIXES:
            groups.setdefault(order[:-1], []).append(order)
    for prefix in sorted(
        groups, key=len, reverse=True
    ):  # what has sets of its own to count is not counted itself
        groups[prefix] = [order for order in groups[prefix] if not groups.get(order)]
    return [
        (
            prefix,
            [
                *(position[order] for order in group),
                *([~position[prefix]] if prefix in position else []),
            ],
        )
        for prefix, group in sorted(groups.items())
        if group
    ]


class _Share:
    """The work of one thread: prefixes that wait, prefixes that are counted in this pass, and the
    combination numbers that they share.
    """

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
        self.open: list[_PrefixTables] = []
        self.started = False
        self.prefixes: dict[Columns, _Prefix] = {}
        self.buffers: list[Numbers] = []

    def add(self, codes: Codes) -> None:
        """Add a batch to all open prefixes; the first batch opens as many as fit, at least one."""
        self.path: list[int] = []
        self.grouped: dict[Columns, NDArray[np.unsignedinteger]] = {}
        self.codes = codes
        for tables in self.open:
            tables.add(self._numbers(tables.columns), self._group)
        total = 0
        for columns, places in self.waiting if not self.started else ():
            prefix = self._prefix(columns) if columns else None
            tables = _PrefixTables(
                columns, [self.lasts(q) for q in places if q >= 0], self.sizes, prefix
            )
            tables.add(self._numbers(columns), self._group)
            self.open.append(tables)
            total += tables.cells
            if total > self.budget:
                break
        self.started = True
        while len(self.open) > 1 and sum(tables.cells for tables in self.open) > 2 * self.budget:
            self.open.pop()  # it grew: counted in a later pass

    def _prefix(self, columns: Columns) -> _Prefix:
        if columns not in self.prefixes:
            before = self._prefix(columns[:-1]) if len(columns) > 1 else None
            self.prefixes[columns] = _Prefix(before, self.sizes[columns[-1]])
        return self.prefixes[columns]

    def _numbers(self, columns: Columns) -> Numbers:
        """Return the combination numbers of a prefix in all rows of the batch; the part shared with
        the previous prefix is reused.
        """
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
        """Return the codes of several columns combined into one."""
        if len(columns) == 1:
            return self.codes[columns[0]]
        if columns not in self.grouped:
            cells = np.zeros(self.codes.n_rows, dtype=np.uint8)
            for column in columns:
                cells *= np.uint8(self.sizes[column])
                cells += self.codes[column]
            self.grouped[columns] = cells
        return self.grouped[columns]


class _Prefix:
    """The combination numbers of some columns: cell numbers where few are possible, else numbers in
    order of appearance.
    """

    def __init__(self, before: _Prefix | None, size: int) -> None:
        self.before, self.size = before, size
        self.possible: int = size * (1 if before is None else before.possible)
        self.numbers: Numbers | None = (
            np.zeros(0, dtype=np.uint32) if self.possible >= NUMBERED_FROM else None
        )
        self.distinct = 0 if self.numbers is not None else self.possible

    def number(self, before: Numbers, codes: NDArray[np.unsignedinteger], out: Numbers) -> None:
        """Fill in the combination numbers of rows, from those of all columns but the last and the
        codes of the last.
        """

        if self.numbers is None:
            fold(before, codes, np.uint32(self.size), out)
            return
        known = 1 if self.before is None else self.before.distinct
        self.numbers = _grow_cells(self.numbers, known * self.size)
        self.distinct = int(
            number(before, codes, np.uint32(self.size), self.numbers, self.distinct, out)
        )


class _PrefixTables:
    """The tables of all sets with the same prefix: combinations of the prefix by each group of last
    columns.
    """

    def __init__(
        self, columns: Columns, lasts: list[int], sizes: tuple[int, ...], prefix: _Prefix | None
    ) -> None:
        self.columns, self.lasts, self.prefix = columns, lasts, prefix
        self.groups = _pack_columns(lasts, sizes)
        self.shapes = [tuple(sizes[c] for c in group) for group in self.groups]
        self.tables: list[Numbers] = [np.zeros(0, dtype=np.uint32) for _ in self.groups]

    @property
    def distinct(self) -> int:
        """The number of combinations of the prefix so far."""
        return 1 if self.prefix is None else self.prefix.distinct

    @property
    def cells(self) -> int:
        """The number of cells of its tables and of the list of combination numbers."""
        numbers = self.prefix.numbers if self.prefix is not None else None
        return sum(map(len, self.tables)) + (0 if numbers is None else len(numbers))

    def add(
        self, numbers: Numbers, codes: Callable[[Columns], NDArray[np.unsignedinteger]]
    ) -> None:
        """Add a batch of rows, from the combination numbers of the prefix and a function that
        returns the codes of a group of columns.
        """

        for i, (group, shape) in enumerate(zip(self.groups, self.shapes, strict=True)):
            self.tables[i] = _grow_cells(self.tables[i], self.distinct * prod(shape))
            bump(numbers, codes(group), np.uint32(prod(shape)), self.tables[i])

    def results(self, entropy: EntropySum) -> Iterable[tuple[float, int]]:
        """Return the entropy and the number of filled cells of each set, in the order of the last
        columns, then of the prefix itself.
        """
        by_last = dict[int, tuple[float, int]]()
        alone = (0.0, 1)
        for group, shape, table in zip(self.groups, self.shapes, self.tables, strict=True):
            *margins, alone = entropy.margins(table, self.distinct, shape)
            by_last |= dict(zip(group, margins, strict=True))
        return [*(by_last[last] for last in self.lasts), alone]


def _pack_columns(lasts: list[int], sizes: tuple[int, ...]) -> list[Columns]:
    """Return columns in groups of at most `SHARED_LEVELS` combinations; each column joins the first
    group with room for it.
    """
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


def _grow_cells(cells: Numbers, min_cells: int) -> Numbers:
    """Return cells with room for at least `min_cells`, twice that where they grow."""
    if min_cells <= len(cells):
        return cells
    grown = np.zeros(min_cells if not len(cells) else 2 * min_cells, dtype=np.uint32)
    grown[: len(cells)] = cells
    return grown


def count_log_count(counts: NDArray[np.integer[Any]], n: int) -> NDArray[np.complex128]:
    """Return c log c as two parts: a multiple of a grid on which sums up to n log n are exact, and
    a remainder.

    Real and imaginary parts carry the two, so that one kernel sums both; and no sum depends on the
    order of cells, so all engines agree to the last bit.
    """
    exact = counts * np.log(np.maximum(counts, 1))
    grid = 2.0 ** (51 - np.ceil(np.log2((n + 1) * np.log(n + 2))))
    coarse = np.rint(exact * grid) / grid
    return np.asarray(coarse + 1j * (exact - coarse), dtype=np.complex128)


def entropy_of_counts(counts: NDArray[np.integer[Any]], n: int) -> float:
    """Return the entropy in nats of n records from the counts of the non-empty cells, whatever
    their order.

    Examples
    --------
    >>> round(entropy_of_counts(np.array([5, 5]), 10), 6)
    0.693147
    """
    total = count_log_count(counts, n).sum()
    return max(0.0, float(np.log(n) - (total.real + total.imag) / n))


class EntropySum:
    """The entropies of many tables of the same n records, as `entropy_of_counts`; small counts are
    looked up.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.small = count_log_count(np.arange(min(n + 1, FEW)), n)

    def margins(
        self, cells: NDArray[np.uint32], n_groups: int, shape: Sequence[int]
    ) -> list[tuple[float, int]]:
        """Return the entropy and the number of filled cells of a table of groups by each of several
        columns, then of the groups alone.

        `cells` are the counts by group and by all of these columns, which have so many levels.
        """

        places = np.indices(shape).reshape(len(shape), -1)
        ends = np.cumsum([0, *shape, 1])
        slots = (
            np.concatenate([places, np.zeros((1, places.shape[1]), dtype=np.int64)])
            + ends[:-1, None]
        )
        spread, filled = (
            np.zeros(len(slots), dtype=np.complex128),
            np.zeros(len(slots), dtype=np.int64),
        )
        large = np.zeros((2, len(slots) * (self.n // len(self.small) + 1)), dtype=np.int64)
        n_large = spreads(cells, n_groups, slots, ends, self.small, spread, filled, large)
        np.add.at(spread, large[0, :n_large], count_log_count(large[1, :n_large], self.n))
        values = np.maximum(0.0, np.log(self.n) - (spread.real + spread.imag) / self.n)
        return list(zip(values.tolist(), filled.tolist(), strict=True))


@jit
def sum_sets(sets, widths, groups, rows, sizes, c8, c16, c32, ids, cells, c_log_c, spread, filled):  # type: ignore[no-untyped-def]
    """Fill in the sum of c log c and the number of filled cells of many column sets, sorted as
    words are.

    Sets that begin alike share the work on their beginning: the rows' distinct combinations of it
    are numbered once, in `ids` (one row for each width). A set that would need more scratch than
    `cells` has is marked by -1 filled cells.
    """
    path = np.full(ids.shape[0], -1, dtype=np.int64)
    distinct = np.ones(ids.shape[0] + 1, dtype=np.int64)
    known = 0
    for q in range(sets.shape[0]):
        inner = widths[q] - 1
        known = walk(
            sets[q, :inner], known, path, distinct, groups, rows, sizes, c8, c16, c32, ids, cells
        )
        c = sets[q, inner]
        n_cells = distinct[inner] * sizes[c]
        if known < inner or n_cells > cells.size:
            filled[q] = -1
            continue
        size = np.uint32(sizes[c])
        if groups[c] == 0:
            spread[q], filled[q] = _spread(ids[inner], c8[rows[c]], size, n_cells, cells, c_log_c)
        elif groups[c] == 1:
            spread[q], filled[q] = _spread(ids[inner], c16[rows[c]], size, n_cells, cells, c_log_c)
        else:
            spread[q], filled[q] = _spread(ids[inner], c32[rows[c]], size, n_cells, cells, c_log_c)


@jit
def walk(columns, known, path, distinct, groups, rows, sizes, c8, c16, c32, ids, cells):  # type: ignore[no-untyped-def]
    """Number the rows' combinations of the first columns, one after the other, from where the last
    walk's path parts.

    Return how many columns are numbered: fewer than all where one would need more scratch than
    `cells` has.
    """
    depth = 0
    while depth < columns.size and depth < known and path[depth] == columns[depth]:
        depth += 1
    while depth < columns.size:
        c = columns[depth]
        size = np.uint32(sizes[c])
        if distinct[depth] * sizes[c] > cells.size:
            break
        if groups[c] == 0:
            distinct[depth + 1] = _number(ids[depth], c8[rows[c]], size, cells, ids[depth + 1])
        elif groups[c] == 1:
            distinct[depth + 1] = _number(ids[depth], c16[rows[c]], size, cells, ids[depth + 1])
        else:
            distinct[depth + 1] = _number(ids[depth], c32[rows[c]], size, cells, ids[depth + 1])
        path[depth] = c
        depth += 1
    return depth


@jit
def _number(ids, codes, size, cells, out):  # type: ignore[no-untyped-def]
    """Number the distinct pairs of id and code in order of appearance; return how many there are.

    `cells` is scratch that is all zero before and after.
    """
    distinct = 0
    for i in range(ids.size):
        cell = ids[i] * size + codes[i]
        if cells[cell] == 0:
            distinct += 1
            cells[cell] = distinct
        out[i] = cells[cell] - 1
    for i in range(ids.size):
        cells[ids[i] * size + codes[i]] = 0
    return distinct


@jit
def _spread(ids, codes, size, n_cells, cells, c_log_c):  # type: ignore[no-untyped-def]
    """Return the sum of c log c over the cells of (id, code), and how many are filled; `cells` is
    zero before and after.
    """
    total, filled = 0.0, 0
    if n_cells <= ids.size:
        for i in range(ids.size):
            cells[ids[i] * size + codes[i]] += np.uint32(1)
        for cell in range(n_cells):
            if cells[cell]:
                total += c_log_c[cells[cell]]
                filled += 1
                cells[cell] = 0
    else:  # more cells than rows: touch those of the rows only
        for i in range(ids.size):
            cell = ids[i] * size + codes[i]
            before = cells[cell]
            if before == 0:
                filled += 1
            total += c_log_c[before + 1] - c_log_c[before]
            cells[cell] = before + 1
        for i in range(ids.size):
            cells[ids[i] * size + codes[i]] = 0
    return total, filled


@jit
def fold(key, codes, size, out):  # type: ignore[no-untyped-def]
    """Fill in cell numbers with one more column: `key * size + code`."""
    for i in range(key.size):
        out[i] = key[i] * size + codes[i]


@jit
def number(key, codes, size, numbers, distinct, out):  # type: ignore[no-untyped-def]
    """Number the pairs of key and code in order of first appearance, from 0 on; return how many
    there are now.

    `numbers` has one more than the number of each pair that was seen before, 0 for the others;
    `distinct` were seen.
    """
    for i in range(key.size):
        cell = key[i] * size + codes[i]
        known = numbers[cell]
        if known == 0:
            distinct += 1
            known = np.uint32(distinct)
            numbers[cell] = known
        out[i] = known - np.uint32(1)
    return distinct


@jit
def bump(ids, codes, size, cells):  # type: ignore[no-untyped-def]
    """Count one more in the cell of each row's id and code."""
    for i in range(ids.size):
        cells[ids[i] * size + codes[i]] += np.uint32(1)


@jit
def spreads(cells, n_groups, slots, ends, c_log_c, spread, filled, large):  # type: ignore[no-untyped-def]
    """Fill in, for several ways to sum the cells of each group of a table, the sum of c log c and
    the number of filled sums; return how many are left.

    Cell i of a group is part of the sums `slots[:, i]`; those of way j are `ends[j]` to `ends[j +
    1]`. Sums beyond the list `c_log_c` are left: they are put into `large`, two rows of ways and
    sums.
    """
    width, n_large = slots.shape[1], 0
    sums = np.zeros(ends[-1], dtype=np.int64)
    for group in range(n_groups):
        start = group * width
        for i in range(width):
            c = cells[start + i]
            if c:
                for j in range(slots.shape[0]):
                    sums[slots[j, i]] += c
        for j in range(slots.shape[0]):
            for slot in range(ends[j], ends[j + 1]):
                c = sums[slot]
                if c:
                    filled[j] += 1
                    if c < c_log_c.size:
                        spread[j] += c_log_c[c]
                    else:
                        large[0, n_large], large[1, n_large] = j, c
                        n_large += 1
                    sums[slot] = 0
    return n_large
