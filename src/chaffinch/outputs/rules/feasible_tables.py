"""Other records that fit all that is published: what they have in a withheld cell, its count may be.

A cell whose count is another in some table that fits is not disclosed, by that table and nothing else: whole people, no tolerance. Such tables are found by changing the
records themselves at random, a little at a time (`walk`), towards another count of each cell that is still open. One table serves the withheld cells of
all outputs. What no table was found for is not known to be disclosed: that is left to `ranges.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Ints, Mask
from ..._base.compiled import jit
from ..domain import Codes
from .cell_counts import CellCounts
from .lookups import Lookups

if TYPE_CHECKING:
    from .system import WorkBudget

MAX_PROPOSALS = 60_000_000
"""Proposals of all walks together, about ten seconds; each touches the tallies of one column."""
PROPOSALS = 3_000_000
"""Proposals of one walk."""
TRIES = 2
"""Walks towards another count of one cell."""
MAX_RECORDS = 20_000
"""Records that walks change; others stay as they are."""
_HEATS = ((0.5, 0.1), (0.3, 0.2))
_AIM_WEIGHT = 8
_NEAR_WEIGHT = 2


class Guide(NamedTuple):
    """The least and the largest count that each cell of a table may have, at most; `near_counts(cell, count)`: withheld cells of all tallies and the counts that they
    may have when a cell has another one."""

    lo: Ints
    hi: Ints
    near_counts: Callable[[int, int], tuple[Ints, Ints] | None] = lambda _cell, _count: None


class FeasibleTables:
    """The least and the largest count that withheld cells were seen to have in tables that fit everything that tallies show."""

    def __init__(self, lookups: Lookups, codes: Codes, budget: WorkBudget) -> None:
        self._lookups, self._codes, self._budget = lookups, codes, budget
        self._lo, self._hi, self._counts = map(self._by_cell, ("lo", "hi", "counts"))
        self.smallest, self.largest = self._counts.copy(), self._counts.copy()
        self._tried: set[int] = set()

    def _by_cell(self, name: str) -> Ints:
        values = [getattr(tally, name) for tally in self._lookups.tallies]
        return np.concatenate([np.zeros(0), *values]).astype(np.int64)

    @cached_property
    def _tables(self) -> tuple[WalkTables, Ints, Ints] | None:
        """The cells by levels, and the levels and combinations of records; None where these are too many, or do not say who is in a cell."""
        tallies, lookups = self._lookups.tallies, list(self._lookups.lookups.values())
        if len(lookups) < len(tallies):
            return None
        columns = sorted({column for lookup in lookups for column in lookup.columns})
        levels = np.ascontiguousarray(self._codes[:, columns].T).astype(np.int64)
        combinations = np.zeros((len(lookups), levels.shape[1]), dtype=np.int64)
        uses: list[list[tuple[int, int]]] = [[] for _ in columns]
        cells = list[Ints]()
        for number, (tally, lookup) in enumerate(zip(tallies, lookups, strict=True)):
            for column, stride in zip(lookup.columns, lookup.strides.tolist(), strict=True):
                uses[columns.index(column)].append((number, stride))
                combinations[number] += levels[columns.index(column)] * stride
            if not np.array_equal(lookup.cells[combinations[number]], tally.labels):
                return None
            start = self._lookups.starts[number]
            cells.append(np.where(lookup.cells >= 0, lookup.cells + start, -1))
        tables = WalkTables(
            np.concatenate(cells),
            np.cumsum([0, *(len(numbers) for numbers in cells)])[:-1],
            np.cumsum([0, *(len(column_uses) for column_uses in uses)]),
            *np.array(list(chain(*uses)), dtype=np.int64).reshape(-1, 2).T.copy(),
        )
        movable = self._movable_records()
        return tables, levels[:, movable].copy(), combinations[:, movable].copy()

    def _movable_records(self) -> Ints:
        """Records that walks change: those behind withheld cells first."""
        rng, is_behind = np.random.default_rng(1), np.zeros(len(self._codes), dtype=bool)
        for tally in self._lookups.tallies:
            is_behind |= (tally.labels >= 0) & tally.withheld[tally.labels]
        weights = self._lookups.tallies[0].weights
        # A row that counts for several people is as many records, up to those that walks change.
        people = np.repeat(
            np.arange(len(is_behind)), 1 if weights is None else np.minimum(weights, MAX_RECORDS)
        )
        order = rng.permutation(len(people))
        order = order[np.argsort(~is_behind[people][order], kind="stable")]
        n_records = min(MAX_RECORDS, len(people))
        rest = rng.permutation(order[n_records // 2 :])[: n_records - n_records // 2]
        return people[np.sort(np.concatenate([order[: n_records // 2], rest]))]

    def safe_cells(
        self, table: CellCounts, cells: Mask, distance: int, guide: Guide | None = None
    ) -> Mask:
        """Return which of some cells of a table have, in a table that fits, a count as far from their own as `distance`; or all that their signs leave them.

        Nothing is looked for beyond what a `guide` says to be possible at most, and first what it says to be near.
        """
        if table.shown_key not in self._lookups.number:
            return np.zeros_like(cells)
        start = int(self._lookups.starts[self._lookups.number[table.shown_key]])
        guide = guide or Guide(table.lo, table.hi)
        if len(self._lookups.tallies) == 1:
            self._change_alone(table, distance)
        for cell in np.flatnonzero(cells).tolist():
            count, lo, hi = (int(ends[cell]) for ends in (table.counts, guide.lo, guide.hi))
            for aim in _aims(count, lo, hi, distance):
                if not self._is_safe(start + cell, distance) and start + cell not in self._tried:
                    self._aim_at(start + cell, aim, guide.near_counts(cell, aim))
            self._tried.add(start + cell)
        safe = [self._is_safe(cell, distance) for cell in range(start, start + table.size)]
        return np.asarray(np.array(safe) & cells)

    def _change_alone(self, table: CellCounts, distance: int) -> None:
        """Take in that cells of the only tally may have as many people more or fewer as their signs allow: no other number changes with them."""
        free = table.withheld & table.possible
        more = np.where(free, np.minimum(table.counts + distance, table.hi), table.counts)
        fewer = np.where(free, np.maximum(table.counts - distance, table.lo), table.counts)
        self._take_in(more)
        self._take_in(fewer)

    def _take_in(self, counts: Ints) -> None:
        np.minimum(self.smallest, counts, out=self.smallest)
        np.maximum(self.largest, counts, out=self.largest)

    def _is_safe(self, cell: int, distance: int) -> bool:
        count, wanted = self._counts[cell], min(distance, int(self._hi[cell] - self._lo[cell]))
        smallest, largest = self.smallest[cell], self.largest[cell]
        is_far = max(largest - count, count - smallest) >= distance
        return bool(is_far or largest - smallest >= wanted)

    def _aim_at(self, cell: int, aim: int, near: tuple[Ints, Ints] | None) -> None:
        """Look for a table in which a cell's count is another one, or further from its own; first with the counts of withheld cells that are `near`."""
        if near is not None:
            lo, hi, weights = self._lo.copy(), self._hi.copy(), np.ones_like(self._lo)
            lo[near[0]] = hi[near[0]] = near[1]
            weights[near[0]] = _NEAR_WEIGHT
            if self._walk(lo, hi, weights, _HEATS[0]):
                return
        lo, hi, weights = self._lo.copy(), self._hi.copy(), np.ones_like(self._lo)
        (lo if aim > self._counts[cell] else hi)[cell] = aim
        weights[cell] = _AIM_WEIGHT
        for number in range(TRIES):
            if self._walk(lo, hi, weights, _HEATS[number % len(_HEATS)]):
                return

    def _walk(self, lo: Ints, hi: Ints, weights: Ints, heat: tuple[float, float]) -> bool:
        """Walk once, and take in what the table has where it fits."""
        if self._tables is None or self._budget.proposals < PROPOSALS:
            return False
        tables, levels, combinations = self._tables
        counts = self._counts.copy()
        steps = walk(
            tables,
            levels.copy(),
            combinations.copy(),
            counts,
            np.stack([lo, hi]),
            weights,
            np.array(heat),
            PROPOSALS,
            1 + self._budget.proposals % 2**31,
        )
        self._budget.proposals -= PROPOSALS if steps < 0 else max(int(steps), 1)
        if steps < 0 or not ((counts >= self._lo) & (counts <= self._hi)).all():
            return False
        self._take_in(counts)
        return True


