"""The registry of rules: what each looks at, and that the docs and the policy know it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaffinch.outputs.rules import Policy
from chaffinch.outputs.rules.check import EVERY_RULE
from chaffinch.outputs.rules.evidence import (
    RULES,
    DegreesOfFreedom,
    People,
    Rule,
    RuleOutcome,
    judge,
)

DOCS = Path(__file__).parents[3] / "docs" / "rules.md"


def test_every_rule_has_an_entry_in_the_docs_and_looks_at_something() -> None:
    entries = set(re.findall(r"\*\*([^*]+)\*\*", DOCS.read_text(encoding="utf-8")))
    for rule in RULES:
        assert rule.name in entries, rule.name
        assert rule.looks, rule.name
        assert rule.asks.endswith("?")
    assert EVERY_RULE not in RULES


def test_every_key_of_a_policy_belongs_to_a_rule() -> None:
    used = {key for rule in RULES for key in rule.keys}
    assert used == set(Policy.model_fields) - {"name", "kinds"}


@pytest.fixture
def many() -> Iterator[Rule]:
    @RULES.register(Rule("many", "Are they many?", ())).looks_at(People)
    def many(piece: People, policy: Policy) -> Iterator[RuleOutcome]:
        yield RuleOutcome(["n"] if piece.n > 100 else [], 1, "Many.", "Not many.", "review")

    yield many
    RULES.remove("many")


def test_a_rule_of_ones_own_looks_at_the_pieces_that_it_names(many: Rule) -> None:
    report = judge("t", "mean", [People(200), DegreesOfFreedom(50)], Policy())
    assert [(one.rule, one.status, one.sentence) for one in report] == [
        ("threshold", "pass", "It is of 10 people or more."),
        ("many", "review", "Many."),
        (
            "residual degrees of freedom",
            "pass",
            "There are at least 10 residual degrees of freedom.",
        ),
    ]
