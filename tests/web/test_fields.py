"""Fields of forms are the declared options: their names, help, ranges and defaults, and their words where a value breaks the rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import pytest

from chaffinch._base.options import FILES, MEASURE, Declared, Option, settings_of
from chaffinch.errors import InputError
from chaffinch.web import fields
from chaffinch.web.fields import hint_of, label_of, option_words, sent_options, texts_of, value_in
from chaffinch.web.page import SentForm


@dataclass(frozen=True, kw_only=True)
class Search(Declared):
    max_error: Annotated[
        float, Option("Distance that counts as met.", unit="standard errors", gt=0)
    ] = 0.5
    way: Annotated[Literal["ordering", "greedy"], Option("How.", panel=MEASURE)] = "ordering"
    cumulative: Annotated[bool, Option("No sums.", flag="--no-cumulative")] = True
    widths: Annotated[Mapping[str, float], Option("Widths.")] = field(default_factory=dict)
    names: Annotated[tuple[str, ...], Option("Columns.")] = ()
    record: Annotated[Path | None, Option("A file.")] = None
    table: Annotated[str | None, Option("A sheet.", panel=FILES)] = None


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of(Search)
    asked = {name: settings[name] for name in settings if name not in ("record", "table")}
    monkeypatch.setattr(fields, "fields_of", lambda _: asked)


def test_a_field_says_what_its_option_says() -> None:
    setting = settings_of(Search)["max_error"]
    assert label_of(setting) == "Max error (standard errors)"
    assert hint_of(setting) == "Distance that counts as met. Default: 0.5. A number above 0."


def test_a_field_is_read_as_its_option_is_and_refused_in_its_words() -> None:
    settings = settings_of(Search)
    assert value_in(settings["max_error"], "0,25") == 0.25
    assert value_in(settings["max_error"], "") == 0.5
    assert value_in(settings["cumulative"], "yes") is False
    assert value_in(settings["widths"], "age=5,pay=100") == {"age": 5.0, "pay": 100.0}
    with pytest.raises(InputError, match=r"max_error must be a number above 0\. Got 0\.0\."):
        value_in(settings["max_error"], "0")
    with pytest.raises(InputError, match="Unknown way 'gredy'"):
        value_in(settings["way"], "gredy")


def test_what_a_form_gives_becomes_words_of_the_command(declared: None) -> None:
    form = SentForm((("max_error", "1"), ("cumulative", "yes"), ("names", "a, b"), ("way", "")))
    options = sent_options(form, fields.fields_of("check"))
    assert options == ("max_error=1", "cumulative=yes", "names=a, b")
    assert texts_of(options)["names"] == "a, b"
    words = option_words("check", (*options, "widths=a=5,b=1"))
    assert words[:5] == ["--max-error", "1", "--no-cumulative", "--names", "a,b"]
    assert words[5:] == ["--widths", "a=5", "--widths", "b=1"]


@pytest.mark.parametrize("option", ["record=/srv/people", "table=x", "output=/srv/x"])
def test_a_project_of_somebody_else_names_no_file(declared: None, option: str) -> None:
    with pytest.raises(InputError, match="Unknown option"):
        option_words("check", (option,))


@pytest.mark.parametrize("command", ["release", "check"])
def test_no_form_asks_for_a_file(command: str) -> None:
    assert not [
        name
        for name, setting in fields.fields_of(command).items()
        if setting.kind in ("path", "paths") or setting.option.metavar == "PATH"
    ]


def test_a_text_is_the_value_of_its_option_whatever_it_looks_like() -> None:
    """A note of a project that somebody else wrote must not be read as an option, as a file of options."""
    assert option_words("release", ("note=--config=x.toml",)) == ["--note=--config=x.toml"]


def test_a_comma_is_a_decimal_sign_and_never_a_thousandth_of_a_whole_number() -> None:
    settings = fields.fields_of("release")
    assert value_in(settings["smoothing"], "0,5") == 0.5
    with pytest.raises(InputError, match=r"rows must be a whole number.* Got '10,000'"):
        value_in(settings["rows"], "10,000")
