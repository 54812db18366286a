"""Which setting moved what: neighbours on the front, one setting at a time, sentences of measured differences."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaffinch.report.frontier_result import CandidateSettings, FrontierChoice
from chaffinch.workflows.frontier.choice import (
    _moved_risk,
    changes_of,
    move_words,
    neighbours_on_front,
)
from chaffinch.workflows.frontier.evaluate import FrontierStudy

from ...report.test_frontier import evaluation


def test_neighbours_are_the_next_safer_and_the_next_more_useful() -> None:
    some = [
        evaluation(300, 0.01, 0.6),
        evaluation(100, 0.02, 0.7),
        evaluation(30, 0.03, 0.8),
        evaluation(10, 0.05, 0.9),
    ]
    found = neighbours_on_front(some, CandidateSettings(leaf=30), "accuracy")
    assert [(towards, one.candidate.leaf) for towards, one in found] == [
        ("safer", 100),
        ("more useful", 10),
    ]
    assert neighbours_on_front(some, CandidateSettings(leaf=5), "accuracy") == []


def test_differences_are_of_the_same_people(study: FrontierStudy) -> None:
    """Worth moves by the difference of the two means, which is what both evaluations say."""
    a, b, c = (
        study.evaluate(one).evaluation
        for one in (
            CandidateSettings(),
            CandidateSettings(leaf=100),
            CandidateSettings(leaf=100, protected=("job",)),
        )
    )
    risks = [
        replace(
            one, risk=replace(one.risk, estimate=risk), worth=(replace(one.worth[0], value=worth),)
        )
        for one, risk, worth in ((a, 0.3, 0.9), (b, 0.2, 0.8), (c, 0.1, 0.7))
    ]
    choice = FrontierChoice(worth="accuracy", evaluation=risks[1])
    changes = changes_of(study, risks, choice)
    assert [(one.towards, one.setting) for one in changes] == [
        ("safer", "protected"),
        ("more useful", "leaf"),
    ]
    for change, other in zip(changes, (c, a), strict=True):
        assert change.worth == pytest.approx(other.worth[0].value - b.worth[0].value)
        low, high = change.worth_interval
        assert low <= change.worth <= high
        low, high = change.risk_interval
        assert low <= change.risk <= high
    assert changes[0].sentence.startswith("Protecting job ")
    assert changes[1].sentence.startswith("Leaves of 10 instead of 100 ")


@pytest.mark.parametrize(
    ("before", "after", "name", "words"),
    [
        (
            CandidateSettings(),
            CandidateSettings(method="independent"),
            "method",
            "independent columns instead of a network",
        ),
        (
            CandidateSettings(parents=1),
            CandidateSettings(),
            "parents",
            "the usual number of parents instead of at most 1 parent",
        ),
        (
            CandidateSettings(protected=("a", "b")),
            CandidateSettings(protected=("b",)),
            "protected",
            "no longer protecting a",
        ),
        (CandidateSettings(), CandidateSettings(dropped=("a",)), "dropped", "leaving out a"),
        (
            CandidateSettings(),
            CandidateSettings(rare=30),
            "rare",
            "pooling levels under 30 records instead of 3",
        ),
        (
            CandidateSettings(smoothing=10.0),
            CandidateSettings(),
            "smoothing",
            "a smoothing of none instead of 10",
        ),
        (
            CandidateSettings(epsilon=1.0),
            CandidateSettings(epsilon=3.0),
            "epsilon",
            "epsilon 3 instead of 1",
        ),
        (
            CandidateSettings(),
            CandidateSettings(conditionals="tables"),
            "conditionals",
            "tables instead of trees",
        ),
        (
            CandidateSettings(),
            CandidateSettings(protect="together"),
            "protect",
            "protecting columns together",
        ),
    ],
)
def test_a_move_in_words(
    before: CandidateSettings, after: CandidateSettings, name: str, words: str
) -> None:
    assert move_words(before, after, name) == words


def test_equal_tables_move_nothing(study: FrontierStudy) -> None:
    """Independent columns twice, under other names: of some ten attacks the furthest looks far, and its interval holds zero with 95 % for all of them together."""
    one, other = (
        study.evaluate(CandidateSettings(method="independent")),
        study.evaluate(CandidateSettings(method="independent", leaf=30)),
    )
    found = _moved_risk(study, one, other)
    low, high = found[2]
    assert low <= 0 <= high
