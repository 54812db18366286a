"""Atoms, bins and the in-bin sketch, against hand-worked cases and plain quantiles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.table.bins import fit_intervals
from chaffinch.table.codec import Intervals, codec_from_dict
from chaffinch.table.schema import Column


def fit(values, *, whole=None, **declared) -> Intervals:
    values = np.asarray(values)
    whole = values.dtype.kind == "i" if whole is None else whole
    distinct, counts = np.unique(values, return_counts=True)
    column = Column("x", "integer" if whole else "float", **declared)
    return fit_intervals(column, distinct, counts.astype(float), whole=whole)


def draw(codec: Intervals, codes, seed=0):
    return codec.decode(np.asarray(codes), np.random.default_rng(seed))


def test_few_distinct_values_are_all_atoms():
    values = np.repeat(np.arange(1, 17), 20)
    codec = fit(values)
    assert codec.atoms.tolist() == list(range(1, 17))
    assert len(codec.starts) == 0
    assert np.array_equal(draw(codec, codec.encode(values)), values)


def test_rare_values_beside_atoms_go_to_the_nearest_atom():
    values = np.array([0] * 50 + [10] * 50 + [3] * 4 + [8] * 4)
    codec = fit(values)
    assert codec.atoms.tolist() == [0, 10]
    assert codec.size == 2
    assert codec.encode(np.array([-5, 3, 4, 6, 8, 99])).tolist() == [0, 0, 0, 1, 1, 1]


def test_a_spike_is_an_atom_and_the_rest_is_binned():
    rng = np.random.default_rng(1)
    values = np.where(rng.random(10_000) < 0.9, 0, rng.integers(1, 100_000, 10_000))
    codec = fit(values)
    assert codec.atoms.tolist() == [0]
    assert len(codec.starts) == 19  # 20 levels in all
    held = np.bincount(codec.encode(values), minlength=20)
    assert held[0] > 8900
    assert held[1:].min() > 30  # about 1,000 records in 19 bins
    assert np.array_equal(
        codec.encode(np.sort(values)), np.sort(codec.encode(values))
    )  # codes rise with values


def test_atoms_take_at_most_half_of_the_levels():
    # Twelve heavy values among many light ones: the ten heaviest (half of 20) are atoms.
    values = np.concatenate(
        [np.repeat(np.arange(12) * 1000, np.arange(300, 312)), np.arange(20_000, 21_000)]
    )
    codec = fit(values)
    assert codec.atoms.tolist() == [i * 1000 for i in range(2, 12)]


@given(
    st.integers(0, 10_000),
    st.sampled_from(["normal", "heavy", "spiky", "whole", "tiny"]),
    st.integers(0, 2000),
)
@settings(max_examples=60, deadline=None)
def test_a_drawn_number_encodes_to_its_own_bin(seed, shape, n):
    rng = np.random.default_rng(seed)
    values = {
        "normal": rng.normal(size=n),
        "heavy": np.exp(rng.normal(size=n) * 4),
        "spiky": np.where(rng.random(n) < 0.7, 1.5, np.round(rng.normal(size=n), 1)),
        "whole": (rng.integers(0, 12, n) ** 3).astype(np.int64),
        "tiny": rng.normal(size=n) * 1e-300,
    }[shape]
    if not n:
        return
    decimals = 1 if shape == "spiky" else None
    codec = fit(values, decimals=decimals)
    codes = codec.encode(values)
    drawn = draw(codec, codes, seed)
    assert np.array_equal(codec.encode(drawn), codes)
    if len(codec.starts) and not len(codec.atoms):
        assert np.bincount(codes).min() >= min(10, n)
    back = codec_from_dict(codec.to_dict())
    assert np.array_equal(back.encode(values), codes)
    assert np.array_equal(draw(back, codes, seed), drawn)


def test_the_distribution_is_kept():
    """The two-sample KS distance of 20,000 values and draws for their codes stays under .01.

    Two independent samples of this size differ by more than .0195 once in a thousand; codes fix the share of
    each bin, so only the shape inside bins is left to differ.
    """
    rng = np.random.default_rng(3)
    for values in (
        rng.normal(size=20_000),
        rng.gamma(0.5, 10, 20_000),
        rng.integers(17, 91, 20_000),
    ):
        codec = fit(values)
        drawn = draw(codec, codec.encode(values))
        assert scipy.stats.ks_2samp(values, drawn).statistic < 0.01
        assert drawn.mean() == pytest.approx(values.mean(), abs=0.03 * values.std())
        assert drawn.std() == pytest.approx(values.std(), rel=0.03)


def test_the_ends_are_those_of_the_tail_whatever_the_outermost_records_are():
    """Of evenly spread records the tail is as even: the end is half a step beyond the highest, wherever nine of them are moved to."""
    values = np.arange(5000.0, 6000.0)
    moved = np.concatenate([values[9:-9], -(10.0 ** np.arange(4, 13)), 10.0 ** np.arange(4, 13)])
    for records in (values, moved):
        codec = fit(records)
        drawn = draw(codec, np.repeat([0, codec.size - 1], 50_000))
        assert drawn.min() == pytest.approx(4999.5, abs=0.3)
        assert drawn.max() == pytest.approx(5999.5, abs=0.3)


def test_declared_bounds_are_reached_and_kept():
    rng = np.random.default_rng(2)
    values = rng.uniform(10, 90, 2000)
    codec = fit(values, bounds=(0.0, 100.0))
    drawn = draw(codec, np.tile(codec.encode(values), 5))
    assert drawn.min() >= 0
    assert drawn.max() <= 100
    assert drawn.min() < 10
    assert drawn.max() > 90


def test_equal_width_bins_are_the_papers_twenty():
    values = np.concatenate(
        [np.zeros(10), np.full(10, 100.0), np.random.default_rng(0).uniform(0, 100, 1000)]
    )
    codec = fit(values, binning="width", bins=20, bounds=(0.0, 100.0))
    assert codec.starts.tolist() == pytest.approx(np.arange(0, 100, 5).tolist())
    expected = np.histogram(values, bins=np.linspace(0, 100, 21))[0]
    assert np.array_equal(np.bincount(codec.encode(values), minlength=20), expected)


def test_declared_edges_and_atoms():
    codec = fit(
        np.array([5, 20, 40, 0, 0]), binning="edges", edges=(0.0, 18.0, 65.0, 120.0), atoms=(0.0,)
    )
    assert codec.starts.tolist() == [0, 18, 65]
    assert codec.encode(np.array([0, 1, 17, 18, 64, 65, 120])).tolist() == [0, 1, 1, 2, 2, 3, 3]
    assert draw(codec, [3] * 100).min() >= 65  # no record there: spread over the declared bin
    assert draw(codec, [3] * 100).max() <= 120


def test_draws_stay_off_the_atoms():
    values = np.array([40] * 500 + list(range(30, 60)) * 10)
    codec = fit(values, bins=4)
    assert 40 in codec.atoms
    inside = draw(codec, np.tile(codec.encode(values), 20))
    assert np.array_equal(codec.encode(inside), np.tile(codec.encode(values), 20))


def test_draws_stay_off_declared_missing_codes():
    ages = np.random.default_rng(0).integers(0, 120, 5000)
    codec = fit(ages[ages != 99], missing=(99,))
    drawn = draw(codec, np.tile(codec.encode(ages[ages != 99]), 5))
    assert not (drawn == 99).any()
    assert (drawn == 98).any()


def test_a_constant_column_and_a_very_small_one():
    assert draw(fit(np.full(30, 7)), [0, 0]).tolist() == [7, 7]
    few = fit(np.array([1.0, 2.0, 6.0]))
    assert few.size == 1
    assert draw(few, [0, 0]).tolist() == [3.0, 3.0]  # the mean: three records have no shape to keep


def test_damaged_codecs_are_refused():
    good = fit(np.arange(1000)).to_dict()
    for key, value in (
        ("starts", [3, 2, 1]),
        ("knots", [[1.0]]),
        ("bin_codes", [0] * len(good["bin_codes"])),
        ("atoms", "x"),
        ("form", "exec"),
        ("null", 1),
        ("missing", [[1]]),
        ("bounds", [1]),
        ("starts", None),
    ):
        with pytest.raises(chaffinch.errors.SchemaError):
            codec_from_dict({**good, key: value})
    for nothing in ({}, None, [], 3):
        with pytest.raises(chaffinch.errors.SchemaError):
            codec_from_dict(nothing)


def test_out_of_range_values_clip_or_raise():
    table = chaffinch.read(pa.table({"x": np.arange(100) // 2, "y": ["a", "b"] * 50}))
    column = replace(table.schema["x"], bounds=(0.0, 40.0), codec=None)
    plain = replace(table.schema["y"], codec=None)
    with pytest.raises(
        chaffinch.errors.SchemaError, match=r"'x' has values outside its bounds, 0 to 40"
    ):
        chaffinch.read(table.to_arrow(), schema=chaffinch.Schema((column, plain)))
    clipped = chaffinch.read(
        table.to_arrow(), schema=chaffinch.Schema((replace(column, out_of_range="clip"), plain))
    )
    assert clipped.code("x")[-1] == clipped.schema["x"].size - 1


def test_a_column_of_few_values_with_a_thousand_records_each_has_a_level_for_each():
    rng = np.random.default_rng(2)
    many = rng.integers(0, 84, 107_000)
    assert fit(many).size == 84
    assert fit(many[:50_000]).size == 20  # about 600 records a value: no level for each
    assert fit(many, bins=30).size == 30  # somebody asked
