"""Summaries and tests as printed."""

from __future__ import annotations

import pytest

from chaffinch._base.errors import InputError
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.readers.files.printed import PrintedGroups, PrintedTest
from chaffinch.outputs.rules import Policy

FIELDS = Fields(
    (Field("age", tuple(range(10, 90))), Field("sex", ("f", "m")), Field("area", (1, 2)))
)
GROUPS = (("f",), ("m",))


def groups(**numbers: tuple[str, str]) -> PrintedGroups:
    return PrintedGroups(
        "age",
        ("sex",),
        GROUPS,
        {key: dict(zip(GROUPS, some, strict=True)) for key, some in numbers.items()},
    )


def statuses(one: PrintedGroups | PrintedTest) -> dict[str, str]:
    return {each.rule: each.status for each in one.findings("t", Policy())}


def test_small_groups_fail_and_dominance_is_not_assessed() -> None:
    assert statuses(groups(mean=("41.5", "40.2"), n=("30", "9")))["threshold"] == "fail"
    large = statuses(groups(mean=("41.5", "40.2"), n=("30", "90")))
    assert large["threshold"] == "pass"
    assert large["n-k dominance"] == "not assessed"
    assert statuses(groups(mean=("41.5", "40.2")))["threshold"] == "not assessed"


def test_each_statistic_is_an_entry_that_the_kinds_read() -> None:
    summary = groups(
        mean=("41.5", "40.2"), sd=("3.1", "4.0"), min=("20", "21"), max=("70", "80"), n=("30", "90")
    )
    entries = summary.entries("t", FIELDS)
    assert [(entry["name"], entry["kind"]) for entry in entries] == [
        ("t: mean", "mean"),
        ("t: sd", "sd"),
        ("t: quantiles", "quantiles"),
        ("t: n", "table"),
    ]
    assert entries[2]["values"] == {"f": ["20", "70"], "m": ["21", "80"]}
    assert len(recipes_of(entries, FIELDS)) == 4
    assert summary.people == 120


def test_without_groups_n_stands_in_the_entries() -> None:
    one = PrintedGroups("age", (), ((),), {"n": {(): "74"}, "mean": {(): "41.5"}})
    assert one.entries("t", FIELDS) == [
        {"name": "t: mean", "kind": "mean", "of": "age", "value": "41.5", "n": 74}
    ]
    assert (
        statuses(PrintedGroups("age", (), ((),), {"n": {(): "7"}, "mean": {(): "41.5"}}))[
            "threshold"
        ]
        == "fail"
    )


def test_a_summary_of_what_is_not_named_says_so() -> None:
    with pytest.raises(InputError, match="which column it summarises"):
        PrintedGroups(None, ("sex",), GROUPS, {"mean": dict.fromkeys(GROUPS, "1.5")}).entries(
            "t", FIELDS
        )
    with pytest.raises(InputError, match="'income', which is no column"):
        PrintedGroups("income", ("sex",), GROUPS, {"mean": dict.fromkeys(GROUPS, "1.5")}).entries(
            "t", FIELDS
        )


def test_a_test_is_judged_by_n_and_compared_where_it_can_be() -> None:
    chi = PrintedTest("chi-square", "a test", {"statistic": "3.84"}, ("sex", "area"), n=8)
    assert statuses(chi) == {"threshold": "fail", "small groups behind the test": "not assessed"}
    assert chi.entries("t", FIELDS) == [
        {"name": "t", "kind": "chi-square", "by": ["sex", "area"], "n": 8, "statistic": "3.84"}
    ]
    with pytest.raises(InputError, match="it is paired"):
        PrintedTest("t-test", "a test", {}, ("sex",), "age", unsaid="it is paired").entries(
            "t", FIELDS
        )
    with pytest.raises(InputError, match="which columns it is a test of"):
        PrintedTest("chi-square", "a test").entries("t", FIELDS)
