"""The operators of P0 section III as printed, one at a time, and the evolution they make."""

from __future__ import annotations

import numpy as np
import pytest

import chaffinch
from chaffinch.counts import MemoryCounter
from chaffinch.synth import BayesNet, Evolution
from chaffinch.synth.bayesnet import genetic
from chaffinch.synth.bayesnet.rules import Constraints, make_rules
from chaffinch.synth.bayesnet.scores import FamilyScores

D = 7
BLOCKS = {
    "one block": [0] * D,
    "three blocks": [0, 1, 1, 2, 2, 2, 2],
    "each its own": list(range(D)),
}


def individual(rng, block, k, *, members=None, fixed=False):
    order, place = np.empty(D, dtype=np.int64), np.empty(D, dtype=np.int64)
    lists = np.empty((D, k), dtype=np.int64)
    members = np.arange(D) if members is None else members
    genetic._initialise(order, lists, place, np.array(block), members, fixed, rng)
    return order, lists, place


def in_blocks(order, block):
    """Whether each column stands in the block that it began in (members are in the order of their numbers)."""
    return all(block[place] == block[column] for place, column in enumerate(order))


def distinct(lists):
    return all(len(set(row)) == len(row) and c not in row for c, row in enumerate(lists.tolist()))


def before(order, child):
    return set(order[: list(order).index(child)].tolist())


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
@pytest.mark.parametrize("k", [1, 3, 6])
def test_initialization(block, k):
    rng = np.random.default_rng(1)
    for _ in range(100):
        order, lists, _ = individual(rng, block, k)
        assert sorted(order) == list(range(D))
        assert in_blocks(order, block)
        assert distinct(lists)  # exactly k distinct parents
        for child in range(D):
            earlier = before(order, child)
            if len(earlier) >= k:  # steps 6 and 7
                assert set(lists[child]) <= earlier
            else:
                assert earlier <= set(lists[child])


def test_initialization_draws_orders_and_parents_evenly(assert_drawn_from):
    rng = np.random.default_rng(2)
    orders, parents = np.zeros((D, D), dtype=int), np.zeros(D, dtype=int)
    for _ in range(3000):
        order, lists, _ = individual(rng, [0] * D, 2)
        orders[np.arange(D), order] += 1
        if order[-1] == 0:
            parents[lists[0]] += 1
    for place in range(D):
        assert_drawn_from(orders[place], np.full(D, 1 / D))
    assert_drawn_from(parents[1:], np.full(D - 1, 1 / (D - 1)))


def test_a_fixed_order_is_left_alone():
    members = np.array([4, 2, 0, 1, 3, 6, 5])
    order, lists, _ = individual(np.random.default_rng(0), [0] * D, 2, members=members, fixed=True)
    assert np.array_equal(order, members)
    assert distinct(lists)


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
@pytest.mark.parametrize("rate", [0.0, 1 / D, 1.0])
def test_order_flip_keeps_permutations_and_blocks(block, rate):
    rng = np.random.default_rng(3)
    order, _, _ = individual(rng, block, 1)
    moved = 0
    for _ in range(200):
        old = order.copy()
        genetic._order_flip(order, np.array(block), rate, rng)
        assert sorted(order) == list(range(D))
        assert in_blocks(order, block)
        moved += int((old != order).any())
    assert (moved > 0) == (rate > 0 and len(set(block)) < D)


@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_swap_repairs_parents_that_come_later(k):
    rng = np.random.default_rng(4)
    for _ in range(200):
        order, lists, place = individual(rng, [0] * D, k)
        order[:] = rng.permutation(D)  # as after an order flip: lists no longer fit
        old = lists.copy()
        genetic._swap(order, lists, place, 0.0, rng)
        assert distinct(lists)
        for child in range(D):
            earlier = before(order, child)
            valid = earlier & set(lists[child])
            assert earlier & set(old[child]) <= valid  # with r = 0, valid parents stay
            assert len(valid) == min(k, len(earlier))  # as many valid ones as there can be


@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_swap_mutates_to_predecessors(k):
    rng = np.random.default_rng(5)
    changed = 0
    for _ in range(200):
        order, lists, place = individual(rng, [0] * D, k)
        old = lists.copy()
        genetic._swap(order, lists, place, 1.0, rng)
        assert distinct(lists)
        for child in range(D):
            new = set(lists[child]) - set(old[child])
            assert new <= before(order, child)
            changed += len(new)
    assert (changed > 0) == (k < D - 1)


