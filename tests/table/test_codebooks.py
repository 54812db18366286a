"""Codebooks of any kind: recognised by what they hold, their declarations put into a schema to fill in, records never read."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import chaffinch
from chaffinch.errors import FileError, SchemaError
from chaffinch.table import Column, Schema
from chaffinch.table.codebooks import CODEBOOKS, Codebook, read_codebook
from chaffinch.table.codebooks.codebook import declared_column
from chaffinch.table.codebooks.stat_files import column_from_labels
from chaffinch.table.codebooks.table_schema import bounds_of, codes_of, schema_from_table_schema
from chaffinch.table.formats.format import Labels
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
        ("{}", "is JSON, but none of SDV metadata, JSON Table Schema"),
        ("{", "is not valid JSON"),
        (
            "age,sex\n1,f\n",
            "is no codebook that is known. Codebooks: SDV metadata, JSON Table Schema, SPSS .sav, Stata .dta.",
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
            lambda data, name: Schema((Column("x", "text"),)),
        )
    )
    try:
        (tmp_path / "own.json").write_text('{"own": 1}')
        assert read_codebook(tmp_path / "own.json").columns[0].kind == "text"
    finally:
        CODEBOOKS.remove("own")


SDV = {
    "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
    "primary_key": "pid",
    "columns": {
        "pid": {"sdtype": "id", "regex_format": "[0-9]{6}"},
        "age": {"sdtype": "numerical", "computer_representation": "Int64"},
        "bmi": {"sdtype": "numerical", "computer_representation": "Float"},
        "sex": {"sdtype": "categorical"},
        "seen": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
        "at": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d %H:%M"},
        "ill": {"sdtype": "boolean"},
        "mail": {"sdtype": "email", "pii": True},
        "what": {"sdtype": "unknown"},
    },
}


def test_sdv_metadata(tmp_path):
    for version in ("SINGLE_TABLE_V1", "V1"):
        content = (
            SDV
            if version == "SINGLE_TABLE_V1"
            else {
                "METADATA_SPEC_VERSION": "V1",
                "tables": {"t": {k: v for k, v in SDV.items() if k != "METADATA_SPEC_VERSION"}},
                "relationships": [],
            }
        )
        path = tmp_path / "m.json"
        path.write_text(json.dumps(content))
        schema = chaffinch.read_schema(path)
        assert [c.kind for c in schema] == [
            "identifier",
            "integer",
            "float",
            "categorical",
            "date",
            "datetime",
            "boolean",
            "identifier",
            "text",
        ]
        assert schema["pid"].output == "regenerate"
    (tmp_path / "d.csv").write_text(
        "pid,age,bmi,sex,seen,at,ill,mail,what\n"
        + "".join(
            f"{i},{i % 50},{20 + i % 9}.5,{'mf'[i % 2]},2020-01-{1 + i % 28:02d},2020-01-01 10:{i % 60:02d},true,a{i}@b.c,z\n"
            for i in range(90)
        )
    )
    table = chaffinch.read(tmp_path / "d.csv", schema=tmp_path / "m.json")
    assert table.schema["age"].codec.size > 3
    assert str(table.data["seen"].type) == "date32[day]"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"METADATA_SPEC_VERSION": "V0"}, "not SDV metadata of version V1"),
        ({"METADATA_SPEC_VERSION": "V1", "tables": {}}, "must describe one table"),
        (
            {"METADATA_SPEC_VERSION": "V1", "tables": {"a": {"columns": {}}, "b": {"columns": {}}}},
            "It describes: a, b",
        ),
        ({"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1"}, "has no columns"),
        ({"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": {}}, "lists no columns"),
        ({"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": {"a": 3}}, "sdtype is missing"),
        (
            {
                "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
                "columns": {"a": {"sdtype": "datetime", "datetime_format": 3}},
            },
            "must be text",
        ),
        (
            {
                "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
                "primary_key": "b",
                "columns": {"a": {"sdtype": "id"}},
            },
            "Unknown column 'b'",
        ),
    ],
)
def test_sdv_faults_are_named(content, says, tmp_path):
    (tmp_path / "m.json").write_text(json.dumps(content))
    with pytest.raises(chaffinch.errors.InputError) as caught:
        chaffinch.read_schema(tmp_path / "m.json")
    assert says in str(caught.value)


def test_an_order_that_was_written_down_lists_the_levels():
    from chaffinch.table.codebooks.sdv import schema_from_sdv

    def column(**entry):
        data = {
            "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
            "columns": {"a": {"sdtype": "categorical", **entry}},
        }
        return schema_from_sdv(data)["a"]

    assert (
        column(order=[1, 2]).levels,
        column(order=[1, 2]).ordered,
        column(order=[1, 2]).type,
    ) == ((1, 2), True, "int64")
    assert column(order_by="alphabetical").levels is None
    with pytest.raises(chaffinch.errors.SchemaError, match="order must list"):
        column(order=[[1]])


SCHEMA = {
    "fields": [
        {"name": "pid", "type": "string"},
        {"name": "mail", "type": "string", "format": "email"},
        {"name": "code", "type": "integer", "constraints": {"unique": True}},
        {
            "name": "age",
            "type": "integer",
            "title": "Age",
            "constraints": {"minimum": 0, "maximum": 110, "required": True},
        },
        {"name": "sex", "type": "integer", "constraints": {"enum": [1, 2]}},
        {
            "name": "grade",
            "type": "string",
            "categories": [{"value": "a", "label": "good"}, {"value": "b", "label": "bad"}],
            "categoriesOrdered": True,
        },
        {"name": "seen", "type": "date", "format": "%d/%m/%Y"},
        {
            "name": "at",
            "type": "datetime",
            "constraints": {"minimum": "1970-01-01T00:00:10", "maximum": "1970-01-01T00:01:00Z"},
        },
        {"name": "ill", "type": "boolean", "trueValues": ["ja"], "falseValues": ["nein"]},
        {"name": "town"},
        {"name": "pay", "type": "number", "decimalChar": ",", "missingValues": ["-1"]},
        {"name": "tags", "type": "array"},
        {"name": "odd", "type": "any"},
    ],
    "missingValues": ["", "-99"],
    "primaryKey": ["pid"],
}


@pytest.mark.parametrize("package", [False, True])
def test_types_constraints_and_keys(package):
    data = (
        {"resources": [{"name": "people", "schema": SCHEMA}, {"name": "notes.txt"}]}
        if package
        else SCHEMA
    )
    schema = schema_from_table_schema(data)
    assert [c.kind for c in schema] == [
        "identifier",
        "identifier",
        "identifier",
        "integer",
        "categorical",
        "categorical",
        "date",
        "datetime",
        "boolean",
        "categorical",
        "float",
        "text",
        "unknown",
    ]
    assert (
        schema["age"].bounds,
        schema["age"].nullable,
        schema["age"].title,
        schema["age"].missing,
    ) == ((0, 110), False, "Age", (-99,))
    assert (schema["sex"].levels, schema["sex"].type, schema["sex"].missing) == (
        (1, 2),
        "int64",
        (-99,),
    )
    assert (schema["grade"].levels, schema["grade"].ordered, schema["grade"].labels) == (
        ("a", "b"),
        True,
        (("a", "good"), ("b", "bad")),
    )
    assert schema["seen"].format == "%d/%m/%Y"
    assert schema["at"].bounds == (10, 60)
    assert schema["ill"].format == "ja/nein"
    assert schema["town"].lacks == "levels"
    assert (schema["pay"].decimal, schema["pay"].missing) == (",", (-1,))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"resources": []}, "must describe one table. It describes: none."),
        ({"fields": [1]}, "lists no fields"),
        (
            {"fields": [{"name": "a", "constraints": {"enum": [True]}}]},
            "allowed values must be words or numbers",
        ),
        (
            {"fields": [{"name": "a", "constraints": {"enum": ["x", "x"]}}]},
            "levels must be distinct",
        ),
    ],
)
def test_faults_are_named(data, words):
    with pytest.raises(SchemaError, match=words):
        schema_from_table_schema(data)


def test_a_range_needs_two_ends_that_rise():
    assert bounds_of(0, 1, "float", "a") == (0, 1)
    assert bounds_of(1, 1, "float", "a") is None
    assert bounds_of(0, "INF", "float", "a") is None
    assert bounds_of(0, 1, "categorical", "a") is None
    assert bounds_of("1970-01-01T01:00:00+01:00", "1970-01-01T00:00:30Z", "datetime", "a") == (
        0,
        30,
    )
    with pytest.raises(SchemaError, match="no date"):
        bounds_of("x", "y", "date", "a")


def test_missing_codes_are_values_of_the_column():
    assert codes_of(["", "x", "1.5", "2.0", "2", None], "float") == ("x", 1.5, 2)
    assert codes_of(["9"], "categorical", (1, 2)) == (9,)
    assert codes_of(["a", "b"], "categorical", ("a",)) == ("b",)
    assert codes_of("NA", "float") == ()


def test_personal_and_free_columns_have_no_levels():
    assert declared_column("a", "identifier", source="x", levels=("a",)).levels is None
    assert declared_column("a", None, source="x").lacks == "kind"


@pytest.mark.parametrize(
    ("kind", "labels", "expected"),
    [
        (
            pa.float64(),
            Labels("Sex", {1.0: "f", 2.0: "m", 9.0: "refused"}, (9.0,), "F1.0", "nominal"),
            ("categorical", (1, 2), (9,)),
        ),
        (
            pa.float64(),
            Labels("", {1.0: "low", 2.0: "high"}, (), "F1.0", "ordinal"),
            ("categorical", (1, 2), ()),
        ),
        (
            pa.float64(),
            Labels("", {97.0: "many", 98.0: "?"}, (98.0,), "F2.0", "scale"),
            ("integer", None, (98,)),
        ),
        (
            pa.int8(),
            Labels("", {0: "no", 1: "yes"}, (), "%8.0g", "unknown"),
            ("categorical", (0, 1), ()),
        ),
        (
            pa.int8(),
            Labels("", {97: "many", 98: "?"}, (), "%8.0g", "unknown"),
            ("integer", None, ()),
        ),
        (
            pa.int8(),
            Labels("", {-8: "n/a", 1: "a", 2: "b"}, (), "%8.0g", "unknown"),
            ("categorical", (-8, 1, 2), ()),
        ),
        (pa.float64(), Labels("", {}, (), "F8.2", "scale"), ("float", None, ())),
        (pa.float64(), Labels("", {}, (), "F8.0", "scale"), ("integer", None, ())),
        (pa.date32(), Labels("", {1: "x", 2: "y"}, (), "DATE11", "nominal"), ("date", None, ())),
        (
            pa.string(),
            Labels("", {"a": "A", "b": "B"}, (), "A1", "nominal"),
            ("categorical", ("a", "b"), ()),
        ),
        (pa.string(), Labels("", {}, (), "A20", "nominal"), ("unknown", None, ())),
    ],
)
def test_what_labels_say(kind, labels, expected):
    column = column_from_labels("a", kind, labels, "SPSS .sav")
    assert (column.kind, column.levels, column.missing) == expected
    assert column.other == (column.kind == "categorical")
    assert column.title == labels.title


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_a_file_is_its_own_codebook(tmp_path, ending):
    pyreadstat = pytest.importorskip("pyreadstat", reason="needs the extra pyreadstat")
    import pandas as pd

    path = tmp_path / f"d.{ending}"
    books = []
    for rows in ([1.0, 2.0], [2.0, 77.0, 5.0]):
        frame = pd.DataFrame({"sex": rows, "pay": [0.5] * len(rows)})
        write = pyreadstat.write_sav if ending == "sav" else pyreadstat.write_dta
        write(
            frame,
            str(path),
            variable_value_labels={"sex": {1: "f", 2: "m"}},
            column_labels={"sex": "Sex", "pay": "Pay"},
        )
        books.append(read_codebook(path))
    assert books[0] == books[1]  # whatever the records are
    assert (books[0]["sex"].levels, books[0]["sex"].title) == ((1, 2), "Sex")
    assert books[0]["sex"].labels == ((1, "f"), (2, "m"))
    assert books[0]["pay"].lacks == "bounds"
