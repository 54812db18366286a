"""For each of many keys, the rows at the smallest Hamming distance: by classes of kept columns, all pairs only as a last resort.

Rows that agree on the columns kept when r columns are left out are found by one grouping of both tables. So radius after radius
is tried, each only for the keys that have found nothing yet, on every choice of r columns to leave out.

Why the counts of these choices add. Let r be the smallest distance of a key to any row, and let a row differ from it exactly in the columns D.
The row agrees with the key on the columns kept when R is left out if and only if D is a subset of R. With |R| = r: no row has |D| < r
(r is the smallest); |D| = r happens for the one choice R = D; |D| > r for none. So each row at distance r is met once, and no other row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Ints
from ..._base.runtime import Progress, silent, thread_count, thread_map
from ...table.compare.classes import KeySpace, squeeze, zero_based

Search = Literal["auto", "classes", "pairs"]


PENDING = 1 << 21
"""Neighbours (by key and value) that are held before they are added up; a set of keys that has more is halved."""


BLOCK = 1 << 19
"""Pairs that are compared at once by one thread: their distances stay in the cache."""


FOR_THREADS = 20_000
"""Keys to group below which several threads are slower than one."""


PER_GROUPING = 1e-4


PER_ROW = 6e-8


PER_PAIR = 2e-10
"""About the seconds that a grouping costs, alone and for each row, and that a pair costs for each column: they choose the search."""


def find_nearest(
    people: Distinct,
    source: Distinct,
    sizes: Sequence[int],
    *,
    n_levels: int,
    by: Search = "auto",
    threads: int | None = None,
    progress: Progress = silent,
) -> Found:
    """Return, for each distinct key of people, the rows of the source at the smallest Hamming distance.

    `sizes` has the number of levels of each key column. `by` is "classes" (groupings of kept columns), "pairs" (all pairs of distinct keys and
    rows, in blocks), or "auto": whichever is expected to cost less. They give the same.
    """
    nearest = Found(people, n_levels)
    _Hunt(nearest, people, source, tuple(sizes), by, thread_count(threads), progress).resolve()
    return nearest


@dataclass(eq=False)
class Found:
    """What was found: for each key its radius, rows, and their most frequent value; for each key and value the rows with it.

    `people`: distinct people; `people.starts` says where the values of a key begin. `n_levels`: the number of values. Values are ranks:
    of equally frequent ones, the lowest wins the vote.
    """

    people: Distinct
    n_levels: int
    radius: Ints = field(init=False)
    near: Ints = field(init=False)
    vote: Ints = field(init=False)
    right: Ints = field(init=False)

    def __post_init__(self) -> None:
        self.radius, self.vote = (np.full(self.people.n_keys, -1, dtype=np.int64) for _ in range(2))
        self.near = np.zeros(self.people.n_keys, dtype=np.int64)
        self.right = np.zeros(len(self.people.values), dtype=np.int64)

    @property
    def key(self) -> Ints:
        """The place of each row's key among the distinct ones."""
        return np.repeat(np.arange(self.people.n_keys), np.diff(self.people.starts))[
            self.people.inverse
        ]

    def take(self, keys: Ints, cells: Ints, counts: Ints, radius: NDArray[Any] | int) -> None:
        """Note the neighbours of keys: cell `i * n_levels + value` has so many rows for `keys[i]`; cells ascend."""
        if not len(cells):
            return
        local = cells // self.n_levels
        first = np.flatnonzero(np.diff(local, prepend=-1))
        resolved = keys[local[first]]
        self.radius[resolved] = np.broadcast_to(radius, keys.shape)[local[first]]
        self.near[resolved] = np.add.reduceat(counts, first)
        highest = np.maximum.reduceat(counts, first)
        top = np.flatnonzero(counts == np.repeat(highest, np.diff(first, append=len(cells))))
        winner = top[np.flatnonzero(np.diff(local[top], prepend=-1))]
        self.vote[resolved] = cells[winner] % self.n_levels

        starts = self.people.starts
        owner, pair = spread(starts[keys], starts[keys + 1] - starts[keys])
        wanted = owner * self.n_levels + self.people.values[pair]
        positions = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
        self.right[pair] = np.where(cells[positions] == wanted, counts[positions], 0)


