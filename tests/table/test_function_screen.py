"""Functions of one column: their odds against hand-worked tables, and quick refusals against the slow way."""

from __future__ import annotations

from math import log

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.table.rules import find
from chaffinch.table.rules.find import RuleSample, function_pairs, listable, log_odds_of_function
from chaffinch.table.rules.relations import table_values


def sample_of(**columns) -> RuleSample:
    table = chaffinch.read(pa.table(columns))
    return RuleSample(
        table.schema,
        table_values(table, table.schema.names),
        {n: table.code(n) for n in table.schema.names},
    )


def test_the_odds_of_a_function_are_those_of_shuffled_rows():
    """Three left values with 2, 2 and 3 rows, the right side fair coins: every left value pure has the chance 1/2 * 1/2 * 1/4."""
    table = np.array([[2, 0], [0, 2], [2, 1]])
    shares = table.sum(axis=0) / 7
    by_hand = 2 * log((shares**2).sum()) + log((shares**3).sum())
    assert log_odds_of_function(table) == pytest.approx(by_hand)
    rng = np.random.default_rng(1)
    coins = rng.random((200_000, 7)) < shares[1]
    pure = np.logical_and.reduce(
        [
            coins[:, part].all(axis=1) | ~coins[:, part].any(axis=1)
            for part in (slice(0, 2), slice(2, 4), slice(4, 7))
        ]
    )
    assert pure.mean() == pytest.approx(
        np.exp(by_hand), rel=0.05
    )  # 0.12 on 200,000 draws: a standard error of 0.6 %
    assert (
        log_odds_of_function(np.array([[10_000, 0], [0, 10_000]])) < -10_000
    )  # no power underflows


def test_only_columns_whose_codes_are_values_can_be_listed():
    sample = sample_of(a=["x", "y"] * 300, b=np.arange(600) * 1.5, c=[1, 2, 3] * 200)
    assert [listable(sample.schema[name]) for name in "abc"] == [True, False, True]


@pytest.mark.parametrize("seed", range(4))
def test_a_first_look_refuses_only_what_all_rows_refuse(seed, monkeypatch):
    """Functions with none, few and too many exceptions, missing and pooled values, and columns that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 12, 3000)
    almost, hardly = (np.where(rng.random(3000) < share, 7, a % 4) for share in (0.006, 0.05))
    late = np.where(np.arange(3000) > 1500, rng.integers(0, 3, 3000), a % 3)
    words = np.array([f"w{v}" if v < 11 or k < 8 else None for k, v in enumerate(a)], dtype=object)
    sample = sample_of(
        a=a.astype(str),
        b=(a % 5).astype(str),
        c=almost.astype(str),
        d=hardly.astype(str),
        e=late.astype(str),
        w=words,
        z=rng.integers(0, 6, 3000).astype(str),
    )
    found = list(function_pairs(sample, set()))
    monkeypatch.setattr(find, "SMALL", 0)
    assert found == list(function_pairs(sample, set()))
    assert {("a", "b"), ("a", "c")} <= set(found)
    assert not {("a", "d"), ("a", "e"), ("z", "b")} & set(found)
