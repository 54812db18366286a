"""The ordering search against all networks, against the maximum spanning tree, and against the genetic search."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.metrics import mutual_info_score

import chaffinch
from chaffinch.counts import MemoryCounter
from chaffinch.counts.counter import ReferenceCounter
from chaffinch.synth import BayesNet, Evolution
from chaffinch.synth.bayesnet import searches
from chaffinch.synth.bayesnet import searches as ordering
from chaffinch.synth.bayesnet.network import Constraints, make_rules
from chaffinch.synth.bayesnet.searches import FamilyScores, default_penalty
from chaffinch.table import Table

RULES = {
    "free": ({}, lambda edges, a: True),
    "separate": (
        {"label": "c0", "sensitive": ("c1", "c2")},
        lambda edges, a: (
            {e for e in edges if e[0] in (1, 2) or e[1] in (0, 1, 2)} == {(0, 1), (0, 2)}
        ),
    ),
    "separate, no label": (
        {"sensitive": ("c1", "c2")},
        lambda edges, a: not any(e[0] in (1, 2) or e[1] in (1, 2) for e in edges),
    ),
    "together": (
        {"label": "c0", "sensitive": ("c1", "c2"), "protect": "together"},
        lambda edges, a: (
            not any(
                (e[0] in (1, 2) and e[1] not in (1, 2))
                or e[1] == 0
                or (e[1] in (1, 2) and e[0] not in (0, 1, 2))
                for e in edges
            )
        ),
    ),
    "together, no label": (
        {"sensitive": ("c1", "c2"), "protect": "together"},
        lambda edges, a: not any((e[0] in (1, 2)) != (e[1] in (1, 2)) for e in edges),
    ),
    "required": (
        {"require": [("c3", "c0"), ("c2", "c0")]},
        lambda edges, a: {(3, 0), (2, 0)} <= edges,
    ),
    "forbidden": (
        {"forbid": [("c0", "c1"), ("c1", "c0"), ("c2", "c3")]},
        lambda edges, a: not edges & {(0, 1), (1, 0), (2, 3)},
    ),
    "kept": (
        {"keep": ("c1", "c3")},
        lambda edges, a: not any(e[1] in (1, 3) and e[0] not in (1, 3) for e in edges),
    ),
    "order": (
        {"order": ("c2", "c0", "c3", "c1", "c4")},
        lambda edges, a: all([2, 0, 3, 1, 4].index(p) < [2, 0, 3, 1, 4].index(c) for p, c in edges),
    ),
    "root": ({"root": "c3"}, lambda edges, a: not any(c == 3 for _, c in edges)),
}


def best_of_all(all_networks, d, most, value, obeys):
    """Return the best total over every network without a cycle that obeys."""
    sets, choices = all_networks(d, most)
    worth = [
        np.array([value(child, parents) for parents in each]) for child, each in enumerate(sets)
    ]
    totals = sum(worth[child][choices[:, child]] for child in range(d))
    for at in np.argsort(-totals):
        edges = {(p, child) for child in range(d) for p in sets[child][choices[at, child]]}
        if obeys(edges, None):
            return totals[at], edges
    raise AssertionError("no network obeys")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("score", ["pairwise", "joint", "penalised"])
@pytest.mark.parametrize(("d", "most"), [(4, 3), (5, 2)])
def test_the_best_of_all_networks_is_found(rule, score, d, most, linked, all_networks):
    settings, obeys = RULES[rule]
    if "order" in settings:
        settings = (
            {"order": settings["order"][:d]} if d == 5 else {"order": ("c2", "c0", "c3", "c1")}
        )
    for seed in range(3):
        table = linked(seed, [2, 3, 4, 2, 3][:d], 60 + 100 * seed)
        scores = FamilyScores(MemoryCounter(table), penalty=default_penalty(table.n_rows, most))
        best, _ = best_of_all(all_networks, d, most, getattr(scores, score), obeys)
        model = BayesNet(conditionals="tables", parents=most, score=score, **settings).fit(table)
        assert model.fitted.fitness == pytest.approx(best, abs=1e-9)
        # and the network returned is worth what it says
        names = table.schema.names
        edges = {(names.index(p), names.index(c)) for p, c in model.network.edges}
        assert obeys(edges, None)
        total = sum(
            getattr(scores, score)(
                names.index(c), tuple(sorted(names.index(p) for p in model.network[c]))
            )
            for c in names
        )
        assert total == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("rule", ["free", "together", "required", "forbidden", "kept"])
def test_the_genetic_search_gets_there_too(rule, linked, all_networks):
    settings, obeys = RULES[rule]
    for seed in range(3):
        table = linked(seed, [2, 3, 4, 2, 3], 200)
        scores = FamilyScores(MemoryCounter(table))
        best, _ = best_of_all(all_networks, 5, 2, scores.pairwise, obeys)
        model = BayesNet(conditionals="tables", parents=2, search="genetic", **settings).fit(
            table, seed=seed
        )
        assert model.fitted.fitness == pytest.approx(best, abs=1e-9)


def test_greedy_is_never_above_the_best(linked, all_networks):
    for seed in range(5):
        table = linked(seed, [2, 3, 4, 2, 3], 200)
        best, _ = best_of_all(
            all_networks, 5, 2, FamilyScores(MemoryCounter(table)).joint, lambda e, a: True
        )
        assert (
            BayesNet(conditionals="tables", parents=2, search="greedy")
            .fit(table, seed=seed)
            .fitted.fitness
            <= best + 1e-9
        )


@pytest.mark.parametrize("columns", [2, 6, 12, 16, 25, 60])
def test_one_parent_gives_the_maximum_spanning_tree(columns, linked):
    for seed in range(2):
        table = linked(seed, ([2, 3, 4, 2, 3] * 12)[:columns], 150)
        pairs = FamilyScores(MemoryCounter(table)).pairs()
        tree = -minimum_spanning_tree(-pairs).sum()
        model = BayesNet(conditionals="tables", parents=1, score="pairwise").fit(table, seed=seed)
        assert model.fitted.fitness == pytest.approx(tree, abs=1e-9)


def test_the_spanning_tree_crosses_between_far_groups(coded):
    """Two groups of 45 columns, close inside and far from each other: one weak link must still be found."""
    rng = np.random.default_rng(0)
    groups = [rng.integers(0, 2, 400) for _ in range(2)]
    codes = [
        np.where(rng.random(400) < 0.1, rng.integers(0, 2, 400), g)
        for g in groups
        for _ in range(45)
    ]
    table = coded(codes, [2] * 90)
    tree = -minimum_spanning_tree(-FamilyScores(MemoryCounter(table)).pairs()).sum()
    assert BayesNet(conditionals="tables", parents=1, score="pairwise").fit(
        table, seed=0
    ).fitted.fitness == pytest.approx(tree, abs=1e-9)


@pytest.mark.parametrize("score", ["pairwise", "joint", "penalised"])
@pytest.mark.parametrize("rule", ["free", "separate", "together", "required", "kept", "root"])
def test_the_local_search_comes_close_and_never_above(score, rule, linked, monkeypatch):
    settings = RULES[rule][0]
    for seed in range(3):
        table = linked(seed, [2, 3, 4, 2, 3, 2, 4, 3, 2, 2, 3], 300)
        exact = (
            BayesNet(conditionals="tables", parents=2, score=score, **settings)
            .fit(table)
            .fitted.fitness
        )
        with monkeypatch.context() as patch:
            patch.setattr(ordering, "EXACT", 0)
            local = (
                BayesNet(conditionals="tables", parents=2, score=score, **settings)
                .fit(table, seed=seed)
                .fitted.fitness
            )
        assert 0.995 * exact <= local <= exact + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_columns_that_no_choice_hangs_on_are_passed_by_unasked(seed):
    """The same climb as one that weighs every column again that is passed."""
    rng = np.random.default_rng(seed)
    d, n = 30, 12
    sets, values, near = (
        np.full((d, n, 2), -1),
        np.full((d, n), -np.inf),
        np.zeros((d, d), dtype=bool),
    )
    for child in range(d):
        others = np.delete(np.arange(d), child)
        for row in range(n - 1):
            some = rng.choice(others, rng.integers(1, 3), replace=False)
            sets[child, row, : some.size] = some
            near[child, some] = True
        values[child] = [*np.sort(rng.random(n - 1))[::-1], 0.0]
    start, block = rng.permutation(d), np.zeros(d, dtype=np.int64)
    orders = [start.copy(), start.copy()]
    totals = [
        ordering._climb(order, block, sets, values, who, False)
        for order, who in zip(orders, (near, np.ones_like(near)), strict=True)
    ]
    assert totals[0] == pytest.approx(totals[1])
    assert (orders[0] == orders[1]).all()
    assert (orders[0] != start).any()


def step_by_step(order, block, sets, values):
    """The climb as it reads: each column exchanged with its neighbours one by one, all that hangs on it weighed anew, and back; then to the best place."""
    d = len(order)

    def total(order):
        place = {column: i for i, column in enumerate(order)}
        best = (
            next(
                (
                    v
                    for some, v in zip(sets[c], values[c], strict=True)
                    if all(place[p] < place[c] for p in some if p >= 0)
                ),
                -1e9,
            )
            for c in range(d)
        )
        return sum(best)

    improved = True
    while improved:
        improved = False
        for column in range(d):
            start, now = order.index(column), total(order)
            best_gain, best = 1e-9, order
            for step in (-1, 1):
                trial, at = list(order), start
                while 0 <= at + step < d and block[trial[at + step]] == block[column]:
                    trial[at], trial[at + step] = trial[at + step], trial[at]
                    at += step
                    if (gain := total(trial) - now) > best_gain + 1e-12:
                        best_gain, best = gain, list(trial)
            improved = improved or best is not order
            order = best
    return order


@pytest.mark.parametrize("seed", range(8))
def test_the_climb_is_the_one_that_takes_every_step(seed):
    """Values are multiples of 1/1024: sums of them are exact, and equal gains equal."""
    rng = np.random.default_rng(seed)
    d, n = 14, 9
    sets, values, near = (
        np.full((d, n, 2), -1),
        np.full((d, n), -np.inf),
        np.zeros((d, d), dtype=bool),
    )
    for child in range(d):
        for row in range(n - 1):
            some = rng.choice(np.delete(np.arange(d), child), rng.integers(1, 3), replace=False)
            sets[child, row, : some.size] = some
            near[child, some] = True
        values[child] = [*np.sort(rng.integers(1, 1024, n - 1) / 1024)[::-1], 0.0]
    block = np.repeat([0, 1], [5, 9]) if seed % 2 else np.zeros(d, dtype=np.int64)
    order = np.concatenate([rng.permutation(np.flatnonzero(block == b)) for b in np.unique(block)])
    want = step_by_step(order.tolist(), block, sets.tolist(), values.tolist())
    ordering._climb(order, block, sets, values, near, False)
    assert order.tolist() == want


BUNDLED = [
    "adult_train.parquet",
    "adult_test.parquet",
    "caesarian.csv",
    "cardio_binned.parquet",
    "cmc.csv",
    "diabetes.csv",
]


def bundled(data, name, most_rows):
    table = chaffinch.read(data / name)
    if table.n_rows <= most_rows:
        return table
    rows = np.random.default_rng(0).choice(table.n_rows, most_rows, replace=False)
    return Table.from_codes(table.schema, [table.code(n)[rows] for n in table.schema.names], seed=0)


@pytest.mark.parametrize("name", BUNDLED)
def test_never_below_the_genetic_search_on_a_bundled_table(name, data):
    table = bundled(data, name, 5000)
    for most in (1, 2, 3, 4):
        ours = (
            BayesNet(conditionals="tables", parents=most, score="pairwise")
            .fit(table, seed=0)
            .fitted.fitness
        )
        theirs = (
            BayesNet(conditionals="tables", parents=most, search="genetic")
            .fit(table, seed=0)
            .fitted.fitness
        )
        assert ours >= theirs - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", BUNDLED)
def test_never_below_the_genetic_search_whole_tables_and_many_seeds(name, data, monkeypatch):
    table = bundled(data, name, 1 << 40)
    for most in (1, 2, 3, 4):
        ours = (
            BayesNet(conditionals="tables", parents=most, score="pairwise")
            .fit(table)
            .fitted.fitness
        )
        for seed in range(5):
            evolution = Evolution(generations=2000)
            theirs = (
                BayesNet(conditionals="tables", parents=most, search="genetic", evolution=evolution)
                .fit(table, seed=seed)
                .fitted.fitness
            )
            assert ours >= theirs - 1e-9
        monkeypatch.setattr(ordering, "EXACT", 0)
        local = (
            BayesNet(conditionals="tables", parents=most, score="pairwise")
            .fit(table, seed=0)
            .fitted.fitness
        )
        monkeypatch.undo()
        assert 0.995 * ours <= local <= ours + 1e-9


@pytest.mark.parametrize("most", [2, 3, 4])
def test_many_columns_are_not_below_the_genetic_search(most, linked):
    table = linked(3, [2, 3, 4, 2, 3] * 5, 300)
    ours = (
        BayesNet(conditionals="tables", parents=most, score="pairwise")
        .fit(table, seed=0)
        .fitted.fitness
    )
    theirs = (
        BayesNet(conditionals="tables", parents=most, search="genetic")
        .fit(table, seed=0)
        .fitted.fitness
    )
    assert ours >= theirs - 1e-9


def test_the_exact_search_does_not_depend_on_the_seed(linked):
    table = linked(5, [2, 3, 4, 2, 3, 3], 300)
    assert (
        len(
            {
                BayesNet(conditionals="tables", parents=2).fit(table, seed=seed).network
                for seed in range(5)
            }
        )
        == 1
    )


def test_one_seed_one_network_beyond_exact(linked):
    table = linked(5, [2, 3] * 10, 300)
    assert (
        BayesNet(conditionals="tables", parents=2).fit(table, seed=1).network
        == BayesNet(conditionals="tables", parents=2).fit(table, seed=1).network
    )


def test_noise_has_no_parents(coded):
    rng = np.random.default_rng(0)
    table = coded(rng.integers(0, 4, (6, 5000)), [4] * 6)
    # 2 n I is chi-square: with x free cells it passes 4 x about never (x = 9: odds 1e-4, and the seed is fixed).
    assert (
        len(BayesNet(conditionals="tables", parents=3, penalty=2.0).fit(table).network.edges) == 0
    )
    assert (
        len(BayesNet(conditionals="tables", parents=3, score="joint").fit(table).network.edges) > 0
    )


def test_few_families_are_weighed_for_each_of_many_columns(linked):
    table = linked(5, [2] * 40, 100)
    pairs = FamilyScores(MemoryCounter(table)).pairs()
    for most in (1, 2, 3, 4):
        families = ordering._families(
            make_rules(table.schema.names, Constraints(max_parents=most)), pairs
        )
        assert max(map(len, families)) <= 350
        assert all(() in sets for sets in families)


def joined(columns, parents):
    """Return one column that stands for several."""
    if not parents:
        return np.zeros(len(columns[0]), dtype=np.int64)
    return np.unique(np.stack([columns[p] for p in parents], axis=1), axis=0, return_inverse=True)[
        1
    ].ravel()


def plain_greedy(columns, root, most, allowed=lambda parent, child: True):
    """Return the parents of each column: P0 section III, no caching, scikit-learn's mutual information."""
    placed, parents = [root], {root: ()}
    while len(placed) < len(columns):
        result = [
            (mutual_info_score(columns[child], joined(columns, chosen)), child, chosen)
            for child in range(len(columns))
            if child not in placed
            for width in range(min(most, len(placed)) + 1)
            for chosen in combinations(sorted(p for p in placed if allowed(p, child)), width)
        ]
        best = max(value for value, _, _ in result)
        # Of sets that tell the same the smallest, and of columns the first.
        _, child, chosen = min(
            (f for f in result if f[0] > best - 1e-10), key=lambda f: (len(f[2]), f[1])
        )
        placed.append(child)
        parents[child] = chosen
    return parents


