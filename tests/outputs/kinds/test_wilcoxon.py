"""Wilcoxon's signed ranks: R's numbers, Walsh averages counted one by one, scipy's smaller sum; derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from chaffinch._base.errors import InputError
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.numbers import compare_numbers

FIELDS = OutputDomain((OutputColumn("x", tuple(range(9))), OutputColumn("y", tuple(range(9)))))
TEST = {"name": "w", "kind": "wilcoxon", "of": "x", "paired": "y"}

# R 4.2.2, d <- read.csv("examples/data/cmc.csv"); x <- d$num_children; s <- d$standard_of_living
R = [
    # wilcox.test(s, x, paired=TRUE)
    (
        {
            "kind": "wilcoxon",
            "of": "standard_of_living",
            "paired": "num_children",
            "correction": True,
        },
        {
            "statistic": 400958.0,
            "p_value": 5.87784550061e-01,
        },
    ),
    # wilcox.test(d$wife_age, mu=32, correct=FALSE, alternative="greater")
    (
        {
            "kind": "wilcoxon",
            "of": "wife_age",
            "mu": 32.0,
            "correction": False,
            "alternative": "greater",
        },
        {
            "statistic": 523129.0,
            "p_value": 4.15495564799e-02,
        },
    ),
]


@pytest.mark.parametrize(("entry", "wanted"), R)
def test_numbers_are_those_of_r(
    cmc: Any, agrees: Any, slopes_hold: Any, entry: dict[str, Any], wanted: dict[str, Any]
) -> None:
    for system in agrees(cmc, entry, wanted).problem().outputs:
        slopes_hold(system.reported, system.contributions(cmc.codes()).sum(axis=0))


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_walsh_averages_counted_one_by_one(seed: int) -> None:
    codes = np.random.default_rng(seed).integers(0, 9, (30, 2)).astype(np.int32)
    entry = {
        **TEST,
        "correction": False,
        **dict.fromkeys(("smaller", "statistic", "z", "p_value"), True),
    }
    if (codes[:, 0] == codes[:, 1]).all():
        return
    computed = recipes_of([entry], FIELDS).computed(codes)
    numbers = computed.outputs[0].to_dict()
    # The statistic is how many pairs i <= j have a mean difference above 0; of those that are 0 each counts half.
    d = (codes[:, 0] - codes[:, 1])[codes[:, 0] != codes[:, 1]].astype(float)
    i, j = np.triu_indices(len(d))
    walsh = d[i] + d[j]
    assert numbers["statistic"] == pytest.approx((walsh > 0).sum() + 0.5 * (walsh == 0).sum())
    assert numbers["smaller"] == pytest.approx(wilcoxon(d, method="asymptotic").statistic)
    assert all(each.within for each in compare_numbers(computed, codes))
    for system in computed.problem(30).outputs:
        value = system.reported(system.contributions(codes).sum(axis=0))[0]  # type: ignore[union-attr,operator]
        assert value == pytest.approx(0.5 * (system.lo + system.hi), abs=1e-6)


def test_what_is_not_said_is_asked_for() -> None:
    with pytest.raises(InputError, match="must say whether half a rank was taken off"):
        recipes_of([TEST], FIELDS)
    with pytest.raises(InputError, match="with itself"):
        recipes_of([{**TEST, "paired": "x", "correction": True}], FIELDS)
    with pytest.raises(InputError, match="no records differ there"):
        recipes_of([{**TEST, "correction": True}], FIELDS).computed(
            np.array([[3, 3]] * 5, dtype=np.int32)
        )
