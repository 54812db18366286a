"""Splits against brute force, and against chance."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.synth.bayesnet.trees.growing import grow, x_log_x


def grown(
    x,
    y,
    sizes,
    *,
    ordered=True,
    y_size=2,
    y_ordered=True,
    least=5,
    most=6,
    price=1.0,
    naming=1.0,
    required=None,
):
    x = np.asarray(x, dtype=np.uint16)
    must = np.zeros(len(x), dtype=bool) if required is None else np.array(required)
    flags = np.full(len(x), ordered)
    about = (y_size, y_size, y_ordered)
    limits = (np.array(sizes, dtype=np.int64), flags, about, must, least, most, price, naming)
    tree = grow(x, np.asarray(y, dtype=np.uint16), np.zeros(0), x_log_x(x.shape[1]), *limits)
    weighted = grow(x, np.asarray(y, dtype=np.uint16), np.ones(x.shape[1]), np.zeros(0), *limits)
    assert all(
        np.array_equal(one, other) for one, other in zip(tree, weighted, strict=True)
    )  # looked up or not, counted once or twice: the same
    return tree


def entropy(y: np.ndarray) -> float:
    """Summed over records, in nats."""
    counts = np.bincount(y)
    counts = counts[counts > 0]
    return float(-(counts * np.log(counts / counts.sum())).sum())


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(20, 80), st.integers(2, 3))
def test_the_first_split_is_the_best_of_all(seed, n, y_size):
    rng = np.random.default_rng(seed)
    sizes = [4, 3]
    x = np.stack([rng.integers(0, size, n) for size in sizes])
    y = np.where(rng.random(n) < 0.6, np.minimum(x[0], y_size - 1), rng.integers(0, y_size, n))
    splits, _below, first, sides = grown(x, y, sizes, y_size=y_size, price=0.0, naming=0.0)
    gains = {}
    for column, size in enumerate(sizes):
        for cut in range(1, size):
            left = x[column] < cut
            if min(left.sum(), (~left).sum()) >= 5:
                gains[column, cut] = entropy(y) - entropy(y[left]) - entropy(y[~left])
    best = max(gains.values(), default=0.0)
    if best < 1e-9:
        assert splits[0] == -1
        return
    side = sides[first[0] : first[0] + sizes[splits[0]]]
    assert abs(gains[int(splits[0]), int((side == 0).sum())] - best) < 1e-9
    assert np.all(np.diff(side.astype(int)) >= 0)


def test_categories_are_split_by_what_they_tell():
    """Levels 0 and 2 go with one value of the child, 1 and 3 with the other: no cut in their order says so, a tree of one split does."""
    x = np.tile(np.arange(4), 50)[None, :]
    splits, _below, _first, sides = grown(x, x[0] % 2, [4], ordered=False)
    assert splits.tolist() == [0, -1, -1]
    assert sides.tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])


def test_chance_is_not_split():
    """Twenty tables of twelve columns that tell nothing: each split names one of 108 cuts and gains a nat more; together less than two are expected."""
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found += int(
            (
                grown(rng.integers(0, 10, (12, 400)), rng.integers(0, 2, 400), [10] * 12)[0] >= 0
            ).sum()
        )
    assert found <= 8


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 3))
def test_leaves_have_records_enough_and_columns_are_few(seed, least, most):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 5, (5, 200))
    y = (x.sum(axis=0) + rng.integers(0, 3, 200)) % 4
    splits, below, first, sides = grown(
        x, y, [5] * 5, y_size=4, least=least, most=most, price=0.1, naming=0.0
    )
    node = np.zeros(200, dtype=int)
    while (splits[node] >= 0).any():
        inner = splits[node] >= 0
        code = x[splits[node], np.arange(200)]
        node = np.where(inner, below[node] + sides[np.where(inner, first[node] + code, 0)], node)
    assert np.bincount(node, minlength=len(splits))[splits < 0].min() >= min(least, 200)
    assert len(np.unique(splits[splits >= 0])) <= most


def test_required_columns_count_among_those_that_may_be_split():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 3, (3, 600))
    splits, *_ = grown(x, x[1], [3] * 3, y_size=3, most=1, required=[True, False, False])
    assert set(splits[splits >= 0].tolist()) <= {0}


def test_a_relation_of_fine_numbers_is_followed_to_the_end():
    """A child that is its parent's number: groups of the child are those of the node, so that splits go on below the grain of twelve."""
    x = np.repeat(np.arange(60), 20)[None, :]
    splits, _below, first, sides = grown(x, x[0], [60], y_size=60, least=10)
    assert (splits < 0).sum() == 60
    ends = sorted(
        int((sides[first[node] : first[node] + 60] == 0).sum())
        for node in np.flatnonzero(splits >= 0)
    )
    assert all(a < b for a, b in pairwise(ends))
