"""Noisy tables made to agree: against least squares, against every active set, and against clipping."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.counts import Marginal
from chaffinch.privacy.counter import NoisyTable
from chaffinch.privacy.domain import declared_schema
from chaffinch.privacy.ledger import Account, Budget
from chaffinch.privacy.relation import PrivacyUnit
from chaffinch.synth import noisy
from chaffinch.synth.bayesnet.model import FitSummary
from chaffinch.synth.noisy import (
    SIGMAS,
    agree,
    cells_of,
    clip,
    conditional_target,
    consistent,
    error_at,
    error_curve,
    margins_of,
    nonnegative,
    private_model,
    rake,
)
from chaffinch.table import Column, Schema

SIZES = {"a": 2, "b": 3, "c": 2, "d": 4}


def noisy_table(columns, counts, std=1.0) -> NoisyTable:
    counts = np.asarray(counts)
    return NoisyTable(tuple(columns), counts.shape, counts, std)


def sums(counts, columns, onto):
    """The sums over all but some columns, those in alphabetical order."""
    letters = "".join(columns)
    return np.einsum(f"{letters}->{''.join(sorted(onto))}", np.asarray(counts, dtype=float))


def every_subset(columns):
    return chain.from_iterable(combinations(sorted(columns), k) for k in range(len(columns) + 1))


@st.composite
def cliques(draw):
    result = draw(
        st.lists(
            st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True),
            min_size=1,
            max_size=5,
        )
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    stds = draw(st.lists(st.floats(0.1, 50), min_size=len(result), max_size=len(result)))
    return [
        noisy_table(clique, rng.integers(-30, 200, [SIZES[name] for name in clique]), std)
        for clique, std in zip(result, stds, strict=True)
    ]


@given(cliques())
@settings(max_examples=80, deadline=None)
def test_all_sums_that_tables_share_are_equal(tables):
    held = consistent(tables, [t.counts.astype(float) for t in tables])
    for (s, x), (t, y) in combinations(zip(tables, held, strict=True), 2):
        for shared in every_subset(set(s.columns) & set(t.columns)):
            assert sums(x, s.columns, shared) == pytest.approx(sums(y, t.columns, shared), abs=1e-6)
    assert [h.shape for h in held] == [t.sizes for t in tables]
    again = consistent(tables, held)
    for x, y in zip(held, again, strict=True):
        assert x == pytest.approx(y, abs=1e-6)


@given(
    st.integers(0, 2**32),
    st.lists(st.lists(st.sampled_from("abcd"), min_size=1, unique=True), min_size=1, max_size=4),
)
@settings(max_examples=40, deadline=None)
def test_tables_that_agree_are_kept(seed, found):
    joint = np.random.default_rng(seed).integers(0, 20, list(SIZES.values()))
    tables = [
        noisy_table(sorted(clique), sums(joint, "abcd", clique).astype(np.int64), 1 + i)
        for i, clique in enumerate(found)
    ]
    for t, x in zip(
        tables, consistent(tables, [t.counts.astype(float) for t in tables]), strict=True
    ):
        assert x == pytest.approx(t.counts, abs=1e-8)
    for t, m in zip(tables, agree(tables), strict=True):
        assert m.counts == pytest.approx(t.counts, abs=1e-8)


@pytest.mark.parametrize(
    ("first", "second"), [("ab", "bc"), ("bca", "cb"), ("ab", "cd"), ("abc", "bcd"), ("ab", "ba")]
)
def test_two_tables_are_the_weighted_least_squares_solution(first, second):
    """numpy solves for a common vector of sums: minimise |x - s|^2/v + |y - t|^2/w where x and y have equal sums."""
    rng = np.random.default_rng(3)
    tables = [
        noisy_table(columns, rng.integers(-5, 60, [SIZES[c] for c in columns]), std)
        for columns, std in ((first, 2.0), (second, 7.0))
    ]
    shared = sorted(set(first) & set(second))
    # Equality of sums as rows of a matrix: +1 for the cells of the first that make up a sum, -1 for those of the second.
    sizes = [t.counts.size for t in tables]
    rows = []
    for cell in np.ndindex(*[SIZES[c] for c in shared]):
        row = []
        for sign, t in zip((1, -1), tables, strict=True):
            at = np.indices(t.sizes)
            here = np.ones(t.sizes, dtype=bool)
            for name, code in zip(shared, cell, strict=True):
                here &= at[t.columns.index(name)] == code
            row.append(sign * here.ravel().astype(float))
        rows.append(np.concatenate(row))
    constraint = np.array(rows)
    start = np.concatenate([t.counts.ravel() for t in tables]).astype(float)
    variance = np.concatenate(
        [np.full(size, t.std**2) for size, t in zip(sizes, tables, strict=True)]
    )
    # x = start - V C' (C V C')^+ C start, through lstsq on the whitened constraint.
    root = np.sqrt(variance)
    multiplier = np.linalg.lstsq((constraint * root).T, start / root, rcond=None)[0]
    best = start - variance * (constraint.T @ multiplier)
    held = consistent(tables, [t.counts.astype(float) for t in tables])
    assert np.concatenate([h.ravel() for h in held]) == pytest.approx(best, abs=1e-8)


def test_too_many_shared_sets_fall_back_on_single_columns(monkeypatch):
    rng = np.random.default_rng(1)
    tables = [
        noisy_table(c, rng.integers(0, 50, [SIZES[n] for n in c]))
        for c in ("abc", "bcd", "abd", "acd")
    ]
    monkeypatch.setattr(noisy, "MOST_SHARED", 3)
    held = consistent(tables, [t.counts.astype(float) for t in tables])
    for (s, x), (t, y) in combinations(zip(tables, held, strict=True), 2):
        for name in set(s.columns) & set(t.columns):
            assert sums(x, s.columns, name) == pytest.approx(sums(y, t.columns, name), abs=1e-8)


def nearest(counts):
    """The Euclidean projection by trying every set of cells that stay above 0."""
    total, best = counts.sum(), None
    for kept in every_subset(range(counts.size)):
        if not kept:
            continue
        x = np.zeros(counts.size)
        x[list(kept)] = counts[list(kept)] - (counts[list(kept)].sum() - total) / len(kept)
        if x.min() >= -1e-12 and (
            best is None or ((x - counts) ** 2).sum() < ((best - counts) ** 2).sum()
        ):
            best = x
    return best


@given(st.lists(st.integers(-40, 60), min_size=1, max_size=7))
@settings(max_examples=100, deadline=None)
def test_nonnegative_is_the_nearest_table_of_the_same_total(values):
    counts = np.array(values, dtype=float)
    result = nonnegative(counts)
    assert result.min() >= 0
    if counts.sum() <= 0:
        assert not result.any()
        return
    assert result.sum() == pytest.approx(counts.sum())
    assert result == pytest.approx(nearest(counts), abs=1e-9)


def test_nonnegative_keeps_shapes_and_what_is_not_negative():
    counts = np.arange(6.0).reshape(2, 3)
    assert nonnegative(counts) is counts
    assert nonnegative(counts - 2).shape == (2, 3)


def test_agreeing_is_nearer_to_the_truth_than_clipping():
    """Mean L1 error over 40 draws of noise; seeds 0 to 9 gain 18 to 25 %, of which 15 are asked for."""
    rng = np.random.default_rng(4)
    joint = rng.multinomial(400, rng.dirichlet(np.full(48, 0.3))).reshape(list(SIZES.values()))
    families = ["ab", "abc", "bcd", "abd"]
    error = {"agreed": 0.0, "clipped": 0.0}
    for _ in range(40):
        tables = []
        for clique in families:
            exact = sums(joint, "abcd", clique).astype(np.int64)
            tables.append(
                noisy_table(
                    clique,
                    exact + np.round(rng.laplace(0, 8, exact.shape)).astype(np.int64),
                    8 * 2**0.5,
                )
            )
        for name, result in (("agreed", agree(tables)), ("clipped", clip(tables))):
            for clique, marginal in zip(families, result, strict=True):
                assert marginal.counts.min() >= 0
                error[name] += np.abs(marginal.counts - sums(joint, "abcd", clique)).sum()
    assert error["agreed"] < 0.85 * error["clipped"]


def test_clipping_touches_nothing_but_negative_cells():
    (result,) = clip([noisy_table("ab", np.array([[3, -2, 0], [5, 1, -9]]))])
    assert result.counts.tolist() == [[3, 0, 0], [5, 1, 0]]
    assert (result.columns, result.sizes) == (("a", "b"), (2, 3))


def test_tables_of_nothing_but_noise_below_zero():
    result = agree(
        [noisy_table("ab", np.full((2, 3), -4)), noisy_table("b", np.array([-1, -1, -1]))]
    )
    assert all(not m.counts.any() for m in result)


MODEL_SIZES = (2, 3, 2)
SCHEMA = declared_schema(
    Schema(
        tuple(
            Column(n, "categorical", levels=tuple(range(s)))
            for n, s in zip("abc", MODEL_SIZES, strict=True)
        ),
        public=True,
    )
)
ACCOUNT = Account(
    Budget(1.0), PrivacyUnit("add-remove"), (), test_only=True, rows=77, rows_how="measured"
)


def made(order, parents, tables, **options):
    uniform = options.pop("uniform", False)
    summary = FitSummary(
        **({"method": "m", "search": "s", "score": "R", "privacy": ACCOUNT} | options)
    )
    return private_model(SCHEMA, order, parents, tables, summary, uniform=uniform)


def marginal(columns, counts):
    counts = np.asarray(counts, dtype=float)
    return Marginal(tuple(columns), counts.shape, counts)


def chance(table, child, *parents):
    return table.probabilities(np.array([child]), [np.array([p]) for p in parents])[0]


def joint():
    counts = np.zeros(MODEL_SIZES)
    for a in range(2):
        for b in range(3):
            for c in range(2):
                counts[a, b, c] = 1 + 20 * (c == a) + 3 * (b == 0)
    return counts


def test_tables_are_the_conditional_distributions_of_what_was_released():
    counts = joint()
    model = made((0, 1, 2), ((), (0,), (0, 1)), [marginal("abc", counts)])
    assert model.network.order == ("a", "b", "c")
    assert set(model.network["c"]) == {"a", "b"}
    assert chance(model.tables[0], 1) == pytest.approx(counts[1].sum() / counts.sum())
    pair = counts.sum(axis=2)
    assert chance(model.tables[1], 2, 0) == pytest.approx(pair[0, 2] / pair[0].sum())
    at = dict(zip(model.tables[2].parents, (0, 0), strict=True)) | {"a": 1, "b": 2}
    result = chance(model.tables[2], 1, *(at[p] for p in model.tables[2].parents))
    assert result == pytest.approx(counts[1, 2, 1] / counts[1, 2].sum())


def test_the_strongest_parent_comes_first():
    """c follows a closely and b hardly: information by hand has a first."""
    model = made((0, 1, 2), ((), (), (1, 0)), [marginal("abc", joint())])
    assert model.network["c"] == ("a", "b")

    def told(axis):
        p = joint().sum(axis=axis)
        p = p / p.sum()
        return (p * np.log(p / (p.sum(1, keepdims=True) * p.sum(0)))).sum()

    assert model.fitted.strengths == pytest.approx((told(1), told(0)))
    assert told(1) > told(0)


def test_the_smallest_table_that_holds_a_family_is_taken():
    """A small table has less noise in its sums. Here it says something else, so that it shows."""
    model = made((0, 1, 2), ((), (), ()), [marginal("abc", joint()), marginal("c", [1.0, 3.0])])
    assert chance(model.tables[2], 1) == pytest.approx(0.75)


def test_the_public_number_of_rows_is_kept():
    model = made((0, 1, 2), ((), (), ()), [marginal("abc", joint())])
    assert model.fitted.n_rows == 77
    assert model.fitted.privacy is ACCOUNT
    assert model.fitted.fitness == 0


def test_columns_may_stand_in_any_order():
    counts = joint()
    model = made((2, 0, 1), ((), (2,), (0,)), [marginal("cab", counts.transpose(2, 0, 1))])
    assert model.network.order == ("c", "a", "b")
    pair = counts.sum(axis=1)  # a, c
    assert chance(model.tables[1], 1, 0) == pytest.approx(pair[1, 0] / pair[:, 0].sum())


@pytest.mark.parametrize("uniform", [False, True])
def test_tables_without_any_weight_are_even(uniform):
    model = made(
        (0, 1, 2), ((), (0,), ()), [marginal("abc", np.zeros(MODEL_SIZES))], uniform=uniform
    )
    assert [chance(model.tables[1], x, 0) for x in range(3)] == pytest.approx([1 / 3] * 3)
    assert model.sample(30, seed=1).n_rows == 30


def test_rows_without_weight_back_off_to_fewer_parents_one_at_a_time():
    """Of a, b -> c the pair (1, 2) has no weight; the strongest parent alone decides, not the column's own distribution."""
    counts = joint()
    counts[1, 2] = 0
    model = made((0, 1, 2), ((), (), (0, 1)), [marginal("abc", counts)])
    first = model.tables[2].parents[0]
    assert first == "a"
    alone = counts.sum(axis=1)
    assert chance(model.tables[2], 1, 1, 2) == pytest.approx(alone[1, 1] / alone[1].sum())
    even = made((0, 1, 2), ((), (), (0, 1)), [marginal("abc", counts)], uniform=True)
    assert chance(even.tables[2], 1, 1, 2) == pytest.approx(0.5)
    assert chance(even.tables[2], 1, 0, 0) == pytest.approx(chance(model.tables[2], 1, 0, 0))


