"""Three and more outputs that leave a few people together, through the rules, with what was released before."""

from __future__ import annotations

import json

import numpy as np
import pytest

from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.rules import Policy, check_entries, small_groups


def found(report):
    return [
        (each.output, each.other, each.others, each.status)
        for each in report
        if each.rule == "differencing" and each.status != "pass"
    ]


@pytest.fixture
def codes(people):
    """Sixty people in each level of A, ages 20 to 79, and one more of a2 aged 80."""
    return people(
        *(
            (1, {"A": a, "AGE": age, "PAY": age % 7})
            for a in ("a1", "a2", "a3")
            for age in range(20, 80)
        ),
        (1, {"A": "a2", "AGE": 80}),
    )


YOUNG = {"kind": "histogram", "of": "AGE", "edges": [0, 50]}
OLD = {"kind": "table", "by": ["AGE"], "groups": {"AGE": [[51, 79]]}}
ALL = {"kind": "table", "by": ["A"]}


def test_a_b_and_both_with_one_person_more(check, codes):
    """By hand: 93 people up to 50, 87 from 51 to 79, 181 in all: 181 - 93 - 87 = 1, the person of 80."""
    for others in (YOUNG, OLD), (OLD, YOUNG):
        report = check(codes, ALL, *others)
        assert found(report) == [("o1", None, ("o2", "o3"), "fail")]
        (one,) = [each for each in report if each.rule == "differencing" and each.status == "fail"]
        assert "3 outputs together leave fewer than 10 people" in one.words
        assert "'o1', 'o2' and 'o3'" in one.words
        assert {report.status(name) for name in ("o1", "o2", "o3")} == {"fail"}
    # Any two of them leave many.
    assert not [
        one
        for pair in ((ALL, YOUNG), (ALL, OLD), (YOUNG, OLD))
        for one in found(check(codes, *pair))
    ]


def test_what_leaves_names_outputs_and_no_cell(check, codes):
    report = check(codes, ALL, YOUNG, OLD)
    (one,) = [each for each in report if each.rule == "differencing" and each.status == "fail"]
    assert one.to_dict()["others"] == ["o2", "o3"]
    assert json.loads(json.dumps(report.to_dict())) == report.to_dict()
    assert "51" not in str(one.to_dict())
    assert any("51-79" in name for name in one.where)


def test_the_person_may_be_in_one_of_many_cells(check, codes):
    """Tables by A throughout: of a1 and a3 nothing is left over, of a2 one."""
    by_a = [
        {"kind": "table", "by": ["A"], "where": where}
        for where in ("AGE <= 50", "AGE > 50 and AGE < 80")
    ]
    assert found(check(codes, ALL, *by_a))[0][1:] == (None, ("o2", "o3"), "fail")
    assert found(check(codes[:-1], ALL, *by_a)) == []


def test_each_group_is_told_by_the_outputs_that_it_needs(check, codes):
    more = {"kind": "table", "by": ["A", "B"]}
    assert found(check(codes, ALL, YOUNG, OLD, more)) == [("o1", None, ("o2", "o3"), "fail")]
    four = [
        {"kind": "table", "by": ["AGE"], "groups": {"AGE": [ends]}}
        for ends in ([0, 30], [31, 50], [51, 79])
    ]
    assert found(check(codes, ALL, *four)) == [("o1", None, ("o2", "o3", "o4"), "fail")]


def test_released_outputs_are_part_of_it(check, codes):
    before = [{"name": "young", **YOUNG}, {"name": "old", **OLD}]
    assert found(check(codes, ALL, released=before)) == [("o1", None, ("young", "old"), "fail")]
    # What released ones give away among themselves is not the new one's doing.
    everyone = [*before, {"name": "all", **ALL}]
    assert (
        found(check(codes, {"kind": "table", "by": ["B"], "where": "AGE < 40"}, released=everyone))
        == []
    )


def test_a_pair_that_was_named_is_not_named_again(check, codes):
    cut = {"kind": "table", "by": ["A"], "where": "AGE < 80"}
    assert (
        found(check(codes, ALL, cut, {"kind": "table", "by": ["B"]})).count(
            ("o1", "o2", (), "fail")
        )
        == 1
    )


