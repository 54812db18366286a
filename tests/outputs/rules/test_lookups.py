"""Cells by levels, against the labels of records, and shares against counting."""

from __future__ import annotations

import numpy as np

from chaffinch.outputs.document import output_of
from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.rules import atoms
from chaffinch.outputs.rules.atoms import counting, lookup_of
from chaffinch.outputs.rules.tallies import tallies_of

FIELDS = Fields((Field("A", ("p", "q")), Field("B", ("x", "y", "z"))))
CODES = np.indices((2, 3)).reshape(2, -1).T.astype(np.int32)


def test_records_are_in_the_cell_of_their_levels():
    (table, *_) = tallies_of(
        output_of({"name": "t", "kind": "table", "by": ["B"], "where": "A == 'p' or B == 'x'"}),
        FIELDS,
        CODES,
    )
    lookup = lookup_of(table)
    assert lookup.columns == (0, 1)
    assert np.array_equal(lookup.cells[CODES @ lookup.strides], table.labels)
    # Of B's levels the share of A's that are in the cell: x with both, y and z with one of two.
    assert lookup.shares([1]).tolist() == [[1.0, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]]
    assert lookup.shares([]).tolist() == [[2 / 6], [1 / 6], [1 / 6]]


def test_what_is_too_wide_is_not_written_out(monkeypatch):
    monkeypatch.setattr(atoms, "MOST_COMBINATIONS", 5)
    (table, *_) = tallies_of(
        output_of({"name": "t", "kind": "table", "by": ["A", "B"]}), FIELDS, CODES
    )
    assert lookup_of(table) is None


def test_the_same_said_twice_counts_once():
    tallies = [
        tallies_of(output_of({"name": name, "kind": "table", "by": ["A"]}), FIELDS, CODES)[0]
        for name in ("s", "t")
    ]
    assert counting(tallies) == tallies[:1]
