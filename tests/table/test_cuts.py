"""Bins cut at public numbers: nothing that is drawn changes, and no bin lies on both sides of a cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.table.bins import fit_intervals
from chaffinch.table.rules.constraints import above, at_or_above, cut_intervals, drawn_ranges
from chaffinch.table.schema import Column


def codec_of(values, **settings):
    whole = settings.pop("whole", True)
    column = Column("x", "integer" if whole else "float", **settings)
    distinct, counts = np.unique(np.asarray(values), return_counts=True)
    return fit_intervals(column, distinct, counts.astype(np.float64), whole=whole)


@given(st.lists(st.integers(-50, 150), max_size=8), st.integers(0, 3), st.booleans())
def test_codes_are_finer_and_numbers_stay_in_them(cuts, seed, whole):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 100, 400) if whole else rng.normal(50, 20, 400).round(seed)
    codec = codec_of(values, whole=whole, bins=6, decimals=None if whole or seed == 0 else seed)
    fine = cut_intervals(codec, [float(cut) for cut in cuts])
    low, high = drawn_ranges(fine)
    for cut in cuts:
        assert not ((low < cut) & (high >= cut)).any()
    coarse_codes, fine_codes = codec.encode(values), fine.encode(values)
    for code in np.unique(fine_codes):  # each new code lies in one old one
        assert len(np.unique(coarse_codes[fine_codes == code])) == 1
    drawn = fine.decode(np.repeat(np.arange(fine.n_values), 20), rng)
    first, last = (np.repeat(ends, 20) for ends in (low, high))
    assert (drawn >= first).all()
    assert (drawn <= last).all()
    assert cut_intervals(fine, [float(cut) for cut in cuts]).to_dict() == fine.to_dict()


def test_what_is_drawn_from_the_halves_together_is_what_the_bin_drew():
    """Kolmogorov and Smirnov's distance of 20,000 draws each; 1.95 times the square root of 2/n is passed once in a thousand."""
    values = np.random.default_rng(1).gamma(2.0, 20.0, 5000)
    codec = codec_of(values, whole=False, bins=1)
    fine = cut_intervals(codec, [30.0])
    rng = np.random.default_rng(2)
    share = float(np.interp(30.0, codec.knots[0][1], codec.knots[0][0]))
    whole = np.sort(codec.decode(np.zeros(20_000, np.int64), rng))
    halves = np.sort(fine.decode((rng.random(20_000) >= share).astype(np.int64), rng))
    points = np.concatenate([whole, halves])
    gap = np.abs(np.searchsorted(whole, points) - np.searchsorted(halves, points)).max() / 20_000
    assert gap < 1.95 * np.sqrt(2 / 20_000)


def test_numbers_are_cut_on_the_grid_of_the_column():
    minutes = codec_of([], bounds=(0, 3600), step=60, bins=4, binning="width")
    assert (at_or_above(minutes, 90), above(minutes, 60), above(minutes, 61)) == (120, 120, 120)
    cents = codec_of([], whole=False, bounds=(0, 10), decimals=2, bins=4, binning="width")
    assert (at_or_above(cents, 0.1), above(cents, 0.1), at_or_above(cents, 0.001)) == (
        0.1,
        0.11,
        0.01,
    )
    free = codec_of([], whole=False, bounds=(0, 10), bins=4, binning="width")
    assert at_or_above(free, 0.5) == 0.5
    assert above(free, 0.5) > 0.5


def test_numbers_of_their_own_are_no_bins():
    codec = codec_of([*[18] * 500, *range(60)], bins=5)
    assert 18 in codec.atoms
    fine = cut_intervals(codec, [18.0, 19.0])
    low, high = drawn_ranges(fine)
    alone = (low == 18) & (high == 18)
    assert alone.sum() == 1
    assert ((high < 18) | (low > 18) | alone).all()


@pytest.mark.parametrize("cut", [-10.0, 0.0, 99.5, 1000.0])
def test_a_cut_outside_changes_nothing(cut):
    codec = codec_of([], bounds=(0, 99), bins=4, binning="width")
    assert cut_intervals(codec, [cut]) is codec
