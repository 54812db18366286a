"""The plot of a sweep."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from chaffinch.report.plots import sweep_plot

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script>\"&'\u202e\x00"


@pytest.mark.parametrize("settings", [[0.01, 0.1, 1.0], [1.0, 2.0, 3.0], ["a", "b", HOSTILE], [2.0], [1.0, "x"]])
def test_a_sweep_has_a_point_for_each_synthesis(settings):
    points = [(place, 0.1 * copy) for place in settings for copy in (1, 2)]
    root = ET.fromstring(sweep_plot("k", "mu", HOSTILE, points))
    assert len(list(root.iter(f"{SVG}circle"))) == len(points)
