"""A frontier as plain data and back, its best, and what it shows of itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from chaffinch._base.errors import InputError
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
    SettingCurve,
    WorthFigure,
)


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
        evaluation=evaluation(100, 0.035, 0.74, part="confirmation"), word="undecided", passed=True
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
        "curves": (
            SettingCurve(
                setting="parents",
                rows=(
                    {
                        "value": 1,
                        "mu": 0.02,
                        "delta": 0.1,
                        "G": 0.12,
                        "risk": 0.01,
                        "lower": 0.0,
                        "upper": 0.1,
                        "worth": 0.7,
                        "failure": "",
                    },
                    {
                        "value": "default",
                        "mu": 0.01,
                        "delta": 0.05,
                        "G": 0.06,
                        "risk": 0.05,
                        "lower": 0.01,
                        "upper": 0.1,
                        "worth": 0.8,
                        "failure": "",
                    },
                ),
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
