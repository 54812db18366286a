"""Places, questions and the line of TOML that answers one."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from chaffinch.outputs.readers.files.protocol import LineError, Place, UnclearOutput, toml_line


def test_a_place_names_file_sheet_and_line() -> None:
    assert str(Place("b.xlsx", "one", 3)) == "b.xlsx, sheet 'one', line 3"
    assert str(Place("a.txt")) == "a.txt"


def test_a_question_names_the_line_to_write() -> None:
    line = toml_line("t.csv", {"kind": "table"})
    asked = UnclearOutput(
        "t.csv", Place("t.csv", line=2), "Understood: numbers.", "Are they counts?", line
    )
    assert (
        asked.reason
        == 't.csv, line 2: Understood: numbers. Are they counts? Write in outputs.toml beside it: "t.csv" = { kind = "table" }'
    )
    assert UnclearOutput("t.csv", Place("t.csv"), "", "It is cut.").reason == "t.csv: It is cut."
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
