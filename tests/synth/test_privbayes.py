"""PrivBayes as a whole: from almost no privacy to almost no data."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from math import comb, prod

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import chaffinch
from chaffinch._base.errors import InputError, PrivacyError, TooLargeError, UnknownNameError
from chaffinch.counts import Marginal
from chaffinch.privacy.ledger import Account, Budget
from chaffinch.privacy.prepare import prepare
from chaffinch.privacy.relation import PrivacyUnit
from chaffinch.privacy.session import start_private_session
from chaffinch.synth import BayesNet, PrivBayes
from chaffinch.synth.bayesnet.model import FitSummary
from chaffinch.synth.noisy import private_model
from chaffinch.synth.privbayes import (
    VARIANTS,
    degree,
    exact_candidates,
    learn,
    maximal_candidates,
    maximal_sets,
    measure,
    split_of,
    useful_cells,
)
from chaffinch.table import Column, Schema

from .conftest import sealed

ODDS = 1e-6


def chained(seed, sizes, n, faith=0.8):
    """Columns each of which copies the one before, mostly."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, sizes[0], n)]
    for size in sizes[1:]:
        codes.append(np.where(rng.random(n) < faith, codes[-1] % size, rng.integers(0, size, n)))
    return codes


def joint(codes, sizes):
    out = np.zeros(sizes)
    np.add.at(out, tuple(codes), 1)
    return out / max(len(codes[0]), 1)


def codes_of(table):
    return [np.asarray(table.code(name)) for name in table.schema.names]


@pytest.mark.parametrize("variant", VARIANTS)
def test_next_to_no_noise_gives_the_greedy_network_and_its_tables(variant):
    """At epsilon 10^7 a choice is the best one: redo it greedily with exact scores, by the plain formula of the score."""
    sizes, n = (3, 2, 4, 3), 4000
    codes = chained(1, sizes, n)
    table = sealed(codes, sizes)
    model = PrivBayes(epsilon=1e7, variant=variant, parents=2).fit(table, seed=2)
    names, order = table.schema.names, model.network.order
    score = {"published": plain_r, "sdg": plain_r, "dpart": plain_i, "datasynthesizer": plain_i}[
        variant
    ]
    placed = [names.index(order[0])]
    while len(placed) < len(sizes):
        width = min(2, len(placed))
        families = [
            (c, p)
            for c in range(len(sizes))
            if c not in placed
            for p in combinations(placed, width)
        ]
        best = max(families, key=lambda f: score(codes, sizes, *f))
        child = names.index(order[len(placed)])
        assert child == best[0]
        assert {names.index(p) for p in model.network[names[child]]} == set(best[1])
        placed.append(child)
    for a, b in combinations(range(len(sizes)), 2):
        pair = (sizes[a], sizes[b])
        drawn = codes_of(model.sample(40_000, seed=3))
        gap = (
            np.abs(joint([codes[a], codes[b]], pair) - joint([drawn[a], drawn[b]], pair)).sum() / 2
        )
        assert gap < 0.03


def plain_r(codes, sizes, child, parents):
    counts = joint(
        [codes[p] for p in parents] + [codes[child]], [sizes[p] for p in parents] + [sizes[child]]
    )
    counts = counts.reshape(-1, sizes[child])
    return np.abs(counts - counts.sum(1, keepdims=True) * counts.sum(0)).sum() / 2


def plain_i(codes, sizes, child, parents):
    counts = joint(
        [codes[p] for p in parents] + [codes[child]], [sizes[p] for p in parents] + [sizes[child]]
    )
    counts = counts.reshape(-1, sizes[child])
    product = counts.sum(1, keepdims=True) * counts.sum(0)
    return (counts[counts > 0] * np.log(counts[counts > 0] / product[counts > 0])).sum()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("n", [0, 1, 10])
