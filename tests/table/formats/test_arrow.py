"""Arrow files and streams: both read by their first bytes, in batches; bytes that are no text stop a reader unless it is tolerant."""

from __future__ import annotations

import pyarrow as pa
import pytest

from chaffinch._base.errors import FileError
from chaffinch.table.sources import expected_shape, open_source, recognise

ROWS = {"a": ["x", "y", "z"] * 10, "n": list(range(30))}


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