def as_sets(network, names):
    return {names.index(c): tuple(sorted(names.index(p) for p in network[c])) for c in names}


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("few", [True, False], ids=["few columns", "as with many columns"])
def test_greedy_equals_the_plain_one(most, seed, few, linked, monkeypatch):
    if not few:
        monkeypatch.setattr(searches, "MAX_MASKED_COLUMNS", 0)
    table = linked(seed, [3, 4, 2, 3, 5, 3], 700, noise=0.9)
    names = table.schema.names
    columns = [table.code(name) for name in names]
    for root in (0, 2, 5):
        model = BayesNet(parents=most, search="greedy", root=names[root]).fit(table)
        assert as_sets(model.network, names) == plain_greedy(columns, root, most)


def test_greedy_on_a_bundled_table(data):
    table = chaffinch.read(data / "cmc.csv")
    names = table.schema.names
    columns = [table.code(name) for name in names]
    model = BayesNet(parents=2, search="greedy", root=names[-1]).fit(table)
    ours, theirs = as_sets(model.network, names), plain_greedy(columns, len(names) - 1, 2)
    assert ours == theirs
    total = sum(mutual_info_score(columns[c], joined(columns, ps)) for c, ps in theirs.items())
    assert model.fitted.fitness == pytest.approx(total, abs=1e-9)