@pytest.mark.parametrize("epsilon", [0.001, 1.0, 1e6])
def test_few_rows_and_extreme_budgets(variant, n, epsilon):
    sizes = (3, 2, 4)
    table = sealed(chained(0, sizes, n), sizes)
    for neighbours in ("replace-one", "add-remove"):
        model = PrivBayes(epsilon=epsilon, variant=variant, neighbours=neighbours).fit(
            table, seed=1
        )
        drawn = codes_of(model.sample(200, seed=2))
        assert all(column.max() < size for column, size in zip(drawn, sizes, strict=True))
        assert model.fitted.privacy.spent == pytest.approx(epsilon, rel=1e-9)
        assert model.fitted.n_rows == n


def test_a_count_of_rows_that_is_not_declared_is_measured():
    sizes = (3, 2, 4)
    undeclared = sealed(chained(0, sizes, 500), sizes).schema
    data = sealed(chained(0, sizes, 500), sizes).data
    table = prepare(data, Schema(undeclared.columns, public=True))
    account = PrivBayes(epsilon=1.0, neighbours="add-remove").fit(table, seed=1).fitted.privacy
    assert account.rows_how == "measured"
    assert account.charges[0].what == "number of rows"
    assert account.charges[0].epsilon == pytest.approx(0.02)
    assert account.spent == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_column(variant):
    table = sealed([[0, 0, 0, 1]], (2,))
    model = PrivBayes(epsilon=1e6, variant=variant).fit(table, seed=1)
    assert model.network.edges == ()
    share = codes_of(model.sample(4000, seed=2))[0].mean()
    assert abs(share - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 4000)  # leaves once in 1.7 million
    assert [c.epsilon for c in model.fitted.privacy.charges] == pytest.approx([1e6])


