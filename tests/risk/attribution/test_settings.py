"""Settings that break a rule, and the questions that others ask."""

from __future__ import annotations

import pytest

from chaffinch.errors import InputError, UnknownNameError
from chaffinch.risk import RiskSettings


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"keys": [], "sensitive": ["a"]}, InputError, "Name at least one key"),
        ({"keys": "ab", "sensitive": ["a"]}, InputError, "as a list of columns"),
        ({"keys": ["a", "a"], "sensitive": ["b"]}, InputError, "named once"),
        (
            {"keys": ["a"], "sensitive": ["b"], "convention": "best"},
            UnknownNameError,
            "Unknown convention 'best'",
        ),
        (
            {"keys": ["a"], "sensitive": ["b"], "attackers": ["gpt"]},
            UnknownNameError,
            "Unknown attacker 'gpt'",
        ),
        (
            {"keys": ["a"], "sensitive": ["b"], "measures": ["dcr"]},
            UnknownNameError,
            "Unknown measure 'dcr'",
        ),
        ({"keys": ["a"], "sensitive": ["b"], "key_sizes": (2, 3)}, InputError, "Key sizes"),
        ({"keys": ["a"], "sensitive": ["b"], "tau": 0.0}, InputError, "tau"),
    ],
)
def test_plans_that_break_a_rule_are_refused(settings, error, words):
    with pytest.raises(error, match=words):
        RiskSettings(**settings)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((["age"],), "two lists of columns"),
        ((["age"], []), "two lists of columns"),
        (("age", ["sex"]), "two lists of columns"),
        ((["age", "sex"], ["sex"]), r"no column in common\. In both: sex"),
    ],
)
def test_parts_that_cannot_be_linked_are_refused(parts, message):
    with pytest.raises(InputError, match=message):
        RiskSettings(parts=parts)


def test_what_many_key_sets_leave_out_is_named_with_the_option_that_brings_it_back():
    import numpy as np

    settings = RiskSettings(
        keys=["a", "b", "c", "d"], sensitive=["s"], key_sizes=(2, 2), thorough=True
    )
    questions = settings.questions(np.random.SeedSequence(1))
    assert [(part.what, part.flag) for part in settings.left_out(questions)] == [
        ("attackers nb, svm, knn, rf, lr", "--attackers nb")
    ]
    assert RiskSettings(keys=["a"], sensitive=["s"], attackers=["gcap"]).left_out(questions) == ()
    assert RiskSettings().left_out([]) == ()
