"""What is left to cells that are withheld: the least and the largest count, in whole people, that all published numbers together allow.

The unknowns are counts of atoms (`atoms.py`), whole and at least 0; each published cell is the sum of its atoms, exactly or between two ends. Propagation
narrows what one sum gives away; witnesses, other whole tables that fit, show most cells to be safe, many at once or, near the true table, one by one; linear
programmes bound the ends of the rest, programmes in whole numbers work them out where they are small. Work is counted by the size of programmes, not in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..domain import Ints, Mask
from .atoms import CellSystem

MOST_WORK = 10_000_000
"""Work for the ranges of one table, about five seconds; cells that are open after that are not assessed. A linear programme costs its entries, and a hundredth of them for
each row; one in whole numbers far more (`_whole_cost`)."""
MOST_WORK_OF_ALL = 18_000_000
"""Work for the ranges of all tables of a check together, about ten seconds."""
MOST_OF_ONE = 2_000_000
"""Work of one linear programme, about two seconds; of systems that take more none is begun, since the few that the work allows for hardly prove anything."""
IN_VAIN = 3
"""FeasibleTables that show no further cell to be safe before each cell is looked at by itself."""
MOST_ROUNDS = 1_000
"""Rounds of propagation; what these leave is for programmes."""
MOST_NODES = 200
"""Branches of one programme in whole numbers."""
MOST_WHOLE = 1_000
"""Unknowns of one programme in whole numbers; of more it may take minutes."""
NEAR_TRIES = 3
"""Linear programmes towards one other count of a cell, before a programme in whole numbers looks among the atoms that they change."""
_SLACK = 1e-6


@dataclass
class WorkBudget:
    """Work that is left to the ranges of all tables of a check."""

    left: int = field(default_factory=lambda: MOST_WORK_OF_ALL)


class CellRanges(NamedTuple):
    """The least and the largest count of each cell; `assessed`: these are its range, or it is known to be wide enough."""

    lo: Ints
    hi: Ints
    assessed: Mask


@dataclass(frozen=True, eq=False)
class RangeSystem:
    """Sums of unknown counts between ends. `matrix` has a row for each sum and a column for each atom, `cell_of` the table's cell of each atom (-1: none).

    `least` and `most` are the ends of each atom, `lo` and `hi` those of each sum, `people` the true counts.
    """

    matrix: Any
    lo: Ints
    hi: Ints
    least: Ints
    most: Ints
    cell_of: Ints
    people: Ints


def range_system(system: CellSystem) -> RangeSystem:
    """Return what tallies say of atoms, the first of them being the table that is asked about."""
    everyone, n_atoms = system.tallies[0].n_people, len(system.people)
    lo, hi = system.by_cell(lambda tally: tally.lo), system.by_cell(lambda tally: tally.hi)
    matrix, sizes = system.matrix, np.diff(system.matrix.indptr)
    row, column = np.repeat(np.arange(len(lo)), sizes), matrix.indices
    # All people, whom "?" leaves, in these tallies or not.
    least, most = np.zeros(n_atoms, dtype=np.int64), np.full(n_atoms, everyone, dtype=np.int64)
    np.minimum.at(most, column, hi[row])
    # A cell that is one atom bounds it; a larger one is a sum, unless nothing is said of it.
    np.maximum.at(least, column[sizes[row] == 1], lo[row[sizes[row] == 1]])
    sums = np.flatnonzero((sizes > 1) & ((lo > 0) | (hi < everyone)))
    return RangeSystem(
        matrix[sums], lo[sums], hi[sums], least, most, system.cells[:, 0], system.people
    )


def _propagated(system: RangeSystem) -> tuple[Ints, Ints, bool]:
    """The ends of atoms after each sum has narrowed them, in whole numbers, until nothing changes, and whether it came to that."""
    least, most, matrix = system.least.copy(), system.most.copy(), system.matrix
    rows, columns = matrix.nonzero()
    for _ in range(MOST_ROUNDS):
        up = (
            system.lo - matrix @ most
        )  # what a sum lacks if all its atoms are at their most is what none may be below it
        down = system.hi - matrix @ least
        new_least, new_most = least.copy(), most.copy()
        np.maximum.at(new_least, columns, most[columns] + up[rows])
        np.minimum.at(new_most, columns, least[columns] + down[rows])
        if np.array_equal(new_least, least) and np.array_equal(new_most, most):
            return least, most, True
        least, most = new_least, new_most
    return least, most, False


class _Table:
    """Whole tables that fit what is published, by programmes that are counted."""

    def __init__(self, system: RangeSystem, n_cells: int, work: int) -> None:
        from scipy.sparse import csr_array

        least, most, settled = _propagated(system)
        inside = np.flatnonzero(system.cell_of >= 0)
        shape = n_cells, len(system.people)
        self.sums = csr_array(
            (np.ones(len(inside), dtype=np.int64), (system.cell_of[inside], inside)), shape=shape
        )
        self.lo, self.hi = self.sums @ least, self.sums @ most
        free = np.flatnonzero(most > least)
        self.fixed, self.free, self.system = least.copy(), free, system
        self.fixed[free] = 0
        rest = system.matrix @ self.fixed
        # A sum of one unknown has narrowed it already.
        open_rows = np.flatnonzero(system.matrix[:, free].sum(axis=1) > int(settled))
        self.matrix = system.matrix[open_rows][:, free]
        self.row_lo, self.row_hi = (
            system.lo[open_rows] - rest[open_rows],
            system.hi[open_rows] - rest[open_rows],
        )
        self.least, self.most_of = least[free], most[free]
        self.free_sums = self.sums[:, free].tocsr()
        self.left = work

    @property
    def cost(self) -> int:
        return _cost(self.matrix)

    def narrowed(self, rng: np.random.Generator) -> _Table:
        """The same with one atom of each cell free and the others at their true counts: far smaller, and what fits it fits the whole."""
        system = self.system
        order = rng.permutation(len(system.people))
        first = order[np.unique(system.cell_of[order], return_index=True)[1]]
        chosen = np.zeros(len(order), dtype=bool)
        chosen[first[system.cell_of[first] >= 0]] = True
        ends = {
            "least": np.where(chosen, system.least, system.people),
            "most": np.where(chosen, system.most, system.people),
        }
        return _Table(replace(system, **ends), self.sums.shape[0], self.left)

    def solved(self, cells: NDArray[np.float64]) -> tuple[Ints | None, float | None]:
        """The table that fits with the least weighted sum of cells, and a bound that no fitting table is below; None where there is none."""
        if not len(self.free):
            return None, None
        self.left -= self.cost
        aim = np.asarray(self.free_sums.T @ cells).reshape(-1)
        if not self.matrix.shape[0]:  # each unknown by itself
            whole = np.where(aim > 0, self.least, self.most_of)
            return whole, float(aim @ whole)
        from scipy.optimize import Bounds, LinearConstraint, milp

        constraints = [LinearConstraint(self.matrix, self.row_lo, self.row_hi)]
        ends = Bounds(self.least, self.most_of)
        result = milp(aim, constraints=constraints, bounds=ends)
        if result.x is None or result.status != 0:
            return None, None
        whole = np.round(result.x).astype(np.int64)
        if np.abs(result.x - whole).max(initial=0.0) > _SLACK:
            if (
                self.left < _whole_cost(self.cost) or len(self.free) > MOST_WHOLE
            ):  # the linear programme bounds the one in whole numbers
                return None, float(result.fun)
            self.left -= _whole_cost(self.cost)
            options = {"node_limit": MOST_NODES}
            result = milp(
                aim,
                constraints=constraints,
                bounds=ends,
                integrality=np.ones(len(aim)),
                options=options,
            )
            bound = result.mip_dual_bound if result.mip_dual_bound is not None else None
            if result.x is None:
                return None, bound
            whole = np.round(result.x).astype(np.int64)
        else:
            bound = float(result.fun)
        return (whole if self._fits(whole) else None), bound

    def near(self, cell: int, by: int, rng: np.random.Generator) -> Ints | None:
        """A table that fits in which a cell has `by` people more (fewer, below 0), and few other counts are not the true ones; None where none was found.

        Few atoms change, so that mostly what a linear programme finds is whole. Where it is not, whole numbers are looked for among the atoms that
        several of them change.
        """
        from scipy.optimize import linprog
        from scipy.sparse import block_array, csr_array

        people = self.system.people[self.free]
        changed = np.zeros(len(people), dtype=bool)
        asked = self.free_sums[[cell]]
        rows = block_array([[self.matrix, -self.matrix]]).tocsr()
        now = self.matrix @ people
        exact = self.row_lo == self.row_hi
        loose = rows[np.flatnonzero(~exact)]
        system: dict[str, Any] = {
            "A_eq": block_array(
                [[rows[np.flatnonzero(exact)]], [block_array([[asked, -asked]])]]
            ).tocsr(),
            "b_eq": np.append((self.row_lo - now)[exact], by),
            "A_ub": block_array([[loose], [-loose]]).tocsr(),
            "b_ub": np.concatenate([(self.row_hi - now)[~exact], (now - self.row_lo)[~exact]]),
        }
        room = np.concatenate([self.most_of - people, people - self.least])
        for _ in range(NEAR_TRIES):
            if self.left < self.cost:
                return None
            self.left -= self.cost
            result = linprog(
                1.0 + rng.random(len(room)),
                bounds=np.stack([np.zeros_like(room), room], axis=1),
                method="highs",
                **system,
            )
            if result.x is None or result.status != 0:
                return None
            more = result.x[: len(people)] - result.x[len(people) :]
            whole = people + np.round(more).astype(np.int64)
            if self._fits(whole) and int((asked @ (whole - people))[0]) == by:
                return whole
            changed |= np.abs(more) > _SLACK
        return self._near_among(np.flatnonzero(changed), people, csr_array(asked), by)

    def _near_among(self, atoms: Ints, people: Ints, asked: Any, by: int) -> Ints | None:
        """The same by changes of some atoms alone, in whole numbers."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        matrix = self.matrix[:, atoms]
        touched = np.flatnonzero(matrix.sum(axis=1) > 0)
        matrix, now = matrix[touched], (self.matrix @ people)[touched]
        cost = _whole_cost(_cost(matrix))
        if self.left < cost:
            return None
        self.left -= cost
        constraints = [
            LinearConstraint(matrix, self.row_lo[touched] - now, self.row_hi[touched] - now),
            LinearConstraint(asked[:, atoms], by, by),
        ]
        ends = Bounds((self.least - people)[atoms], (self.most_of - people)[atoms])
        result = milp(
            np.zeros(len(atoms)),
            constraints=constraints,
            bounds=ends,
            integrality=np.ones(len(atoms)),
            options={"node_limit": MOST_NODES},
        )
        if result.x is None:
            return None
        whole = people.copy()
        whole[atoms] += np.round(result.x).astype(np.int64)
        return whole if self._fits(whole) else None

    def _fits(self, whole: Ints) -> bool:
        """Whether a table in whole numbers is one that fits: the floating point of a programme is not taken for it."""
        sums = self.matrix @ whole
        within = (whole >= self.least).all() and (whole <= self.most_of).all()
        return bool(within and (sums >= self.row_lo).all() and (sums <= self.row_hi).all())


