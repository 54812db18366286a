"""Households counted as one, and counts that are weighted: by hand."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.rules import Policy, check_entries

FIELDS = Fields(
    (Field("A", ("p", "q")), Field("HOME", tuple(range(60))), Field("WEIGHT", (0.5, 1.0, 2.5)))
)
BY_A = {"name": "t", "kind": "table", "by": ["A"]}


def records(homes_of_p: int) -> np.ndarray:
    """Twelve people of p in so many homes, forty of q in homes of their own."""
    codes = np.zeros((52, 3), dtype=np.int32)
    codes[:12, 1] = np.arange(12) % homes_of_p
    codes[12:, 0], codes[12:, 1] = 1, 12 + np.arange(40)
    return codes


def said(report, rule):
    return [(one.status, one.where) for one in report if one.rule == rule]


@pytest.mark.parametrize(
    ("homes", "status"), [(2, "fail"), (9, "fail"), (10, "pass"), (12, "pass")]
)
def test_people_of_one_household_count_as_one(homes, status):
    report = check_entries([BY_A], FIELDS, records(homes), Policy(household="HOME"))
    ((found, where),) = said(report, "threshold of households")
    assert found == status
    assert where == (("cells: p",) if status == "fail" else ())
    # Of people there are enough, and without a column of households nothing is said of them.
    assert said(report, "threshold") == [("pass", ())]
    assert not said(
        check_entries([BY_A], FIELDS, records(homes), Policy()), "threshold of households"
    )


def test_withheld_cells_are_not_shown_and_the_threshold_is_the_policys():
    withheld = {**BY_A, "counts": ["?", 40]}
    assert said(
        check_entries([withheld], FIELDS, records(2), Policy(household="HOME")),
        "threshold of households",
    ) == [("pass", ())]
    few = Policy(household="HOME", threshold=3)
    assert (
        said(check_entries([BY_A], FIELDS, records(2), few), "threshold of households")[0][0]
        == "fail"
    )
    assert (
        said(check_entries([BY_A], FIELDS, records(3), few), "threshold of households")[0][0]
        == "pass"
    )


def test_households_that_cannot_be_counted_are_not_assessed():
    report = check_entries([BY_A], FIELDS, records(2), Policy(household="HH"))
    assert said(report, "threshold of households") == [("not assessed", ("t",))]
    assert report.worst == "not assessed"


@pytest.mark.parametrize(
    ("counts", "status"),
    [
        ([12, 40], None),
        ([12.5, 41.0], "not assessed"),
        (["12.5", "41.0"], "not assessed"),
        ([1200, 4000], "not assessed"),
        (["<20", 40], None),
    ],
)
def test_counts_that_are_weighted_are_seen(counts, status):
    report = check_entries([{**BY_A, "counts": counts}], FIELDS, records(12), Policy())
    assert [found for found, _ in said(report, "weighted counts")] == (
        [] if status is None else [status]
    )
    if status is not None:
        assert report.status("t") == status
        (one,) = [each for each in report if each.rule == "weighted counts"]
        assert "unweighted" in one.words
        assert not any(str(count) in one.words for count in counts)


def test_sums_of_the_weight_are_weighted_counts():
    entry = {"name": "s", "kind": "sum", "of": "WEIGHT", "by": ["A"]}
    assert not said(check_entries([entry], FIELDS, records(12), Policy()), "weighted counts")
    assert said(
        check_entries([entry], FIELDS, records(12), Policy(weight="WEIGHT")), "weighted counts"
    ) == [("not assessed", ("s",))]


def test_a_policy_that_names_no_column_has_the_hash_that_it_had():
    assert "household" not in Policy().to_dict()
    assert Policy(household="HOME").hash != Policy().hash
    assert Policy(weight="WEIGHT").to_dict()["weight"] == "WEIGHT"
