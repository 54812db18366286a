"""The reference counter against a table counted by hand."""

from __future__ import annotations

import pyarrow as pa

import chaffinch
from chaffinch.counts.reference import ReferenceCounter


def test_a_table_counted_by_hand():
    rows = {
        "a": ["x", "x", "y", "x"] * 5,
        "b": ["p", "q", "q", "q"] * 5,
        "w": [1.0, 2.0, 0.5, 0.0] * 5,
    }
    table = chaffinch.read(pa.table(rows))
    counter = ReferenceCounter(table)
    both, alone = counter.marginals([("a", "b"), ("b",)])
    # x: one p and two q in each four rows, y: one q.
    assert both.dense().tolist() == [[5, 10], [0, 5]]
    assert alone.dense().tolist() == [5, 15]
    weighted = ReferenceCounter(table, weight="w").marginals([("a",)])[0]
    assert weighted.dense().tolist() == [15.0, 2.5]
