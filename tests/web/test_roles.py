"""Roles in the text of a schema: one line changes, the rest stays as somebody wrote it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.errors import InputError
from chaffinch.table import Column, Schema, schema_text
from chaffinch.table.schema import ROLES
from chaffinch.table.schema_file import schema_from_toml
from chaffinch.web.commands import Roles
from chaffinch.web.roles import CHOSEN, differs, roles_of, with_entry

TEXT = schema_text(Schema((Column("age", "integer"), Column('a "b".c', "categorical", type="string"), Column("id", "identifier", "identifier"))))


def test_roles_are_read_from_a_schema() -> None:
    text = with_entry(with_entry(TEXT, "age", "role", "key"), 'a "b".c', "role", "label")
    assert roles_of(text) == Roles(label='a "b".c', keys=("age",))
    assert roles_of(with_entry(text, "age", "output", "drop")).decisions == (("age", "drop"),)
    assert roles_of(with_entry(text, "age", "role", "identifier")).decisions == (("age", "drop"),)
    assert roles_of("") == Roles()


def test_one_line_changes_and_comments_stay() -> None:
    text = '[columns.age]\nkind = "integer"  # mine\nrole = "other"  # perhaps "key"\n\n[columns.sex]\nrole = "other"\n'
    assert with_entry(text, "age", "role", "key") == text.replace('role = "other"  #', 'role = "key"  #')
    assert with_entry(text, "sex", "output", "drop") == text.rstrip("\n") + '\noutput = "drop"\n'
    assert with_entry(with_entry(text, "age", "output", "drop"), "age", "output", "") == text
    with pytest.raises(InputError, match="no entry"):
        with_entry(text, "other", "role", "key")


@given(st.sampled_from(["age", 'a "b".c']), st.sampled_from([role for role in ROLES if role not in ("person", "identifier")]))
def test_a_role_that_is_written_is_read(name: str, role: str) -> None:
    assert schema_from_toml(with_entry(TEXT, name, "role", role))[name].role == role


def test_roles_alone_are_no_edit_of_the_schema() -> None:
    assert not differs(with_entry(with_entry(TEXT, "age", "role", "key"), "age", "output", "keep"), TEXT)
    assert differs(with_entry(TEXT, "age", "kind", "categorical"), TEXT)
    assert differs(TEXT.replace("rare_below = 3", "rare_below = 5"), TEXT)


def test_every_role_can_be_chosen() -> None:
    assert sorted(CHOSEN) == sorted(ROLES)
