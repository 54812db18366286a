"""Small pictures of columns: what is hidden is drawn alike, whatever it hides."""

from __future__ import annotations

import re

from chaffinch.report.utility import column_picture, columns_figure
from chaffinch.utility.shapes import ColumnShape, TableShapes

SEX = ColumnShape("sex", "bars", ("f", "m", "other"), (0.6, 0.4, None), (0.5, 0.5, None))
AGE = ColumnShape(
    "<age>",
    "histogram",
    ("below 20", "20 to below 40", "40 or more"),
    (0.2, 0.8, None),
    (0.3, 0.7, 0.01),
)


def test_bars_are_as_long_as_their_shares():
    drawn = column_picture("k", SEX, 10)
    widths = [
        float(width)
        for width in re.findall(r'width="([\d.]+)" height="[\d.]+" fill="#0072B2"', drawn)
    ]
    assert abs(widths[0] / widths[1] - 1.5) < 0.01
    heights = [
        float(height)
        for height in re.findall(r'height="([\d.]+)" fill="#0072B2"', column_picture("k", AGE, 10))
    ]
    assert abs(heights[1] / heights[0] - 4) < 0.02


def test_what_is_hidden_looks_the_same_everywhere():
    drawn = column_picture("k", SEX, 10) + column_picture("k", AGE, 10)
    hidden = re.findall(r'<rect [^>]*class="hidden"/>', drawn)
    assert len(hidden) == 3
    assert all('width="4.0"' in box or 'height="4.0"' in box for box in hidden)
    assert "fewer than 10 people" in drawn


def test_farthest_columns_stand_first_with_their_numbers():
    figure = columns_figure(TableShapes((SEX, AGE), (), 3), {"sex": 0.01, "<age>": 0.2})
    assert "&lt;age&gt;: original" in figure.pictures[0]
    assert "JS 0.200" in figure.pictures[0]
    assert figure.caption.endswith("the first 2 of 3 columns")
    assert ("other", "fewer than 10 people", "fewer than 10 people") in figure.table.rows
    assert columns_figure(TableShapes(), {}) is None
