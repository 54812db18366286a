"""Files that are made to fill a memory or to take for ever, and files that are damaged anywhere: each is not assessed, and none stops another."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaffinch.outputs.check.printed import check_printed
from chaffinch.outputs.check.settings import CheckSettings
from chaffinch.outputs.readers.files.read import read_files
from chaffinch.table.formats.workbook import MOST_UNPACKED, sheets_of

TABLE = "sex,n,s,Total\nf,12,30,42\nm,40,50,90\nTotal,52,80,132\n"
SHEET = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData>{}</worksheet>'


def plain_book() -> bytes:
    book = openpyxl.Workbook()
    for row in TABLE.splitlines():
        book.active.append([int(cell) if cell.isdigit() else cell for cell in row.split(",")])
    kept = io.BytesIO()
    book.save(kept)
    return kept.getvalue()


BOOK = plain_book()


def book_of(sheet: str, **more: bytes) -> bytes:
    """The workbook with another first sheet, and other parts (`xl/` before their names)."""
    parts = {f"xl/{name}.xml": text for name, text in more.items()}
    made = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(BOOK)) as plain,
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name in [name for name in plain.namelist() if name not in parts]:
            archive.writestr(
                name, sheet if name == "xl/worksheets/sheet1.xml" else plain.read(name)
            )
        for name, text in parts.items():
            archive.writestr(name, text)
    return made.getvalue()


def far_cells() -> bytes:
    return book_of(
        SHEET.format(
            '<row r="1"><c r="A1"><v>1</v></c></row><row r="49000"><c r="ALL49000"><v>1</v></c></row>',
            "",
        )
    )


def unpacked() -> bytes:
    return book_of(SHEET.format("", ""), theme=b" " * (MOST_UNPACKED + 1))


def understated() -> bytes:
    """An archive that says of a part that it has ten bytes: a reader that does not count unpacks it all."""
    size = MOST_UNPACKED + 4321
    book = book_of(SHEET.format("", ""), theme=b" " * size)
    assert size.to_bytes(4, "little") in book
    return book.replace(size.to_bytes(4, "little"), (10).to_bytes(4, "little"))


def one_long_text() -> bytes:
    cells = "".join(f'<c r="A{row}" t="s"><v>0</v></c>' for row in range(1, 1000))
    return book_of(
        SHEET.format(cells, ""),
        sharedStrings=b"<sst><si><t>" + b"x" * 1_000_000 + b"</t></si></sst>",
    )


def repeated_cells() -> bytes:
    cell = '<table:table-cell office:value-type="float" office:value="1" table:number-columns-repeated="16384"><text:p>1</text:p></table:table-cell>'
    content = f'<table:table table:name="a"><table:table-row table:number-rows-repeated="1048576">{cell}</table:table-row></table:table>'
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr(
            "content.xml", f"<office:document-content>{content}</office:document-content>"
        )
    return made.getvalue()


def many_sheets() -> bytes:
    book = openpyxl.Workbook()
    for k in range(250):
        book.create_sheet(f"s{k}").append(["a", 1])
    kept = io.BytesIO()
    book.save(kept)
    return kept.getvalue()


BOMBS: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "cells far apart": ("b.xlsx", far_cells, "over 500,000 cells"),
    "bytes": ("b.xlsx", unpacked, "over 64 MiB"),
    "bytes that are understated": ("b.xlsx", understated, "over 64 MiB"),
    "one text in many cells": ("b.xlsx", one_long_text, "over 64 MiB of text"),
    "repeated cells": ("b.ods", repeated_cells, "over 500,000 cells"),
    "many sheets": ("b.xlsx", many_sheets, "over 200 sheets"),
    "cells that are not closed": ("b.xlsx", lambda: book_of("<c>" * 300_000 + "</c>"), ""),
    "one long row": ("c.csv", lambda: b"," * 20_000 + b"\n1\n" * 20_000, "over 500,000 cells"),
    "wide cells": (
        "p.html",
        lambda: b"<table><tr>" + b"<td colspan=100>1</td>" * 6_000,
        "over 500,000 cells",
    ),
    "marks that are not closed": ("p.html", lambda: b"<!--1" * 200_000, "No output was understood"),
    "many lines": ("t.txt", lambda: b"1\n" * 100_001, "over 100,000 lines"),
    "a long line": ("t.txt", lambda: b" " * 200_000 + b"7", "over 20,000 characters"),
    "long lines": ("t.txt", lambda: (b" " * 15_000 + b"7\n") * 20, "longer than those of outputs"),
    "many tables": (
        "c.csv",
        lambda: TABLE.encode() + (b"\n" + TABLE.encode()) * 1_000,
        "tables on a sheet",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_would_fill_a_memory_is_not_assessed_and_stops_nothing(
    tmp_path: Path, name: str
) -> None:
    file, make, words = BOMBS[name]
    (tmp_path / file).write_bytes(make())
    (tmp_path / "good.csv").write_text(TABLE)
    files = read_files([tmp_path])
    assert [one.name for one in files.outputs] == ["good.csv"]
    assert {one.name.split(" #")[0] for one in files.unread} == {file}
    assert words in files.unread[0].reason


def test_nothing_is_unpacked_of_a_workbook_that_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The size is known before the reader of workbooks is asked."""
    monkeypatch.setattr(
        "chaffinch.table.formats.workbook._workbook", lambda path: pytest.fail("it was opened")
    )
    for name in (
        "cells far apart",
        "bytes",
        "bytes that are understated",
        "one text in many cells",
        "repeated cells",
    ):
        file, make, _ = BOMBS[name]
        (tmp_path / file).write_bytes(make())
        with pytest.raises(Exception, match="unpacks to more than an output holds"):
            sheets_of(tmp_path / file, most_cells=500_000)


