"""Where columns stand in a picture: nothing overlaps, parents stand above."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from chaffinch.synth import Network
from chaffinch.synth.bayesnet.layers import GAP, layered, spread


@pytest.mark.parametrize("seed", range(5))
def test_nothing_overlaps_and_parents_stand_above(seed):
    rng = np.random.default_rng(seed)
    names = [f"n{i}" for i in range(12)]
    edges = [(names[i], names[j]) for i, j in combinations(range(12), 2) if rng.random() < 0.25]
    network = Network.of(names, edges)
    layers = layered(network)
    row = {point: i for i, layer in enumerate(layers) for point in layer}
    assert all(row[a] < row[b] for a, b in edges)
    width = {point: 40.0 if isinstance(point, str) else 8.0 for point in row}
    x = spread(network, layers, width)
    for layer in layers:
        for a, b in pairwise(layer):
            assert x[b] - x[a] >= (width[a] + width[b]) / 2 + GAP - 1e-6
