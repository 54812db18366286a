"""Other records that fit all that is published: what they have in a withheld cell, its count may be.

A cell whose count is another in some table that fits is not given away, by that table and nothing else: whole people, no tolerance. Such tables are found by changing the
records themselves at random, a little at a time (`walk`), towards another count of each cell that is still open. One table serves the withheld cells of
all outputs. What no table was found for is not known to be given away: that is left to `ranges.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._base.compiled import jit
from ..domain import Codes, Ints, Mask
from .atoms import counting, lookup_of
from .cell_counts import CellCounts

MOST_PROPOSALS = 60_000_000
"""Proposals of all walks together, about ten seconds; each touches the tallies of one column."""
PROPOSALS = 3_000_000
"""Proposals of one walk."""
TRIES = 2
"""Walks towards another count of one cell."""
MOST_RECORDS = 20_000
"""Records that walks change; others stay as they are."""
_HEATS = ((0.5, 0.1), (0.3, 0.2))
_AIM = 8
_NEAR = 2


class Guide(NamedTuple):
    """The least and the largest count that each cell of a table may have, at most; `towards(cell, wanted)`: withheld cells of all tallies, numbered as
    they come, and the counts that they may have when one has the wanted one."""

    lo: Ints
    hi: Ints
    towards: Callable[[int, int], tuple[Ints, Ints] | None] = lambda _cell, _wanted: None


class FeasibleTables:
    """The least and the largest count that withheld cells were seen to have in tables that fit everything that tallies show."""

    def __init__(self, tallies: Sequence[CellCounts], codes: Codes) -> None:
        self.tallies = counting(tallies)
        self._number = {tally.said: number for number, tally in enumerate(self.tallies)}
        self._starts = np.cumsum([0, *(tally.size for tally in self.tallies)])
        self._codes, self.left = codes, MOST_PROPOSALS
        self._lo, self._hi, self._counts = (self._whole(name) for name in ("lo", "hi", "counts"))
        self.least, self.most = self._counts.copy(), self._counts.copy()
        self._tried: set[int] = set()

    def _whole(self, name: str) -> Ints:
        parts = [getattr(tally, name) for tally in self.tallies]
        return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, dtype=np.int64)

    @cached_property
    def _tables(self) -> tuple[WalkTables, Ints, Ints] | None:
        """What walks need: the cells by levels, and the levels and combinations of records; None where these are too many, or do not say who is in a cell."""

        lookups = [lookup for tally in self.tallies if (lookup := lookup_of(tally)) is not None]
        if len(lookups) < len(self.tallies):
            return None
        columns = sorted({column for lookup in lookups for column in lookup.columns})
        levels = np.ascontiguousarray(self._codes[:, columns].T).astype(np.int64)
        at = np.zeros((len(lookups), levels.shape[1]), dtype=np.int64)
        uses: list[list[tuple[int, int]]] = [[] for _ in columns]
        cells = list[Ints]()
        for number, (tally, lookup) in enumerate(zip(self.tallies, lookups, strict=True)):
            for column, stride in zip(lookup.columns, lookup.strides.tolist(), strict=True):
                uses[columns.index(column)].append((number, stride))
                at[number] += levels[columns.index(column)] * stride
            if not np.array_equal(lookup.cells[at[number]], tally.labels):
                return None
            cells.append(np.where(lookup.cells >= 0, lookup.cells + self._starts[number], -1))
        flat = [use for some in uses for use in some]
        tables = WalkTables(
            np.concatenate(cells),
            np.cumsum([0, *(len(one) for one in cells)])[:-1],
            np.cumsum([0, *(len(some) for some in uses)]),
            np.array([tally for tally, _ in flat], dtype=np.int64),
            np.array([stride for _, stride in flat], dtype=np.int64),
        )
        chosen = self._movable()
        return tables, np.ascontiguousarray(levels[:, chosen]), np.ascontiguousarray(at[:, chosen])

    def _movable(self) -> Ints:
        """Records that walks change: those behind withheld cells first."""
        rng, behind = np.random.default_rng(1), np.zeros(len(self._codes), dtype=bool)
        for tally in self.tallies:
            behind |= (tally.labels >= 0) & tally.withheld[tally.labels]
        weights = self.tallies[0].weights
        # A row that stands for several people is as many records, up to those that walks change.
        people = np.repeat(
            np.arange(len(behind)), 1 if weights is None else np.minimum(weights, MOST_RECORDS)
        )
        behind, n = behind[people], len(people)
        order = rng.permutation(n)
        order = order[np.argsort(~behind[order], kind="stable")]
        few = min(MOST_RECORDS, n)
        rest = rng.permutation(order[few // 2 :])[: few - few // 2]
        return people[np.sort(np.concatenate([order[: few // 2], rest]))]

    def safe(self, table: CellCounts, cells: Mask, far: int, guide: Guide | None = None) -> Mask:
        """Return which of some cells of a table have, in a table that fits, a count as far from their own as `far`; or all that their signs leave them.

        Nothing is looked for beyond what a `guide` says to be possible at most, and first what it says to be near.
        """
        if table.said not in self._number:
            return np.zeros_like(cells)
        start = int(self._starts[self._number[table.said]])
        guide = guide or Guide(table.lo, table.hi)
        self._change_alone(table, start, far)
        for cell in np.flatnonzero(cells).tolist():
            for wanted in _aims(
                int(table.counts[cell]), int(guide.lo[cell]), int(guide.hi[cell]), far
            ):
                if not self._is_safe(start + cell, far) and start + cell not in self._tried:
                    self._aim(start + cell, wanted, guide.towards(cell, wanted))
            self._tried.add(start + cell)
        found = np.array([self._is_safe(cell, far) for cell in range(start, start + table.size)])
        return np.asarray(found & cells)

    def _change_alone(self, table: CellCounts, start: int, far: int) -> None:
        """Take in that cells of the only tally may have as many people more or fewer as their signs allow: no other number changes with them."""
        if len(self.tallies) > 1:
            return
        part = slice(start, start + table.size)
        free = table.withheld & table.possible
        np.maximum(
            self.most[part],
            np.where(free, np.minimum(table.counts + far, table.hi), table.counts),
            out=self.most[part],
        )
        np.minimum(
            self.least[part],
            np.where(free, np.maximum(table.counts - far, table.lo), table.counts),
            out=self.least[part],
        )

    def _is_safe(self, cell: int, far: int) -> bool:
        count, wanted = self._counts[cell], min(far, int(self._hi[cell] - self._lo[cell]))
        return bool(
            max(self.most[cell] - count, count - self.least[cell]) >= far
            or self.most[cell] - self.least[cell] >= wanted
        )

    def _aim(self, cell: int, wanted: int, near: tuple[Ints, Ints] | None) -> None:
        """Look for a table in which a cell's count is another one, or further from its own; first with the counts of withheld cells that are `near`."""
        if near is not None:
            lo, hi, weights = self._lo.copy(), self._hi.copy(), np.ones_like(self._lo)
            lo[near[0]] = hi[near[0]] = near[1]
            weights[near[0]] = _NEAR
            if self._look(lo, hi, weights, _HEATS[0]):
                return
        lo, hi, weights = self._lo.copy(), self._hi.copy(), np.ones_like(self._lo)
        (lo if wanted > self._counts[cell] else hi)[cell] = wanted
        weights[cell] = _AIM
        for number in range(TRIES):
            if self._look(lo, hi, weights, _HEATS[number % len(_HEATS)]):
                return

    def _look(self, lo: Ints, hi: Ints, weights: Ints, heat: tuple[float, float]) -> bool:
        """Walk once, and take in what the table has where it fits."""
        if self._tables is None or self.left < PROPOSALS:
            return False

        tables, levels, at = self._tables
        counts = self._counts.copy()
        levels, at = levels.copy(), at.copy()
        steps = walk(
            tables,
            levels,
            at,
            counts,
            np.stack([lo, hi]),
            weights,
            np.array(heat),
            PROPOSALS,
            1 + self.left % 2**31,
        )
        self.left -= PROPOSALS if steps < 0 else max(int(steps), 1)
        if steps < 0 or not ((counts >= self._lo) & (counts <= self._hi)).all():
            return False
        np.minimum(self.least, counts, out=self.least)
        np.maximum(self.most, counts, out=self.most)
        return True


