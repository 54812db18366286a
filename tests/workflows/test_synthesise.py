"""A synthesis: rows in bounded memory, what is held, and the order of reading, checking and charging."""

from __future__ import annotations

import pandas as pd
import pytest

import chaffinch as cf
from chaffinch.errors import InputError
from chaffinch.workflows.run import Observer, RunOptions
from chaffinch.workflows.synthesise import Synthesis, SynthesisSettings

TABLE = pd.DataFrame({"a": ["x", "y"] * 40, "b": ["p", "q", "q", "p"] * 20})


class Heard(Observer):
    def __init__(self):
        self.said = []

    def before_reading(self, source, choice):
        self.said.append("before reading")

    def after_reading(self, table, seconds):
        self.said.append("after reading")


def test_options_are_checked_before_what_was_read_is_told():
    heard = Heard()
    synthesis = Synthesis(
        SynthesisSettings(synthesiser=cf.Independent()), RunOptions(seed=1, observer=heard)
    )
    synthesis.read(TABLE, lambda schema: heard.said.append(f"check {', '.join(schema.names)}"))
    assert heard.said == ["before reading", "check a, b", "after reading"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rows": -1}, "at least 0"),
        ({"copies": 0}, "at least 1"),
        ({"rows": 3, "keep": ("a",)}, "keep completes"),
        ({"ledger": "l.json"}, "an epsilon"),
    ],
)
def test_what_contradicts_itself_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        SynthesisSettings(synthesiser=cf.Independent(), **options)
