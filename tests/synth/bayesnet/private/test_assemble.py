"""From estimated tables to a network whose tables have the estimated sums."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch.synth.bayesnet.network import Constraints, Rules, make_rules, parents_first
from chaffinch.synth.bayesnet.private.assemble import (
    FEW_PARENTS,
    MOST_CELLS,
    NOISY,
    PairScores,
    _worthwhile,
    assemble,
    orient_links,
    spread_evenly,
    strongest_parents,
    unlinked_parents,
    with_fewer_parents,
)


def test_the_strongest_parents_that_keep_the_table_small():
    sizes = (2, 3, 4, MOST_CELLS)
    assert strongest_parents({1: 1.0, 2: 3.0, 3: 9.0}, 0, sizes, 2) == (2, 1)
    assert strongest_parents({1: 1.0, 2: 3.0}, 0, sizes, 1) == (2,)
    assert strongest_parents({}, 0, sizes, 2) == ()


def test_tables_have_the_estimated_conditional_distributions():
    rules = make_rules("ab", Constraints(1))
    pair = np.array([[300.0, 100.0], [60.0, 540.0]])
    margins = [pair.sum(axis=1), pair.sum(axis=0)]
    network = assemble(
        rules, (0, 1), {0: (), 1: (0,)}, margins, {(0, 1): pair}, np.random.default_rng(1)
    )
    assert network.order == (0, 1)
    assert network.parents == ((), (0,))
    counts = network.tables[1].counts
    np.testing.assert_allclose(
        counts / counts.sum(axis=1, keepdims=True),
        pair / pair.sum(axis=1, keepdims=True),
        atol=1e-9,
    )
    # 20,000 rows: shares of 0.4, and of 0.75 and 0.1 within, as exactly as whole numbers allow.
    assert network.sample.n_rows == 20_000
    np.testing.assert_allclose(network.sample.counts((0, 1)), 20 * pair, atol=2)


def test_numbers_are_spread_evenly_within_groups_in_random_order():
    rng = np.random.default_rng(2)
    key = rng.integers(0, 3, 1000)
    uniform = spread_evenly(key, rng)
    for group in range(3):
        own = np.sort(uniform[key == group])
        np.testing.assert_allclose(np.diff(own), 1 / len(own))
        assert 0 <= own[0] < 1 / len(own)
    # Independent of where the row stands: a rank correlation of 1,000 within 5 standard deviations.
    assert abs(np.corrcoef(uniform, np.arange(1000))[0, 1]) < 5 / 1000**0.5
    assert abs(np.corrcoef(uniform, spread_evenly(key, rng))[0, 1]) < 5 / 1000**0.5
    wide = rng.integers(0, 1 << 40, 50)  # keys too long for the short sort
    assert ((spread_evenly(wide, rng) >= 0) & (spread_evenly(wide, rng) < 1)).all()


def test_children_of_the_same_parent_stay_independent_and_unlinked_parents_are_counted():
    """b and c are drawn given a; d has both as parents, and their joint table is that of the model: a sum over a."""
    rules = make_rules("abcd", Constraints(2))
    of_a = np.array([400.0, 600.0])
    given = np.array([[0.7, 0.3], [0.2, 0.8]])
    pair = of_a[:, None] * given
    margin = pair.sum(axis=0)
    to_d = np.array([[0.5, 0.5], [0.1, 0.9]])
    tables = {
        (0, 1): pair,
        (0, 2): pair,
        (1, 3): margin[:, None] * to_d,
        (2, 3): margin[:, None] * to_d,
    }
    margins = [of_a, margin, margin, (margin[:, None] * to_d).sum(axis=0)]
    parents = {0: (), 1: (0,), 2: (0,), 3: (1, 2)}
    network = assemble(rules, (0, 1, 2, 3), parents, margins, tables, np.random.default_rng(3))
    expected = np.einsum("a,ab,ac->bc", of_a, given, given)
    # 20,000 rows; a cell of the joint table has a standard deviation of at most half a record in a thousand: 5 of them.
    np.testing.assert_allclose(
        network.tables[3].counts.sum(axis=2), expected, atol=5 * 1000 * (0.25 / 20_000) ** 0.5
    )
    own = network.tables[3].counts
    for axis in (0, 1):
        sums = own.sum(axis=1 - axis)
        np.testing.assert_allclose(sums / sums.sum(axis=1, keepdims=True), to_d, atol=0.01)


def test_links_that_contradict_each_other_do_not_move_the_column():
    """Two columns that exclude each other, but are not linked, as parents of one that tells which of them holds.

    As independent parents both hold at once in a ninth of the rows, which no table of the child allows for but for a little noise.
    """
    rules = make_rules("abc", Constraints(2))
    third = np.array([600.0, 300.0])  # not a, a
    own = np.array([300.0, 300.0, 300.0])  # a, b, neither
    to_a = np.array([[20.0, 290.0, 290.0], [280.0, 10.0, 10.0]])
    to_b = np.array([[290.0, 20.0, 290.0], [10.0, 280.0, 10.0]])
    network = assemble(
        rules,
        (0, 1, 2),
        {0: (), 1: (), 2: (0, 1)},
        [third, third, own],
        {(0, 2): to_a, (1, 2): to_b},
        np.random.default_rng(4),
    )
    # 18,000 rows, spread evenly within four groups. Unless it is settled, the last level has 380 records.
    np.testing.assert_allclose(network.sample.counts((2,)) / 20, own, atol=1)


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
    turned = orient_links({0: (), 1: (), 2: (0, 1)}, matrix, (2, 2, 2), free(3, 2))
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
    turned = orient_links(parents, strengths(d, links, rng), (2,) * d, free(d, d))
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
    turned = orient_links(parents, strengths(d, links, rng), (2,) * d, free(d, most))
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
    assert orient_links(parents, np.ones((3, 3)), (2, 2, 2), rules) == parents


def test_scores_of_many_sets_are_sums_over_their_pairs():
    matrix = np.random.default_rng(1).random((4, 4))
    masks = np.array([0b0000, 0b0010, 0b1010, 0b1110])
    plain = [sum(matrix[0, j] for j in range(4) if mask >> j & 1) for mask in masks]
    assert PairScores(matrix).masked("pairwise", 0, masks, max_parents=3) == pytest.approx(plain)


def test_parents_that_tell_nothing_go_and_required_ones_stay():
    matrix = np.zeros((3, 3))
    matrix[2, 0] = 5.0
    free, bound = (
        make_rules("abc", Constraints(2)),
        make_rules("abc", Constraints(2, require=(("b", "c"),))),
    )
    assert _worthwhile(2, (0, 1), matrix, (2, 2, 2), free) == (0,)
    assert _worthwhile(2, (0, 1), matrix, (2, 2, 2), bound) == (1, 0)
    with pytest.raises(InputError, match="too large to be measured"):
        _worthwhile(2, (0, 1), matrix, (2, MOST_CELLS, 2), bound)


def test_noisy_columns_get_few_parents_but_those_that_must_be():
    names = "abcdef"
    free = make_rules(names, Constraints(5))
    bound = make_rules(names, Constraints(5, require=tuple((p, "f") for p in "abcd")))
    assert with_fewer_parents(free, NOISY).max_parents == 5
    assert with_fewer_parents(free, 2 * NOISY).max_parents == FEW_PARENTS
    assert with_fewer_parents(bound, 2 * NOISY).max_parents == 4
    assert with_fewer_parents(make_rules(names, Constraints(1)), 2 * NOISY).max_parents == 1
