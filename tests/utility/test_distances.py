"""Distances of marginals against scipy, brute force over records, and hand-worked shares."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import jensenshannon

import chaffinch
from chaffinch import InputError
from chaffinch.stats.pair import GROUPS, Pair
from chaffinch.synth import Independent
from chaffinch.table import Table
from chaffinch.utility import distances
from chaffinch.utility.distances import jensen_shannon, marginal_distance, total_variation

SIZES = (3, 4, 2, 5)


def draw(seed: int, n_rows: int, sizes=SIZES) -> list[np.ndarray]:
    """Return columns of codes with falling shares; each is linked to the one before."""
    rng = np.random.default_rng(seed)
    columns: list[np.ndarray] = []
    for size in sizes:
        column = np.minimum(rng.geometric(0.4, n_rows) - 1, size - 1)
        if columns:
            column = np.where(rng.random(n_rows) < 0.5, columns[-1] % size, column)
        columns.append(column)
    return columns


@pytest.fixture
def tables(coded):
    return coded(draw(1, 300), SIZES), coded(draw(2, 170), SIZES)


def plain_distance(first, second, clique) -> float:
    """Return the total variation distance by going through all records."""
    ours, theirs = (Counter(zip(*(t.code(c).tolist() for c in clique), strict=True)) for t in (first, second))
    cells = set(ours) | set(theirs)
    return 0.5 * sum(abs(ours[c] / first.n_rows - theirs[c] / second.n_rows) for c in cells)


# Jensen-Shannon


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


@given(st.lists(st.integers(0, 3), min_size=2, max_size=40), st.lists(st.integers(0, 3), min_size=2, max_size=40))
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_distances_of_one_column(coded, ours, theirs):
    first, second = coded([ours], [4]), coded([theirs], [4])
    p, q = np.bincount(ours, minlength=4) / len(ours), np.bincount(theirs, minlength=4) / len(theirs)
    assert jensen_shannon(first, second).value == pytest.approx(jensenshannon(p, q, base=2), abs=1e-7)
    assert marginal_distance(first, second, width=1).value == pytest.approx(np.abs(p - q).sum() / 2, abs=1e-12)
    assert jensen_shannon(second, first).value == pytest.approx(jensen_shannon(first, second).value, abs=1e-12)


# Total variation


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("dense_cells", [distances.DENSE_CELLS, 6])
def test_every_clique_is_brute_force(tables, monkeypatch, width, dense_cells):
    from chaffinch.counts.memory import MemoryCounter

    monkeypatch.setattr(distances, "DENSE_CELLS", dense_cells)
    monkeypatch.setattr(MemoryCounter.__init__, "__defaults__", (None, dense_cells, None))
    result = marginal_distance(*tables, width=width)
    expected = {clique: plain_distance(*tables, clique) for clique in combinations(tables[0].schema.names, width)}
    assert dict(result.largest) == pytest.approx(expected)
    assert result.value == pytest.approx(np.mean(list(expected.values())))
    assert result.worst == pytest.approx(max(expected.values()))
    assert expected[result.worst_columns] == pytest.approx(result.worst)
    assert (result.cliques, result.of) == (len(expected), comb(4, width))


def test_no_limit_of_memory_changes_a_result(tables, monkeypatch):
    whole = marginal_distance(*tables, width=3)
    monkeypatch.setattr(distances, "BATCH_CELLS", 1)
    assert marginal_distance(*tables, width=3).to_dict() == whole.to_dict()
    monkeypatch.setattr(distances, "DENSE_CELLS", 1)
    sparse = marginal_distance(*tables, width=3)
    assert sparse.value == pytest.approx(whole.value)
    assert sparse.interval == pytest.approx(whole.interval)


def test_cells_beyond_64_bits(coded):
    # 2^80 cells, and half of the records differ in the first column alone: a key cut to 64 bits would not tell them apart.
    sizes = [1 << 16] * 5
    rest = [np.zeros(60, dtype=int)] * 4
    first = coded([rest[0], *rest], sizes)
    second = Table.from_codes(first.schema, [np.arange(60) % 2, *rest], seed=0)
    result = marginal_distance(first, second, width=5)
    assert result.value == pytest.approx(0.5)
    # The interval of a rate of one half in 60 records has about this width: 2 x 2.09 x sqrt(.25 / 60).
    assert np.diff(result.interval) == pytest.approx(0.27, rel=0.5)


def test_columns_of_5000_levels_in_triples(coded):
    rng = np.random.default_rng(1)
    first, second = (
        coded([rng.integers(0, 5000, 400) for _ in range(3)] + [[0, 1] * 200], [5000] * 3 + [2]) for _ in "ab"
    )
    result = marginal_distance(first, second, width=3)
    assert result.cliques == 4
    for clique, value in result.largest:
        assert value == pytest.approx(plain_distance(first, second, clique))


@pytest.mark.parametrize("width", [1, 2, 3])
def test_identical_tables_score_0_with_nothing_around_it(tables, width):
    result = marginal_distance(tables[0], tables[0], width=width)
    assert (result.value, result.worst, result.interval) == (0.0, 0.0, (0.0, 0.0))
    assert (jensen_shannon(tables[0], tables[0]).value, jensen_shannon(tables[0], tables[0]).interval) == (0, (0, 0))


def test_rows_in_another_order_score_0(tables, coded):
    turned = coded([tables[0].code(name)[::-1] for name in tables[0].schema.names], SIZES)
    assert marginal_distance(tables[0], turned, width=3).value == 0.0
    assert jensen_shannon(tables[0], turned).value == 0.0


def test_disjoint_tables_score_1(coded):
    first, second = coded([[0, 0] * 20, [1, 2] * 20], [2, 4]), coded([[1, 1] * 20, [0, 3] * 20], [2, 4])
    assert jensen_shannon(first, second).value == pytest.approx(1.0)
    for width in (1, 2):
        result = marginal_distance(first, second, width=width)
        assert (result.value, result.interval) == (1.0, (1.0, 1.0))


def test_independent_columns_lose_pairs_and_keep_columns(data):
    original = chaffinch.read(data / "adult_test.parquet")
    synthetic = Independent().fit(original).sample(original.n_rows, seed=1)
    one, two, three = (marginal_distance(original, synthetic, width=width) for width in (1, 2, 3))
    assert one.value < 0.02 < 0.06 < two.value < three.value
    assert two.worst_columns == ("education", "education_num")
    assert one.value <= two.value <= three.value  # summing out a column never adds distance
    assert jensen_shannon(original, synthetic).value < 0.03


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_wider_marginal_is_no_nearer(coded, seed):
    first, second = coded(draw(seed, 60), SIZES), coded(draw(seed + 1, 40), SIZES)
    means = [marginal_distance(first, second, width=width).value for width in (1, 2, 3, 4)]
    assert means == sorted(means)


# The draw of column sets


def test_column_sets_are_drawn_above_a_number(tables):
    result = marginal_distance(*tables, width=2, most=4, seed=3)
    assert (result.cliques, result.of) == (4, 6)
    assert result.settings["cliques"] == "4 of 6, drawn at random"
    assert "widened" in result.settings["interval"]
    assert result.to_dict() == marginal_distance(*tables, width=2, most=4, seed=3).to_dict()
    assert len({c for c, _ in result.largest}) == 4
    full = marginal_distance(*tables, width=2)
    assert set(result.largest) <= set(full.largest)


@pytest.mark.parametrize("n_columns", [6, 40])
def test_every_column_set_is_as_likely(n_columns):
    # 2 of 6 columns (all listed, some chosen) or 2 of 40 (drawn one by one), 5 sets each time: a column is in each of the
    # 5 sets with chance 2/n. Chi-square of how often columns come up, once in a million.
    names = [f"c{j}" for j in range(n_columns)]
    most, times = 5, 600
    rng = np.random.default_rng(4)
    seen: Counter[str] = Counter()
    for _ in range(times):
        drawn = distances._chosen(names, 2, most, rng)
        assert len(set(drawn)) == most
        assert all(names.index(a) < names.index(b) for a, b in drawn)
        seen.update(name for clique in drawn for name in clique)
    counts = np.array([seen[name] for name in names])
    assert counts.sum() == times * most * 2
    assert stats.chisquare(counts).pvalue > 1e-6


def test_adult_triples_are_all_compared():
    assert comb(15, 3) == 455 <= distances.MOST


# Intervals


def test_the_interval_is_the_jackknife_of_the_definition(tables):
    # By hand: leave out the records of one group of both tables, measure again.
    pair = Pair(*tables)
    groups = [np.random.default_rng(0).permutation(np.arange(t.n_rows) % GROUPS) for t in tables]
    without_tv, without_js = [], []
    for g in range(GROUPS):
        kept = [[t.code(n)[group != g] for n in pair.names] for t, group in zip(tables, groups, strict=True)]
        shares = [
            [np.bincount(c, minlength=s) / len(c) for c, s in zip(columns, SIZES, strict=True)] for columns in kept
        ]
        without_js.append(np.mean([jensenshannon(p, q, base=2) for p, q in zip(*shares, strict=True)]))
        without_tv.append(np.mean([total_variation(p, q) for p, q in zip(*shares, strict=True)]))
    for result, without in ((marginal_distance(*tables, width=1), without_tv), (jensen_shannon(*tables), without_js)):
        error = np.sqrt((GROUPS - 1) / GROUPS * ((without - np.mean(without)) ** 2).sum())
        half = stats.t.ppf(0.975, GROUPS - 1) * error
        assert result.interval == pytest.approx((result.value - half, result.value + half))


def test_the_interval_covers_the_distance_of_two_populations(coded):
    # Shares (.5, .3, .2) and (.2, .3, .5), distance .3; 2,000 and 3,000 records, so that the upward bias of a distance is
    # far below its spread. 300 right 95 % intervals cover 270 to 298 times but for two in 10,000; the jackknife with 20
    # groups is not exact, so 260 is let pass.
    rng = np.random.default_rng(6)
    p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    hits = 0
    for _ in range(300):
        first, second = coded([rng.choice(3, 2000, p=p)], [3]), coded([rng.choice(3, 3000, p=q)], [3])
        low, high = marginal_distance(first, second, width=1).interval
        hits += low <= 0.3 <= high
    assert 260 <= hits <= 298


def test_an_interval_from_some_of_the_column_sets(tables, monkeypatch):
    whole = marginal_distance(*tables, width=2)
    monkeypatch.setattr(distances, "INTERVAL_CLIQUES", 3)
    some = marginal_distance(*tables, width=2)
    assert some.value == whole.value
    assert "from 3 of the column sets" in some.settings["interval"]
    assert "column sets" not in whole.settings["interval"]
    widths = [high - low for low, high in (some.interval, whole.interval)]
    assert 0.3 < widths[0] / widths[1] < 3
    assert (some.interval[0] + some.interval[1]) / 2 == pytest.approx(some.value)


# Odd tables


def test_two_rows_have_a_value_and_no_interval(coded):
    first, second = coded([[0, 1], [0, 1]], [2, 2]), coded([[0, 1], [1, 0]], [2, 2])
    for result in (marginal_distance(first, second), jensen_shannon(first, second)):
        assert result.interval is None
        assert "fewer than 20 records" in result.settings["interval"]
    assert marginal_distance(first, second).value == 1.0
    assert jensen_shannon(first, second).value == 0.0


def test_a_marginal_wider_than_the_table(coded):
    table = coded([[0, 1] * 20], [2])
    result = marginal_distance(table, table, width=2)
    assert result.why_not == "a 2-way marginal needs 2 columns; the tables have 1"
    assert marginal_distance(table, table, width=1).value == 0.0


@pytest.mark.parametrize(("option", "given"), [("width", 0), ("most", 0), ("width", 1.5), ("most", True)])
def test_options_out_of_range(tables, option, given):
    with pytest.raises(InputError, match=f"{option} must be a whole number of at least 1. Got {given}"):
        marginal_distance(*tables, **{option: given})


def test_one_level_all_missing_and_new_values():
    gone = pa.nulls(60, pa.string())
    original = chaffinch.read(pa.table({"one": ["x"] * 60, "gone": gone, "word": ["a", "b", "c"] * 20}))
    assert jensen_shannon(original, original.data).value == 0.0
    assert marginal_distance(original, original.data, width=3).value == 0.0
    other = pa.table({"one": ["x"] * 59 + ["new"], "gone": gone, "word": ["a", "a", None] * 20})
    result = jensen_shannon(original, other)
    assert result.per_column["gone"] == 0.0
    # Levels a, b, c, missing: (1/3, 1/3, 1/3, 0) and (2/3, 0, 0, 1/3).
    expected = jensenshannon([1, 1, 1, 0], [2, 0, 0, 1], base=2)
    assert result.per_column["word"] == pytest.approx(expected)
    assert marginal_distance(original, other, width=1).worst == pytest.approx(2 / 3)


def test_results_are_plain_data_without_values(tables):
    for result in (jensen_shannon(*tables), marginal_distance(*tables, width=2)):
        text = json.dumps(result.to_dict())
        assert "v00000" not in text  # no level
        assert "v00000" not in repr(result)
    plain = marginal_distance(*tables, width=2).to_dict()
    assert plain.keys() >= {
        "value",
        "interval",
        "mean",
        "worst",
        "worst_columns",
        "cliques",
        "of",
        "largest",
        "settings",
    }
    assert (plain["mean"], plain["worst_columns"]) == (plain["value"], plain["largest"][0]["columns"])
    assert jensen_shannon(*tables).to_dict()["per_column"].keys() == set(tables[0].schema.names)


def test_no_more_than_20_are_listed(coded):
    rng = np.random.default_rng(1)
    table, other = (coded(rng.integers(0, 2, (9, 50)), [2] * 9) for _ in "ab")
    result = marginal_distance(table, other, width=2)
    values = [value for _, value in result.largest]
    assert (len(values), result.cliques) == (20, 36)
    assert values == sorted(values, reverse=True)
