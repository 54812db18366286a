"""Joint entropies, by every way to count them, against marginals counted one by one."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.counts import MemoryCounter, code_entropies, entropies
from chaffinch.counts.code_entropies import (
    EntropySum,
    batch_entropies,
    column_entropies,
    entropy_of_counts,
    in_threads,
)
from chaffinch.counts.counter import ReferenceCounter
from chaffinch.counts.entropies import (
    JointEntropies,
    every_pair,
    joint_entropies,
    pair_entropies,
)
from chaffinch.counts.marginal import entropy, mutual_information

LEVELS = st.sampled_from([1, 2, 3, 5, 40, 300])
fixtures_stay = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def all_sets(d, most):
    return sorted(c for w in range(1, most + 1) for c in combinations(range(d), w))


def in_batches(table, rows, passes):
    def batches():
        passes.append(1)
        return (table.codes.between(start, start + rows) for start in range(0, table.n_rows, rows))

    return batches


def same_as_marginals(table, sets, values, filled):
    want, want_filled = joint_entropies(ReferenceCounter(table), sets)
    assert values == pytest.approx(want, abs=1e-12)
    assert filled.tolist() == want_filled.tolist()


@pytest.mark.parametrize("way", ["rows", "columns", "batches"])
@given(
    st.integers(0, 10**6),
    st.integers(1, 90),
    st.lists(LEVELS, min_size=1, max_size=5),
    st.sampled_from([1, 7, 1000]),
    st.sampled_from([1, 200, 10**6]),
    st.data(),
)
@fixtures_stay
def test_equal_to_marginals(coded, monkeypatch, way, seed, n, sizes, rows, budget, data):
    rng = np.random.default_rng(seed)
    table = coded([rng.integers(0, size, n) for size in sizes], sizes)
    sets = sorted(data.draw(st.sets(st.sampled_from(all_sets(len(sizes), 4)), min_size=1)))
    passes: list[int] = []
    monkeypatch.setattr(code_entropies, "HELD_BYTES", budget)
    monkeypatch.setattr(code_entropies, "BUDGET", budget)
    monkeypatch.setattr(code_entropies, "MAX_PREFIXES", 1 << 30)  # none of the sets is left
    if way == "rows":
        values, filled = joint_entropies(MemoryCounter(table), sets)
    else:
        monkeypatch.setattr(
            code_entropies, "NUMBERED_FROM", data.draw(st.sampled_from([1, 20, 10**4]))
        )
        count = column_entropies if way == "columns" else batch_entropies
        values, filled = count(
            in_batches(table, rows, passes), table.codes.sizes, sets, n, threads=2
        )
    same_as_marginals(table, sets, values, filled)
    assert len(passes) <= len(sets)


def test_what_does_not_fit_waits_for_another_pass(coded, monkeypatch):
    rng = np.random.default_rng(3)
    table = coded(rng.integers(0, 10, (5, 400)), [10] * 5)
    sets = list(combinations(range(5), 3))
    for budget, least, most in ((10**9, 1, 1), (3000, 2, 9)):
        monkeypatch.setattr(code_entropies, "BUDGET", budget)
        passes: list[int] = []
        values, filled = batch_entropies(
            in_batches(table, 100, passes), table.codes.sizes, sets, 400
        )
        assert least <= len(passes) <= most
        same_as_marginals(table, sets, values, filled)


def test_sets_with_too_many_beginnings_are_left_to_others(coded, monkeypatch):
    monkeypatch.setattr(code_entropies, "MAX_PREFIXES", 50)
    rng = np.random.default_rng(3)
    table = coded(rng.integers(0, 10, (3, 40)), [10] * 3)
    sets = [(0,), (0, 1), (0, 1, 2)]
    _, filled = batch_entropies(in_batches(table, 7, []), table.codes.sizes, sets, 40)
    assert (filled < 0).tolist() == [False, False, True]


def test_only_the_columns_that_fit_are_held(coded, monkeypatch):
    table = coded(np.random.default_rng(1).integers(0, 3, (30, 100)), [3] * 30)
    monkeypatch.setattr(code_entropies, "HELD_BYTES", 700)  # seven columns of a hundred rows
    held, passes = [], []
    gathered = code_entropies.Codes.gathered
    monkeypatch.setattr(
        code_entropies.Codes,
        "gathered",
        lambda parts, sizes, n_rows: held.append(len(sizes)) or gathered(parts, sizes, n_rows),
    )
    sets = [(i, i + 1, i + 2) for i in range(28)]
    column_entropies(in_batches(table, 100, passes), table.codes.sizes, sets, 100)
    assert max(held) == 7
    assert len(passes) == len(held) == 6


@pytest.mark.parametrize("threads", [1, 3])
def test_work_is_cut_into_pieces_so_that_an_interrupt_is_answered(threads):
    pieces = []
    in_threads(pieces.append, 1000, n_rows=10**8, visits=1000, threads=threads)
    pieces.sort(key=lambda part: part.start)
    assert [part.start for part in pieces][1:] == [part.stop for part in pieces][:-1]
    most = code_entropies.PIECE_VISITS + 10**8
    assert max(part.stop - part.start for part in pieces) * 10**8 <= most
    few = []
    in_threads(few.append, 1000, n_rows=10, visits=1000, threads=threads)
    assert few == [slice(0, 1000)]


def test_sets_too_large_for_the_scratch_are_counted_sparsely(coded, monkeypatch):
    rng = np.random.default_rng(3)
    table = coded(rng.integers(0, 40, (4, 200)), [40] * 4)
    sets = all_sets(4, 4)
    monkeypatch.setattr(code_entropies, "SCRATCH_CELLS", 100)
    same_as_marginals(table, sets, *joint_entropies(MemoryCounter(table), sets))


def test_threads_do_not_change_entropies(coded):
    rng = np.random.default_rng(5)
    table = coded(rng.integers(0, 6, (9, 20_000)), [6] * 9)
    sets = all_sets(9, 4)
    one = joint_entropies(MemoryCounter(table, threads=1), sets)
    two = joint_entropies(MemoryCounter(table, threads=3), sets)
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[1], two[1])


def test_information_is_that_of_marginals(data):
    table = chaffinch.read(data / "cmc.csv")
    known = JointEntropies(MemoryCounter(table))
    names = table.schema.names
    for child, parents in ((0, (1,)), (3, (0, 5)), (9, (0, 3, 7))):
        (marginal,) = MemoryCounter(table).marginals([[*(names[p] for p in parents), names[child]]])
        assert known.information(child, parents) == pytest.approx(
            mutual_information(marginal), abs=1e-10
        )
        assert known.filled(tuple(sorted((*parents, child)))) == np.count_nonzero(marginal.counts)
    assert known.information(2, ()) == 0.0


def test_many_rows_are_counted_in_batches_with_the_same_bits(coded, monkeypatch):
    rng = np.random.default_rng(6)
    sizes = [40, 3, 2, 7, 300, 2]
    table = coded([rng.integers(0, size, 500) for size in sizes], sizes)
    sets = all_sets(6, 4)
    by_rows = joint_entropies(MemoryCounter(table), sets)
    for name, value in {
        "FEW_ROWS": 1,
        "MANY_SETS": 1,
        "BLOCK_ROWS": 64,
        "MAX_PREFIXES": 300,  # the widest sets are left to the other way
    }.items():
        monkeypatch.setattr(code_entropies, name, value)
    for threads in (1, 3):
        batched = joint_entropies(MemoryCounter(table, threads=threads), sets)
        assert batched[0].tolist() == by_rows[0].tolist()
        assert batched[1].tolist() == by_rows[1].tolist()


@given(
    st.integers(0, 10**6),
    st.integers(1, 300),
    st.lists(LEVELS, min_size=2, max_size=9),
    st.sampled_from([1, 7, 1000]),
    st.sampled_from([1, 6, 64]),
    st.sampled_from([1, 500, 10**6]),
    st.sampled_from([3, 2048]),
)
@fixtures_stay
def test_pairs_are_equal_to_marginals(
    coded, monkeypatch, seed, n, sizes, rows, group_levels, budget, tile_levels
):
    rng = np.random.default_rng(seed)
    table = coded([rng.integers(0, size, n) for size in sizes], sizes)
    for name, value in {
        "GROUP_LEVELS": group_levels,
        "BUDGET": budget,
        "TILE_LEVELS": tile_levels,
        "ROWS_A_CELL": 1,
        "NEAR_ROWS": 50,
    }.items():
        monkeypatch.setattr(entropies, name, value)
    found = pair_entropies(in_batches(table, rows, []), table.codes.sizes, n, threads=2)
    same_as_marginals(table, list(combinations(range(len(sizes)), 2)), found.values, found.filled)


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
    monkeypatch.setattr(code_entropies, "FEW", 8)
    rng = np.random.default_rng(2)
    table = coded(rng.integers(0, 2, (5, 400)), [2] * 5)
    found = every_pair(MemoryCounter(table))
    same_as_marginals(table, list(combinations(range(5), 2)), found.values, found.filled)


def test_columns_with_many_levels_are_left_to_other_ways(coded, monkeypatch):
    monkeypatch.setattr(entropies, "MAX_LEVELS", 10)
    monkeypatch.setattr(entropies, "PAIRS_AT_A_TIME", 2)
    rng = np.random.default_rng(3)
    sizes = [3, 11, 4, 2000]
    table = coded([rng.integers(0, size, 90) for size in sizes], sizes)
    found = pair_entropies(lambda: iter([table.codes]), table.codes.sizes, 90)
    assert (found.filled < 0).tolist() == [True, False, True, True, True, True]
    every = every_pair(MemoryCounter(table))
    same_as_marginals(table, list(combinations(range(4), 2)), every.values, every.filled)


def test_tables_of_a_pass_stay_within_the_budget(coded, monkeypatch):
    rng = np.random.default_rng(4)
    sizes = [int(size) for size in rng.integers(1, 90, 60)]
    table = coded([rng.integers(0, size, 4000) for size in sizes], sizes)
    monkeypatch.setattr(entropies, "BUDGET", 200_000)
    monkeypatch.setattr(entropies, "TILE_LEVELS", 300)
    open_cells, most = [0], [0]
    begin, end = entropies._Tile.begin, entropies._Tile.end

    def counted_begin(tile):
        begin(tile)
        open_cells[0] += len(tile.cells)
        most[0] = max(most[0], open_cells[0])

    def counted_end(tile, *rest):
        open_cells[0] -= len(tile.cells)
        end(tile, *rest)

    monkeypatch.setattr(entropies._Tile, "begin", counted_begin)
    monkeypatch.setattr(entropies._Tile, "end", counted_end)
    pair_entropies(lambda: iter([table.codes]), table.codes.sizes, 4000)
    assert 100_000 < most[0] <= 200_000


@given(st.lists(st.integers(1, 100), min_size=1, max_size=40), st.sampled_from([1, 10, 64]))
def test_groups_hold_each_column_once_and_few_combinations(sizes, most):
    groups = entropies._pack_columns(sizes, most)
    assert sorted(column for group in groups for column in group) == list(range(len(sizes)))
    assert all(
        len(group) == 1 or prod(sizes[column] for column in group) <= most for group in groups
    )


def test_weighted_records_and_empty_tables(coded):
    table = chaffinch.read(
        pa.table(
            {"a": ["x", "y", "y"] * 20, "b": ["p", "p", "q", "q"] * 15, "w": [1.0, 2.5, 3.0] * 20}
        )
    )
    counter = MemoryCounter(table, weight="w")
    alone, both = counter.marginals([("a",), ("a", "b")])
    assert JointEntropies(counter).entropy((0,)) == pytest.approx(entropy(alone))
    shares = both.counts / both.counts.sum()
    assert every_pair(counter).values[0] == pytest.approx(-(shares * np.log(shares)).sum())
    nobody = MemoryCounter(coded([[], []], [2, 2]))
    assert JointEntropies(nobody).entropy((0, 1)) == 0.0
    assert every_pair(nobody).values.tolist() == [0.0]


def test_pairs_that_are_known_are_not_counted_again(coded, monkeypatch):
    rng = np.random.default_rng(5)
    known = JointEntropies(MemoryCounter(coded(rng.integers(0, 4, (5, 300)), [4] * 5)))
    alone = JointEntropies(known.counter)
    known.ask_pairs()
    asked = []
    monkeypatch.setattr(
        entropies,
        "joint_entropies",
        lambda counter, sets: asked.append(sets) or joint_entropies(counter, sets),
    )
    known.ask([(0, 1), (0, 1, 2)])
    assert asked == [[(0, 1, 2)]]
    assert (known.entropy((1, 3)), known.filled((1, 3))) == (
        alone.entropy((1, 3)),
        alone.filled((1, 3)),
    )


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.integers(1, 5),
    st.integers(0, 10**6),
    st.sampled_from([2, 5, 1 << 16]),
)
@fixtures_stay
def test_entropies_of_margins_are_those_of_each_margin_to_the_last_bit(
    monkeypatch, shape, groups, seed, few
):
    rng = np.random.default_rng(seed)
    filled_cells = rng.integers(0, 2, (groups, *shape))
    cells = (rng.integers(0, 5, (groups, *shape)) * filled_cells).astype(np.uint32)
    cells.flat[0] += 1
    n = int(cells.sum())
    monkeypatch.setattr(code_entropies, "FEW", few)  # counts from there on are not looked up
    found = EntropySum(n).margins(
        np.append(cells.ravel(), np.uint32(7)), groups, shape
    )  # cells beyond the groups are not counted
    for axis, (value, filled) in enumerate(found[:-1], start=1):
        others = tuple(other for other in range(1, cells.ndim) if other != axis)
        counts = cells.sum(axis=others, dtype=np.int64)
        counts = counts[counts > 0]
        assert (value, filled) == (entropy_of_counts(counts, n), len(counts))
        shares = counts / n
        assert value == pytest.approx(-(shares * np.log(shares)).sum(), abs=1e-12)
    alone = cells.reshape(groups, -1).sum(axis=1, dtype=np.int64)
    assert found[-1] == (entropy_of_counts(alone[alone > 0], n), int((alone > 0).sum()))
