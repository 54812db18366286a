"""Odds and candidates: against simulation and hand-worked tables."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import chaffinch
from chaffinch.table.rules.find import RuleSample, by_chance, missing_groups, order_pairs
from chaffinch.table.rules.relations import table_values


def sample_of(**columns) -> RuleSample:
    table = chaffinch.read(pa.table(columns))
    return RuleSample(
        table.schema,
        table_values(table, table.schema.names),
        {n: table.code(n) for n in table.schema.names},
    )


def test_chance_is_told_from_what_is_none():
    assert by_chance(1.0, 10**9, 1)
    assert by_chance(0.5, 20, 1)
    assert not by_chance(0.5, 60, 100)


def test_orders_are_those_that_neither_ranges_nor_chance_explain():
    rng = np.random.default_rng(2)
    low = rng.integers(0, 100, 2000)
    columns = {
        "low": low,
        "reached": low + rng.geometric(0.1, 2000) - 1,
        "far": low + rng.normal(60, 4, 2000).round(),
        "away": low + 500,
    }
    orders = set(order_pairs(sample_of(**columns), set()))
    assert {
        ("low", "reached"),
        ("low", "far"),
    } <= orders  # 8 % of rows would break the second if one column were shuffled
    assert ("low", "away") not in orders
    few = {name: values[:25] for name, values in columns.items()}
    assert ("low", "far") not in set(order_pairs(sample_of(**few), set()))  # .92^25 = .12


def test_two_dates_in_order_need_no_more_than_that_all_rows_keep_it():
    rng = np.random.default_rng(2)
    for unit, n in (("D", 25), ("s", 25), ("D", 2000)):
        born = np.datetime64("1950-01-01", unit) + rng.integers(0, 10_000, n).astype(
            f"timedelta64[{unit}]"
        )
        seen = np.datetime64("2020-01-01", unit) + rng.integers(0, 500, n).astype(
            f"timedelta64[{unit}]"
        )
        assert ("born", "seen") in set(
            order_pairs(sample_of(born=born, seen=seen, kind=rng.choice(["a", "b"], n)), set())
        )
        seen[0] = np.datetime64("1930-01-01")
        assert ("born", "seen") not in set(
            order_pairs(sample_of(born=born, seen=seen, kind=rng.choice(["a", "b"], n)), set())
        )


def test_columns_missing_together():
    rng = np.random.default_rng(3)
    none = rng.random(500) < 0.3
    sample = sample_of(
        a=pa.array(rng.normal(size=500), mask=none),
        b=pa.array(rng.choice(["x", "y"], 500), mask=none),
        c=pa.array(rng.normal(size=500), mask=rng.random(500) < 0.3),
    )
    assert missing_groups(sample) == [["a", "b"]]
