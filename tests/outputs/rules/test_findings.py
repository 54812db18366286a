"""Findings: what may leave, the worst of them, and sentences that hide numbers below the policy's threshold."""

from __future__ import annotations

import pytest

from chaffinch.outputs.rules.findings import RuleReport, cells_in_words, finding, some, statbarn_of


@pytest.mark.parametrize(
    ("count", "threshold", "words"),
    [
        (0, 5, "none"),
        (4, 5, "fewer than 5"),
        (5, 5, "5"),
        (9, 5, "9"),
        (9, 10, "fewer than 10"),
        (19, 20, "fewer than 20"),
        (1234, 20, "1,234"),
    ],
)
def test_numbers_of_cells_below_the_threshold_are_hidden(
    count: int, threshold: int, words: str
) -> None:
    assert cells_in_words(count, threshold) == words


def test_what_may_leave_names_no_cell() -> None:
    one = finding(
        "t",
        "mean",
        "threshold",
        ["a1|b2"],
        of=4,
        good="",
        bad="One is small.",
        status="review",
        other="u",
    )
    assert one.to_dict() == {
        "output": "t",
        "other": "u",
        "rule": "threshold",
        "status": "review",
        "statbarn": "LinearAggregations",
        "cells": 1,
        "of": 4,
        "words": "One is small.",
        "others": [],
    }
    assert one.confidential() == {**one.to_dict(), "where": ["a1|b2"]}


def test_a_report_is_as_bad_as_its_worst_finding() -> None:
    good = finding("t", "table", "threshold", [], of=4, good="None is small.", bad="")
    unseen = finding(
        "u", "table", "differencing", ["x"], of=4, good="", bad="", status="not assessed", other="t"
    )
    report = RuleReport((good, unseen), "ours", "0" * 64)
    assert (good.status, report.worst, report.status("t"), report.status("v")) == (
        "pass",
        "not assessed",
        "not assessed",
        "pass",
    )
    assert [one.rule for one in report.of("u")] == ["differencing"]
    assert report.to_dict()["findings"] == [good.to_dict(), unseen.to_dict()]


def test_words() -> None:
    assert (some(2, 4), some(1, 1, "group"), statbarn_of("sd")) == (
        "2 of 4 cells",
        "the only group",
        "Shape",
    )
