"""Results of a check: what leaves, by which threshold, and back from plain data."""

import json
import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.errors import InputError
from chaffinch.outputs.check import CheckResult
from chaffinch.outputs.check.assessment import OutputFit
from chaffinch.outputs.check.attribution import RiskMeasure
from chaffinch.outputs.check.result import (
    NotAssessed,
    counted_words,
    outputs_to_withhold,
    summary_of,
    verdict_of,
)
from chaffinch.outputs.rules import RuleReport
from chaffinch.outputs.rules.findings import finding
from chaffinch.outputs.source import ByRecipe, NotChecked
from chaffinch.stats.intervals import NOTHING, Estimate

JOINT = {"name": "joint", "kind": "table", "by": ["a", "b", "c", "y"]}
MARGIN = {"name": "margin", "kind": "table", "by": ["a", "b", "c"]}
PLAIN = {"name": "plain", "kind": "table", "by": ["y"]}


def test_what_leaves_holds_no_class(checked):
    found = checked(JOINT)
    names = re.compile(r"\b[abcy]\d\b")  # of levels
    assert not names.search(json.dumps(found.to_dict()))
    assert names.search(json.dumps(found.confidential()))


def test_counts_follow_the_threshold(checked):
    found = checked(JOINT, threshold=500)
    assert (found.records, found.exposed_classes) == ("<500", "<500")
    assert checked(JOINT, threshold=7).records == 238


def test_results_come_back_from_plain_data(checked):
    found = checked(
        PLAIN,
        JOINT,
        leave_one_out="always",
        released=[MARGIN],
    )
    plain = json.loads(json.dumps(found.to_dict()))
    again = CheckResult.from_dict(plain)
    assert again.to_dict() == plain
    assert again.passed == found.passed
    assert again.all.measures[0].finding.word == "excess found"
    for wrong, words in (
        ({}, "must be of format"),
        ({**plain, "all": {}}, "'all'"),
        ({**plain, "version": 2}, "version 3"),
    ):
        with pytest.raises(InputError, match=words):
            CheckResult.from_dict(wrong)


def measure(low, *, detectable=0.05, convention="matched_rows"):
    marginal = Estimate(low + 0.1, 0.05, low, low + 0.2, 10)
    return RiskMeasure(
        "y",
        convention,
        *(NOTHING,) * 3,
        marginal=marginal,
        beyond_prior=NOTHING,
        detectable=detectable,
    )


@pytest.mark.parametrize(
    ("measures", "options", "word", "text"),
    [
        ([measure(-0.1)], {}, "no excess found", "no excess found (detectable: 0.050)"),
        (
            [measure(-0.1), measure(-0.1, detectable=0.2)],
            {},
            "no excess found",
            "no excess found (detectable: 0.200)",
        ),
        ([], {}, "no excess found", "no excess found (detectable: nothing was attributed)"),
        ([measure(0.01)], {}, "excess found", "excess found"),
        ([measure(-0.1), measure(-0.1, detectable=math.inf)], {}, "too uncertain", "too uncertain"),
        ([measure(0.01), measure(-0.1, detectable=math.inf)], {}, "excess found", "excess found"),
        (
            [measure(-0.1)],
            {"reached": 0.5},
            "not reached (lower bound)",
            "not reached (lower bound)",
        ),
        ([measure(0.01)], {"reached": 0.5}, "excess found", "excess found"),
        ([measure(0.01)], {"inconsistent": ["t"]}, "outputs inconsistent", "outputs inconsistent"),
        (
            [measure(0.01)],
            {"not_assessed": [("zeros", "t")]},
            "excess found",
            "excess found; not all rules assessed",
        ),
    ],
)
def test_words(measures, options, word, text):
    verdict = verdict_of(measures, **{"reached": 1.0, **options})
    assert (verdict.word, verdict.text) == (word, text)
    assert verdict.to_dict()["text"] == text
    assert "safe" not in " ".join(verdict.sentences)


def test_sentences_say_what_was_found_and_what_was_not_looked_at():
    verdict = verdict_of(
        [measure(0.01), measure(-0.1)], reached=0.25, not_assessed=[("zeros", "t"), ("zeros", "t")]
    )
    first, second, third = verdict.sentences
    assert "by 0.110 (0.010 to 0.210; convention matched_rows)" in first
    assert "Only 25 % of the datasets" in second
    assert third.endswith("not assessed to the end: zeros ('t').")
    assert verdict.not_assessed == (NotAssessed("zeros", "t"),) * 2
    none = verdict_of([], reached=1.0)
    assert math.isnan(none.detectable)
    assert none.to_dict()["detectable"] is None
    assert "nothing was attributed" in none.sentences[0]


def test_two_syntheses_find_nothing_and_say_so():
    verdict = verdict_of([measure(-0.1, detectable=math.inf)], reached=1.0)
    assert "even the largest, 1, would be missed" in verdict.sentences[0]
    assert verdict.to_dict()["detectable"] is None


def test_not_reached_says_how_far_it_got():
    fits = [
        OutputFit("a", "logit", 3, 0.4, 0.001, 0.01, off=0.0042, allowed=0.0005),
        OutputFit("b", "table", 4, 1.0, 0.0, 0.0),
        OutputFit("c", "logit", 2, 0.1, math.inf, math.inf, off=math.nan, allowed=0.0005),
        OutputFit("d", "logit", 2, 0.2, math.nan, math.nan),
    ]
    _, share, *far = verdict_of([measure(-0.1)], reached=0.1, fits=fits).sentences
    assert share.startswith("Only 10 %")
    assert far == [
        "'c': 10 % of the datasets have all its numbers; in some a number cannot be computed at all.",
        "'d': 20 % of the datasets have all its numbers, by the engine's own word.",
        "'a': 40 % of the datasets have all its numbers; the farthest is 0.0042 from what was published, where 0.0005 would do.",
    ]
    assert len(verdict_of([], reached=1.0, fits=fits).sentences) == 1


ONE = {"name": "one", "kind": "table", "by": ["y"]}
TWO = {"name": "two", "kind": "table", "by": ["a"], "base": 1000}


def report(*findings):
    return RuleReport(findings, "default", "0" * 64)


def found(output, rule="threshold", status="fail", other=None):
    return finding(
        output, "table", rule, ["x"], total=1, sentence="Bad.", status=status, other=other
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
    alone, more = outputs_to_withhold(rules, released=released)
    held = {*alone, *more}
    for one, other in pairs:
        assert {one, other} & held or {one, other} <= released
    assert not set(more) & released
    assert set(alone) == {one for one, other in pairs if other is None}


def test_several_outputs_together_are_settled_by_one():
    rules = report(replace(found("a", "differencing"), others=("b", "c")), found("c", other="d"))
    assert outputs_to_withhold(rules) == ((), ("c",))
