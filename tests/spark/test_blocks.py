"""Blocks of codes hold what was encoded, and hashes tell whether rows are the same."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.errors import FileError
from chaffinch.spark.blocks import (
    CHECK,
    FileBlocks,
    WriteBlocks,
    codes_of,
    in_utc,
    regroup_batches,
    sum_hashes,
)

from ..counts.test_counter import odd_tables
from .conftest import LocalRawFrame, encoder


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20), st.randoms())
def test_the_sum_of_hashes_is_that_of_whole_numbers_in_64_bits_in_any_order(hashes, random):
    want = (sum(hashes) + 2**63) % 2**64 - 2**63
    random.shuffle(hashes)
    assert sum_hashes(np.array(hashes, dtype=np.int64)) == want


@pytest.mark.parametrize("case", ["one row", "three code widths", "many rows"])
def test_blocks_hold_the_codes_of_their_rows(case, coded, monkeypatch):
    monkeypatch.setattr("chaffinch.spark.rows.BLOCK_ROWS", 700)
    table = odd_tables(coded)[case]
    (rows,) = LocalRawFrame(table.data, 1).select(table.schema.names).parts
    found = list(codes_of(encoder(table)(iter(rows)), table.schema.sizes))
    for j in range(len(table.codes)):
        assert np.concatenate([codes[j] for codes, _ in found]).tolist() == table.codes[j].tolist()
    hashes = np.concatenate([batch.column(CHECK).to_numpy() for batch in rows])
    assert sum_hashes(np.array([check for _, check in found])) == sum_hashes(hashes)
    assert max(codes.n_rows for codes, _ in found) <= 700


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(1, 7))
def test_regrouped_batches_have_the_same_rows(lengths, most):
    numbers = iter(range(100))
    batches = [
        pa.record_batch({"x": pa.array([next(numbers) for _ in range(n)], pa.int64())})
        for n in lengths
    ]
    out = list(regroup_batches(iter(batches), most))
    assert [x for batch in out for x in batch.column(0).to_pylist()] == list(range(sum(lengths)))
    assert all(batch.num_rows == most for batch in out[:-1])
    assert all(0 < batch.num_rows <= most for batch in out)


def test_moments_are_read_in_utc_and_stay_the_same_moments():
    moments = pa.array([0, 1_700_000_000_000_000, None], pa.timestamp("us", "America/New_York"))
    batch = in_utc(pa.record_batch({"a": moments, "b": pa.array([1, 2, 3])}))
    assert batch.schema.field("a").type == pa.timestamp("us", "UTC")
    assert batch.column("a").cast(pa.int64()).to_pylist() == [0, 1_700_000_000_000_000, None]


def test_workers_write_files_of_their_own_that_their_owner_alone_may_read(coded, tmp_path):
    table = odd_tables(coded)["many rows"]
    task = WriteBlocks(encoder(table), str(tmp_path))
    said = [
        row
        for part in LocalRawFrame(table.data, 3).select(table.schema.names).parts
        for batch in task(iter(part))
        for row in batch.to_pylist()
    ]
    rows = LocalRawFrame(table.data, 1).select(table.schema.names).parts[0]
    again = next(task(iter(rows))).to_pylist()  # a task that is tried twice
    assert {row["path"] for row in said}.isdisjoint(row["path"] for row in again)
    assert sum(row["n"] for row in said) == table.n_rows
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in tmp_path.iterdir())
    units = FileBlocks(tuple((row["path"], 0, row["blocks"]) for row in said))
    blocks = units.read(iter([pa.record_batch({"id": pa.array(range(len(said)))})]))
    assert sum(codes.n_rows for codes, _ in codes_of(blocks, table.schema.sizes)) == table.n_rows


def test_an_empty_partition_writes_no_file(coded, tmp_path):
    table = odd_tables(coded)["one row"]
    assert list(WriteBlocks(encoder(table), str(tmp_path))(iter([]))) == []
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_a_worker_does_not_see_is_said(coded, tmp_path):
    table = odd_tables(coded)["one row"]
    (rows,) = LocalRawFrame(table.data, 1).select(table.schema.names).parts
    with pytest.raises(
        FileError, match="A worker cannot write the code cache: No such file or directory"
    ):
        list(WriteBlocks(encoder(table), str(tmp_path / "absent"))(iter(rows)))
    (tmp_path / "cut.arrow").write_bytes(b"ARROW1")
    for name in ("absent.arrow", "cut.arrow"):
        with pytest.raises(FileError, match="A worker cannot read the code cache"):
            list(
                FileBlocks(((str(tmp_path / name), 0, 1),)).read(
                    iter([pa.record_batch({"id": [0]})])
                )
            )
