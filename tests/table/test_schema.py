"""Columns, schemas, what functions map to and notes: rules are checked when they are made, and messages name the column and the rule."""

from __future__ import annotations

import pytest

from chaffinch.errors import ChaffinchError, InputError, SchemaError
from chaffinch.table import Column, Note, Schema
from chaffinch.table.schema import FunctionMap, IdentifierEvidence, Reason, note_lines


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": " "}, "needs a name"),
        ({"kind": "colour"}, "Unknown kind 'colour'"),
        ({"role": "king"}, "Unknown role 'king'"),
        ({"bins": 0}, "Column 'a': bins must lie between 1 and 10,000. Got 0"),
        ({"step": 0}, "step must be at least 1"),
        ({"decimals": 16}, "decimals must lie between 0 and 15"),
        ({"decimal": ";"}, "decimal must be"),
        ({"kind": "float", "levels": (1, 2)}, "levels belong to a categorical column"),
        ({"levels": ("x", "x")}, "levels must be distinct"),
        ({"levels": ("x", "y"), "missing": ("y",)}, "1 codes stand in levels and in missing"),
        ({"edges": (1.0, 2.0), "binning": "edges"}, "edges belong to a numeric column"),
        ({"kind": "float", "edges": (2.0, 1.0), "binning": "edges"}, "edges must rise"),
        ({"kind": "float", "edges": (1.0, 2.0)}, "edges go with binning"),
        ({"kind": "float", "bounds": (2.0, 2.0)}, "low below high"),
    ],
)
def test_a_column_that_breaks_a_rule_is_refused(options, words):
    with pytest.raises(ChaffinchError, match=words):
        Column(**{"name": "a", "kind": "categorical", **options})


def test_columns_are_found_by_name():
    schema = Schema((Column("a", "categorical"), Column("b", "text")))
    assert schema["b"].kind == "text"
    assert [column.name for column in schema.modelled] == ["a"]
    assert list(schema.names) == ["a"]
    with pytest.raises(ChaffinchError, match="Unknown column 'c'"):
        schema["c"]
    with pytest.raises(SchemaError):
        Schema((Column("a", "text"), Column("a", "text")))


def test_plain_data_and_back():
    function = FunctionMap("a", "b", (0, 2, -1), (None, 3.5, None))
    assert FunctionMap.from_dict(function.to_dict()) == function


@pytest.mark.parametrize(
    "change",
    [
        {"codes": [0, 1.5, 1]},
        {"codes": "abc"},
        {"numbers": [None]},
        {"left": 3},
        {"numbers": ["x", None, None]},
    ],
)
def test_anything_else_is_refused(change):
    with pytest.raises(InputError):
        FunctionMap.from_dict(
            FunctionMap("a", "b", (0, 2, -1), (None, 3.5, None)).to_dict() | change
        )
    with pytest.raises(InputError):
        FunctionMap.from_dict({"left": "a"})


def test_notes_as_sentences():
    assert (
        str(Note("age", "empty", "every value is missing."))
        == "Column 'age': every value is missing."
    )
    assert str(Note("", "encoding", "The file is read as UTF-16.")) == "The file is read as UTF-16."


def test_what_is_said_of_many_columns_alike_is_one_line():
    """A table of a thousand columns has hundreds of the same note."""
    few = [Note(f"a{i}", "empty", "every value is missing.") for i in range(10)]
    many = [Note(f"b{i}", "pooled", "levels are pooled.") for i in range(300)]
    whole = [Note("", "zones", "Times are UTC.")]
    assert note_lines([*few, *whole]) == [str(note) for note in [*few, *whole]]
    lines = note_lines(
        [many[0], *few, *many[1:], *whole, Note("c", "pooled", "other levels are pooled.")]
    )
    assert (
        lines[0]
        == "Columns 'b0', 'b1', 'b2', 'b3', 'b4', 'b5', 'b6', 'b7', 'b8', 'b9' and 290 more: levels are pooled."
    )
    assert lines[1:] == [*map(str, few), "Times are UTC.", "Column 'c': other levels are pooled."]
    assert note_lines([]) == []


def test_it_reads_as_a_sentence():
    assert str(IdentifierEvidence("surnames", Reason.NAME, "surname")) == "surnames, by its name"
    assert {str(reason).split()[0] for reason in Reason} == {"its"}
