"""Choices as the words of a command: what the page runs is what it shows, and what the command line takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.errors import InputError
from chaffinch.table import Column, Schema, schema_text
from chaffinch.table.schema import ROLES
from chaffinch.table.schema_file import schema_from_toml
from chaffinch.web.commands import (
    CHOSEN,
    Roles,
    check_words,
    describe_words,
    plan_words,
    release_words,
    roles_of,
    shown_command,
    with_choices,
    with_entry,
    with_rules_in_step,
)
from chaffinch.web.project import ProjectChoices

SCHEMA, OUT = Path("schema.toml"), Path("out")
CHOSEN_ROLES = Roles(
    label="ill", keys=("age", "sex"), sensitive=("ill",), decisions=(("email", "drop"),)
)


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
    assert shown_command(release_words(choices, CHOSEN_ROLES, SCHEMA, OUT)) == (
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
    full = check_words(ProjectChoices(source="a.csv"), CHOSEN_ROLES, Path("o.toml"), OUT)
    assert "--rules-only" not in full
    assert full[-6:] == ["--data", "a.csv", "--keys", "age,sex", "--sensitive", "ill"]


def test_words_that_a_shell_would_read_are_quoted() -> None:
    assert (
        shown_command(describe_words(ProjectChoices(source="my people; rm -rf.csv")))
        == "chaffinch describe 'my people; rm -rf.csv'"
    )


TEXT = schema_text(
    Schema(
        (
            Column("age", "integer"),
            Column('a "b".c', "categorical", type="string"),
            Column("id", "identifier", "identifier"),
        )
    )
)


def test_roles_are_read_from_a_schema() -> None:
    text = with_entry(with_entry(TEXT, "age", "role", "key"), 'a "b".c', "role", "label")
    assert roles_of(text) == Roles(label='a "b".c', keys=("age",))
    assert roles_of(with_entry(text, "age", "output", "drop")).decisions == (("age", "drop"),)
    assert roles_of(with_entry(text, "age", "role", "identifier")).decisions == (("age", "drop"),)
    assert roles_of("") == Roles()


def test_one_line_changes_and_comments_stay() -> None:
    text = '[columns.age]\nkind = "integer"  # mine\nrole = "other"  # perhaps "key"\n\n[columns.sex]\nrole = "other"\n'
    assert with_entry(text, "age", "role", "key") == text.replace(
        'role = "other"  #', 'role = "key"  #'
    )
    assert with_entry(text, "sex", "output", "drop") == text.rstrip("\n") + '\noutput = "drop"\n'
    assert with_entry(with_entry(text, "age", "output", "drop"), "age", "output", "") == text
    with pytest.raises(InputError, match="no entry"):
        with_entry(text, "other", "role", "key")


@given(
    st.sampled_from(["age", 'a "b".c']),
    st.sampled_from([role for role in ROLES if role not in ("person", "identifier")]),
)
def test_a_role_that_is_written_is_read(name: str, role: str) -> None:
    assert schema_from_toml(with_entry(TEXT, name, "role", role))[name].role == role


RULED = replace(
    Schema(
        tuple(Column(name, "integer", type="int64") for name in ("id", "before", "change", "after"))
    ),
    searched=True,
    rules=("after = before + change", "before < 300 implies after < 400"),
    found_rules=("after = before + change",),
    suggested=(("change < after", "by chance"),),
)


def test_rules_about_a_column_that_is_left_out_are_comments_until_it_is_back() -> None:
    text = schema_text(RULED)
    assert with_rules_in_step(text) == text
    for key, value in (("output", "drop"), ("output", "fake"), ("role", "identifier")):
        out = with_rules_in_step(with_entry(text, "change", key, value))
        assert schema_from_toml(out).rules == RULED.rules[1:]
        assert (
            "    # \"after = before + change\",  # found: holds in all records; not kept: column 'change' is left out\n"
            in out
        )
        assert with_rules_in_step(out) == out
        assert (
            with_rules_in_step(with_entry(out, "change", key, "other" if key == "role" else ""))
            == text
        )
    none = with_rules_in_step(with_entry(text, "after", "output", "drop"))
    assert schema_from_toml(none).rules == ()
    assert schema_from_toml(none).rules_stated
    assert (
        '    # "change < after",  # by chance' in none
    )  # a suggestion stays one, whatever becomes of its columns


def test_a_panel_keeps_no_rules_and_the_text_says_so() -> None:
    text = with_entry(
        with_entry(schema_text(RULED), "id", "kind", "identifier"), "id", "role", "person"
    )
    assert schema_from_toml(with_rules_in_step(text)).rules == ()
    own = text.replace("rules = [", 'rules = [\n    "id determines before",', 1)
    assert schema_from_toml(with_rules_in_step(own)).rules == ("id determines before",)


def test_rules_are_in_step_when_all_rows_were_read_after_a_choice() -> None:
    first = schema_text(replace(RULED, rules=(), suggested=(), searched=False))
    text = with_choices(schema_text(RULED), with_entry(first, "after", "output", "drop"), first)
    assert roles_of(text).decisions == (("after", "drop"),)
    assert schema_from_toml(text).rules == ()


def test_every_role_can_be_chosen() -> None:
    assert sorted(CHOSEN) == sorted(ROLES)
