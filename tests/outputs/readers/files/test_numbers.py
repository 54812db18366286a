"""Numbers as programs print them: decoration, decimal signs, marks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.outputs.readers.files.numbers import (
    PrintedText,
    is_number,
    is_whole,
    is_withheld_mark,
    number_text,
    parse_count,
    sign_of,
)
from chaffinch.outputs.readers.files.protocol import READERS, Annotation, Match, fit_keys


@pytest.mark.parametrize(
    ("printed", "sign", "plain"),
    [
        ("0.154***", ".", "0.154"),
        ("(0.0063)", ".", "0.0063"),
        ("[-1.50]", ".", "-1.50"),
        ("-.0113", ".", "-0.0113"),
        (".5", ".", "0.5"),
        ("1,473", ".", "1473"),
        ("1.473,5", ",", "1473.5"),
        ("0,25 *", ",", "0.25"),
        ("\u22121.5", ".", "-1.5"),
        ("12 %", ".", "12"),
        ("4.85e-06", ".", "4.85e-06"),
        ("1 473", ".", "1473"),
        ("1'473", ".", "1473"),
        ("12.0", ".", "12.0"),
        ("NA", ".", None),
        ("<10", ".", None),
        ("", ".", None),
        ("1.2.3", ".", None),
        ("12a", ".", None),
    ],
)
def test_a_printed_number_loses_its_decoration_and_keeps_its_digits(
    printed: str, sign: str, plain: str | None
) -> None:
    assert number_text(printed, sign) == plain


@given(
    st.integers(-(10**9), 10**9),
    st.integers(0, 6),
    st.sampled_from(["", "*", "***"]),
    st.booleans(),
)
def test_numbers_come_back_whatever_the_sign_and_the_stars(
    number: int, decimals: int, stars: str, brackets: bool
) -> None:
    plain = f"{number / 10**decimals:.{decimals}f}"
    for sign in ".,":
        shown = plain.replace(".", sign) + stars
        assert number_text(f"({shown})" if brackets else shown, sign) == plain


@pytest.mark.parametrize(
    ("cells", "sign"),
    [
        (["12.5", "1,234.5"], "."),
        (["12,5", "3"], ","),
        (["0,123"], ","),
        (["1,234,567"], "."),
        (["1.234.567"], ","),
        (["12", "7"], "."),
        (["1.234,5"], ","),
        (["1.234", "17"], "."),
    ],
)
def test_the_decimal_sign_is_told_by_digits(cells: list[str], sign: str) -> None:
    assert sign_of(cells).sign == sign


def test_a_comma_before_three_digits_alone_may_be_either() -> None:
    told = sign_of([PrintedText("17", 4), PrintedText("1,234", 5)])
    assert told.sign is None
    assert told.line == 5


def test_two_signs_in_one_file_are_named_by_their_lines() -> None:
    assert sign_of([PrintedText("12.5", 3), PrintedText("12,5", 9)]).mixed == (3, 9)


def test_marks_of_withheld_cells_are_no_numbers() -> None:
    assert all(is_withheld_mark(text) for text in ("<10", "< 10", "x", "*", "5-9", ">=20", ".."))
    assert not any(is_withheld_mark(text) for text in ("", "10", "-5", "total"))
    assert is_number("12 **")
    assert not is_number("<10")
    assert is_whole("12.0")
    assert not is_whole("12.5")


def test_help_gives_only_what_it_says() -> None:
    assert fit_keys(Annotation()) == {}
    assert fit_keys(Annotation(kind="ols", formula="y ~ x", n=3)) == {
        "kind": "ols",
        "formula": "y ~ x",
        "n": 3,
        "label": "y",
    }


def test_counts_have_separators_or_none() -> None:
    assert [parse_count(text) for text in ("1,473", "1473", "1.473")] == [1473, 1473, 1473]


def test_a_piece_begins_at_its_first_line_and_readers_are_registered() -> None:
    assert Match(range(3, 9), "R", lambda given: None).line == 3  # type: ignore[arg-type, return-value]
    assert {"r models", "r tables", "r tests", "stata logs", "drawn tables"} <= set(READERS.names)
