"""Workbooks as LibreOffice and openpyxl save them, with the traps that they set."""

from __future__ import annotations

import datetime
import shutil
import sys
import zipfile
from pathlib import Path

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.errors import FileError, InputError, MissingExtraError
from chaffinch.table.formats import packing, workbook, workbook_writer

FILES = Path(__file__).parents[2] / "data" / "files"


def whats(table):
    return [note.what for note in table.notes if not note.column]


@pytest.mark.parametrize("ending", ["xlsx", "ods", "xls"])
def test_a_workbook_that_libreoffice_saved(ending):
    """The title above, errors, formulas, numbers as text, dates, a hidden and an empty sheet: read, with what is to be said."""
    table = chaffinch.read(FILES / f"visits.{ending}")
    assert (table.n_rows, table.columns) == (
        40,
        ("id", "age", "pay", "day", "seen", "code", "sex", "err", "twice"),
    )
    rows = table.data.to_pylist()
    for i, row in enumerate(rows):  # worked by hand from the script that made it
        assert (row["id"], row["age"], row["twice"]) == (1000 + i, 20 + i, 2 * (20 + i))
        assert row["pay"] == pytest.approx(100 + 1.37 * i, abs=1e-9)
        assert row["day"] == datetime.date(2020, 1, 1) + datetime.timedelta(i)
        assert row["seen"] == datetime.datetime(2020, 1, 1, 8, 30) + datetime.timedelta(hours=i)
        assert (row["code"], row["sex"]) == (f"{i % 7:03d}", "fm"[i % 2])
        assert row["err"] == (None if i % 5 == 0 else i % 4)
    assert {"sheets", "header"} <= set(whats(table))
    assert ("errors" in whats(table)) == (ending != "xls")
    layout = table.origin.layout
    assert (layout.table, layout.line, layout.header) == ("May visits", 4, True)
    other = pd.read_excel(
        FILES / f"visits.{ending}", skiprows=3, engine="calamine"
    )  # a second opinion on the numbers
    assert other["pay"].tolist() == table.data["pay"].to_pylist()


def test_content_and_not_the_name_decides(tmp_path):
    shutil.copy(FILES / "visits.ods", tmp_path / "visits.csv")
    assert chaffinch.read(tmp_path / "visits.csv").n_rows == 40


def test_sheets_by_name(tmp_path):
    book = openpyxl.Workbook()
    for title, n in (("May", 10), ("June & July", 20)):
        sheet = book.create_sheet(title)
        sheet.append(["sex", "ill"])
        for i in range(n):
            sheet.append(["fm"[i % 2], "no" if i % 3 else "yes"])
    path = tmp_path / "b.xlsx"
    book.save(path)
    with pytest.raises(InputError, match=r"several sheets: May, June & July\. Name one") as caught:
        chaffinch.read(path)
    assert "--table 'May'" in str(caught.value)
    assert (
        chaffinch.read(path, table="June & July").n_rows
        == chaffinch.read(f"{path}::June & July").n_rows
        == 20
    )
    assert chaffinch.read(f"{path}::May", table="May").n_rows == 10
    for source, table, says in (
        (path, "Mai", "Did you mean 'May'"),
        (f"{path}::May", "June & July", "Name one"),
    ):
        with pytest.raises((InputError, KeyError), match=says):
            chaffinch.read(source, table=table)
    (tmp_path / "t.csv").write_text("a,b\n1,2\n1,3\n")
    with pytest.raises(InputError, match="it has one table, and none that is called 'May'"):
        chaffinch.read(tmp_path / "t.csv", table="May")


def saved(tmp_path, rows, **more):
    book = openpyxl.Workbook()
    sheet = book.active
    for row in rows:
        sheet.append(row)
    for merged in more.get("merged", ()):
        sheet.merge_cells(merged)
    path = tmp_path / "t.xlsx"
    book.save(path)
    return path


ROWS = [
    ["sex", None, "ill", "n"],
    *([["fm"[i % 2], None, "no" if i % 3 else "yes", i % 5] for i in range(20)]),
]


def test_empty_columns_and_rows(tmp_path):
    table = chaffinch.read(saved(tmp_path, [*ROWS[:8], [], *ROWS[8:]]))
    assert (table.columns, table.n_rows) == (("sex", "ill", "n"), 20)
    assert sorted(whats(table)) == ["columns", "rows"]


def test_formulas_without_values_are_refused(tmp_path):
    path = saved(tmp_path, [*ROWS, ["f", None, "no", "=1+1"]])
    with pytest.raises(InputError, match="formulas whose values are not stored"):
        chaffinch.read(path)


def test_merged_records_are_refused(tmp_path):
    with pytest.raises(InputError, match="merged cells among its records"):
        chaffinch.read(saved(tmp_path, ROWS, merged=["A3:A4"]))


def test_cells_far_away_are_refused_before_they_fill_a_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(workbook, "MOST_CELLS", 1000)
    book = openpyxl.Workbook()
    for row in ROWS:
        book.active.append(row)
    book.active["ZZ900"] = "x"
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(InputError, match="cells far from its table"):
        chaffinch.read(tmp_path / "t.xlsx")


