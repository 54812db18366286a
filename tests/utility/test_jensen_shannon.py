"""Jensen-Shannon distances against scipy and hand-worked shares."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import jensenshannon

import chaffinch
from chaffinch.stats.pair import TablePair
from chaffinch.table.groups import GROUPS
from chaffinch.utility.jensen_shannon import jensen_shannon
from chaffinch.utility.tvd import marginal_distance, total_variation

SIZES = (3, 4, 2, 5)


def test_jensen_shannon_by_hand(coded):
    # (.5, .5) and (.9, .1): .38313588 in base 2. No level in common: 1.
    first = coded([[0, 1] * 50, [0] * 100], [2, 2])
    second = coded([[0] * 90 + [1] * 10, [1] * 100], [2, 2])
    result = jensen_shannon(first, second)
    assert result.per_column == pytest.approx({"c0": 0.38313588, "c1": 1.0}, abs=5e-9)
    assert result.value == pytest.approx((0.38313588 + 1) / 2, abs=5e-9)


def test_jensen_shannon_is_scipys(tables):
    first, second = tables
    result = jensen_shannon(first, second)
    for name, size in zip(first.schema.names, SIZES, strict=True):
        p, q = (np.bincount(t.code(name), minlength=size) for t in tables)
        assert result.per_column[name] == pytest.approx(jensenshannon(p, q, base=2), abs=1e-12)
    assert result.value == pytest.approx(np.mean(list(result.per_column.values())))


@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=40),
    st.lists(st.integers(0, 3), min_size=2, max_size=40),
)
@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_distances_of_one_column(coded, ours, theirs):
    first, second = coded([ours], [4]), coded([theirs], [4])
    p, q = (
        np.bincount(ours, minlength=4) / len(ours),
        np.bincount(theirs, minlength=4) / len(theirs),
    )
    assert jensen_shannon(first, second).value == pytest.approx(
        jensenshannon(p, q, base=2), abs=1e-7
    )
    assert marginal_distance(first, second, width=1).value == pytest.approx(
        np.abs(p - q).sum() / 2, abs=1e-12
    )
    assert jensen_shannon(second, first).value == pytest.approx(
        jensen_shannon(first, second).value, abs=1e-12
    )


def test_disjoint_tables_score_1(coded):
    first, second = (
        coded([[0, 0] * 20, [1, 2] * 20], [2, 4]),
        coded([[1, 1] * 20, [0, 3] * 20], [2, 4]),
    )
    assert jensen_shannon(first, second).value == pytest.approx(1.0)
    for width in (1, 2):
        result = marginal_distance(first, second, width=width)
        assert (result.value, result.interval) == (1.0, (1.0, 1.0))


def test_the_interval_is_the_jackknife_of_the_definition(tables):
    # By hand: leave out the records of one group of both tables, measure again.
    pair = TablePair(*tables)
    groups = [np.random.default_rng(0).permutation(np.arange(t.n_rows) % GROUPS) for t in tables]
    without_tv, without_js = [], []
    for g in range(GROUPS):
        kept = [
            [t.code(n)[group != g] for n in pair.names]
            for t, group in zip(tables, groups, strict=True)
        ]
        shares = [
            [np.bincount(c, minlength=s) / len(c) for c, s in zip(columns, SIZES, strict=True)]
            for columns in kept
        ]
        without_js.append(
            np.mean([jensenshannon(p, q, base=2) for p, q in zip(*shares, strict=True)])
        )
        without_tv.append(np.mean([total_variation(p, q) for p, q in zip(*shares, strict=True)]))
    for result, without in (
        (marginal_distance(*tables, width=1), without_tv),
        (jensen_shannon(*tables), without_js),
    ):
        error = np.sqrt((GROUPS - 1) / GROUPS * ((without - np.mean(without)) ** 2).sum())
        half = stats.t.ppf(0.975, GROUPS - 1) * error
        assert result.interval == pytest.approx((result.value - half, result.value + half))


def test_one_level_all_missing_and_new_values():
    gone = pa.nulls(60, pa.string())
    original = chaffinch.read(
        pa.table({"one": ["x"] * 60, "gone": gone, "word": ["a", "b", "c"] * 20})
    )
    assert jensen_shannon(original, original.data).value == 0.0
    assert marginal_distance(original, original.data, width=3).value == 0.0
    other = pa.table({"one": ["x"] * 59 + ["new"], "gone": gone, "word": ["a", "a", None] * 20})
    result = jensen_shannon(original, other)
    assert result.per_column["gone"] == 0.0
    # Levels a, b, c, missing: (1/3, 1/3, 1/3, 0) and (2/3, 0, 0, 1/3).
    expected = jensenshannon([1, 1, 1, 0], [2, 0, 0, 1], base=2)
    assert result.per_column["word"] == pytest.approx(expected)
    assert marginal_distance(original, other, width=1).worst == pytest.approx(2 / 3)
