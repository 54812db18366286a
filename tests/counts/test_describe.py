"""Descriptions: rounded counts, no rare level, and one threshold for all of it."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import chaffinch
from chaffinch.counts import MemoryCounter, describe

ROWS = {
    "area": ["north"] * 60 + ["south"] * 24 + ["Sark"] * 4,
    "ill": [None] * 13 + ["yes", "no", "no"] * 25,
}


@pytest.fixture(scope="module")
def counter():
    return MemoryCounter(chaffinch.read(pa.table(ROWS), rare="keep"))


@pytest.mark.parametrize(
    ("threshold", "levels", "missing"),
    [
        (10, [["north", 60], ["south", 20]], 10),
        (5, [["north", 60], ["south", 25]], 15),
        (30, [["north", 60]], "<30"),
    ],
)
def test_counts_below_the_threshold_and_their_levels_do_not_show(
    counter, threshold, levels, missing
):
    described = describe(counter, threshold=threshold)
    area, ill = described.columns
    assert [list(pair) for pair in area.common] == levels
    assert (area.missing, ill.missing) == (0, missing)
    for text in (json.dumps(described.to_dict()), described._repr_html_(), str(described.rows())):
        assert "Sark" not in text


def test_ten_is_the_threshold_unless_one_is_given(counter):
    assert describe(counter) == describe(counter, threshold=10)


@pytest.mark.parametrize("absent", [1629, 1628, 1625, 1620, 815, 0])
def test_no_rounded_count_is_above_the_rows(absent):
    table = pa.table({"a": [None] * absent + ["x"] * (1629 - absent), "b": ["one"] * 1629})
    found = describe(chaffinch.read(table, rare="keep"))
    a, b = found.columns
    for count in (a.missing, *(n for _, n in (*a.common, *b.common)), *b.cells):
        assert isinstance(count, str) or count <= found.n_rows == 1629
    assert (a.missing == 1629) is (absent == 1629)  # all of them, and only then
    assert dict(b.common)["one"] == 1629
