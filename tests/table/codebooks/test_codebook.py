"""Codebooks of any kind: recognised by what they hold, their declarations put into a schema to fill in, records never read."""

from __future__ import annotations

import json

import pytest

import chaffinch
from chaffinch._base.errors import FileError, SchemaError
from chaffinch.table import Column, Schema
from chaffinch.table.codebooks import CODEBOOKS, Codebook, read_codebook
from chaffinch.table.schema_file import blank_text, schema_from_toml

FIELDS = {
    "fields": [
        {
            "name": "age",
            "type": "integer",
            "constraints": {"minimum": 0, "maximum": 110, "required": True},
        },
        {"name": "region", "type": "string", "constraints": {"enum": ["north", "south"]}},
        {
            "name": "seen",
            "type": "date",
            "constraints": {"minimum": "2000-01-01", "maximum": "2020-12-31"},
        },
    ],
    "missingValues": ["", "NA"],
}


def test_a_codebook_fills_the_blanks(run_here, tmp_path, monkeypatch):
    from chaffinch.table.formats import Source

    monkeypatch.setattr(Source, "table", lambda self: pytest.fail("a record was read"))
    (tmp_path / "d.csv").write_text("age,region,seen,more\n1,north,2001-01-01,canary\n")
    (tmp_path / "book.json").write_text(json.dumps(FIELDS))
    done = run_here(
        "schema", tmp_path / "d.csv", "--from", tmp_path / "book.json", "-o", tmp_path / "s.toml"
    )
    assert done.code == 0, done.err
    assert "The codebook does not have: more." in done.err
    text = (tmp_path / "s.toml").read_text()
    assert "canary" not in text
    schema = schema_from_toml(text)
    assert not schema.public
    book = read_codebook(tmp_path / "book.json")
    for column in book:
        filled = schema[column.name]
        assert (filled.kind, filled.levels, filled.bounds, filled.nullable, filled.missing) == (
            column.kind,
            column.levels,
            column.bounds,
            column.nullable,
            column.missing,
        )
    assert [column.lacks for column in schema] == ["", "", "", "kind"]
    assert "bounds = [2000-01-01, 2020-12-31]" in text


def test_a_codebook_in_json_can_stand_where_a_schema_can(tmp_path):
    (tmp_path / "book.json").write_text(json.dumps(FIELDS))
    assert chaffinch.read_schema(tmp_path / "book.json") == read_codebook(tmp_path / "book.json")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{}", "is JSON, but none of SDV metadata, CSVW, JSON Table Schema"),
        ("{", "is not valid JSON"),
        (
            "age,sex\n1,f\n",
            "is no codebook that is known. Codebooks: SDV metadata, CSVW, JSON Table Schema, SPSS .sav, Stata .dta.",
        ),
        ('{"fields": []}', "lists no fields"),
        ('{"fields": [{"type": "integer"}]}', "Column 1 of the codebook has no name"),
    ],
)
def test_what_is_no_codebook_is_said(tmp_path, content, words):
    (tmp_path / "x").write_text(content)
    with pytest.raises(SchemaError) as caught:
        read_codebook(tmp_path / "x")
    assert words in str(caught.value)
    with pytest.raises(FileError, match="Cannot read"):
        read_codebook(tmp_path / "absent")


def test_a_codebook_of_another_table(run_here, tmp_path):
    (tmp_path / "d.csv").write_text("a,b\n1,2\n")
    (tmp_path / "book.json").write_text(json.dumps(FIELDS))
    done = run_here("schema", tmp_path / "d.csv", "--from", tmp_path / "book.json")
    assert done.code == 2
    assert "no column in common" in done.err


def test_categories_of_a_data_frame_are_data_and_not_taken(run_here, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    words = pa.array(["canary", "b"]).dictionary_encode()
    pq.write_table(pa.table({"a": words, "b": words}), tmp_path / "d.parquet")
    done = run_here("schema", tmp_path / "d.parquet", "--blank")
    assert "canary" not in done.out
    assert "a = {}" in done.out


def test_every_key_of_a_codebook_survives_the_blank_file():
    columns = (
        Column(
            "a",
            "categorical",
            type="int64",
            levels=(1, 2),
            labels=((1, 'one "x"'), (2, "two")),
            missing=(9,),
            other=True,
            ordered=True,
            title="A",
        ),
        Column("b", "float", type="double", bounds=(0.5, 2.0), decimal=","),
        Column(
            "c", "datetime", type="timestamp[s]", bounds=(0.0, 86_400.0), format="%d/%m/%Y %H:%M"
        ),
        Column("d", "boolean", type="bool", levels=(False, True), format="yes/no", nullable=True),
        Column("e", "identifier", "identifier"),
        Column("f", "categorical"),
        Column("g", "unknown", missing=("NA",)),
    )
    text = blank_text({column.name: None for column in columns}, codebook=Schema(columns))
    assert tuple(schema_from_toml(text)) == columns


def test_a_user_can_register_a_kind_of_codebook(tmp_path):
    CODEBOOKS.register(
        Codebook(
            "own",
            "Own",
            lambda data: "own" in data,
            lambda data, name, header: Schema((Column("x", "text"),)),
        )
    )
    try:
        (tmp_path / "own.json").write_text('{"own": 1}')
        assert read_codebook(tmp_path / "own.json").columns[0].kind == "text"
    finally:
        CODEBOOKS.remove("own")
