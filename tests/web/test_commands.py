"""Choices as the words of a command: what the page runs is what it shows, and what the command line takes."""

from __future__ import annotations

from pathlib import Path

from chaffinch.web.commands import (
    Roles,
    check_words,
    describe_words,
    plan_words,
    release_words,
    shown_command,
)
from chaffinch.web.project import ProjectChoices

SCHEMA, OUT = Path("schema.toml"), Path("out")
ROLES = Roles(label="ill", keys=("age", "sex"), sensitive=("ill",), decisions=(("email", "drop"),))


def test_a_release_says_what_was_chosen() -> None:
    choices = ProjectChoices(
        source="people.csv",
        holdout="others.csv",
        max_excess=0.05,
        thorough=True,
        seed=3,
        forbid=("a:b",),
        delimiter=";",
    )
    assert shown_command(release_words(choices, ROLES, SCHEMA, OUT)) == (
        "chaffinch release people.csv -o out --delimiter ';' --schema schema.toml --label ill --keys age,sex --sensitive ill --personal email=drop --holdout others.csv "
        "--max-excess 0.05 --forbid a:b --thorough --seed 3"
    )


def test_the_schema_that_is_shown_is_always_followed() -> None:
    assert release_words(ProjectChoices(source="a.csv"), Roles(), SCHEMA, OUT)[-2:] == [
        "--schema",
        "schema.toml",
    ]


def test_a_limit_without_an_attack_is_left_out() -> None:
    assert "--max-excess" not in release_words(
        ProjectChoices(source="a.csv", max_excess=0.1), Roles(keys=("a",)), SCHEMA, OUT
    )


def test_a_promise_takes_a_declared_domain_or_discovers_it_and_no_seed() -> None:
    choices = ProjectChoices(source="a.csv", epsilon=1.0, delta=1e-6, ledger="l.json", seed=1)
    assert release_words(choices, Roles(), SCHEMA, OUT)[4:] == [
        "--discover",
        "all",
        "--epsilon",
        "1",
        "--delta",
        "1e-06",
        "--ledger",
        "l.json",
    ]
    declared = ProjectChoices(source="a.csv", epsilon=1.0, domain="d.toml")
    assert release_words(declared, Roles(), SCHEMA, OUT)[4:] == [
        "--schema",
        "d.toml",
        "--epsilon",
        "1",
    ]
    assert plan_words(declared, 100) == [
        "plan",
        "a.csv",
        "--schema",
        "d.toml",
        "--epsilon",
        "1",
        "--rows",
        "100",
    ]


def test_outputs_are_attacked_only_where_there_is_something_to_attack_with() -> None:
    assert "--rules-only" in check_words(ProjectChoices(), Roles(), Path("o.toml"), OUT)
    full = check_words(ProjectChoices(source="a.csv"), ROLES, Path("o.toml"), OUT)
    assert "--rules-only" not in full
    assert full[-6:] == ["--data", "a.csv", "--keys", "age,sex", "--sensitive", "ill"]


def test_words_that_a_shell_would_read_are_quoted() -> None:
    assert (
        shown_command(describe_words(ProjectChoices(source="my people; rm -rf.csv")))
        == "chaffinch describe 'my people; rm -rf.csv'"
    )
