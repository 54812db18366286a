"""Entropies of all pairs, tile by tile, against marginals counted one by one."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaffinch.counts import MemoryCounter
from chaffinch.counts import pair_entropies as module
from chaffinch.counts.entropies import JointEntropies, every_pair, joint_entropies
from chaffinch.counts.pair_entropies import PairEntropies, pair_entropies
from chaffinch.counts.reference import ReferenceCounter


@given(
    st.integers(0, 10**6),
    st.integers(1, 300),
    st.lists(st.sampled_from([1, 2, 3, 5, 40, 300]), min_size=2, max_size=9),
    st.sampled_from([1, 7, 1000]),
    st.sampled_from([1, 6, 64]),
    st.sampled_from([1, 500, 10**6]),
    st.sampled_from([3, 2048]),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_equal_to_marginals(
    coded, monkeypatch, seed, n, sizes, rows, group_levels, budget, tile_levels
):
    rng = np.random.default_rng(seed)
    table = coded([rng.integers(0, size, n) for size in sizes], sizes)
    for name, value in {
        "GROUP_LEVELS": group_levels,
        "BUDGET": budget,
        "TILE_LEVELS": tile_levels,
        "ROWS_A_CELL": 1,
        "BLOCK_ROWS": 50,
    }.items():
        monkeypatch.setattr(module, name, value)
    found = pair_entropies(
        lambda: (table.codes.between(start, start + rows) for start in range(0, n, rows)),
        table.codes.sizes,
        n,
        threads=2,
    )
    want, want_filled = joint_entropies(
        ReferenceCounter(table), list(combinations(range(len(sizes)), 2))
    )
    assert found.values == pytest.approx(want, abs=1e-12)
    assert found.filled.tolist() == want_filled.tolist()


def test_pairs_have_the_bits_of_other_ways_to_count(coded):
    rng = np.random.default_rng(1)
    sizes = [2, 2, 2, 3, 5, 7, 16, 20, 40, 81] * 2
    table = coded([(rng.random(3000) ** 3 * size).astype(int) for size in sizes], sizes)
    values, filled = joint_entropies(MemoryCounter(table), list(combinations(range(20), 2)))
    for threads in (1, 3):
        found = every_pair(MemoryCounter(table, threads=threads))
        assert found.values.tolist() == values.tolist()
        assert found.filled.tolist() == filled.tolist()


def test_counts_beyond_the_list_of_logarithms(coded, monkeypatch):
    monkeypatch.setattr("chaffinch.counts.scores.FEW", 8)
    rng = np.random.default_rng(2)
    table = coded(rng.integers(0, 2, (5, 400)), [2] * 5)
    found = every_pair(MemoryCounter(table))
    assert found.values == pytest.approx(
        joint_entropies(ReferenceCounter(table), list(combinations(range(5), 2)))[0], abs=1e-12
    )


def test_columns_with_many_levels_are_left_to_other_ways(coded, monkeypatch):
    monkeypatch.setattr(module, "MOST_LEVELS", 10)
    rng = np.random.default_rng(3)
    sizes = [3, 11, 4, 2000]
    table = coded([rng.integers(0, size, 90) for size in sizes], sizes)
    found = pair_entropies(lambda: iter([table.codes]), table.codes.sizes, 90)
    assert (found.filled < 0).tolist() == [True, False, True, True, True, True]
    want, want_filled = joint_entropies(ReferenceCounter(table), list(combinations(range(4), 2)))
    monkeypatch.setattr("chaffinch.counts.entropies.PAIRS_AT_A_TIME", 2)
    whole = every_pair(MemoryCounter(table))
    assert whole.values == pytest.approx(want, abs=1e-12)
    assert whole.filled.tolist() == want_filled.tolist()


def test_tables_of_a_pass_stay_within_the_budget(coded, monkeypatch):
    rng = np.random.default_rng(4)
    sizes = [int(size) for size in rng.integers(1, 90, 60)]
    table = coded([rng.integers(0, size, 4000) for size in sizes], sizes)
    monkeypatch.setattr(module, "BUDGET", 200_000)
    monkeypatch.setattr(module, "TILE_LEVELS", 300)
    open_cells, most = [0], [0]
    begin, end = module._Tile.begin, module._Tile.end

    def counted_begin(tile):
        begin(tile)
        open_cells[0] += len(tile.cells)
        most[0] = max(most[0], open_cells[0])

    def counted_end(tile, *rest):
        open_cells[0] -= len(tile.cells)
        end(tile, *rest)

    monkeypatch.setattr(module._Tile, "begin", counted_begin)
    monkeypatch.setattr(module._Tile, "end", counted_end)
    pair_entropies(lambda: iter([table.codes]), table.codes.sizes, 4000)
    assert 100_000 < most[0] <= 200_000


@given(st.lists(st.integers(1, 100), min_size=1, max_size=40), st.sampled_from([1, 10, 64]))
def test_groups_hold_each_column_once_and_few_combinations(sizes, most):
    groups = module._packed(sizes, most)
    assert sorted(column for group in groups for column in group) == list(range(len(sizes)))
    assert all(
        len(group) == 1 or prod(sizes[column] for column in group) <= most for group in groups
    )


def test_places_of_pairs_are_the_order_of_words():
    empty = PairEntropies.nothing(7)
    words = list(combinations(range(7), 2))
    assert [empty.place(*pair) for pair in words] == list(range(21))
    assert empty.pairs(range(21)) == words


def test_weighted_records_and_empty_tables(coded):
    import pyarrow as pa

    import chaffinch

    table = chaffinch.read(
        pa.table(
            {"a": ["x", "y", "y"] * 20, "b": ["p", "p", "q", "q"] * 15, "w": [1.0, 2.5, 3.0] * 20}
        )
    )
    counter = MemoryCounter(table, weight="w")
    (marginal,) = counter.marginals([table.schema.names[:2]])
    shares = marginal.counts / marginal.counts.sum()
    assert every_pair(counter).values[0] == pytest.approx(-(shares * np.log(shares)).sum())
    assert every_pair(MemoryCounter(coded([[], []], [2, 2]))).values.tolist() == [0.0]


def test_pairs_that_are_known_are_not_counted_again(coded, monkeypatch):
    rng = np.random.default_rng(5)
    known = JointEntropies(MemoryCounter(coded(rng.integers(0, 4, (5, 300)), [4] * 5)))
    alone = JointEntropies(known.counter)
    known.ask_pairs()
    asked = []
    monkeypatch.setattr(
        "chaffinch.counts.entropies.joint_entropies",
        lambda counter, sets: asked.append(sets) or joint_entropies(counter, sets),
    )
    known.ask([(0, 1), (0, 1, 2)])
    assert asked == [[(0, 1, 2)]]
    assert (known.entropy((1, 3)), known.filled((1, 3))) == (
        alone.entropy((1, 3)),
        alone.filled((1, 3)),
    )
