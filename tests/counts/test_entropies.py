"""Joint entropies by shared work, against marginals counted one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.counts import MemoryCounter, batch_entropies, entropies, row_entropies, scores
from chaffinch.counts.entropies import JointEntropies, joint_entropies
from chaffinch.counts.reference import ReferenceCounter


def all_sets(d, most):
    return sorted(c for w in range(1, most + 1) for c in combinations(range(d), w))


@given(
    st.integers(0, 10**6), st.integers(1, 60), st.lists(st.integers(1, 300), min_size=1, max_size=5)
)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_equal_to_marginals(coded, seed, n, sizes):
    rng = np.random.default_rng(seed)
    table = coded([rng.integers(0, size, n) for size in sizes], sizes)
    sets = all_sets(len(sizes), 4)
    values, filled = joint_entropies(MemoryCounter(table), sets)
    slow_values, slow_filled = joint_entropies(ReferenceCounter(table), sets)
    assert values == pytest.approx(slow_values, abs=1e-9)
    assert np.array_equal(filled, slow_filled)


def test_sets_too_large_for_the_scratch_are_counted_sparsely(coded, monkeypatch):
    rng = np.random.default_rng(3)
    table = coded(rng.integers(0, 40, (4, 200)), [40] * 4)
    sets = all_sets(4, 4)
    want = joint_entropies(MemoryCounter(table), sets)
    monkeypatch.setattr(row_entropies, "SCRATCH_CELLS", 100)
    got = joint_entropies(MemoryCounter(table), sets)
    assert got[0] == pytest.approx(want[0], abs=1e-12)
    assert np.array_equal(got[1], want[1])


def test_threads_do_not_change_entropies(coded):
    rng = np.random.default_rng(5)
    table = coded(rng.integers(0, 6, (9, 20_000)), [6] * 9)
    sets = all_sets(9, 4)
    one = joint_entropies(MemoryCounter(table, threads=1), sets)
    two = joint_entropies(MemoryCounter(table, threads=3), sets)
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[1], two[1])


def test_information_is_that_of_the_scores(data):
    table = chaffinch.read(data / "cmc.csv")
    known = JointEntropies(MemoryCounter(table))
    names = table.schema.names
    for child, parents in ((0, (1,)), (3, (0, 5)), (9, (0, 3, 7))):
        (marginal,) = MemoryCounter(table).marginals([[*(names[p] for p in parents), names[child]]])
        assert known.information(child, parents) == pytest.approx(
            scores.mutual_information(marginal), abs=1e-10
        )
        assert known.filled(tuple(sorted((*parents, child)))) == np.count_nonzero(marginal.counts)
    assert known.information(2, ()) == 0.0


def test_weights_and_empty_tables_take_the_other_way(coded):
    import pyarrow as pa

    table = chaffinch.read(pa.table({"a": ["x", "y", "y"] * 10, "w": [1.0, 2.5, 3.0] * 10}))
    counter = MemoryCounter(table, weight="w")
    (marginal,) = counter.marginals([("a",)])
    assert JointEntropies(counter).entropy((0,)) == pytest.approx(scores.entropy(marginal))
    assert JointEntropies(MemoryCounter(coded([[], []], [2, 2]))).entropy((0, 1)) == 0.0


def test_many_rows_are_counted_in_batches_with_the_same_bits(coded, monkeypatch):
    rng = np.random.default_rng(6)
    sizes = [40, 3, 2, 7, 300, 2]
    table = coded([rng.integers(0, size, 500) for size in sizes], sizes)
    sets = sorted(columns for width in range(1, 5) for columns in combinations(range(6), width))
    by_rows = joint_entropies(MemoryCounter(table), sets)
    monkeypatch.setattr(row_entropies, "FEW_ROWS", 1)
    monkeypatch.setattr(entropies, "MANY_SETS", 1)
    monkeypatch.setattr(entropies, "BLOCK_ROWS", 64)
    monkeypatch.setattr(
        batch_entropies, "MOST_BEGINNINGS", 300
    )  # the widest sets are left to the other way
    for threads in (1, 3):
        in_batches = joint_entropies(MemoryCounter(table, threads=threads), sets)
        assert in_batches[0].tolist() == by_rows[0].tolist()
        assert in_batches[1].tolist() == by_rows[1].tolist()
