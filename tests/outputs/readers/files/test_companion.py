"""The small file beside output files."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaffinch._base.errors import InputError
from chaffinch.outputs.readers.files.protocol import COMPANION, Companion


def written(tmp_path: Path, text: str) -> Companion:
    (tmp_path / COMPANION).write_text(text)
    return Companion.read(tmp_path / COMPANION)


def test_no_file_says_nothing(tmp_path: Path) -> None:
    assert Companion.read(tmp_path / COMPANION).of("t.csv").kind is None


def test_a_line_holds_for_an_output_its_sheet_or_its_file(tmp_path: Path) -> None:
    help_of = written(
        tmp_path,
        '"b.xlsx" = { decimal = "," }\n"b.xlsx::two" = { kind = "table" }\n"b.xlsx::two #2" = { ignore = true }',
    ).of
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
    companion = written(tmp_path, '"t2.csv" = { kind = "table" }')
    with pytest.raises(InputError, match=r"Unknown output 't2\.csv'\. Did you mean 't1\.csv'"):
        companion.check(["t1.csv"])
