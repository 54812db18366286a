"""Rank tests: R's numbers, pairs counted one by one, scipy on any records; derivatives; columns with too many values; rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.numbers import compare_numbers
from chaffinch.outputs.rules import Policy, check_entries

BY = {"of": "num_children", "by": ["media_exposure"]}
FIELDS = OutputDomain(
    (
        OutputColumn("g", ("a", "b")),
        OutputColumn("x", tuple(range(9))),
        OutputColumn("y", tuple(range(9))),
    )
)

# R 4.2.2, d <- read.csv("examples/data/cmc.csv"); x <- d$num_children; m <- d$media_exposure
R = [
    # wilcox.test(x[m==0], x[m==1])
    (
        {"kind": "mann-whitney", **BY},
        {"statistic": 54498.0, "p_value": 2.66240348055e-06, "auc": 54498 / (1364 * 109)},
    ),
    # wilcox.test(x[m==0], x[m==1], correct=FALSE, alternative="less")
    (
        {"kind": "mann-whitney", **BY, "correction": False, "alternative": "less"},
        {"statistic": 54498.0, "p_value": 1.33043130694e-06},
    ),
    # kruskal.test(x, factor(d$wife_education)); tapply(x, d$wife_education, median)
    (
        {"kind": "kruskal-wallis", "of": "num_children", "by": ["wife_education"]},
        {
            "statistic": 42.0786090864,
            "dof": 3,
            "p_value": 3.86093835540e-09,
            "medians": [4, 3, 3, 3],
        },
    ),
]


@pytest.mark.parametrize(("entry", "wanted"), R)
def test_numbers_are_those_of_r(
    cmc: Any, agrees: Any, slopes_hold: Any, entry: dict[str, Any], wanted: dict[str, Any]
) -> None:
    computed = agrees(cmc, entry, wanted)
    for system in computed.problem().outputs:
        if callable(getattr(system, "reported", None)):
            slopes_hold(system.reported, system.contributions(cmc.codes()).sum(axis=0))


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_pairs_counted_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, k, 30) for k in (2, 9, 9)]).astype(np.int32)
    first, second = (codes[codes[:, 0] == k, 1] for k in (0, 1))
    pairs = (first[:, None] > second).sum() + 0.5 * (first[:, None] == second).sum()
    mann_whitney = {
        "name": "m",
        "kind": "mann-whitney",
        "of": "x",
        "by": ["g"],
        "z": True,
        "statistic": True,
        "auc": True,
        "p_value": True,
    }
    if not len(first) or not len(second):
        return
    computed = recipes_of([mann_whitney], FIELDS).computed(codes)
    one = computed.outputs[0].to_dict()
    assert (one["statistic"], one["auc"]) == pytest.approx(
        (pairs, pairs / (len(first) * len(second)))
    )
    assert all(each.within for each in compare_numbers(computed, codes))
    for system in computed.problem(30).outputs:
        value = system.reported(system.contributions(codes).sum(axis=0))[0]  # type: ignore[union-attr,operator]
        assert value == pytest.approx(0.5 * (system.lo + system.hi), abs=1e-6)


@pytest.mark.parametrize(("key", "seed"), [("statistic", 2), ("p_value", 1)])
def test_a_dataset_evolves_from_a_statistic(evolved: Any, key: str, seed: int) -> None:
    rng = np.random.default_rng(3)
    g = rng.integers(0, 2, 150)
    codes = np.column_stack(
        [g, np.clip(rng.poisson(3 + 0.5 * g), 0, 8), rng.integers(0, 9, 150)]
    ).astype(np.int32)
    entry = {
        "name": "m",
        "kind": "mann-whitney",
        "of": "x",
        "by": ["g"],
        "digits": {"statistic": 0, "p_value": 3},
        key: True,
        "counts": True,
    }
    # With the numbers of each value, which decide the ties.
    published = recipes_of([entry, {"name": "x", "kind": "table", "by": ["x"]}], FIELDS).computed(
        codes
    )
    copy = evolved(published, seed=seed, proposals=400_000)
    assert all(one.within for one in compare_numbers(published, copy.codes))


def test_of_columns_with_too_many_values_only_the_rules_are_checked() -> None:
    fields = OutputDomain((OutputColumn("g", ("a", "b")), OutputColumn("x", tuple(range(1000)))))
    codes = np.array([[k % 2, 7 * k % 1000] for k in range(200)], dtype=np.int32)
    entry = {"name": "m", "kind": "mann-whitney", "of": "x", "by": ["g"]}
    recipes = recipes_of([entry, {"name": "t", "kind": "table", "by": ["g"]}], fields)
    computed = recipes.computed(codes)
    assert computed.searched.names == ("t",)
    assert all(one.within for one in compare_numbers(computed, codes))
    with pytest.raises(InputError, match="There are no outputs to search for"):
        recipes.only(["m"]).searched  # noqa: B018


def test_rules_on_the_groups_behind_it() -> None:
    codes = np.array(
        [[0, k % 9, 1] for k in range(40)] + [[1, k % 9, 1] for k in range(4)], dtype=np.int32
    )
    for kind in ("mann-whitney", "kruskal-wallis"):
        report = check_entries(
            [{"name": "m", "kind": kind, "of": "x", "by": ["g"], "medians": True}],
            FIELDS,
            codes,
            Policy(),
        )
        found = {one.rule: (one.status, one.where) for one in report if one.status != "pass"}
        assert found["threshold"] == ("fail", ("b",))
        assert found["beyond a quantile"] == ("review", ("b at 0.5",))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"kind": "mann-whitney", "of": "x", "by": ["y"]}, "must be between two groups"),
        ({"kind": "kruskal-wallis", "of": "x", "by": ["x"]}, "by itself"),
    ],
)
def test_what_is_not_said_is_asked_for(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        recipes_of([{"name": "r", **entry}], FIELDS)


def test_records_without_a_test() -> None:
    codes = np.array([[0, 3, 3]] * 5, dtype=np.int32)
    for entry in ({"kind": "mann-whitney", "by": ["g"]}, {"kind": "kruskal-wallis", "by": ["g"]}):
        with pytest.raises(InputError, match="cannot be computed on the data"):
            recipes_of([{"name": "r", "of": "x", **entry}], FIELDS).computed(codes)
