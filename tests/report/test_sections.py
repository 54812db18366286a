"""Pieces of a page are checked when they are made."""

from __future__ import annotations

import pytest

from chaffinch.report.sections import Heading, PageTable


def test_a_row_has_as_many_cells_as_the_head():
    assert PageTable("c", ("a", "b"), (Heading("h"), ("x", "y"))).rows[1] == ("x", "y")
    with pytest.raises(ValueError, match="2 columns"):
        PageTable("c", ("a", "b"), (("x",),))
