"""Pieces of pictures against brute force: axes, colours, columns that are chosen, cells that are drawn."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.report.figures import SERIES, Axis, blend, contrast, cut, ink_on
from chaffinch.report.heatmap import SIGNED, STRENGTH, Matrices, heat_maps
from chaffinch.report.plots import Dot, bars, dots, sweep_plot
from chaffinch.report.words import shown, width_of

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script>\"&'\u202e\x00"
finite = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 6))


@given(low=finite, span=st.floats(1e-5, 1e6))
def test_an_axis_covers_its_numbers_with_few_round_ticks(low, span):
    axis = Axis(low, low + span, 10, 110)
    assert 2 <= len(axis.ticks) <= 8
    slack = 1e-9 * max(abs(low), span)
    assert axis.ticks[0] <= low + slack
    assert axis.ticks[-1] >= low + span - slack
    steps = np.diff(axis.ticks)
    assert np.allclose(steps, steps[0], rtol=1e-3, atol=1e-9 * max(abs(low), 1))
    assert axis(axis.ticks[0]) == pytest.approx(10, abs=0.1)  # a tenth of a pixel
    assert axis(axis.ticks[-1]) == pytest.approx(110, abs=0.1)


def test_an_axis_of_one_number_and_one_of_powers():
    assert Axis(3.0, 3.0, 0, 1)(3.0) == pytest.approx(0.5)
    assert Axis(0.0, 0.0, 0, 1)(0.0) == pytest.approx(0.5)
    powers = Axis(0.01, 10.0, 0, 300, log=True)
    assert powers.ticks == [0.01, 0.1, 1.0, 10.0]
    assert [powers(tick) for tick in powers.ticks] == pytest.approx([0, 100, 200, 300])
    assert Axis(2.0, 2.0, 0, 1, log=True)(2.0) == pytest.approx(0.5)


@given(st.tuples(*[st.integers(0, 255)] * 3))
def test_ink_reads_on_every_colour(colour):
    ink = {"#000": (0, 0, 0), "#fff": (255, 255, 255)}[ink_on(colour)]
    assert contrast(colour, ink) >= 4.5


def test_contrast_agrees_with_published_pairs():
    # https://www.w3.org/TR/WCAG21: #767676 is the lightest grey with 4.5 on white.
    assert contrast((0x76,) * 3, (255,) * 3) == pytest.approx(4.54, abs=0.01)
    assert contrast((0x77,) * 3, (255,) * 3) == pytest.approx(4.48, abs=0.01)


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


@given(st.text(max_size=120), st.floats(20, 200))
def test_a_cut_name_fits(name, room):
    fitting = cut(name, room)
    assert width_of(fitting, 12) <= room or len(fitting.strip("\u2068\u2069")) <= 3


def test_names_cannot_turn_the_words_around_them():
    assert "\u202e" not in shown("a\u202eb")
    assert shown("عمر") == "\u2068عمر\u2069"
    assert shown("x\x00y") == "x�y"
    assert shown("می\u200cروم").count("\u200c") == 1


def matrices(size: int, seed: int = 1, nulls: bool = True) -> dict:
    rng = np.random.default_rng(seed)
    out: dict = {"columns": [f"c{i}" for i in range(size)]}
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
    found = Matrices(data, most=7)
    worst = {
        name: max(
            abs(data["synthetic"][i][j] - data["original"][i][j])
            for j in range(30)
            if i != j and data["original"][i][j] is not None
        )
        for i, name in enumerate(data["columns"])
    }
    wanted = sorted(sorted(worst, key=worst.__getitem__, reverse=True)[:7], key=data["columns"].index)
    assert found.names == wanted
    at = [data["columns"].index(name) for name in wanted]
    for i, j in np.ndindex(7, 7):
        value = data["original"][at[i]][at[j]]
        assert found.original[i, j] == value or (value is None and math.isnan(found.original[i, j]))


def test_pairs_are_listed_once_the_largest_first_and_unknown_ones_last():
    pairs = Matrices(matrices(6)).pairs()
    assert len({frozenset(pair[:2]) for pair in pairs}) == 15
    sizes = [abs(pair[4]) for pair in pairs]
    assert sizes[:-1] == sorted(sizes[:-1], reverse=True)
    assert math.isnan(sizes[-1])


@pytest.mark.parametrize(
    "odd",
    [{}, {"columns": ["a", "b"]}, {"columns": ["a", "b"], "original": [[1.0, "x"], []], "synthetic": [[None, 2]]}],
)
def test_matrices_with_holes_become_unknown(odd):
    assert not np.isfinite(Matrices(odd).difference).any()


@pytest.mark.parametrize(("size", "signs"), [(2, False), (8, True), (25, False), (40, True)])
def test_maps_are_well_formed_and_every_pair_says_its_sign(size, signs):
    data = matrices(size, nulls=size > 2)
    data["columns"][0] = HOSTILE
    roots = [ET.fromstring(svg) for svg in heat_maps("k", "phi_k", Matrices(data), signs=signs)]
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
    data = {"columns": ["a", "b"], "original": [[1, 0.25], [0.25, 1]], "synthetic": [[1, 0.75], [0.75, 1]]}
    first, second, difference = heat_maps("k", "phi_k", Matrices(data), signs=False)
    for svg, words in ((first, ".25"), (second, ".75"), (difference, "+.50")):
        assert [t.text for t in ET.fromstring(svg).iter(f"{SVG}text")].count(words) == 2


def test_bars_are_as_long_as_their_numbers():
    root = ET.fromstring(bars("k", "t", "d", {"a": 0.1, "b": 0.05, HOSTILE: 0.0}))
    lengths = [float(r.get("width")) for r in root.iter(f"{SVG}rect") if r.get("fill") == SERIES[0][0]]
    assert lengths[0] == pytest.approx(2 * lengths[1], rel=0.01)
    assert lengths[2] == 1


def test_dots_stand_where_their_numbers_are_and_differ_in_shape():
    rows = [("m", [Dot("x", 0.0, -0.5, 0.5), Dot("y", 1.0)]), (HOSTILE, [Dot("x", 0.5)])]
    root = ET.fromstring(dots("k", "t", "d", rows, ("x", "y"), label="l", low=0.0, high=1.0, line=0.5))
    circles = [float(c.get("cx")) for c in root.iter(f"{SVG}circle")]
    squares = [p.get("d") for p in root.iter(f"{SVG}path") if p.get("fill") == SERIES[1][0]]
    assert len(circles) == 2 + 1  # and one in the legend
    assert len(squares) == 1 + 1
    at_one = float(re.match(r"M([\d.]+)", squares[0])[1]) + 4.5
    assert circles[1] == pytest.approx((circles[0] + at_one) / 2, abs=0.1)


@pytest.mark.parametrize("settings", [[0.01, 0.1, 1.0], [1.0, 2.0, 3.0], ["a", "b", HOSTILE], [2.0], [1.0, "x"]])
def test_a_sweep_has_a_point_for_each_synthesis(settings):
    points = [(place, 0.1 * copy) for place in settings for copy in (1, 2)]
    root = ET.fromstring(sweep_plot("k", "mu", HOSTILE, points))
    assert len(list(root.iter(f"{SVG}circle"))) == len(points)
