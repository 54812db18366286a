"""Sheets are written as values of their kind: read again by us and by openpyxl they are the same."""

from __future__ import annotations

import datetime

import openpyxl
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.errors import FileError, InputError
from chaffinch.table.formats import workbook_writer

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
