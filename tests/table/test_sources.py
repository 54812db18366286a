"""Bad input: every file and object is read, or refused in words that quote no cell; and which engine works on files."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch.errors import InputError
from chaffinch.table import sources, write_table
from chaffinch.table.sources import HELD, UNPACKED, choose_engine, expected_shape, free_bytes

from .conftest import fails, n_refused

GOOD = "a,b\n" + "".join(f"{i % 5},{'xy'[i % 2]}\n" for i in range(50))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.csv", b"", "is empty"),
        ("header.csv", b"a,b\n", "no rows"),
        ("one.csv", b"a,b\n1,2\n", "has one row"),
        ("column.csv", b"a\n1\n2\n3\n", "has one column"),
        ("semicolon.csv", b"a\n1;2\n", "has one column"),
        ("ragged.csv", GOOD.encode() + b"1,2,3\n", "a row of 3 cells where its header has 2"),
        ("short.csv", GOOD.encode() + b"1\n", "a row of 1 cells where its header has 2"),
        (
            "polish.csv",
            "a,b\nżółć,1\nżółć,2\n".encode("cp1250"),
            "is not utf-8, and its bytes do not say for certain what it is",
        ),
        ("mac.csv", "a,b\nété,1\nété,2\n".encode("mac-roman"), "--encoding cp1252"),
        ("cut.csv.gz", gzip.compress(GOOD.encode() * 50, mtime=0)[:-30], "damaged, truncated"),
        ("quote.csv", b'a,"' + b"b" * 140_000 + b"\n1,2\n", "damaged, truncated"),
        ("not.parquet", b"a,b\n1,2\n", "is named as parquet but does not start as such"),
        ("cut.parquet", b"PAR1" + b"\x00" * 50, "damaged, truncated"),
        ("cut.arrow", b"ARROW1\x00\x00" + b"\x01" * 50, "damaged, truncated"),
        ("cut.arrows", b"\xff\xff\xff\xff" + b"\x01" * 50, "damaged, truncated"),
        ("model.csv", b"\x80\x04\x95", "a pickle file, which is not read"),
        ("infinite.csv", b"a,b\n" + b"1.5,x\n" * 20 + b"inf,x\n", "holds infinite numbers"),
    ],
    ids=lambda part: part if isinstance(part, str) else "bytes",
)
def test_bad_files(tmp_path, name, content, says):
    path = tmp_path / name
    path.write_bytes(content)
    fails(path, says)
    if "one row" not in says:
        with pytest.raises(chaffinch.errors.ChaffinchError):
            chaffinch.scan(path)


def test_no_such_file_and_folders(tmp_path):
    fails(tmp_path / "none.csv", "No such file", chaffinch.errors.FileError)
    fails(tmp_path, "is a folder", chaffinch.errors.FileError)
    (tmp_path / "t.csv").write_text(GOOD)
    fails(tmp_path / "t.csv", "Unknown encoding 'klingon'", encoding="klingon")
    fails(tmp_path / "t.csv", "delimiter must be one character", delimiter=";;")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_without_permission(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(GOOD)
    path.chmod(0)
    fails(path, "Permission denied", chaffinch.errors.FileError)


def test_truncated_parquet_anywhere(tmp_path):
    whole = tmp_path / "w.parquet"
    write_table(chaffinch.read(pa.table({"a": np.arange(500) % 7, "b": ["x", "y"] * 250})), whole)
    content = whole.read_bytes()
    for cut in (5, 100, len(content) // 2, len(content) - 1):
        (tmp_path / "cut.parquet").write_bytes(content[:cut])
        fails(tmp_path / "cut.parquet", "damaged, truncated", chaffinch.errors.FileError)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".arrow"])
@pytest.mark.parametrize("n_copies", [150, pytest.param(1000, marks=pytest.mark.slow)])
def test_fuzzed_files_are_read_or_refused(tmp_path, ending, n_copies, data):
    """Damaged copies of a real file: each is read, or refused with our own error and nothing else."""
    table = chaffinch.read(data / "caesarian.csv")
    path = tmp_path / f"t{ending}"
    table.write(path)
    assert n_refused(path, path.read_bytes(), n_copies, n_copies) > 20


def test_reading_leaves_the_input_untouched(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(GOOD)
    before = path.stat().st_mtime_ns
    frame = pd.read_csv(path)
    copy = frame.copy()
    chaffinch.read(path)
    chaffinch.read(frame)
    assert path.stat().st_mtime_ns == before
    assert path.read_text() == GOOD
    pd.testing.assert_frame_equal(frame, copy)
    assert list(Path(tmp_path).iterdir()) == [path]


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    pq.write_table(
        pa.table({"a": list(range(1000)), "b": ["x", "y"] * 500}), tmp_path / "people.parquet"
    )
    return tmp_path / "people.parquet"


def test_sizes_come_from_metadata_or_from_the_first_lines(parquet, tmp_path):
    (tmp_path / "people.csv").write_text("a,b\n" + "123456,xyz\n" * 1000, encoding="utf-8")
    (tmp_path / "people.csv.gz").write_bytes(b"\x1f\x8b" + b"?" * 98)
    for name, n_rows, needed in (
        ("people.parquet", 1000, HELD * 2000),
        ("people.csv", 1000, HELD * 2000),
        ("people.csv.gz", 0, UNPACKED * 100),
        ("none.csv", 0, 0),
    ):
        choice = choose_engine("auto", [tmp_path / name])
        assert (choice.n_rows, choice.needed) == (n_rows, needed)


@pytest.mark.parametrize(
    ("room", "chosen"), [(2 * HELD * 2000, "memory"), (2 * HELD * 2000 - 2, "stream")]
)
def test_auto_holds_what_fits_in_half_of_what_is_free(parquet, room, chosen):
    choice = choose_engine("auto", [parquet], free=room)
    assert (choice.engine, choice.needed, choice.free) == (chosen, HELD * 2000, room)
    assert bool(choice.sentence) == (chosen == "stream")


def test_all_tables_count(parquet):
    assert choose_engine("auto", [parquet, parquet], free=2 * HELD * 2000).stream


@pytest.mark.parametrize(
    ("many", "free", "in_memory", "engine", "says"),
    [
        (1001, 1 << 40, "records have weights", "memory", ""),
        (
            1001,
            300 << 20,
            "",
            "stream",
            "Rows are read batch by batch (--engine stream): in memory they would take about 2.0 GiB, and 300 MiB are free.",
        ),
        (
            1000,
            1 << 40,
            "",
            "stream",
            "Rows are read batch by batch (--engine stream): there are about 1,000, and in memory they would take about 2.0 GiB.",
        ),
        (
            1000,
            1 << 40,
            "records have weights",
            "memory",
            "All rows are read into memory (--engine memory), about 2.0 GiB: records have weights.",
        ),
    ],
)
def test_auto_says_what_it_chose_and_why(parquet, monkeypatch, many, free, in_memory, engine, says):
    monkeypatch.setattr(sources, "HELD", 1 << 20)
    monkeypatch.setattr(sources, "MANY_ROWS", many)
    choice = choose_engine("auto", [parquet], in_memory=in_memory, free=free)
    assert (choice.engine, choice.sentence) == (engine, says)


def test_what_is_asked_for_is_taken_in_silence(parquet):
    for word in ("memory", "stream"):
        choice = choose_engine(word, [parquet], free=1)
        assert (choice.engine, choice.sentence) == (word, "")


def test_an_unknown_engine_is_refused():
    with pytest.raises(InputError, match=r"Unknown engine 'disk'.*auto, memory, stream"):
        choose_engine("disk", [])


def test_a_container_may_have_less_than_its_machine(tmp_path, monkeypatch):
    whole = free_bytes()
    assert whole is None or whole > 1 << 20
    limit, used = tmp_path / "max", tmp_path / "current"
    monkeypatch.setattr(sources, "_LIMITS", ((limit, used),))
    limit.write_text("max\n")
    used.write_text("5\n")
    assert free_bytes() != 5
    limit.write_text("1005\n")
    assert free_bytes() == 1000


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "csv.gz"])
def test_a_file_tells_its_size_before_it_is_read(data, tmp_path, ending):
    frame = chaffinch.read(data / "cmc.csv").to_arrow()
    path = tmp_path / f"t.{ending}"
    text = (data / "cmc.csv").read_bytes() * 40  # some megabytes: more than is looked at
    if ending == "parquet":
        pq.write_table(frame, path)
    elif ending == "arrow":
        feather.write_feather(frame, path, compression="uncompressed")
    elif ending == "csv.gz":
        path.write_bytes(gzip.compress(text))
    else:
        path.write_bytes(text.replace(b",", b"\t") if ending == "tsv" else text)
    shape = expected_shape(path)
    if ending == "csv.gz":
        assert shape is None
    elif ending in ("parquet", "arrow"):
        assert shape == (1473, 10)
    else:
        assert shape == (pytest.approx(40 * 1474, rel=0.01), 10)


@pytest.mark.parametrize(
    "content", [b"", b"PAR1 is not all of it", b"one line without an end", b"\xff\xfe\x00"]
)
def test_what_cannot_be_told_is_left_to_reading(tmp_path, content):
    (tmp_path / "t.csv").write_bytes(content)
    assert expected_shape(tmp_path / "t.csv") is None
    assert expected_shape(tmp_path / "none.csv") is None