@pytest.mark.parametrize("seed", range(5))
def test_raking_gives_the_sums_asked_for_and_keeps_the_odds_ratio(seed):
    rng = np.random.default_rng(seed)
    start, wanted = rng.random((2, 2)) + 0.1, rng.random((2, 2)) + 0.1
    out = rake(start, [((0,), wanted.sum(axis=1)), ((1,), wanted.sum(axis=0))], rounds=200)
    np.testing.assert_allclose(out.sum(axis=1), wanted.sum(axis=1))
    np.testing.assert_allclose(out.sum(axis=0), wanted.sum(axis=0))

    def ratio(t):
        return t[0, 0] * t[1, 1] / (t[0, 1] * t[1, 0])

    assert ratio(out) == pytest.approx(ratio(start)), (
        "iterative proportional fitting keeps interactions"
    )


def test_single_columns_agree_on_the_total_weighted_by_precision():
    # Totals 100 (two cells, variance 2) and 106 (one cell, variance 1): weights 1/2 and 1, so 104.
    margins, total = margins_of([np.array([60.0, 40.0]), np.array([106.0])], [1.0, 1.0])
    assert total == pytest.approx(104.0)
    assert [m.sum() for m in margins] == pytest.approx([104.0, 104.0])
    margins, total = margins_of([np.array([-5.0, -7.0])], [1.0])
    assert (total, margins[0].min() >= 0, margins[0].sum()) == (1.0, True, 1.0)


def test_the_error_of_a_table_by_hand():
    # Cells of 1, 10 and 100 at sigma 10: the first cannot be wrong by more than it holds. 0.4 (1 + 10 + 10).
    curve = error_curve(np.array([100.0, 1.0, 10.0]))
    assert curve[np.searchsorted(SIGMAS, 9.99)] == pytest.approx(
        0.4 * (1 + 2 * SIGMAS[np.searchsorted(SIGMAS, 9.99)]), rel=0.1
    )
    assert error_at(curve, 1e7) == pytest.approx(0.4 * 111)
    assert (np.diff(curve) >= 0).all()


def test_conditional_targets_have_the_parents_sums():
    target = conditional_target(
        np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([8.0, 2.0]), np.array([1.0, 3.0])
    )
    assert target.tolist() == [[6.0, 2.0], [0.5, 1.5]]
    assert cells_of((3, 4, 5), (0, 2)) == 15
