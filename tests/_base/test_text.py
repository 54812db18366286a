"""Tables, names and counts in words: aligned, turned by no name, masked where few records are behind them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch._base.masking import HIDDEN, THRESHOLD, masked_count, unknown_level, without_levels
from chaffinch._base.text import display_name, text_table


def test_columns_are_as_wide_as_their_longest_words_and_lines_have_no_spaces_at_their_ends():
    assert text_table(["a", "long head"], [["wide cell", ""], ["x", "y"]]).splitlines() == [
        "a          long head",
        "wide cell",
        "x          y",
    ]


def test_a_head_alone():
    assert text_table(["a", "b"], []) == "a  b"


def test_names_cannot_turn_the_words_around_them():
    assert "\u202e" not in display_name("a\u202eb")
    assert display_name("عمر") == "\u2068عمر\u2069"
    assert display_name("x\x00y") == "x�y"
    assert display_name("می\u200cروم").count("\u200c") == 1


@given(count=st.integers(0, 10_000), threshold=st.integers(1, 50), times=st.integers(1, 5))
def test_a_count_is_nothing_masked_or_rounded(count, threshold, times):
    shown = masked_count(count, threshold, times=times)
    if isinstance(shown, str):
        assert shown == f"<{threshold * times}"
        assert 0 < count < threshold * times
    else:
        assert shown % threshold == 0
        assert abs(shown - count) <= threshold / 2
        assert shown == 0 or shown >= threshold


def test_the_threshold_is_ten():
    assert THRESHOLD == 10
    assert [masked_count(count) for count in (0, 1, 9, 10, 14, 1236)] == [
        0,
        "<10",
        "<10",
        10,
        10,
        1240,
    ]
    assert masked_count(3.0) == "<10"
    assert masked_count(19, 20) == "<20"
    assert masked_count(25, times=3) == "<30"
    assert masked_count(pytest.approx(34).expected, times=3) == 30


@pytest.mark.parametrize("threshold", [3, 20])
def test_an_unknown_level_says_the_threshold_that_was_passed_down(threshold):
    said = str(
        unknown_level("level", "nort", ["north"], where=" of column 'area'", threshold=threshold)
    )
    assert said == (
        f"Unknown level 'nort' of column 'area'. Did you mean 'north'? Levels that {threshold} or more records have: north."
    )
    assert f"only where {threshold} or more records" in str(
        unknown_level("cell", "a|b", [], threshold=threshold)
    )


def test_a_rare_level_is_hidden_in_a_name():
    assert without_levels("area[T.Sark]:age", {"Sark"}) == f"area[T.{HIDDEN}]:age"
