"""The ordering search against all networks, against the maximum spanning tree, and against the genetic search."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree

import chaffinch
from chaffinch.counts import MemoryCounter
from chaffinch.synth import BayesNet, Evolution
from chaffinch.synth.bayesnet import ordering
from chaffinch.synth.bayesnet.rules import Constraints, make_rules
from chaffinch.synth.bayesnet.scores import FamilyScores, default_penalty
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
        families = ordering._families(make_rules(table.schema.names, Constraints(most=most)), pairs)
        assert max(map(len, families)) <= 350
        assert all(() in sets for sets in families)
