"""Tables that a library has parsed: who is warned, of what, and that no record has a say in it."""

from __future__ import annotations

import io
import warnings

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import chaffinch
from chaffinch import Column, Schema
from chaffinch.errors import ParsedDataWarning
from chaffinch.privacy.prepare import prepare
from chaffinch.privacy.session import changed_by_parsing, open_unread, reads_as_another

CODES = Column("code", "categorical", levels=("01", "02"), other=True)
COLOURS = Column("colour", "categorical", levels=("red", "10"), other=True)
SCHEMA = Schema((CODES, COLOURS), public=True)
TEXT = "code,colour\n01,red\n02,10\n"


def read(text, kind):
    return pd.read_csv(io.StringIO(text)) if kind == "pandas" else pl.read_csv(io.StringIO(text))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_one_record_changes_the_others_before_they_come_here(kind, tmp_path):
    """The fault that the warning is of, and what it advises: a path has it not."""
    for through, alike in (("frame", False), ("path", True)):
        codes = []
        for text in (TEXT, TEXT + "foo,red\n"):
            (tmp_path / "in.csv").write_text(text)
            source = read(text, kind) if through == "frame" else tmp_path / "in.csv"
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                codes.append(chaffinch.prepare(source, SCHEMA).code("code").tolist()[:2])
            assert [w.category for w in caught] == ([] if alike else [ParsedDataWarning])
        assert (codes[0] == codes[1]) == alike


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_the_warning_names_columns_and_the_next_step_whatever_the_data(kind):
    said = set()
    for text in (TEXT, TEXT + "foo,red\n", "code,colour\n"):
        for call in (chaffinch.prepare, open_unread):
            with pytest.warns(ParsedDataWarning) as caught:
                call(read(text, kind), SCHEMA)
            (one,) = caught
            assert one.filename == __file__
            said.add(str(one.message))
    assert len(said) == 1
    assert f"how {kind} reads the others from a text file" in said.copy().pop()
    assert ": code. Pass the path of the file" in said.pop()


def test_nobody_is_warned_without_reason(tmp_path):
    (tmp_path / "in.csv").write_text(TEXT)
    plain = Schema((COLOURS, Column("n", "integer", bounds=(0, 9))), public=True)
    table = {"code": ["01"], "colour": ["red"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chaffinch.prepare(tmp_path / "in.csv", SCHEMA)
        chaffinch.prepare(pa.table(table), SCHEMA)
        chaffinch.prepare(chaffinch.prepare(pa.table(table), SCHEMA))
        chaffinch.prepare(pd.DataFrame({"colour": ["red"], "n": [1]}), plain)


@pytest.mark.parametrize(
    ("column", "person", "named"),
    [
        (CODES, None, True),
        (COLOURS, None, False),
        (Column("c", "categorical", discover=True), None, True),
        (Column("c", "categorical", type="int64", discover=True), None, False),
        (Column("c", "categorical", levels=(1, 2)), None, False),
        (Column("c", "categorical", levels=("yes", "NA")), None, True),
        (Column("c", "integer", bounds=(0, 9)), None, False),
        (Column("c", "identifier"), None, False),
        (Column("c", "identifier"), "c", True),  # 007 and 7 are two persons, or one
    ],
)
def test_columns_are_told_by_their_declarations(column, person, named):
    assert changed_by_parsing(Schema((column,), public=True), person) == (
        [column.name] if named else []
    )


@pytest.mark.parametrize(
    "word",
    [
        "red",
        "10",
        "-3",
        "01",
        "1.5",
        "1.50",
        "1e3",
        "+1",
        "inf",
        "nan",
        "NA",
        "null",
        "true",
        "1_0",
        " 7",
    ],
)
def test_words_that_read_as_another_are_those_that_pandas_changes(word):
    """A second opinion: what pandas makes of a column of that word alone, spelled again. A blank before a word is cut off anyhow."""
    frame = pd.read_csv(io.StringIO(f"a,b\n{word},x\n"))
    columns = (
        Column("a", "categorical", levels=(word,), other=True),
        Column("b", "categorical", levels=("x",)),
    )
    changed = prepare(frame, Schema(columns, public=True)).code("a").tolist() != [0]
    assert reads_as_another(word) == changed or word == " 7"
