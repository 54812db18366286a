"""Unions of few cells, against the compiled search and against all unions there are."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.rules.differencing import nested, small_unions, union_sizes, united

PEOPLE = st.sampled_from([0, 0, 0, 1, 2, 5, 9, 10, 30])


@st.composite
def shared_people(draw, most=5):
    n_a, n_b = draw(st.integers(1, most)), draw(st.integers(1, most))
    table = np.array(draw(st.lists(PEOPLE, min_size=n_a * n_b, max_size=n_a * n_b))).reshape(
        n_a, n_b
    )
    a_out, b_out = (
        np.array(draw(st.lists(st.sampled_from([0, 0, 1, 3, 12]), min_size=n, max_size=n)))
        for n in (n_a, n_b)
    )
    return table, a_out, b_out


def sides(table, a_out, b_out):
    both = []
    for one, out in ((table, a_out), (table.T, b_out)):
        of, to = np.nonzero(one)
        starts = np.searchsorted(of, np.arange(len(one) + 1))
        both.append(
            (
                starts,
                np.ascontiguousarray(to),
                one[of, to].astype(np.int64),
                one.sum(axis=1) + out,
                out.astype(np.int64),
            )
        )
    return both


@settings(max_examples=300, deadline=None)
@given(shared_people(most=8), st.integers(2, 10))
def test_the_unions_are_those_of_the_compiled_search(people, threshold):
    table, a_out, b_out = people
    outer, inner = sides(*people)
    every = np.ones(sum(table.shape), dtype=bool)
    beyond = nested(outer, inner, threshold, union_sizes(128), every, 2**62)[:-1]
    expected = {
        united(outer, inner, threshold, int(seed)).tobytes() for seed in np.flatnonzero(beyond > 0)
    }
    found = {np.concatenate(one).tobytes() for one in small_unions(table, a_out, b_out, threshold)}
    # The compiled search looks at one of several seeds that lead to the same unions, or to larger ones.
    assert expected <= found
    assert bool(expected) == bool(found)


@settings(max_examples=150, deadline=None)
@given(shared_people(most=4), st.integers(2, 10))
def test_a_difference_is_found_where_there_is_one(people, threshold):
    """Every union of a's cells is tried, with all of b's cells that lie within it; a cell of a that shares nobody with these is a small count of its own."""
    table, a_out, b_out = people
    there = False
    for chosen in product([False, True], repeat=len(table)):
        mask = np.array(chosen)
        within = (b_out == 0) & (table[~mask].sum(axis=0) == 0) & (table.sum(axis=0) > 0)
        beyond = (table.sum(axis=1) + a_out)[mask].sum() - table.sum(axis=0)[within].sum()
        tied = (table[mask][:, within] > 0).any(axis=1).all()
        there |= bool(within.any() and tied and 0 < beyond < threshold)
    found = small_unions(table, a_out, b_out, threshold)
    assert bool(found) == there
    for mask, within in found:
        beyond = (table.sum(axis=1) + a_out)[mask].sum() - (table.sum(axis=0) + b_out)[within].sum()
        assert 0 < beyond < threshold
        assert (table[~mask][:, within] == 0).all()
        assert (b_out[within] == 0).all()
