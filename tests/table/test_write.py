"""Writing: a file is whole or not there, and typed files keep schema and values."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet
import pytest

import chaffinch
from chaffinch.errors import FileError
from chaffinch.table.write import ending_like, file_format

from .conftest import arrow_table


def test_outputs_that_cannot_be_written(tmp_path):
    table = chaffinch.read(pa.table({"a": ["p", "q"] * 9, "b": ["x", "y"] * 9}))
    for path, says in (
        (tmp_path / "none" / "t.csv", "there is no folder"),
        (tmp_path, "Cannot tell the format"),
        (tmp_path / "t.doc", "End it in one of .csv"),
    ):
        with pytest.raises(chaffinch.errors.FileError, match=says):
            table.write(path)
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(chaffinch.errors.FileError, match="it is a folder"):
        table.write(tmp_path / "d.csv")


KILLED = """
import sys, time
import pyarrow as pa, chaffinch
from chaffinch.table import table_writer
table = chaffinch.read(pa.table({"a": ["p", "q"] * 5000, "b": ["x", "y"] * 5000}))
with table_writer(sys.argv[1]) as write:
    write(table)
    print("writing", flush=True)
    while True:
        write(table)
        time.sleep(0.01)
"""


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_leaves_the_old_file(tmp_path, how, ending):
    path = tmp_path / f"t{ending}"
    path.write_text("old")
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout.readline() == b"writing\n"
    time.sleep(0.2)
    process.send_signal(how)
    process.wait(20)
    assert path.read_text() == "old"
    if how is signal.SIGINT:
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather"])
def test_typed_files_keep_schema_and_values(ending, tmp_path):
    table = chaffinch.read(arrow_table().drop_columns("day64"))  # Parquet itself turns date64 into date32
    path = tmp_path / f"t{ending}"
    table.write(path)
    back = chaffinch.read(path)
    assert back.to_arrow().equals(table.to_arrow())


def test_a_file_is_written_like_another(tmp_path):
    (tmp_path / "people").write_text("a,b\n1,2\n")
    assert ending_like(tmp_path / "people") == ".csv"
    assert ending_like(tmp_path / "people.TSV.GZ") == ".tsv.gz"
    with pytest.raises(FileError, match=r"Cannot tell the format of 'x.y'. End it in one of .csv"):
        file_format("x.y")
