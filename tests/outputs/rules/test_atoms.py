"""Atoms: against going through every combination of levels, and what adding groups up may not change."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.document import output_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.rules import lookups
from chaffinch.outputs.rules.atoms import (
    connected_tallies,
    find_atoms,
    informative_tallies,
    merge_groups,
    used_columns,
)
from chaffinch.outputs.rules.cell_counts import CellCounts, tallies_of
from chaffinch.outputs.rules.lookups import look_up
from chaffinch.outputs.rules.small_groups import find_small_groups

FIELDS = OutputDomain(
    (
        OutputColumn("A", ("p", "q", "r")),
        OutputColumn("B", ("x", "y")),
        OutputColumn("C", (0, 1, 2, 3)),
    )
)
SIZES = FIELDS.sizes
ENTRIES: list[dict[str, Any]] = [
    {"by": ["A"]},
    {"by": ["A", "B"]},
    {"by": ["C"], "groups": {"C": [[0, 1], [2, 3]]}},
    {"by": ["B", "C"]},
    {"by": ["A"], "where": "C < 2"},
    {"by": ["B"], "where": "C < 3 or A == 'q'"},
    {"by": ["A", "C"], "threshold": 3},
    {"by": ["C"], "where": "A != 'p'"},
]
ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=40
)
CHOSEN = st.lists(st.sampled_from(range(len(ENTRIES))), min_size=1, max_size=4, unique=True)


def tallies(entries: Any, codes: Any, fields: OutputDomain = FIELDS) -> list[CellCounts]:
    every = [
        output_of({"name": f"o{k}", "kind": "table", **entry}) for k, entry in enumerate(entries)
    ]
    return [tally for output in every for tally in tallies_of(output, fields, codes)]


@settings(max_examples=60, deadline=None)
@given(ROWS, CHOSEN, st.booleans())
def test_atoms_are_the_combinations_that_some_tally_tells_apart(rows, chosen, written):
    codes = np.array(rows, dtype=np.int32)
    every = np.indices(SIZES).reshape(3, -1).T.astype(np.int32)
    mine = [
        tally
        for tally in tallies([ENTRIES[k] for k in chosen], codes)
        if tally.part_name == "cells"
    ]
    # The labels of a table with one record of each combination of levels are its definition.
    defined = np.stack(
        [
            tally.labels
            for tally in tallies([ENTRIES[k] for k in chosen], every)
            if tally.part_name == "cells"
        ],
        axis=1,
    )
    behind = np.stack([tally.labels for tally in mine], axis=1)
    atoms = find_atoms(mine, max_atoms=None if written else 1)
    assert atoms.complete == written
    people = {
        tuple(row): int((behind == row).all(axis=1).sum())
        for row in np.concatenate([defined, behind])
        if (row >= 0).any()
    }
    starts = np.cumsum([0, *(tally.size for tally in mine)])[:-1]
    cells = np.where(atoms.numbers >= 0, atoms.numbers - starts, -1)
    got = {tuple(row): int(n) for row, n in zip(cells, atoms.people, strict=True)}
    if written:
        assert got == people
    else:
        assert set(got) <= set(people)
        assert {row: n for row, n in got.items() if n} == {row: n for row, n in people.items() if n}


@settings(max_examples=60, deadline=None)
@given(ROWS, CHOSEN, st.integers(2, 5))
def test_groups_that_are_added_up_lose_no_find(rows, chosen, threshold):
    codes = np.array(rows, dtype=np.int32)
    mine = informative_tallies(tallies([ENTRIES[k] for k in chosen], codes))
    people = []
    for some in (mine, merge_groups(mine)):
        assert sum(int(tally.counts.sum()) for tally in some) == sum(
            int(tally.counts.sum()) for tally in mine
        )
        found = find_small_groups(find_atoms(some).shown(), threshold)
        people.append(bool(found.groups))
        assert found.finished
    assert people[0] == people[1]


def test_groups_that_one_table_alone_tells_apart_are_added_up():
    codes = np.indices(SIZES).reshape(3, -1).T.astype(np.int32)
    one, other = (
        tally
        for tally in merge_groups(
            informative_tallies(
                tallies([{"by": ["A", "C"]}, {"by": ["A"], "where": "C < 2"}], codes)
            )
        )
        if tally.part_name == "cells"
    )
    # C is told apart below 2 and from 2 on; A by both.
    assert (one.shape, other.shape) == ((3, 2), (3, 1))
    assert one.names[1] == ("0+1", "2+3")
    assert one.counts.tolist() == [4] * 6


def test_what_shares_no_column_is_looked_at_apart():
    codes = np.indices(SIZES).reshape(3, -1).T.astype(np.int32)
    every = informative_tallies(
        tallies([{"by": ["A"]}, {"by": ["B"]}, {"by": ["A"], "where": "C < 2"}], codes)
    )
    parts = connected_tallies(every)
    assert [[tally.output for tally in part if used_columns(tally)] for part in parts] == [
        ["o0", "o2"],
        ["o1"],
    ]
    # Everyone is known, once, and to both.
    assert [sum(not used_columns(tally) for tally in part) for part in parts] == [1, 1]


AB_FIELDS = OutputDomain((OutputColumn("A", ("p", "q")), OutputColumn("B", ("x", "y", "z"))))
CODES = np.indices((2, 3)).reshape(2, -1).T.astype(np.int32)


def test_records_are_in_the_cell_of_their_levels():
    (table, *_) = tallies_of(
        output_of({"name": "t", "kind": "table", "by": ["B"], "where": "A == 'p' or B == 'x'"}),
        AB_FIELDS,
        CODES,
    )
    lookup = look_up(table)
    assert lookup.columns == (0, 1)
    assert np.array_equal(lookup.cells[CODES @ lookup.strides], table.labels)
    # Of B's levels the share of A's that are in the cell: x with both, y and z with one of two.
    assert lookup.shares([1]).tolist() == [[1.0, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]]
    assert lookup.shares([]).tolist() == [[2 / 6], [1 / 6], [1 / 6]]


def test_what_is_too_wide_is_not_written_out(monkeypatch):
    monkeypatch.setattr(lookups, "MAX_COMBINATIONS", 5)
    (table, *_) = tallies_of(
        output_of({"name": "t", "kind": "table", "by": ["A", "B"]}), AB_FIELDS, CODES
    )
    assert look_up(table) is None