def test_forbidden_edges_are_never_candidates(linked):
    table = linked(2, [3, 4, 2, 3, 5], 2000, noise=0.9)
    names = table.schema.names
    forbid = (("c0", "c1"), ("c0", "c2"), ("c3", "c4"))
    model = BayesNet(parents=2, search="greedy", root="c0", forbid=forbid).fit(table)
    plain = plain_greedy(
        [table.code(name) for name in names], 0, 2, lambda p, c: (names[p], names[c]) not in forbid
    )
    assert as_sets(model.network, names) == plain


def test_the_root_is_drawn_as_published(linked):
    table = linked(1, [2] * 5, 200)
    roots = {
        BayesNet(parents=1, search="greedy").fit(table, seed=seed).network.order[0]
        for seed in range(60)
    }
    assert (
        len(roots) == 5
    )  # misses one of five by chance with odds 5 * 0.8^60: one in a hundred thousand; seeds are fixed


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
    searches._initialise(order, lists, place, np.array(block), members, fixed, rng)
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
        searches._order_flip(order, np.array(block), rate, rng)
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
        searches._swap(order, lists, place, 0.0, rng)
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
        searches._swap(order, lists, place, 1.0, rng)
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
        assert searches._fitness(order, lists, place, pairs, every, none) == pytest.approx(plain)


