"""Tables of CSV files and sheets as they are."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from chaffinch.outputs.readers.files.grids import csv_grid, workbook_grids
from chaffinch.outputs.readers.files.parsed import ParsedOutput, ParsedSummary, ParsedTable
from chaffinch.outputs.readers.files.protocol import Annotation, LineError, OpenQuestionError
from chaffinch.outputs.readers.files.sheet_tables import grid_matches


def parsed(text: str, given: Annotation | None = None) -> list[ParsedOutput]:
    return [match.parse(given or Annotation()) for match in grid_matches(csv_grid(text))]


def sheet_table(text: str, given: Annotation | None = None) -> ParsedTable:
    (one,) = parsed(text, given)
    assert isinstance(one, ParsedTable)
    return one


@pytest.mark.parametrize(
    "text",
    [
        "sex by area\nsex,n,s,Total\nf,12,30,42\nm,40,50,90\nTotal,52,80,132\n",  # a title names the columns
        ",area,,Total\nsex,n,s,\nf,12,30,42\nm,40,50,90\nTotal,52,80,132\n",  # the columns' name over their labels
        "area,n,s,All\nsex,,,\nf,12,30,42\nm,40,50,90\nAll,52,80,132\n",  # pandas: the index has a line of its own
        "sex * area Crosstabulation\nCount\n,,area,,Total\n,,n,s,\nsex,f,12,30,42\n,m,40,50,90\nTotal,,52,80,132\n",  # SPSS
    ],
)
def test_a_crosstab_is_read_in_the_forms_that_programs_write(text: str) -> None:
    one = sheet_table(text)
    assert one.by == ("sex", "area")
    assert one.labels == (("f", "m"), ("n", "s"))
    assert (one.cells["f", "n"], one.cells["m", "s"], one.cells["All", "All"]) == (12, 50, 132)


def test_long_tables_have_a_column_of_counts() -> None:
    one = sheet_table("sex,area,Freq\nf,n,12\nm,n,40\nf,s,30\nm,s,<10\n")
    assert one.by == ("sex", "area")
    assert one.cells == {("f", "n"): 12, ("m", "n"): 40, ("f", "s"): 30, ("m", "s"): "<10"}
    with pytest.raises(LineError, match="line 4: two rows are of the same cell"):
        parsed("sex,area,Freq\nf,n,12\nm,n,40\nf,n,30\nm,s,9\n")
    with pytest.raises(LineError, match="line 3: a count must be a whole number"):
        parsed("sex,area,Freq\nf,n,12\nm,n,4.5\nf,s,30\n")


def test_frequencies_of_one_column_have_percentages_beside_them() -> None:
    one = sheet_table(
        "sex\n,,Frequency,Percent,Valid Percent,Cumulative Percent\nValid,f,42,31.8,31.8,31.8\n,m,90,68.2,68.2,100.0\n,Total,132,100.0,100.0,\n"
    )
    assert one.by == ("sex",)
    assert one.cells == {("f",): 42, ("m",): 90, ("All",): 132}


def test_summaries_by_groups_and_describe() -> None:
    (one,) = parsed("sex,mean,std,count\nf,41.5,3.1,42\nm,40.2,4.0,90\n", Annotation(of="age"))
    assert isinstance(one, ParsedSummary)
    assert one.numbers["n"]["m",] == "90"
    first, second = parsed(",age,income\ncount,132,132\nmean,41.2,1012.5\nmin,17,0\nmax,90,99999\n")
    assert isinstance(second, ParsedSummary)
    assert (second.variable, second.numbers["max"][()]) == ("income", "99999")
    assert first.people == 132


def test_a_table_of_means_needs_a_line() -> None:
    text = "sex,n,s\nf,41.5,40.1\nm,39.2,44.0\n"
    with pytest.raises(OpenQuestionError, match="neither counts nor shares"):
        parsed(text)
    (one,) = parsed(text, Annotation(kind="mean", of="age", by=["sex", "area"]))
    assert isinstance(one, ParsedSummary)
    assert one.numbers["mean"]["m", "s"] == "44.0"
    with pytest.raises(OpenQuestionError, match="Which columns are crossed"):
        parsed(text, Annotation(kind="mean", of="age"))


def test_several_tables_of_a_sheet_are_several_outputs() -> None:
    text = "sex,n\nf,42\nm,90\n\narea,n\nn,52\ns,80\n"
    matches = grid_matches(csv_grid(text))
    assert [match.line for match in matches] == [1, 5]
    assert [match.parse(Annotation()).variables for match in matches] == [["sex"], ["area"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sex,n,s,Total\nf,12,,42\nm,40,50,90\nTotal,52,80,132\n", "line 2: a cell is empty"),
        ("sex,n,,Total\nf,12,30,42\nm,40,50,90\nTotal,52,80,132\n", "line 1: a column has no name"),
        ('sex,mean,n\nf,41.5,42\nm,"40,2",90\n', "line 3: its decimal sign is not that of line 2"),
    ],
)
def test_what_cannot_be_read_names_its_line(text: str, words: str) -> None:
    with pytest.raises(LineError, match=words):
        parsed(text)


def test_merged_headers_are_read_and_merged_numbers_are_not(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (
        ["", "area", "", "Total"],
        ["sex", "n", "s", ""],
        ["f", 12, 30, 42],
        ["m", 40, 50, 90],
        ["Total", 52, 80, 132],
    ):
        sheet.append(row)
    sheet.merge_cells("B1:C1")
    book.save(tmp_path / "good.xlsx")
    (grid,) = workbook_grids(tmp_path / "good.xlsx")
    (one,) = (match.parse(Annotation()) for match in grid_matches(grid))
    assert isinstance(one, ParsedTable)
    assert one.by == ("sex", "area")
    sheet.merge_cells("B3:B4")
    book.save(tmp_path / "bad.xlsx")
    (grid,) = workbook_grids(tmp_path / "bad.xlsx")
    (match,) = grid_matches(grid)
    with pytest.raises(LineError, match="numbers stand in merged cells"):
        match.parse(Annotation())
