"""Cells of tallies by the levels of their columns: what adding and subtracting published counts leaves open of withheld ones, by linear algebra alone.

Every count is a sum over combinations of levels. How far two cells overlap, as a share of all combinations, is worked out column by column, so that
nothing as large as the combinations themselves is written out. What the known cells leave of the others (a Schur complement) says which combinations of withheld
counts are free: none of a cell means that its count follows, by rank; the sign of each ("<10": 1 to 9) bounds the free ones, by small linear programmes. That no
count of a finer cell is below zero is not used here, so the ends are never too narrow. This is the layout of a `CellSystem` for questions about too many unknowns
for `atoms.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._base.arrays import Floats, Ints, Mask
from .atoms import find_cells, used_columns
from .cell_counts import COUNT, CellCounts

MAX_COMBINATIONS = 300_000
"""Combinations of levels of one tally that are written out."""
MAX_CELLS = 1_500
"""Cells of all tallies together, up to which they are looked at: a second or two."""
MAX_PROGRAMMES = 100
"""Cells of one question whose ends are worked out by linear programmes, two for each."""
MAX_FREE = 100
"""Free combinations of withheld counts, up to which programmes bound them."""
_ZERO = 1e-8
_SLACK = 1e-6


@dataclass(frozen=True, eq=False)
class _Lookup:
    """`cells` has the cell of each combination of levels of `columns`, in C order of `shape`; -1 for none. `size` is how many cells there are."""

    columns: tuple[int, ...]
    shape: tuple[int, ...]
    cells: Ints
    size: int

    @cached_property
    def strides(self) -> Ints:
        """The distance of two combinations that differ by one level of a column."""
        return np.cumprod([1, *self.shape[:0:-1]], dtype=np.int64)[::-1][: len(self.shape)]

    def shares(self, columns: Sequence[int]) -> Floats:
        """Return, by cell and combination of levels of some of its columns, the share of the combinations of the other columns that are in the cell."""
        first = [self.columns.index(column) for column in columns]
        rest = [axis for axis in range(len(self.shape)) if axis not in first]
        width = int(np.prod([self.shape[axis] for axis in first], dtype=np.int64))
        ordered = self.cells.reshape(self.shape).transpose([*first, *rest]).reshape(width, -1)
        pairs = np.where(ordered >= 0, ordered, self.size) * width + np.arange(width)[:, None]
        counts = np.bincount(pairs.reshape(-1), minlength=(self.size + 1) * width)
        return np.asarray(counts.reshape(self.size + 1, width)[:-1] / ordered.shape[1])

    def overlap(self, other: _Lookup) -> Floats:
        """Return the share of all combinations of levels that are in a cell of this tally and a cell of another."""
        shared = [column for column in self.columns if column in other.columns]
        shares = self.shares(shared)
        return np.asarray(shares @ other.shares(shared).T / shares.shape[1])


def look_up(tally: CellCounts) -> _Lookup | None:
    """Return the cells of a tally by the levels of its columns; None where these are too many to write out."""
    columns = tuple(sorted(used_columns(tally)))
    shape = tuple(tally.sizes[column] for column in columns)
    size = float(np.prod(shape, dtype=float))
    if size > MAX_COMBINATIONS:
        return None
    grid = dict(zip(columns, np.indices(shape).reshape(len(shape), int(size)), strict=True))
    return _Lookup(columns, shape, find_cells(tally, grid, int(size)), tally.size)


def counting_tallies(tallies: Sequence[CellCounts]) -> list[CellCounts]:
    """Return the tallies whose counts are known or withheld, without those that follow from another of the same output or equal an earlier one."""
    chosen: dict[bytes, CellCounts] = {}
    for tally in tallies:
        if COUNT in tally.quantities and not (tally.implied and used_columns(tally)):
            chosen.setdefault(tally.shown_key, tally)
    return list(chosen.values())


class _OpenCells(NamedTuple):
    """What some tallies leave open: the numbers of withheld cells, how each moves with what is free, and how far it may go down and up."""

    cells: Ints
    moves: Floats
    down: Floats
    up: Floats

    def ends(self, index: int) -> tuple[int, int]:
        """Return how far below and above its own count a cell can be, in whole people."""
        aim, (n_cells, n_free) = self.moves[index], self.moves.shape
        if n_cells == n_free:  # each cell that is open moves by itself
            return int(self.down[index]), int(self.up[index])
        if n_free == 1:
            # All that is open moves together, and the first end that some cell comes to ends it.
            moving = np.abs(self.moves[:, 0]) > _SLACK  # the rest is rounding
            ends = np.stack([self.down[moving], self.up[moving]]) / self.moves[moving, 0]
            farthest = float(ends.min(axis=0).max()), float(ends.max(axis=0).min())
            values = sorted(limit * aim[0] for limit in farthest)
        else:
            from scipy.optimize import linprog

            rows = np.concatenate([self.moves, -self.moves])
            limits = np.concatenate([self.up, -self.down])
            results = [
                linprog(sign * aim, A_ub=rows, b_ub=limits, bounds=(None, None), method="highs")
                for sign in (1.0, -1.0)
            ]
            if any(result.fun is None for result in results):
                return int(self.down[index]), int(self.up[index])
            values = [results[0].fun, -results[1].fun]
        return int(np.ceil(values[0] - _SLACK)), int(np.floor(values[1] + _SLACK))

    def nearest(self, index: int, change: int) -> Ints | None:
        """Return changes of all open cells with which one changes by so many people, the least in sum; None where these are not whole."""
        n_cells, n_free = self.moves.shape
        if n_free == 1:
            changes = self.moves[:, 0] * change / self.moves[index, 0]
            if (changes < self.down - _SLACK).any() or (changes > self.up + _SLACK).any():
                return None
        else:
            from scipy.optimize import linprog

            # What is free, then the size of each change.
            eye, zero = np.eye(n_cells), np.zeros((n_cells, n_cells))
            signs = np.block(
                [[self.moves, -eye], [-self.moves, -eye], [self.moves, zero], [-self.moves, zero]]
            )
            result = linprog(
                np.append(np.zeros(n_free), np.ones(n_cells)),
                A_ub=signs,
                b_ub=np.concatenate([np.zeros(2 * n_cells), self.up, -self.down]),
                A_eq=np.append(self.moves[index], np.zeros(n_cells))[None, :],
                b_eq=[change],
                bounds=(None, None),
                method="highs",
            )
            if result.x is None:
                return None
            changes = self.moves @ result.x[:n_free]
        rounded = np.round(changes).astype(np.int64)
        return rounded if np.abs(changes - rounded).max() < _SLACK else None


class Lookups:
    """The cells of all tallies that count people, of which any can be asked what they leave open.

    Cells are numbered over all tallies, one tally after the other.
    """

    def __init__(self, tallies: Sequence[CellCounts]) -> None:
        self.tallies = counting_tallies(tallies)
        self.number = {tally.shown_key: number for number, tally in enumerate(self.tallies)}
        self.starts = np.cumsum([0, *(tally.size for tally in self.tallies)])
        self._blocks: dict[tuple[int, int], Floats] = {}
        self._open: dict[frozenset[int], _OpenCells | None] = {}
        self._ends: dict[tuple[frozenset[int], int], tuple[int, int]] = {}

    @cached_property
    def lookups(self) -> dict[int, _Lookup]:
        """The cells by levels of each tally, by its number, where these are not too many."""
        lookups = enumerate(map(look_up, self.tallies))
        return {number: lookup for number, lookup in lookups if lookup is not None}

    def narrow_cells(
        self,
        table: CellCounts,
        shown: Collection[CellCounts],
        cells: Mask,
        width: int,
        *,
        by_rank: bool = False,
    ) -> Mask:
        """Return which of some cells of a table are left fewer than `width` other counts by what it and others show; `by_rank`: only those left none.

        What a cell's own sign leaves it anyway is not asked for. A cell that is not named may be narrow all the same,
        and one without a level is not named.
        """
        narrow = np.zeros_like(cells)
        number, numbers = self.number.get(table.shown_key, -1), self._numbers(table, shown)
        if not cells.any() or number not in numbers or (rest := self._open_cells(numbers)) is None:
            return narrow
        asked = np.flatnonzero(
            cells & np.isin(self.starts[number] + np.arange(table.size), rest.cells)
        )
        index = np.searchsorted(rest.cells, self.starts[number] + asked)
        still = np.abs(rest.moves[index]).max(axis=1, initial=0.0) < _SLACK
        wanted = np.minimum(width, (table.hi - table.lo)[asked])
        is_narrow = still & (wanted > 0)
        if not by_rank and 0 < rest.moves.shape[1] <= MAX_FREE:
            for k in np.flatnonzero(~still & (wanted > 0))[:MAX_PROGRAMMES]:
                key = numbers, int(rest.cells[index[k]])
                if key not in self._ends:
                    self._ends[key] = rest.ends(int(index[k]))
                down, up = self._ends[key]
                is_narrow[k] = up - down < wanted[k]
        narrow[asked] = is_narrow
        return narrow

    def ends(self, table: CellCounts, shown: Collection[CellCounts]) -> tuple[Ints, Ints]:
        """Return the least and the largest count of each cell of a table, as far as `narrow_cells` has worked them out; else what its sign leaves."""
        lo, hi, numbers = table.lo.copy(), table.hi.copy(), self._numbers(table, shown)
        start = self.starts[self.number.get(table.shown_key, 0)]
        for cell, count in enumerate(table.counts):
            if (key := (numbers, int(start) + cell)) in self._ends:
                lo[cell], hi[cell] = np.array(self._ends[key]) + count
        return lo, hi

    def near_counts(
        self, table: CellCounts, shown: Collection[CellCounts], cell: int, count: int
    ) -> tuple[Ints, Ints] | None:
        """Return withheld cells of all tallies and counts of them that fit with another count of one cell, as near as may be.

        None where no whole numbers were found, or what is open is not worked out. Whether there are records with these counts is another question.
        """
        rest = self._open.get(self._numbers(table, shown))
        if rest is None or not 0 < rest.moves.shape[1] <= MAX_FREE:
            return None
        number = self.starts[self.number[table.shown_key]] + cell
        index = int(np.searchsorted(rest.cells, number))
        changes = rest.nearest(index, count - int(table.counts[cell]))
        if changes is None:
            return None
        counts = np.concatenate([tally.counts for tally in self.tallies])[rest.cells]
        return rest.cells, counts + changes

    def _numbers(self, table: CellCounts, shown: Collection[CellCounts]) -> frozenset[int]:
        """The numbers of tallies, as far as their cells are looked up."""
        numbers = {self.number.get(tally.shown_key, -1) for tally in (table, *shown)}
        return frozenset(numbers & self.lookups.keys())

    def _open_cells(self, numbers: frozenset[int]) -> _OpenCells | None:
        if numbers not in self._open:
            self._open[numbers] = self._find_open_cells(sorted(numbers))
        return self._open[numbers]

    def _overlap(self, a: int, b: int) -> Floats:
        """The overlaps of the cells of two tallies."""
        if (a, b) not in self._blocks:
            first, second = max(a, b), min(a, b)
            block = self.lookups[first].overlap(self.lookups[second])
            self._blocks[first, second], self._blocks[second, first] = block, block.T
        return self._blocks[a, b]

    def _find_open_cells(self, numbers: Sequence[int]) -> _OpenCells | None:
        tallies = [self.tallies[number] for number in numbers]
        if sum(tally.size for tally in tallies) > MAX_CELLS:
            return None
        lo, hi, counts = (
            np.concatenate([getattr(tally, name) for tally in tallies])
            for name in ("lo", "hi", "counts")
        )
        overlaps = np.block([[self._overlap(a, b) for b in numbers] for a in numbers])
        roots = np.sqrt(np.maximum(overlaps.diagonal(), 1e-300))
        overlaps = overlaps / roots[:, None] / roots[None, :]
        has_levels = overlaps.diagonal() > 0.5  # a cell without a level has no combinations
        known, withheld = (
            np.flatnonzero((lo == hi) & has_levels),
            np.flatnonzero((lo < hi) & has_levels),
        )
        sizes, vectors = np.linalg.eigh(overlaps[np.ix_(known, known)])
        is_free = sizes > _ZERO * max(float(sizes.max(initial=0.0)), 1.0)
        explained = vectors[:, is_free].T @ overlaps[np.ix_(known, withheld)]
        explained = explained / np.sqrt(sizes[is_free])[:, None]
        sizes, vectors = np.linalg.eigh(
            overlaps[np.ix_(withheld, withheld)] - explained.T @ explained
        )
        moves = vectors[:, sizes > _ZERO] * roots[withheld, None]  # in people again
        moves = moves / np.abs(moves).max(axis=0, initial=0.0)[None, :]
        cells = np.concatenate([np.arange(self.starts[k], self.starts[k + 1]) for k in numbers])
        down, up = ((ends - counts)[withheld].astype(float) for ends in (lo, hi))
        return _OpenCells(cells[withheld], moves, down, up)
