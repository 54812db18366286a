"""Who might attack: the holdout and the limit are checked before they are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaffinch._base.options import settings_of
from chaffinch.risk.attacker import STUDIED, attackers_of_kind
from chaffinch.risk.settings import RiskSettings
from chaffinch.web.fields import hint_of

from ..conftest import Visitor


def test_a_holdout_and_a_limit_are_kept(opened: Visitor, people_file: Path) -> None:
    (people_file.parent / "others.csv").write_text(people_file.read_text())
    text = opened.post("/attackers", holdout="others.csv", max_excess="0,05", second="yes")
    choices = opened.project.choices()
    assert (choices.holdout, choices.max_excess, choices.second, choices.thorough) == (
        str(people_file.parent / "others.csv"),
        0.05,
        True,
        False,
    )
    assert "--max-excess 0.05" in text


def test_attackers_are_listed_from_their_registry_and_go_into_the_command(opened: Visitor) -> None:
    text = opened.post("/attackers", attackers="matching, exact_row")
    assert opened.project.choices().attackers == ("matching", "exact_row")
    assert "--attackers matching,exact_row" in text
    page = opened.get("/attackers")
    for attacker in attackers_of_kind(*STUDIED):
        assert attacker.name in page
    assert "Unknown attacker" in opened.post("/attackers", attackers="magic")
    assert opened.project.choices().attackers == ("matching", "exact_row")


def test_what_is_wrong_is_said_and_not_kept(
    opened: Visitor, people_file: Path, tmp_path: Path
) -> None:
    before = opened.project.choices()
    (tmp_path / "others.csv").write_text("a\n")
    assert "outside the folders" in opened.post("/attackers", holdout=str(tmp_path / "others.csv"))
    assert "is the table itself" in opened.post("/attackers", holdout=str(people_file))
    assert "max_excess must lie between 0 and 1. Got &#39;much&#39;" in opened.post(
        "/attackers", max_excess="much"
    )
    assert "must lie between 0 and 1" in opened.post("/attackers", max_excess="2")
    opened.post("/columns", **{"role-3": "other"})
    assert "A limit needs an attack" in opened.post("/attackers", max_excess="0.1")
    assert opened.project.choices() == before


@pytest.mark.parametrize("word", ["nan", "inf", "-1", "1e999", "0x1"])
def test_a_limit_is_a_number_of_its_range(opened: Visitor, word: str) -> None:
    assert "max_excess must lie between 0 and 1" in opened.post("/attackers", max_excess=word)


def test_fields_are_those_of_the_declared_settings(opened: Visitor) -> None:
    page = opened.get("/attackers")
    for name in ("max_excess", "thorough"):
        assert hint_of(settings_of(RiskSettings)[name]) in page


def test_the_bar_saves_a_limit_and_leaves_a_form_that_was_not_touched(opened: Visitor) -> None:
    assert "<h1>Decide</h1>" in opened.post("/attackers", go="decide", max_excess="0.1")
    assert opened.project.choices().max_excess == 0.1
    opened.post("/columns", **{"role-3": "other"})  # no attack is left that the limit is of
    assert "<h1>Columns</h1>" in opened.post("/attackers", go="columns", max_excess="0.1")
    text = opened.post("/attackers", go="columns", max_excess="0.2", second="yes")
    assert "A limit needs an attack" in text
    assert 'value="0.2"' in text
