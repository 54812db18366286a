"""A table as plain text."""

from chaffinch._base.text import text_table


def test_columns_are_as_wide_as_their_longest_words_and_lines_have_no_spaces_at_their_ends():
    assert text_table(["a", "long head"], [["wide cell", ""], ["x", "y"]]).splitlines() == [
        "a          long head",
        "wide cell",
        "x          y",
    ]


def test_a_head_alone():
    assert text_table(["a", "b"], []) == "a  b"
