"""Schemas to fill in: short, from names and stored types alone, and nothing holds before a person says so."""

from __future__ import annotations

import tomllib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch.cli.app import app
from chaffinch.table.schema_file import CASES, blank_text, schema_from_toml


def blank(path):
    from typer.testing import CliRunner

    done = CliRunner().invoke(app, ["schema", str(path), "--blank"])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_it_holds_names_and_types_only(tmp_path):
    path = tmp_path / "d.csv"
    texts = []
    for rows in ("1,x\n2,y\n", "", "99999,canary\n,\n3\n1,2,3\n", "\udcff,\udcfe\n"):
        path.write_bytes(("age,my job\n" + rows).encode("utf-8", "surrogateescape"))
        texts.append(blank(path))
    assert len(set(texts)) == 1
    schema = schema_from_toml(texts[0], name="d.toml")
    assert not schema.public
    assert [(column.name, column.lacks) for column in schema] == [
        ("age", "kind"),
        ("my job", "kind"),
    ]
    with pytest.raises(
        chaffinch.errors.PrivacyError,
        match=r"lacks: public = true .*; age: a kind.*; my job: a kind",
    ):
        chaffinch.prepare(path, schema)
    path.write_text("age,my job\n1,x\n2,y\n")
    assert [column.kind for column in chaffinch.read(path, schema).schema] == [
        "integer",
        "categorical",
    ]  # without a promise they are inferred


def test_it_proposes_the_kinds_that_types_settle(tmp_path):
    at = pa.array([0], pa.timestamp("us"))
    table = pa.table(
        {
            "i": [1],
            "f": [0.5],
            "b": [True],
            "d": at.cast(pa.date32()),
            "t": at,
            "w": ["canary"],
            "l": [[1]],
        }
    )
    texts = []
    for rows in (table, table.slice(0, 0), pa.concat_tables([table, table])):
        pq.write_table(rows, tmp_path / "d.parquet")
        texts.append(blank(tmp_path / "d.parquet"))
    assert len(set(texts)) == 1
    assert "canary" not in texts[0]
    kinds = ["integer", "float", "boolean", "date", "datetime", "unknown", "unknown"]
    assert [column.kind for column in schema_from_toml(texts[0])] == kinds
    assert texts[0].count("type = ") == 1  # where the stored type is not the usual one
    assert 'type = "timestamp[us]" keeps it, else timestamp[s]' in texts[0]


def test_a_line_a_column_and_identifiers_by_name():
    names = ["Nachname", "age", "record_id", "id", 'a "b"\n', "paid", "case"]
    text = blank_text(dict.fromkeys(names))
    assert len(text.partition("[columns]\n")[2].splitlines()) == len(names)
    kinds = {column.name: column.kind for column in schema_from_toml(text)}
    assert [name for name in names if kinds[name] == "identifier"] == [
        "Nachname",
        "record_id",
        "id",
    ]


def test_what_stands_in_comments_holds_when_it_is_taken_out_of_them():
    columns = [f"c{i} = {case}" for i, (case, _) in enumerate(CASES)]
    head = blank_text({"x": None}).partition("[columns]")[0]
    schema = schema_from_toml(
        head.replace("# public", "public").replace("# rows", "rows")
        + "[columns]\n"
        + "\n".join(columns)
    )
    assert (schema.public, schema.rows) == (True, 1000)
    assert [c.kind for c in schema] == [
        "integer",
        "float",
        "date",
        "categorical",
        "boolean",
        "identifier",
        "categorical",
    ]
    assert schema["c3"].other
    every = schema_from_toml(
        head.replace("# discover", "discover") + "[columns]\nx = {}\ny = { levels = [1, 2] }\n"
    )
    assert [c.discover for c in every] == [True, False]
    assert tomllib.loads(head)["version"] == 1


def test_a_text_file_with_a_decimal_sign():
    text = blank_text({"pay": None, "surname": None}, decimal=",")
    assert 'pay = { decimal = "," }' in text
    assert text.count("decimal") == 1
