"""Atoms, bins and the in-bin sketch, against hand-worked cases and plain quantiles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch import BayesNet
from chaffinch.table import Column
from chaffinch.table.bins import find_outlying_codes, fit_intervals, wide_gaps
from chaffinch.table.domain import Intervals, domain_from_dict
from chaffinch.table.rules.constraints import cut_intervals


def fit(values, *, whole=None, **declared) -> Intervals:
    values = np.asarray(values)
    whole = values.dtype.kind == "i" if whole is None else whole
    distinct, counts = np.unique(values, return_counts=True)
    column = Column("x", "integer" if whole else "float", **declared)
    return fit_intervals(column, distinct, counts.astype(float), integral=whole)


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
    back = domain_from_dict(codec.to_dict())
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
            domain_from_dict({**good, key: value})
    for nothing in ({}, None, [], 3):
        with pytest.raises(chaffinch.errors.SchemaError):
            domain_from_dict(nothing)


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


def drawn(values, n=40_000, **declared):
    codec = fit(values, **declared)
    codes = np.random.default_rng(1).permutation(codec.encode(np.asarray(values)))
    return codec.decode(np.resize(codes, n), np.random.default_rng(2))


def found(values):
    distinct, counts = np.unique(values, return_counts=True)
    result = find_outlying_codes(distinct, counts.astype(float), signed=True)
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


def draw_values(codec, values, n):
    """As many draws from a codec as asked, with the codes of values in their own shares: ranks inside bins are even, so shares are those of the sketch."""
    codes = np.repeat(codec.encode(np.asarray(values)), -(-n // len(values)))
    return codec.decode(codes, np.random.default_rng(1))


@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([20, 150]))
@settings(max_examples=30, deadline=None)
def test_values_that_ten_records_share_come_back_with_their_share(seed, whole, bins):
    """Against the records' own counts: within five standard errors of what 200,000 draws of that share have, plus the few that end tails take or give."""
    rng = np.random.default_rng(seed)
    heaps = rng.integers(100, 5_000, 12)
    rest = np.exp(rng.normal(6, 1, 3_000))
    values = np.concatenate([np.repeat(heaps, rng.integers(10, 90, 12)), rest])
    values = np.rint(values).astype(np.int64) if whole else np.round(values, 2)
    out = draw_values(fit(values, bins=bins, **({} if whole else {"decimals": 2})), values, 200_000)
    for heap in np.unique(heaps):
        share = (values == heap).mean()
        assert (out == heap).mean() == pytest.approx(
            share, abs=5 * np.sqrt(share / 200_000) + 15 / len(values)
        )


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_a_value_of_fewer_than_ten_records_is_not_drawn_by_construction(seed):
    """Of numbers of full precision none that fewer than ten records share comes out."""
    rng = np.random.default_rng(seed)
    values = np.concatenate(
        [rng.normal(size=600), np.repeat(rng.normal(size=5), 9), np.repeat(rng.normal(size=5), 10)]
    )
    out = draw_values(fit(values), values, 20_000)
    distinct, counts = np.unique(values, return_counts=True)
    assert not np.isin(out, distinct[counts < 10]).any()
    assert np.isin(distinct[counts >= 10], out).all()


def test_the_spread_of_a_long_tail_is_kept():
    """Lognormal, sigma 2: the median over 60 tables of 1,000 of the ratio of standard deviations; the ratio's own spread is about 0.45, that of the median 0.07.

    With means of ten at the ends and no heavy shapes it is 0.6.
    """
    rng = np.random.default_rng(6)
    ratios = []
    for _ in range(60):
        values = np.exp(rng.normal(size=1_000) * 2)
        ratios.append(draw_values(fit(values), values, 20_000).std() / values.std())
    assert 0.75 < np.median(ratios) < 1.35


def test_one_record_barely_moves_the_tail():
    """The mean of the last bin, a twentieth of 1,000 lognormal records with sigma 2, over 60 tables.

    The size of the highest record moves it not at all. Taking that record out moves it by less than a third of what it differs by from table to table,
    where looked at it would be worth more than that alone.
    """
    rng = np.random.default_rng(7)
    moves, means = [], []
    for _ in range(60):
        values = np.sort(np.exp(rng.normal(size=1_000) * 2))
        far = values.copy()
        far[-1] *= 1_000
        ranks = (np.arange(100_000) + 0.5) / 100_000
        tops = [
            np.interp(ranks, *fit(some).knots[-1]).mean() for some in (values, far, values[:-1])
        ]
        assert tops[0] == tops[1]
        moves.append(abs(np.log(tops[2] / tops[0])))
        means.append(np.log(tops[0]))
    assert np.mean(moves) < np.std(means) / 3


def test_a_bin_that_is_cut_draws_the_same_values_with_the_same_shares():
    rng = np.random.default_rng(8)
    values = np.concatenate([np.repeat([500, 700, 730], 40), rng.integers(0, 1_000, 2_000)])
    codec = fit(values)
    whole = draw_values(codec, values, 400_000)
    for cut in (500, 501, 700, 715):
        parts = cut_intervals(codec, [cut])
        out = draw_values(parts, values, 400_000)
        assert np.array_equal(parts.encode(out) >= parts.encode(np.array([cut])), out >= cut)
        for value in (500, 700, 730):
            assert (out == value).mean() == pytest.approx((whole == value).mean(), abs=0.002)


def test_a_stream_has_the_same_sketch(tmp_path):
    rng = np.random.default_rng(9)
    pay = np.concatenate(
        [
            np.repeat([1_000.0, 2_500.0], 60),
            np.exp(rng.normal(size=2_000) * 2),
            [1e9] * 4,
            [-8.0] * 30,
        ]
    )
    data = pa.table(
        {
            "pay": rng.permutation(pay),
            "age": rng.integers(0, 99, len(pay)),
            "sex": rng.choice(["f", "m"], len(pay)),
        }
    )
    pq.write_table(data, tmp_path / "t.parquet", row_group_size=333)
    table, scanned = chaffinch.read(tmp_path / "t.parquet"), chaffinch.scan(tmp_path / "t.parquet")
    assert [note.sentence for note in table.notes] == [note.sentence for note in scanned.notes]
    for name in ("pay", "age"):
        assert scanned.schema[name].codec.to_dict() == table.schema[name].codec.to_dict()
