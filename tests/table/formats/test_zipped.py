"""Text files in archives: the only one, or the one that is named, and nothing that harms."""

from __future__ import annotations

import contextlib
import random
import zipfile

import pytest

import chaffinch
from chaffinch.errors import ChaffinchError, FileError, InputError
from chaffinch.table.formats import packing

TEXT = "sex;süß\n" + "".join(f"{'fm'[i % 2]};{i % 3},5\n" for i in range(60))


def archived(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_the_only_file_is_read(tmp_path):
    path = archived(
        tmp_path / "t.zip",
        {
            "in/people.csv": TEXT.encode("cp1252"),
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
    locked = bytearray(archived(tmp_path / "c.zip", {"t.csv": TEXT}).read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.index(mark) + at] |= 1
    (tmp_path / "c.zip").write_bytes(locked)
    with pytest.raises(FileError, match="locked by a password"):
        chaffinch.read(tmp_path / "c.zip")
    monkeypatch.setattr(packing, "FREE_BYTES", 1 << 20)
    with pytest.raises(FileError, match="unpacks to more than 1,000 times its size"):
        chaffinch.read(
            archived(
                tmp_path / "bomb.zip", {"t.csv": b"a,b\n" + b"1,2\n" * 3_000_000 + bytes(10**7)}
            )
        )


def test_fuzzed_archives(tmp_path):
    content, rng = archived(tmp_path / "t.zip", {"people.csv": TEXT}).read_bytes(), random.Random(3)
    for _ in range(200):
        data = bytearray(content)
        for _ in range(rng.randint(1, 5)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        (tmp_path / "bad.zip").write_bytes(data)
        with contextlib.suppress(ChaffinchError):
            chaffinch.read(tmp_path / "bad.zip")
