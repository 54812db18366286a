"""Plans: what is counted covers what was asked for, and summing over it gives the same counts."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.counts import plan
from chaffinch.counts.counter import ReferenceCounter
from chaffinch.counts.plan import cover, project, runs_of
from chaffinch.counts.tally import CliqueTally

cliques_of_six = st.lists(
    st.permutations(range(6)).flatmap(lambda p: st.integers(0, 5).map(lambda n: tuple(p[:n]))),
    max_size=12,
)


@given(
    cliques_of_six,
    st.lists(st.integers(1, 9), min_size=6, max_size=6),
    st.sampled_from([0, 10**3, 10**6]),
)
@settings(deadline=None)
def test_a_cover_holds_every_clique_and_counts_nothing_in_vain(cliques, sizes, n_rows):
    planned = cover(cliques, sizes, n_rows=n_rows)
    assert len(planned.sources) == len(cliques)
    assert len(planned.counted) <= len({frozenset(clique) for clique in cliques})
    for clique, k in zip(cliques, planned.sources, strict=True):
        assert set(clique) <= set(planned.counted[k])
    assert set(planned.sources) == set(range(len(planned.counted)))
    if n_rows < plan.COVERED_FROM:
        assert all(
            set(clique) == set(planned.counted[k])
            for clique, k in zip(cliques, planned.sources, strict=True)
        )


def test_fifteen_columns_need_the_35_triples_of_kirkmans_schoolgirls():
    """No fewer triples cover all 105 pairs of 15 columns: each has three, and 35 x 3 = 105."""
    pairs = list(combinations(range(15), 2))
    planned = cover(pairs, [20] * 15, n_rows=10**7)
    assert len(planned.counted) == 35
    assert {pair for triple in planned.counted for pair in combinations(triple, 2)} == set(pairs)


def test_four_columns_cover_six_pairs_where_their_table_is_small():
    pairs = list(combinations(range(6), 2))
    planned = cover(pairs, [2, 2, 2, 2, 50, 60], n_rows=10**7)
    assert all(
        prod([2, 2, 2, 2, 50, 60][c] for c in columns) <= plan.SMALL_CELLS
        for columns in planned.counted
        if len(columns) > 3
    )
    assert max(map(len, planned.counted)) > 3
    assert len(planned.counted) < 6  # what triples would need at least
    large = cover(pairs, [30] * 6, n_rows=10**7)  # four columns have 810,000 cells
    assert {len(columns) for columns in large.counted} <= {2, 3}


def test_a_wide_table_is_not_counted_for_the_sake_of_small_ones():
    pairs = list(combinations(range(5), 2))
    planned = cover(pairs, [100] * 5, n_rows=10**9)  # a triple has a million cells
    assert sorted(planned.counted) == pairs
    planned = cover([*pairs, (0, 1, 2)], [100] * 5, n_rows=10**9)
    assert sorted(planned.counted) == sorted([*pairs, (0, 1, 2)])
    few = cover(pairs, [30] * 5, n_rows=250_000)  # 27,000 cells, and 31,250 rows for 8 a cell
    assert all(prod([30] * len(columns)) <= 31_250 for columns in few.counted)
    assert {len(columns) for columns in few.counted} == {3}


@given(
    st.integers(0, 10**6),
    st.permutations(range(4)).flatmap(lambda p: st.integers(0, 4).map(lambda n: tuple(p[:n]))),
)
@settings(deadline=None)
def test_projection_is_the_count_of_fewer_columns(seed, clique):
    rng = np.random.default_rng(seed)
    sizes, columns = (2, 3, 1, 4), (1, 3, 5, 8)
    rows = [rng.integers(0, size, 50) for size in sizes]
    counts = np.zeros(sizes, dtype=np.int64)
    np.add.at(counts, tuple(rows), 1)
    want = np.zeros([sizes[c] for c in clique], dtype=np.int64)
    np.add.at(want, tuple(rows[c] for c in clique), 1 if clique else 50)
    got = project(counts, columns, [columns[c] for c in clique])
    assert np.array_equal(got, want)
    assert got.flags.c_contiguous


@pytest.mark.parametrize("stretch", [4096, 8192])
def test_covered_cliques_have_the_counts_of_the_reference(coded, monkeypatch, stretch):
    for name, value in {"COVERED_FROM": 0, "ROWS_A_CELL": 1}.items():
        monkeypatch.setattr(plan, name, value)
    monkeypatch.setattr("chaffinch.counts.tally.NEAR_CELLS", 0)
    monkeypatch.setattr("chaffinch.counts.tally.STRETCH", stretch)
    rng = np.random.default_rng(2)
    table = coded(rng.integers(0, 3, (6, 9_001)), [3] * 6)
    cliques = [
        c[::step]
        for width in range(5)
        for c in combinations(table.schema.names, width)
        for step in (1, -1)
    ]
    tally = CliqueTally(table.schema, cliques, n_rows=table.n_rows)
    assert len(tally.plan.counted) < len({frozenset(clique) for clique in cliques})
    tally.add(table.codes)
    for got, want in zip(
        tally.marginals(), ReferenceCounter(table).marginals(cliques), strict=True
    ):
        assert got.same(want)


@given(st.lists(st.integers(1, 20), max_size=12), st.integers(1, 30))
def test_runs_hold_all_places_in_order_and_no_more_than_fits(cells, most):
    runs = list(runs_of(cells, most))
    assert [place for run in runs for place in run] == list(range(len(cells)))
    assert all(len(run) == 1 or sum(cells[place] for place in run) <= most for run in runs)
