"""The rules of the front: who is on it, who qualifies, who is chosen, what a confirmation says. Against brute force."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch.report.frontier_result import (
    CandidateSettings,
    Evaluation,
    Limits,
    RiskFigure,
    WorthFigure,
    nearest,
    pareto,
    passes,
    pick,
    qualifies,
    ranked,
    verdict_of,
)
from chaffinch.stats.intervals import LimitState

NUMBERS = st.floats(0, 1).map(lambda x: round(x, 2))


def one(
    risk: float | None,
    worth: float | None,
    leaf: int = 10,
    *,
    error: float = 0.0,
    higher: bool = True,
    **more: float | None,
) -> Evaluation:
    interval = None if worth is None or not error else (worth - 1.96 * error, worth + 1.96 * error)
    figure = WorthFigure(name="w", title="worth", value=worth, interval=interval, higher=higher)
    return Evaluation(
        candidate=CandidateSettings(leaf=leaf),
        risk=RiskFigure(estimate=risk, **more),
        worth=(figure,),
    )


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=12))
def test_the_front_is_what_nobody_beats(pairs: list[tuple[float, float]]) -> None:
    some = [one(risk, worth, leaf=place + 1) for place, (risk, worth) in enumerate(pairs)]
    front = {(e.risk.estimate, e.worth[0].value) for e in pareto(some, "w")}
    beaten = {
        (r, w)
        for r, w in pairs
        if any(r2 <= r and w2 >= w and (r2, w2) != (r, w) for r2, w2 in pairs)
    }
    assert front == set(pairs) - beaten


def test_lower_is_better_turns_the_front() -> None:
    some = [
        one(0.1, 0.5, 1, higher=False),
        one(0.2, 0.3, 2, higher=False),
        one(0.3, 0.4, 3, higher=False),
    ]
    assert [e.candidate.leaf for e in pareto(some, "w")] == [1, 2]


def test_what_is_not_known_is_on_no_front_and_qualifies_for_nothing() -> None:
    assert pareto([one(None, 0.5), one(0.1, None)], "w") == ()
    assert not qualifies(RiskFigure(), Limits(max_excess=0.1))
    assert not qualifies(RiskFigure(estimate=0.0), Limits(max_excess=0.1, max_auc=0.6))
    assert qualifies(RiskFigure(estimate=0.1, auc=0.6), Limits(max_excess=0.1, max_auc=0.6))


def test_room_for_doubt_is_as_wide_above_as_below() -> None:
    """0.06 with a lower bound of 0.03 may be 0.09, and 0.05 with the same width 0.08."""
    assert RiskFigure(estimate=0.06, lower=0.03).ceiling == pytest.approx(0.09)
    assert not qualifies(RiskFigure(estimate=0.06, lower=0.03), Limits(max_excess=0.08))
    assert qualifies(RiskFigure(estimate=0.05, lower=0.021), Limits(max_excess=0.08))
    assert RiskFigure().ceiling is None


def test_of_equals_by_a_standard_error_the_safest_is_chosen() -> None:
    """0.79 is within 0.02 of 0.80 and safer; 0.75 is safer still and not within."""
    some = [
        one(0.05, 0.80, 1, error=0.02),
        one(0.03, 0.79, 2, error=0.02),
        one(0.01, 0.75, 3, error=0.02),
        one(0.2, 0.95, 4),
    ]
    limits = Limits(max_excess=0.1)
    assert pick(some, limits, "w").candidate.leaf == 2
    assert [e.candidate.leaf for e in ranked(some, limits, "w")] == [2, 3]


def test_limits_that_nothing_meets_name_the_nearest() -> None:
    some = [one(0.2, 0.9, 1), one(0.12, 0.1, 30)]
    assert nearest(some, Limits(max_excess=0.1)).candidate.leaf == 30
    with pytest.raises(
        InputError,
        match=r"None of 2 settings is within an excess of at most 0\.1, with room for doubt\. Nearest: trees, leaves of 30, with an excess of 0\.12",
    ):
        pick(some, Limits(max_excess=0.1), "w")
    with pytest.raises(InputError, match="could be attacked"):
        pick([one(None, 0.9)], Limits(max_excess=0.1), "w")


@pytest.mark.parametrize(
    ("lower", "upper", "word", "first", "later"),
    [
        (-0.01, 0.04, LimitState.SHOWN, True, True),
        (0.01, 0.2, LimitState.UNDECIDED, True, False),
        (0.06, 0.2, LimitState.EXCEEDS, False, False),
    ],
)
def test_three_words_and_what_they_allow(
    lower: float, upper: float, word: str, first: bool, later: bool
) -> None:
    """A later attempt must qualify on the new people too: its estimate is the middle here, above the limit in the second case."""
    risk, limits = (
        RiskFigure(estimate=(lower + upper) / 2, lower=lower, upper=upper),
        Limits(max_excess=0.05),
    )
    assert verdict_of(risk, limits) == word
    assert passes(risk, limits, 1) is first
    assert passes(risk, limits, 2) is later


def test_what_was_not_measured_never_passes() -> None:
    assert not passes(RiskFigure(), Limits(max_excess=0.5), 1)
    assert not passes(RiskFigure(estimate=0.0, lower=0.0, upper=0.0), Limits(max_auc=0.9), 1)


def test_an_auc_breaks_a_limit_by_its_own_interval() -> None:
    risk = RiskFigure(estimate=0.0, lower=-0.1, upper=0.0, auc=0.7, auc_interval=(0.65, 0.75))
    assert verdict_of(risk, Limits(max_auc=0.6)) == LimitState.EXCEEDS
    assert verdict_of(risk, Limits(max_auc=0.8)) == LimitState.SHOWN


@pytest.mark.parametrize(
    ("limits", "message"),
    [({"max_excess": -0.1}, "between 0 and 1"), ({"max_auc": 0.4}, "which is guessing")],
)
def test_limits_out_of_range_are_refused(limits: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Limits(**limits)
