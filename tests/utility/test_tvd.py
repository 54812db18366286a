"""Distances of marginals against brute force over records."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

import chaffinch
from chaffinch.errors import InputError
from chaffinch.synth import Independent
from chaffinch.table import Table
from chaffinch.utility import marginals, tvd
from chaffinch.utility.jensen_shannon import jensen_shannon
from chaffinch.utility.tvd import marginal_distance

SIZES = (3, 4, 2, 5)


def plain_distance(first, second, clique) -> float:
    """Return the total variation distance by going through all records."""
    ours, theirs = (
        Counter(zip(*(t.code(c).tolist() for c in clique), strict=True)) for t in (first, second)
    )
    cells = set(ours) | set(theirs)
    return 0.5 * sum(abs(ours[c] / first.n_rows - theirs[c] / second.n_rows) for c in cells)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("dense_cells", [tvd.DENSE_CELLS, 6])
def test_every_clique_is_brute_force(tables, monkeypatch, width, dense_cells):
    from chaffinch.counts.counter import MemoryCounter

    for module in (marginals, tvd):
        monkeypatch.setattr(module, "DENSE_CELLS", dense_cells)
    monkeypatch.setattr(MemoryCounter.__init__, "__defaults__", (None, dense_cells, None, None))
    result = marginal_distance(*tables, width=width)
    expected = {
        clique: plain_distance(*tables, clique)
        for clique in combinations(tables[0].schema.names, width)
    }
    assert {one.columns: one.value for one in result.largest} == pytest.approx(expected)
    assert result.value == pytest.approx(np.mean(list(expected.values())))
    assert result.worst == pytest.approx(max(expected.values()))
    assert expected[result.worst_columns] == pytest.approx(result.worst)
    assert (result.cliques, result.total_cliques) == (len(expected), comb(4, width))


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
        coded([rng.integers(0, 5000, 400) for _ in range(3)] + [[0, 1] * 200], [5000] * 3 + [2])
        for _ in "ab"
    )
    result = marginal_distance(first, second, width=3)
    assert result.cliques == 4
    for one in result.largest:
        assert one.value == pytest.approx(plain_distance(first, second, one.columns))


@pytest.mark.parametrize("width", [1, 2, 3])
def test_identical_tables_score_0_with_nothing_around_it(tables, width):
    result = marginal_distance(tables[0], tables[0], width=width)
    assert (result.value, result.worst, result.interval) == (0.0, 0.0, (0.0, 0.0))
    assert (
        jensen_shannon(tables[0], tables[0]).value,
        jensen_shannon(tables[0], tables[0]).interval,
    ) == (0, (0, 0))


def test_rows_in_another_order_score_0(tables, coded):
    turned = coded([tables[0].code(name)[::-1] for name in tables[0].schema.names], SIZES)
    assert marginal_distance(tables[0], turned, width=3).value == 0.0
    assert jensen_shannon(tables[0], turned).value == 0.0


def test_independent_columns_lose_pairs_and_keep_columns(data):
    original = chaffinch.read(data / "adult_test.parquet")
    synthetic = Independent().fit(original).sample(original.n_rows, seed=1)
    one, two, three = (marginal_distance(original, synthetic, width=width) for width in (1, 2, 3))
    assert one.value < 0.02 < 0.06 < two.value < three.value
    assert two.worst_columns == ("education", "education_num")
    assert one.value <= two.value <= three.value  # summing out a column never adds distance
    assert jensen_shannon(original, synthetic).value < 0.03


@given(st.integers(0, 10_000))
@settings(
    deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_wider_marginal_is_no_nearer(coded, draw, seed):
    first, second = coded(draw(seed, 60), SIZES), coded(draw(seed + 1, 40), SIZES)
    means = [marginal_distance(first, second, width=width).value for width in (1, 2, 3, 4)]
    assert means == sorted(means)


def test_column_sets_are_drawn_above_a_number(tables):
    result = marginal_distance(*tables, width=2, max_cliques=4, seed=3)
    assert (result.cliques, result.total_cliques) == (4, 6)
    assert result.settings["cliques"] == "4 of 6, drawn at random"
    assert "widened" in result.settings["interval"]
    assert result.to_dict() == marginal_distance(*tables, width=2, max_cliques=4, seed=3).to_dict()
    assert len({one.columns for one in result.largest}) == 4
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
        drawn = tvd.chosen_cliques(names, 2, most, rng)
        assert len(set(drawn)) == most
        assert all(names.index(a) < names.index(b) for a, b in drawn)
        seen.update(name for clique in drawn for name in clique)
    counts = np.array([seen[name] for name in names])
    assert counts.sum() == times * most * 2
    assert stats.chisquare(counts).pvalue > 1e-6


def test_adult_triples_are_all_compared():
    assert comb(15, 3) == 455 <= tvd.MOST


def test_the_interval_covers_the_distance_of_two_populations(coded):
    # Shares (.5, .3, .2) and (.2, .3, .5), distance .3; 2,000 and 3,000 records, so that the upward bias of a distance is
    # far below its spread. 300 right 95 % intervals cover 270 to 298 times but for two in 10,000; the jackknife with 20
    # groups is not exact, so 260 is let pass.
    rng = np.random.default_rng(6)
    p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    hits = 0
    for _ in range(300):
        first, second = (
            coded([rng.choice(3, 2000, p=p)], [3]),
            coded([rng.choice(3, 3000, p=q)], [3]),
        )
        low, high = marginal_distance(first, second, width=1).interval
        hits += low <= 0.3 <= high
    assert 260 <= hits <= 298


def test_an_interval_from_some_of_the_column_sets(tables, monkeypatch):
    whole = marginal_distance(*tables, width=2)
    monkeypatch.setattr(tvd, "INTERVAL_CLIQUES", 3)
    some = marginal_distance(*tables, width=2)
    assert some.value == whole.value
    assert "from 3 of the column sets" in some.settings["interval"]
    assert "column sets" not in whole.settings["interval"]
    widths = [high - low for low, high in (some.interval, whole.interval)]
    assert 0.3 < widths[0] / widths[1] < 3
    assert (some.interval[0] + some.interval[1]) / 2 == pytest.approx(some.value)


def test_a_marginal_wider_than_the_table(coded):
    table = coded([[0, 1] * 20], [2])
    result = marginal_distance(table, table, width=2)
    assert result.reason == "a 2-way marginal needs 2 columns; the tables have 1"
    assert marginal_distance(table, table, width=1).value == 0.0


@pytest.mark.parametrize(
    ("option", "given"), [("width", 0), ("max_cliques", 0), ("width", 1.5), ("max_cliques", True)]
)
def test_options_out_of_range(tables, option, given):
    with pytest.raises(
        InputError, match=f"{option} must be a whole number of at least 1. Got {given}"
    ):
        marginal_distance(*tables, **{option: given})


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
    assert (plain["mean"], plain["worst_columns"]) == (
        plain["value"],
        plain["largest"][0]["columns"],
    )
    assert jensen_shannon(*tables).to_dict()["per_column"].keys() == set(tables[0].schema.names)


def test_no_more_than_20_are_listed(coded):
    rng = np.random.default_rng(1)
    table, other = (coded(rng.integers(0, 2, (9, 50)), [2] * 9) for _ in "ab")
    result = marginal_distance(table, other, width=2)
    values = [one.value for one in result.largest]
    assert (len(values), result.cliques) == (20, 36)
    assert values == sorted(values, reverse=True)


def test_no_limit_of_memory_changes_a_result(tables, monkeypatch):
    whole = marginal_distance(*tables, width=3)
    monkeypatch.setattr(marginals, "BATCH_CELLS", 1)
    assert marginal_distance(*tables, width=3).to_dict() == whole.to_dict()
    for module in (marginals, tvd):
        monkeypatch.setattr(module, "DENSE_CELLS", 1)
    sparse = marginal_distance(*tables, width=3)
    assert sparse.value == pytest.approx(whole.value)
    assert sparse.interval == pytest.approx(whole.interval)


def test_two_rows_have_a_value_and_no_interval(coded):
    first, second = coded([[0, 1], [0, 1]], [2, 2]), coded([[0, 1], [1, 0]], [2, 2])
    for result in (marginal_distance(first, second), jensen_shannon(first, second)):
        assert result.interval is None
        assert "fewer than 20 records" in result.settings["interval"]
    assert marginal_distance(first, second).value == 1.0
    assert jensen_shannon(first, second).value == 0.0