def _aims(count: int, lo: int, hi: int, far: int) -> list[int]:
    """Other counts of a cell to look for: as far from its own as wanted, above and below; where neither can be, both ends.

    Examples
    --------
    >>> _aims(5, 1, 9, 2), _aims(2, 1, 9, 2), _aims(5, 4, 6, 2), _aims(5, 5, 6, 2)
    ([7, 3], [4], [6, 4], [])
    """
    if aims := [wanted for wanted in (count + far, count - far) if lo <= wanted <= hi]:
        return aims
    return [hi, lo] if lo < count < hi and hi - lo >= far else []


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
    at: Any,
    counts: Any,
    ends: Any,
    weights: Any,
    heat: Any,
    proposals: int,
    seed: int,
) -> Any:
    """Change records until all counts lie between their ends, and return how many proposals that took; -1 where it did not come to that.

    `levels` are by column and record, `at` the combination of each tally and record, `counts` of each cell, `ends` the least and the largest
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
    changed, by = (
        np.empty(4 * len(offsets), dtype=np.int64),
        np.empty(4 * len(offsets), dtype=np.int64),
    )
    cooling = np.log(heat[1] / heat[0]) / proposals
    for step in range(proposals):
        if misfit == 0:
            return step
        column, one, other = (
            np.random.randint(n_columns),
            np.random.randint(n),
            np.random.randint(n),
        )
        further = levels[column, other] - levels[column, one]
        if further == 0:
            continue
        records = 2 if np.random.random() < 0.5 else 1
        size = worse = 0
        for use in range(starts[column], starts[column + 1]):
            tally = tallies[use]
            for record in range(records):
                start = offsets[tally] + at[tally, other if record else one]
                old, new = (
                    cells[start],
                    cells[start + (-further if record else further) * strides[use]],
                )
                if old == new:
                    continue
                for sign in (-1, 1):
                    cell = old if sign < 0 else new
                    if cell >= 0:
                        before = _outside(counts[cell], lo[cell], hi[cell])
                        counts[cell] += sign
                        worse += weights[cell] * (
                            _outside(counts[cell], lo[cell], hi[cell]) - before
                        )
                        changed[size], by[size] = cell, sign
                        size += 1
        if worse <= 0 or np.random.random() < np.exp(-worse / (heat[0] * np.exp(cooling * step))):
            misfit += worse
            levels[column, one] += further
            if records == 2:
                levels[column, other] -= further
            for use in range(starts[column], starts[column + 1]):
                at[tallies[use], one] += further * strides[use]
                if records == 2:
                    at[tallies[use], other] -= further * strides[use]
        else:
            for k in range(size):
                counts[changed[k]] -= by[k]
    return proposals if misfit == 0 else -1