@dataclass(frozen=True, eq=False)
class _Hunt:
    """The tables and the settings of one search."""

    nearest: Found
    people: Distinct
    source: Distinct
    sizes: tuple[int, ...]
    by: Search
    threads: int
    progress: Progress

    def resolve(self) -> None:
        """Find the neighbours of all keys: radius by radius, or all pairs if that costs less."""
        keys, n_columns, n_theirs = (
            np.arange(self.people.n_keys),
            len(self.sizes),
            self.source.n_keys,
        )
        spent = 0.0
        for radius in range(n_columns + 1):
            cost = comb(n_columns, radius) * (PER_GROUPING + PER_ROW * (len(keys) + n_theirs))
            pairs = PER_PAIR * n_columns * len(keys) * n_theirs
            # What smaller radii have cost counts too: so the whole never costs much more than twice the pairs.
            if self.by == "pairs" or (self.by == "auto" and spent + cost > pairs):
                self._compare(keys)
                return
            spent += cost
            choices = list(combinations(range(n_columns), n_columns - radius))
            keys = self._group(keys, choices, radius)
            if not len(keys):
                return

    # By classes of kept columns.

    def _group(self, keys: Ints, choices: list[tuple[int, ...]], radius: int) -> Ints:
        """Note the rows that agree with a key on one of the choices, and return the keys that have none."""
        cells, counts = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        n_cells = len(keys) * self.nearest.n_levels
        threads = self.threads if len(keys) + self.source.n_keys > FOR_THREADS else 1
        for done in range(0, len(choices), threads):
            batch = choices[done : done + threads]
            agreeing = thread_map(
                lambda choice: self._agreeing(keys, choice), batch, threads=threads
            )
            parts = [
                cells_and_counts for cells_and_counts in agreeing if cells_and_counts is not None
            ]
            if len(parts) == len(agreeing):
                cells, counts = pool(
                    np.concatenate([cells, *(cells_and_counts[0] for cells_and_counts in parts)]),
                    np.concatenate([counts, *(cells_and_counts[1] for cells_and_counts in parts)]),
                    n_cells,
                )
            if len(keys) > 1 and (len(parts) < len(agreeing) or len(cells) > PENDING):
                halves = [self._group(half, choices, radius) for half in np.array_split(keys, 2)]
                return np.concatenate(halves)
            self.progress(f"rows at distance {radius}", (done + len(batch)) / len(choices))
        self.nearest.take(keys, cells, counts, radius)
        return keys[self.nearest.radius[keys] < 0]

    def _agreeing(self, keys: Ints, remaining: tuple[int, ...]) -> tuple[Ints, Ints] | None:
        """Return the cells (key and value) of rows that agree on the kept columns, with counts; None if they are too many."""
        codes = [
            np.concatenate([self.people.columns[j][keys], self.source.columns[j]])
            for j in remaining
        ]
        classes = KeySpace(
            tuple(codes), tuple(self.sizes[j] for j in remaining), (len(keys), self.source.n_keys)
        ).classes()
        (mine_in, theirs_in), n_classes = classes.ids, classes.n_classes
        shared = np.zeros(n_classes, dtype=bool)
        shared[mine_in] = True
        met = np.flatnonzero(shared[theirs_in])
        met_in = theirs_in[met]
        owner, row = self._rows_of(met)
        levels = self.nearest.n_levels
        cells, counts = pool(
            met_in[owner] * levels + self.source.values[row],
            self.source.counts[row],
            n_classes * levels,
        )
        in_class = np.bincount(cells // levels, minlength=n_classes)
        lengths = in_class[mine_in]
        if len(keys) > 1 and lengths.sum() > PENDING:
            return None
        owner, offset = spread((np.cumsum(in_class) - in_class)[mine_in], lengths)
        return owner * levels + cells[offset] % levels, counts[offset]

    def _rows_of(self, keys: Ints) -> tuple[Ints, Ints]:
        """Return the distinct rows of keys of the source: which of the keys, and which row."""
        starts = self.source.starts[keys]
        return spread(starts, self.source.starts[keys + 1] - starts)

    # By comparing all pairs, in blocks.

    def _compare(self, keys: Ints) -> None:
        """Note the nearest rows of keys by the distances of all pairs of distinct keys, a block at a time."""
        n_theirs = self.source.n_keys
        height = max(1, BLOCK // len(self.source.values))
        blocks = [keys[start : start + height] for start in range(0, len(keys), height)]
        wave = self.threads * max(1, (32 * BLOCK) // (height * n_theirs))
        narrow = np.uint8 if len(self.sizes) < 256 else np.uint16

        def compare(block: Ints) -> None:
            distance = np.zeros((len(block), n_theirs), dtype=narrow)
            differs = np.empty(distance.shape, dtype=bool)
            for mine, other in zip(self.people.columns, self.source.columns, strict=True):
                np.not_equal(mine[block][:, None], other, out=differs)
                distance += differs.view(np.uint8)
            nearest = distance.min(axis=1)
            owner, near = np.divmod(np.flatnonzero(distance == nearest[:, None]), n_theirs)
            run, row = self._rows_of(near)
            levels = self.nearest.n_levels
            cells = owner[run] * levels + self.source.values[row]
            cells, counts = pool(cells, self.source.counts[row], len(block) * levels)
            self.nearest.take(block, cells, counts, nearest)

        for done in range(0, len(blocks), wave):
            thread_map(
                compare, blocks[done : done + wave], threads=self.threads
            )  # blocks write to keys of their own
            self.progress("comparing keys", min(1.0, (done + wave) / len(blocks)))


@dataclass(frozen=True, eq=False)
class Distinct:
    """Distinct keys, in the order of their codes, and the values that rows with each have.

    `columns`: by key column, the code of each distinct key. `starts`: where the values of each key begin, and
    the end of all. `values`, `counts`: distinct values of one key after the other, and the number of rows with that key and value.
    `inverse`: for each row that was given, its place in `values`.
    """

    columns: list[NDArray[Any]]
    starts: Ints
    values: Ints
    counts: Ints
    inverse: Ints

    @property
    def n_keys(self) -> int:
        """The number of distinct keys."""
        return len(self.starts) - 1


def distinct(columns: Sequence[NDArray[Any]], values: NDArray[Any]) -> Distinct:
    """Return the distinct keys of rows, with the values that go with them."""
    classes = KeySpace.from_tables([*columns, values]).classes()
    inverse, n_found = classes.ids[0], classes.n_classes
    row = np.empty(n_found, dtype=np.intp)
    row[inverse] = np.arange(len(values))  # any row will do for those that it is equal to
    new = np.zeros(n_found, dtype=bool)
    new[:1] = True
    for column in columns:
        codes = column[row]
        new[1:] |= codes[1:] != codes[:-1]
    first = np.flatnonzero(new)
    heads = row[first]
    return Distinct(
        columns=[column[heads] for column in columns],
        starts=np.append(first, n_found),
        values=values[row].astype(np.int64),
        counts=np.bincount(inverse, minlength=n_found),
        inverse=inverse,
    )


def align(mine: NDArray[Any], theirs: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Return two columns of codes with equal codes exactly where they were equal across them, as narrow as may be; and their size.

    Codes that one side alone has can agree with nothing on the other: each side has one code for all of them. So there are fewer distinct
    keys, and none is lost: who is how far from whom stays as it was.

    Examples
    --------
    >>> [part if isinstance(part, int) else part.tolist() for part in align(np.array([5, 9, 2, 7]), np.array([9, 3, 2]))]
    [[2, 1, 0, 2], [1, 3, 0], 4]
    """
    ids, levels = squeeze(*zero_based([mine, theirs]))
    first, second = np.split(ids, [len(mine)])
    is_shared = np.isin(np.arange(len(levels)), first) & np.isin(np.arange(len(levels)), second)
    codes, n = np.cumsum(is_shared) - 1, int(np.count_nonzero(is_shared))
    narrow = np.min_scalar_type(n + 1)
    return (
        np.where(is_shared, codes, n).astype(narrow)[first],
        np.where(is_shared, codes, n + 1).astype(narrow)[second],
        n + 2,
    )


def pool(cells: Ints, counts: Ints, n_cells: int) -> tuple[Ints, Ints]:
    """Return the distinct cells in order, and the sum of the counts of each (counts are above 0).

    Examples
    --------
    >>> [part.tolist() for part in pool(np.array([7, 2, 7]), np.array([1, 5, 3]), 10)]
    [[2, 7], [5, 4]]
    """
    ids, filled = squeeze(cells, n_cells)
    return filled, np.bincount(ids, counts, len(filled)).astype(np.int64)  # exact: below 2^53


def spread(starts: Ints, lengths: Ints) -> tuple[Ints, Ints]:
    """Return runs written out: for each of their entries the run's number and the place that it points to.

    Examples
    --------
    >>> [part.tolist() for part in spread(np.array([5, 0]), np.array([2, 1]))]
    [[0, 0, 1], [5, 6, 0]]
    """
    owner = np.repeat(np.arange(len(lengths)), lengths)
    ends = np.cumsum(lengths)
    return owner, np.arange(len(owner)) + (starts - ends + lengths)[owner]
