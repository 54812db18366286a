"""Links turned such that parents of one column are linked to each other where they can be."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.synth.bayesnet.network import parents_first
from chaffinch.synth.bayesnet.private.orienting import oriented, unlinked_parents
from chaffinch.synth.bayesnet.rules import Constraints, Rules, make_rules

Parents = dict[int, tuple[int, ...]]


def free(columns: int, most: int) -> Rules:
    return make_rules([f"c{i}" for i in range(columns)], Constraints(most))


def links_of(parents: Parents) -> set[frozenset[int]]:
    return {frozenset((child, p)) for child, chosen in parents.items() for p in chosen}


def turned_by(order: list[int], links: set[frozenset[int]]) -> Parents:
    """The links as an order tells."""
    place = {column: i for i, column in enumerate(order)}
    return {
        c: tuple(p for p in order if frozenset((c, p)) in links and place[p] < place[c])
        for c in order
    }


def strengths(columns: int, links: set[frozenset[int]], rng: np.random.Generator) -> np.ndarray:
    matrix = np.zeros((columns, columns))
    for a, b in map(sorted, links):
        matrix[a, b] = matrix[b, a] = rng.uniform(0.1, 100)
    return matrix


def test_two_causes_of_one_column_become_its_children():
    matrix = np.array([[0.0, 0, 3], [0, 0, 2], [3, 2, 0]])
    turned = oriented({0: (), 1: (), 2: (0, 1)}, matrix, (2, 2, 2), free(3, 2))
    assert turned == {2: (), 0: (2,), 1: (2,)}


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_graphs_without_holes_get_an_order_in_which_all_parents_are_linked(seed):
    """The theorem of Tarjan and Yannakakis: whatever the first column, on a chordal graph every parent set is a clique."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(3, 12))
    links: set[frozenset[int]] = set()
    cliques: list[tuple[int, ...]] = [()]
    for column in range(d):  # a new column is linked to part of a clique: no hole can come about
        clique = cliques[rng.integers(len(cliques))]
        some = [c for c in clique if rng.random() < 0.8]
        links |= {frozenset((column, c)) for c in some}
        cliques.append((*some, column))
    parents = turned_by(rng.permutation(d).tolist(), links)
    turned = oriented(parents, strengths(d, links, rng), (2,) * d, free(d, d))
    assert unlinked_parents(turned) == 0
    assert links_of(turned) == links
    parents_first(range(d), turned)  # raises on a cycle


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_no_link_is_lost_no_limit_is_passed_and_nothing_gets_worse(seed, most):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(3, 10))
    order = rng.permutation(d).tolist()
    parents: Parents = {}
    for i, child in enumerate(order):
        parents[child] = tuple(rng.permutation(order[:i])[: rng.integers(0, most + 1)].tolist())
    links = links_of(parents)
    turned = oriented(parents, strengths(d, links, rng), (2,) * d, free(d, most))
    assert links_of(turned) == links
    assert max(map(len, turned.values())) <= most
    assert unlinked_parents(turned) <= unlinked_parents(parents)
    parents_first(range(d), turned)
    by_hand = sum(
        frozenset(pair) not in links
        for chosen in turned.values()
        for pair in combinations(chosen, 2)
    )
    assert by_hand == unlinked_parents(turned)


@pytest.mark.parametrize(
    "constraints",
    [
        Constraints(2, require=(("c0", "c2"),)),
        Constraints(2, forbid=(("c2", "c0"),)),
        Constraints(2, root="c0"),
        Constraints(2, order=("c0", "c1", "c2")),
        Constraints(2, keep=("c0",)),
        Constraints(2, sensitive=("c1",), protect="together"),
    ],
    ids=["require", "forbid", "root", "order", "keep", "sensitive"],
)
def test_rules_about_directions_are_left_to_the_search(constraints):
    rules = make_rules(("c0", "c1", "c2"), constraints)
    parents = {0: (), 1: (), 2: (0, 1)}
    assert oriented(parents, np.ones((3, 3)), (2, 2, 2), rules) == parents
