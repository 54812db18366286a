"""PrivBayes as a whole: from almost no privacy to almost no data."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from chaffinch._base.errors import InputError, UnknownNameError
from chaffinch.counts import Marginal
from chaffinch.privacy.account import Account
from chaffinch.privacy.budget import Budget
from chaffinch.privacy.prepare import prepare
from chaffinch.privacy.relation import Unit
from chaffinch.synth import PrivBayes
from chaffinch.synth.bayesnet.model import FitSummary
from chaffinch.synth.private_model import private_model
from chaffinch.synth.privbayes import VARIANTS
from chaffinch.table import Column, Schema

ODDS = 1e-6


def sealed(codes, sizes, rows=None):
    columns = tuple(
        Column(f"c{j}", "categorical", levels=tuple(range(size))) for j, size in enumerate(sizes)
    )
    data = pa.table({f"c{j}": pa.array(np.asarray(c, dtype=np.int64)) for j, c in enumerate(codes)})
    return prepare(data, Schema(columns, public=True, rows=data.num_rows if rows is None else rows))


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
        Budget(1.0), Unit("replace-one"), (), test_only=True, rows=10, rows_how="declared"
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
        ({"epsilon": 1.0, "theta": float("nan")}, "theta must be above 0"),
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
