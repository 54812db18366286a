"""Ranges of cells in whole people: by hand, and with less work than they take. `test_suppression.py` holds them against every table that fits."""

from __future__ import annotations

from typing import Any

import numpy as np

from chaffinch.outputs.document import output_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.rules.atoms import Atoms, find_atoms
from chaffinch.outputs.rules.cell_counts import tallies_of
from chaffinch.outputs.rules.ranges import CellRanges, FittingTables, bound_atoms, find_ranges
from chaffinch.outputs.rules.system import WorkBudget

FIELDS = OutputDomain(
    (OutputColumn("A", ("p", "q")), OutputColumn("B", ("x", "y")), OutputColumn("C", (0, 1, 2)))
)


def atoms_of(counts: Any, *entries: dict[str, Any]) -> tuple[Atoms, Any]:
    codes = np.repeat(
        np.indices((2, 2, 3)).reshape(3, -1).T, np.asarray(counts).ravel(), axis=0
    ).astype(np.int32)
    tallies = [
        tallies_of(output_of({"name": f"o{k}", "kind": "table", **entry}), FIELDS, codes)[0]
        for k, entry in enumerate(entries)
    ]
    return find_atoms(tallies), tallies[0]


def ranges(atoms: Atoms, cells: Any, work: int = 10**7, **options: Any) -> CellRanges:
    return find_ranges(atoms, cells, budget=WorkBudget(ranges=work), **options)


COUNTS = np.array([[[3, 2, 1], [4, 0, 2]], [[5, 1, 1], [2, 2, 2]]])
WITHHELD = {"by": ["A", "B"], "counts": [["?", "?"], ["?", "?"]]}


def test_sums_of_rows_and_columns_by_hand():
    """Rows 12 and 13, columns 13 and 12: p and x from 0 (then q and x 13) to 12."""
    atoms, table = atoms_of(COUNTS, WITHHELD, {"by": ["A"]}, {"by": ["B"]})
    lo, hi, assessed = ranges(atoms, table.withheld)
    assert (lo.tolist(), hi.tolist(), assessed.all()) == ([0, 0, 1, 0], [12, 12, 13, 12], True)


def test_a_third_column_narrows_them():
    """Of A by C and B by C, for C = 0: 7 of p, 8 of x in 14, so p and x are at least 1 there, at most 7; for 1: 0 to 2; for 2: 0 to 2."""
    atoms, table = atoms_of(COUNTS, WITHHELD, {"by": ["A", "C"]}, {"by": ["B", "C"]})
    lo, hi, assessed = ranges(atoms, table.withheld)
    assert (int(lo[0]), int(hi[0])) == (1, 7 + 2 + 2)
    assert assessed.all()
    # Wide enough is enough.
    assert ranges(atoms, table.withheld, enough=1).assessed.all()


def test_without_work_what_propagation_leaves_is_not_assessed():
    atoms, table = atoms_of(COUNTS, WITHHELD, {"by": ["A"]}, {"by": ["B"]})
    lo, hi, assessed = ranges(atoms, table.withheld, work=0)
    assert not assessed.any()
    assert (lo <= table.counts).all()
    assert (hi >= table.counts).all()


def test_cells_that_are_not_asked_for_cost_nothing():
    atoms, _ = atoms_of(COUNTS, WITHHELD, {"by": ["A"]}, {"by": ["B"]})
    assert ranges(atoms, np.zeros(4, dtype=bool), work=0).assessed.all()


def test_tables_near_the_true_one_have_each_count_of_the_range_and_no_other():
    """The range of p and x is 1 to 11 (as above), and 6 are there."""
    atoms, shown = atoms_of(COUNTS, WITHHELD, {"by": ["A", "C"]}, {"by": ["B", "C"]})
    assert int(shown.counts[0]) == 6
    sums, least, largest = bound_atoms(atoms)
    for by in range(-8, 9):
        table = FittingTables(atoms, sums, least, largest, 10**6)
        whole = table.near(0, by, np.random.default_rng(0))
        assert (whole is not None) == (1 <= 6 + by <= 11)
        if whole is not None:
            every = table.fixed.copy()
            every[table.free] = whole
            totals = sums.matrix @ every
            assert ((totals >= sums.lo) & (totals <= sums.hi) & (every.min() >= 0)).all()
            assert int((table.cell_sums @ every)[0]) == int(table.cells(whole)[0]) == 6 + by
        assert table.left < 10**6


def test_tables_share_a_budget_of_work():
    atoms, table = atoms_of(COUNTS, WITHHELD, {"by": ["A"]}, {"by": ["B"]})
    budget = WorkBudget(ranges=10_000)
    assert find_ranges(atoms, table.withheld, enough=1, budget=budget).assessed.all()
    assert 0 <= budget.ranges < 10_000
    assert not ranges(atoms, table.withheld, enough=1, work=0).assessed.any()
