"""Other records that fit: each is counted again, and against counting every table that fits."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.document import output_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.rules import feasible_tables
from chaffinch.outputs.rules.cell_counts import CellCounts, tallies_of
from chaffinch.outputs.rules.feasible_tables import FeasibleTables, Guide, WalkTables, walk
from chaffinch.outputs.rules.system import CellSystem

FIELDS = OutputDomain((OutputColumn("A", ("p", "q", "r")), OutputColumn("B", ("x", "y", "z"))))


def table_with(counts: Any, hidden: set[int]) -> tuple[CellCounts, Any]:
    codes = np.repeat(np.indices((3, 3)).reshape(2, -1).T, np.ravel(counts), axis=0).astype(
        np.int32
    )
    shown = [
        ["0-5" if 3 * i + j in hidden else int(counts[i][j]) for j in range(3)] for i in range(3)
    ]
    return tallies_of(
        output_of({"name": "t", "kind": "table", "by": ["A", "B"], "counts": shown}), FIELDS, codes
    )[0], codes


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 5), min_size=9, max_size=9).filter(any),
    st.sets(st.integers(0, 8), min_size=1, max_size=5),
    st.integers(1, 2),
)
def test_safe_is_what_a_table_that_fits_shows(cells, hidden, far):
    counts = np.array(cells).reshape(3, 3)
    table, codes = table_with(counts, hidden)
    totals = [
        tallies_of(output_of({"name": by, "kind": "table", "by": [by]}), FIELDS, codes)[0]
        for by in "AB"
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feasible_tables, "PROPOSALS", 100_000)  # plenty for nine cells
        found = CellSystem([table, *totals], codes).feasible.safe_cells(table, table.withheld, far)
    places, fitting = sorted(hidden), []
    for filled in product(range(6), repeat=len(places)):
        trial = counts.copy().ravel()
        trial[places] = filled
        trial = trial.reshape(3, 3)
        if (trial.sum(axis=0) == counts.sum(axis=0)).all() and (
            trial.sum(axis=1) == counts.sum(axis=1)
        ).all():
            fitting.append(trial.ravel())
    every = np.array(fitting)
    away = np.abs(every - table.counts).max(axis=0)
    safe = (away >= far) | (np.ptp(every, axis=0) >= far)
    assert not (found & ~safe).any()
    if (
        len(codes) > 3
    ):  # so few cells are walked over in no time; with hardly anybody there is nobody to exchange
        assert np.array_equal(
            found[table.withheld & (away >= far)],
            np.ones((table.withheld & (away >= far)).sum(), dtype=bool),
        )


def test_tables_that_were_found_fit_all_outputs_of_four_columns():
    """All pairs of four columns, a rectangle withheld in one: programmes in whole numbers have 81 unknowns here, walks have none."""
    rng = np.random.default_rng(3)
    fields = OutputDomain(tuple(OutputColumn(name, ("0", "1", "2")) for name in "ABCD"))
    codes = rng.integers(0, 3, (300, 4)).astype(np.int32)
    some = []
    for pair in combinations("ABCD", 2):
        one = tallies_of(
            output_of({"name": "".join(pair), "kind": "table", "by": list(pair)}), fields, codes
        )[0]
        if pair == ("A", "B"):
            shown = one.counts.reshape(3, 3).astype(object)
            shown[:2, :2] = "0-99"
            one = tallies_of(
                output_of(
                    {"name": "AB", "kind": "table", "by": ["A", "B"], "counts": shown.tolist()}
                ),
                fields,
                codes,
            )[0]
        some.append(one)
    known = CellSystem(some, codes).feasible
    assert np.array_equal(known.safe_cells(some[0], some[0].withheld, 1), some[0].withheld)
    lo, hi = (np.concatenate([getattr(one, name) for one in some]) for name in ("lo", "hi"))
    for seen in (known.smallest, known.largest):
        assert ((seen >= lo) & (seen <= hi)).all()


def test_without_proposals_nothing_is_said(monkeypatch):
    monkeypatch.setattr(feasible_tables, "MAX_PROPOSALS", 0)
    table, codes = table_with([[3, 4, 5], [4, 4, 5], [3, 5, 2]], {0, 1, 3, 4})
    total = tallies_of(output_of({"name": "A", "kind": "table", "by": ["A"]}), FIELDS, codes)[0]
    assert not CellSystem([table, total], codes).feasible.safe_cells(table, table.withheld, 1).any()


def test_cells_of_the_only_table_change_alone(monkeypatch):
    """By hand: "0-5" leaves 3 people up to two more and 5 people none more but three fewer, whoever the others are."""
    monkeypatch.setattr(feasible_tables, "MAX_PROPOSALS", 0)
    table, codes = table_with([[3, 4, 5], [4, 4, 5], [3, 5, 2]], {0, 1, 2})
    known = CellSystem([table], codes).feasible
    assert known.safe_cells(table, table.withheld, 2).tolist() == table.withheld.tolist()
    assert known.largest[:3].tolist() == [5, 5, 5]
    assert known.smallest[:3].tolist() == [1, 2, 3]


def test_nothing_is_looked_for_beyond_known_ends(monkeypatch):
    """A rectangle within exact margins: each corner's least and largest count is aimed at, and none that cannot be."""
    table, codes = table_with([[3, 1, 5], [4, 4, 5], [3, 5, 2]], {0, 1, 3, 4})
    totals = [
        tallies_of(output_of({"name": by, "kind": "table", "by": [by]}), FIELDS, codes)[0]
        for by in "AB"
    ]
    aims = []
    monkeypatch.setattr(
        FeasibleTables, "_aim_at", lambda _, cell, wanted, near: aims.append((cell, wanted))
    )
    system = CellSystem([table, *totals], codes)
    assert not system.lookups.narrow_cells(table, totals, table.withheld, 2).any()
    ends = system.lookups.ends(table, totals)
    assert [end[[0, 1, 3, 4]].tolist() for end in ends] == [[2, 0, 3, 3], [4, 2, 5, 5]]
    CellSystem([table, *totals], codes).feasible.safe_cells(table, table.withheld, 2, Guide(*ends))
    assert aims == [(0, 4), (0, 2), (1, 2), (1, 0), (3, 5), (3, 3), (4, 5), (4, 3)]


