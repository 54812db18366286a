"""Scores of marginals against hand-worked tables, other libraries and brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

import chaffinch
from chaffinch.counts import Marginal, scores

from .conftest import f_score, r_score


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
    assert scores.mutual_information(table) == pytest.approx(
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
    ours = scores.mutual_information(marginal(counts, sparse=sparse))
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
        assert scores.mutual_information(cube, child) == pytest.approx(
            scores.mutual_information(marginal(matrix)), abs=1e-12
        )
        assert scores.mutual_information(marginal(counts, sparse=True), child) == pytest.approx(
            scores.mutual_information(cube, child), abs=1e-12
        )


def test_identical_and_independent_columns():
    same = marginal(np.diag([5, 5, 5]))
    assert (
        scores.mutual_information(same)
        == pytest.approx(np.log(3))
        == pytest.approx(scores.entropy(marginal([5, 5, 5])))
    )
    free = marginal(np.outer([1, 2, 3], [4, 5]))
    assert scores.mutual_information(free) == pytest.approx(0, abs=1e-12)
    assert r_score(free) == pytest.approx(0, abs=1e-12)


def test_empty_marginals_score_nothing():
    nobody = marginal(np.zeros((2, 2), dtype=np.int64))
    assert scores.entropy(nobody) == scores.mutual_information(nobody) == 0.0
    assert f_score(nobody) == -0.5


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.integers(1, 5),
    st.integers(0, 10**6),
    st.sampled_from([2, 5, 1 << 16]),
)
@settings(max_examples=60, deadline=None)
def test_entropies_of_margins_are_those_of_each_margin_to_the_last_bit(shape, groups, seed, few):
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 5, (groups, *shape)).astype(np.uint32) * rng.integers(
        0, 2, (groups, *shape)
    ).astype(np.uint32)
    cells.flat[0] += 1
    n = int(cells.sum())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scores, "FEW", few)  # counts from there on are not looked up
        found = scores.EntropySum(n).margins(
            np.append(cells.ravel(), np.uint32(7)), groups, shape
        )  # cells beyond the groups are not counted
    for axis, (value, filled) in enumerate(found[:-1], start=1):
        counts = cells.sum(
            axis=tuple(other for other in range(1, cells.ndim) if other != axis), dtype=np.int64
        )
        counts = counts[counts > 0]
        assert (value, filled) == (scores.entropy_of_counts(counts, n), len(counts))
        assert value == pytest.approx(
            -sum(c / n * np.log(c / n) for c in counts.tolist()), abs=1e-12
        )
    alone = cells.reshape(groups, -1).sum(axis=1, dtype=np.int64)
    assert found[-1] == (scores.entropy_of_counts(alone[alone > 0], n), int((alone > 0).sum()))
