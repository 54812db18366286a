"""The choice: confirmed on people the search never saw, and explained: neighbours on the front, one setting at a time, sentences of measured differences."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from chaffinch.errors import InputError
from chaffinch.report.frontier_result import (
    CandidateSettings,
    Evaluation,
    FrontierChoice,
    Limits,
    RiskFigure,
    WorthFigure,
)
from chaffinch.workflows.frontier.choice import (
    Confirmer,
    _moved_risk,
    changes_of,
    move_words,
    neighbours_on_front,
    private_candidates,
    public_candidate,
)
from chaffinch.workflows.frontier.evaluate import FrontierStudy, MeasuredCandidate

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


LIMITS = Limits(max_excess=0.05)


def one(leaf: int, risk: float, worth: float, *, wide: float = 0.02, **more: Any) -> Evaluation:
    figure = WorthFigure(name="w", title="worth", value=worth)
    bounds = RiskFigure(estimate=risk, lower=risk - wide, upper=risk + wide, detectable=(0.01, 0.1))
    return Evaluation(
        candidate=CandidateSettings(leaf=leaf), risk=bounds, worth=(figure,), people=100, **more
    )


@dataclass
class StandIn:
    """People who were set aside, as a list of what each candidate gives away there."""

    unseen: dict[int, float]
    confirmation: str = "confirmation"
    asked: list[int] = field(default_factory=list)

    def evaluate(self, candidate: CandidateSettings, part: object) -> MeasuredCandidate:
        assert part == "confirmation"
        self.asked.append(candidate.leaf)
        return MeasuredCandidate(one(candidate.leaf, self.unseen[candidate.leaf], 0.5))


SEARCH = [
    one(leaf, risk, worth, wide=0.002)
    for leaf, risk, worth in (
        (10, 0.045, 0.9),
        (30, 0.03, 0.8),
        (100, 0.01, 0.7),
        (300, 0.0, 0.6),
        (5, 0.4, 1.0),
    )
]


def test_the_most_useful_that_qualifies_is_confirmed() -> None:
    people = StandIn({10: 0.06})
    choice = Confirmer(people)(SEARCH, LIMITS, "w")  # type: ignore[arg-type]
    assert choice.candidate == CandidateSettings()
    assert choice.confirmation is not None
    assert choice.confirmation.word == "undecided"
    assert choice.allowed
    assert people.asked == [10]
    assert "On the 100 people it never saw the largest excess is 0.06" in choice.sentence
    assert "Detectable there in four of five tries: an excess of" in choice.sentence


def test_a_broken_one_gives_way_to_a_safer_one_that_must_qualify_there() -> None:
    """30 is not broken, yet its estimate is above the limit on the new people: a second look must not be."""
    people = StandIn({10: 0.2, 30: 0.06, 100: 0.04})
    choice = Confirmer(people)(SEARCH, LIMITS, "w")  # type: ignore[arg-type]
    assert people.asked == [10, 30, 100]
    assert [c.word for c in choice.confirmations] == ["exceeds", "undecided", "undecided"]
    assert choice.candidate == CandidateSettings(leaf=100)


def test_after_three_none_could_be_confirmed() -> None:
    people = StandIn({10: 0.2, 30: 0.2, 100: 0.2})
    confirmer = Confirmer(people)  # type: ignore[arg-type]
    choice = confirmer(SEARCH, LIMITS, "w")
    assert choice.candidate is None
    assert not choice.allowed
    assert "None could be confirmed" in choice.sentence
    with pytest.raises(InputError, match="unseen no more"):
        confirmer(SEARCH, Limits(max_excess=0.003), "w")


def test_looks_of_an_earlier_run_count() -> None:
    """A second run, with another limit, goes on counting: its first new look is the third, and must qualify; there is no fourth."""
    people, kept = StandIn({10: 0.2, 30: 0.2, 100: 0.06, 300: 0.0}), []
    looks: dict[str, Any] = {}
    first = Confirmer(people, looks=looks, keep=lambda: kept.append(len(looks)))  # type: ignore[arg-type]
    for leaf in (10, 30):
        first.confirm(CandidateSettings(leaf=leaf), LIMITS)
    second = Confirmer(people, looks=looks, keep=lambda: kept.append(len(looks)))  # type: ignore[arg-type]
    third = second.confirm(CandidateSettings(leaf=100), LIMITS)
    assert (third.attempt, third.word, third.passed) == (3, "undecided", False)
    with pytest.raises(InputError, match="unseen no more"):
        second.confirm(CandidateSettings(leaf=300), LIMITS)
    assert kept == [1, 2, 3]


def test_the_same_candidate_is_looked_at_once() -> None:
    people = StandIn({10: 0.01})
    confirmer = Confirmer(people)  # type: ignore[arg-type]
    confirmer(SEARCH, LIMITS, "w")
    confirmer(SEARCH[:1], Limits(max_excess=0.06), "w")
    assert people.asked == [10]


def test_nothing_that_qualifies_is_said_with_the_nearest() -> None:
    with pytest.raises(InputError, match="Nearest: trees, leaves of 300"):
        Confirmer(StandIn({}))([one(300, 0.2, 0.6), one(10, 0.3, 0.9)], LIMITS, "w")  # type: ignore[arg-type]


def test_a_public_rule_takes_the_largest_budget_and_the_defaults() -> None:
    assert public_candidate((1.0, 10.0, 3.0)) == CandidateSettings(epsilon=10.0)


def test_a_private_selection_has_few_candidates_that_were_settled_before() -> None:
    some = private_candidates((1.0, 3.0), ("job",), "ill")
    assert {one.epsilon for one in some} == {3.0}
    assert len(some) == len(set(some)) == 4
    assert some[-1].protected == ("job",)
    assert len(private_candidates((1.0,), ("job",), None)) == 3
