"""A frontier as plain data and back, its best, and what it shows of itself."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch import BayesNet, FieldGroups, Independent
from chaffinch._base.errors import InputError
from chaffinch._base.svg import contrast
from chaffinch.report.frontier import BLUE, ORANGE, PALE, front_picture, frontier_page
from chaffinch.report.frontier_result import (
    CandidateSettings,
    Confirmation,
    Evaluation,
    FrontierAbout,
    FrontierChoice,
    FrontierResult,
    Limits,
    RiskFigure,
    SettingChange,
    WorthFigure,
    nearest,
    pareto,
    passes,
    pick,
    qualifies,
    rank_evaluations,
    verdict_of,
)
from chaffinch.stats.intervals import LimitState


def evaluation(leaf: int, risk: float, worth: float, **more: object) -> Evaluation:
    figure = WorthFigure(
        name="accuracy",
        title="accuracy of learnt models",
        value=worth,
        interval=(worth - 0.02, worth + 0.02),
    )
    bounds = RiskFigure(
        estimate=risk,
        lower=risk - 0.02,
        upper=risk + 0.05,
        strongest="GCAP on job",
        attacks=3,
        detectable=(0.01, 0.1),
    )
    return Evaluation(
        candidate=CandidateSettings(leaf=leaf), risk=bounds, worth=(figure,), people=200, **more
    )  # type: ignore[arg-type]


def frontier_result(**more: object) -> FrontierResult:
    """A frontier worked by hand: three on the front, one that is beaten, one chosen."""
    some = (
        evaluation(300, 0.01, 0.70),
        evaluation(100, 0.03, 0.75),
        evaluation(10, 0.10, 0.80),
        evaluation(30, 0.09, 0.74),
    )
    confirmation = Confirmation(
        evaluation=evaluation(100, 0.035, 0.74, split="confirmation"), word="undecided", passed=True
    )
    choice = FrontierChoice(
        rule="data",
        limits=Limits(max_excess=0.05),
        worth="accuracy",
        evaluation=some[1],
        confirmations=(confirmation,),
        released=RiskFigure(lower=0.001),
        sentence="Chosen: that.",
    )
    parts: dict[str, object] = {
        "about": FrontierAbout(
            keys=("age",),
            sensitive=("job",),
            people={"all": 400, "search": 200, "confirmation": 200},
            seed=1,
            notes=("A note.",),
            stopped="4 settings were asked for.",
        ),
        "evaluations": some,
        "worths": ("accuracy",),
        "limits": Limits(max_excess=0.05),
        "choice": choice,
        "references": (
            evaluation(10, 0.9, 0.82, reference="the original itself"),
            evaluation(10, 0.0, 0.81, reference="a fresh sample"),
        ),
        "changes": (
            SettingChange(
                setting="leaf",
                towards="safer",
                before=CandidateSettings(leaf=100),
                after=CandidateSettings(leaf=300),
                sentence="Leaves of 300 instead of 100 take 2 points off.",
            ),
        ),
    }
    return FrontierResult(**{**parts, **more})  # type: ignore[arg-type]


def test_plain_data_and_back_are_the_same() -> None:
    result = frontier_result()
    text = json.dumps(result.to_dict(), allow_nan=False)
    assert FrontierResult.from_dict(json.loads(text)) == result
    assert result.to_dict()["version"] == 1
    assert json.loads(text)["choice"]["state"] == "undecided"
    assert (
        "state"
        not in frontier_result(choice=replace(result.choice, limits=Limits())).to_dict()["choice"]
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"format": "other"}, "chaffinch-frontier"),
        ({"format": "chaffinch-frontier", "version": 1}, "at least one worth"),
    ],
)
def test_other_data_are_refused(data: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        FrontierResult.from_dict(data)


def test_the_front_leaves_out_what_is_beaten() -> None:
    assert [one.candidate.leaf for one in frontier_result().front()] == [300, 100, 10]
    with pytest.raises(InputError, match="Unknown worth 'beauty'"):
        frontier_result().front("beauty")


def test_best_is_the_choice_that_was_made_or_is_made_anew() -> None:
    result = frontier_result()
    assert result.best(max_excess=0.05) is result.choice
    other = result.best(max_excess=0.2)
    assert other.candidate == CandidateSettings(leaf=10)
    assert not other.allowed  # not confirmed: it was read from a file
    assert "Not confirmed" in other.sentence


def test_a_release_that_breaks_the_limit_is_not_allowed() -> None:
    from dataclasses import replace

    choice = frontier_result().choice
    assert choice is not None
    assert choice.allowed
    assert not replace(choice, released=RiskFigure(lower=0.06)).allowed
    assert not replace(choice, confirmations=()).allowed


def test_it_shows_itself(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    result = frontier_result()
    result.show()
    out = capsys.readouterr().out
    assert "leaves of 300" in out
    assert "Chosen: that." in out
    assert "3 on the front" in repr(result)
    assert "<svg" in result._repr_html_()
    result.named("people.csv").to_html(tmp_path / "page.html")
    assert "people.csv" in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("unseen", "released", "state", "allowed"),
    [
        ({"lower": -0.01, "upper": 0.04}, {"lower": -0.01, "upper": 0.03}, "shown to keep", True),
        ({"lower": -0.01, "upper": 0.04}, {"lower": -0.01, "upper": 0.2}, "undecided", True),
        ({"lower": -0.01, "upper": 0.2}, {"lower": -0.01, "upper": 0.03}, "undecided", True),
        (
            {"lower": -0.01, "upper": 0.04},
            {"lower": -0.01, "upper": 0.03, "not_shown": "Models of halves."},
            "undecided",
            True,
        ),
        (
            {"lower": -0.01, "upper": 0.04, "not_shown": "2 attacks or tests have no upper bound."},
            {"lower": -0.01, "upper": 0.03},
            "undecided",
            True,
        ),
        ({"lower": -0.01, "upper": 0.04}, {"lower": 0.06, "upper": 0.3}, "exceeds", False),
    ],
)
def test_the_settings_and_the_release_itself_have_one_state(unseen, released, state, allowed):
    search = evaluation(100, 0.035, 0.74)
    confirmation = Confirmation(
        evaluation=replace(search, risk=RiskFigure(estimate=0.02, **unseen)), passed=True
    )
    choice = FrontierChoice(
        rule="data",
        limits=Limits(max_excess=0.05),
        worth="accuracy",
        evaluation=search,
        confirmations=(confirmation,),
        released=RiskFigure(**released),
    )
    assert (choice.state, choice.allowed) == (state, allowed)
    first = {
        "shown to keep": "SHOWN TO KEEP THE LIMIT: ",
        "undecided": "UNDECIDED: ",
        "exceeds": "EXCEEDS THE LIMIT: ",
    }[state]
    assert choice.limit_sentence.startswith(first)
    assert choice.limit_sentence.endswith("No table was written.")
    for figure in (unseen, released):
        assert figure.get("not_shown", "") in choice.limit_sentence
    assert replace(choice, table="to-release/a.csv").limit_sentence.endswith(
        "The table is in to-release/a.csv."
    )
    assert (
        replace(choice, limits=Limits()).state,
        replace(choice, limits=Limits()).limit_sentence,
    ) == (None, "")


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
    assert [e.candidate.leaf for e in rank_evaluations(some, limits, "w")] == [2, 3]


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
    [({"max_excess": -0.1}, "between 0 and 1"), ({"max_auc": 0.4}, r"between 0\.5 and 1")],
)
def test_limits_out_of_range_are_refused(limits: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Limits(**limits)


def test_candidates_are_the_synthesisers_they_name() -> None:
    assert CandidateSettings().synthesiser() == BayesNet(conditionals="trees")
    assert CandidateSettings(method="independent").synthesiser() == Independent()
    assert CandidateSettings(method="fieldgroups", epsilon=2.0).synthesiser() == FieldGroups(
        epsilon=2.0
    )
    assert CandidateSettings(epsilon=1.0).synthesiser("ill") == BayesNet(epsilon=1.0, label="ill")
    protected = CandidateSettings(
        protected=("job",), protect="together", leaf=30, parents=2
    ).synthesiser("ill")
    assert protected == BayesNet(
        conditionals="trees",
        leaf=30,
        parents=2,
        label="ill",
        sensitive=("job",),
        protect="together",
    )


def test_words_say_what_is_not_usual() -> None:
    assert CandidateSettings().description == "trees"
    words = CandidateSettings(
        conditionals="tables",
        parents=1,
        rare=30,
        bins=5,
        smoothing=3.0,
        dropped=("zip",),
        protected=("a", "b"),
        protect="together",
    ).description
    assert (
        words
        == "tables, at most 1 parent, smoothing 3, levels under 30 pooled, 5 bins, a, b protected together, without zip"
    )
    assert CandidateSettings(epsilon=0.5).description == "private network, epsilon 0.5"


def test_equal_settings_have_equal_keys_and_others_not() -> None:
    assert (
        CandidateSettings(leaf=30).key
        == CandidateSettings(leaf=30).key
        != CandidateSettings(leaf=31).key
    )


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(InputError, match="method must be one of"):
        CandidateSettings(method="magic")


def test_the_page_shows_the_choice_on_both_parts_and_the_release() -> None:
    page = frontier_page(frontier_result())
    assert "200 people of the search, who it was chosen on" in page
    assert "200 people the search never saw" in page
    assert "everybody, those included whom it was chosen on" in page
    assert "UNDECIDED" in page
    assert "Leaves of 300 instead of 100 take 2 points off." in page
    assert "<script" not in page
    assert page.count('id="fig-front-0"') == 1


def test_the_picture_has_the_front_the_limit_and_the_references() -> None:
    svg = str(front_picture(frontier_result(), "accuracy", key="k"))
    assert "the limit, 0.05" in svg
    assert "the original itself (excess 0.9, above the scale)" in svg
    assert "a fresh sample" in svg
    assert len(re.findall(r"<circle[^>]*r=\"3\"", svg)) == 1  # the one that is beaten
    assert ">chosen<" in svg


def test_nothing_to_draw_says_so() -> None:
    empty = FrontierResult(about=frontier_result().about, evaluations=(), worths=("accuracy",))
    assert "No settings could be measured." in str(front_picture(empty, "accuracy", key="k"))
    assert "Nothing was chosen" in frontier_page(empty)


def test_the_page_is_readable_by_the_rules_of_accessibility() -> None:
    """Every picture has a title and a description, every table a caption and heads, and marks stand out from the paper (WCAG 1.4.11)."""
    page = frontier_page(frontier_result())
    pictures = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    assert len(pictures) == 1
    for svg in pictures:
        assert 'role="img"' in svg
        assert re.search(
            r"<title id=\"[\w-]+-title\">[^<]+</title><desc id=\"[\w-]+-desc\">[^<]+</desc>", svg
        )
    assert page.count("<table") == page.count("<caption")
    for colour in (BLUE, ORANGE, PALE):
        shade = tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))
        assert contrast(shade, (255, 255, 255)) >= 3.0
