"""Heat maps of pairs, side by side on one scale."""

from __future__ import annotations

import re

from chaffinch.report.utility import pair_picture, pairs_figure
from chaffinch.utility.shapes import PairShape, TableShapes

PAIR = PairShape(
    ("sex", "town"),
    (("f", "m"), ("Leeds", "York")),
    (0.5, None, 0.1, 0.4),
    (0.25, 0.25, 0.25, 0.25),
    0.125,
)


def test_equal_shares_have_equal_shades_in_both_maps():
    drawn = pair_picture("k", PAIR, 10)
    cells = {
        said: shade
        for shade, said in re.findall(r'fill="(#\w+|none)"[^>]*><title>([^<]+)</title>', drawn)
    }
    assert len(cells) == 8
    assert len({shade for said, shade in cells.items() if said.startswith("synthetic")}) == 1
    assert next(shade for said, shade in cells.items() if "fewer than 10" in said) == "none"
    darkest = next(shade for said, shade in cells.items() if "original, f × Leeds" in said)
    assert darkest == "#08306b"


def test_what_was_chosen_is_said():
    figure = pairs_figure(TableShapes((), (PAIR,), 2), lambda names: "chosen: town is protected")
    assert "chosen: town is protected" in figure.pictures[0]
    assert figure.caption == "The pair of columns furthest from the original"
    assert ("f × York", "fewer than 10 people", "25\xa0%") in figure.table.rows
    assert pairs_figure(TableShapes(), lambda names: "") is None
