"""Rows and columns from CSV, workbooks, HTML and drawn tables."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from chaffinch.outputs.readers.files.grids import (
    blocks_of,
    csv_grid,
    html_page,
    text_grid,
    workbook_grids,
)
from chaffinch.outputs.readers.files.protocol import LineError


@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_the_delimiter_is_the_one_that_makes_even_rows(sign: str) -> None:
    grid = csv_grid(f"a{sign}b\n1,5{sign}2\n" if sign != "," else "a,b\n1.5,2\n")
    assert grid.width == 2
    assert grid.lines == (1, 2)


def test_stata_quotes_are_taken_off() -> None:
    assert csv_grid('="",="(1)"\n="age",="0.1***"\n').rows == (("", "(1)"), ("age", "0.1***"))


def test_a_quote_that_is_not_closed_names_its_line() -> None:
    with pytest.raises(LineError, match="line 2: quotes are not closed"):
        csv_grid('a,b\n"1,2\n')


def test_lines_count_those_within_quotes() -> None:
    assert csv_grid('a,"b\nc"\n1,2\n').lines == (1, 3)


def test_tables_of_a_sheet_are_apart_by_empty_rows_and_columns() -> None:
    text = "A title,,,,,\n,,,,,\na,b,,c,d,\n1,2,,3,4,\n,,,,,\ne,f,,,,\n5,6,,,,\na note,,,,,\n"
    blocks = blocks_of(csv_grid(text))
    assert [block.rows[0] for block in blocks] == [("a", "b"), ("c", "d"), ("e", "f")]
    assert blocks[0].titles == ("A title",)
    assert blocks[2].titles == ("a note",)
    assert blocks[2].lines == (6, 7)


def test_sheets_come_with_their_merged_cells(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "one"
    sheet["B2"], sheet["B3"], sheet["C3"] = "work", 0, 1
    sheet.merge_cells("B2:C2")
    book.create_sheet("empty")
    book.create_sheet("two")["A1"] = 1.5
    book["two"].sheet_state = "hidden"
    book.save(tmp_path / "b.xlsx")
    grid, hidden = workbook_grids(tmp_path / "b.xlsx")
    assert (hidden.sheet, hidden.hidden) == ("two", True)
    assert (grid.sheet, grid.hidden) == ("one", False)
    assert grid.rows == (("work", ""), ("0", "1"))
    assert grid.lines == (2, 3)
    assert grid.filled == {(0, 1)}


def test_tables_of_a_page_have_cells_over_several_columns() -> None:
    page = html_page(
        "<p>x</p>\n<style>p { margin: 3 }</style><table><tr><th colspan='2'>m &amp; n</th></tr>\n<tr><td>1</td><td>2<br>3</td></tr></table>"
    )
    (grid,) = page.grids
    assert page.text == ((1, "x"),)
    assert grid.rows == (("m & n", ""), ("1", "2 3"))
    assert grid.lines == (2, 3)


def test_drawn_columns_are_where_all_lines_have_blanks() -> None:
    grid = text_grid(
        [
            "          Model 1   Model 2 ",
            "--------",
            "age       0.15 ***  0.16 ***",
            "work                0.65 ***",
        ],
        1,
    )
    assert grid.rows[2] == ("work", "", "0.65 ***")
    assert grid.lines == (1, 3, 4)
