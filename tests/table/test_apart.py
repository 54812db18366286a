"""Codes at the ends of a column, rare ones that are never drawn, and gaps in which nothing is drawn."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch import BayesNet
from chaffinch.table.bins import apart, fit_intervals, wide_gaps
from chaffinch.table.schema import Column


def fit(values, **declared):
    values = np.asarray(values)
    whole = values.dtype.kind == "i"
    distinct, counts = np.unique(values, return_counts=True)
    return fit_intervals(
        Column("x", "integer" if whole else "float", **declared),
        distinct,
        counts.astype(float),
        whole=whole,
    )


def drawn(values, n=40_000, **declared):
    codec = fit(values, **declared)
    codes = np.random.default_rng(1).permutation(codec.encode(np.asarray(values)))
    return codec.decode(np.resize(codes, n), np.random.default_rng(2))


def found(values):
    distinct, counts = np.unique(values, return_counts=True)
    result = apart(distinct, counts.astype(float), signed=True)
    return set(result.codes.tolist()), set(distinct[result.rare].tolist()), result.few


@pytest.mark.parametrize(
    ("extra", "codes", "rare", "few"),
    [
        ([], set(), set(), False),
        ([-8] * 40, {-8}, set(), False),
        ([-9] * 12 + [-8] * 40, {-9, -8}, set(), False),
        ([999] * 15, {999}, set(), False),
        ([-9] * 12 + [999] * 15, {-9, 999}, set(), False),
        ([9999] * 3, set(), set(), True),
        ([9998] * 5 + [9999] * 7, set(), {9998, 9999}, False),
        ([9998] * 5 + [9999] * 40, {9999}, set(), True),
        ([99] * 12, set(), set(), False),  # an age like others
    ],
)
def test_codes_at_the_ends_are_found(extra, codes, rare, few):
    ages = np.random.default_rng(1).integers(18, 95, 900)
    assert found(np.concatenate([ages, extra]).astype(np.int64)) == (codes, rare, few)


@given(st.integers(0, 10**6), st.sampled_from([0.5, 1.0, 2.0]), st.integers(40, 3000))
@settings(max_examples=60, deadline=None)
def test_a_long_tail_has_nothing_that_is_left_out(seed, sigma, n):
    """Of a lognormal column the gap beyond the tenth record is ten times as wide as all before it with odds below one in 10^9."""
    values = np.exp(np.random.default_rng(seed).normal(size=n) * sigma)
    codes, rare, _ = found(values)
    assert not codes
    assert not rare


@pytest.mark.parametrize("conditionals", ["tables", "trees"])
def test_undeclared_missing_codes_keep_their_shares(conditionals):
    """Four codes in two columns that hang together: shares come back within five standard errors of 20,000 draws; nothing lies between codes and column."""
    rng = np.random.default_rng(3)
    n = 4000
    women = rng.random(n) < 0.5
    pay = np.rint(np.exp(rng.normal(size=n) * 0.8 + 7.5 + 0.3 * women)).astype(np.int64)
    age = rng.integers(18, 95, n)
    pay[rng.random(n) < 0.045], age[rng.random(n) < 0.02] = -8, -8
    pay[rng.random(n) < 0.012], age[rng.random(n) < 0.03] = -9, 999
    table = chaffinch.read(pa.table({"pay": pay, "age": age, "sex": np.where(women, "f", "m")}))
    rows = BayesNet(conditionals=conditionals).fit(table, seed=1).sample(20_000, seed=2).data
    for name, values, codes in (("pay", pay, (-8, -9)), ("age", age, (-8, 999))):
        synthetic = rows[name].to_numpy()
        for code in codes:
            share = (values == code).mean()
            assert (synthetic == code).mean() == pytest.approx(
                share, abs=5 * np.sqrt(share / 20_000) + 0.001
            )
        assert not ((synthetic < 0) & ~np.isin(synthetic, codes)).any()
    assert not ((rows["age"].to_numpy() > 150) & (rows["age"].to_numpy() < 999)).any()


def test_rare_values_far_away_are_never_drawn_and_stretch_nothing():
    rng = np.random.default_rng(4)
    usual = np.round(rng.gamma(2, 40, 982), 3)
    for wild in (
        [999_999.375] * 3,
        [999_999.375] * 3 + [999_998.5] * 5 + [888_888.5] * 4,
        [-777_777.5] * 9,
        [1e12],
    ):
        out = drawn(np.concatenate([usual, wild]), decimals=3)
        assert out.max() < 2 * usual.max()
        assert out.min() >= 0


def test_a_note_says_that_values_are_left_out_unless_they_are_declared():
    rng = np.random.default_rng(4)
    values = np.concatenate([np.round(rng.gamma(2, 40, 991), 3), [999_999.375] * 3])
    data = pa.table({"x": values, "y": rng.choice(["a", "b"], 994)})
    (note,) = [note for note in chaffinch.read(data).notes if note.what == "far away"]
    assert "never drawn" in note.sentence
    assert "9" not in note.sentence.replace("999", "")  # no value and no count
    assert [n.what for n in chaffinch.scan(data).notes] == [
        n.what for n in chaffinch.read(data).notes
    ]
    declared = chaffinch.read(data, schema={"x": {"missing": [999_999.375]}})
    assert not [note for note in declared.notes if note.what == "far away"]
    rows = BayesNet().fit(declared, seed=1).sample(20_000, seed=2).data["x"].to_numpy()
    assert (rows == 999_999.375).any()


def test_nothing_is_drawn_in_a_wide_gap():
    rng = np.random.default_rng(5)
    values = np.concatenate([rng.random(300) * 100, 5000 + rng.random(200) * 1000, [700.0] * 30])
    out = drawn(values)
    assert ((out > 101) & (out < 4995) & (out != 700)).mean() == 0
    assert (out == 700).mean() == pytest.approx(30 / 530, abs=0.001)
    assert wide_gaps(*np.unique(values, return_counts=True)).tolist() == [301]
