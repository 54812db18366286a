"""Rows looked up in a keyed table: against sets of tuples, and against classes of both tables together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch import BayesNet
from chaffinch.errors import InputError
from chaffinch.risk.attribution.classes import class_ids
from chaffinch.stats import equal as equal_module
from chaffinch.stats.equal import KeyedRows, KeyedSlice
from chaffinch.table.codes import Codes


def brute_force(original, other):
    """Return for each row of codes whether it is one of the original's, by a set of tuples."""
    seen = set(zip(*(column.tolist() for column in original), strict=True))
    return [row in seen for row in zip(*(column.tolist() for column in other), strict=True)]


@st.composite
def two_tables(draw):
    """Columns of few or of very many levels, so that rows are one word or several; the second table repeats rows of the first."""
    n_columns = draw(st.integers(1, 6))
    tops = [draw(st.sampled_from([1, 2, 3, 255, 65_536, (1 << 32) - 1])) for _ in range(n_columns)]
    codes = st.tuples(*(st.integers(0, top) for top in tops))
    first = draw(st.lists(codes, max_size=40))
    second = draw(
        st.lists(st.one_of(codes, st.sampled_from(first)) if first else codes, max_size=40)
    )
    dtypes = [np.uint8 if top < 256 else np.uint32 for top in tops]
    return tuple(
        [np.array([row[j] for row in rows], dtype=dtypes[j]) for j in range(n_columns)]
        for rows in (first, second)
    )


@given(two_tables())
@settings(max_examples=300, deadline=None)
def test_rows_are_found_exactly_where_a_set_has_them(tables):
    original, other = tables
    rows = KeyedRows.of_codes(original)
    assert rows.holds_codes(other).tolist() == brute_force(original, other)
    assert rows.holds_codes(original).all()
    assert rows.n_distinct == len(set(zip(*(column.tolist() for column in original), strict=True)))


def test_many_rows_of_many_words():
    rng = np.random.default_rng(1)
    original = [
        rng.integers(0, size, 5_000).astype(np.uint32) for size in (2, 3, 1 << 31, 4, 1 << 31, 5, 2)
    ]
    original = [np.concatenate([column, column[:500]]) for column in original]
    other = [np.concatenate([column[:2_000], rng.permutation(column)]) for column in original]
    rows = KeyedRows.of_codes(original)
    assert len(rows.folds) == 2
    assert rows.holds_codes(other).tolist() == brute_force(original, other)


def test_rows_whose_words_differ_in_high_bits_alone_are_told_apart():
    """Rows that a weak hash sends to one slot: what is found is still exact, and each is found."""
    high = (np.arange(4_096, dtype=np.uint64) << np.uint64(20)).astype(np.uint32)
    original = [high, np.zeros(4_096, dtype=np.uint8)]
    assert KeyedRows.of_codes(original).holds_codes(original).all()
    assert not KeyedRows.of_codes(original).holds_codes([high + np.uint32(1), original[1]]).any()


def test_as_classes_of_both_tables_together_have_it(data):
    table = chaffinch.read(data / "cmc.csv")
    rows = KeyedRows.of(table)
    model = BayesNet(parents=2).fit(table, seed=1)
    for n in (0, 1, 5_000):
        other = model.sample(n, seed=2)
        ids = class_ids(*([one.codes[j] for j in range(len(one.codes))] for one in (table, other)))
        assert rows.holds(other).tolist() == np.isin(ids[1], ids[0]).tolist()
        assert rows.share(other) == (float(np.isin(ids[1], ids[0]).mean()) if n else 0.0)
    assert rows.share(table) == 1.0


def test_tables_of_other_columns_are_refused_and_no_record_is_shown():
    rows = KeyedRows.of_codes([np.array([0, 1, 2]), np.array([0, 1, 77])])
    with pytest.raises(InputError, match=r"same number of columns\. Got 2 and 1"):
        rows.holds_codes([np.array([0])])
    assert repr(rows) == "KeyedRows(rows: <10, distinct: <10)"


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