def test_fitness_is_the_sum_over_valid_parents():
    rng = np.random.default_rng(6)
    pairs = rng.random((D, D))
    pairs += pairs.T
    every = ~np.eye(D, dtype=bool)
    none = np.zeros((D, D), dtype=bool)
    for _ in range(50):
        order, lists, place = individual(rng, [0] * D, 3)
        order[:] = rng.permutation(D)
        plain = sum(pairs[c, p] for c in range(D) for p in lists[c] if p in before(order, c))
        assert genetic._fitness(order, lists, place, pairs, every, none) == pytest.approx(plain)


@pytest.fixture
def pairs(linked):
    return FamilyScores(MemoryCounter(linked(8, [2, 3, 4, 2, 3, 2, 4, 3, 2, 2], 500))).pairs()


@pytest.mark.parametrize("seed", range(5))
def test_the_best_never_gets_worse(pairs, seed):
    rules = make_rules([f"c{i}" for i in range(10)], Constraints(most=3))
    parents, history = genetic.genetic_search(
        pairs, rules, np.random.default_rng(seed), Evolution(generations=60)
    )
    assert len(history) == 61
    assert (np.diff(history) >= 0).all()
    assert history[-1] > history[0]
    total = sum(pairs[c, p] for c, chosen in enumerate(parents) for p in chosen)
    assert total == pytest.approx(history[-1])  # the network is the one that was weighed


def test_the_network_has_the_fitness_that_was_weighed_with_required_edges(pairs):
    names = [f"c{i}" for i in range(10)]
    rules = make_rules(
        names,
        Constraints(
            most=2, require=[("c0", "c5"), ("c9", "c5"), ("c5", "c2")], forbid=[("c1", "c3")]
        ),
    )
    parents, history = genetic.genetic_search(
        pairs, rules, np.random.default_rng(0), Evolution(generations=60)
    )
    assert max(map(len, parents)) <= 2
    total = sum(pairs[c, p] for c, chosen in enumerate(parents) for p in chosen)
    assert total == pytest.approx(history[-1])


def test_no_clique_over_the_first_columns():
    """Where the first k columns tell nothing of each other, the fittest network leaves some of their edges out."""
    pairs = np.zeros((8, 8))
    pairs[:4, 4:] = pairs[4:, :4] = 1.0
    rules = make_rules([f"c{i}" for i in range(8)], Constraints(most=4))
    parents, history = genetic.genetic_search(pairs, rules, np.random.default_rng(0))
    assert history[-1] == pytest.approx(16)
    assert sum(map(len, parents)) <= 4 * 8 - 10


def test_the_parameters_of_the_paper_are_the_defaults():
    assert Evolution() == Evolution(population=200, selected=10, mutation=None, generations=400)
    assert BayesNet().evolution == Evolution()


def test_the_default_rate_is_one_over_the_columns(pairs):
    rules = make_rules([f"c{i}" for i in range(10)], Constraints(most=2))
    default = genetic.genetic_search(
        pairs, rules, np.random.default_rng(3), Evolution(generations=20)
    )
    named = genetic.genetic_search(
        pairs, rules, np.random.default_rng(3), Evolution(mutation=0.1, generations=20)
    )
    other = genetic.genetic_search(
        pairs, rules, np.random.default_rng(3), Evolution(mutation=0.5, generations=20)
    )
    assert np.array_equal(default[1], named[1])
    assert not np.array_equal(default[1], other[1])


def test_parameters_can_be_set_and_are_checked(pairs):
    rules = make_rules([f"c{i}" for i in range(10)], Constraints(most=2))
    one = Evolution(population=1, selected=1, mutation=1.0, generations=3)
    assert len(genetic.genetic_search(pairs, rules, np.random.default_rng(0), one)[1]) == 4
    none = genetic.genetic_search(pairs, rules, np.random.default_rng(0), Evolution(generations=0))[
        1
    ]
    assert len(none) == 1
    for settings, message in [
        ({"selected": 0}, r"selected must lie between 1 and population = 200\. Got 0"),
        ({"selected": 300}, r"between 1 and population = 200\. Got 300"),
        ({"population": 0}, "selected must lie between"),
        ({"mutation": 1.5}, r"mutation must lie between 0 and 1\. Got 1\.5"),
        ({"generations": -1}, r"generations must be at least 0\. Got -1"),
    ]:
        with pytest.raises(chaffinch.errors.InputError, match=message):
            Evolution(**settings)


def test_one_seed_one_network(linked):
    table = linked(8, [2, 3, 4, 2, 3, 2], 500)
    settings = BayesNet(parents=2, search="genetic", evolution=Evolution(generations=5))
    assert settings.fit(table, seed=4).network == settings.fit(table, seed=4).network
