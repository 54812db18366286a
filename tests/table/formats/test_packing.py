"""Packed files are known by their first bytes, read as what is in them, and stopped where they are made to fill a memory."""

from __future__ import annotations

import bz2
import gzip
import lzma

import pyarrow as pa
import pytest

import chaffinch
from chaffinch.errors import FileError
from chaffinch.table.formats import packing
from chaffinch.table.formats.packing import check_ratio, packing_of, unpacked_head

TEXT = "sex,ill\n" + "".join(f"{'fm'[i % 2]},{['no', 'yes'][i % 3 == 0]}\n" for i in range(60))


def zstd(content: bytes) -> bytes:
    return pa.compress(content, codec="zstd", asbytes=True)


PACK = {"gzip": gzip.compress, "zstandard": zstd, "bzip2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("name", PACK)
def test_a_packed_file_is_read_whatever_its_name(tmp_path, name):
    path = tmp_path / "t.csv"
    path.write_bytes(PACK[name](TEXT.encode()))
    known = packing_of(path)
    assert known is not None
    assert known.name == name
    assert unpacked_head(path, 7) == b"sex,ill"
    table = chaffinch.read(path)
    assert (table.columns, table.n_rows) == (("sex", "ill"), 60)
    assert next(iter(chaffinch.scan(path).batches())).codes.n_rows == 60
    for cut in (8, len(path.read_bytes()) // 2):
        (tmp_path / "cut.csv").write_bytes(path.read_bytes()[:cut])
        with pytest.raises(FileError, match="damaged, truncated"):
            chaffinch.read(tmp_path / "cut.csv")


@pytest.mark.parametrize("ending", [".csv.gz", ".csv.zst", ".csv.bz2"])
def test_a_file_is_written_packed_as_its_name_says(tmp_path, ending):
    (tmp_path / "t.csv").write_text(TEXT)
    chaffinch.read(tmp_path / "t.csv").write(tmp_path / f"out{ending}")
    assert packing_of(tmp_path / f"out{ending}") is not None
    assert unpacked_head(tmp_path / f"out{ending}", 10**6).decode() == TEXT


def test_other_formats_are_to_be_unpacked_first(tmp_path):
    chaffinch.read(pa.table({"a": ["x", "y"] * 20, "b": ["u", "v", "w", "w"] * 10})).write(
        tmp_path / "t.parquet"
    )
    (tmp_path / "t.parquet.gz").write_bytes(gzip.compress((tmp_path / "t.parquet").read_bytes()))
    with pytest.raises(FileError, match=r"is a parquet file packed by gzip\. Unpack it"):
        chaffinch.read(tmp_path / "t.parquet.gz")


def test_a_bomb_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "FREE_BYTES", 1 << 20)
    (tmp_path / "bomb.csv.bz2").write_bytes(bz2.compress(b"a,b\n" + b"1,2\n" * 3_000_000))
    with pytest.raises(FileError, match="unpacks to more than 1,000 times its size"):
        chaffinch.read(tmp_path / "bomb.csv.bz2")
    check_ratio("t", 1 << 20, 1)
    check_ratio("t", 1 << 30, 1 << 21)
