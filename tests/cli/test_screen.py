"""Tables that fit the screen, whatever is in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.cli.options import columns_that_fit, show_lines, show_table

CELLS = st.lists(
    st.lists(st.text("ab1.[]", max_size=30), min_size=5, max_size=5), min_size=1, max_size=4
)


@given(CELLS, st.integers(20, 200))
def test_every_column_is_in_one_part_and_the_first_in_all(rows, width):
    parts = columns_that_fit(["a", "b c", "d", "e", "f"], rows, width)
    assert all(part[0] == 0 for part in parts)
    assert [0, *(j for part in parts for j in part[1:])] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_lines_are_as_wide_as_the_terminal_and_no_number_is_cut(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    head = ["what was measured", *(f"figure {k}" for k in range(9))]
    show_table(head, [["a long name [of] a measure", *(f"0.12345{k}" for k in range(9))]])
    show_lines("A sentence that goes on and on, [with] brackets, " * 4, "")
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= int(columns)
    assert all(f"0.12345{k}" in shown for k in range(9))
    assert "[with]" in shown
