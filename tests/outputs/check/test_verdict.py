"""The words of a verdict: which of them come first, and what they never leave out."""

import math

import pytest

from chaffinch.outputs.check.marginal import RiskMeasure
from chaffinch.outputs.check.verdict import NotAssessed, verdict_of
from chaffinch.stats.crossed import NOTHING, Estimate


def measure(low, *, detectable=0.05, convention="matched_rows"):
    marginal = Estimate(low + 0.1, 0.05, low, low + 0.2, 10)
    return RiskMeasure("y", convention, *(NOTHING,) * 3, marginal=marginal, beyond_prior=NOTHING, detectable=detectable)


@pytest.mark.parametrize(
    ("measures", "options", "word", "text"),
    [
        ([measure(-0.1)], {}, "no excess found", "no excess found (detectable: 0.050)"),
        ([measure(-0.1), measure(-0.1, detectable=0.2)], {}, "no excess found", "no excess found (detectable: 0.200)"),
        ([], {}, "no excess found", "no excess found (detectable: nothing was attributed)"),
        ([measure(0.01)], {}, "excess found", "excess found"),
        ([measure(-0.1)], {"reached": 0.5}, "not reached (lower bound)", "not reached (lower bound)"),
        ([measure(0.01)], {"reached": 0.5}, "excess found", "excess found"),
        ([measure(0.01)], {"inconsistent": ["t"]}, "outputs inconsistent", "outputs inconsistent"),
        ([measure(0.01)], {"not_assessed": [("zeros", "t")]}, "excess found", "excess found; not all rules assessed"),
    ],
)
def test_words(measures, options, word, text):
    verdict = verdict_of(measures, **{"reached": 1.0, **options})
    assert (verdict.word, verdict.text) == (word, text)
    assert verdict.to_dict()["text"] == text
    assert "safe" not in " ".join(verdict.sentences)


def test_sentences_say_what_was_found_and_what_was_not_looked_at():
    verdict = verdict_of([measure(0.01), measure(-0.1)], reached=0.25, not_assessed=[("zeros", "t"), ("zeros", "t")])
    first, second, third = verdict.sentences
    assert "by 0.110 (0.010 to 0.210; convention matched_rows)" in first
    assert "Only 25 % of the datasets" in second
    assert third.endswith("not assessed to the end: zeros ('t').")
    assert verdict.not_assessed == (NotAssessed("zeros", "t"),) * 2
    none = verdict_of([], reached=1.0)
    assert math.isnan(none.detectable)
    assert none.to_dict()["detectable"] is None
    assert "nothing was attributed" in none.sentences[0]
