"""What is left to cells that are withheld: the least and the largest count, in whole people, that all published numbers together allow.

The unknowns are counts of atoms (`atoms.py`), whole and at least 0; each published cell is the sum of its atoms, exactly or between two ends. Propagation
narrows what one sum gives away; witnesses, other whole tables that fit, show most cells to be safe, many at once; programmes in whole numbers work out
the ends of the rest. Work is counted in the entries of programmes, not in seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .atoms import Atoms
from .tallies import Ints, Mask, OutputTally

__all__ = ["CellRanges", "RangeSystem", "range_system", "ranges"]

MOST_WORK = 3_000_000
"""What the programmes for the ranges of one table may cost, entries and a hundredth of rows times unknowns, about twenty seconds; cells that are open after that are
not assessed."""
IN_VAIN = 3
"""Witnesses that show no further cell to be safe before each cell is looked at by itself."""
MOST_ROUNDS = 1_000
"""Rounds of propagation; what these leave is for programmes."""
MOST_NODES = 200
"""Branches of one programme in whole numbers."""
_SLACK = 1e-6


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


def range_system(tallies: Sequence[OutputTally], atoms: Atoms) -> RangeSystem:
    """Return what tallies say of atoms, the first of them being the table that is asked about."""
    from scipy.sparse import csr_array

    n_atoms = len(atoms.people)
    everyone = len(tallies[0].labels)  # all records, which "?" leaves; not those of these tallies, whose number need not be known
    least, most = np.zeros(n_atoms, dtype=np.int64), np.full(n_atoms, everyone, dtype=np.int64)
    rows, columns, lo, hi, count = list[Ints](), list[Ints](), list[Ints](), list[Ints](), 0
    for number, tally in enumerate(tallies):
        inside = np.flatnonzero(atoms.cells[:, number] >= 0)
        of = atoms.cells[inside, number]
        sizes = np.bincount(of, minlength=tally.size)
        alone = sizes[of] == 1
        # A cell that is one atom bounds it; a larger one is a sum, unless nothing is said of it.
        least[inside[alone]] = np.maximum(least[inside[alone]], tally.lo[of[alone]])
        most[inside[alone]] = np.minimum(most[inside[alone]], tally.hi[of[alone]])
        most[inside] = np.minimum(most[inside], tally.hi[of])
        said = np.flatnonzero((sizes > 1) & ((tally.lo > 0) | (tally.hi < everyone)))
        at = np.full(tally.size, -1, dtype=np.int64)
        at[said] = count + np.arange(len(said))
        some = at[of] >= 0
        rows.append(at[of[some]])
        columns.append(inside[some])
        lo.append(tally.lo[said])
        hi.append(tally.hi[said])
        count += len(said)
    row, column = np.concatenate(rows), np.concatenate(columns)
    matrix = csr_array((np.ones(len(row), dtype=np.int64), (row, column)), shape=(count, n_atoms))
    return RangeSystem(matrix, np.concatenate(lo), np.concatenate(hi), least, most, atoms.cells[:, 0], atoms.people)


def _propagated(system: RangeSystem) -> tuple[Ints, Ints, bool]:
    """The ends of atoms after each sum has narrowed them, in whole numbers, until nothing changes, and whether it came to that."""
    least, most, matrix = system.least.copy(), system.most.copy(), system.matrix
    rows, columns = matrix.nonzero()
    for _ in range(MOST_ROUNDS):
        up = system.lo - matrix @ most  # what a sum lacks if all its atoms are at their most is what none may be below it
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
        self.sums = csr_array((np.ones(len(inside), dtype=np.int64), (system.cell_of[inside], inside)), shape=shape)
        self.lo, self.hi = self.sums @ least, self.sums @ most
        free = np.flatnonzero(most > least)
        self.fixed, self.free, self.system = least.copy(), free, system
        self.fixed[free] = 0
        rest = system.matrix @ self.fixed
        # A sum of one unknown has narrowed it already.
        open_rows = np.flatnonzero(system.matrix[:, free].sum(axis=1) > int(settled))
        self.matrix = system.matrix[open_rows][:, free]
        self.row_lo, self.row_hi = system.lo[open_rows] - rest[open_rows], system.hi[open_rows] - rest[open_rows]
        self.least, self.most_of = least[free], most[free]
        self.free_sums = self.sums[:, free].tocsr()
        self.left = work

    @property
    def cost(self) -> int:
        return int(self.matrix.nnz + len(self.free) + self.matrix.shape[0] * len(self.free) // 100)

    def narrowed(self, rng: np.random.Generator) -> _Table:
        """The same with one atom of each cell free and the others at their true counts: far smaller, and what fits it fits the whole."""
        system = self.system
        order = rng.permutation(len(system.people))
        first = order[np.unique(system.cell_of[order], return_index=True)[1]]
        chosen = np.zeros(len(order), dtype=bool)
        chosen[first[system.cell_of[first] >= 0]] = True
        ends = {"least": np.where(chosen, system.least, system.people), "most": np.where(chosen, system.most, system.people)}
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
        if np.abs(result.x - whole).max(initial=0.0) > _SLACK and self.left >= self.cost:
            self.left -= self.cost
            options = {"node_limit": MOST_NODES}
            result = milp(aim, constraints=constraints, bounds=ends, integrality=np.ones(len(aim)), options=options)
            bound = result.mip_dual_bound if result.mip_dual_bound is not None else None
            if result.x is None:
                return None, bound
            whole = np.round(result.x).astype(np.int64)
        else:
            bound = float(result.fun)
        return (whole if self._fits(whole) else None), bound

    def _fits(self, whole: Ints) -> bool:
        """Whether a table in whole numbers is one that fits: the floating point of a programme is not taken for it."""
        sums = self.matrix @ whole
        within = (whole >= self.least).all() and (whole <= self.most_of).all()
        return bool(within and (sums >= self.row_lo).all() and (sums <= self.row_hi).all())


def ranges(
    system: RangeSystem, counts: Ints, *, of: Mask, enough: float = np.inf, work: int | None = None
) -> CellRanges:
    """Return the range of each cell of a table, given all that a system says.

    They are worked out for the cells of `of`; others may come back with wider ranges than they have. A cell whose count may lie as far from the
    true one as `enough` is safe, which saves working out its range.
    """
    table = _Table(system, len(counts), MOST_WORK if work is None else work)
    lo, hi = np.minimum(table.lo, counts), np.maximum(table.hi, counts)
    assessed = np.ones(len(counts), dtype=bool)
    open_cells = of & (hi > lo)
    if not open_cells.any() or not len(table.free):
        return CellRanges(lo, hi, assessed)
    seen_lo, seen_hi = counts.copy(), counts.copy()

    def safe() -> Mask:
        far = np.maximum(seen_hi - counts, counts - seen_lo) >= enough
        return np.asarray(far | (seen_hi - seen_lo >= np.minimum(hi - lo, enough)))

    def tried(some: _Table, weights: NDArray[np.float64]) -> float | None:
        """Take in what another table that fits has in each cell."""
        whole, bound = some.solved(weights)
        if whole is not None:
            found = some.sums @ some.fixed + some.free_sums @ whole
            np.minimum(seen_lo, found, out=seen_lo)
            np.maximum(seen_hi, found, out=seen_hi)
        return bound

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
            vain, number = (0 if (open_cells & ~safe()).sum() < left.sum() else vain + 1), number + 1
    for cell in np.flatnonzero(open_cells & ~safe()):
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
    # What was worked out is what a witness reached, or what was seen to be wide enough.
    assessed[open_cells & ~safe()] = False
    return CellRanges(lo, hi, assessed)
