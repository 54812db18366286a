"""The picture of a network: well-formed, self-contained, nothing drawn behind anything."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pyarrow as pa

import chaffinch


def model(**settings):
    rng = np.random.default_rng(1)
    base = rng.integers(0, 3, 400)
    frame = {f"c{i}": ((base + rng.integers(0, 2, 400)) % 3).astype(str) for i in range(7)}
    return chaffinch.BayesNet(parents=2, **settings).fit(chaffinch.read(pa.table(frame)), seed=1)


def test_the_picture_is_well_formed_and_names_what_it_shows():
    drawn = model(label="c0", sensitive=("c1", "c2"))
    svg = drawn.plot().svg
    root = ET.fromstring(svg)
    space = "{http://www.w3.org/2000/svg}"
    words = [element.text for element in root.iter(f"{space}text")]
    assert {*drawn.network.order, "label", "sensitive", "other"} <= set(words)
    assert len([e for e in root.iter(f"{space}path") if e.get("marker-end")]) == len(
        drawn.network.edges
    )
    assert root.find(f"{space}title") is not None
    assert root.find(f"{space}desc") is not None
    for forbidden in ("<script", "href", "http://", "url(http"):
        assert forbidden not in svg.replace("http://www.w3.org/2000/svg", "")


def test_names_are_escaped():
    frame = pa.table({'<b>"&': ["x", "y"] * 20, "b": ["p", "q"] * 20})
    svg = chaffinch.BayesNet(parents=1).fit(chaffinch.read(frame), seed=1).plot().svg
    ET.fromstring(svg)
    assert "<b>" not in svg


def test_a_network_without_edges_is_drawn():
    frame = pa.table({"a": ["x", "y"] * 20, "b": ["p", "q"] * 20})
    svg = chaffinch.Independent().fit(chaffinch.read(frame)).plot().svg
    assert "No edges" in svg
