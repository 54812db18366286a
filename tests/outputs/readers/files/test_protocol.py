"""The small file beside output files."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch.outputs.readers.files.protocol import (
    SIDECAR,
    LineError,
    Location,
    Sidecar,
    UnreadOutput,
    toml_line,
)


def written(tmp_path: Path, text: str) -> Sidecar:
    (tmp_path / SIDECAR).write_text(text)
    return Sidecar.read(tmp_path / SIDECAR)


def test_no_file_says_nothing(tmp_path: Path) -> None:
    assert Sidecar.read(tmp_path / SIDECAR).annotation("t.csv").kind is None


def test_a_line_holds_for_an_output_its_sheet_or_its_file(tmp_path: Path) -> None:
    help_of = written(
        tmp_path,
        '"b.xlsx" = { decimal = "," }\n"b.xlsx::two" = { kind = "table" }\n"b.xlsx::two #2" = { ignore = true }',
    ).annotation
    assert help_of("b.xlsx::one").decimal == ","
    assert (help_of("b.xlsx::two #1").kind, help_of("b.xlsx::two #1").decimal) == ("table", None)
    assert help_of("b.xlsx::two #2").ignore


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"t.csv" = { knd = "table" }', "Unknown key 'knd'. Did you mean 'kind'"),
        ('"t.csv" = { kind = "tabel" }', "Unknown kind 'tabel'. Did you mean 'table'"),
        ('"t.csv" = { n = "many" }', "'n' is not as it should be"),
        ('"t.csv" = 3', "must have keys in braces"),
        ("= 3", "is not valid TOML"),
        ('format = "chaffinch-outputs"', "is a file of outputs"),
    ],
)
def test_a_line_that_breaks_a_rule_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=r"outputs\.toml") as error:
        written(tmp_path, text)
    assert words in str(error.value)


def test_a_line_about_no_output_is_an_error(tmp_path: Path) -> None:
    sidecar = written(tmp_path, '"t2.csv" = { kind = "table" }')
    with pytest.raises(InputError, match=r"Unknown output 't2\.csv'\. Did you mean 't1\.csv'"):
        sidecar.check(["t1.csv"])


def test_a_place_names_file_sheet_and_line() -> None:
    assert str(Location("b.xlsx", "one", 3)) == "b.xlsx, sheet 'one', line 3"
    assert str(Location("a.txt")) == "a.txt"


def test_a_question_names_the_line_to_write() -> None:
    line = toml_line("t.csv", {"kind": "table"})
    asked = UnreadOutput(
        "t.csv", Location("t.csv", line=2), "Understood: numbers.", "Are they counts?", line
    )
    assert (
        asked.reason
        == 't.csv, line 2: Understood: numbers. Are they counts? Write in outputs.toml beside it: "t.csv" = { kind = "table" }'
    )
    assert UnreadOutput("t.csv", Location("t.csv"), "", "It is cut.").reason == "t.csv: It is cut."
    assert LineError(7, "it is cut").line == 7


@given(
    st.text(st.characters(exclude_categories=("C",)), min_size=1),
    st.text(st.characters(exclude_categories=("C",))),
    st.booleans(),
    st.integers(0, 99),
)
def test_the_line_is_toml_that_says_what_it_was_made_of(
    name: str, word: str, flag: bool, number: int
) -> None:
    keys = {"kind": word, "by": [word, "b"], "totals": flag, "n": number}
    assert tomllib.loads(toml_line(name, keys)) == {name: keys}
