"""Last digits: kept where records have them, made up nowhere, and never a way to a record."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.errors import SchemaError
from chaffinch.table import Column, digit_preference
from chaffinch.table.bins import fit_intervals
from chaffinch.table.domain import domain_from_dict

RNG = np.random.default_rng


def fit(values, column):
    distinct, counts = np.unique(np.asarray(values), return_counts=True)
    return fit_intervals(
        column, distinct, counts.astype(float), integral=distinct.dtype.kind == "i"
    )


def drawn(codec, values, n=30_000):
    return codec.decode(np.resize(codec.encode(np.asarray(values)), n), RNG(2))


def prices(n=3_000):
    rng = RNG(1)
    cents = rng.choice([0.99, 0.49, 0.0, 0.95], n, p=[0.6, 0.2, 0.1, 0.1])
    return np.round(np.floor(np.exp(rng.normal(6, 0.8, n))) + cents, 2)


@pytest.mark.parametrize("bins", [20, 150])
def test_prices_keep_their_cents(bins):
    values = prices()
    codec = fit(values, Column("x", "float", decimals=2, bins=bins))
    assert [grain.width for grain in codec.grains] == [1]
    out = drawn(codec, values)
    for cents in (99, 49, 0, 95):
        share = (np.rint(values * 100) % 100 == cents).mean()
        assert (np.rint(out * 100) % 100 == cents).mean() == pytest.approx(share, abs=0.06)
    assert np.array_equal(
        codec.encode(out), np.resize(codec.encode(values), len(out))
    )  # each in the bin that it was drawn for
    assert (
        np.abs(np.quantile(out, [0.1, 0.5, 0.9]) / np.quantile(values, [0.1, 0.5, 0.9]) - 1).max()
        < 0.05
    )


def test_rounded_amounts_stay_rounded():
    rng = RNG(3)
    values = np.rint(np.exp(rng.normal(size=4_000) * 0.6 + 11) / 500).astype(np.int64) * 500
    exact = rng.random(4_000) < 0.3
    values[exact] += rng.integers(-249, 250, exact.sum())
    out = drawn(fit(values, Column("x", "integer")), values)
    assert (out % 500 == 0).mean() == pytest.approx((values % 500 == 0).mean(), abs=0.06)


def test_weekdays_and_quarters_of_an_hour_are_kept():
    rng = RNG(4)
    days = rng.integers(18_000, 19_500, 2_000)
    days = np.where((days + 3) % 7 < 5, days, days - 2)  # 1970-01-01 was a Thursday
    out = drawn(fit(days, Column("x", "date", type="date32")), days)
    assert ((out + 3) % 7 >= 5).mean() < 0.01
    minutes = rng.integers(0, 400 * 96, 3_000) * 15 + np.where(
        rng.random(3_000) < 0.2, rng.integers(0, 15, 3_000), 0
    )
    seconds = minutes * 60
    codec = fit(seconds, Column("x", "datetime", type="timestamp[s]", step=60))
    assert (drawn(codec, seconds) % 900 == 0).mean() == pytest.approx(
        (seconds % 900 == 0).mean(), abs=0.03
    )


@pytest.mark.parametrize(
    "values",
    [
        np.exp(RNG(5).normal(size=2_000) + 5).round(2),
        RNG(5).integers(0, 10_000, 2_000),
        RNG(5).poisson(30, 2_000),
        np.floor(RNG(5).exponential(12, 2_000)).astype(
            np.int64
        ),  # steep: low digits are common, but smoothly so
        RNG(5).normal(size=2_000),
    ],
)
def test_smooth_columns_have_no_grain(values):
    column = (
        Column("x", "integer") if values.dtype.kind == "i" else Column("x", "float", decimals=2)
    )
    assert fit(values, column).grains == ()


def test_classes_of_fewer_than_ten_records_are_not_told_apart():
    """Nine records that end in 37 among prices that end in 99: their cents are as common as any other that few have."""
    values = np.concatenate(
        [prices(2_000), np.floor(np.exp(RNG(6).normal(6, 0.8, 9))) + 0.37]
    ).round(2)
    (grain,) = fit(values, Column("x", "float", decimals=2)).grains
    few = [
        share / smooth
        for cents, (share, smooth) in enumerate(zip(grain.shares, grain.smooth, strict=True))
        if cents not in (99, 49, 0, 95)
    ]
    assert max(few) == pytest.approx(min(few))
    assert np.isclose(grain.shares.sum(), 1)


def test_no_price_of_one_record_comes_back_more_often_than_its_neighbours():
    """Of numbers with one ending, those that a record has and those that none has are drawn alike: 4,000 records on 12,000 numbers, 200,000 draws.

    Counts of both are about Poisson with the bins' own spread; their means differ by less than a twentieth, where copying would triple one of them.
    """
    values = np.round(RNG(7).choice(np.arange(1_000, 13_000), 4_000, replace=False) + 0.99, 2)
    out = drawn(fit(values, Column("x", "float", decimals=2)), values, 200_000)
    inner = np.round(np.arange(1_500, 12_500) + 0.99, 2)
    distinct, counts = np.unique(out, return_counts=True)
    hits = dict(zip(distinct.tolist(), counts.tolist(), strict=True))
    times = np.array([hits.get(value, 0) for value in inner.tolist()])
    own = np.isin(inner, values)
    assert times[own].mean() == pytest.approx(times[~own].mean(), rel=0.05)


def test_a_model_keeps_grains_in_its_file_and_damage_is_seen():
    codec = fit(prices(), Column("x", "float", decimals=2))
    data = json.loads(json.dumps(codec.to_dict()))
    assert domain_from_dict(data).to_dict() == codec.to_dict()
    assert not domain_from_dict(
        {key: value for key, value in data.items() if key != "grains"}
    ).grains  # files from before
    data["grains"][0]["shares"][0] = -1.0
    with pytest.raises(SchemaError, match="last digits"):
        domain_from_dict(data)


def test_a_stream_has_the_same_grain_and_a_declared_domain_has_none(tmp_path):
    data = pa.table({"price": prices(), "sex": RNG(8).choice(["f", "m"], 3_000)})
    pq.write_table(data, tmp_path / "t.parquet", row_group_size=700)
    table, scanned = chaffinch.read(tmp_path / "t.parquet"), chaffinch.scan(tmp_path / "t.parquet")
    assert table.schema["price"].codec.grains
    assert scanned.schema["price"].codec.to_dict() == table.schema["price"].codec.to_dict()
    nothing = fit_intervals(
        Column("x", "float", decimals=2, bounds=(0.0, 99.0), binning="width"),
        np.empty(0),
        np.empty(0),
        integral=False,
    )
    assert nothing.grains == ()


@given(st.integers(0, 10**6), st.sampled_from([2, 7, 10, 24]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_many_narrow_pieces_at_once_are_one_after_the_other_to_the_last_bit(seed, classes, whole):
    rng = RNG(seed)
    low = rng.integers(-50, 50, 40) / (1 if whole else 4)
    high = low + rng.integers(1, 60, 40) / (1 if whole else 4)
    part = rng.random(40)
    one_by_one, together = np.zeros(classes), np.zeros(classes)
    for piece in zip(part.tolist(), low.tolist(), high.tolist(), strict=True):
        digit_preference._add_piece(one_by_one, *piece)
    digit_preference._add_narrow(
        together, part, low, high, np.zeros(40, dtype=bool), integral=whole
    )
    assert one_by_one.tolist() == together.tolist()
    quarters = np.zeros(classes)  # every quarter of a class by hand
    for share, first, last in zip(
        part.tolist(), (low * 4).astype(int).tolist(), (high * 4).astype(int).tolist(), strict=True
    ):
        for quarter in range(first, last):
            quarters[quarter // 4 % classes] += share / (last - first)
    np.testing.assert_allclose(together, quarters, rtol=1e-12)


def test_a_piece_of_no_length_is_in_the_class_of_its_place():
    out = np.zeros(5)
    digit_preference._add_narrow(
        out,
        np.array([0.5, 0.25]),
        np.array([7.0, -1.5]),
        np.array([7.0, -1.5]),
        np.zeros(2, dtype=bool),
        integral=False,
    )
    assert out.tolist() == [0, 0, 0.5, 0.25, 0]
    digit_preference._add_narrow(
        out,
        np.array([1.0]),
        np.array([3.0]),
        np.array([90.0]),
        np.ones(1, dtype=bool),
        integral=True,
    )
    np.testing.assert_allclose(out, [0.2, 0.2, 0.7, 0.45, 0.2], rtol=1e-15)
