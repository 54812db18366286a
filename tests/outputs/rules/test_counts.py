"""Small cells, zeros and whole rows, on tables worked by hand and against plain counting."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.rules import Policy, check_entries

TABLE = {"kind": "table", "by": ["A", "B"]}


@pytest.fixture
def codes(people_by_cell):
    #        b1   b2
    #  a1    20    3
    #  a2    15   12
    #  a3     0   10
    return people_by_cell(
        (20, {"A": "a1"}),
        (3, {"A": "a1", "B": "b2"}),
        (15, {"A": "a2"}),
        (12, {"A": "a2", "B": "b2"}),
        (10, {"A": "a3", "B": "b2"}),
    )


def test_a_small_cell_a_zero_and_a_whole_row(check, one, codes):
    report = check(codes, TABLE)
    assert (one(report, "threshold").status, one(report, "threshold").where) == ("fail", ("a1|b2",))
    assert (one(report, "threshold").cells, one(report, "threshold").total) == (1, 6)
    assert one(report, "zeros").where == ("a3|b1",)
    whole = one(report, "class disclosure")
    assert (whole.status, whole.where) == ("review", ("a3|b2",))
    assert whole.total == 5  # three rows and two columns
    assert report.worst == "fail"
    assert report.status("o1") == "fail"
    assert all(each.statbarn == "Frequencies" for each in report)


def test_what_leaves_holds_no_cells_and_no_small_counts(check, codes):
    report = check(codes, TABLE)
    told = str(report.to_dict()) + repr(report) + repr(report.findings)
    assert "a1|b2" not in told
    assert "a1|b2" in str(report.confidential())
    assert report.to_dict()["policy_hash"] == Policy().hash


def test_zeros_may_be_allowed(check, codes):
    report = check(codes, TABLE, policy=Policy(zeros_are_disclosive=False))
    assert not [each for each in report if each.rule == "zeros"]
    assert report.status("o1") == "fail"


def test_a_zero_that_cannot_be_otherwise_is_none(check, one, people_by_cell):
    codes = people_by_cell(
        (20, {"A": "a1"}),
        (20, {"A": "a1", "B": "b2"}),
        (20, {"A": "a2"}),
        (20, {"A": "a2", "B": "b2"}),
    )
    assert one(check(codes, TABLE), "zeros").status == "fail"
    assert one(check(codes, {**TABLE, "where": "A != 'a3'"}), "zeros").status == "pass"
    assert one(check(codes, {**TABLE, "groups": {"A": [["a1"], ["a2"]]}}), "zeros").status == "pass"
    # A filter that ties columns together: a3 never passes, and neither does a1 with b2.
    tied = {**TABLE, "where": "A == 'a2' or (A == 'a1' and B == 'b1')"}
    assert one(check(codes, tied), "zeros").status == "pass"
    assert one(check(codes, {**TABLE, "where": "A == 'a2' or B == 'b1'"}), "zeros").where == (
        "a3|b1",
    )


def test_totals_and_n_count_too(check, one, people_by_cell):
    # Only the total of the filter is small: percentages by rows, and the n of a filter that leaves few.
    codes = people_by_cell((40, {}), (5, {"A": "a2"}))
    report = check(codes, {"kind": "mean", "of": "AGE", "where": "A == 'a2'", "n": 5})
    assert one(report, "threshold").where == ("cells", "n")
    report = check(codes, {"kind": "table", "by": ["A"], "margins": True, "where": "A == 'a2'"})
    assert "total" in one(report, "threshold").where
    shares = {"kind": "table", "by": ["A", "B"], "percentages": "rows", "totals": [40, 5, 0]}
    assert one(check(codes, shares), "threshold").where == ("a2|b1", "totals: a2")


def test_withheld_cells_are_not_shown(check, one, codes):
    for entry in (
        {**TABLE, "threshold": 10},
        {**TABLE, "counts": [[20, "<10"], [15, 12], [0, 10]]},
        {
            **TABLE,
            "cells": {"a1|b1": 20, "a1|b2": "x", "a2|b1": 15, "a2|b2": 12, "a3|b2": 10},
            "threshold": 10,
        },
        {**TABLE, "withheld": ["a1|b2"]},
        {**TABLE, "bands": ["1-9"]},
    ):
        report = check(codes, entry)
        assert one(report, "threshold").status == "pass", entry
        assert one(report, "zeros").where == ("a3|b1",)
    hidden = check(codes, {**TABLE, "threshold": 10, "suppressed_zeros": True})
    assert hidden.worst == "pass"


def test_a_threshold_of_the_file_below_the_policys(check, one, codes):
    assert one(check(codes, {**TABLE, "threshold": 3}), "threshold").where == ("a1|b2",)


def test_rounded_counts(check, one, codes):
    assert one(check(codes, {**TABLE, "base": 10}), "threshold").status == "pass"
    statuses = [
        each.status for each in check(codes, {**TABLE, "base": 5}) if each.rule == "threshold"
    ]
    assert statuses == ["pass", "review"]


def test_a_small_three_way_table(check, one, people_by_cell):
    codes = people_by_cell(
        *(
            (4, {"A": a, "B": b, "Y": y})
            for a in ("a1", "a2", "a3")
            for b in ("b1", "b2")
            for y in ("no", "yes")
        )
    )
    found = one(check(codes, {"kind": "table", "by": ["A", "B", "Y"]}), "threshold")
    assert (found.status, found.cells, found.total) == ("fail", 12, 12)
    assert one(check(codes, {"kind": "table", "by": ["A"]}), "threshold").status == "pass"


def test_acros_documented_table(check, one):
    """Background, section 3: AREAP by ETHGROUP of 3,000 records; ACRO fails the four cells of ETHGROUP 8, and no other."""
    from chaffinch.outputs.domain import OutputColumn, OutputDomain
    from chaffinch.outputs.rules import check_entries

    fields = OutputDomain(
        (OutputColumn("AREAP", (57, 58, 59, 60)), OutputColumn("ETHGROUP", (1, 2, 3, 8)))
    )
    counts = np.array([[708, 59, 27, 3], [662, 47, 25, 1], [649, 44, 27, 2], [669, 48, 27, 2]])
    codes = np.repeat(np.indices(counts.shape).reshape(2, -1).T, counts.ravel(), axis=0).astype(
        np.int32
    )
    entry = {
        "name": "output_2",
        "kind": "table",
        "by": ["AREAP", "ETHGROUP"],
        "counts": counts.tolist(),
    }
    report = check_entries([entry], fields, codes, Policy())
    assert one(report, "threshold", "output_2").where == ("57|8", "58|8", "59|8", "60|8")
    assert one(report, "zeros", "output_2").status == "pass"
    # Its logit passes ACRO with 2,991 degrees of freedom; ETHGROUP 8, with 8 people, is behind a coefficient.
    logit = {"name": "output_0", "kind": "ols", "formula": "AREAP ~ C(ETHGROUP)"}
    report = check_entries([logit], fields, codes, Policy())
    assert one(report, "residual degrees of freedom", "output_0").status == "pass"
    assert one(report, "small group behind a coefficient", "output_0").where == ("C(ETHGROUP)[8]",)


def test_histograms(check, one, people_by_cell):
    codes = people_by_cell(
        (12, {"AGE": 16}), (3, {"AGE": 20}), (15, {"AGE": 30}), (5, {"AGE": 48}), (5, {"AGE": 49})
    )
    report = check(codes, {"kind": "histogram", "of": "AGE", "edges": [16, 20, 30, 40, 49]})
    assert one(report, "threshold").where == ("20 to 30",)
    assert one(report, "ends").where == ("the last edge",)  # 49 itself, of five people
    assert one(report, "ends").status == "review"
    # Bins that no value of the column falls into are no zeros.
    report = check(codes, {"kind": "histogram", "of": "AGE", "edges": [0, 50, 100, 200]})
    assert one(report, "zeros").where == ("50 to 100",)
    assert (
        check(
            codes,
            {"kind": "histogram", "of": "AGE", "edges": [0, 20, 99]},
            policy=Policy(threshold=5),
        ).worst
        == "pass"
    )


def test_trees(check, one, people_by_cell):
    codes = people_by_cell(
        (20, {"AGE": 20}),
        (15, {"AGE": 20, "Y": "yes"}),
        (30, {"AGE": 60}),
        (4, {"AGE": 60, "Y": "yes"}),
    )
    leaves = [{"where": "AGE <= 40", "counts": True}, {"where": "AGE > 40", "counts": True}]
    tree = {"kind": "tree", "label": "Y", "leaves": leaves}
    assert one(check(codes, tree), "threshold").where == ("leaf 2: yes",)
    assert one(check(codes[:-4], tree), "class disclosure").where == ("leaf 2: no",)
    assert one(check(codes[:-4], tree), "zeros").where == ("leaf 2: yes",)
    # By its filter nobody over 40 can say yes: that is no disclosure.
    never = {**tree, "where": "Y == 'no' or AGE < 40"}
    assert one(check(codes, never), "class disclosure").status == "pass"
    counted = {"kind": "tree", "leaves": [{"where": "AGE > 40 and Y == 'yes'", "n": 4}]}
    assert one(check(codes, counted), "threshold").status == "fail"
    counted["leaves"][0]["n"] = "<10"
    assert one(check(codes, counted), "threshold").status == "pass"


def test_survival_steps(check, one, people_by_cell):
    # Times 1: 12 leave, 5: 4 leave, 9: 30 are left; nobody before 1.
    codes = people_by_cell((12, {"AGE": 1}), (4, {"AGE": 5}), (30, {"AGE": 9, "Y": "yes"}))
    table = {
        "kind": "kaplan-meier",
        "time": "AGE",
        "event": "Y",
        "level": "yes",
        "times": [1, 5, 9],
        "at_risk": [46, 34, 30],
    }
    found = one(check(codes, table), "survival steps")
    assert (found.status, found.where, found.statbarn) == (
        "fail",
        ("from 5",),
        "HazardSurvivalTables",
    )
    assert one(check(codes, {**table, "times": [1, 9]}), "survival steps").status == "pass"
    assert one(check(codes, {**table, "times": [5]}), "survival steps").status == "pass"
    late = one(check(codes, {**table, "times": [2, 6, 10]}), "survival steps")
    assert late.where == ("from 2",)
    few = people_by_cell((12, {"AGE": 1}), (4, {"AGE": 5, "Y": "yes"}))
    assert one(check(few, {**table, "times": [1, 5]}), "survival steps").where == (
        "at risk from 5",
    )
    assert (
        one(check(few, {**table, "times": [1, 5], "threshold": 10}), "survival steps").status
        == "pass"
    )
    # Twelve of age 1 have left before the first time that is shown: fewer than 13.
    early = one(
        check(codes, {**table, "times": [5, 9]}, policy=Policy(survival_threshold=13)),
        "survival steps",
    )
    assert early.where == ("before 5", "from 5")
    events = one(
        check(few, {**table, "times": [1, 5], "threshold": None, "events": True}), "survival steps"
    )
    assert "events from 5" in events.where
    assert (
        one(check(codes, table, policy=Policy(survival_threshold=4)), "survival steps").status
        == "pass"
    )


def test_survival_steps_count_whom_a_filter_on_the_time_lets_in(check, one, people_by_cell):
    """Four people of age 3 leave before the first time that is shown; the twelve of age 1 are not in the table, and hide nobody."""
    codes = people_by_cell((12, {"AGE": 1}), (4, {"AGE": 3}), (20, {"AGE": 5}))
    table = {
        "kind": "kaplan-meier",
        "time": "AGE",
        "event": "Y",
        "level": "yes",
        "times": [5],
        "at_risk": True,
    }
    assert one(check(codes, table), "survival steps").status == "pass"
    found = one(check(codes, {**table, "where": "AGE >= 3"}), "survival steps")
    assert (found.status, found.where) == ("fail", ("before 5",))
    assert one(check(codes, {**table, "where": "AGE >= 5"}), "survival steps").status == "pass"


def test_survival_by_groups(check, one, people_by_cell):
    codes = people_by_cell(
        (20, {"AGE": 1}), (20, {"AGE": 5}), (20, {"AGE": 1, "B": "b2"}), (3, {"AGE": 5, "B": "b2"})
    )
    table = {
        "kind": "kaplan-meier",
        "time": "AGE",
        "event": "Y",
        "level": "yes",
        "times": [1, 5],
        "at_risk": True,
    }
    assert one(check(codes, table), "survival steps").status == "pass"
    by = one(check(codes, {**table, "by": ["B"]}), "survival steps")
    assert by.where == ("group 2, at risk from 5",)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 4)), min_size=1, max_size=40
    ),
    st.integers(1, 6),
    st.sampled_from([None, "AGE >= 2", "A != 'a1'", "A == 'a1' or AGE == 0"]),
)
def test_the_threshold_agrees_with_plain_counting(rows, least, where):
    from chaffinch.outputs.domain import OutputColumn, OutputDomain
    from chaffinch.outputs.rules import check_entries

    fields = OutputDomain(
        (
            OutputColumn("A", ("a1", "a2", "a3")),
            OutputColumn("B", ("b1", "b2")),
            OutputColumn("AGE", (0, 1, 2, 3, 4)),
        )
    )
    keep = {
        None: lambda a, age: True,
        "AGE >= 2": lambda a, age: age >= 2,
        "A != 'a1'": lambda a, age: a != 0,
    }
    kept = [
        (a, b) for a, b, age in rows if keep.get(where, lambda a, age: a == 0 or age == 0)(a, age)
    ]
    counts = Counter(kept)
    small = {f"a{a + 1}|b{b + 1}" for (a, b), count in counts.items() if count < least}
    entry = {"name": "t", "kind": "table", "by": ["A", "B"], "where": where}
    report = check_entries([entry], fields, np.array(rows, dtype=np.int32), Policy(threshold=least))
    (found,) = [each for each in report if each.rule == "threshold"]
    assert set(found.where) == small
    assert (found.status == "fail") == bool(small)


FIELDS = OutputDomain(
    (
        OutputColumn("A", ("p", "q")),
        OutputColumn("HOME", tuple(range(60))),
        OutputColumn("WEIGHT", (0.5, 1.0, 2.5)),
    )
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
        assert "unweighted" in one.sentence
        assert not any(str(count) in one.sentence for count in counts)


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
