"""The picture of a network: well-formed, self-contained, nothing drawn behind anything."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.synth import Network
from chaffinch.synth.bayesnet.drawing import GAP, _crossings, network_layers, spread


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


@pytest.mark.parametrize("seed", range(5))
def test_nothing_overlaps_and_parents_stand_above(seed):
    rng = np.random.default_rng(seed)
    names = [f"n{i}" for i in range(12)]
    edges = [(names[i], names[j]) for i, j in combinations(range(12), 2) if rng.random() < 0.25]
    network = Network.from_edges(names, edges)
    layers = network_layers(network)
    row = {point: i for i, layer in enumerate(layers) for point in layer}
    assert all(row[a] < row[b] for a, b in edges)
    width = {point: 40.0 if isinstance(point, str) else 8.0 for point in row}
    x = spread(network, layers, width)
    for layer in layers:
        for a, b in pairwise(layer):
            assert x[b] - x[a] >= (width[a] + width[b]) / 2 + GAP - 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_crossings_are_those_of_all_pairs_of_links(seed):
    rng = np.random.default_rng(seed)
    upper, lower = [f"u{i}" for i in range(7)], [f"l{i}" for i in range(6)]
    links = [(a, b) for a in upper for b in lower if rng.random() < 0.4]
    rng.shuffle(links)
    links = [tuple(map(str, link)) for link in links]
    pairs = [(upper.index(a), lower.index(b)) for a, b in links]
    count = sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(pairs, 2))
    assert _crossings([upper, lower], links) == count > 0
