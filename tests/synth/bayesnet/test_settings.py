"""The settings of a network: what they refuse, and about what a fit will take."""

from __future__ import annotations

from math import comb

import pytest

from chaffinch.errors import InputError, UnknownNameError
from chaffinch.synth import BayesNet


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"parents": 0}, "parents must be at least 1. Got 0."),
        ({"parents": 2.5}, "parents must be a whole number of at least 1. Got 2.5."),
        ({"sensitive": "age"}, "sensitive is a list of columns. Got the text 'age': write ('age',)."),
        ({"require": ["ab"]}, "An edge is a pair (parent, child). Got 'ab'."),
        ({"delta": 1e-6}, "delta is part of a promise: give epsilon too."),
        ({"smoothing": -1}, "smoothing must be at least 0. Got -1."),
        ({"penalty": float("inf")}, "penalty must be at least 0. Got inf."),
    ],
)
def test_settings_that_break_a_rule(settings, words):
    with pytest.raises(InputError) as caught:
        BayesNet(**settings)
    assert str(caught.value) == words


def test_unknown_searches_and_scores():
    with pytest.raises(UnknownNameError, match="Unknown search 'greeedy'"):
        BayesNet(search="greeedy")
    with pytest.raises(UnknownNameError, match="Unknown score for genetic search 'joint'"):
        BayesNet(search="genetic", score="joint")


def test_what_a_fit_takes_grows_with_the_sets_to_be_counted():
    few = BayesNet(parents=2).counted_sets(10)
    assert few == 10 + comb(10, 2) + comb(10, 3)
    assert BayesNet(parents=3).counted_sets(10) > few
    assert BayesNet(search="genetic").counted_sets(10) < few
