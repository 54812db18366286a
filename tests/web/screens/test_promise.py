"""The promise: what to expect is said before anything is spent, and spending is asked for twice, with the number in it."""

from __future__ import annotations

import pytest

from chaffinch.privacy.project import create_project, open_project

from ..conftest import Visitor


def test_a_promise_says_what_to_expect_and_spends_nothing(
    opened: Visitor, people_file: object
) -> None:
    ledger = opened.project.path("..", "data", "ledger.json").resolve()
    create_project(ledger, data="people", epsilon=3.0, delta=1e-5)
    text = opened.post("/promise", kind="epsilon", epsilon="1", delta="1e-6", ledger="ledger.json")
    assert "What to expect" in text
    assert "has 0 releases, which add up to epsilon 0" in text
    assert "Its limit is epsilon 3." in text
    assert "chaffinch plan" in text
    assert open_project(ledger).releases == ()
    text = opened.post("/runs")
    assert (
        "This spends epsilon 1, delta 1e-06, once and for good, and enters it in the ledger."
        in text
    )
    assert opened.project.path("runs").exists()
    assert list(opened.project.path("runs").iterdir()) == []
    opened.post("/runs", spend="2")  # the number that was shown before another was chosen
    assert list(opened.project.path("runs").iterdir()) == []
    assert open_project(ledger).releases == ()


def test_no_promise_is_the_default_and_can_be_had_again(opened: Visitor) -> None:
    opened.post("/promise", kind="epsilon", epsilon="1", delta="1e-6")
    assert opened.project.choices().epsilon == 1.0
    opened.post("/promise", kind="none", epsilon="1")
    assert opened.project.choices().epsilon is None


def test_what_is_wrong_is_said(opened: Visitor) -> None:
    assert "epsilon must be a number above 0" in opened.post(
        "/promise", kind="epsilon", epsilon="0"
    )
    assert "delta must lie between 0 and 1" in opened.post(
        "/promise", kind="epsilon", epsilon="1", delta="0"
    )
    assert "No such file" in opened.post(
        "/promise", kind="epsilon", epsilon="1", ledger="none.json"
    )
    assert opened.project.choices().epsilon is None


@pytest.mark.parametrize(
    "field", [{"epsilon": "1"}, {"delta": "1e-6"}, {"domain": "d.toml"}, {"ledger": "ledger.json"}]
)
@pytest.mark.parametrize("button", [{}, {"next": "yes"}, {"go": "runs"}])
def test_what_was_typed_while_nothing_is_ticked_is_asked_about_and_not_thrown_away(
    opened: Visitor, field: dict[str, str], button: dict[str, str]
) -> None:
    text = opened.post("/promise", kind="none", **field, **button)
    assert "Nothing is promised, and" in text
    assert "filled in. Tick Differential privacy, or empty the fields. Nothing was saved." in text
    for name, value in field.items():
        assert f'name="{name}" type="text" value="{value}"' in text
    assert opened.project.choices().epsilon is None
    assert "The path of the project" in opened.get("/promise")


def test_what_was_saved_may_stay_in_the_fields_when_nothing_is_ticked_and_another_number_may_not(
    opened: Visitor,
) -> None:
    opened.post("/promise", kind="epsilon", epsilon="1", delta="1e-6")
    assert "epsilon was filled in" in opened.post(
        "/promise", kind="none", epsilon="2", delta="1e-06"
    )
    assert opened.project.choices().epsilon == 1.0
    opened.post("/promise", kind="none", epsilon="1.0", delta="1e-06", go="decide")
    assert opened.project.choices().epsilon is None


def test_a_wrong_field_keeps_the_others_and_an_empty_epsilon_is_no_promise_of_nothing(
    opened: Visitor,
) -> None:
    text = opened.post("/promise", kind="epsilon", epsilon="1,5", delta="much")
    assert "delta must lie between 0 and 1" in text
    assert 'name="epsilon" type="text" value="1,5"' in text
    assert "epsilon is empty" in opened.post("/promise", kind="epsilon", delta="1e-6")


@pytest.mark.parametrize("word", ["nan", "inf", "-1", "1e999", "0x1"])
def test_numbers_are_numbers_within_their_limits(opened: Visitor, word: str) -> None:
    assert "epsilon must be a number above 0. Got" in opened.post(
        "/promise", kind="epsilon", epsilon=word
    )
    assert opened.project.choices().epsilon is None
