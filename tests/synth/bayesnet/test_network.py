"""Networks: acyclic, ordered, and clear about what is wrong with edges that are not."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

import chaffinch
from chaffinch.synth.bayesnet.network import Network, find_cycle, parents_first

COLUMNS = "abcde"
EDGES = st.lists(st.sampled_from(list(permutations(COLUMNS, 2))), max_size=9)


def has_cycle(edges) -> bool:
    """Whether two columns reach each other: a strongly connected component of more than one column."""
    matrix = np.zeros((len(COLUMNS), len(COLUMNS)))
    for parent, child in edges:
        matrix[COLUMNS.index(parent), COLUMNS.index(child)] = 1
    return connected_components(matrix, connection="strong")[0] < len(COLUMNS)


@given(EDGES)
def test_a_cycle_is_found_exactly_where_there_is_one(edges):
    cycle = find_cycle(COLUMNS, edges)
    assert bool(cycle) == has_cycle(edges)
    if cycle:
        assert cycle[0] == cycle[-1]
        assert len(set(cycle)) == len(cycle) - 1 >= 2
        assert all(edge in edges for edge in pairwise(cycle))


@given(EDGES, st.permutations(COLUMNS))
def test_every_column_comes_after_its_parents(edges, first):
    if has_cycle(edges):
        with pytest.raises(
            chaffinch.errors.InputError,
            match=r"The edges form a cycle: \w( -> \w)+\. Leave one of them out",
        ):
            Network.of(COLUMNS, edges)
        return
    network = Network.of(COLUMNS, edges, first=first)
    assert sorted(network.order) == sorted(COLUMNS)
    assert set(network.edges) == set(edges)
    assert len(network.edges) == len(set(edges))
    assert all(network.order.index(p) < network.order.index(c) for p, c in network.edges)
    assert network.most_parents == max(len(network[c]) for c in COLUMNS)
    # Of all orders with that property, it is the first when columns rank as in `first`.
    ranks = [first.index(name) for name in network.order]
    for other in permutations(COLUMNS):
        if all(other.index(p) < other.index(c) for p, c in edges):
            assert ranks <= [first.index(name) for name in other]
    assert Network(network.order, network.parents) == network


def test_columns_of_a_network_are_looked_up_by_name():
    network = Network.of(["age", "income"], [("age", "income")])
    assert network["income"] == ("age",)
    assert network["age"] == ()
    with pytest.raises(
        chaffinch.errors.UnknownNameError, match=r"Unknown column 'incme'. Did you mean 'income'\?"
    ):
        network["incme"]
    with pytest.raises(
        chaffinch.errors.UnknownNameError, match=r"Unknown column 'ag'. Did you mean 'age'\?"
    ):
        Network.of(["age", "income"], [("ag", "income")])


def test_the_cycle_is_printed():
    with pytest.raises(chaffinch.errors.InputError, match="cycle: b -> c -> d -> b"):
        Network.of("abcd", [("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")])
    with pytest.raises(chaffinch.errors.InputError, match="cycle: a -> a"):
        Network.of("ab", [("a", "a")])


def test_a_network_written_by_hand_is_checked():
    for order, parents, rule in [
        (("a", "b"), ((),), "each column once"),
        (("a", "a"), ((), ()), "each column once"),
        (("a", "b"), (("b",), ()), "'a' stands before its parent 'b'"),
        (("a", "b"), ((), ("z",)), "'b' stands before its parent 'z', or the parent is no column"),
        (("a", "b"), ((), ("b",)), "'b' stands before its parent 'b'"),
        (("a", "b"), ((), ("a", "a")), "'b' has a parent twice"),
    ]:
        with pytest.raises(chaffinch.errors.InputError, match=rule):
            Network(order, parents)


def test_no_columns_and_one_column():
    assert Network((), ()).most_parents == 0
    assert Network((), ()).edges == ()
    assert Network.of(["a"], []).order == ("a",)


@given(st.integers(1, 12), st.integers(0, 10**6))
def test_parents_come_first_and_nothing_moves_that_need_not(d, seed):
    """Against the words themselves: time and again the first of those left whose parents are all there."""
    rng = np.random.default_rng(seed)
    hidden, wanted = rng.permutation(d), rng.permutation(d).tolist()
    parents = {
        int(child): [int(p) for p in hidden[:k] if rng.random() < 0.3]
        for k, child in enumerate(hidden)
    }
    left, order = list(wanted), []
    while left:
        order.append(
            next(item for item in left if all(parent in order for parent in parents[item]))
        )
        left.remove(order[-1])
    assert parents_first(wanted, parents) == order
