"""What adding and subtracting published counts leaves open of those that are withheld, all at once, by linear algebra alone.

Every count is a sum over combinations of levels. How far two cells overlap, as a share of all combinations, is worked out column by column, so that
nothing as large as the combinations themselves is written out. What the known cells leave of the others (a Schur complement) says which combinations of withheld
counts are free: none of a cell means that its count follows, by rank; the sign of each ("<10": 1 to 9) bounds the free ones, by small linear programmes. That no
count of a finer cell is below zero is not used here, so the ends are never too narrow: `ranges.py` looks at what they leave.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..domain import Ints, Mask
from .atoms import CellLookup, counting, lookup_of
from .cell_counts import CellCounts

MOST_CELLS = 1_500
"""Cells of all tallies together, up to which they are looked at: a second or two."""
MOST_PROGRAMMES = 200
MOST_FREE = 100
"""Free combinations of withheld counts, up to which programmes bound them."""
_NOTHING = 1e-8
_SLACK = 1e-6


class _Rest(NamedTuple):
    """What some tallies leave open: the numbers of withheld cells, how each moves with what is free, and how far it may go down and up."""

    cells: Ints
    moves: NDArray[np.float64]
    down: NDArray[np.float64]
    up: NDArray[np.float64]


class LinearSystem:
    """The counts of all tallies as one system, of which any part can be asked what it gives away.

    Examples
    --------
    Two tables without totals: the second has one of the first's columns, and so tells its total.

    >>> from chaffinch.outputs.document import recipes_of
    >>> from chaffinch.outputs.domain import OutputColumn, OutputDomain
    >>> from chaffinch.outputs.rules.cell_counts import tallies_of
    >>> fields = OutputDomain((OutputColumn("sex", ("f", "m")), OutputColumn("ill", ("no", "yes"))))
    >>> codes = np.array([[0, 0]] * 12 + [[0, 1]] * 3 + [[1, 0]] * 20, dtype=np.int32)
    >>> entries = [{"name": "both", "kind": "table", "by": ["sex", "ill"], "threshold": 10}, {"name": "sex", "kind": "table", "by": ["sex"]}]
    >>> both, sex = (tallies_of(one, fields, codes)[0] for one in recipes_of(entries, fields).outputs)
    >>> system = LinearSystem([both, sex])
    >>> [system.narrow(both, shown, both.withheld, 1).tolist() for shown in ([], [sex])]
    [[False, False, False, False], [False, True, False, False]]
    """

    def __init__(self, tallies: Sequence[CellCounts]) -> None:
        self._given = tallies
        self._rests: dict[frozenset[int], _Rest | None] = {}
        self._ends: dict[tuple[frozenset[int], int], tuple[int, int]] = {}

    @cached_property
    def _looked_up(self) -> list[tuple[CellCounts, CellLookup]]:
        """The tallies that are not too wide to be written out, with their cells."""
        return [
            (tally, lookup)
            for tally in counting(self._given)
            if (lookup := lookup_of(tally)) is not None
        ]

    @cached_property
    def _number(self) -> dict[bytes, int]:
        return {tally.said: number for number, (tally, _) in enumerate(self._looked_up)}

    @cached_property
    def _starts(self) -> Ints:
        return np.cumsum([0, *(tally.size for tally, _ in self._looked_up)])

    @cached_property
    def _overlaps(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The share of all combinations of levels that are in two cells, each divided by the roots of what the cells have themselves; and these roots."""
        lookups = [lookup for _, lookup in self._looked_up]
        whole = np.zeros((int(self._starts[-1]), int(self._starts[-1])))
        for a, one in enumerate(lookups):
            for b, other in enumerate(lookups[: a + 1]):
                block = _overlap(one, other)
                rows, columns = (slice(self._starts[k], self._starts[k + 1]) for k in (a, b))
                whole[rows, columns] = block
                whole[columns, rows] = block.T
        size = np.sqrt(np.maximum(whole.diagonal(), 1e-300))
        return np.asarray(whole / size[:, None] / size[None, :]), size

    def narrow(
        self,
        table: CellCounts,
        shown: Collection[CellCounts],
        cells: Mask,
        least: int,
        *,
        by_rank: bool = False,
    ) -> Mask:
        """Return which of some cells of a table are left fewer than `least` other counts by what it and others show; `by_rank`: only those left none.

        What a cell's own sign leaves it anyway is not asked for. A cell that is not named may be narrow all the same,
        and one without a level is not named.
        """
        out = np.zeros_like(cells)
        if not cells.any() or table.said not in self._number:
            return out
        mine, numbers = self._number[table.said], self._numbers(table, shown)
        rest = self._rest(numbers)
        if rest is None:
            return out
        asked = np.flatnonzero(
            cells & np.isin(self._starts[mine] + np.arange(table.size), rest.cells)
        )
        at = np.searchsorted(rest.cells, self._starts[mine] + asked)
        still = np.abs(rest.moves[at]).max(axis=1, initial=0.0) < _SLACK
        wanted = np.minimum(least, (table.hi - table.lo)[asked])
        found = still & (wanted > 0)
        if not by_rank and 0 < rest.moves.shape[1] <= MOST_FREE:
            for k in np.flatnonzero(~still & (wanted > 0))[: MOST_PROGRAMMES // 2]:
                cell = int(rest.cells[at[k]])
                if (numbers, cell) not in self._ends:
                    self._ends[numbers, cell] = _ends(rest, int(at[k]))
                least_change, largest_change = self._ends[numbers, cell]
                found[k] = largest_change - least_change < wanted[k]
        out[asked] = found
        return out

    def ends(self, table: CellCounts, shown: Collection[CellCounts]) -> tuple[Ints, Ints]:
        """Return the least and the largest count of each cell of a table, as far as `narrow` has worked them out; else what its sign leaves."""
        lo, hi = table.lo.copy(), table.hi.copy()
        if table.said in self._number:
            numbers, start = (
                self._numbers(table, shown),
                int(self._starts[self._number[table.said]]),
            )
            for cell in range(table.size):
                least_change, largest_change = self._ends.get(
                    (numbers, start + cell),
                    (lo[cell] - table.counts[cell], hi[cell] - table.counts[cell]),
                )
                lo[cell], hi[cell] = (
                    table.counts[cell] + least_change,
                    table.counts[cell] + largest_change,
                )
        return lo, hi

    def towards(
        self, table: CellCounts, shown: Collection[CellCounts], cell: int, wanted: int
    ) -> tuple[Ints, Ints] | None:
        """Return withheld cells of all tallies, numbered as they come, and counts of them that fit with another count of one cell, as near as may be.

        None where no whole numbers were found, or what is open is not worked out. Whether there are records with these counts is another question.
        """
        numbers = self._numbers(table, shown)
        rest = self._rests.get(numbers)
        if rest is None or not 0 < rest.moves.shape[1] <= MOST_FREE:
            return None
        place = int(np.searchsorted(rest.cells, self._starts[self._number[table.said]] + cell))
        by = _nearest(rest, place, wanted - int(table.counts[cell]))
        if by is None:
            return None
        counts = np.concatenate([tally.counts for tally, _ in self._looked_up])[rest.cells]
        return rest.cells, counts + by

    def _numbers(self, table: CellCounts, shown: Collection[CellCounts]) -> frozenset[int]:
        return frozenset(
            {
                self._number[table.said],
                *(self._number[one.said] for one in shown if one.said in self._number),
            }
        )

    def _rest(self, numbers: frozenset[int]) -> _Rest | None:
        if numbers not in self._rests:
            self._rests[numbers] = self._worked_out(sorted(numbers))
        return self._rests[numbers]

    def _worked_out(self, numbers: Sequence[int]) -> _Rest | None:
        tallies = [self._looked_up[number][0] for number in numbers]
        if sum(tally.size for tally in tallies) > MOST_CELLS:
            return None
        places = np.concatenate(
            [np.arange(self._starts[number], self._starts[number + 1]) for number in numbers]
        )
        lo, hi, counts = (
            np.concatenate([getattr(tally, name) for tally in tallies])
            for name in ("lo", "hi", "counts")
        )
        overlaps, roots = self._overlaps
        there = overlaps[places, places] > 0.5  # a cell without a level has no combinations
        known, open_ones = np.flatnonzero((lo == hi) & there), np.flatnonzero((lo < hi) & there)
        between = overlaps[np.ix_(places[known], places[open_ones])]
        sizes, vectors = np.linalg.eigh(overlaps[np.ix_(places[known], places[known])])
        kept = sizes > _NOTHING * max(float(sizes.max(initial=0.0)), 1.0)
        part = vectors[:, kept].T @ between / np.sqrt(sizes[kept])[:, None]
        left = overlaps[np.ix_(places[open_ones], places[open_ones])] - part.T @ part
        sizes, vectors = np.linalg.eigh(left)
        moves = vectors[:, sizes > _NOTHING] * roots[places[open_ones], None]  # in people again
        moves = moves / np.abs(moves).max(axis=0, initial=0.0)[None, :]
        return _Rest(
            places[open_ones],
            moves,
            (lo - counts)[open_ones].astype(float),
            (hi - counts)[open_ones].astype(float),
        )


def _overlap(one: CellLookup, other: CellLookup) -> NDArray[np.float64]:
    """The share of all combinations of levels that are in a cell of one tally and a cell of another."""
    both = [column for column in one.columns if column in other.columns]
    shares = one.shares(both)
    return np.asarray(shares @ other.shares(both).T / shares.shape[1])


def _ends(rest: _Rest, cell: int) -> tuple[int, int]:
    """How far below and above its own count a cell can be, in whole people."""
    aim = rest.moves[cell]
    if rest.moves.shape[0] == rest.moves.shape[1]:  # each cell that is open moves by itself
        return int(rest.down[cell]), int(rest.up[cell])
    if (
        rest.moves.shape[1] == 1
    ):  # all that is open moves together, and the first end that some cell comes to ends it
        moving = np.abs(rest.moves[:, 0]) > _SLACK  # the rest is rounding
        ends = np.stack([rest.down[moving], rest.up[moving]]) / rest.moves[moving, 0]
        values = sorted(
            (float(ends.min(axis=0).max()) * aim[0], float(ends.max(axis=0).min()) * aim[0])
        )
    else:
        from scipy.optimize import linprog

        rows, limits = (
            np.concatenate([rest.moves, -rest.moves]),
            np.concatenate([rest.up, -rest.down]),
        )
        results = [
            linprog(sign * aim, A_ub=rows, b_ub=limits, bounds=(None, None), method="highs")
            for sign in (1.0, -1.0)
        ]
        if any(one.fun is None for one in results):
            return int(rest.down[cell]), int(rest.up[cell])
        values = [results[0].fun, -results[1].fun]
    return int(np.ceil(values[0] - _SLACK)), int(np.floor(values[1] + _SLACK))


def _nearest(rest: _Rest, cell: int, by: int) -> Ints | None:
    """Changes of all open cells with which one changes by so many people, the least in sum; None where these are not whole."""
    from scipy.optimize import linprog

    n, free = rest.moves.shape
    if free == 1:
        changes = rest.moves[:, 0] * by / rest.moves[cell, 0]
        if (changes < rest.down - _SLACK).any() or (changes > rest.up + _SLACK).any():
            return None
    else:
        # What is free, then the size of each change.
        signs = np.block(
            [
                [rest.moves, -np.eye(n)],
                [-rest.moves, -np.eye(n)],
                [rest.moves, np.zeros((n, n))],
                [-rest.moves, np.zeros((n, n))],
            ]
        )
        result = linprog(
            np.append(np.zeros(free), np.ones(n)),
            A_ub=signs,
            b_ub=np.concatenate([np.zeros(2 * n), rest.up, -rest.down]),
            A_eq=np.append(rest.moves[cell], np.zeros(n))[None, :],
            b_eq=[by],
            bounds=(None, None),
            method="highs",
        )
        if result.x is None:
            return None
        changes = rest.moves @ result.x[:free]
    whole = np.round(changes).astype(np.int64)
    return whole if np.abs(changes - whole).max() < _SLACK else None
