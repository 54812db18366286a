"""Drawn rows looked up in an original, whole or in slices, against a set of tuples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaffinch.stats import equal as equal_module
from chaffinch.stats.equal import KeyedSlice
from chaffinch.table.codes import Codes

SIZES = (3, 4, 300)


def codes_of(rng, n):
    return Codes.of([rng.integers(0, size, n) for size in SIZES], SIZES)


def rows_of(codes):
    return list(zip(*(codes[j].tolist() for j in range(3)), strict=True))


@given(
    st.integers(0, 10**6),
    st.lists(st.integers(0, 60), min_size=1, max_size=4),
    st.integers(0, 60),
    st.sampled_from([8, 64, 1 << 22]),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_as_a_set_of_rows_finds_them(monkeypatch, seed, parts, drawn, most):
    monkeypatch.setattr(equal_module, "MOST_KEYED", most)
    rng = np.random.default_rng(seed)
    originals, synthetic = [codes_of(rng, n) for n in parts], codes_of(rng, drawn)
    keyed = KeyedSlice.of(iter(originals), SIZES, sum(parts))
    known = {row for codes in originals for row in rows_of(codes)}
    chosen = equal_module._in_slice(synthetic, keyed.bits)
    inside = [row for i, row in enumerate(rows_of(synthetic)) if chosen is None or chosen[i]]
    assert keyed.look_up(synthetic) == (sum(row in known for row in inside), len(inside))
    assert keyed.all_rows == (sum(parts) <= most)


def test_a_slice_holds_its_share_of_rows_and_estimates_the_whole(monkeypatch):
    """20,000 rows of which half are copies, one in eight looked up: 2,500 of them, 1,250 equal; six standard deviations are 280 and 150."""
    monkeypatch.setattr(equal_module, "MOST_KEYED", 2_500)
    rng = np.random.default_rng(1)
    sizes = (50_000, 60_000)
    original = Codes.of([rng.integers(0, size, 20_000) for size in sizes], sizes)
    fresh = Codes.of([rng.integers(0, size, 20_000) for size in sizes], sizes)
    half = np.arange(20_000) % 2 == 0
    synthetic = Codes.of([np.where(half, original[j], fresh[j]) for j in range(2)], sizes)
    keyed = KeyedSlice.of([original], sizes, 20_000)
    equal, compared = keyed.look_up(synthetic)
    assert keyed.bits == 3
    assert compared == pytest.approx(2_500, abs=280)
    assert equal == pytest.approx(1_250, abs=220)
