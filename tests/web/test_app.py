"""The page as a whole: every path answers, files are few and named, and a fault of ours tells nothing of the data."""

from __future__ import annotations

import re

import pytest

from chaffinch.web import app
from chaffinch.web.screens import opening

from .conftest import Visitor


@pytest.mark.parametrize("path", ["/open", "/columns", "/attackers", "/promise", "/runs", "/result", "/compare", "/decide"])
def test_every_step_answers_before_anything_was_opened(visitor: Visitor, path: str) -> None:
    text = visitor.get(path)
    assert "<main" in text
    assert not re.search(r"Internal fault", text)


def test_a_first_visit_leads_to_opening_a_table(visitor: Visitor) -> None:
    assert "Open a table" in visitor.get("/")


@pytest.mark.parametrize("name", sorted(app.STATIC))
def test_the_page_loads_its_own_files(visitor: Visitor, name: str) -> None:
    status, headers, text = visitor.ask("GET", f"/static/{name}")
    assert status == 200
    assert text
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/static/guard.py", "/static/..%2fguard.py", "/static/../app.py", "/nothing", "/runs/1/../../etc", "/result/99999"])
def test_nothing_else_is_served(visitor: Visitor, path: str) -> None:
    status, _, text = visitor.ask("GET", path)
    assert status in (400, 404)
    assert "def " not in text


def test_nothing_comes_from_elsewhere(opened: Visitor) -> None:
    for path in ("/open", "/columns", "/attackers", "/promise", "/runs", "/compare", "/decide"):
        text = opened.get(path)
        assert not re.search(r'(src|href|action)="(https?:)?//', text)
        assert "<script>" not in text
        assert not re.search(r'\son\w+="', text)


def test_a_fault_of_ours_shows_no_value(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("Meyer, 54, ill")

    monkeypatch.setattr(opening, "_shown", broken)
    status, _, text = visitor.ask("GET", "/open")
    assert status == 500
    assert "RuntimeError" in text
    assert "Meyer" not in text


def test_every_form_of_every_screen_carries_its_key(opened: Visitor) -> None:
    for path in ("/open", "/columns", "/attackers", "/promise", "/runs", "/decide"):
        text = opened.get(path)
        assert text.count('method="post"') == text.count(f'name="form_key" value="{opened.keys.form}"') > 0