def test_two_hundred_columns_of_two_levels():
    sizes, n = (2,) * 200, 400
    table = sealed(np.random.default_rng(0).integers(0, 2, (200, n)), sizes)
    model = PrivBayes(epsilon=50.0, parents=1, score="F", most_candidates=400).fit(table, seed=1)
    assert len(model.network.edges) == 199
    assert sorted(model.network.order) == sorted(table.schema.names)
    assert model.fitted.privacy.spent == pytest.approx(50.0, rel=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_a_network_is_acyclic_and_within_its_limit(variant, epsilon):
    sizes, n = (2, 3, 2, 5, 2, 4), 1500
    settings = PrivBayes(epsilon=epsilon, variant=variant)
    model = settings.fit(sealed(chained(3, sizes, n), sizes), seed=4)
    seen: set[str] = set()
    most = {"datasynthesizer": 3, "dpart": 2}.get(variant)
    for name, parents in zip(model.network.order, model.network.parents, strict=True):
        assert set(parents) <= seen
        seen.add(name)
        if most is not None:
            assert len(parents) <= most
        elif parents:  # useful: the mean count is at least 4 times the scale 2 d / epsilon2
            cells = np.prod([model.schema[column].size for column in (name, *parents)])
            assert n / cells >= 4 * 2 * len(sizes) / (0.7 * epsilon)
    assert len(seen) == len(sizes)


def test_siblings_are_independent_given_their_parent():
    """Children of one parent must not share their draws: chi-square of the two inside each level of the parent."""
    rng = np.random.default_rng(5)
    n = 6000
    root = rng.integers(0, 3, n)
    codes = [root, (root + (rng.random(n) < 0.4)) % 3, (root + (rng.random(n) < 0.4)) % 3]
    model = PrivBayes(epsilon=1e5, parents=1).fit(sealed(codes, (3, 3, 3)), seed=6)
    (hub,) = (
        {parent for parent, _ in model.network.edges}
        if len({p for p, _ in model.network.edges}) == 1
        else {None}
    )
    if hub is None:  # a chain: its middle column separates the two others just as well
        (hub,) = {p for p, _ in model.network.edges} & {c for _, c in model.network.edges}
    drawn = model.sample(30_000, seed=7)
    others = [drawn.code(name) for name in drawn.schema.names if name != hub]
    statistic, free = 0.0, 0
    for level in range(3):
        here = drawn.code(hub) == level
        counts = np.zeros((3, 3))
        np.add.at(counts, (others[0][here], others[1][here]), 1)
        counts = counts[counts.sum(1) > 0][:, counts.sum(0) > 0]
        result = stats.chi2_contingency(counts, correction=False)
        statistic, free = statistic + result.statistic, free + result.dof
    assert free > 0
    assert stats.chi2.sf(statistic, free) > ODDS


def conditional(uniform):
    """P(child | parent = 1) where the only table has no weight at parent = 1."""
    schema = sealed([[0], [0]], (2, 3)).schema
    account = Account(
        Budget(1.0), PrivacyUnit("replace-one"), (), test_only=True, rows=10, rows_how="declared"
    )
    counts = np.array([[6.0, 3.0, 1.0], [0.0, 0.0, 0.0]])
    model = private_model(
        schema,
        (0, 1),
        ((), (0,)),
        [Marginal(("c0", "c1"), (2, 3), counts)],
        FitSummary("privbayes", "privbayes", "R", privacy=account),
        uniform=uniform,
    )
    return [model.tables[1].probabilities(np.array([x]), [np.array([1])])[0] for x in range(3)]


def test_a_combination_without_weight_backs_off_or_is_even():
    assert conditional(uniform=False) == pytest.approx([0.6, 0.3, 0.1])
    assert conditional(uniform=True) == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize(
    ("variant", "even"),
    [("published", False), ("dpart", True), ("sdg", True), ("datasynthesizer", True)],
)
def test_which_variant_fills_empty_combinations_evenly(variant, even):
    """The parent's level 2 is declared but never seen; with hardly any noise its row is empty after clipping."""
    rng = np.random.default_rng(0)
    codes = [rng.integers(0, 2, 3000), np.zeros(3000, dtype=int)]
    codes[1] = np.where(rng.random(3000) < 0.9, codes[0], 1 - codes[0])
    seen = []
    for seed in range(6):  # the first column is drawn; wait for a fit in which c0 is the parent
        model = PrivBayes(epsilon=1e7, variant=variant, parents=1).fit(
            sealed(codes, (3, 2)), seed=seed
        )
        if model.network.order[0] == "c0":
            table = model.tables[1]
            seen.append([table.probabilities(np.array([x]), [np.array([2])])[0] for x in range(2)])
    assert seen
    share = codes[1].mean()
    for row in seen:
        assert row == pytest.approx([0.5, 0.5] if even else [1 - share, share], abs=1e-3)


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    sizes = (3, 2, 4)
    table = sealed(chained(0, sizes, 300), sizes)
    paths = [tmp_path / name for name in ("a", "b", "c")]
    for path, seed in zip(paths, (1, 1, 2), strict=True):
        PrivBayes(epsilon=1.0).fit(table, seed=seed).save(path)
    first, same, other = (path.read_bytes() for path in paths)
    assert first == same
    assert first != other


def test_without_a_seed_no_two_fits_are_alike(tmp_path):
    """Equal noise in all cells has a chance far below one in a million."""
    sizes = (3, 2, 4)
    table = sealed(chained(0, sizes, 300), sizes)
    for name in ("a", "b"):
        model = PrivBayes(epsilon=0.5).fit(table)
        assert not model.fitted.privacy.test_only
        assert not model.confidential
        model.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() != (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"epsilon": None},
            r"PrivBayes needs epsilon. For no privacy use BayesNet\(search='greedy'\)",
        ),
        ({"epsilon": 1.0, "beta": 0.0}, "beta must lie between 0 and 1. Got 0.0"),
        ({"epsilon": 1.0, "theta": float("nan")}, "theta must be a number above 0"),
        ({"epsilon": 1.0, "parents": -1}, "parents must be a whole number of at least 0"),
        ({"epsilon": 1.0, "parents": True}, "parents must be a whole number"),
        (
            {"epsilon": 1.0, "most_candidates": 0},
            "most_candidates must be a whole number of at least 1",
        ),
        (
            {"epsilon": 1.0, "rows_per_person": 0},
            "rows_per_person must be a whole number of at least 1",
        ),
    ],
)
def test_settings_that_break_a_rule(options, words):
    with pytest.raises(InputError, match=words):
        PrivBayes(**options)


def test_unknown_names():
    for options in (
        {"variant": "dprat"},
        {"score": "Q"},
        {"mechanism": "gumbel"},
        {"neighbours": "replace"},
    ):
        with pytest.raises(UnknownNameError, match="Unknown"):
            PrivBayes(epsilon=1.0, **options)


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
    result = maximal_sets(columns, sizes, cells, max_sets=10_000, rng=rng())
    assert sorted(result) == brute(columns, sizes, cells)
    assert len(set(result)) == len(result)


