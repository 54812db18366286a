"""Weighted tables: pandas' sums of weights, with the unweighted counts or not; rules on the records behind the weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.rules import Policy, check_entries

BY = ["media_exposure", "contraceptive_method"]
FIELDS = Fields((Field("g", ("a", "b")), Field("w", (0.5, 1.0, 40.0))))
ENTRY: dict[str, Any] = {"name": "t", "kind": "weighted-table", "by": ["g"], "weight": "w"}


def test_sums_of_weights_are_those_of_pandas(cmc: Any, agrees: Any, check: Any) -> None:
    frame, weight = cmc.frame, cmc.frame["standard_of_living"]
    weighted = pd.crosstab(frame[BY[0]], frame[BY[1]], values=weight, aggfunc="sum")
    counts = pd.crosstab(frame[BY[0]], frame[BY[1]])
    wanted = {"values": weighted.to_numpy().tolist(), "counts": counts.to_numpy().tolist()}
    computed = agrees(
        cmc, {"kind": "weighted-table", "by": BY, "weight": "standard_of_living"}, wanted
    )
    assert set(check(computed, cmc.shuffled("standard_of_living"))) == {"o0: values"}
    shares = 100 * weighted.div(weighted.sum(axis=1), axis=0)
    entry = {
        "kind": "weighted-table",
        "by": BY,
        "weight": "standard_of_living",
        "percentages": "rows",
    }
    agrees(cmc, entry, {"values": shares.to_numpy().tolist()})


@pytest.mark.parametrize("more", [{}, {"percentages": "all"}, {"counts": True, "values": True}])
def test_a_large_weight_hides_no_small_cell(more: dict[str, Any]) -> None:
    """Three records of weight 40 stand for 120 people: the cell is one of three."""
    codes = np.array([[0, 1]] * 90 + [[1, 2]] * 3, dtype=np.int32)
    report = check_entries([{**ENTRY, **more}], FIELDS, codes, Policy(weight="w"))
    found = {one.rule: (one.status, one.where) for one in report}
    assert found["threshold"] == ("fail", ("b",))
    assert "weighted counts" not in found
    # One weight that makes up a cell of many: who has it is known to within the others.
    codes = np.array([[0, 1]] * 90 + [[1, 0]] * 12 + [[1, 2]] * 2, dtype=np.int32)
    assert {
        one.rule: one.where for one in check_entries([{**ENTRY, **more}], FIELDS, codes, Policy())
    }["n-k dominance"] == ("b",)


def test_a_plain_table_of_weighted_counts_is_still_noticed() -> None:
    codes = np.array([[0, 1]] * 90 + [[1, 2]] * 30, dtype=np.int32)
    table = {"name": "t", "kind": "table", "by": ["g"], "counts": [90, 1200]}
    assert {one.rule: one.status for one in check_entries([table], FIELDS, codes, Policy())}[
        "weighted counts"
    ] == "not assessed"
