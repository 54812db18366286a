"""A table larger than memory: what measures ask for, part by part. Files on one grid are in `test_long_align.py`."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.counts.counter import MemoryCounter, StreamCounter
from chaffinch.table.align import align_files, files_on_one_grid
from chaffinch.table.codec import Categories
from chaffinch.table.long import LongTable, codes_of, joined, rows_of
from chaffinch.table.schema import Column
from chaffinch.table.sources import open_source

DATA = pa.table({"a": ["x", "y", "z"] * 40, "b": [1, 2] * 60})


@pytest.fixture
def table() -> LongTable:
    source = replace(
        open_source(DATA),
        read=lambda columns: iter(
            (DATA if columns is None else DATA.select(list(columns))).to_batches(50)
        ),
    )
    return align_files(replace(chaffinch.scan(DATA), source=source))[0]


def test_a_table_in_memory_is_its_own_part(table):
    whole = chaffinch.read(DATA)
    assert list(rows_of(whole)) == [whole]
    assert list(codes_of(whole)) == [whole.codes]
    assert [part.n_rows for part in rows_of(table)] == [50, 50, 20]
    assert [codes.n_rows for codes in codes_of(table)] == [50, 50, 20]
    assert joined(list(rows_of(table, ["b"]))).data.column_names == ["b"]


def test_it_is_counted_as_in_memory(table):
    cliques = [("a", "b"), ("b",)]
    for ours, theirs in zip(
        StreamCounter(table).marginals(cliques),
        MemoryCounter(chaffinch.read(DATA)).marginals(cliques),
        strict=True,
    ):
        np.testing.assert_array_equal(ours.counts, theirs.counts)


@pytest.mark.parametrize("cached", [False, True])
def test_columns_are_added_and_changed(table, tmp_path, cached):
    table = replace(table, folder=tmp_path).cached() if cached else table
    group = np.arange(120, dtype=np.uint8) % 5
    wide = table.with_codes(
        Column("g", "categorical", codec=Categories(tuple(range(5)))),
        lambda start, stop: group[start:stop],
    )
    assert wide.schema.names == ("g", "a", "b")
    assert np.concatenate([codes[0] for codes in codes_of(wide)]).tolist() == group.tolist()
    other = table.recoded(table.schema, lambda part: [part.code("a"), 1 - part.code("b")])
    assert np.concatenate([codes[1] for codes in codes_of(other)]).tolist() == [1, 0] * 60


def test_what_is_asked_for_twice_is_worked_out_once(table):
    asked = []
    for _ in range(2):
        assert table.once("x", lambda: asked.append(1) or "done") == "done"
    assert asked == [1]


def test_codes_are_for_their_owner_and_go_with_the_block():
    with files_on_one_grid(chaffinch.scan(DATA), DATA) as (first, second):
        folder = first.folder
        assert folder is not None
        assert os.stat(folder).st_mode & 0o077 == 0
        assert sorted(path.name for path in folder.iterdir()) == ["codes-1", "codes-2", "held"]
        assert second.n_rows == 120
    assert not folder.exists()