@given(st.lists(st.integers(1, 6), min_size=4, max_size=8), st.floats(4, 60), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_where_there_are_too_many_some_maximal_ones_are_drawn(sizes, cells, most):
    columns = list(range(len(sizes)))
    every = brute(columns, sizes, cells)
    result = maximal_sets(columns, sizes, cells, max_sets=most, rng=rng())
    assert 1 <= len(result) <= most
    assert len(set(result)) == len(result)
    assert set(result) <= set(every)
    if len(every) <= most:
        assert sorted(result) == every


def test_no_room_for_anything():
    assert maximal_sets([0, 1], [2, 3], 0.5, max_sets=10, rng=rng()) == [
        ()
    ]  # the child is measured all the same, alone
    assert maximal_sets([0, 1], [2, 3], 1.0, max_sets=10, rng=rng()) == [()]
    assert maximal_sets([], [], 5.0, max_sets=10, rng=rng()) == [()]


@pytest.mark.parametrize("cells", [1.0, 3.9, 4.0, 12.0, 24.0, 1000.0])
def test_maximal_candidates_keep_the_whole_table_within_bounds(cells):
    sizes, placed, left = [2, 3, 4, 2, 6], [0, 2, 3], [1, 4]
    result = maximal_candidates(placed, left, sizes, cells, max_families=1000, rng=rng())
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
        range(placed), range(placed, placed + left), k, max_families=10_000, rng=rng()
    )
    width = min(k, placed)
    assert len(result) == len(set(result)) == left * comb(placed, width)
    assert all(
        len(parents) == width and set(parents) <= set(range(placed)) for _, parents in result
    )
    assert {child for child, _ in result} == set(range(placed, placed + left))


def test_exact_candidates_are_drawn_where_there_are_too_many():
    result = exact_candidates(range(20), range(20, 30), 4, max_families=100, rng=rng())
    assert 10 < len(result) <= 100
    assert len(set(result)) == len(result)
    assert all(len(set(parents)) == 4 and max(parents) < 20 for _, parents in result)
    assert {child for child, _ in result} == set(range(20, 30))  # every column keeps a chance


def random_table(sizes, n, seed=0):
    """A declared table of linked columns."""
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 60, n)
    columns = tuple(
        Column(f"c{j}", "categorical", levels=tuple(range(size))) for j, size in enumerate(sizes)
    )
    codes = {
        f"c{j}": np.where(rng.random(n) < 0.7, base, rng.integers(0, 60, n)) % size
        for j, size in enumerate(sizes)
    }
    return prepare(pa.table(codes), Schema(columns, public=True, rows=n))


MIXED, BINARY = (3, 2, 4, 2, 5, 3), (2,) * 6
CASES = {
    "published": (PrivBayes(epsilon=2.0), MIXED, 3000),
    "published add-remove": (PrivBayes(epsilon=2.0, neighbours="add-remove"), MIXED, 2000),
    "binary": (PrivBayes(epsilon=2.0), BINARY, 300),
    "fixed k": (PrivBayes(epsilon=2.0, parents=2, score="I"), MIXED, 500),
    "sdg": (PrivBayes(epsilon=2.0, variant="sdg"), MIXED, 3000),
    "dpart": (PrivBayes(epsilon=2.0, variant="dpart"), MIXED, 500),
    "datasynthesizer": (PrivBayes(epsilon=2.0, variant="datasynthesizer"), MIXED, 500),
    "no parent is useful": (PrivBayes(epsilon=0.01), MIXED, 100),
    "flip": (PrivBayes(epsilon=2.0, variant="dpart", mechanism="permute-and-flip"), MIXED, 500),
}


def tallied(budget, charges):
    """How often each reason, mechanism and amount (to nine digits) was charged."""
    return Counter((c.why, c.mechanism, float(f"{c.cost(budget.kind):.9g}")) for c in charges)


