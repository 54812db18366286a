"""Odds and candidates: against simulation and hand-worked tables."""

from __future__ import annotations

from math import log

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.table.relations import table_values
from chaffinch.table.screens import RuleSample, by_chance, listable, log_odds_of_function, missing_groups, order_pairs


def sample_of(**columns) -> RuleSample:
    table = chaffinch.read(pa.table(columns))
    return RuleSample(table.schema, table_values(table, table.schema.names), {n: table.code(n) for n in table.schema.names})


def test_the_odds_of_a_function_are_those_of_shuffled_rows():
    """Three left values with 2, 2 and 3 rows, the right side fair coins: every left value pure has the chance 1/2 * 1/2 * 1/4."""
    table = np.array([[2, 0], [0, 2], [2, 1]])
    shares = table.sum(axis=0) / 7
    by_hand = 2 * log((shares**2).sum()) + log((shares**3).sum())
    assert log_odds_of_function(table) == pytest.approx(by_hand)
    rng = np.random.default_rng(1)
    coins = rng.random((200_000, 7)) < shares[1]
    pure = np.logical_and.reduce([coins[:, part].all(axis=1) | ~coins[:, part].any(axis=1) for part in (slice(0, 2), slice(2, 4), slice(4, 7))])
    assert pure.mean() == pytest.approx(np.exp(by_hand), rel=0.05)  # 0.12 on 200,000 draws: a standard error of 0.6 %
    assert log_odds_of_function(np.array([[10_000, 0], [0, 10_000]])) < -10_000  # no power underflows


def test_chance_is_told_from_what_is_none():
    assert by_chance(1.0, 10**9, 1)
    assert by_chance(0.5, 20, 1)
    assert not by_chance(0.5, 60, 100)


def test_orders_mean_something_where_ranges_do_not_explain_them_and_some_rows_nearly_reach_them():
    rng = np.random.default_rng(2)
    low = rng.integers(0, 100, 2000)
    orders = {
        (a, b): meant
        for a, b, meant in order_pairs(sample_of(low=low, reached=low + rng.geometric(0.1, 2000) - 1, far=low + rng.normal(60, 4, 2000).round(), away=low + 500), set())
    }
    assert orders[("low", "reached")]
    assert not orders[("low", "far")]
    assert ("low", "away") not in orders


def test_columns_missing_together():
    rng = np.random.default_rng(3)
    none = rng.random(500) < 0.3
    sample = sample_of(a=pa.array(rng.normal(size=500), mask=none), b=pa.array(rng.choice(["x", "y"], 500), mask=none), c=pa.array(rng.normal(size=500), mask=rng.random(500) < 0.3))
    assert missing_groups(sample) == [["a", "b"]]


def test_only_columns_whose_codes_are_values_can_be_listed():
    sample = sample_of(a=["x", "y"] * 300, b=np.arange(600) * 1.5, c=[1, 2, 3] * 200)
    assert [listable(sample.schema[name]) for name in "abc"] == [True, False, True]