def test_merged_cells_beyond_the_sheet_are_cut(tmp_path: Path) -> None:
    rows = '<row r="1"><c r="A1"><v>1</v></c><c r="B1"><v>2</v></c></row>'
    (tmp_path / "b.xlsx").write_bytes(
        book_of(
            SHEET.format(
                rows, '<mergeCells count="1"><mergeCell ref="A1:XFD1048576"/></mergeCells>'
            )
        )
    )
    assert read_files([tmp_path]).names == ("b.xlsx",)


@pytest.mark.parametrize(
    "start",
    [
        " " * 2_000,
        "1" * 2_000,
        "*" * 2_000,
        "1" + "*" * 2_000,
        "1" + " " * 2_000,
        "p < .05; " * 200,
        "(" * 2_000,
        ". " * 1_000,
    ],
)
def test_a_line_takes_no_longer_than_it_is_long(tmp_path: Path, start: str) -> None:
    """Blanks, stars and digits that could be divided in many ways: cubic or worse, these would not end today."""
    (tmp_path / "t.txt").write_text(
        f"   gear\ncyl  3  4\n  4 11 18\n  6 22 14\n\n{start} 7 people x\n" * 20
    )
    (tmp_path / "c.csv").write_text("a,b\n" + f'"{start}x",1\n' * 20)
    (tmp_path / "p.html").write_text(f"<table><tr><td>{start}x</td><td>1</td></tr></table>" * 20)
    assert {name.split(" #")[0] for name in read_files([tmp_path]).names} == {
        "c.csv",
        "p.html",
        "t.txt",
    }


FRAGMENTS = [
    " ",
    "\n",
    "1",
    "1.5",
    "-",
    "=",
    "*",
    "|",
    ",",
    ";",
    "\t",
    '"',
    "'",
    "(",
    ")",
    "[1]",
    "<",
    ">",
    "<!--",
    "-->",
    "<td>",
    "<tr>",
    "<table>",
    "</table>",
    "Call:\n",
    "lm(formula = y ~ x)\n",
    "Coefficients:\n",
    "Estimate Std. Error t value Pr(>|t|)\n",
    ". tab x\n",
    "data:  x\n",
    "Total",
    "n",
    "Freq.",
    "NA",
    ", , a = b\n",
    "coef    std err\n",
    "==========\n",
    "----+----\n",
    "> head(x)\n",
    "p < .05",
    "\x00",
    "é",
    "%",
    "x",
    "1. | ",
]


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(st.tuples(st.sampled_from(FRAGMENTS), st.integers(1, 60)), min_size=1, max_size=30),
    st.sampled_from(["t.txt", "c.csv", "p.html", "l.md"]),
)
def test_any_text_is_read_or_said_not_to_be(
    tmp_path: Path, parts: list[tuple[str, int]], name: str
) -> None:
    (tmp_path / name).write_text(
        "".join(fragment * times for fragment, times in parts), encoding="utf-8"
    )
    files = read_files([tmp_path / name])
    assert files.names
    check_printed(files.outputs, CheckSettings(rules_only=True))


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.randoms(use_true_random=False), st.booleans())
def test_a_workbook_that_is_damaged_anywhere_stops_nothing(
    tmp_path: Path, random: Random, packed: bool
) -> None:
    """Bytes of the archive, or of the XML of one of its parts."""
    book = bytearray(BOOK)
    if packed:
        for _ in range(random.randint(1, 6)):
            place = random.randrange(len(book))
            book[place : place + random.randint(0, 4)] = random.randbytes(random.randint(0, 4))
    else:
        made = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(BOOK)) as plain, zipfile.ZipFile(made, "w") as archive:
            chosen = random.choice(plain.namelist())
            for name in plain.namelist():
                text = bytearray(plain.read(name))
                place = random.randrange(len(text))
                if name == chosen:
                    text[place : place + random.randint(0, 30)] = random.choice(
                        [b"", b"<c>", b"</c>", b'r="ZZZ9999999"', b">", b"<", b'"', b"99999999"]
                    )
                archive.writestr(name, bytes(text))
        book = bytearray(made.getvalue())
    (tmp_path / "b.xlsx").write_bytes(bytes(book))
    assert read_files([tmp_path / "b.xlsx"]).names
