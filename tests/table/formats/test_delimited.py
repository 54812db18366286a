"""Text files: tops given and found, spelling, delimiters, quotes and packing survive, and no record stops a tolerant reader."""

from __future__ import annotations

import datetime
import gzip
import io
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.errors import ChaffinchError, FileError, InputError
from chaffinch.table.formats import delimited
from chaffinch.table.formats.delimited import closed_line, found_top, given_top
from chaffinch.table.formats.format import ReadOptions
from chaffinch.table.formats.packing import TextFile
from chaffinch.table.sources import open_source

from ..conftest import again

CSV = """id,age,size,pay,flag,day,when,zip,note
{rows}"""


def spelled_rows(n=60):
    rng = np.random.default_rng(9)
    rows = []
    for i in range(n):
        age = (
            "NA"
            if i % 10 == 0
            else ""
            if i % 15 == 0
            else "-8"
            if i % 7 == 0
            else str(rng.integers(18, 90))
        )
        size = "?" if i % 12 == 0 else f"{rng.normal(170, 10):.1f}"
        day = f"{rng.integers(1, 29):02d}/{rng.integers(1, 13):02d}/{rng.integers(1990, 2020)}"
        rows.append(
            f"{i},{age},{size},{rng.gamma(2, 50):.2f},{'True' if i % 3 else 'False'},{day},"
            f"2020-01-{rng.integers(1, 29):02d} {rng.integers(0, 24):02d}:{rng.integers(0, 60):02d},"
            f'0{rng.integers(1, 4)},"a, {"b" if i % 2 else "c"}"'
        )
    return rows


def test_csv_keeps_its_spelling(tmp_path):
    path = tmp_path / "in.csv"
    rows = spelled_rows()
    path.write_text(CSV.format(rows="\n".join(rows)) + "\n")
    table = chaffinch.read(path)
    schema = table.schema
    assert schema["id"].kind == "identifier"
    assert schema["age"].kind == "integer"
    assert schema["age"].missing == ("NA",)
    assert schema["age"].nullable
    assert (schema["size"].kind, schema["size"].decimals, schema["size"].format) == (
        "float",
        1,
        "fixed 1",
    )
    assert schema["flag"].format == "True/False"
    assert (schema["day"].kind, schema["day"].format) == ("date", "%d/%m/%Y")
    assert (schema["when"].kind, schema["when"].format, schema["when"].step) == (
        "datetime",
        "%Y-%m-%d %H:%M",
        60,
    )
    assert schema["zip"].kind == "categorical"
    out_path = tmp_path / "out.csv"
    table.write(out_path)
    assert out_path.read_text() == path.read_text()  # the table itself, to the letter
    again(table).write(out_path, overwrite=True)
    given_cells = [row.split(",") for row in path.read_text().splitlines()]
    out_cells = [row.split(",") for row in out_path.read_text().splitlines()]
    assert out_cells[0] == [name for name in given_cells[0] if name != "id"]
    for came, went in zip(given_cells[1:], out_cells[1:], strict=True):
        assert (came[1] in ("NA", "")) == (went[0] in ("NA", ""))
        assert came[1] == went[0] or came[1] not in ("NA", "")  # missing keeps its code
        assert (came[2] == "?") == (went[1] == "?")
        assert came[2] == "?" or len(went[1].split(".")[1]) == 1
        assert came[4] == went[3]
        assert datetime.datetime.strptime(went[4], "%d/%m/%Y")
        assert datetime.datetime.strptime(went[5], "%Y-%m-%d %H:%M")
        assert came[7:] == went[6:]
    typed = table.to_arrow()
    assert str(typed["age"].type) == "int64"
    assert typed["age"].null_count == sum(row.split(",")[1] in ("NA", "") for row in rows)