def test_locked_and_damaged_workbooks(tmp_path, monkeypatch):
    content = (FILES / "visits.xlsx").read_bytes()
    (tmp_path / "cut.xlsx").write_bytes(content[: len(content) // 2])
    with pytest.raises(FileError):
        chaffinch.read(tmp_path / "cut.xlsx")
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    with pytest.raises(
        FileError, match="as a workbook: it is damaged, locked, or of another Office program"
    ):
        chaffinch.read(tmp_path / "old.xls")
    monkeypatch.setattr(packing, "FREE_BYTES", 1000)
    monkeypatch.setattr(packing, "MOST_RATIO", 2)
    with pytest.raises(FileError, match="unpacks to more than"):
        chaffinch.read(FILES / "visits.xlsx")


def test_a_document_is_no_workbook(tmp_path):
    with zipfile.ZipFile(tmp_path / "letter.docx", "w") as archive:
        archive.writestr("[Content_Types].xml", "")
        archive.writestr("word/document.xml", "")
    with pytest.raises(FileError, match="a document of Word"):
        chaffinch.read(tmp_path / "letter.docx")


def test_advice_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(MissingExtraError, match=r"chaffinch\[excel\]"):
        chaffinch.read(FILES / "visits.xlsx")


def test_a_private_fit_reads_no_workbook():
    with pytest.raises(FileError, match=r"A private fit does not read .* a workbook of Excel"):
        chaffinch.prepare(FILES / "visits.xlsx", discover="all")


def test_sheets_as_they_stand_have_their_place_text_and_merged_cells(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "t"
    sheet["B3"], sheet["C3"], sheet["B4"] = "sex", 2.0, "007"
    sheet.merge_cells("B4:C4")
    book.create_sheet("nothing")
    book.create_sheet("raw")["A1"] = 1
    book["raw"].sheet_state = "hidden"
    book.save(tmp_path / "b.xlsx")
    cells, raw = workbook.sheets_of(tmp_path / "b.xlsx")
    assert (cells.visible, raw.visible) == (True, False)
    assert (cells.name, cells.first, cells.rows, cells.merged) == (
        "t",
        3,
        (("sex", "2"), ("007", "")),
        (((1, 0), (1, 1)),),
    )


def test_sheets_with_errors_or_formulas_without_values_are_refused(tmp_path):
    with pytest.raises(InputError, match="has cells with an error"):
        workbook.sheets_of(FILES / "visits.xlsx")
    book = openpyxl.Workbook()
    book.active.append(["a", "=1+1"])
    book.save(tmp_path / "f.xlsx")
    with pytest.raises(InputError, match="formulas whose values are not stored"):
        workbook.sheets_of(tmp_path / "f.xlsx")


DATA = pa.table(
    {
        "n": pa.array([1, 2, None] * 20),
        "x": [0.25, 1.5, 2.0] * 20,
        "word": ["=1+1", "#N/A!", "007"] * 20,
        "flag": [True, False, True] * 20,
        "day": [datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(60)],
        "seen": [datetime.datetime(2020, 1, 1, 8, 30, i) for i in range(60)],
    }
)


def test_what_is_written_is_what_was_there(tmp_path):
    table = chaffinch.read(DATA, rare="keep")
    table.write(tmp_path / "t.xlsx")
    rows = list(
        openpyxl.load_workbook(tmp_path / "t.xlsx").active.values
    )  # formulas would stay formulas here
    assert rows[0] == tuple(DATA.column_names)
    for row, cells in zip(DATA.to_pylist(), rows[1:], strict=True):
        day = datetime.datetime.combine(row["day"], datetime.time())
        assert cells == (row["n"], row["x"], row["word"], row["flag"], day, row["seen"])
    again = chaffinch.read(tmp_path / "t.xlsx", rare="keep")
    assert (
        again.data.select(["n", "x", "day"]).to_pydict()
        == DATA.select(["n", "x", "day"]).to_pydict()
    )
    assert again.data["word"].to_pylist() == DATA["word"].to_pylist()


def test_the_same_table_gives_the_same_bytes(tmp_path):
    table = chaffinch.read(DATA)
    for name in ("a.xlsx", "b.xlsx"):
        table.write(tmp_path / name)
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()


def test_what_a_sheet_cannot_hold(tmp_path, monkeypatch):
    bell = chaffinch.read(pa.table({"a": ["x\x07", "y"] * 10, "b": ["u", "v"] * 10}))
    with pytest.raises(FileError, match="control characters"):
        bell.write(tmp_path / "t.xlsx")
    monkeypatch.setattr(workbook_writer, "MOST_ROWS", 10)
    with pytest.raises(InputError, match="A sheet holds 10 records"):
        chaffinch.read(DATA).write(tmp_path / "t.xlsx")
    monkeypatch.setattr(workbook_writer, "MOST_COLUMNS", 2)
    with pytest.raises(InputError, match="A sheet holds 2 columns"):
        chaffinch.read(DATA).write(tmp_path / "t.xlsx")
    assert not list(tmp_path.iterdir())
