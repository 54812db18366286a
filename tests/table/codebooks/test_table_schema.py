"""JSON Table Schema as a schema, alone and in a data package."""

from __future__ import annotations

import pytest

from chaffinch._base.errors import SchemaError
from chaffinch.table.codebooks.table_schema import schema_from_table_schema

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
