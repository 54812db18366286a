"""Codecs rest on many records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import chaffinch


def test_no_atom_edge_or_knot_rests_on_fewer_than_ten_records():
    """Every number in a codec is a value of ten records or more, or differs from every original number."""
    rng = np.random.default_rng(8)
    for values in (
        rng.normal(size=500),
        np.exp(rng.normal(size=500) * 3),
        rng.integers(0, 7, 500) + rng.random(500),
    ):
        table = chaffinch.read(pa.table({"x": values, "y": ["a", "b"] * 250}))
        codec = table.schema["x"].codec
        inner = np.concatenate([codec.starts, *(knot[1] for knot in codec.knots)])
        assert not np.isin(inner, values).any()
        assert len(codec.atoms) == 0
