"""No record stops a reader for private fits, and none is lost: beside the plain reader, and beside each other."""

from __future__ import annotations

import pyarrow as pa
import pytest

from chaffinch.table.sources import open_source

TEXT = "a,b\n" + "".join(f"{i},w{i % 3}\n" for i in range(40))


def rows(path, **options):
    return open_source(path, tolerant=True, **options).table()


def test_sound_files_come_as_the_plain_reader_gives_them(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TEXT)
    assert rows(path).equals(open_source(path).table())


@pytest.mark.parametrize("bad", [b"1,2,3\n", b"1\n", b"\xff,\xfe\n", b'"x,y\n'], ids=["long", "short", "bytes", "quote"])
def test_a_bad_row_is_one_row_more(tmp_path, bad):
    path = tmp_path / "t.csv"
    path.write_bytes(TEXT.encode() + bad)
    table = rows(path)
    assert table.num_rows == 41
    assert table.schema.names == ["a", "b"]


def test_bytes_that_are_no_text_stay_apart(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n\xff,x\n\xfe,x\n")
    words = rows(path).column("a").cast(pa.binary()).to_pylist()
    assert words == [b"\xff", b"\xfe"]


def test_names_and_comments_by_option(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("% x\n1,u\n% y\n2,v\n")
    table = rows(path, header="no", comment="%")
    assert table.to_pydict() == {"column_1": ["1", "2"], "column_2": ["u", "v"]}
