"""Attacks in words: words by the rules, sentences by hand, and the rows that one reads first."""

from __future__ import annotations

import re

import pytest

from chaffinch._base.results import from_plain
from chaffinch.risk import ATTACKERS, Finding, RiskResult
from chaffinch.risk.attacker import column_attackers
from chaffinch.risk.attribution.tcap import CONVENTIONS
from chaffinch.risk.attribution.verdict import RiskVerdictRow, judged, sentence_of


@pytest.fixture
def attack(attack_of):
    return lambda *words, **more: from_plain(Finding, attack_of(*words, **more), what="the attack")


def verdict_of(study):
    rows = RiskResult.from_dict(study).verdict
    assert tuple(RiskVerdictRow.from_dict(row.to_dict()) for row in rows) == rows
    return rows


# Words.


@pytest.mark.parametrize(
    ("attack", "holdout", "wanted"),
    [
        (
            {"value": 0.5, "p_family": 0.2, "lower_bound": -0.1, "detectable": 0.02},
            True,
            "no excess found (detectable: 0.02)",
        ),
        ({"value": 0.5, "p_family": 0.051}, True, "no excess found (detectable: not known)"),
        ({"value": 0.5, "p_family": 0.05, "lower_bound": -0.1}, True, "excess found"),
        ({"value": 0.5, "p_family": 0.9, "lower_bound": 0.001}, True, "excess found"),
        ({"value": 0.5, "lower_bound": 0.0}, True, "not known: no excess could be stated"),
        ({"value": 0.5}, False, "not known: no holdout"),
        (
            {"value": 0.5, "p_family": None, "lower_bound": None, "detectable": 0.1},
            False,
            "not known: no holdout",
        ),
        ({"value": None, "p_family": 0.01}, True, "not applicable"),
    ],
)
def test_words_go_by_the_family_of_attacks(attack, holdout, wanted):
    assert judged(Finding(**attack), holdout=holdout)[1] == wanted


def test_no_word_says_safe(risk_of):
    for holdout in (True, False):
        for row in verdict_of(risk_of(holdout=holdout)):
            assert not re.search(r"\bsafe\b", f"{row.words} {row.sentence}")


def plain(words: str) -> str:
    return words.replace("\xa0", " ")


def test_a_sentence_by_hand(attack):
    vote = attack("gcap_vote", ["age", "sex"], "relationship", value=0.6, guess=0.41, excess=0.01)
    assert plain(sentence_of(vote)) == (
        "Knowing age, sex, someone who takes the most frequent value of the nearest synthetic rows guesses relationship right for 60 % of the "
        "people in the data and 59 % of people who are not; always guessing the most frequent value is right for 41 %."
    )
    drawn = attack("dcap", ["age"], "job", holdout=False, value=0.5, guess=0.125)
    assert plain(sentence_of(drawn, 7)) == (
        "Knowing age, someone who draws one of the synthetic rows with the same keys (no such row counts as wrong) gets job right for 50 % of the "
        "people in the data; drawing from the distribution of values is right for 12.5 %. The worst of 7 sets of keys."
    )
    some = attack("tcap", ["age"], "job", holdout=False, value=0.5, guess=0.25)
    assert plain(sentence_of(some)).endswith(
        "; always guessing the most frequent value of the people it is about is right for 25 %."
    )
    nothing = attack(
        "cap", ["age"], "job", value=None, reason="no source row has the keys of any person"
    )
    assert sentence_of(nothing) == "Not applicable: no source row has the keys of any person."


def test_a_name_like_a_field_of_a_template_stays_a_name(attack):
    assert "guesses {value} right" in sentence_of(attack("gcap_vote", ["{x}"], "{value}"))


@pytest.mark.parametrize("attacker", column_attackers(), ids=lambda attacker: attacker.name)
def test_every_attack_has_a_definition_a_reference_and_a_sentence(attacker, attack):
    assert attacker.definition.endswith(".")
    assert attacker.reference
    sentence = sentence_of(attack(attacker.name, ["a"], "b"))
    assert "b" in sentence
    assert "{" not in sentence


def test_every_convention_is_described():
    assert tuple(dict(ATTACKERS["tcap"].conventions)) == CONVENTIONS


# Rows of the verdict.


def test_a_row_for_each_measure_and_column_and_one_for_all(risk_of):
    rows = verdict_of(risk_of(extras=False))
    assert len(rows) == 2 * 11 + 1
    assert {row.section for row in rows} == {"risk"}
    assert [row.id for row in rows[:3]] == ["cap", "dcap", "tcap"]
    assert rows[-1].id == "family"
    assert rows[-1].word == "no excess found"
    assert "Over 22 attacks" in rows[-1].sentence
    assert "31 %" in plain(rows[-1].sentence)
    shape = {
        "section",
        "id",
        "measure",
        "question",
        "value",
        "interval",
        "direction",
        "identical",
        "marginals",
        "resample",
        "holdout",
        "best",
        "kept",
        "word",
        "sentence",
    }
    assert all(shape <= set(row.to_dict()) for row in rows)


def test_of_many_key_sets_the_worst_stands_in_the_row(risk_of):
    study = risk_of(("a", "b", "c"), ("s",), sizes=(1, 3), measures=("cap",), extras=False)
    assert len(study["attacks"]) == 7
    for i, attack in enumerate(study["attacks"]):
        attack["excess"] = 0.01 * i
    row = verdict_of(study)[0]
    assert (row.keys, row.excess, row.key_sets) == (("a", "b", "c"), pytest.approx(0.06), 7)
    # A found excess is never hidden behind a larger one that could be chance.
    study["attacks"][2]["p_family"] = 0.01
    row = verdict_of(study)[0]
    assert (row.keys, row.word) == (("c",), "excess found")
    bare = risk_of(
        ("a", "b", "c"), ("s",), sizes=(1, 3), measures=("cap",), extras=False, holdout=False
    )
    assert verdict_of(bare)[0].keys == ("a", "b", "c")  # the largest value
    assert {row.words for row in verdict_of(bare)} == {"not known: no holdout"}