@pytest.mark.parametrize("case", CASES)
def test_a_fit_spends_what_was_planned(case):
    settings, sizes, n = CASES[case]
    table = random_table(sizes, n)
    plan = settings.plan(table.schema)
    assert plan.total == pytest.approx(settings.epsilon, rel=1e-9)
    assert plan.total <= settings.epsilon * (1 + 1e-9)
    account = settings.fit(table, seed=1).fitted.privacy
    assert tallied(plan.budget, account.charges) == tallied(plan.budget, plan.charges())
    assert account.spent == pytest.approx(settings.epsilon, rel=1e-9)
    stated = {step.charge.noise for step in plan.steps if step.charge.why == "tables"}
    assert {charge.noise for charge in account.charges if charge.why == "tables"} == stated


@pytest.mark.parametrize("k", [5, 4])
def test_a_choice_that_is_none_is_not_charged_and_the_tables_get_it(k):
    """With k = d - 1 the last column has one family only: nothing to choose. The plan counts d - 1 choices all the same."""
    table = random_table(MIXED, 500)
    settings = PrivBayes(epsilon=2.0, parents=k, variant="dpart")
    account = settings.fit(table, seed=1).fitted.privacy
    chosen = sum(charge.why == "structure" for charge in account.charges)
    assert chosen == (4 if k == 5 else 5)
    assert account.spent == pytest.approx(2.0, rel=1e-9)
    assert settings.plan(table.schema).total == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize(
    "more", [{}, {"parents": 1}, {"sensitive": ("c1",), "label": "c0"}], ids=["free", "one", "cut"]
)
def test_a_network_spends_what_was_planned_step_by_step(delta, more):
    table = random_table(MIXED, 2000)
    settings = BayesNet(epsilon=2.0, delta=delta, **more)
    plan = settings.plan(table.schema)
    assert plan.total == pytest.approx(plan.budget.total, rel=1e-9)
    account = settings.fit(table, seed=1).fitted.privacy
    spent: dict[str, float] = {}
    for charge in account.charges:
        spent[charge.why] = spent.get(charge.why, 0.0) + charge.cost(plan.budget.kind)
    planned: dict[str, float] = {}
    for charge in plan.charges():
        planned[charge.why] = planned.get(charge.why, 0.0) + charge.cost(plan.budget.kind)
    assert spent == pytest.approx(planned, rel=1e-6)
    assert account.spent == pytest.approx(plan.budget.total, rel=1e-6)


# The variants' units


def split(settings, sizes, n):
    return split_of(settings._resolved(), random_table(sizes, n).schema, settings.epsilon, n)


def test_dpart_halves_the_budget_and_measures_a_table_for_each_column():
    result = split(PrivBayes(epsilon=2.0, variant="dpart"), MIXED, 500)
    assert (result.score, result.parents, result.n_tables, result.joint_columns) == ("I", 2, 6, 1)
    assert (result.structure, result.tables) == (1.0, 1.0)
    assert (result.selections, result.each_selection) == (5, pytest.approx(1.0 / 5))
    account = (
        PrivBayes(epsilon=2.0, variant="dpart").fit(random_table(MIXED, 500), seed=1).fitted.privacy
    )
    tables = [c for c in account.charges if c.why == "tables"]
    assert [c.epsilon for c in tables] == pytest.approx(
        [1.0 / 6] * 6
    )  # so the scale is 2 / (1/6) = 2 d / epsilon2 = 12
    q = np.exp(-1 / 12)
    assert tables[0].noise == f"standard deviation {np.sqrt(2 * q) / (1 - q):.4g}"


def test_sdg_takes_three_tenths_for_the_structure():
    result = split(PrivBayes(epsilon=2.0, variant="sdg"), MIXED, 3000)
    assert (result.score, result.parents, result.n_tables, result.joint_columns) == (
        "R",
        None,
        6,
        1,
    )
    assert (result.structure, result.tables) == (pytest.approx(0.6), pytest.approx(1.4))
    assert result.cells == pytest.approx(3000 * 1.4 / (2 * 6 * 4))  # theta 4


