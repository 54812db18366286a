"""Settings of a study: rules, and one threshold for whatever leaves."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.errors import InputError
from chaffinch.utility import UtilitySettings


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("repeats", "repeats must be at least 1. Got 0"),
        ("threshold", "threshold must be at least 1. Got 0"),
    ],
)
def test_numbers_have_rules(option, words):
    with pytest.raises(InputError, match=words):
        UtilitySettings(**{option: 0})


def test_another_threshold_reaches_everything_that_leaves():
    """Level 'few' has 14 records: ten would let it show, twenty does not; no rounded count is below the threshold."""
    rng = np.random.default_rng(1)
    n = 300
    area = np.where(np.arange(n) < 14, "few", rng.choice(["north", "south"], n))
    income = rng.normal(30, 5, n).round(1) + 3 * (area == "few")
    ill = np.where(rng.random(n) < 0.3, "yes", "no")
    original = chaffinch.read(pa.table({"area": area, "income": income, "ill": ill}))
    synthetic = pa.table(
        {
            "area": rng.permutation(area),
            "income": rng.permutation(income),
            "ill": rng.permutation(ill),
        }
    )
    asked = {
        "formula": "income ~ area",
        "label": "area",
        "models": ["nb"],
        "repeats": 1,
        "svm_rows": 100,
        "seed": 1,
    }
    for threshold, shows in ((10, True), (20, False)):
        plain = chaffinch.utility(original, synthetic, threshold=threshold, **asked).to_dict()
        terms = json.dumps(plain["regression"])
        levels = {level for matrix in plain["learning"]["confusion"] for level in matrix["levels"]}
        assert ("area[few]" in terms or '"area": "few"' in terms) == shows
        assert ("few" in levels) == shows
        counts = [c for m in plain["learning"]["confusion"] for row in m["counts"] for c in row]
        assert all(
            count == 0 or count == f"<{threshold}" or count % threshold == 0
            for count in counts
            if count != f"<{threshold}"
        )
        for words in re.findall(r"fewer than (\d+)", json.dumps(plain)):
            assert int(words) in (threshold, 20)  # 20 groups of records too
        assert plain["about"]["original"]["rows"] == 300
    small = original.data.slice(0, 15)
    few = chaffinch.utility(
        original, small, measures=["jensen_shannon", "impossible"], threshold=20, seed=1
    ).to_dict()
    assert few["about"]["synthetic"]["rows"] == "<20"
