"""Columns: kinds and roles by a form or as text, in step; a column that says who somebody is stops everything."""

from __future__ import annotations

from pathlib import Path

from chaffinch.web.commands import Roles

from ..conftest import SURNAMES, Visitor


def test_columns_show_kinds_reasons_and_pictures_and_no_rare_value(visitor: Visitor, table: Path) -> None:
    table.write_text(table.read_text() + "Unique,33,f,no,1\n")
    visitor.post("/open", path=str(table))
    text = visitor.wait_for_columns()
    assert text.count("<svg") == 5
    assert "perhaps key: others often know it of a person" in text
    assert "1 column looks as if it said who somebody is" in text
    assert "Unique" not in text
    assert not any(name in text for name in SURNAMES)


def test_the_form_and_the_text_are_in_step(opened: Visitor) -> None:
    roles = Roles(keys=("age", "sex"), sensitive=("ill",), decisions=(("surname", "drop"),))
    assert _roles(opened) == roles
    text = opened.project.schema_text()
    assert '[columns.age]\nkind = "integer"' in text
    opened.post("/columns/text", text=text.replace('role = "sensitive"', 'role = "label"'))
    assert _roles(opened) == Roles(label="ill", keys=("age", "sex"), decisions=(("surname", "drop"),))
    assert not opened.project.choices().declared
    opened.post("/columns/text", text=text.replace("rare_below = 3", "rare_below = 5"))
    assert opened.project.choices().declared


def test_a_kind_that_is_changed_is_declared(opened: Visitor) -> None:
    opened.post("/columns", **{"kind-4": "integer"})
    assert opened.project.choices().declared
    opened.post("/columns", **{"kind-4": "categorical"})
    assert not opened.project.choices().declared


def test_what_is_wrong_is_said_and_not_kept(opened: Visitor) -> None:
    before = opened.project.schema_text()
    assert "is not valid TOML" in opened.post("/columns/text", text="[[")
    assert "has no entry for column" in opened.post("/columns/text", text=before.replace("[columns.area]", "[columns.region]"))
    assert "Only one column can have the role label" in opened.post("/columns", **{"role-1": "label", "role-2": "label"})
    assert "Unknown role" in opened.post("/columns", **{"role-1": "king"})
    assert "Unknown kind" in opened.post("/columns", **{"kind-1": "king"})
    assert "Unknown decision" in opened.post("/columns", **{"output-1": "king"})
    assert opened.project.schema_text() == before


def test_live_progress_is_a_fragment_that_ends_by_loading_the_screen(opened: Visitor) -> None:
    status, headers, text = opened.ask("GET", "/columns/live")
    assert (status, headers.get("hx-refresh"), text) == (200, "true", "")


def _roles(visitor: Visitor) -> Roles:
    from chaffinch.web.roles import roles_of

    return roles_of(visitor.project.schema_text())
