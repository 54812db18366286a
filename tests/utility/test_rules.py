"""The share of rows that break rules: counted by hand, beside independent columns, masked."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.utility.rules import broken_rules


def rows_that_keep_two_rules(n: int = 2000) -> pa.Table:
    rng = np.random.default_rng(1)
    start = rng.integers(0, 300, n)
    town = rng.integers(0, 12, n)
    return pa.table(
        {
            "start": start,
            "end": start + rng.geometric(0.1, n) - 1,
            "town": [f"t{i}" for i in town],
            "region": [f"r{i % 4}" for i in town],
        }
    )


def test_rows_that_break_rules_are_counted():
    table = chaffinch.read(rows_that_keep_two_rules())
    assert set(table.schema.rules) == {"start <= end", "town determines region"}
    frame = rows_that_keep_two_rules().to_pandas()
    frame.loc[:99, "end"] = frame.loc[:99, "start"] - 1
    frame.loc[50:149, "region"] = "r9"
    frame.loc[200:203, "region"] = "r8"
    result = broken_rules(table, frame)
    assert result.value == 154 / 2000
    shares = {rule.rule: (rule.share, rule.original) for rule in result.rules}
    assert shares == {
        "start <= end": (100 / 2000, 0.0),
        "town determines region": (104 / 2000, 0.0),
    }
    few = rows_that_keep_two_rules().to_pandas()
    few.loc[:3, "end"] = few.loc[:3, "start"] - 1
    assert {rule.rule: rule.share for rule in broken_rules(table, few).rules}[
        "start <= end"
    ] is None  # fewer rows than the threshold


@pytest.mark.parametrize("conditionals", ["tables", "trees"])
def test_the_metric_stands_between_the_original_and_independent_columns(conditionals):
    """Also where the synthetic table has other codes than the original, as one that comes from a file has."""
    table = chaffinch.read(rows_that_keep_two_rules())
    drawn = chaffinch.BayesNet(conditionals=conditionals).fit(table, seed=1).sample(seed=2)
    result = chaffinch.utility(table, drawn, measures=["rules"], seed=1)
    assert result.results["rules"].value == 0.0
    references = result.references["rules"]
    assert references.resample == 0.0
    assert references.marginals > 0.5
    assert result.to_dict()["rules"]["rules"][0]["share"] == 0.0


def test_without_rules_there_is_nothing_to_say():
    rng = np.random.default_rng(2)
    table = chaffinch.read(
        pa.table({"a": rng.choice(["x", "y"], 200), "b": rng.choice(["p", "q"], 200)})
    )
    assert broken_rules(table, table) is None
    assert (
        "rules"
        not in chaffinch.utility(table, table, seed=1, measures=["rules", "jensen_shannon"]).results
    )
