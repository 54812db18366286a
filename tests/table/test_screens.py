"""Odds and candidates: against simulation and hand-worked tables."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import chaffinch
from chaffinch.table.relations import table_values
from chaffinch.table.screens import RuleSample, by_chance, missing_groups, order_pairs


def sample_of(**columns) -> RuleSample:
    table = chaffinch.read(pa.table(columns))
    return RuleSample(table.schema, table_values(table, table.schema.names), {n: table.code(n) for n in table.schema.names})


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
