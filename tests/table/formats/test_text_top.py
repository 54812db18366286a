"""The top of text files, as people's programs write them: found, said, and the same for every reader."""

from __future__ import annotations

import pytest

import chaffinch
from chaffinch.errors import ChaffinchError, FileError, InputError
from chaffinch.table.formats.delimited import found_top, given_top
from chaffinch.table.formats.format import ReadOptions
from chaffinch.table.formats.packing import TextFile

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
        top = given_top(TextFile.of(path), ReadOptions(tolerant=True), None)
        assert list(top.names.names) == [
            cell or f"column_{i}" for i, cell in enumerate(text.split("\n")[0].split(","), 1)
        ]
        assert (top.lines, top.encoding, top.comment) == (1, "utf-8", "")
    path.write_text("# x\nage,sex,pay\nyears,,\n" + BODY)
    top = given_top(
        TextFile.of(path), ReadOptions(header="units", comment="#", tolerant=True), None
    )
    assert (top.names.names, top.lines) == (("age", "sex", "pay"), 2)
    path.write_text("a,b\nx\n" + BODY)
    assert given_top(TextFile.of(path), ReadOptions(header=3, tolerant=True), None).lines == 3
    path.write_text(BODY)
    top = given_top(
        TextFile.of(path), ReadOptions(header="no", delimiter=";", columns=2, tolerant=True), None
    )
    assert (top.names.names, top.lines, top.delimiter) == (
        ("column_1", "column_2"),
        0,
        ";",
    )  # whatever the first record has
    with pytest.raises(InputError, match=r"no record is asked what divides its cells.*--delimiter"):
        given_top(TextFile.of(path), ReadOptions(header="no", columns=3, tolerant=True), None)
    with pytest.raises(
        InputError, match=r"no record is asked how many there are.*column_1, column_2"
    ):
        given_top(TextFile.of(path), ReadOptions(header="no", delimiter=",", tolerant=True), None)
    path.write_text('age,"sex\n' + BODY)
    with pytest.raises(InputError, match=r"ends inside quotes.*line_breaks = true"):
        given_top(TextFile.of(path), ReadOptions(tolerant=True), None)
    path.write_text('age,"se\nx"\n' + BODY)
    top = given_top(TextFile.of(path), ReadOptions(tolerant=True, line_breaks=True), None)
    assert (top.names.names, top.lines) == (("age", "se\nx"), 2)
    path.write_text("Bo,31,Xu\n" + BODY)
    with pytest.raises(InputError, match="may have the names of columns or be a record"):
        found_top(TextFile.of(path), ReadOptions(), None)
