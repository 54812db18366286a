"""Pieces of pictures against brute force: axes, colours, text that fits, bars and dots."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch._base.svg import (
    SERIES,
    Axis,
    Dot,
    Drawing,
    bars,
    box,
    canvas,
    contrast,
    cut,
    dots,
    ink_on,
    text,
)
from chaffinch._base.text import width_of

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


@given(st.text(max_size=120), st.floats(20, 200))
def test_a_cut_name_fits(name, room):
    fitting = cut(name, room)
    assert width_of(fitting, 12) <= room or len(fitting.strip("\u2068\u2069")) <= 3


def test_bars_are_as_long_as_their_numbers():
    root = ET.fromstring(bars("k", "t", "d", {"a": 0.1, "b": 0.05, HOSTILE: 0.0}))
    lengths = [
        float(r.get("width")) for r in root.iter(f"{SVG}rect") if r.get("fill") == SERIES[0][0]
    ]
    assert lengths[0] == pytest.approx(2 * lengths[1], rel=0.01)
    assert lengths[2] == 1


def test_dots_stand_where_their_numbers_are_and_differ_in_shape():
    rows = [("m", [Dot("x", 0.0, -0.5, 0.5), Dot("y", 1.0)]), (HOSTILE, [Dot("x", 0.5)])]
    root = ET.fromstring(
        dots("k", "t", "d", rows, ("x", "y"), label="l", low=0.0, high=1.0, level=0.5)
    )
    circles = [float(c.get("cx")) for c in root.iter(f"{SVG}circle")]
    squares = [p.get("d") for p in root.iter(f"{SVG}path") if p.get("fill") == SERIES[1][0]]
    assert len(circles) == 2 + 1  # and one in the legend
    assert len(squares) == 1 + 1
    at_one = float(re.match(r"M([\d.]+)", squares[0])[1]) + 4.5
    assert circles[1] == pytest.approx((circles[0] + at_one) / 2, abs=0.1)


def test_a_drawing_is_well_formed_and_escapes_what_it_is_given(tmp_path):
    body = [
        box(1, 2, 30, 4, fill="#fff", stroke_dasharray="6 3"),
        text(3, 4, "<a> & 'b'", anchor="middle"),
    ]
    drawing = Drawing(canvas(40, 20, body, title="<t> & u", desc='"d"', defs="<marker id='m'/>"))
    root = ET.fromstring(drawing.svg)
    texts = [element.text for element in root.iter() if element.text and element.text.strip()]
    assert texts == ["<t> & u", '"d"', "<a> & 'b'"]
    assert root.get("viewBox") == "0 0 40 20"
    assert drawing._repr_html_() == drawing._repr_svg_() == drawing.svg
    assert repr(drawing) == "Drawing(&lt;t&gt; &amp; u)"
    drawing.save(tmp_path / "d.svg")
    assert (tmp_path / "d.svg").read_text() == drawing.svg
