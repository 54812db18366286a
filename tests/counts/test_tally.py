"""Tallies and their kernels: counts of NumPy and of loops, and what does not fit is refused."""

from __future__ import annotations

import numpy as np
import pytest

import chaffinch
from chaffinch.counts import MemoryCounter
from chaffinch.counts import tally as tally_module
from chaffinch.counts.tally import BLOCK, count, count_cells, weigh
from chaffinch.table.codes import Codes


def test_too_many_cells_in_all_are_refused_before_memory_is_taken(coded, monkeypatch):
    monkeypatch.setattr(tally_module, "MAX_DENSE_CELLS", 1000)
    table = coded([[0], [0], [0]], [30, 30, 30])
    counter = MemoryCounter(table)
    assert len(counter.marginals([("c0", "c1")])) == 1
    with pytest.raises(chaffinch.errors.TooLargeError, match="Ask for fewer at a time"):
        counter.marginals([("c0", "c1"), ("c1", "c2")])


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


@pytest.mark.parametrize("few_rows", [0, 1_000])
def test_a_row_may_stand_for_several_records(few_rows, monkeypatch):
    monkeypatch.setattr(tally_module, "FEW_ROWS", few_rows)
    rng = np.random.default_rng(4)
    columns, weights = [rng.integers(-1, size, 50) for size in (3, 7)], rng.integers(0, 40, 50)
    ours = count_cells(columns, [3, 7], weights=weights)
    plain = count_cells([np.repeat(column, weights) for column in columns], [3, 7])
    assert ours.dtype == np.int64
    np.testing.assert_array_equal(ours, plain)


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


@pytest.mark.parametrize("stretch", [BLOCK, 2 * BLOCK])
@pytest.mark.parametrize("n_rows", [0, 1, BLOCK, BLOCK + 3, 3 * BLOCK + 5])
def test_cliques_of_mixed_widths_are_counted_as_numpy_does(n_rows, stretch):
    rng = np.random.default_rng(n_rows)
    sizes = (3, 300, 70_000)
    columns = [rng.integers(0, size, n_rows).astype(np.uint32) for size in sizes]
    codes = Codes.from_columns(columns, sizes)
    cliques = [(0, 1), (2,), ()]
    flat = np.array([j for clique in cliques for j in clique])
    cells = [int(np.prod([sizes[j] for j in clique], dtype=np.int64)) for clique in cliques]
    offsets, ends = np.cumsum([0, *cells[:-1]]), np.cumsum([0, *map(len, cliques)])
    layout = (
        offsets,
        ends,
        codes.groups[flat],
        codes.rows[flat],
        np.array(sizes)[flat],
        *codes.matrices,
        n_rows,
    )
    weights = rng.random(n_rows)
    counts, summed = np.zeros(sum(cells), dtype=np.int64), np.zeros(sum(cells))
    count(counts, *layout, stretch)
    weigh(summed, *layout, weights)
    for clique, offset, size in zip(cliques, offsets, cells, strict=True):
        keys = np.zeros(n_rows, dtype=np.int64)
        for j in clique:
            keys = keys * sizes[j] + columns[j]
        np.testing.assert_array_equal(
            counts[offset : offset + size], np.bincount(keys, minlength=size)
        )
        np.testing.assert_array_equal(
            summed[offset : offset + size], np.bincount(keys, weights, minlength=size)
        )
