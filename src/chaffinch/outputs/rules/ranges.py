"""What is left to cells that are withheld: the least and the largest count, in whole people, that all published numbers together allow.

The unknowns are counts of atoms (`atoms.py`), whole and at least 0; each published cell is the sum of its atoms, exactly or between two ends. Propagation
narrows what one sum discloses; witnesses, other whole tables that fit, show most cells to be safe, many at once or, near the true table, one by one; linear
programmes bound the ends of the rest, programmes in whole numbers work them out where they are small. Work is counted by the size of programmes, not in seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._base.arrays import Floats, Ints, Mask
from .atoms import Atoms

if TYPE_CHECKING:
    from .system import WorkBudget

MAX_WORK_OF_ALL = 18_000_000
"""Work for the ranges of all tables of a check together, about ten seconds. A linear programme costs its entries, and a hundredth of them for
each row; one in whole numbers far more (`_whole_cost`)."""
MAX_WORK = 10_000_000
"""Work for the ranges of one table, about five seconds; cells that are open after that are not assessed."""
MAX_WORK_OF_ONE = 2_000_000
"""Work of one linear programme, about two seconds; of systems that take more none is begun, since the few that the work allows for hardly prove anything."""
IN_VAIN = 3
"""Tables that show no further cell to be safe before each cell is looked at by itself."""
MAX_ROUNDS = 1_000
"""Rounds of propagation; what these leave is for programmes."""
MAX_NODES = 200
"""Branches of one programme in whole numbers."""
MAX_UNKNOWNS = 1_000
"""Unknowns of one programme in whole numbers; of more it may take minutes."""
NEAR_TRIES = 3
"""Linear programmes towards one other count of a cell, before a programme in whole numbers looks among the atoms that they change."""
_SLACK = 1e-6


class CellRanges(NamedTuple):
    """The least and the largest count of each cell; `assessed`: these are its range, or it is known to be wide enough."""

    lo: Ints
    hi: Ints
    assessed: Mask


class Sums(NamedTuple):
    """Sums of atoms between ends: `matrix` has a row for each sum and a column for each atom."""

    matrix: Any
    lo: Ints
    hi: Ints


def bound_atoms(atoms: Atoms) -> tuple[Sums, Ints, Ints]:
    """Return what tallies say of sums of several atoms, and the least and the largest count of each atom by itself."""
    everyone, n_atoms = atoms.tallies[0].n_people, len(atoms.people)
    lo, hi = atoms.by_cell(lambda tally: tally.lo), atoms.by_cell(lambda tally: tally.hi)
    matrix, sizes = atoms.matrix, np.diff(atoms.matrix.indptr)
    row, column = np.repeat(np.arange(len(lo)), sizes), matrix.indices
    # All people, whom "?" leaves, in these tallies or not.
    smallest, largest = (
        np.zeros(n_atoms, dtype=np.int64),
        np.full(n_atoms, everyone, dtype=np.int64),
    )
    np.minimum.at(largest, column, hi[row])
    # A cell that is one atom bounds it; a larger one is a sum, unless nothing is said of it.
    np.maximum.at(smallest, column[sizes[row] == 1], lo[row[sizes[row] == 1]])
    sums = np.flatnonzero((sizes > 1) & ((lo > 0) | (hi < everyone)))
    return Sums(matrix[sums], lo[sums], hi[sums]), smallest, largest


def _propagate(sums: Sums, smallest: Ints, largest: Ints) -> tuple[Ints, Ints, bool]:
    """The ends of atoms after each sum has narrowed them, in whole numbers, until nothing changes, and whether it came to that."""
    rows, columns = sums.matrix.nonzero()
    for _ in range(MAX_ROUNDS):
        # What a sum lacks if all its atoms are at their largest is what none may be below it.
        up, down = sums.lo - sums.matrix @ largest, sums.hi - sums.matrix @ smallest
        new_least, new_largest = smallest.copy(), largest.copy()
        np.maximum.at(new_least, columns, largest[columns] + up[rows])
        np.minimum.at(new_largest, columns, smallest[columns] + down[rows])
        if np.array_equal(new_least, smallest) and np.array_equal(new_largest, largest):
            return smallest, largest, True
        smallest, largest = new_least, new_largest
    return smallest, largest, False


class FittingTables:
    """Whole tables that fit what is published, by programmes that are counted. `lo` and `hi` bound the cells of the first tally."""

    def __init__(self, atoms: Atoms, sums: Sums, smallest: Ints, largest: Ints, work: int) -> None:
        from scipy.sparse import csr_array

        self.atoms, self.given, self.cell_of, self.left = (
            atoms,
            (sums, smallest, largest),
            atoms.numbers[:, 0],
            work,
        )
        smallest, largest, settled = _propagate(sums, smallest, largest)
        inside = np.flatnonzero(self.cell_of >= 0)
        self.cell_sums = csr_array(
            (np.ones(len(inside), dtype=np.int64), (self.cell_of[inside], inside)),
            shape=(atoms.tallies[0].size, len(atoms.people)),
        )
        self.lo, self.hi = self.cell_sums @ smallest, self.cell_sums @ largest
        self.free = np.flatnonzero(largest > smallest)
        self.fixed = smallest.copy()
        self.fixed[self.free] = 0
        # A sum of one unknown has narrowed it already.
        rows = np.flatnonzero(sums.matrix[:, self.free].sum(axis=1) > int(settled))
        fixed = (sums.matrix @ self.fixed)[rows]
        self.sums = Sums(
            sums.matrix[rows][:, self.free], sums.lo[rows] - fixed, sums.hi[rows] - fixed
        )
        self.least, self.largest = smallest[self.free], largest[self.free]
        self.free_sums = self.cell_sums[:, self.free].tocsr()

    @property
    def cost(self) -> int:
        """The work of one linear programme."""
        return _cost(self.sums.matrix)

    def narrowed(self, rng: np.random.Generator) -> FittingTables:
        """Return the same with one atom of each cell free and the others at their true counts: far smaller, and what fits it fits the whole."""
        sums, smallest, largest = self.given
        order = rng.permutation(len(self.cell_of))
        first = order[np.unique(self.cell_of[order], return_index=True)[1]]
        chosen = np.zeros(len(order), dtype=bool)
        chosen[first[self.cell_of[first] >= 0]] = True
        people = self.atoms.people
        smallest, largest = (np.where(chosen, end, people) for end in (smallest, largest))
        return FittingTables(self.atoms, sums, smallest, largest, self.left)

    def cells(self, free: Ints) -> Ints:
        """Return the counts of all cells where the free atoms have some counts."""
        return np.asarray(self.cell_sums @ self.fixed + self.free_sums @ free)

    def solve(self, weights: Floats) -> tuple[Ints | None, float | None]:
        """Return the free atoms of the table that fits with the least weighted sum of cells, and a bound that no fitting table is below; None where there is none."""
        if not len(self.free):
            return None, None
        self.left -= self.cost
        aim = np.asarray(self.free_sums.T @ weights).reshape(-1)
        if not self.sums.matrix.shape[0]:  # each unknown by itself
            free = np.where(aim > 0, self.least, self.largest)
            return free, float(aim @ free)
        from scipy.optimize import Bounds, LinearConstraint, milp

        programme: dict[str, Any] = {
            "constraints": [LinearConstraint(*self.sums)],
            "bounds": Bounds(self.least, self.largest),
        }
        result = milp(aim, **programme)
        if result.x is None or result.status != 0:
            return None, None
        free, bound = np.round(result.x).astype(np.int64), result.fun
        if np.abs(result.x - free).max(initial=0.0) > _SLACK:
            # The linear programme bounds the one in whole numbers.
            if self.left < _whole_cost(self.cost) or len(self.free) > MAX_UNKNOWNS:
                return None, float(bound)
            self.left -= _whole_cost(self.cost)
            options = {"node_limit": MAX_NODES}
            result = milp(aim, **programme, integrality=np.ones(len(aim)), options=options)
            bound = result.mip_dual_bound
            if result.x is None:
                return None, bound
            free = np.round(result.x).astype(np.int64)
        return (free if self._fits(free) else None), bound

    def near(self, cell: int, change: int, rng: np.random.Generator) -> Ints | None:
        """Return the free atoms of a table that fits in which a cell has `change` people more (fewer, below 0), and few other counts are not the true ones; None where none was found.

        Few atoms change, so that mostly what a linear programme finds is whole. Where it is not, whole numbers are looked for among the atoms that
        several of them change.
        """
        from scipy.optimize import linprog

        people, changed = self.atoms.people[self.free], np.zeros(len(self.free), dtype=bool)
        asked, programme = self.free_sums[[cell]], self._programme_of_changes(cell, change)
        limits = np.concatenate([self.largest - people, people - self.least])
        bounds = np.stack([np.zeros_like(limits), limits], axis=1)
        for _ in range(NEAR_TRIES):
            if self.left < self.cost:
                return None
            self.left -= self.cost
            weights = 1.0 + rng.random(len(limits))
            result = linprog(weights, bounds=bounds, method="highs", **programme)
            if result.x is None or result.status != 0:
                return None
            changes = result.x[: len(people)] - result.x[len(people) :]
            free = people + np.round(changes).astype(np.int64)
            if self._fits(free) and int((asked @ (free - people))[0]) == change:
                return free
            changed |= np.abs(changes) > _SLACK
        return self._near_among(np.flatnonzero(changed), asked, change)

    def _programme_of_changes(self, cell: int, change: int) -> dict[str, Any]:
        """A linear programme whose unknowns are how much more and how much less than its true count each free atom has."""
        from scipy.sparse import block_array

        matrix, lo, hi = self.sums
        asked, now = self.free_sums[[cell]], matrix @ self.atoms.people[self.free]
        rows = block_array([[matrix, -matrix]]).tocsr()
        exact = lo == hi
        loose = rows[np.flatnonzero(~exact)]
        equal = [[rows[np.flatnonzero(exact)]], [block_array([[asked, -asked]])]]
        return {
            "A_eq": block_array(equal).tocsr(),
            "b_eq": np.append((lo - now)[exact], change),
            "A_ub": block_array([[loose], [-loose]]).tocsr(),
            "b_ub": np.concatenate([(hi - now)[~exact], (now - lo)[~exact]]),
        }

    def _near_among(self, atoms: Ints, asked: Any, change: int) -> Ints | None:
        """The same by changes of some atoms alone, in whole numbers."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        people = self.atoms.people[self.free]
        matrix, lo, hi = self.sums
        rows = np.flatnonzero(matrix[:, atoms].sum(axis=1) > 0)
        now, matrix = (matrix @ people)[rows], matrix[:, atoms][rows]
        cost = _whole_cost(_cost(matrix))
        if self.left < cost:
            return None
        self.left -= cost
        result = milp(
            np.zeros(len(atoms)),
            constraints=[
                LinearConstraint(matrix, lo[rows] - now, hi[rows] - now),
                LinearConstraint(asked.tocsr()[:, atoms], change, change),
            ],
            bounds=Bounds((self.least - people)[atoms], (self.largest - people)[atoms]),
            integrality=np.ones(len(atoms)),
            options={"node_limit": MAX_NODES},
        )
        if result.x is None:
            return None
        free = people.copy()
        free[atoms] += np.round(result.x).astype(np.int64)
        return free if self._fits(free) else None

    def _fits(self, free: Ints) -> bool:
        """Whether a table in whole numbers is one that fits: the floating point of a programme is not trusted."""
        sums = self.sums.matrix @ free
        within = (free >= self.least).all() and (free <= self.largest).all()
        return bool(within and (sums >= self.sums.lo).all() and (sums <= self.sums.hi).all())


