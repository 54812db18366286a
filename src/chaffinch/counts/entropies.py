"""Joint entropies of many sets of columns at once, for structure searches.

I(child; parents) = H(child) + H(parents) - H(parents and child), so a search over a thousand
families needs the entropies of the sets, each once. In memory and in a stream of codes sets that
begin alike share their work; on other engines the marginals are counted, a bounded number of cells
at a time.

Pairs of all columns, which a search ranks columns by, have a way of their own (`pair_entropies`): a
thousand columns have half a million of them. Columns with few levels are joined into groups, and
each two groups are counted against each other: that table holds the pairs of all columns of the one
with all columns of the other. Tables are counted tile by tile, a tile being one run of groups
against another: as many as fit into a budget in one pass over the rows. Results are arrays of one
number a pair, not tuples and dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, combinations_with_replacement
from math import isqrt, prod

import numpy as np
from numpy.typing import NDArray

from .._base.compiled import jit
from .._base.runtime import thread_count, thread_map
from ..table.codes import Codes
from .code_entropies import EntropySum, count_log_count, entropy_of_counts, nothing_counted
from .counter import Counter, EntropyCounter, RowCounter
from .marginal import entropy
from .plan import Columns, runs_of

MAX_MASKED_COLUMNS = 16
"""Columns up to which sets are written as bit masks: entropies then stand in an array with a place
for every set.
"""

MAX_CELLS = 1 << 25
"""Cells of marginals that are counted together."""

PAIRS_AT_A_TIME = 1 << 18
"""Pairs that are asked for together where they are not all counted at once."""

GROUP_LEVELS = 64
"""Combinations of levels of a group of columns at most: a table of two groups stays in the
processor's near memory.
"""

ROWS_A_CELL = 8
"""Rows for each cell of a table of two groups at least, where there are several columns in one:
else summing would take longer than counting.
"""

TILE_LEVELS = 2048
"""Levels of a run of groups, about: a tile has the square of it cells."""

BUDGET = 1 << 25
"""Cells, 4 bytes each, that are counted in one pass."""

MAX_LEVELS = 1 << 12
"""Levels of a column whose pairs are counted here; those of others are left."""

NEAR_ROWS, PIECE_ROWS = 1 << 14, 1 << 16
"""Rows whose codes are put together at a time, since they stay in near memory; and those that a
thread counts before anything else can happen: for them Ctrl-C waits.
"""


class JointEntropies:
    """Entropies in nats, and numbers of filled cells, of sets of columns; counted when first asked
    for.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> table = chaffinch.read(pa.table({"a": ["x", "y"] * 30, "b": ["x", "y"] * 30}))
    >>> known = JointEntropies(chaffinch.MemoryCounter(table))
    >>> round(known.entropy((0,)), 4), round(known.information(1, (0,)), 4)
    (0.6931, 0.6931)
    """

    def __init__(self, counter: Counter) -> None:
        self.counter = counter
        self._known: dict[Columns, tuple[float, int]] = {(): (0.0, 1)}
        self._pairs: PairEntropies | None = None

    def ask_pairs(self) -> NDArray[np.float64]:
        """Count all pairs, and return their entropies in lexicographic order."""
        if self._pairs is None:
            self._pairs = every_pair(self.counter)
        return self._pairs.values

    def ask(self, sets: Iterable[Columns]) -> None:
        """Count those of these sets that are not known yet, together."""
        new = sorted(
            {
                columns
                for columns in sets
                if columns not in self._known and (self._pairs is None or len(columns) != 2)
            }
        )
        if new:
            for columns, value, filled in zip(
                new, *joint_entropies(self.counter, new), strict=True
            ):
                self._known[columns] = (float(value), int(filled))

    def entropy(self, columns: Columns) -> float:
        """Return the joint entropy of a set of columns."""
        return self._lookup(columns)[0]

    def filled(self, columns: Columns) -> int:
        """Return the number of combinations of a column set that occur."""
        return self._lookup(columns)[1]

    def information(self, child: int, parents: Columns) -> float:
        """Return the mutual information I(child; parents): 0 if they are independent."""
        both = tuple(sorted((*parents, child)))
        return max(0.0, self.entropy((child,)) + self.entropy(parents) - self.entropy(both))

    def _lookup(self, columns: Columns) -> tuple[float, int]:
        if self._pairs is not None and len(columns) == 2:
            index = self._pairs.pair_index(*columns)
            return float(self._pairs.values[index]), int(self._pairs.filled[index])
        if columns not in self._known:
            self.ask([columns])
        return self._known[columns]


@lru_cache(maxsize=32)
def masks_up_to(d: int, width: int) -> NDArray[np.int64]:
    """Return the bit masks of all sets of at most `width` of `d` columns, ascending.

    Examples
    --------
    >>> masks_up_to(3, 1).tolist()
    [0, 1, 2, 4]
    """
    masks = np.arange(1 << d, dtype=np.int64)
    out: NDArray[np.int64] = masks[np.bitwise_count(masks) <= width]
    out.flags.writeable = False
    return out


def every_entropy(counter: Counter, width: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the entropies and the numbers of filled cells of all sets of at most `width` columns,
    by bit mask.

    For at most 16 columns. Bit j stands for column j; places of larger sets hold nan and 0.
    """
    d = len(counter.schema.names)
    values, filled = np.full(1 << d, np.nan), np.zeros(1 << d, dtype=np.int64)
    sets, masks = _every_set(d, min(width, d))
    values[masks], filled[masks] = joint_entropies(counter, sets)
    values[0], filled[0] = 0.0, 1
    return values, filled