@pytest.mark.parametrize(
    ("ending", "delimiter"),
    [(".csv", ";"), (".csv", "|"), (".tsv", "\t"), (".csv.gz", ","), (".tsv.gz", "\t")],
)
def test_delimiters_and_gzip(tmp_path, ending, delimiter):
    text = (
        delimiter.join(["a", "b c"])
        + "\n"
        + "".join(f"{i % 3}{delimiter}w{i % 2}\n" for i in range(40))
    )
    path = tmp_path / f"in{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    table = chaffinch.read(path)
    assert table.columns == ("a", "b c")
    out = tmp_path / f"out{ending}"
    table.write(out)
    written = gzip.decompress(out.read_bytes()) if ending.endswith("gz") else out.read_bytes()
    assert written.decode() == text


def test_quotes_line_breaks_and_unicode_survive(tmp_path):
    words = ['say "hi"', "two\nlines", "a,b", "Ünïcode ☃", " padded "]
    table = chaffinch.read(pa.table({"w": words * 8, 'k, "q"': ["x", "y"] * 20}))
    table.write(tmp_path / "t.csv")
    back = chaffinch.read(tmp_path / "t.csv")
    assert back.columns == table.columns
    assert back.data["w"].to_pylist() == table.data["w"].to_pylist()
    byte_mark = tmp_path / "bom.csv"
    byte_mark.write_bytes(b"\xef\xbb\xbf" + (tmp_path / "t.csv").read_bytes())
    assert chaffinch.read(byte_mark).columns == table.columns
    other = tmp_path / "latin.csv"
    other.write_bytes("naïve,b\nœuf,1\nœuf,2\n".encode("cp1252"))
    assert chaffinch.read(other, encoding="cp1252", rare="keep").data["naïve"].to_pylist() == [
        "œuf",
        "œuf",
    ]


BODY = "".join(f"{20 + i % 50},{'fm'[i % 2]},{i % 7}.5\n" for i in range(60))


def read(tmp_path, text, **options):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    table = chaffinch.read(path, **options)
    scanned = chaffinch.scan(path, **options)
    assert (scanned.n_rows, scanned.schema.names) == (table.n_rows, table.schema.names)
    return table


def said(table):
    return [note.what for note in table.notes if not note.column]


@pytest.mark.parametrize(
    ("text", "columns", "whats"),
    [
        ("age,sex,pay\n" + BODY, ("age", "sex", "pay"), []),
        (BODY, ("column_1", "column_2", "column_3"), ["header"]),
        ("# from the ward\n# 2020, May\nage,sex,pay\n" + BODY, ("age", "sex", "pay"), ["comment"]),
        ("#age,sex,pay\n" + BODY, ("#age", "sex", "pay"), []),
        ("Ward 7\n\nage,sex,pay\n" + BODY, ("age", "sex", "pay"), ["header"]),
        ("age,sex,pay\n[years],,[EUR]\n" + BODY, ("age", "sex", "pay"), ["units"]),
        ("age,age,\n" + BODY, ("age", "age_2", "column_3"), ["names", "names"]),
        ("sex,pay\n" + BODY, ("column_1", "sex", "pay"), ["names"]),
        ('"age\n(years)",sex,pay\n' + BODY, ("age\n(years)", "sex", "pay"), []),
        ("age sex pay\n" + BODY.replace(",", " "), ("age", "sex", "pay"), []),
        ("age,sex,pay\r\n" + BODY.replace("\n", "\r\n"), ("age", "sex", "pay"), []),
        ("age,sex,pay\r" + BODY.replace("\n", "\r"), ("age", "sex", "pay"), []),
    ],
    ids=[
        "plain",
        "no header",
        "comments",
        "names with #",
        "title",
        "units",
        "double and blank",
        "row names",
        "quoted break",
        "spaces",
        "crlf",
        "cr",
    ],
)
def test_what_is_found(tmp_path, text, columns, whats):
    table = read(tmp_path, text)
    assert (table.columns, table.n_rows) == (columns, 60)
    assert said(table) == whats
    assert table.data.column(0).to_pylist() == [20 + i % 50 for i in range(60)]


def test_units_are_titles(tmp_path):
    table = read(tmp_path, "age,sex,pay\nyears,,EUR\n" + BODY)
    assert [column.title for column in table.schema] == ["years", "", "EUR"]


