"""What screens share: fields of a form, and the frame around a screen."""

from __future__ import annotations

from chaffinch.web.page import STEPS, SentForm

from .conftest import Visitor


def test_a_form_is_read_by_name() -> None:
    form = SentForm((("a", "  x "), ("b", "1\r\n2"), ("a", "y")))
    assert (form.word("a"), form.word("a", 1), form.word("c"), form.text("b"), form.words("a")) == (
        "x",
        "x",
        "",
        "1\n2",
        ("  x ", "y"),
    )


def test_the_frame_names_all_steps_and_marks_one(visitor: Visitor) -> None:
    text = visitor.get("/decide")
    assert all(f'href="/{path}"' in text for path, _ in STEPS)
    assert text.count('aria-current="step"') == 1
    form = visitor.get("/promise")  # where a form is filled in, the steps are buttons that save it
    assert all(f'<button form="kept" name="go" value="{path}"' in form for path, _ in STEPS)
    assert form.count('aria-current="step"') == 1
    assert "<strong>Keep inside.</strong>" in text
