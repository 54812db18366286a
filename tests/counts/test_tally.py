"""Tallies refuse what does not fit."""

from __future__ import annotations

import numpy as np
import pytest

import chaffinch
from chaffinch.counts import MemoryCounter
from chaffinch.counts import tally as tally_module
from chaffinch.counts.sparse import SparseCounts
from chaffinch.counts.tally import count_cells, number_cells
from chaffinch.table.formats import parquet


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Batches of 7 rows, so that even small tables come in many."""
    monkeypatch.setattr(parquet, "BATCH_ROWS", 7)


def test_too_many_cells_in_all_are_refused_before_memory_is_taken(coded, monkeypatch):
    monkeypatch.setattr(tally_module, "MOST_DENSE_CELLS", 1000)
    table = coded([[0], [0], [0]], [30, 30, 30])
    counter = MemoryCounter(table)
    assert len(counter.marginals([("c0", "c1")])) == 1
    with pytest.raises(chaffinch.errors.TooLargeError, match="Ask for fewer at a time"):
        counter.marginals([("c0", "c1"), ("c1", "c2")])


def test_a_sparse_tally_refuses_to_grow_without_end():
    tally = SparseCounts([1 << 20, 1 << 20], most_cells=100)
    codes = np.arange(90, dtype=np.uint32)
    tally.add([codes, codes])
    with pytest.raises(chaffinch.errors.TooLargeError, match="more than 100 distinct"):
        tally.add([codes + 90, codes])


@pytest.mark.parametrize("sizes", [(), (3,), (2, 300), (4, 1, 5)])
def test_cells_of_plain_codes_are_those_of_a_loop(sizes):
    rng = np.random.default_rng(1)
    columns = [rng.integers(-1, size, 200) for size in sizes]
    expected = np.zeros(sizes, dtype=np.int64)
    for record in zip(*columns, strict=True) if sizes else [()] * 200:
        if min(record, default=0) >= 0:
            expected[record] += 1
    ours = count_cells(columns, sizes, n_rows=200)
    assert ours.dtype == np.int64
    np.testing.assert_array_equal(ours, expected)


def test_cells_of_no_records_are_empty_and_codes_outside_are_refused():
    assert count_cells([np.zeros(0, dtype=np.int32)], [3]).tolist() == [0, 0, 0]
    with pytest.raises(chaffinch.errors.InputError, match="outside its column"):
        count_cells([np.array([0, 3])], [3])


@pytest.mark.parametrize("sizes", [[], [3], [4, 1, 300]])
def test_few_records_are_counted_as_many_are(sizes, monkeypatch):
    rng = np.random.default_rng(3)
    columns = [rng.integers(-1, size, 500) for size in sizes]
    few = count_cells(columns, sizes, n_rows=500)
    monkeypatch.setattr(tally_module, "FEW_ROWS", 0)
    many = count_cells(columns, sizes, n_rows=500)
    assert few.dtype == many.dtype
    assert np.array_equal(few, many)


def test_cells_are_numbered_in_order_without_gaps():
    rng = np.random.default_rng(2)
    columns = [rng.integers(0, 1 << 40, 6)[rng.integers(0, 6, 100)] for _ in range(4)]
    rows = list(zip(*columns, strict=True))
    place = {row: k for k, row in enumerate(sorted(set(rows)))}
    assert number_cells(columns, 100).tolist() == [place[row] for row in rows]
    assert number_cells([], 3).tolist() == [0, 0, 0]


def test_counts_go_on_where_narrow_cells_are_full(coded, monkeypatch):
    """With room for 5 rows, batches of 4 and of 12 rows fill the narrow cells again and again."""
    monkeypatch.setattr(tally_module, "ROOM", 5)
    rng = np.random.default_rng(4)
    tables = [coded(rng.integers(0, 3, (2, n)), [3, 3]) for n in (4, 4, 12, 1)]
    tally = tally_module.CliqueTally(tables[0].schema, [("c0", "c1")])
    expected = np.zeros((3, 3), dtype=np.int64)
    for table in tables:
        tally.add(table.codes)
        np.add.at(expected, (table.codes[0], table.codes[1]), 1)
    (marginal,) = tally.marginals()
    assert marginal.counts.dtype == np.int64
    np.testing.assert_array_equal(marginal.counts, expected)