def _cost(matrix: Any) -> int:
    """The work of a linear programme, from measured times: 5,000 unknowns in 260 sums 0.1 s, 27,000 in 480 3 s."""
    rows, columns = matrix.shape
    return int(columns + matrix.nnz + rows * matrix.nnz // 100)


def _whole_cost(cost: int) -> int:
    """The work of a programme in whole numbers where a linear one has a cost: 300 unknowns in 240 sums 0.5 s, 5,000 in 260 minutes."""
    return cost * (1 + cost // 200)


def find_ranges(
    atoms: Atoms, cells: Mask, *, enough: float = np.inf, budget: WorkBudget
) -> CellRanges:
    """Return the range of each cell of a table, the first tally of a system, given all that the system says.

    They are worked out for some `cells`; others may come back with wider ranges than they have. A cell whose count may lie as far from the
    true one as `enough` is safe, which saves working out its range. What it costs is taken from the `budget`.
    """
    tables = FittingTables(atoms, *bound_atoms(atoms), min(MAX_WORK, budget.ranges))
    before, search = tables.left, _RangeSearch(tables, cells, enough)
    search.run()
    budget.ranges -= before - tables.left
    # What was worked out is what a witness reached, or what was seen to be wide enough.
    return CellRanges(search.lo, search.hi, ~search.unsafe)


class _RangeSearch:
    """The ranges of cells while they are worked out: the ends that are proven, and those that other tables which fit have reached."""

    def __init__(self, tables: FittingTables, cells: Mask, enough: float) -> None:
        self.counts = tables.atoms.tallies[0].counts
        self.lo, self.hi = np.minimum(tables.lo, self.counts), np.maximum(tables.hi, self.counts)
        self.open = cells & (self.hi > self.lo) & bool(len(tables.free))
        self.smallest, self.largest = self.counts.copy(), self.counts.copy()
        self.tables, self.enough, self.rng = tables, enough, np.random.default_rng(1)

    @property
    def unsafe(self) -> Mask:
        """Which open cells have not been seen to have a count that is far enough from their own, nor all their range."""
        farthest = np.maximum(self.largest - self.counts, self.counts - self.smallest)
        wanted = np.minimum(self.hi - self.lo, self.enough)
        return self.open & (farthest < self.enough) & (self.largest - self.smallest < wanted)

    def run(self) -> None:
        """Look for tables in which many cells have other counts, then at each cell that is still open."""
        if self.tables.cost > MAX_WORK_OF_ONE:
            return
        if (np.bincount(self.tables.cell_of[self.tables.cell_of >= 0]) > 1).any():
            self._aim_at_many(narrow=True)
        self._aim_at_many(narrow=False)
        for cell in np.flatnonzero(self.unsafe).tolist():
            self._look_at(cell)

    def _aim_at_many(self, *, narrow: bool) -> None:
        """Look for tables in which cells have more people, or fewer, until these are in vain."""
        in_vain = number = 0
        while (
            in_vain < IN_VAIN
            and self.tables.left >= self.tables.cost
            and (unsafe := self.unsafe).any()
        ):
            tables = self.tables.narrowed(self.rng) if narrow else self.tables
            random = np.where(self.rng.random(len(unsafe)) < 0.5, -1.0, 1.0)
            self._solve(tables, np.where(unsafe, random if number > 1 else 1.0 - 2.0 * number, 0.0))
            self.tables.left = tables.left
            in_vain = 0 if self.unsafe.sum() < unsafe.sum() else in_vain + 1
            number += 1

    def _look_at(self, cell: int) -> None:
        """Look for another count of a cell, far enough from its own, then work out the ends of its range."""
        tables, count = self.tables, int(self.counts[cell])
        self._change(cell, _changes(count, int(self.lo[cell]), int(self.hi[cell]), self.enough))
        for sign in (1, -1):
            if not self.unsafe[cell] or tables.left < tables.cost:
                break
            is_cell = np.arange(len(self.counts)) == cell
            bound = self._solve(tables, np.where(is_cell, float(sign), 0.0))
            if bound is None:
                break
            fixed = int((tables.cell_sums[[cell]] @ tables.fixed)[0])
            end = int(np.ceil(bound - _SLACK)) + sign * fixed
            if sign > 0:
                self.lo[cell] = max(self.lo[cell], min(end, count))
            else:
                self.hi[cell] = min(self.hi[cell], max(-end, count))
        if 0 < self.hi[cell] - self.lo[cell] <= self.enough:
            self._change(cell, [int(end[cell]) - count for end in (self.hi, self.lo)])

    def _change(self, cell: int, changes: list[int]) -> None:
        """Look for tables near the true one in which a cell has so many people more or fewer."""
        for change in changes:
            if not self.unsafe[cell]:
                return
            if (free := self.tables.near(cell, change, self.rng)) is not None:
                self._take_in(self.tables, free)

    def _solve(self, tables: FittingTables, weights: Floats) -> float | None:
        """Take in the table that fits with the least weighted sum of cells, and return the bound of that."""
        free, bound = tables.solve(weights)
        if free is not None:
            self._take_in(tables, free)
        return bound

    def _take_in(self, tables: FittingTables, free: Ints) -> None:
        counts = tables.cells(free)
        np.minimum(self.smallest, counts, out=self.smallest)
        np.maximum(self.largest, counts, out=self.largest)


def _changes(count: int, lo: int, hi: int, enough: float) -> list[int]:
    """How many people more or fewer make a cell safe at once; none where neither can be, or no number is enough.

    Examples
    --------
    >>> _changes(5, 1, 9, 2), _changes(2, 1, 9, 2), _changes(5, 4, 6, 2), _changes(5, 1, 9, np.inf)
    ([2, -2], [2], [], [])
    """
    if not np.isfinite(enough):
        return []
    return [int(change) for change in (enough, -enough) if lo <= count + change <= hi]