def every_pair(counter: Counter) -> PairEntropies:
    """Return the entropies and the numbers of filled cells of all pairs of columns."""
    d, weight = len(counter.schema.names), getattr(counter, "weight", None)
    if isinstance(counter, RowCounter) and weight is None:
        threads = getattr(counter, "threads", None)
        pairs = pair_entropies(
            lambda: (batch.codes for batch in counter.coded()),
            counter.schema.sizes,
            counter.n_rows,
            threads=threads,
        )
    else:
        pairs = PairEntropies.nothing(d)
    uncounted = np.flatnonzero(pairs.filled < 0)
    for start in range(0, len(uncounted), PAIRS_AT_A_TIME):
        places = uncounted[start : start + PAIRS_AT_A_TIME]
        pairs.values[places], pairs.filled[places] = joint_entropies(counter, pairs.pairs(places))
    return pairs


def joint_entropies(
    counter: Counter, sets: list[Columns]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the entropy and the number of filled cells of each column set (sorted, not empty): the
    counter's own where it has them, else those of its marginals.
    """
    if isinstance(counter, EntropyCounter) and counter.n_rows:
        values, filled = counter.entropies(sets)
    else:
        values, filled = nothing_counted(len(sets))
    uncounted = np.flatnonzero(filled < 0)
    if len(uncounted):
        values[uncounted], filled[uncounted] = _from_marginals(
            counter, [sets[q] for q in uncounted]
        )
    return values, filled


@lru_cache(maxsize=32)
def _every_set(d: int, width: int) -> tuple[list[Columns], NDArray[np.int64]]:
    """Return all sets of at most `width` columns in lexicographic order, and their bit masks."""
    sets = sorted(columns for w in range(1, width + 1) for columns in combinations(range(d), w))
    return sets, np.array([sum(1 << c for c in columns) for columns in sets], dtype=np.int64)


def _from_marginals(
    counter: Counter, sets: list[Columns]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    names, sizes = counter.schema.names, counter.schema.sizes
    values, filled = np.zeros(len(sets)), np.zeros(len(sets), dtype=np.int64)
    for batch in batches([prod(sizes[c] for c in columns) for columns in sets]):
        marginals = counter.marginals([[names[c] for c in sets[q]] for q in batch])
        for q, marginal in zip(batch, marginals, strict=True):
            counts = (
                marginal.counts[marginal.counts > 0] if marginal.counts.dtype == np.int64 else None
            )
            values[q] = (
                entropy(marginal)
                if counts is None or not len(counts)
                else entropy_of_counts(counts, counter.n_rows)
            )
            filled[q] = int(np.count_nonzero(marginal.counts))
    return values, filled


def batches(cells: list[int]) -> Iterator[list[int]]:
    """Yield runs of positions whose tables together have at most `MAX_CELLS` cells."""
    return runs_of([min(size, MAX_CELLS // 8) for size in cells], MAX_CELLS)


@dataclass(frozen=True, eq=False)
class PairEntropies:
    """Entropies in nats and numbers of filled cells of all pairs of `d` columns, in lexicographic
    order; -1 cells mark a pair that was not counted.
    """

    d: int
    values: NDArray[np.float64]
    filled: NDArray[np.int32]

    @classmethod
    def nothing(cls, d: int) -> PairEntropies:
        """Return an object without the entropy of any pair."""
        return cls(d, np.zeros(d * (d - 1) // 2), np.full(d * (d - 1) // 2, -1, dtype=np.int32))

    def pair_index(self, first: int, second: int) -> int:
        """Return the index of a pair (first < second).

        Examples
        --------
        >>> pairs = PairEntropies.nothing(4)
        >>> [pairs.pair_index(*pair) for pair in ((0, 1), (0, 3), (2, 3))], pairs.pairs([2, 5])
        ([0, 2, 5], [(0, 3), (2, 3)])
        """
        return first * (2 * self.d - first - 1) // 2 + second - first - 1

    def pairs(self, places: Sequence[int] | NDArray[np.int64]) -> list[Columns]:
        """Return the pairs with these indices, ascending."""
        firsts = np.cumsum([0, *range(self.d - 1, 0, -1)])
        first = np.searchsorted(firsts, places, side="right") - 1
        second = np.asarray(places) - firsts[first] + first + 1
        return list(zip(first.tolist(), second.tolist(), strict=True))


class _Groups:
    """A run of groups of columns, each group coded as one column; and, for the columns of all
    groups in order, their positions, sizes and codes by group code.
    """

    def __init__(self, groups: Sequence[Columns], sizes: Sequence[int]) -> None:
        self.groups = groups
        self.shapes = [tuple(sizes[column] for column in group) for group in groups]
        self.levels = np.array([prod(shape) for shape in self.shapes], dtype=np.int64)
        self.ends = np.cumsum([0, *map(len, groups)])
        self.columns = np.array([column for group in groups for column in group], dtype=np.int64)
        self.sizes = np.array([sizes[column] for column in self.columns], dtype=np.int64)
        meanings = [
            np.indices(shape, dtype=np.int64).reshape(len(shape), -1) for shape in self.shapes
        ]
        self.meanings = np.concatenate([codes.ravel() for codes in meanings])
        lengths = np.repeat(self.levels, np.diff(self.ends))
        self.starts = np.cumsum(lengths) - lengths

    def coded(self, codes: Codes) -> NDArray[np.uint16]:
        """Return the codes of the groups in some rows."""
        out = np.empty((len(self.groups), codes.n_rows), dtype=np.uint16)
        for row, group, shape in zip(out, self.groups, self.shapes, strict=True):
            row[:] = codes[group[0]]
            for column, size in zip(group[1:], shape[1:], strict=True):
                row *= np.uint16(size)
                row += codes[column]
        return out

    def __len__(self) -> int:
        return len(self.groups)


class _Tile:
    """The tables of each group of one run by each group of another run, or by the later groups of
    the same run.
    """

    def __init__(self, first: _Groups, second: _Groups) -> None:
        self.first, self.second, self.same = first, second, first is second
        is_counted = (
            np.triu(np.ones((len(first), len(second)), dtype=bool), 1)
            if self.same
            else np.ones((len(first), len(second)), dtype=bool)
        )
        cells = np.where(is_counted, first.levels[:, None] * second.levels[None, :], 0)
        self.starts = (np.cumsum(cells) - cells.ravel()).reshape(cells.shape)
        self.n_cells = int(cells.sum())

    def begin(self) -> None:
        self.cells = np.zeros(self.n_cells, dtype=np.uint32)
        self.alone = (
            [np.zeros(levels, dtype=np.int64) for levels in self.first.levels] if self.same else []
        )

    def add(self, codes: Codes) -> None:
        """Count some rows."""
        for start in range(0, codes.n_rows, NEAR_ROWS):
            near_codes = codes.between(start, start + NEAR_ROWS)
            first = self.first.coded(near_codes)
            for counts, group in zip(self.alone, first, strict=False):
                counts += np.bincount(group, minlength=len(counts))
            count_tables(
                first,
                first if self.same else self.second.coded(near_codes),
                self.second.levels,
                self.starts,
                self.same,
                self.cells,
            )

    def end(self, out: PairEntropies, entropy: EntropySum) -> None:
        """Put the entropies of all pairs of columns into their places, and let the tables go."""
        first, second = self.first, self.second
        wide = int(first.levels.max()) * int(second.levels.max())
        parts, sums = np.zeros(wide, dtype=np.uint32), np.zeros(wide, dtype=np.uint32)
        for i in range(len(first)):
            if self.same:
                _within(first.groups[i], self.alone[i].reshape(first.shapes[i]), out, entropy.n)
            start = i + 1 if self.same else 0
            span = slice(first.ends[i], first.ends[i + 1])
            pairs = (first.ends[i + 1] - first.ends[i]) * (second.ends[-1] - second.ends[start])
            if not pairs:
                continue
            places, spread, filled = (
                np.zeros(pairs, dtype=np.int64),
                np.zeros(pairs, dtype=np.complex128),
                np.zeros(pairs, dtype=np.int32),
            )
            large = np.zeros((2, pairs * (entropy.n // len(entropy.small) + 1)), dtype=np.int64)
            n_large = sum_tables(
                self.cells,
                self.starts[i],
                start,
                first.levels[i],
                (first.columns[span], first.sizes[span], first.starts[span], first.meanings),
                (
                    second.levels,
                    second.ends,
                    second.columns,
                    second.sizes,
                    second.starts,
                    second.meanings,
                ),
                out.d,
                entropy.small,
                parts,
                sums,
                (places, spread, filled, large),
            )
            np.add.at(spread, large[0, :n_large], count_log_count(large[1, :n_large], entropy.n))
            out.values[places] = np.maximum(
                0.0, np.log(entropy.n) - (spread.real + spread.imag) / entropy.n
            )
            out.filled[places] = filled
        del self.cells, self.alone


def pair_entropies(
    batches: Callable[[], Iterable[Codes]],
    sizes: tuple[int, ...],
    n_rows: int,
    *,
    threads: int | None = None,
) -> PairEntropies:
    """Return the entropies of all pairs of columns.

    `batches` gives all rows as often as asked: once for each 2^25 cells of tables. Pairs of columns
    with more than 4,096 levels are left.
    """
    workers, out = thread_count(threads), PairEntropies.nothing(len(sizes))
    if not 0 < n_rows < 1 << 32:
        return out
    entropy = EntropySum(n_rows)
    runs = _runs(
        _pack_columns(sizes, max(1, min(GROUP_LEVELS, isqrt(n_rows // ROWS_A_CELL)))),
        sizes,
        workers,
    )
    tiles = [_Tile(first, second) for first, second in combinations_with_replacement(runs, 2)]
    for run in runs_of([tile.n_cells for tile in tiles], BUDGET):
        run_tiles = [tiles[index] for index in run]
        for tile in run_tiles:
            tile.begin()
        for codes in batches():
            for start in range(0, codes.n_rows, PIECE_ROWS):
                piece = codes.between(start, start + PIECE_ROWS)
                thread_map(lambda tile: tile.add(piece), run_tiles, threads=workers)  # noqa: B023
        thread_map(lambda tile: tile.end(out, entropy), run_tiles, threads=workers)
    return out


def _pack_columns(sizes: Sequence[int], max_levels: int) -> list[Columns]:
    """Return columns in groups of at most `max_levels` combinations, unless a single column has
    more; each joins the fullest group with room for it.
    """
    groups: dict[int, list[list[int]]] = {}
    for column in sorted(
        (c for c in range(len(sizes)) if sizes[c] <= MAX_LEVELS), key=lambda c: (-sizes[c], c)
    ):
        size = max(sizes[column], 1)
        full = next(
            (levels for levels in range(max_levels // size, 0, -1) if groups.get(levels)), None
        )
        group = [] if full is None else groups[full].pop()
        groups.setdefault(size * (full or 1), []).append([*group, column])
    return [tuple(group) for levels in sorted(groups) for group in groups[levels]]


def _runs(groups: Sequence[Columns], sizes: Sequence[int], workers: int) -> list[_Groups]:
    """Return runs of groups with about equal numbers of levels, enough runs for all threads."""
    levels = [prod(sizes[column] for column in group) for group in groups]
    max_levels = min(TILE_LEVELS, -(-sum(levels) // (2 * workers)))
    return [
        _Groups([groups[index] for index in run], sizes)
        for run in runs_of(levels, max(max_levels, 1))
    ]


def _within(group: Columns, counts: NDArray[np.int64], out: PairEntropies, n: int) -> None:
    """Fill in the entropies of the pairs of columns within one group."""
    for a, b in combinations(range(len(group)), 2):
        table = counts.sum(axis=tuple(axis for axis in range(counts.ndim) if axis not in (a, b)))
        index = out.pair_index(*sorted((group[a], group[b])))
        out.values[index], out.filled[index] = (
            entropy_of_counts(table[table > 0], n),
            np.count_nonzero(table),
        )


@jit
def count_tables(firsts, seconds, levels, starts, same, cells):  # type: ignore[no-untyped-def]
    """Count the rows' codes of each first group by each second group, or by the later groups if
    both are the same; the table of a pair starts at its entry of `starts`.

    Two tables at a time: where most rows have one code, the next row need not wait for the same
    cell.
    """
    for i in range(firsts.shape[0]):
        group_codes = firsts[i]
        j = i + 1 if same else 0
        while j + 1 < seconds.shape[0]:
            size, other_size = np.uint32(levels[j]), np.uint32(levels[j + 1])
            table, other_table = cells[starts[i, j] :], cells[starts[i, j + 1] :]
            codes, other_codes = seconds[j], seconds[j + 1]
            for row in range(group_codes.size):
                code = np.uint32(group_codes[row])
                table[code * size + codes[row]] += np.uint32(1)
                other_table[code * other_size + other_codes[row]] += np.uint32(1)
            j += 2
        if j < seconds.shape[0]:
            size, table, codes = np.uint32(levels[j]), cells[starts[i, j] :], seconds[j]
            for row in range(group_codes.size):
                table[group_codes[row] * size + codes[row]] += np.uint32(1)


@jit
def sum_tables(cells, starts, start, n_first, first, second, d, c_log_c, parts, sums, results):  # type: ignore[no-untyped-def]
    """Fill in the index, the sum of c log c and the number of filled cells of each pair of a column
    of one group with a column of the groups from `start` on; return the number of large counts.

    Counts beyond the list `c_log_c` are left: they are put into `large`, two rows of pairs and
    counts. `parts` and `sums` are scratch.
    """
    columns, sizes, begins, meanings = first
    levels, ends, other_columns, other_sizes, other_begins, other_meanings = second
    places, spread, filled, large = results
    pair, n_large = 0, 0
    for j in range(start, levels.size):
        n_second = levels[j]
        table = cells[starts[j] : starts[j] + n_first * n_second]
        for m in range(columns.size):
            size = sizes[m]
            margin = table
            if columns.size > 1:  # sum over the other columns of the first group
                margin = parts[: size * n_second]
                margin[:] = 0
                for code in range(n_first):
                    offset = meanings[begins[m] + code] * n_second
                    for other in range(n_second):
                        margin[offset + other] += table[code * n_second + other]
            for k in range(ends[j], ends[j + 1]):
                other_size = other_sizes[k]
                joint = margin
                if ends[j + 1] - ends[j] > 1:  # and over those of the second
                    joint = sums[: size * other_size]
                    joint[:] = 0
                    for code in range(size):
                        for other in range(n_second):
                            joint[code * other_size + other_meanings[other_begins[k] + other]] += (
                                margin[code * n_second + other]
                            )
                a, b = min(columns[m], other_columns[k]), max(columns[m], other_columns[k])
                places[pair] = a * (2 * d - a - 1) // 2 + b - a - 1
                total, n_filled = 0.0j, 0
                for cell in range(joint.size):
                    count = joint[cell]
                    if count:
                        n_filled += 1
                        if count < c_log_c.size:
                            total += c_log_c[count]
                        else:
                            large[0, n_large], large[1, n_large] = pair, count
                            n_large += 1
                spread[pair], filled[pair] = total, n_filled
                pair += 1
    return n_large