def test_datasynthesizer_measures_d_minus_k_tables():
    result = split(PrivBayes(epsilon=2.0, variant="datasynthesizer"), MIXED, 500)
    assert (result.score, result.parents, result.n_tables, result.joint_columns) == (
        "I",
        3,
        6 - 3,
        4,
    )
    assert (result.structure, result.tables) == (1.0, 1.0)


def test_published_on_columns_of_two_levels():
    result = split(PrivBayes(epsilon=2.0), BINARY, 300)
    k = degree(300, 1.4, 6, l1=2, theta=4)
    assert (
        k == 3
    )  # n epsilon2 = 420: 420 / ((6-3) 2^5) = 4.4, but 420 / ((6-4) 2^6) = 420 / ((6-5) 2^7) = 3.3 < 4
    assert (result.score, result.parents, result.n_tables, result.joint_columns) == (
        "F",
        k,
        6 - k,
        k + 1,
    )
    assert (result.structure, result.tables) == (pytest.approx(0.6), pytest.approx(1.4))
    settings = PrivBayes(epsilon=2.0)
    account = settings.fit(random_table(BINARY, 300), seed=1).fitted.privacy
    assert sum(c.why == "tables" for c in account.charges) == 6 - k
    assert all("score F" in c.noise for c in account.charges if c.why == "structure")


def test_where_no_parent_is_useful_all_goes_to_the_tables():
    result = split(PrivBayes(epsilon=0.01), MIXED, 100)
    assert (result.selections, result.structure, result.n_tables) == (0, 0.0, 6)
    assert result.tables == 0.01


def test_what_a_split_refuses():
    with pytest.raises(
        InputError, match=r"Score F is for columns of two declared levels. 'c0' has 3\. Use R or I"
    ):
        split(PrivBayes(epsilon=1.0, score="F"), MIXED, 100)
    undeclared = Schema((Column("a", "categorical", levels=(0, 1)),), public=True)
    with pytest.raises(PrivacyError, match="the number of rows is public, and must be declared"):
        PrivBayes(epsilon=1.0).plan(undeclared)
    looking = Schema((Column("a", "categorical", discover=True),), public=True, rows=5)
    with pytest.raises(PrivacyError, match="to discover them takes a delta above 0"):
        PrivBayes(epsilon=1.0).plan(looking)
    wide = Schema(
        (*looking.columns, Column("b", "categorical", levels=(0, 1, 2))), public=True, rows=5
    )
    with pytest.raises(
        InputError, match=r"Score F is for columns of two declared levels. 'b' has 3\."
    ):
        PrivBayes(epsilon=1.0, delta=1e-6, score="F").plan(wide)
    wider = tuple(Column(name, "integer", bounds=(0, 9999), bins=5000) for name in "bc")
    with pytest.raises(TooLargeError, match="a table of c, b could be needed"):
        PrivBayes(epsilon=1.0, delta=1e-6, parents=1).plan(
            replace(wide, columns=(*looking.columns, *wider))
        )


@pytest.mark.parametrize("parents", [0, 2])
def test_a_structure_has_each_column_once_and_all_is_spent(parents):
    codes = np.random.default_rng(1).integers(0, 3, (4, 300))
    columns = tuple(Column(f"c{j}", "categorical", levels=(0, 1, 2)) for j in range(4))
    table = chaffinch.prepare(
        pa.table({f"c{j}": c for j, c in enumerate(codes)}), Schema(columns, public=True, rows=300)
    )
    settings = PrivBayes(epsilon=2.0, parents=parents)._resolved()
    with start_private_session(table, settings.budget, settings.unit, seed=1) as counter:
        split = split_of(settings, counter.schema, counter.ledger.remaining, 300)
        structure = learn(counter, settings, split, 300, np.random.default_rng(1))
        tables = measure(counter, structure, split)
        assert counter.ledger.remaining == pytest.approx(0.0, abs=1e-9)
    assert sorted(structure.order) == [0, 1, 2, 3]
    for at, (child, chosen) in enumerate(zip(structure.order, structure.parents, strict=True)):
        assert set(chosen) <= set(structure.order[:at])
        assert len(chosen) == min(parents, at)
        assert any({f"c{child}", *(f"c{p}" for p in chosen)} <= set(t.columns) for t in tables)
