"""schema --edit: answers from a terminal or a pipe; suggestions are never taken by themselves."""

from __future__ import annotations

import pyarrow as pa
import pytest

import chaffinch
from chaffinch.cli.editing import edited_schema, typed_answer


@pytest.fixture
def schema():
    rows = [(["Huber", "Maier", "Gruber"][i % 3], 20 + i % 50, i % 2) for i in range(150)]
    with pytest.warns(chaffinch.errors.PersonalDataWarning):
        return chaffinch.scan(
            pa.table(
                {
                    "nachname": [r[0] for r in rows],
                    "age": [r[1] for r in rows],
                    "target": [r[2] for r in rows],
                }
            )
        ).schema


def answers(*words):
    left = list(words)
    return lambda question: left.pop(0) if left else None


def test_nothing_is_assumed(schema, capsys):
    assert edited_schema(schema, answers("", "", "")) == schema
    assert edited_schema(schema, answers()) == schema
    assert edited_schema(schema, answers("q", "key")) == schema
    said = capsys.readouterr().err
    assert "Perhaps key: others often know it of a person." in said
    assert "Perhaps label" in said
    assert "until you say drop, fake or keep" in said
    assert "Huber" not in said


def test_answers_are_words_or_their_beginnings(schema, capsys):
    edited = edited_schema(schema, answers("fake", "?", "nonsense", "k", "key", "lab"))
    assert [(c.name, c.kind, c.role, c.output) for c in edited] == [
        ("nachname", "identifier", "identifier", "fake"),
        ("age", "integer", "key", ""),
        ("target", "categorical", "label", ""),
    ]
    said = capsys.readouterr().err
    assert "'nonsense' is none of them" in said
    assert "'k' is none of them" in said  # key or keep
    assert "a quasi-identifier" in said


def test_one_label_only(schema, capsys):
    edited = edited_schema(schema, answers("label", "label", "key", ""))
    assert edited.with_role("label") == ("nachname",)
    assert "Only one column can have the role label" in capsys.readouterr().err


def test_whose_rows_they_are(schema, capsys):
    edited = edited_schema(schema, answers("person", "order"))
    assert (edited.only("person"), edited.only("order"), edited["nachname"].kind) == (
        "nachname",
        "age",
        "identifier",
    )
    edited_schema(schema, answers("order", "", "q"))
    assert "name the column that says whose row it is too" in capsys.readouterr().err


def test_a_line_of_standard_input(monkeypatch, capsys):
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO(" key \n"))
    assert typed_answer("role? ") == "key"
    assert typed_answer("role? ") is None
    assert capsys.readouterr().err == "role? role? "