def test_sums_of_the_same_column(check, codes):
    sums = [
        {"kind": "sum", "of": "PAY", "where": where}
        for where in ("AGE <= 50", "AGE > 50 and AGE < 80")
    ]
    assert found(check(codes, {"kind": "sum", "of": "PAY"}, *sums)) == [
        ("o1", None, ("o2", "o3"), "fail")
    ]
    other = {**sums[1], "of": "AGE"}
    assert found(check(codes, {"kind": "sum", "of": "PAY"}, sums[0], other)) == []


def test_withheld_and_rounded_counts_cannot_be_subtracted(check, codes):
    assert found(check(codes, ALL, {**YOUNG, "counts": ["?"]}, OLD)) == []
    assert found(check(codes, {**ALL, "base": 10}, YOUNG, OLD)) == []


def test_the_threshold_is_the_policys(check, people):
    codes = people((50, {"AGE": 1}), (6, {"AGE": 2}), (50, {"AGE": 3}))
    low, high = (
        {"kind": "table", "by": ["AGE"], "groups": {"AGE": [[age, age]]}} for age in (1, 3)
    )
    for least, status in ((6, []), (7, ["fail"])):
        report = check(
            codes,
            {"kind": "ols", "formula": "PAY ~ A", "n": 106},
            low,
            high,
            policy=Policy(threshold=least),
        )
        assert [one[-1] for one in found(report)] == status
    own = Policy(threshold=7, kinds={"table": {"threshold": 3}})
    assert (
        found(check(codes, {"kind": "ols", "formula": "PAY ~ A", "n": 106}, low, high, policy=own))
        == []
    )


def test_work_that_is_used_up_is_not_assessed(check, codes, monkeypatch):
    monkeypatch.setattr(small_groups, "MOST_WORK", 0)
    report = check(codes, ALL, YOUNG, OLD)
    assert found(report) == [("o1", None, ("o2", "o3"), "not assessed")]
    assert {report.status(name) for name in ("o1", "o2", "o3")} == {"not assessed"}
    assert "nothing is known" in report.findings[-1].words


def wide(n_columns=12):
    """More combinations of levels than are written out; the same leak of one person."""
    names = [f"C{k}" for k in range(n_columns)]
    fields = Fields((*(Field(name, (0, 1, 2)) for name in names), Field("AGE", tuple(range(100)))))
    rng = np.random.default_rng(4)
    codes = np.append(
        rng.integers(0, 3, (4_000, n_columns)), rng.integers(0, 79, (4_000, 1)), axis=1
    ).astype(np.int32)
    codes[0, -1] = 80
    pairs = [
        {"name": f"t{k}", "kind": "table", "by": [names[k], names[(k + 1) % n_columns]]}
        for k in range(n_columns)
    ]
    cut = [
        {"name": name, "kind": "table", "by": ["C0"], "where": where}
        for name, where in (("young", "AGE < 50"), ("old", "AGE >= 50 and AGE < 80"))
    ]
    return fields, codes, [*pairs, *cut]


def test_more_combinations_of_levels_than_are_written_out(monkeypatch):
    fields, codes, entries = wide()
    assert np.prod(fields.columns.sizes[:-1]) > 100_000
    report = check_entries(entries, fields, codes, Policy())
    (one,) = [each for each in report if each.rule == "differencing" and each.status == "fail"]
    assert {"young", "old"} < set(one.names)
    assert len(one.names) == 3
    codes[0, -1] = 79 - 1
    assert not [
        each
        for each in check_entries(entries, fields, codes, Policy())
        if each.rule == "differencing" and each.status != "pass"
    ]
    # Where not all of them can be looked at, a person should.
    codes[0, -1] = 80
    monkeypatch.setattr(small_groups, "MOST_LEVELS", 1)
    report = check_entries(entries, fields, codes, Policy())
    assert {each.status for each in report if each.rule == "differencing"} == {"review", "pass"}
