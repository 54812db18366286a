"""A verdict for each output: from each thing that may keep it from passing, and in which order."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.outputs.check.result import (
    ByRecipe,
    NotChecked,
    counted_words,
    hold_back,
    summary_of,
)
from chaffinch.outputs.rules import RuleReport
from chaffinch.outputs.rules.findings import ORDER, finding

ONE = {"name": "one", "kind": "table", "by": ["y"]}
TWO = {"name": "two", "kind": "table", "by": ["a"], "base": 1000}


def report(*findings):
    return RuleReport(findings, "default", "0" * 64)


def found(output, rule="threshold", status="fail", other=None):
    return finding(
        output, "table", rule, ["x"], of=1, good="", bad="Bad.", status=status, other=other
    )


@pytest.fixture
def result(checked):
    """Two outputs that nothing speaks against."""
    clean = checked(ONE, TWO, keys=("a",), n=300)
    return replace(clean, rules=report())


def rows_of(result):
    return {row.output: (row.verdict, row.why) for row in summary_of(result)}


def test_what_keeps_an_output_from_passing(result):
    assert rows_of(result) == {"one": ("pass", ()), "two": ("pass", ())}
    assert result.passed
    one, two = result.outputs
    stage = result.cumulative[0]
    cases = [
        (
            replace(result, outputs=(replace(one, consistent=False), two)),
            "fail",
            "numbers are not the data's",
        ),
        (
            replace(result, outputs=(replace(one, unmeasured="no estimate"), two)),
            "not assessed",
            "no estimate",
        ),
        (
            replace(result, outputs=(replace(one, fit=replace(one.fit, reached=0.5)), two)),
            "not assessed",
            "50 % of the datasets have its numbers: a lower bound",
        ),
        (
            replace(
                result,
                outputs=(replace(one, fit=None, rules_only="this kind has no equations"), two),
            ),
            "review",
            "rules only: this kind has no equations",
        ),
        (
            replace(result, about=replace(result.about, by_recipe=(ByRecipe("one", True),))),
            "not assessed",
            "a recipe was judged in its place, though it can be read",
        ),
        (
            replace(result, about=replace(result.about, by_recipe=(ByRecipe("one", False),))),
            "review",
            "a recipe was judged in its place",
        ),
        (replace(result, rules=report(found("one"))), "fail", "threshold"),
        (
            replace(result, rules=report(found("one", status="not assessed"))),
            "not assessed",
            "threshold (not assessed)",
        ),
        (
            replace(result, rules=report(found("one", "zeros", "review"))),
            "review",
            "zeros (review)",
        ),
    ]
    for changed, verdict, why in cases:
        assert rows_of(changed) == {"one": (verdict, (why,)), "two": ("pass", ())}, why
        assert changed.passed == (verdict == "review"), why
        assert summary_of(changed)[0].output == "one"  # the worst first
    assert stage.outputs == ("one",)


def test_an_excess_is_that_of_the_step_that_brings_it(result):
    high = tuple(
        replace(one, marginal=replace(one.marginal, value=0.2, low=0.1))
        for one in result.all.measures
    )
    first, second = result.cumulative
    both = replace(
        result,
        all=replace(result.all, measures=high),
        cumulative=(first, replace(second, measures=high)),
    )
    assert rows_of(both) == {"one": ("pass", ()), "two": ("fail", ("adds marginal risk",))}
    early = replace(
        both, cumulative=(replace(first, measures=high), replace(second, measures=high))
    )
    assert rows_of(early)["one"] == ("fail", ("adds marginal risk",))
    assert rows_of(early)["two"][0] == (
        "fail" if any(one.low > 0 for one in second.added) else "pass"
    )
    gone = replace(result, cumulative=(replace(first, measures=high), second))
    assert rows_of(gone)["one"] == ("review", ("adds marginal risk",))
    at_once = replace(both, cumulative=(replace(second, measures=high, added=()),))
    assert {verdict for verdict, _ in rows_of(at_once).values()} == {"fail"}
    assert all(row.together == 2 for row in summary_of(at_once))


def test_what_could_not_be_read_and_what_is_between_two(result):
    skipped = replace(
        result, about=replace(result.about, skipped=(NotChecked("plot", "an image", "histogram"),))
    )
    (row,) = [row for row in summary_of(skipped) if row.output == "plot"]
    assert (row.kind, row.rules, row.verdict, row.why) == (
        "histogram",
        None,
        "not assessed",
        ("an image",),
    )
    assert not skipped.passed
    assert not skipped.failed
    assert counted_words(summary_of(skipped)) == "3 outputs: 1 not assessed, 2 pass."
    between = replace(
        result,
        rules=report(
            found("one", "differencing", other="two"), found("one", "differencing", other="old")
        ),
    )
    assert rows_of(between) == {
        "one": ("fail", ("differencing with 'two', 'old'",)),
        "two": ("fail", ("differencing with 'one'",)),
    }


def test_released_outputs_have_no_verdict(result):
    one, two = result.outputs
    assert list(rows_of(replace(result, outputs=(replace(one, released=True), two)))) == ["two"]


NAMES = "abcdef"
PAIRS = st.lists(st.tuples(st.sampled_from(NAMES), st.none() | st.sampled_from(NAMES)), max_size=12)


@given(PAIRS, st.sets(st.sampled_from("ef")))
def test_without_what_is_held_back_nothing_fails(pairs, released):
    """Second opinion: the definition. Only failures among outputs that are out already stay."""
    rules = report(*(found(one, other=other) for one, other in pairs))
    alone, more = hold_back(rules, released=released)
    held = {*alone, *more}
    for one, other in pairs:
        assert {one, other} & held or {one, other} <= released
    assert not set(more) & released
    assert set(alone) == {one for one, other in pairs if other is None}


def test_several_outputs_together_are_settled_by_one():
    rules = report(replace(found("a", "differencing"), others=("b", "c")), found("c", other="d"))
    assert hold_back(rules) == ((), ("c",))


def test_statuses_are_those_of_the_rules():
    assert ORDER == ("pass", "review", "not assessed", "fail")
