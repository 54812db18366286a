"""The words of a verdict: which of them come first, and what they never leave out."""

import math

import pytest

from chaffinch.outputs.check.assessment import OutputFit
from chaffinch.outputs.check.attribution import RiskMeasure
from chaffinch.outputs.check.result import NotAssessed, verdict_of
from chaffinch.stats.crossed import NOTHING, Estimate


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
