"""A model made of released tables: which table each column takes, and in what order its parents stand."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.counts import Marginal
from chaffinch.privacy.account import Account
from chaffinch.privacy.budget import Budget
from chaffinch.privacy.domain import declared_schema
from chaffinch.privacy.relation import Unit
from chaffinch.synth.bayesnet.model import FitSummary
from chaffinch.synth.private_model import private_model
from chaffinch.table import Column, Schema

SIZES = (2, 3, 2)
SCHEMA = declared_schema(
    Schema(
        tuple(
            Column(n, "categorical", levels=tuple(range(s)))
            for n, s in zip("abc", SIZES, strict=True)
        ),
        public=True,
    )
)
ACCOUNT = Account(Budget(1.0), Unit("add-remove"), (), test_only=True, rows=77, rows_how="measured")


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
    counts = np.zeros(SIZES)
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
    model = made((0, 1, 2), ((), (0,), ()), [marginal("abc", np.zeros(SIZES))], uniform=uniform)
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
