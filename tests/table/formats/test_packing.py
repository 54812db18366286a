"""Packed files are known by their first bytes, read as what is in them, and stopped where they are made to fill a memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chaffinch
from chaffinch.errors import FileError, InputError
from chaffinch.table.formats import packing
from chaffinch.table.formats.delimited import Uncommented
from chaffinch.table.formats.packing import check_ratio, packing_of, unpacked_head

from ..conftest import n_refused

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
    (tmp_path / "bomb.csv.bz2").write_bytes(bz2.compress(b"a,b\n" + b"1,2\n" * 1_000_000))
    with pytest.raises(FileError, match="unpacks to more than 1,000 times its size"):
        chaffinch.read(tmp_path / "bomb.csv.bz2")
    check_ratio("t", 1 << 20, 1)
    check_ratio("t", 1 << 30, 1 << 21)


def without(content: bytes, size: int) -> bytes:
    stream, out = Uncommented(io.BytesIO(content), "#"), b""
    while piece := stream.read(size):
        out += piece
    return out


def test_comments_go_and_quoted_lines_stay():
    text = b'a,b\n# no record\n1,"x\n# inside quotes\n"\n#\n2,y\n# end'
    for size in (1, 3, 7, 1000):
        assert without(text, size) == b'a,b\n1,"x\n# inside quotes\n"\n2,y\n'


@given(
    st.lists(st.sampled_from(["1,2", "#x", 'a,"b', 'c"', "", '# "q']), max_size=12),
    st.integers(1, 9),
)
def test_blocks_do_not_matter(lines, size):
    text = "\n".join(lines).encode()
    quoted, kept = False, []
    for line in text.splitlines(keepends=True):  # the plain way, all at once
        if quoted or not line.startswith(b"#"):
            kept.append(line)
            quoted ^= line.count(b'"') % 2 == 1
    assert without(text, size) == b"".join(kept)


def test_bytes_are_recoded(tmp_path):
    (tmp_path / "t.csv").write_bytes("a,b\n# no record\né,1\nü,2\n".encode("cp1252"))
    table = chaffinch.read(tmp_path / "t.csv", encoding="cp1252", comment="#")
    assert table["a"].to_pylist() == ["é", "ü"]


SEMICOLONS = "sex;süß\n" + "".join(f"{'fm'[i % 2]};{i % 3},5\n" for i in range(60))


def archived(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_the_only_file_is_read(tmp_path):
    path = archived(
        tmp_path / "t.zip",
        {
            "in/people.csv": SEMICOLONS.encode("cp1252"),
            "__MACOSX/._people.csv": b"x",
            "in/.DS_Store": b"x",
            "empty.csv": b"",
        },
    )
    table = chaffinch.read(path)
    assert (table.columns, table.n_rows) == (("sex", "süß"), 60)
    assert table.data["süß"].to_pylist()[:2] == [0.5, 1.5]
    assert (table.origin.layout.table, table.origin.layout.encoding) == ("in/people.csv", "cp1252")
    assert chaffinch.scan(path).n_rows == 60
    assert sorted(file.name for file in tmp_path.iterdir()) == ["t.zip"]  # nothing is unpacked


def test_one_of_several_is_named(tmp_path):
    path = archived(
        tmp_path / "t.zip", {"a.csv": "x,y\n1,2\n1,3\n", "../../b.tsv": "x\ty\n1\t2\n1\t3\n1\t4\n"}
    )
    with pytest.raises(InputError, match=r"several files: a.csv, ../../b.tsv"):
        chaffinch.read(path)
    assert chaffinch.read(path, table="../../b.tsv").n_rows == 3
    assert not (tmp_path.parent.parent / "b.tsv").exists()


def test_archives_that_are_refused(tmp_path, monkeypatch):
    with pytest.raises(FileError, match="no file with anything in it"):
        chaffinch.read(archived(tmp_path / "a.zip", {"x/": b""}))
    with pytest.raises(FileError, match=r"The file in .* is no text. Unpack it"):
        chaffinch.read(archived(tmp_path / "b.zip", {"t.parquet": b"PAR1xxxx"}))
    locked = bytearray(archived(tmp_path / "c.zip", {"t.csv": SEMICOLONS}).read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.index(mark) + at] |= 1
    (tmp_path / "c.zip").write_bytes(locked)
    with pytest.raises(FileError, match="locked by a password"):
        chaffinch.read(tmp_path / "c.zip")
    monkeypatch.setattr(packing, "FREE_BYTES", 1 << 20)
    with pytest.raises(FileError, match="unpacks to more than 1,000 times its size"):
        chaffinch.read(
            archived(
                tmp_path / "bomb.zip", {"t.csv": b"a,b\n" + b"1,2\n" * 1_000_000 + bytes(10**7)}
            )
        )


def test_fuzzed_archives(tmp_path):
    path = archived(tmp_path / "t.zip", {"people.csv": SEMICOLONS})
    assert n_refused(path, path.read_bytes(), 200, 3) > 20