@pytest.fixture
def pairs(linked):
    return FamilyScores(MemoryCounter(linked(8, [2, 3, 4, 2, 3, 2, 4, 3, 2, 2], 500))).pairs()


@pytest.mark.parametrize("seed", range(5))
def test_the_best_never_gets_worse(pairs, seed):
    rules = make_rules([f"c{i}" for i in range(10)], Constraints(max_parents=3))
    parents, history = searches.genetic_search(
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
            max_parents=2, require=[("c0", "c5"), ("c9", "c5"), ("c5", "c2")], forbid=[("c1", "c3")]
        ),
    )
    parents, history = searches.genetic_search(
        pairs, rules, np.random.default_rng(0), Evolution(generations=60)
    )
    assert max(map(len, parents)) <= 2
    total = sum(pairs[c, p] for c, chosen in enumerate(parents) for p in chosen)
    assert total == pytest.approx(history[-1])


def test_no_clique_over_the_first_columns():
    """Where the first k columns tell nothing of each other, the fittest network leaves some of their edges out."""
    pairs = np.zeros((8, 8))
    pairs[:4, 4:] = pairs[4:, :4] = 1.0
    rules = make_rules([f"c{i}" for i in range(8)], Constraints(max_parents=4))
    parents, history = searches.genetic_search(pairs, rules, np.random.default_rng(0))
    assert history[-1] == pytest.approx(16)
    assert sum(map(len, parents)) <= 4 * 8 - 10


