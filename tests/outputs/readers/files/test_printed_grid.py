"""Counts, shares and totals of a printed table; questions where they cannot be told."""

from __future__ import annotations

import pytest

from chaffinch.outputs.readers.files.numbers import PrintedText, words_in
from chaffinch.outputs.readers.files.printed_grid import PrintedGrid, parse_table
from chaffinch.outputs.readers.files.protocol import Annotation, LineError, OpenQuestionError
from chaffinch.outputs.rules import Policy


def crossed(
    *rows: str,
    columns: str = "n s",
    names: str = "f m",
    counts: bool | None = None,
    is_stated: bool = True,
) -> PrintedGrid:
    return PrintedGrid(
        ("sex",),
        "area",
        tuple((name,) for name in names.split()),
        tuple(columns.split()),
        tuple(tuple(words_in(row, line)) for line, row in enumerate(rows, 2)),
        counts=counts,
        is_stated=is_stated,
    )


def test_totals_that_add_up_say_that_numbers_are_counts() -> None:
    parsed = parse_table(
        crossed("12 30 42", "40 50 90", "52 80 132", columns="n s Total", names="f m Total"),
        Annotation(),
    )
    assert parsed.margins
    assert parsed.labels == (("f", "m"), ("n", "s"))
    assert parsed.cells["f", "n"] == 12
    assert parsed.cells["All", "All"] == 132


def test_counts_that_only_their_form_tells_are_for_a_person_to_look_at() -> None:
    sums = parse_table(
        crossed("12 30 42", "40 50 90", "52 80 132", columns="n s Total", names="f m Total"),
        Annotation(),
    )
    assert not sums.is_stated
    assert "(by their form)" in sums.understood
    assert [
        one.status for one in sums.findings("t", Policy()) if one.rule == "taken for counts"
    ] == ["review"]
    said = parse_table(
        crossed("12 30 42", "40 50 90", "52 80 132", columns="n s Total", names="f m Total"),
        Annotation(kind="table"),
    )
    assert said.is_stated
    assert "taken for counts" not in [one.rule for one in said.findings("t", Policy())]


def test_whole_numbers_without_totals_are_asked_about() -> None:
    with pytest.raises(OpenQuestionError, match="Are they counts of people") as asked:
        parse_table(crossed("12 30", "40 50"), Annotation())
    assert asked.value.keys == {"kind": "table", "by": ["sex", "area"]}
    assert parse_table(crossed("12 30", "40 50"), Annotation(kind="table")).people == 132
    assert parse_table(crossed("12 30", "40 50", counts=True), Annotation()).people == 132


def test_totals_that_do_not_add_up_name_the_line() -> None:
    wrong = crossed(
        "12 30 43", "40 50 90", "52 80 132", columns="n s Total", names="f m Total", counts=True
    )
    with pytest.raises(OpenQuestionError, match="numbers of line 2 do not add up"):
        parse_table(wrong, Annotation())
    assert parse_table(wrong, Annotation(totals=False)).labels[1] == ("n", "s", "Total")
    assert parse_table(wrong, Annotation(base=5)).base == 5


def test_one_sum_of_totals_alone_leaves_the_other_open() -> None:
    parsed = parse_table(crossed("12 30", "40 50", "52 80", names="f m Total"), Annotation())
    assert not parsed.margins  # the cells are all there: totals follow
    parsed = parse_table(crossed("<10 30", "40 50", "49 80", names="f m Total"), Annotation())
    assert parsed.margins
    assert parsed.cells["f", "All"] == "?"


@pytest.mark.parametrize(
    ("rows", "share", "first"),
    [
        (("0.25 0.75", "0.40 0.60"), "rows", "25"),
        (("25.5 40.0", "74.5 60.0"), "columns", "25.5"),
        (("10.5 20.5", "30.0 39.0"), "all", "10.5"),
    ],
)
def test_shares_are_told_by_what_they_add_up_to(
    rows: tuple[str, ...], share: str, first: str
) -> None:
    parsed = parse_table(crossed(*rows), Annotation())
    assert parsed.percentages == share
    assert parsed.cells["f", "n"] == first


def test_whole_percentages_are_not_taken_for_counts() -> None:
    with pytest.raises(OpenQuestionError, match="or percentages") as asked:
        parse_table(crossed("23 77", "30 70", counts=True, is_stated=False), Annotation())
    assert asked.value.keys == {"kind": "table", "percentages": "rows"}
    assert (
        parse_table(
            crossed("23 77", "30 70", counts=True, is_stated=False), Annotation(kind="table")
        ).percentages
        is None
    )
    assert (
        parse_table(crossed("23 77", "30 70", counts=True), Annotation()).percentages is None
    )  # a word says that they are counts
    assert (
        parse_table(crossed("23 77", "30 70"), Annotation(percentages="rows")).percentages == "rows"
    )


def test_percentages_with_totals_of_100_are_not_taken_for_counts() -> None:
    with pytest.raises(OpenQuestionError, match="or percentages"):
        parse_table(crossed("23 77 100", "30 70 100", columns="n s Total"), Annotation())


def test_totals_that_stand_first_are_not_taken_for_a_level() -> None:
    with pytest.raises(LineError, match="totals stand before the last"):
        parse_table(crossed("42 12 30", "90 40 50", columns="Total n s", counts=True), Annotation())


def test_other_numbers_are_asked_about() -> None:
    with pytest.raises(OpenQuestionError, match="neither counts nor shares"):
        parse_table(crossed("1.5 2.5", "3.5 9.9"), Annotation())


def test_a_comma_that_may_be_either_is_asked_about_unless_totals_tell() -> None:
    with pytest.raises(OpenQuestionError, match="In line 2 a comma may be a decimal sign"):
        parse_table(crossed("1,234 30", "40 50", counts=True), Annotation())
    assert (
        parse_table(crossed("1,234 30", "40 50", counts=True), Annotation(decimal=".")).people
        == 1354
    )
    whole = crossed(
        "1,234 30 1,264", "40 50 90", "1,274 80 1,354", columns="n s Sum", names="f m Sum"
    )
    assert parse_table(whole, Annotation()).people == 1354


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (("12 30", "4x 50"), "line 3: a cell is no number"),
        (("12.5 30", "4,5 50"), "line 3: its decimal sign is not that of line 2"),
        (("1 2", "3 4"), "two rows or columns have the same name"),
    ],
)
def test_what_cannot_be_read_names_its_line(rows: tuple[str, ...], words: str) -> None:
    names = "f f" if "same name" in words else "f m"
    with pytest.raises(LineError, match=words):
        parse_table(crossed(*rows, names=names, counts=True), Annotation())


def test_marks_without_a_number_ask_for_the_threshold() -> None:
    with pytest.raises(OpenQuestionError, match="Below which count"):
        parse_table(crossed("* 30", "40 50", counts=True), Annotation())
    assert (
        parse_table(crossed("* 30", "40 50", counts=True), Annotation(threshold=10)).threshold == 10
    )


class _Counted(str):
    """A name that counts how often it is compared."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        _Counted.comparisons += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_names_are_compared_about_once_each() -> None:
    names = [_Counted(f"level {k}") for k in range(2_000)]
    table = PrintedGrid(
        ("x",),
        None,
        tuple((name,) for name in names),
        (),
        tuple((PrintedText("12", line, 1),) for line in range(2, len(names) + 2)),
        counts=True,
    )
    assert parse_table(table, Annotation()).people == 24_000
    assert _Counted.comparisons < 20 * len(names)  # each with each other: 2,000 times as many
