"""Names and numbers as text."""

from __future__ import annotations

from chaffinch._base.text import shown


def test_names_cannot_turn_the_words_around_them():
    assert "\u202e" not in shown("a\u202eb")
    assert shown("عمر") == "\u2068عمر\u2069"
    assert shown("x\x00y") == "x�y"
    assert shown("می\u200cروم").count("\u200c") == 1
