"""No record stops a reader for private fits, and none is lost: beside the plain reader, and beside each other."""

from __future__ import annotations

import io
from collections import Counter

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.table.formats import delimited
from chaffinch.table.formats.delimited import closed_line
from chaffinch.table.sources import open_source

TEXT = "a,b\n" + "".join(f"{i},w{i % 3}\n" for i in range(40))


def rows(path, **options):
    return open_source(path, tolerant=True, **options).table()


def test_sound_files_come_as_the_plain_reader_gives_them(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TEXT)
    assert rows(path).equals(open_source(path).table())


@pytest.mark.parametrize(
    "bad", [b"1,2,3\n", b"1\n", b"\xff,\xfe\n", b'"x,y\n'], ids=["long", "short", "bytes", "quote"]
)
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
    table = rows(path, header="no", comment="%", delimiter=",", columns=2)
    assert table.to_pydict() == {"column_1": ["1", "2"], "column_2": ["u", "v"]}


def test_a_quote_that_is_never_closed_takes_in_no_other_record(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TEXT + '"x,y\n' + "".join(f"{i},w\n" for i in range(1000)))
    table = rows(path)
    assert (table.num_rows, table.column("a").null_count) == (1041, 1)
    assert (
        rows(path, line_breaks=True).num_rows == 41
    )  # every quote is closed, by the word of the schema: the rest is one row


def test_line_breaks_in_quotes_are_read_where_they_are_declared(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"two\nlines"\n2,v\n')
    assert rows(path, line_breaks=True).to_pydict() == {"a": ["1", "2"], "b": ["two\nlines", "v"]}
    assert Counter(rows(path).column("a").to_pylist()) == {None: 2, "2": 1}


LINES = st.lists(
    st.text(alphabet='ab",;%\u00e9\ufeff ', min_size=1, max_size=8), min_size=1, max_size=8
)


def _rows_of(path, lines, end, comment):
    path.write_bytes(b"".join(line.encode() + end for line in lines))
    table = rows(
        path, header="no", delimiter=",", columns=2, **({"comment": comment} if comment else {})
    )
    return Counter(
        zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True)
    )


@settings(max_examples=150, deadline=None)
@given(
    lines=LINES,
    end=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    comment=st.sampled_from(["", "%"]),
    piece=st.sampled_from([3, 1 << 24]),
)
def test_one_line_more_is_one_row_more_and_changes_no_other(
    tmp_path_factory, lines, end, comment, piece
):
    """The stability that a promise rests on: of a file and of the same with a line less, the rows differ in that of the line, whatever the line."""
    path = tmp_path_factory.mktemp("lines") / "t.csv"
    with pytest.MonkeyPatch.context() as patch:
        read = delimited._Recoded.read
        patch.setattr(
            delimited._Recoded,
            "read",
            lambda self, size=-1: read(self, piece if size < 0 or size > piece else size),
        )
        every = _rows_of(path, lines, end, comment)
        for i in range(len(lines)):
            less, alone = (
                _rows_of(path, lines[:i] + lines[i + 1 :], end, comment),
                _rows_of(path, lines[i : i + 1], end, comment),
            )
            assert every == less + alone
            assert sum(alone.values()) <= 1


@settings(max_examples=300, deadline=None)
@given(line=st.text(alphabet='a",; ', min_size=1, max_size=9))
def test_a_line_is_open_exactly_where_arrow_reads_on(line):
    """A second opinion on the pattern: whether Arrow finds the next line by itself."""
    text = f"{line}\nq,q,q,q,q,q,q,q,q,q,q\n" * 1
    parsing = pa.csv.ParseOptions(
        delimiter=",",
        newlines_in_values=True,
        invalid_row_handler=lambda row: "skip",
        ignore_empty_lines=False,
    )
    reading = pa.csv.ReadOptions(column_names=[f"c{i}" for i in range(11)])
    try:
        found = pa.csv.read_csv(
            io.BytesIO(text.encode()), read_options=reading, parse_options=parsing
        ).num_rows
    except pa.ArrowInvalid:  # nothing but a row that goes on
        found = 0
    assert bool(closed_line(",").fullmatch(line.encode())) == (found == 1)


@pytest.mark.parametrize(
    "start",
    [
        b"PAR1,x\n",
        b'{"a": 1},x\n',
        b"BZh,x\n",
        b"\x1f\x8b,x\n",
        b"\xff\xfe,x\n",
        b"PK\x03\x04,x\n",
        b"1;a\n",
        b"1,2,3\n",
        b"",
    ],
)
def test_without_a_line_of_names_the_first_record_decides_nothing(tmp_path, start):
    """Neither the format of the file, nor how it is packed or encoded, nor its delimiter or its number of columns."""
    path = tmp_path / "t.csv"
    path.write_bytes(start + b"".join(b"%d,w%d\n" % (i, i % 3) for i in range(40)))
    table = rows(path, header="no", delimiter=",", columns=2)
    assert table.num_rows == 40 + bool(start)
    assert table.schema.names == ["column_1", "column_2"]
    assert [f"w{i % 3}" for i in range(40)] == [
        word for word in table.column("column_2").to_pylist() if word and word.startswith("w")
    ]
