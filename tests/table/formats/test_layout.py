"""Where the names of columns stand: found where rows at the top leave no doubt, asked for where they do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chaffinch
from chaffinch.errors import InputError
from chaffinch.table.formats.layout import distinct_names, find_names, plain_names

RECORDS = [
    ["39", "State-gov", "2.5"],
    ["50", "Private", "1.5"],
    ["38", "Private", "0.5"],
    ["53", "State-gov", "2.0"],
]


def rows(*lines):
    return [line.split(",") for line in lines]


@pytest.mark.parametrize(
    ("first", "row"),
    [
        ("age,job,pay", 0),
        ("country,2001,2002", 0),  # years
        ("0,1,2,3", 0),  # numbers of columns, as pandas writes them
        ("44,Private,1.5", None),
        ("44,,1.5", None),
        ("4.5,5.5,1.5", None),
        ("2020-01-02,Private,NA", None),
    ],
)
def test_names_or_a_record(first, row):
    assert find_names([*rows(first), *RECORDS], None, "'t.csv'").row == row


@pytest.mark.parametrize("first", ["44,Clerk,1.5", "Bo,34,Xu", "7,8,9"])
def test_a_doubt_is_an_error_that_quotes_no_cell(first):
    with pytest.raises(InputError) as caught:
        find_names([*rows(first), *RECORDS], None, "'t.csv'")
    assert "--header yes or --header no" in str(caught.value)
    assert not any(cell in str(caught.value) for cell in first.split(",") if cell)


def test_words_alone_are_a_record_if_all_of_them_stand_below_again():
    below = rows("f,no", "m,yes", "f,yes", "m,no")
    assert find_names([*rows("m,no"), *below], None, "x").names == ("column_1", "column_2")
    assert find_names([*rows("sex,ill"), *below], None, "x").names == ("sex", "ill")


def test_what_is_above_the_names_is_left_out():
    names = find_names([*rows("Report,,", ",,", "age,job,pay"), *RECORDS], None, "x")
    assert (names.names, names.row, names.skip, names.inferred) == (
        ("age", "job", "pay"),
        2,
        3,
        ("line",),
    )
    assert "line 3" in str(names.notes[0])


def test_row_names_of_r_have_no_name():
    names = find_names([["age", "job"], *RECORDS], None, "x")
    assert names.names == ("column_1", "age", "job")
    assert "without a name" in str(names.notes[0])


def test_units():
    below = rows("1.5,70,f", "2.5,80,m", "3.5,90,f", "1.0,60,m")
    names = find_names([*rows("dose,weight,sex", "mg,kg,", *()), *below], None, "x")
    assert (names.units, names.skip) == (("mg", "kg", ""), 2)
    assert find_names([*rows("dose,weight,sex", "(mg),,"), *below], None, "x").units == (
        "(mg)",
        "",
        "",
    )
    # One word above one column of numbers may be a missing code or a fault: the reader of the column speaks of it.
    assert find_names([*rows("dose,weight,sex", "none,75,f"), *below], None, "x").units == ()
    assert find_names([*rows("dose,weight,sex", "2,75,f"), *below], None, "x").units == ()


def test_given_headers():
    every = [*rows("1,2,3", "age,job,pay", "years,,EUR"), *RECORDS]
    assert plain_names(every, "yes", "x").names == ("1", "2", "3")
    assert plain_names(every, "no", "x").names == ("column_1", "column_2", "column_3")
    assert plain_names(every, 2, "x").names == ("age", "job", "pay")
    assert plain_names(every[1:], "units", "x").units == ("years", "", "EUR")
    with pytest.raises(InputError, match="has no line 99"):
        plain_names(every, 99, "x")


@given(
    st.lists(
        st.sampled_from(["a", "b", "", " ", "a_2", "column_2", "column_3", "column_2_"]),
        min_size=1,
        max_size=8,
    )
)
def test_names_differ_and_are_not_blank(cells):
    names, notes = distinct_names(cells)
    assert len(set(names)) == len(names) == len(cells)
    assert all(name.strip() for name in names)
    assert all(
        name == cell
        for name, cell in zip(names, cells, strict=True)
        if cell.strip() and cells.count(cell) == 1
    )
    assert bool(notes) == (list(names) != cells)


def test_the_layout_is_in_the_table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "# made by hand\nage;job;pay\n" + "\n".join(";".join(row) for row in RECORDS * 5) + "\n"
    )
    layout = chaffinch.read(path).origin.layout
    assert (layout.format, layout.encoding, layout.delimiter, layout.line, layout.inferred) == (
        "csv",
        "utf-8",
        ";",
        2,
        ("comment",),
    )
