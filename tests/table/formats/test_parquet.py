"""Parquet and Arrow files, and folders of them: the header first, batches of chosen columns, and a shape without reading."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch.errors import FileError, InputError
from chaffinch.table import table_writer
from chaffinch.table.formats import parquet
from chaffinch.table.sources import expected_shape, open_source, recognise

ROWS = {"a": ["x", "y", "z"] * 10, "n": list(range(30))}


def test_chosen_columns_come_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "BATCH_ROWS", 8)
    pq.write_table(pa.table(ROWS), tmp_path / "t.parquet")
    source = open_source(tmp_path / "t.parquet")
    assert source.schema.names == ["a", "n"]
    batches = list(source.batches(["n"]))
    assert [batch.num_rows for batch in batches] == [8, 8, 8, 6]
    assert batches[0].schema.names == ["n"]
    assert source.table().to_pydict() == ROWS
    assert expected_shape(tmp_path / "t.parquet") == (30, 2)


def test_dictionaries_of_a_private_reading_come_as_stored(tmp_path):
    coded = pa.table({"a": pa.array(ROWS["a"]).dictionary_encode(), "n": ROWS["n"]})
    pq.write_table(coded, tmp_path / "t.parquet")
    for tolerant in (False, True):
        source = open_source(tmp_path / "t.parquet", tolerant=tolerant)
        assert source.table().column("a").to_pylist() == ROWS["a"]


def test_batches_of_many_columns_have_fewer_rows(tmp_path, monkeypatch):
    """A hundred cells, but never fewer than three rows."""
    monkeypatch.setattr(parquet, "BATCH_CELLS", 100)
    monkeypatch.setattr(parquet, "LEAST_ROWS", 3)
    pq.write_table(pa.table({f"c{j}": list(range(30)) for j in range(50)}), tmp_path / "t.parquet")
    source = open_source(tmp_path / "t.parquet")
    for columns, rows in ((None, 3), (["c1", "c2"], 30), ([f"c{j}" for j in range(10)], 10)):
        batches = list(source.batches(columns))
        assert {batch.num_rows for batch in batches} == {rows}
        assert pa.Table.from_batches(batches).column("c1").to_pylist() == list(range(30))


@pytest.mark.parametrize("group_rows", [50_000, 2_000_000])
def test_bytes_that_were_read_are_let_go(tmp_path, monkeypatch, group_rows):
    """16 MB that nothing compresses, as 40 row groups or one: what Arrow holds while they are read is a small part of them."""
    monkeypatch.setattr(parquet, "BATCH_ROWS", 10_000)
    numbers = np.random.default_rng(0).random(2_000_000)
    pq.write_table(
        pa.table({"x": numbers}),
        tmp_path / "t.parquet",
        row_group_size=group_rows,
        use_dictionary=False,
        compression="none",
    )
    del numbers
    source = open_source(tmp_path / "t.parquet")
    before, held = pa.total_allocated_bytes(), 0
    for batch in source.batches(["x"]):
        held = max(held, pa.total_allocated_bytes() - before)
        del batch
    assert held < 8e6


@pytest.mark.parametrize(
    ("columns", "rows", "bytes_of", "groups"),
    [(2, 21, 1000, [10, 10, 10, 7]), (4, 21, 1000, [30, 7]), (4, 1000, 15, [20, 17])],
)
def test_small_tables_of_many_columns_are_gathered_into_row_groups(
    tmp_path, monkeypatch, columns, rows, bytes_of, groups
):
    """Few columns: a group a table. Many: a group is full with the table of ten rows that brings it to 21 rows, or to the bytes of 15 or more."""
    monkeypatch.setattr(parquet, "GATHERED_FROM", 3)
    monkeypatch.setattr(parquet, "GROUP_ROWS", rows)
    monkeypatch.setattr(parquet, "GROUP_BYTES", bytes_of * 8 * columns)
    values = [i % 5 for i in range(37)]
    table = chaffinch.read(pa.table({f"c{j}": values for j in range(columns)}))
    with table_writer(tmp_path / "t.parquet") as write:
        for start in range(0, 37, 10):
            write(table[start : start + 10])
    metadata = pq.read_metadata(tmp_path / "t.parquet")
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == groups
    assert pq.read_table(tmp_path / "t.parquet").column("c1").to_pylist() == values


IN_PARTS = {
    "sex": ["f", "m"] * 30,
    "ill": ["no", "no", "yes"] * 20,
    "age": [30 + i % 40 for i in range(60)],
}


@pytest.fixture
def parts(tmp_path):
    whole = pa.table(IN_PARTS)
    for i in range(3):
        pq.write_table(whole.slice(20 * i, 20), tmp_path / f"part-{i}.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".hidden").write_text("x")
    return tmp_path


def test_a_folder_and_a_pattern_are_one_table(parts):
    for source in (parts, str(parts / "part-*.parquet")):
        table = chaffinch.read(source)
        assert table.data.to_pydict() == IN_PARTS
        assert table.origin.layout.format == "folder"
        scanned = chaffinch.scan(source)
        assert scanned.n_rows == 60
        assert [batch.codes.n_rows for batch in scanned.batches(columns=["sex"])] == [20, 20, 20]


def test_values_in_the_names_of_folders(tmp_path):
    ds.write_dataset(
        pa.table(IN_PARTS),
        tmp_path / "d",
        format="parquet",
        partitioning=["sex"],
        partitioning_flavor="hive",
    )
    table = chaffinch.read(tmp_path / "d")
    assert sorted(table.columns) == ["age", "ill", "sex"]
    assert sorted(table.data["sex"].to_pylist()) == sorted(IN_PARTS["sex"])


def test_what_is_not_one_table(parts):
    pq.write_table(pa.table({"sex": ["f"], "ill": [1], "age": [1]}), parts / "part-9.parquet")
    with pytest.raises(
        InputError, match=r"'part-9.parquet' differs from 'part-0.parquet' in columns ill"
    ):
        chaffinch.read(parts)
    pq.write_table(pa.table({"sex": ["f"], "age": [1]}), parts / "part-9.parquet")
    with pytest.raises(InputError, match="in columns ill"):
        chaffinch.read(parts)
    (parts / "part-9.parquet").unlink()
    (parts / "notes.txt").write_text("x")
    with pytest.raises(FileError, match=r"files that are no Parquet, as 'notes.txt'"):
        chaffinch.read(parts)
    with pytest.raises(FileError, match="a pattern that no file fits"):
        chaffinch.read(str(parts / "*.orc"))
    (parts / "empty").mkdir()
    with pytest.raises(FileError, match="a folder without files"):
        chaffinch.read(parts / "empty")


def test_a_private_fit_reads_no_folder(parts):
    with pytest.raises(FileError, match="A private fit does not read"):
        chaffinch.prepare(str(parts), discover="all")


def write(path, table, *, stream):
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=8)


@pytest.mark.parametrize("stream", [False, True])
def test_files_and_streams_are_read_whatever_their_name(tmp_path, stream):
    write(tmp_path / "t.bin", pa.table(ROWS), stream=stream)
    assert recognise(tmp_path / "t.bin").name == "arrow"
    source = open_source(tmp_path / "t.bin")
    assert [batch.num_rows for batch in source.batches(["n"])] == [8, 8, 8, 6]
    assert source.table().to_pydict() == ROWS
    assert expected_shape(tmp_path / "t.bin") == (None if stream else (30, 2))


def test_bytes_that_are_no_text(tmp_path):
    bad = pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff", b"b"]).buffers())
    write(tmp_path / "t.arrow", pa.table({"a": bad, "n": [1, 2]}), stream=False)
    with pytest.raises(FileError, match="damaged"):
        open_source(tmp_path / "t.arrow").table()
    tolerant = open_source(tmp_path / "t.arrow", tolerant=True)
    assert tolerant.table().column("a").to_pylist() == [b"\xff", b"b"]
