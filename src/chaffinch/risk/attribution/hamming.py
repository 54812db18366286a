"""For each of many keys, the rows at the smallest Hamming distance: by classes of kept columns, all pairs only as a last resort.

Rows that agree on the columns kept when r columns are left out are found by one grouping of both tables. So radius after radius
is tried, each only for the keys that have found nothing yet, on every choice of r columns to leave out.

Why the counts of these choices add. Let r be the smallest distance of a key to any row, and let a row differ from it exactly in the columns D.
The row agrees with the key on the columns kept when R is left out if and only if D is a subset of R. With |R| = r: no row has |D| < r
(r is the smallest); |D| = r happens for the one choice R = D; |D| > r for none. So each row at distance r is met once, and no other row.
With values that match anything, D is taken among the columns where neither side has one, and the same holds for the rows of each pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..._base.runtime import Progress, silent, thread_count, thread_map
from .classes import Ints, KeySpace
from .grouping import Distinct, pool, spread

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


@dataclass(eq=False)
class Found:
    """What was found: for each key its radius, rows, those with their most frequent value, and that value; for each key and value the rows with it.

    `people`: distinct people; `people.starts` says where the values of a key begin. `n_levels`: the number of values. Values are ranks:
    of equally frequent ones, the lowest wins the vote.
    """

    people: Distinct
    n_levels: int
    radius: Ints = field(init=False)
    near: Ints = field(init=False)
    top: Ints = field(init=False)
    vote: Ints = field(init=False)
    right: Ints = field(init=False)

    def __post_init__(self) -> None:
        self.radius, self.vote = (np.full(self.people.n_keys, -1, dtype=np.int64) for _ in range(2))
        self.near, self.top = (np.zeros(self.people.n_keys, dtype=np.int64) for _ in range(2))
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
        self.top[resolved] = highest
        top = np.flatnonzero(counts == np.repeat(highest, np.diff(first, append=len(cells))))
        winner = top[np.flatnonzero(np.diff(local[top], prepend=-1))]
        self.vote[resolved] = cells[winner] % self.n_levels

        starts = self.people.starts
        owner, pair = spread(starts[keys], starts[keys + 1] - starts[keys])
        wanted = owner * self.n_levels + self.people.values[pair]
        at = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
        self.right[pair] = np.where(cells[at] == wanted, counts[at], 0)


@dataclass(frozen=True, eq=False)
class _Hunt:
    """The tables and the settings of one search."""

    found: Found
    people: Distinct
    source: Distinct
    sizes: tuple[int, ...]
    by: Search
    threads: int
    progress: Progress
    farthest: int

    def resolve(self, keys: Ints, columns: Sequence[int]) -> None:
        """Find the neighbours of keys that lack no column of these: radius by radius, or all pairs if that costs less."""
        lots = self._lots(columns)
        spent = 0.0
        for radius in range(min(self.farthest, len(columns)) + 1):
            cost = sum(
                comb(len(compared), radius) * (PER_GROUPING + PER_ROW * (len(keys) + len(theirs)))
                for theirs, compared in lots
            )
            pairs = PER_PAIR * len(columns) * len(keys) * self.source.n_keys
            # What smaller radii have cost counts too: so the whole never costs much more than twice the pairs.
            if self.by == "pairs" or (self.by == "auto" and spent + cost > pairs):
                self._compare(keys, columns)
                return
            spent += cost
            # No radius is above the columns of a lot: when all of them are left out, its rows agree with every key.
            choices = [
                (theirs, remaining)
                for theirs, compared in lots
                for remaining in combinations(compared, len(compared) - radius)
            ]
            keys = self._group(keys, choices, radius)
            if not len(keys):
                return

    def _lots(self, columns: Sequence[int]) -> list[tuple[Ints, tuple[int, ...]]]:
        """Return the source's keys put together by which of the columns they have, with those columns."""
        lots: dict[tuple[int, ...], list[Ints]] = {}
        for missing, keys in self.source.by_pattern():
            lots.setdefault(tuple(j for j in columns if not missing[j]), []).append(keys)
        return [(np.concatenate(parts), compared) for compared, parts in lots.items()]

    # By classes of kept columns.

    def _group(self, keys: Ints, choices: list[tuple[Ints, tuple[int, ...]]], radius: int) -> Ints:
        """Note the rows that agree with a key on one of the choices, and return the keys that have none."""
        cells, counts = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        n_cells = len(keys) * self.found.n_levels
        threads = self.threads if len(keys) + self.source.n_keys > FOR_THREADS else 1
        for done in range(0, len(choices), threads):
            batch = choices[done : done + threads]
            some = thread_map(lambda choice: self._agreeing(keys, *choice), batch, threads=threads)
            parts = [part for part in some if part is not None]
            if len(parts) == len(some):
                cells, counts = pool(
                    np.concatenate([cells, *(part[0] for part in parts)]),
                    np.concatenate([counts, *(part[1] for part in parts)]),
                    n_cells,
                )
            if len(keys) > 1 and (len(parts) < len(some) or len(cells) > PENDING):
                halves = [self._group(half, choices, radius) for half in np.array_split(keys, 2)]
                return np.concatenate(halves)
            self.progress(f"rows at distance {radius}", (done + len(batch)) / len(choices))
        self.found.take(keys, cells, counts, radius)
        return keys[self.found.radius[keys] < 0]

    def _agreeing(
        self, keys: Ints, theirs: Ints, remaining: tuple[int, ...]
    ) -> tuple[Ints, Ints] | None:
        """Return the cells (key and value) of rows that agree on the kept columns, with counts; None if they are too many."""
        codes = [
            np.concatenate([self.people.columns[j][keys], self.source.columns[j][theirs]])
            for j in remaining
        ]
        classes = KeySpace(
            tuple(codes), tuple(self.sizes[j] for j in remaining), (len(keys), len(theirs))
        ).classes()
        (mine_in, theirs_in), n_classes = classes.ids, classes.n_classes
        shared = np.zeros(n_classes, dtype=bool)
        shared[mine_in] = True
        met = np.flatnonzero(shared[theirs_in])
        met_in = theirs_in[met]
        owner, row = self._rows_of(theirs[met])
        levels = self.found.n_levels
        cells, counts = pool(
            met_in[owner] * levels + self.source.values[row],
            self.source.counts[row],
            n_classes * levels,
        )
        in_class = np.bincount(cells // levels, minlength=n_classes)
        lengths = in_class[mine_in]
        if len(keys) > 1 and lengths.sum() > PENDING:
            return None
        owner, at = spread((np.cumsum(in_class) - in_class)[mine_in], lengths)
        return owner * levels + cells[at] % levels, counts[at]

    def _rows_of(self, keys: Ints) -> tuple[Ints, Ints]:
        """Return the distinct rows of keys of the source: which of the keys, and which row."""
        starts = self.source.starts[keys]
        return spread(starts, self.source.starts[keys + 1] - starts)

    # By comparing all pairs, in blocks.

    def _compare(self, keys: Ints, columns: Sequence[int]) -> None:
        """Note the nearest rows of keys by the distances of all pairs of distinct keys, a block at a time."""
        theirs = [self.source.columns[j] for j in columns]
        present = [
            None if there.all() else there for there in (~self.source.missing(j) for j in columns)
        ]
        n_theirs = self.source.n_keys
        height = max(1, BLOCK // len(self.source.values))
        blocks = [keys[start : start + height] for start in range(0, len(keys), height)]
        wave = self.threads * max(1, (32 * BLOCK) // (height * n_theirs))
        narrow = np.uint8 if len(columns) < 256 else np.uint16

        def compare(block: Ints) -> None:
            distance = np.zeros((len(block), n_theirs), dtype=narrow)
            differs = np.empty(distance.shape, dtype=bool)
            for j, other, there in zip(columns, theirs, present, strict=True):
                np.not_equal(self.people.columns[j][block][:, None], other, out=differs)
                if there is not None:
                    differs &= there
                distance += differs.view(np.uint8)
            nearest = distance.min(axis=1)
            owner, near = np.divmod(np.flatnonzero(distance == nearest[:, None]), n_theirs)
            run, row = self._rows_of(near)
            levels = self.found.n_levels
            cells = owner[run] * levels + self.source.values[row]
            cells, counts = pool(cells, self.source.counts[row], len(block) * levels)
            self.found.take(block, cells, counts, nearest)

        for done in range(0, len(blocks), wave):
            thread_map(
                compare, blocks[done : done + wave], threads=self.threads
            )  # blocks write to keys of their own
            self.progress("comparing keys", min(1.0, (done + wave) / len(blocks)))


def find_nearest(
    people: Distinct,
    source: Distinct,
    sizes: Sequence[int],
    *,
    n_levels: int,
    by: Search = "auto",
    threads: int | None = None,
    progress: Progress = silent,
    farthest: int | None = None,
) -> Found:
    """Return, for each distinct key of people, the rows of the source at the smallest Hamming distance.

    `sizes` has the number of levels of each key column. `by` is "classes" (groupings of kept columns), "pairs" (all pairs of distinct keys and
    rows, in blocks), or "auto": whichever is expected to cost less. They give the same, but that `farthest`, the largest distance to look
    at, is for classes alone.
    """
    nearest = Found(people, n_levels)
    hunt = _Hunt(
        nearest,
        people,
        source,
        tuple(sizes),
        by,
        thread_count(threads),
        progress,
        len(sizes) if farthest is None else farthest,
    )
    for missing, keys in people.by_pattern():
        hunt.resolve(keys, [j for j in range(len(sizes)) if not missing[j]])
    return nearest
