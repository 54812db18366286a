"""Writing: a file is whole or not there, and typed files keep schema and values."""

from __future__ import annotations

import datetime
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import chaffinch
from chaffinch._base.safe_files import replacing


def test_outputs_that_cannot_be_written(tmp_path):
    table = chaffinch.read(pa.table({"a": ["p", "q"] * 9, "b": ["x", "y"] * 9}))
    for path, says in (
        (tmp_path / "none" / "t.csv", "there is no folder"),
        (tmp_path, "Cannot tell the format"),
        (tmp_path / "t.xlsx", "End it in one of .csv"),
    ):
        with pytest.raises(chaffinch.errors.FileError, match=says):
            table.write(path)
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(chaffinch.errors.FileError, match="it is a folder"):
        table.write(tmp_path / "d.csv")


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")

    def half():
        with replacing(path) as part:
            part.write_text("half of the new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


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


def rich_frame(n: int = 240) -> dict[str, object]:
    rng = np.random.default_rng(11)
    start = np.datetime64("2001-03-04")
    return {
        "whole": rng.integers(0, 90, n),
        "small": rng.integers(0, 90, n).astype(np.int8),
        "big": rng.integers(0, 90, n).astype(np.uint64),
        "real": rng.normal(size=n),
        "money": np.round(rng.gamma(2, 100, n), 2),
        "single": rng.normal(size=n).astype(np.float32),
        "flag": rng.random(n) < 0.3,
        "word": rng.choice(["red", "green", "blue"], n),
        "code": rng.integers(1, 5, n),
        "day": start + rng.integers(0, 4000, n).astype("timedelta64[D]"),
    }


def holes(values, share=0.1, seed=4):
    rng = np.random.default_rng(seed)
    return [None if gone else value for value, gone in zip(values, rng.random(len(values)) < share, strict=True)]


def arrow_table(n: int = 240) -> pa.Table:
    frame = rich_frame(n)
    stamps = [datetime.datetime(2020, 1, 1) + datetime.timedelta(minutes=int(m)) for m in np.arange(n) * 37]
    return pa.table(
        {
            **{name: pa.array(values) for name, values in frame.items() if name != "day"},
            "day": pa.array(frame["day"]).cast(pa.date32()),
            "day64": pa.array(frame["day"]).cast(pa.date64()),
            "stamp": pa.array(stamps, type=pa.timestamp("us")),
            "zoned": pa.array(stamps, type=pa.timestamp("ms", tz="Europe/Vienna")),
            "clock": pa.array([s.time() for s in stamps], type=pa.time64("us")),
            "length": pa.array(np.arange(n) * 60 // 7, type=pa.duration("s")),
            "price": pa.array([round(float(x), 2) for x in frame["money"]]).cast(pa.decimal128(12, 2)),
            "half": pa.array(np.round(np.asarray(frame["real"]), 1).astype(np.float16)),
            "kind": pa.array(frame["word"]).dictionary_encode(),
            "ranked": pa.DictionaryArray.from_arrays(
                pa.array(np.arange(n) % 3, type=pa.int8()), pa.array(["low", "mid", "high"]), ordered=True
            ),
            "large": pa.array(frame["word"], type=pa.large_string()),
            "view": pa.array(frame["word"]).cast(pa.string_view()),
            "gaps": pa.array(holes(frame["whole"]), type=pa.int64()),
            "word_gaps": pa.array(holes(frame["word"])),
            "flag_gaps": pa.array(holes(frame["flag"].tolist())),
            "day_gaps": pa.array(holes(frame["day"].tolist()), type=pa.date32()),
        }
    )


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather"])
def test_typed_files_keep_schema_and_values(ending, tmp_path):
    table = chaffinch.read(arrow_table().drop_columns("day64"))  # Parquet itself turns date64 into date32
    path = tmp_path / f"t{ending}"
    table.write(path)
    back = chaffinch.read(path)
    assert back.to_arrow().equals(table.to_arrow())