def test_counts_and_combinations_are_those_of_the_levels():
    """Two columns of three levels and two tallies: by the first, where the last level is in no cell, and by both."""
    rng = np.random.default_rng(1)
    levels = rng.integers(0, 3, (2, 40))
    cells = np.concatenate([[0, 1, -1], 2 + np.arange(9)])
    tables = WalkTables(
        cells, np.array([0, 3]), np.array([0, 2, 3]), np.array([0, 1, 1]), np.array([1, 3, 1])
    )

    def counted(levels):
        at = np.stack([levels[0], 3 * levels[0] + levels[1]])
        inside = np.concatenate([cells[at[0]], cells[3 + at[1]]])
        return at, np.bincount(inside[inside >= 0], minlength=11)

    at, counts = counted(levels)
    lo, hi = counts.copy(), counts.copy()
    lo[2:], hi[2:] = 0, 40
    lo[2] = counts[2] + 2
    steps = walk(
        tables,
        levels,
        at,
        counts,
        np.stack([lo, hi]),
        np.ones(11, dtype=np.int64),
        np.array([0.5, 0.1]),
        100_000,
        1,
    )
    assert 0 < steps < 100_000
    again = counted(levels)
    assert np.array_equal(again[0], at)
    assert np.array_equal(again[1], counts)
    assert ((counts >= lo) & (counts <= hi)).all()


def test_what_cannot_be_reached_says_so():
    levels = np.array([[0, 1, 0, 1]])
    tables = WalkTables(
        np.array([0, 1]), np.array([0]), np.array([0, 1]), np.array([0]), np.array([1])
    )
    ends = np.array([[3, 2], [3, 2]])
    assert (
        walk(
            tables,
            levels,
            levels.copy(),
            np.array([2, 2]),
            ends,
            np.ones(2, dtype=np.int64),
            np.array([0.5, 0.1]),
            1_000,
            1,
        )
        == -1
    )