def test_the_parameters_of_the_paper_are_the_defaults():
    assert Evolution() == Evolution(
        population_size=200, selection_size=10, mutation_rate=None, generations=400
    )
    assert BayesNet().evolution == Evolution()


def test_the_default_rate_is_one_over_the_columns(pairs):
    rules = make_rules([f"c{i}" for i in range(10)], Constraints(max_parents=2))
    default = searches.genetic_search(
        pairs, rules, np.random.default_rng(3), Evolution(generations=20)
    )
    named = searches.genetic_search(
        pairs, rules, np.random.default_rng(3), Evolution(mutation_rate=0.1, generations=20)
    )
    other = searches.genetic_search(
        pairs, rules, np.random.default_rng(3), Evolution(mutation_rate=0.5, generations=20)
    )
    assert np.array_equal(default[1], named[1])
    assert not np.array_equal(default[1], other[1])


def test_parameters_can_be_set_and_are_checked(pairs):
    rules = make_rules([f"c{i}" for i in range(10)], Constraints(max_parents=2))
    one = Evolution(population_size=1, selection_size=1, mutation_rate=1.0, generations=3)
    assert len(searches.genetic_search(pairs, rules, np.random.default_rng(0), one)[1]) == 4
    none = searches.genetic_search(
        pairs, rules, np.random.default_rng(0), Evolution(generations=0)
    )[1]
    assert len(none) == 1
    for settings, message in [
        ({"selection_size": 0}, r"selection_size must be a whole number of at least 1\. Got 0"),
        ({"selection_size": 300}, r"between 1 and population_size = 200\. Got 300"),
        ({"population_size": 0}, "population_size must be a whole number of at least 1"),
        ({"mutation_rate": 1.5}, r"mutation_rate must lie between 0 and 1\. Got 1\.5"),
        ({"generations": -1}, r"generations must be a whole number of at least 0\. Got -1"),
    ]:
        with pytest.raises(chaffinch._base.errors.InputError, match=message):
            Evolution(**settings)


