"""Drawings: well-formed, escaped, shown by notebooks and saved whole."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from chaffinch._base.svg import Drawing, canvas, label, rectangle


def test_a_drawing_is_well_formed_and_escapes_what_it_is_given(tmp_path):
    body = [
        rectangle(1, 2, 30, 4, fill="#fff", dashes="6 3"),
        label(3, 4, "<a> & 'b'", anchor="middle"),
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