def _cost(matrix: Any) -> int:
    """The work of a linear programme, from measured times: 5,000 unknowns in 260 sums 0.1 s, 27,000 in 480 3 s."""
    rows, columns = matrix.shape
    return int(columns + matrix.nnz + rows * matrix.nnz // 100)


def _whole_cost(cost: int) -> int:
    """The work of a programme in whole numbers where a linear one has a cost: 300 unknowns in 240 sums 0.5 s, 5,000 in 260 minutes."""
    return cost * (1 + cost // 200)


def ranges(
    system: RangeSystem,
    counts: Ints,
    *,
    of: Mask,
    enough: float = np.inf,
    work: int | None = None,
    budget: WorkBudget | None = None,
) -> CellRanges:
    """Return the range of each cell of a table, given all that a system says.

    They are worked out for the cells of `of`; others may come back with wider ranges than they have. A cell whose count may lie as far from the
    true one as `enough` is safe, which saves working out its range. What it costs is taken from a `budget` that tables share, if there is one.
    """
    most_work = MOST_WORK if work is None else work
    table = _Table(
        system, len(counts), most_work if budget is None else min(most_work, budget.left)
    )
    before = table.left
    try:
        return _ranges(table, counts, of, enough)
    finally:
        if budget is not None:
            budget.left -= before - table.left


def _ranges(table: _Table, counts: Ints, of: Mask, enough: float) -> CellRanges:
    system = table.system
    lo, hi = np.minimum(table.lo, counts), np.maximum(table.hi, counts)
    assessed = np.ones(len(counts), dtype=bool)
    open_cells = of & (hi > lo)
    if not open_cells.any() or not len(table.free):
        return CellRanges(lo, hi, assessed)
    if table.cost > MOST_OF_ONE:
        return CellRanges(lo, hi, assessed & ~open_cells)
    seen_lo, seen_hi = counts.copy(), counts.copy()

    def safe() -> Mask:
        far = np.maximum(seen_hi - counts, counts - seen_lo) >= enough
        return np.asarray(far | (seen_hi - seen_lo >= np.minimum(hi - lo, enough)))

    def tried(some: _Table, weights: NDArray[np.float64]) -> float | None:
        """Take in what another table that fits has in each cell."""
        whole, bound = some.solved(weights)
        if whole is not None:
            seen(some, whole)
        return bound

    def seen(some: _Table, whole: Ints) -> None:
        found = some.sums @ some.fixed + some.free_sums @ whole
        np.minimum(seen_lo, found, out=seen_lo)
        np.maximum(seen_hi, found, out=seen_hi)

    def changed(cell: int, aims: list[int]) -> None:
        """Look for tables near the true one in which a cell has so many people more or fewer."""
        for by in aims:
            if safe()[cell]:
                return
            if (whole := table.near(cell, by, rng)) is not None:
                seen(table, whole)

    rng, fixed_sums = np.random.default_rng(1), table.sums @ table.fixed
    for narrow in (True, False):
        vain, number = 0, 0
        if narrow and (np.bincount(system.cell_of[system.cell_of >= 0]) < 2).all():
            continue
        while vain < IN_VAIN and table.left >= table.cost and (left := open_cells & ~safe()).any():
            some = table.narrowed(rng) if narrow else table
            random = np.where(rng.random(len(counts)) < 0.5, -1.0, 1.0)
            tried(some, np.where(left, random if number > 1 else 1.0 - 2.0 * number, 0.0))
            table.left = some.left
            vain, number = (
                (0 if (open_cells & ~safe()).sum() < left.sum() else vain + 1),
                number + 1,
            )
    for cell in np.flatnonzero(open_cells & ~safe()).tolist():
        changed(cell, _aims(int(counts[cell]), int(lo[cell]), int(hi[cell]), enough))
        for sign in (1.0, -1.0):
            if safe()[cell] or table.left < table.cost:
                break
            weights = np.zeros(len(counts))
            weights[cell] = sign
            bound = tried(table, weights)
            if bound is None:
                break
            end = int(np.ceil(bound - _SLACK)) + int(sign) * int(fixed_sums[cell])
            if sign > 0:
                lo[cell] = max(lo[cell], min(end, counts[cell]))
            else:
                hi[cell] = min(hi[cell], max(-end, counts[cell]))
        if hi[cell] > lo[cell]:
            changed(
                cell,
                [int(hi[cell] - counts[cell]), int(lo[cell] - counts[cell])]
                if hi[cell] - lo[cell] <= enough
                else [],
            )
    # What was worked out is what a witness reached, or what was seen to be wide enough.
    assessed[open_cells & ~safe()] = False
    return CellRanges(lo, hi, assessed)


def _aims(count: int, lo: int, hi: int, enough: float) -> list[int]:
    """How many people more or fewer make a cell safe at once; none where neither can be, or no number is enough.

    Examples
    --------
    >>> _aims(5, 1, 9, 2), _aims(2, 1, 9, 2), _aims(5, 4, 6, 2), _aims(5, 1, 9, np.inf)
    ([2, -2], [2], [], [])
    """
    return (
        [int(by) for by in (enough, -enough) if lo <= count + by <= hi]
        if np.isfinite(enough)
        else []
    )
