"""Candidate parents: against all subsets, and the published formulas by hand."""

from __future__ import annotations

from itertools import combinations
from math import comb, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.synth.privbayes.candidates import (
    degree,
    exact_candidates,
    maximal_candidates,
    maximal_sets,
    useful_cells,
)


def rng():
    return np.random.default_rng(0)


def brute(columns, sizes, cells):
    """Every subset that fits and to which no other column could be added."""
    fits = [
        set(s)
        for k in range(len(columns) + 1)
        for s in combinations(columns, k)
        if prod(sizes[c] for c in s) <= cells
    ]
    return sorted(tuple(sorted(s)) for s in fits if not any(s < t for t in fits))


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=7),
    st.floats(1, 400),
    st.data(),
)
@settings(max_examples=100, deadline=None)
def test_maximal_sets_against_all_subsets(sizes, cells, data):
    columns = data.draw(st.lists(st.sampled_from(range(len(sizes))), unique=True))
    result = maximal_sets(columns, sizes, cells, most=10_000, rng=rng())
    assert sorted(result) == brute(columns, sizes, cells)
    assert len(set(result)) == len(result)


@given(st.lists(st.integers(1, 6), min_size=4, max_size=8), st.floats(4, 60), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_where_there_are_too_many_some_maximal_ones_are_drawn(sizes, cells, most):
    columns = list(range(len(sizes)))
    every = brute(columns, sizes, cells)
    result = maximal_sets(columns, sizes, cells, most=most, rng=rng())
    assert 1 <= len(result) <= most
    assert len(set(result)) == len(result)
    assert set(result) <= set(every)
    if len(every) <= most:
        assert sorted(result) == every


def test_no_room_for_anything():
    assert maximal_sets([0, 1], [2, 3], 0.5, most=10, rng=rng()) == [
        ()
    ]  # the child is measured all the same, alone
    assert maximal_sets([0, 1], [2, 3], 1.0, most=10, rng=rng()) == [()]
    assert maximal_sets([], [], 5.0, most=10, rng=rng()) == [()]


@pytest.mark.parametrize("cells", [1.0, 3.9, 4.0, 12.0, 24.0, 1000.0])
def test_maximal_candidates_keep_the_whole_table_within_bounds(cells):
    sizes, placed, left = [2, 3, 4, 2, 6], [0, 2, 3], [1, 4]
    result = maximal_candidates(placed, left, sizes, cells, most=1000, rng=rng())
    for child in left:
        own = sorted(parents for c, parents in result if c == child)
        # A column wider than any useful table still has to be measured somehow: alone.
        assert own == (brute(placed, sizes, cells / sizes[child]) or [()])
    assert {child for child, _ in result} == set(left)


def published_degree(n, epsilon2, d, theta):
    """PrivBayes, section 4.5: the largest k with n epsilon2 / ((d - k) 2^(k+2)) >= theta."""
    return max(
        (k for k in range(1, d) if n * epsilon2 / ((d - k) * 2 ** (k + 2)) >= theta), default=0
    )


@given(st.integers(0, 10**6), st.floats(1e-3, 10), st.integers(1, 25), st.floats(0.5, 12))
@settings(max_examples=150, deadline=None)
def test_the_degree_is_the_published_one(n, epsilon, d, theta):
    # Scales by powers of two round alike; still leave out draws on the very edge.
    edges = [n * epsilon / ((d - k) * 2 ** (k + 2)) for k in range(1, d)]
    if any(abs(e - theta) < 1e-9 * theta for e in edges):
        return
    assert degree(n, epsilon, d, l1=2, theta=theta) == published_degree(n, epsilon, d, theta)


def test_the_degree_by_hand():
    # n = 1000, epsilon2 = 0.7, d = 10: k = 1 gives 700 / (9 x 8) = 9.7, k = 2 gives 700 / (8 x 16) = 5.5, k = 3 gives 3.1.
    assert degree(1000, 0.7, 10, l1=2, theta=4) == 2
    # Under add-remove the noise is half: k = 3 gives 6.25, k = 4 gives 3.6.
    assert degree(1000, 0.7, 10, l1=1, theta=4) == 3
    assert degree(0, 0.7, 10, l1=2, theta=4) == 0
    assert degree(10**9, 0.7, 1, l1=2, theta=4) == 0


def test_useful_cells_by_hand():
    # The mean count 1000 / c is 4 times the scale 2 x 11 / 0.7 = 31.4 at c = 1000 / 125.7 = 7.95.
    assert useful_cells(1000, 0.7, tables=11, l1=2, theta=4) == pytest.approx(
        1000 / (4 * 2 * 11 / 0.7)
    )
    assert useful_cells(1000, 0.7, tables=11, l1=1, theta=4) == pytest.approx(
        2 * 1000 / (4 * 2 * 11 / 0.7)
    )
    assert useful_cells(0, 0.7, tables=11, l1=1, theta=4) == 0


@pytest.mark.parametrize(
    ("placed", "left", "k"), [(1, 5, 2), (4, 3, 2), (5, 1, 5), (3, 2, 7), (4, 2, 0)]
)
def test_exact_candidates_are_all_of_a_width(placed, left, k):
    result = exact_candidates(
        range(placed), range(placed, placed + left), k, most=10_000, rng=rng()
    )
    width = min(k, placed)
    assert len(result) == len(set(result)) == left * comb(placed, width)
    assert all(
        len(parents) == width and set(parents) <= set(range(placed)) for _, parents in result
    )
    assert {child for child, _ in result} == set(range(placed, placed + left))


def test_exact_candidates_are_drawn_where_there_are_too_many():
    result = exact_candidates(range(20), range(20, 30), 4, most=100, rng=rng())
    assert 10 < len(result) <= 100
    assert len(set(result)) == len(result)
    assert all(len(set(parents)) == 4 and max(parents) < 20 for _, parents in result)
    assert {child for child, _ in result} == set(range(20, 30))  # every column keeps a chance
