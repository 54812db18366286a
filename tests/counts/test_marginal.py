"""Marginals: their shape, their properties, sparse counts, and what their columns tell of each other: against hand-worked tables, other libraries and brute force."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

import chaffinch
from chaffinch._base.errors import TooLargeError
from chaffinch.counts import Marginal, MemoryCounter
from chaffinch.counts.marginal import SparseCounts, entropy, mutual_information

from .conftest import f_score, r_score


@st.composite
def small_tables(draw):
    width = draw(st.integers(1, 4))
    sizes = draw(st.lists(st.integers(1, 5), min_size=width, max_size=width))
    n = draw(st.integers(0, 30))
    return [
        draw(st.lists(st.integers(0, size - 1), min_size=n, max_size=n)) for size in sizes
    ], sizes


@given(small_tables(), st.randoms())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_properties_of_marginals(coded, drawn, random):
    codes, sizes = drawn
    table = coded(codes, sizes)
    names = table.schema.names
    (whole,) = MemoryCounter(table).marginals([names])
    (sparse,) = MemoryCounter(table, dense_cells=0).marginals([names])
    assert whole.same(sparse)
    assert whole.total == table.n_rows
    kept = tuple(random.sample(names, random.randint(0, len(names))))
    (direct,) = MemoryCounter(table).marginals([kept])
    assert whole.project(kept).same(direct)  # summing out a column equals counting without it
    if kept:
        assert sparse.project(kept).same(direct)
    order = list(range(table.n_rows))
    random.shuffle(order)
    shuffled = coded([[column[i] for i in order] for column in codes], sizes)
    assert MemoryCounter(shuffled).marginals([names])[0].same(whole)  # row order never matters
    halves = [
        coded([column[part] for column in codes], sizes)
        for part in (slice(None, table.n_rows // 2), slice(table.n_rows // 2, None))
    ]
    parts = [MemoryCounter(half).marginals([names])[0].dense() for half in halves]
    assert np.array_equal(parts[0] + parts[1], whole.dense())  # counts add


def test_marginal_checks_its_shape():
    with pytest.raises(chaffinch.errors.InputError, match="cannot have counts of shape"):
        Marginal(("a",), (3,), np.zeros(2, dtype=np.int64))
    with pytest.raises(chaffinch.errors.InputError, match="one size for each column"):
        Marginal(("a", "b"), (2,), np.zeros(2, dtype=np.int64))
    with pytest.raises(chaffinch.errors.UnknownNameError, match="Unknown column 'b'"):
        Marginal(("a",), (2,), np.zeros(2, dtype=np.int64)).project(["b"])
    with pytest.raises(ValueError, match="read-only"):
        Marginal(("a",), (2,), np.zeros(2, dtype=np.int64)).counts[0] = 1


@pytest.mark.parametrize("sizes", [(3, 4), (1 << 20,) * 4, (2,)])
def test_batches_add_up_to_what_a_dictionary_counts(sizes):
    rng = np.random.default_rng(1)
    tally, expected = SparseCounts(sizes), Counter()
    for n in (5, 0, 40):
        columns = [rng.integers(0, min(size, 3), n).astype(np.uint32) for size in sizes]
        tally.add(columns)
        expected.update(zip(*(column.tolist() for column in columns), strict=True))
    marginal = tally.marginal(tuple(f"c{j}" for j in range(len(sizes))))
    assert (
        dict(zip(map(tuple, marginal.cells.tolist()), marginal.counts.tolist(), strict=True))
        == expected
    )


def test_cells_whose_weights_cancel_are_left_out():
    tally = SparseCounts((2,), weighted=True)
    tally.add([np.array([0, 1, 1], np.uint8)], np.array([1.0, 2.0, -2.0]))
    assert tally.marginal(("a",)).cells.tolist() == [[0]]


def test_a_sparse_tally_refuses_to_grow_without_end():
    tally = SparseCounts([1 << 20, 1 << 20], max_cells=100)
    codes = np.arange(90, dtype=np.uint32)
    tally.add([codes, codes])
    with pytest.raises(TooLargeError, match="more than 100 distinct"):
        tally.add([codes + 90, codes])


def marginal(counts, names="abcdef", *, sparse=False):
    counts = np.asarray(counts)
    dense = Marginal(tuple(names[: counts.ndim]), counts.shape, counts.copy())
    if not sparse:
        return dense
    cells, filled = dense.nonzero()
    return Marginal(dense.columns, dense.sizes, filled.copy(), cells)


tables = st.integers(1, 4).flatmap(
    lambda rows: st.integers(1, 4).flatmap(
        lambda columns: st.lists(
            st.lists(st.integers(0, 9), min_size=columns, max_size=columns),
            min_size=rows,
            max_size=rows,
        )
    )
)


def test_hand_worked_table():
    # Joint (.4, .1; .1, .4), margins .5: I = 2(.4 log 1.6 + .1 log .4), R = half of 4 x |.15|.
    table = marginal([[4, 1], [1, 4]])
    assert mutual_information(table) == pytest.approx(
        2 * (0.4 * np.log(1.6) + 0.1 * np.log(0.4)), abs=1e-12
    )
    assert r_score(table) == pytest.approx(0.3)
    # F: row 0 to child 0 (K0 = .4), row 1 to child 1 (K1 = .4): -(.1 + .1).
    assert f_score(table) == pytest.approx(-0.2)


@given(tables, st.booleans())
@settings(deadline=None)
def test_mutual_information_is_sklearns(counts, sparse):
    counts = np.array(counts)
    if counts.sum() == 0:
        return
    rows, columns = np.nonzero(counts)
    repeats = counts[rows, columns]
    theirs = mutual_info_score(np.repeat(rows, repeats), np.repeat(columns, repeats))
    ours = mutual_information(marginal(counts, sparse=sparse))
    assert ours == pytest.approx(theirs, abs=1e-9)


@given(tables, st.booleans())
@settings(deadline=None)
def test_r_score_is_its_definition(counts, sparse):
    counts = np.array(counts)
    if counts.sum() == 0:
        assert r_score(marginal(counts, sparse=sparse)) == 0.0
        return
    joint = counts / counts.sum()
    brute = 0.5 * np.abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum()
    assert r_score(marginal(counts, sparse=sparse)) == pytest.approx(brute, abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=7))
@settings(deadline=None)
def test_f_score_is_the_best_of_all_splits(pairs):
    counts = np.array(pairs)
    total = counts.sum()
    best = -0.5
    if total:
        best = max(
            -max(0, 0.5 - sum(c[0] for c, s in zip(counts, split, strict=True) if not s) / total)
            - max(0, 0.5 - sum(c[1] for c, s in zip(counts, split, strict=True) if s) / total)
            for split in product([0, 1], repeat=len(counts))
        )
        best = max(best, -1.0)
    assert f_score(marginal(counts)) == pytest.approx(best, abs=1e-12)


def test_f_score_refuses_what_it_is_not_defined_for():
    with pytest.raises(chaffinch.errors.InputError, match="2 levels"):
        f_score(marginal([[1, 2, 3]]))
    with pytest.raises(chaffinch.errors.InputError, match="whole counts"):
        f_score(marginal([[1.0, 2.0]]))


@given(st.lists(st.integers(0, 9), min_size=8, max_size=8))
@settings(deadline=None)
def test_joint_information_of_three_columns(flat):
    counts = np.array(flat).reshape(2, 2, 2)
    if counts.sum() == 0:
        return
    cube = marginal(counts)
    for child, axis in (("a", 0), ("b", 1), ("c", 2)):
        matrix = np.moveaxis(counts, axis, -1).reshape(4, 2)
        assert mutual_information(cube, child) == pytest.approx(
            mutual_information(marginal(matrix)), abs=1e-12
        )
        assert mutual_information(marginal(counts, sparse=True), child) == pytest.approx(
            mutual_information(cube, child), abs=1e-12
        )


def test_identical_and_independent_columns():
    same = marginal(np.diag([5, 5, 5]))
    assert (
        mutual_information(same)
        == pytest.approx(np.log(3))
        == pytest.approx(entropy(marginal([5, 5, 5])))
    )
    free = marginal(np.outer([1, 2, 3], [4, 5]))
    assert mutual_information(free) == pytest.approx(0, abs=1e-12)
    assert r_score(free) == pytest.approx(0, abs=1e-12)


def test_empty_marginals_score_nothing():
    nobody = marginal(np.zeros((2, 2), dtype=np.int64))
    assert entropy(nobody) == mutual_information(nobody) == 0.0
    assert f_score(nobody) == -0.5
