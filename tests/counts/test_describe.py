"""Descriptions: rounded counts, no rare level, and one threshold for all of it."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import chaffinch
from chaffinch.counts import MemoryCounter, describe

ROWS = {"area": ["north"] * 60 + ["south"] * 24 + ["Sark"] * 4, "ill": [None] * 13 + ["yes", "no", "no"] * 25}


@pytest.fixture(scope="module")
def counter():
    return MemoryCounter(chaffinch.read(pa.table(ROWS), rare="keep"))


@pytest.mark.parametrize(
    ("threshold", "levels", "missing"),
    [(10, [["north", 60], ["south", 20]], 10), (5, [["north", 60], ["south", 25]], 15), (30, [["north", 60]], "<30")],
)
def test_counts_below_the_threshold_and_their_levels_do_not_show(counter, threshold, levels, missing):
    described = describe(counter, threshold=threshold)
    area, ill = described.columns
    assert [list(pair) for pair in area.common] == levels
    assert (area.missing, ill.missing) == (0, missing)
    for text in (json.dumps(described.to_dict()), described._repr_html_(), str(described.rows())):
        assert "Sark" not in text


def test_ten_is_the_threshold_unless_one_is_given(counter):
    assert describe(counter) == describe(counter, threshold=10)
