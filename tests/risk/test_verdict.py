"""Attacks in words: words by the rules, sentences by hand, and the rows that one reads first."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from chaffinch._base.results import from_plain
from chaffinch.risk import ATTACKERS, Finding, RiskResult
from chaffinch.risk.attacker import attackers_of_kind
from chaffinch.risk.attribution.tcap import CONVENTIONS
from chaffinch.risk.finding import worst_of_key_sets
from chaffinch.risk.verdict import family_word, family_words


@pytest.fixture
def attack(attack_of):
    return lambda *words, **more: from_plain(Finding, attack_of(*words, **more), what="the attack")


def worst_of(study):
    return worst_of_key_sets(RiskResult.from_dict(study).findings)


# Words.


@pytest.mark.parametrize(
    ("attack", "wanted"),
    [
        (
            {"value": 0.5, "p_family": 0.2, "lower_bound": -0.1, "detectable": 0.02},
            "no excess found (detectable: 0.02)",
        ),
        ({"value": 0.5, "p_family": 0.051}, "no excess found (detectable: not known)"),
        ({"value": 0.5, "p_family": 0.05, "lower_bound": -0.1}, "excess found"),
        ({"value": 0.5, "p_family": 0.9, "lower_bound": 0.001}, "excess found"),
        (
            {"value": 0.5, "holdout": 0.4, "lower_bound": 0.0},
            "not known: no excess could be stated",
        ),
        ({"value": 0.5}, "not known: no holdout"),
        ({"value": 0.5, "detectable": 0.1}, "not known: no holdout"),
        ({"value": None, "reason": "Nobody counts."}, "not applicable"),
        # Too few people for a value to leave: whether it is more than chance does.
        ({"value": None, "p_family": 0.01}, "excess found"),
        ({"value": None, "p_family": 0.8}, "no excess found (detectable: not known)"),
    ],
)
def test_words_go_by_the_family_of_attacks(attack, wanted):
    assert Finding(**attack).verdict == wanted


def test_no_word_says_safe(risk_of):
    for holdout in (True, False):
        for row in worst_of(risk_of(holdout=holdout)):
            assert not re.search(r"\bsafe\b", f"{row.verdict} {row.sentence}")


def plain(words: str) -> str:
    return words.replace("\xa0", " ")


def test_a_sentence_by_hand(attack):
    vote = attack("gcap_vote", ["age", "sex"], "relationship", value=0.6, guess=0.41, excess=0.01)
    assert plain(vote.sentence) == (
        "Knowing age, sex, someone who takes the most frequent value of the nearest synthetic rows guesses relationship right for 60 % of the "
        "people in the data and 59 % of people who are not; always guessing the most frequent value is right for 41 %."
    )
    drawn = attack("dcap", ["age"], "job", holdout=False, value=0.5, guess=0.125)
    assert plain(replace(drawn, key_sets=7).sentence) == (
        "Knowing age, someone who draws one of the synthetic rows with the same keys (no such row counts as wrong) gets job right for 50 % of the "
        "people in the data; drawing from the distribution of values is right for 12.5 %. The worst of 7 sets of keys."
    )
    some = attack("tcap", ["age"], "job", holdout=False, value=0.5, guess=0.25)
    assert plain(some.sentence).endswith(
        "; always guessing the most frequent value of the people it is about is right for 25 %."
    )
    nothing = attack(
        "cap", ["age"], "job", value=None, reason="no source row has the keys of any person"
    )
    assert nothing.sentence == "Not applicable: no source row has the keys of any person."


def test_an_excess_about_too_few_people_to_show_is_not_called_not_applicable(attack):
    few = attack("cap", ["age"], "job", value=None, p_family=0.001, reason="Few people.")
    assert few.word == "excess found"
    assert few.sentence == "CAP on job knowing age: Few people: more than chance gives."


def test_a_name_like_a_field_of_a_template_stays_a_name(attack):
    assert "guesses {value} right" in attack("gcap_vote", ["{x}"], "{value}").sentence


@pytest.mark.parametrize(
    "attacker", attackers_of_kind("matching", "learning"), ids=lambda attacker: attacker.name
)
def test_every_attack_has_a_definition_a_reference_and_a_sentence(attacker, attack):
    assert attacker.definition.endswith(".")
    assert attacker.reference
    sentence = attack(attacker.name, ["a"], "b").sentence
    assert "b" in sentence
    assert "{" not in sentence


def test_every_convention_is_described():
    assert tuple(dict(ATTACKERS["tcap"].conventions)) == CONVENTIONS


# The findings that one reads first.


def test_one_finding_for_each_attacker_and_column_and_words_for_all_together(risk_of):
    study = RiskResult.from_dict(risk_of(extras=False))
    rows = worst_of_key_sets(study.findings)
    assert len(rows) == 2 * 11
    assert [row.attacker for row in rows[:3]] == ["cap", "dcap", "tcap"]
    assert family_word(study.family) == "no excess found"
    assert family_words(study.findings, study.family).startswith("no excess found (detectable: ")
    assert "Over 22 attacks" in study.sentence
    assert "31 %" in plain(study.sentence)


def test_of_many_key_sets_the_worst_stands_in_the_row(risk_of):
    asked = {"sizes": (1, 3), "measures": ("cap",), "extras": False}
    study = risk_of(("a", "b", "c"), ("s",), **asked)
    assert len(study["findings"]) == 7
    for i, attack in enumerate(study["findings"]):
        attack["excess"] = 0.01 * i
    row = worst_of(study)[0]
    assert (row.keys, row.excess, row.key_sets) == (("a", "b", "c"), pytest.approx(0.06), 7)
    assert row.sentence.endswith(" The worst of 7 sets of keys.")
    # A found excess is never hidden behind a larger one that could be chance.
    study["findings"][2]["p_family"] = 0.01
    row = worst_of(study)[0]
    assert (row.keys, row.word) == (("c",), "excess found")
    bare = risk_of(("a", "b", "c"), ("s",), holdout=False, **asked)
    assert worst_of(bare)[0].keys == ("a", "b", "c")  # the largest value
    assert {row.verdict for row in worst_of(bare)} == {"not known: no holdout"}