def test_one_seed_one_network(linked):
    table = linked(8, [2, 3, 4, 2, 3, 2], 500)
    settings = BayesNet(parents=2, search="genetic", evolution=Evolution(generations=5))
    assert settings.fit(table, seed=4).network == settings.fit(table, seed=4).network


def families(d):
    return [
        (c, ps)
        for c in range(d)
        for w in range(4)
        for ps in combinations([p for p in range(d) if p != c], w)
    ]


@pytest.mark.parametrize("counter", [MemoryCounter, ReferenceCounter])
def test_scores_equal_plain_counts(counter, linked_table, information):
    scores = FamilyScores(counter(linked_table))
    columns = [linked_table.code(name) for name in linked_table.schema.names]
    rows = np.stack(columns, axis=1).tolist()
    price = 0.5
    pairs = scores.pairs()
    assert np.array_equal(pairs, pairs.T)
    assert (np.diag(pairs) == 0).all()
    for child, parents in families(5):
        joint = information(rows, child, parents)
        assert scores.joint(child, parents) == pytest.approx(joint, abs=1e-11)
        plain = sum(mutual_info_score(columns[child], columns[p]) for p in parents)
        assert scores.pairwise(child, parents) == pytest.approx(plain, abs=1e-11)
        assert pairs[child, list(parents)].sum() == pytest.approx(plain, abs=1e-11)
        # The documented penalty: x + x^2 / 2 with x free cells a record.
        levels = len({row[child] for row in rows})
        combos = len({tuple(row[p] for p in parents) for row in rows})
        x = (levels - 1) * (combos - 1) / len(rows)
        assert scores.penalised(child, parents) == pytest.approx(
            joint - price * (x + x * x / 2), abs=1e-11
        )


def test_asking_ahead_changes_nothing(linked_table):
    asked, lazy = (
        FamilyScores(MemoryCounter(linked_table)),
        FamilyScores(MemoryCounter(linked_table)),
    )
    asked.ask(families(5))
    for family in families(5):
        assert asked.penalised(*family) == lazy.penalised(*family)


@pytest.mark.parametrize("score", ["pairwise", "joint", "penalised"])
def test_sets_as_bit_masks_score_the_same(score, linked_table):
    scores = FamilyScores(MemoryCounter(linked_table))
    for child in range(5):
        sets = [parents for c, parents in families(5) if c == child]
        masks = np.array([sum(1 << p for p in parents) for parents in sets])
        plain = [
            getattr(FamilyScores(MemoryCounter(linked_table)), score)(child, parents)
            for parents in sets
        ]
        assert scores.masked(score, child, masks, max_parents=3) == pytest.approx(plain, abs=1e-11)


def test_no_parents_score_zero_and_the_penalty_can_be_turned_off(linked_table):
    free = FamilyScores(MemoryCounter(linked_table), penalty=0.0)
    for child, parents in families(5):
        assert free.penalised(child, parents) == free.joint(child, parents)
        assert FamilyScores(MemoryCounter(linked_table)).penalised(child, ()) == 0.0


def test_joint_information_never_falls_with_another_parent(linked_table):
    scores = FamilyScores(MemoryCounter(linked_table))
    for child, parents in families(5):
        for fewer in combinations(parents, max(len(parents) - 1, 0)):
            assert scores.joint(child, parents) >= scores.joint(child, fewer) - 1e-12


def test_a_penalty_tells_noise_from_a_link(coded):
    rng = np.random.default_rng(1)
    a, noise = rng.integers(0, 4, 2000), rng.integers(0, 20, 2000)
    b = np.where(rng.random(2000) < 0.5, a, rng.integers(0, 4, 2000))
    scores = FamilyScores(
        MemoryCounter(coded([a, b, noise], [4, 4, 20])), penalty=1.0
    )  # twice what chance gives
    assert scores.joint(1, (0, 2)) > scores.joint(1, (0,))  # more parents always seem to tell more
    assert scores.penalised(1, (0,)) > scores.penalised(1, (0, 2))
    assert scores.penalised(1, (0,)) > 0
