"""Lines through points, maps of relations between columns, and names beside points."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch._base.svg import Axis, blend
from chaffinch.report.charts import (
    SIGNED,
    STRENGTH,
    Curve,
    Matrices,
    Point,
    PointLabels,
    curves,
    frame,
    heat_maps,
)
from chaffinch.utility.phi_k import PhiK


def test_names_of_lines_are_escaped():
    (left, right), (bottom, top) = frame()
    line = Curve("<b>&", (Point(0, 0), Point(1, 1, 0.5, 1.0)))
    drawn = str(
        curves(
            "k",
            "t",
            "d",
            [line],
            across=Axis(0, 1, left, right),
            up=Axis(0, 1, bottom, top),
            labels=("x", "y"),
        )
    )
    assert "<b>" not in drawn
    assert "&lt;b&gt;&amp;" in drawn


SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script>\"&'\u202e\x00"


def test_ramps_start_and_end_where_they_say_and_blue_stays_below_zero():
    for ramp in (STRENGTH, SIGNED):
        assert blend(ramp, 0.0) == ramp[0]
        assert blend(ramp, 1.0) == ramp[-1]
        assert blend(ramp, 7.0) == ramp[-1]
    for place in np.linspace(0, 0.45, 10):
        (r, _, b), (red, _, blue) = blend(SIGNED, place), blend(SIGNED, 1 - place)
        assert b > r
        assert red > blue
    assert blend(SIGNED, 0.5) == (255, 255, 255)


def matrices(size: int, seed: int = 1, nulls: bool = True) -> dict:
    rng = np.random.default_rng(seed)
    out: dict = {"value": 0.1, "columns": [f"c{i}" for i in range(size)]}
    for side in ("original", "synthetic"):
        values = np.tril(rng.random((size, size)), -1)
        rows = (values + values.T).tolist()
        if nulls:
            rows[0][1] = rows[1][0] = None
        out[side] = rows
    return out


@pytest.mark.parametrize("seed", range(3))
def test_the_columns_with_the_largest_differences_are_shown(seed):
    data = matrices(30, seed)
    found = Matrices(PhiK.from_dict(data), max_columns=7)
    worst = {
        name: max(
            abs(data["synthetic"][i][j] - data["original"][i][j])
            for j in range(30)
            if i != j and data["original"][i][j] is not None
        )
        for i, name in enumerate(data["columns"])
    }
    wanted = sorted(
        sorted(worst, key=worst.__getitem__, reverse=True)[:7], key=data["columns"].index
    )
    assert found.names == wanted
    at = [data["columns"].index(name) for name in wanted]
    for i, j in np.ndindex(7, 7):
        value = data["original"][at[i]][at[j]]
        assert found.original[i, j] == value or (value is None and math.isnan(found.original[i, j]))


def test_pairs_are_listed_once_the_largest_first_and_unknown_ones_last():
    pairs = Matrices(PhiK.from_dict(matrices(6))).pairs()
    assert len({frozenset(pair[:2]) for pair in pairs}) == 15
    sizes = [abs(pair[4]) for pair in pairs]
    assert sizes[:-1] == sorted(sizes[:-1], reverse=True)
    assert math.isnan(sizes[-1])


@pytest.mark.parametrize(
    "odd",
    [
        {"columns": ["a", "b"]},
        {"columns": ["a", "b"], "original": [[1.0, 0.5], []], "synthetic": [[None, 2]]},
    ],
)
def test_matrices_with_holes_are_refused(odd):
    with pytest.raises(InputError, match="its matrices need 2 rows and columns"):
        PhiK.from_dict(odd)


@pytest.mark.parametrize(("size", "signs"), [(2, False), (8, True), (25, False), (40, True)])
def test_maps_are_well_formed_and_every_pair_says_its_sign(size, signs):
    data = matrices(size, nulls=size > 2)
    data["columns"][0] = HOSTILE
    roots = [
        ET.fromstring(svg)
        for svg in heat_maps("k", "phi_k", Matrices(PhiK.from_dict(data)), signs=signs)
    ]
    assert len({root.get("id") for root in roots}) == 3
    titles = [t.text for t in roots[2].iter(f"{SVG}title")][1:]
    assert len(titles) == size * (size - 1) // (1 if size <= 20 else 2)
    for title in titles:
        told = re.search(r": (\S+), now (\S+) \(([+−]?)([\d.]+)\)$", title)
        assert told or title.endswith(": not defined")
        if told and float(told[4]):
            assert told[3] == ("+" if float(told[2]) > float(told[1]) or told[3] == "+" else "−")
    # Every cell of the original's map, drawn as paths by shade: all but the diagonal.
    starts = [len(re.findall("M", path.get("d"))) for path in roots[0].iter(f"{SVG}path")]
    assert sum(starts) == size * (size - 1)


def test_numbers_in_cells_are_those_of_the_matrix():
    data = {
        "value": 0.1,
        "columns": ["a", "b"],
        "original": [[1, 0.25], [0.25, 1]],
        "synthetic": [[1, 0.75], [0.75, 1]],
    }
    first, second, difference = heat_maps("k", "phi_k", Matrices(PhiK.from_dict(data)), signs=False)
    for svg, words in ((first, ".25"), (second, ".75"), (difference, "+.50")):
        assert [t.text for t in ET.fromstring(svg).iter(f"{SVG}text")].count(words) == 2


@given(
    st.lists(
        st.tuples(
            st.floats(0, 300), st.floats(0, 200), st.sampled_from(["start", "middle", "end"])
        ),
        max_size=12,
    )
)
def test_names_lie_over_no_other_while_there_is_room(places):
    labels = PointLabels(top=10.0, bottom=1e6, room=80.0, step=14.0)
    for number, (x, y, anchor) in enumerate(places):
        labels.add(x, y, f"name {number}", fill="black", anchor=anchor)
    boxes = labels.taken
    assert all(y >= 10 for _, _, y in boxes)
    for i, (start, end, y) in enumerate(boxes):
        assert all(
            end <= other[0] or other[1] <= start or abs(y - other[2]) >= 14 for other in boxes[:i]
        )
