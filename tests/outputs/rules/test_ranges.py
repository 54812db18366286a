"""Ranges of cells in whole people: by hand, and with less work than they take. `test_suppression.py` holds them against every table that fits."""

from __future__ import annotations

from typing import Any

import numpy as np

from chaffinch.outputs.document import output_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.rules.atoms import atoms_of
from chaffinch.outputs.rules.cell_counts import tallies_of
from chaffinch.outputs.rules.ranges import RangeSystem, WorkBudget, _Table, range_system, ranges

FIELDS = OutputDomain(
    (OutputColumn("A", ("p", "q")), OutputColumn("B", ("x", "y")), OutputColumn("C", (0, 1, 2)))
)


def system_of(counts: Any, *entries: dict[str, Any]) -> tuple[RangeSystem, Any]:
    codes = np.repeat(
        np.indices((2, 2, 3)).reshape(3, -1).T, np.asarray(counts).ravel(), axis=0
    ).astype(np.int32)
    tallies = [
        tallies_of(output_of({"name": f"o{k}", "kind": "table", **entry}), FIELDS, codes)[0]
        for k, entry in enumerate(entries)
    ]
    return range_system(atoms_of(tallies, FIELDS.sizes)), tallies[0]


COUNTS = np.array([[[3, 2, 1], [4, 0, 2]], [[5, 1, 1], [2, 2, 2]]])
WITHHELD = {"by": ["A", "B"], "counts": [["?", "?"], ["?", "?"]]}


def test_sums_of_rows_and_columns_by_hand():
    """Rows 12 and 13, columns 13 and 12: p and x from 0 (then q and x 13) to 12."""
    system, table = system_of(COUNTS, WITHHELD, {"by": ["A"]}, {"by": ["B"]})
    lo, hi, assessed = ranges(system, table.counts, of=table.withheld)
    assert (lo.tolist(), hi.tolist(), assessed.all()) == ([0, 0, 1, 0], [12, 12, 13, 12], True)


def test_a_third_column_narrows_them():
    """Of A by C and B by C, for C = 0: 7 of p, 8 of x in 14, so p and x are at least 1 there, at most 7; for 1: 0 to 2; for 2: 0 to 2."""
    system, table = system_of(COUNTS, WITHHELD, {"by": ["A", "C"]}, {"by": ["B", "C"]})
    lo, hi, assessed = ranges(system, table.counts, of=table.withheld)
    assert (int(lo[0]), int(hi[0])) == (1, 7 + 2 + 2)
    assert assessed.all()
    # Wide enough is enough.
    assert ranges(system, table.counts, of=table.withheld, enough=1).assessed.all()


def test_without_work_what_propagation_leaves_is_not_assessed():
    system, table = system_of(COUNTS, WITHHELD, {"by": ["A"]}, {"by": ["B"]})
    lo, hi, assessed = ranges(system, table.counts, of=table.withheld, work=0)
    assert not assessed.any()
    assert (lo <= table.counts).all()
    assert (hi >= table.counts).all()


def test_cells_that_are_not_asked_for_cost_nothing():
    system, table = system_of(COUNTS, WITHHELD, {"by": ["A"]}, {"by": ["B"]})
    assert ranges(system, table.counts, of=np.zeros(4, dtype=bool), work=0).assessed.all()


def test_tables_near_the_true_one_have_each_count_of_the_range_and_no_other():
    """The range of p and x is 1 to 11 (as above), and 6 are there."""
    system, shown = system_of(COUNTS, WITHHELD, {"by": ["A", "C"]}, {"by": ["B", "C"]})
    assert int(shown.counts[0]) == 6
    for by in range(-8, 9):
        table = _Table(system, 4, 10**6)
        whole = table.near(0, by, np.random.default_rng(0))
        assert (whole is not None) == (1 <= 6 + by <= 11)
        if whole is not None:
            every = table.fixed.copy()
            every[table.free] = whole
            sums = system.matrix @ every
            assert ((sums >= system.lo) & (sums <= system.hi) & (every.min() >= 0)).all()
            assert int((table.sums @ every)[0]) == 6 + by
        assert table.left < 10**6


def test_tables_share_a_budget_of_work():
    system, table = system_of(COUNTS, WITHHELD, {"by": ["A"]}, {"by": ["B"]})
    budget = WorkBudget(10_000)
    assert ranges(system, table.counts, of=table.withheld, enough=1, budget=budget).assessed.all()
    assert 0 <= budget.left < 10_000
    assert not ranges(
        system, table.counts, of=table.withheld, enough=1, budget=WorkBudget(0)
    ).assessed.any()
