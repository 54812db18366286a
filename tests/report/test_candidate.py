"""Settings of a release: what synthesiser they are, in words, and as a key."""

from __future__ import annotations

import pytest

from chaffinch import BayesNet, FieldGroups, Independent
from chaffinch._base.errors import InputError
from chaffinch.report.frontier_result import CandidateSettings


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
    assert CandidateSettings().words == "trees"
    words = CandidateSettings(
        conditionals="tables",
        parents=1,
        rare=30,
        bins=5,
        smoothing=3.0,
        dropped=("zip",),
        protected=("a", "b"),
        protect="together",
    ).words
    assert (
        words
        == "tables, at most 1 parent, smoothing 3, levels under 30 pooled, 5 bins, a, b protected together, without zip"
    )
    assert CandidateSettings(epsilon=0.5).words == "private network, epsilon 0.5"


def test_equal_settings_have_equal_keys_and_others_not() -> None:
    assert (
        CandidateSettings(leaf=30).key
        == CandidateSettings(leaf=30).key
        != CandidateSettings(leaf=31).key
    )


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(InputError, match="method must be one of"):
        CandidateSettings(method="magic")
