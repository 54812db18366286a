"""Pieces and cells of tables: what is packed comes out again, and sums do not depend on the order of parts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.counts.counter import ReferenceCounter
from chaffinch.counts.marginal import SparseCounts
from chaffinch.spark.blocks import CodeColumns, RowBlocks
from chaffinch.spark.counting import (
    ROWS,
    CountCells,
    CountPieces,
    ReducePieces,
    SumPieces,
    cell_keys,
    marginal_of_cells,
    pack_counts,
    unpack_counts,
)

from ..conftest import make_coded
from .conftest import local_counter

counts = st.lists(
    st.sampled_from([0, 0, 0, 1, 7, 2**32 - 1, 2**32, 2**60]), min_size=1, max_size=50
)


@given(counts)
def test_cells_are_packed_without_loss(cells):
    array = np.array(cells, dtype=np.int64)
    places, part = unpack_counts(*(pa.scalar(raw, pa.binary()) for raw in pack_counts(array)))
    out = np.zeros(len(array), dtype=np.int64)
    out[places if len(places) else slice(None)] = part
    assert out.tolist() == cells


def test_mostly_empty_cells_are_packed_by_their_places():
    array = np.zeros(1 << 16, dtype=np.int64)
    array[65_535] = 3
    assert [len(raw) for raw in pack_counts(array)] == [2, 5]


def test_empty_pieces_do_not_travel_and_rows_do():
    table = make_coded([[0] * 5, [69_999] * 5], [3, 70_000])
    counter = local_counter(table, 1)
    task = CountPieces(RowBlocks(), CodeColumns.from_schema(table.schema), (("c0", "c1"),))
    rows = [row for batch in task(iter(counter.frame.parts[0])) for row in batch.to_pylist()]
    assert [(row["clique"], row["piece"], row["n"]) for row in rows] == [
        (ROWS, 0, 5),
        (0, 69_999 >> 16, 0),
    ]
    assert [row["n"] for batch in task(iter([])) for row in batch.to_pylist()] == [
        0
    ]  # an empty partition says so


def test_sums_and_spreads_by_hand():
    """Two partitions with counts (1, 3) and (0, 5): sums 1 and 8, c log c adds up to 8 log 8, two cells are filled."""
    table = make_coded([[0, 1, 1, 1, 1, 1, 1, 1, 1]], [2])
    columns = CodeColumns.from_schema(table.schema)
    parts = [make_coded([codes], [2]) for codes in ([0, 1, 1, 1], [1] * 5)]
    pieces = [
        batch
        for part in parts
        for batch in CountPieces(RowBlocks(), columns, (("c0",),))(
            iter(local_counter(part, 1).frame.parts[0])
        )
    ]
    for order in (pieces, pieces[::-1]):
        sums = dict(SumPieces((2,)).sums(iter(order)))
        assert sums[0, 0][2].tolist() == [1, 8]
        assert sums[ROWS, 0][0] == 9
        (spread,) = [
            row
            for batch in ReducePieces(SumPieces((2,)))(iter(order))
            for row in batch.to_pylist()
            if row["clique"] == 0
        ]
        assert spread["n"] == 2
        assert abs(spread["spread"] - 8 * np.log(8)) < 1e-12


@given(st.integers(0, 2**20), st.integers(1, 60))
def test_cells_of_any_width_have_keys_in_the_order_of_cells(seed, n_rows):
    rng = np.random.default_rng(seed)
    sizes = (1 << 20, 5, 1 << 30, 1 << 31, 3)  # beyond 63 bits: two keys
    columns = [rng.integers(0, size, n_rows).astype(np.uint32) for size in sizes]
    tally = SparseCounts(sizes)
    tally.add(columns)
    keys = [bytes(key) for key in cell_keys(tally).tolist()]
    assert keys == sorted(keys)
    want = tally.marginal(tuple("abcde"))
    order = rng.permutation(len(keys))
    assert marginal_of_cells(
        tuple("abcde"), sizes, [keys[i] for i in order], tally.counts[order]
    ).same(want)


def test_cells_of_a_partition_are_its_counts():
    rng = np.random.default_rng(2)
    table = make_coded([rng.integers(0, 50, 400), rng.integers(0, 60, 400)], [50, 60])
    task = CountCells(RowBlocks(), CodeColumns.from_schema(table.schema), (("c1", "c0"),))
    rows = [
        row
        for batch in task(iter(local_counter(table, 1).frame.parts[0]))
        for row in batch.to_pylist()
    ]
    assert [row["n"] for row in rows if row["clique"] == ROWS] == [400]
    cells = [row for row in rows if row["clique"] == 0]
    found = marginal_of_cells(
        ("c1", "c0"),
        (60, 50),
        [row["cell"] for row in cells],
        np.array([row["n"] for row in cells]),
    )
    assert found.same(ReferenceCounter(table).marginals([("c1", "c0")])[0])
