"""Tables as R prints them."""

from __future__ import annotations

import pytest

from chaffinch.outputs.readers.files.crossed import OpenQuestionError
from chaffinch.outputs.readers.files.printed import PrintedTable
from chaffinch.outputs.readers.files.protocol import Help, LineError
from chaffinch.outputs.readers.files.r_text import read_r_tables


def tables(text: str, given: Help | None = None) -> list[PrintedTable]:
    facts = [piece.facts(given or Help()) for piece in read_r_tables(text.splitlines())]
    assert all(isinstance(one, PrintedTable) for one in facts)
    return facts  # type: ignore[return-value]


# with(mtcars, table(cyl, gear))
TWO = """   gear
cyl  3  4  5
  4  1  8  2
  6  2  4  1
  8 12  0  2
"""


def test_a_table_of_two_columns_has_its_names_and_labels() -> None:
    (table,) = tables(TWO)
    assert table.by == ("cyl", "gear")
    assert table.labels == (("4", "6", "8"), ("3", "4", "5"))
    assert table.cells["8", "3"] == 12
    assert table.people == 32


def test_a_table_without_names_is_one_all_the_same() -> None:
    # table(mtcars$cyl, mtcars$gear)
    (table,) = tables("    \n      3  4  5\n  4   1  8  2\n  6   2  4  1\n  8  12  0  2\n")
    assert table.by == ("(rows)", "(columns)")
    assert table.cells["4", "4"] == 8
    assert tables(TWO, Help(by=["a", "b"]))[0].by == ("a", "b")


def test_one_column_and_labels_with_blanks_are_read() -> None:
    # table(cyl); and with words of several parts
    (one,) = tables("cyl\n 4  6  8 \n11  7 14 \n")
    assert one.by == ("cyl",)
    assert one.cells == {("4",): 11, ("6",): 7, ("8",): 14}
    (words,) = tables(
        "                sex\nmarital          man woman\n  never married   12    20\n  married         33    45\n"
    )
    assert words.labels == (("never married", "married"), ("man", "woman"))


def test_three_columns_stand_in_layers() -> None:
    text = f", , am = 0\n\n{TWO}\n, , am = 1\n\n{TWO}\n"
    (table,) = tables(text)
    assert table.by == ("cyl", "gear", "am")
    assert table.cells["8", "3", "1"] == 12
    with pytest.raises(
        LineError, match="line 9: a layer of the table has no rows: the file is cut"
    ):
        tables(f", , am = 0\n\n{TWO}\n, , am = 1\n")


def test_a_wide_table_that_is_folded_is_one_table() -> None:
    (table,) = tables("   gear\ncyl  3  4\n  4  1  8\n  6  2  4\n   gear\ncyl  5\n  4  2\n  6  1\n")
    assert table.labels[1] == ("3", "4", "5")
    assert table.cells["6", "5"] == 1


def test_totals_and_several_tables_in_one_file() -> None:
    sums = "     gear\ncyl    3  4 Sum\n  4    1  8   9\n  6    2  4   6\n  Sum  3 12  15\n"
    first, second = tables(f"{sums}\n{TWO}")
    assert first.margins
    assert first.cells["All", "All"] == 15
    assert not second.margins
    assert [piece.line for piece in read_r_tables(f"{sums}\n{TWO}".splitlines())] == [1, 7]


def test_a_row_that_is_cut_is_not_left_out_in_silence() -> None:
    with pytest.raises(LineError, match="line 5"):
        tables(TWO.rsplit("  2\n", 1)[0])


@pytest.mark.parametrize(
    "text",
    [
        "        hp\nMazda  110\nDatsun  93\nHornet 110\n",  # mtcars["hp"]: records
        "\n f  m \n90 87 \n",  # tapply(age, sex, max)
    ],
)
def test_values_in_the_form_of_a_table_are_asked_about(text: str) -> None:
    (piece,) = read_r_tables(text.splitlines())
    with pytest.raises(OpenQuestionError, match="Are they counts of people"):
        piece.facts(Help())


def test_records_with_their_numbers_are_no_table() -> None:
    assert read_r_tables(["   age", "1   45", "2   37", "3   62"]) == []


def test_text_is_no_table() -> None:
    assert read_r_tables(["We asked 120 people in 3 towns.", "", "  see table 2"]) == []


VALUE_COUNTS = "smoke\n{}\nName: count, dtype: int64\n"


@pytest.mark.parametrize(
    "levels", [("10", "20"), ("0", "1"), ("no", "yes"), ("a b", "c"), ("1", "2", "3")]
)
def test_value_counts_of_pandas_have_labels_beside_their_counts(levels: tuple[str, ...]) -> None:
    """print(data["smoke"].value_counts()): read as R prints a table, two levels 10 and 20 of 115 and 74 people were 20 and 74 people."""
    rows = "\n".join(
        f"{level}    {count}" for level, count in zip(levels, (115, 74, 33), strict=False)
    )
    (table,) = tables(VALUE_COUNTS.format(rows))
    assert table.by == ("smoke",)
    assert table.said
    assert table.cells == {
        (level,): count for level, count in zip(levels, (115, 74, 33), strict=False)
    }


def test_two_lines_of_two_numbers_may_be_either_way() -> None:
    pandas_without_its_type, r_cut = "smoke\n10    115\n20     74\n", "smoke\n100 200\n115 174\n"
    for text in (pandas_without_its_type, r_cut):
        with pytest.raises(
            OpenQuestionError, match="as R prints a table, or beside them, as pandas"
        ):
            tables(text)
        with pytest.raises(
            OpenQuestionError, match="as R prints a table, or beside them, as pandas"
        ):
            tables(text, Help(kind="table", by=["smoke"]))
    (table,) = tables("smoke\n100 200 \n115 174 \n")  # R ends lines with a blank
    assert table.cells == {("100",): 115, ("200",): 174}
    (table,) = tables("smoke\n  0   1\n115  74\n")  # pandas begins them without
    assert table.cells == {("0",): 115, ("1",): 74}