def _aims(count: int, lo: int, hi: int, distance: int) -> list[int]:
    """Other counts of a cell to look for: as far from its own as wanted, above and below; where neither can be, both ends.

    Examples
    --------
    >>> _aims(5, 1, 9, 2), _aims(2, 1, 9, 2), _aims(5, 4, 6, 2), _aims(5, 5, 6, 2)
    ([7, 3], [4], [6, 4], [])
    """
    if aims := [aim for aim in (count + distance, count - distance) if lo <= aim <= hi]:
        return aims
    return [hi, lo] if lo < count < hi and hi - lo >= distance else []


class WalkTables(NamedTuple):
    """The cells of tallies, by combination of levels, and which tallies a column is in.

    `cells[offsets[t] + combination]` is a cell, numbered over all tallies (-1: none). Column c is in `tallies[starts[c]:starts[c + 1]]`, and one level of
    it further is `strides` combinations further.
    """

    cells: NDArray[np.int64]
    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    tallies: NDArray[np.int64]
    strides: NDArray[np.int64]


@jit(inline="always")  # type: ignore[untyped-decorator]
def _outside(count: int, lo: int, hi: int) -> int:
    return max(lo - count, 0) + max(count - hi, 0)


@jit
def walk(
    tables: WalkTables,
    levels: Any,
    combinations: Any,
    counts: Any,
    ends: Any,
    weights: Any,
    heat: Any,
    proposals: int,
    seed: int,
) -> Any:
    """Change records until all counts lie between their ends, and return how many proposals that took; -1 where it did not come to that.

    `levels` are by column and record, `combinations` the combination of each tally and record, `counts` of each cell, `ends` the least and the largest
    count of each: all but `ends` are changed in place. A proposal gives one record the level of another, or swaps the two; it is taken if counts lie no further
    outside, weighed by `weights`, or by chance, less and less as it cools from the first `heat` to the second.
    """
    cells, offsets, starts, tallies, strides = tables
    lo, hi = ends
    np.random.seed(seed)
    n_columns, n = levels.shape
    misfit = 0
    for cell in range(len(counts)):
        misfit += weights[cell] * _outside(counts[cell], lo[cell], hi[cell])
    changed = np.empty((4 * len(offsets), 2), dtype=np.int64)
    cooling = np.log(heat[1] / heat[0]) / proposals
    for step in range(proposals):
        if misfit == 0:
            return step
        column = np.random.randint(n_columns)
        record = np.random.randint(n)
        donor = np.random.randint(n)
        shift = levels[column, donor] - levels[column, record]
        if shift == 0:
            continue
        n_records = 2 if np.random.random() < 0.5 else 1
        size = worse = 0
        for use in range(starts[column], starts[column + 1]):
            tally = tallies[use]
            for is_donor in range(n_records):
                start = offsets[tally] + combinations[tally, donor if is_donor else record]
                old = cells[start]
                new = cells[start + (-shift if is_donor else shift) * strides[use]]
                if old == new:
                    continue
                for sign in (-1, 1):
                    cell = old if sign < 0 else new
                    if cell >= 0:
                        before = _outside(counts[cell], lo[cell], hi[cell])
                        counts[cell] += sign
                        after = _outside(counts[cell], lo[cell], hi[cell])
                        worse += weights[cell] * (after - before)
                        changed[size, 0] = cell
                        changed[size, 1] = sign
                        size += 1
        if worse <= 0 or np.random.random() < np.exp(-worse / (heat[0] * np.exp(cooling * step))):
            misfit += worse
            levels[column, record] += shift
            if n_records == 2:
                levels[column, donor] -= shift
            for use in range(starts[column], starts[column + 1]):
                combinations[tallies[use], record] += shift * strides[use]
                if n_records == 2:
                    combinations[tallies[use], donor] -= shift * strides[use]
        else:
            for k in range(size):
                counts[changed[k, 0]] -= changed[k, 1]
    return proposals if misfit == 0 else -1