def test_a_file_without_header_is_written_without(tmp_path):
    table = read(tmp_path, BODY)
    table.write(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == BODY
    assert chaffinch.read(tmp_path / "out.csv").columns == table.columns


def test_what_is_given_wins(tmp_path):
    assert read(tmp_path, BODY, header=True).columns == ("20", "f", "0.5")
    table = read(tmp_path, "% a\nage,sex,pay\n% b\n" + BODY + "% end\n", comment="%")
    assert (table.columns, table.n_rows) == (("age", "sex", "pay"), 60)
    assert read(tmp_path, "x\ny,z\nage,sex,pay\n" + BODY, header=3).columns == ("age", "sex", "pay")
    assert read(tmp_path, "age;sex;pay\n" + BODY.replace(",", ";"), delimiter=";").n_rows == 60


def test_comments_elsewhere_are_said_with_the_option(tmp_path):
    (tmp_path / "t.csv").write_text("age,sex,pay\n" + BODY + "# end\n")
    with pytest.raises(FileError, match="--comment '#'"):
        chaffinch.read(tmp_path / "t.csv")


def test_comments_alone(tmp_path):
    (tmp_path / "t.csv").write_text("# a\n# b\n")
    with pytest.raises(ChaffinchError, match="no line that is not a comment"):
        chaffinch.read(tmp_path / "t.csv")


def test_nothing_is_found_where_no_record_may_be_asked(tmp_path):
    """A private fit takes names from the first line, whatever the records are, and leaves all else to options."""
    path = tmp_path / "t.csv"
    for text in (BODY, "# x\n" + BODY, "age,sex\nyears,\n" + BODY):
        path.write_text(text)
        top = given_top(TextFile.from_path(path), ReadOptions(tolerant=True), None)
        assert list(top.names.names) == [
            cell or f"column_{i}" for i, cell in enumerate(text.split("\n")[0].split(","), 1)
        ]
        assert (top.lines, top.encoding, top.comment) == (1, "utf-8", "")
    path.write_text("# x\nage,sex,pay\nyears,,\n" + BODY)
    top = given_top(
        TextFile.from_path(path), ReadOptions(header="units", comment="#", tolerant=True), None
    )
    assert (top.names.names, top.lines) == (("age", "sex", "pay"), 2)
    path.write_text("a,b\nx\n" + BODY)
    assert (
        given_top(TextFile.from_path(path), ReadOptions(header=3, tolerant=True), None).lines == 3
    )
    path.write_text(BODY)
    top = given_top(
        TextFile.from_path(path),
        ReadOptions(header="no", delimiter=";", columns=2, tolerant=True),
        None,
    )
    assert (top.names.names, top.lines, top.delimiter) == (
        ("column_1", "column_2"),
        0,
        ";",
    )  # whatever the first record has
    with pytest.raises(InputError, match=r"no record is asked what divides its cells.*--delimiter"):
        given_top(
            TextFile.from_path(path), ReadOptions(header="no", columns=3, tolerant=True), None
        )
    with pytest.raises(
        InputError, match=r"no record is asked how many there are.*column_1, column_2"
    ):
        given_top(
            TextFile.from_path(path), ReadOptions(header="no", delimiter=",", tolerant=True), None
        )
    path.write_text('age,"sex\n' + BODY)
    with pytest.raises(InputError, match=r"ends inside quotes.*line_breaks = true"):
        given_top(TextFile.from_path(path), ReadOptions(tolerant=True), None)
    path.write_text('age,"se\nx"\n' + BODY)
    top = given_top(TextFile.from_path(path), ReadOptions(tolerant=True, line_breaks=True), None)
    assert (top.names.names, top.lines) == (("age", "se\nx"), 2)
    path.write_text("Bo,31,Xu\n" + BODY)
    with pytest.raises(InputError, match="may have the names of columns or be a record"):
        found_top(TextFile.from_path(path), ReadOptions(), None)


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
