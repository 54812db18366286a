"""CSVW metadata as a schema. Expected values are read off the W3C recommendation's rules by hand."""

from __future__ import annotations

import pytest

from chaffinch._base.errors import SchemaError
from chaffinch.table.codebooks.csvw import schema_from_csvw

TABLE = {
    "url": "people.csv",
    "tableSchema": {
        "primaryKey": "pid",
        "columns": [
            {"name": "pid", "datatype": "string"},
            {
                "name": "age",
                "titles": ["Age in years", "AGE"],
                "datatype": {"base": "integer", "minimum": "0", "maximum": "110"},
                "required": True,
            },
            {
                "name": "region",
                "datatype": {"base": "string", "format": "north|south|north west"},
                "null": ["", "NA"],
            },
            {"name": "pay", "datatype": {"base": "decimal", "minInclusive": 0}},
            {
                "name": "seen",
                "datatype": {"base": "date", "minimum": "1970-01-02", "maximum": "1970-02-01"},
            },
            {"name": "ill", "datatype": {"base": "boolean", "format": "Y|N"}},
            {
                "name": "children",
                "datatype": {"base": "nonNegativeInteger", "maximum": 20},
                "null": "-9",
            },
            {"name": "notes", "datatype": "string"},
            {"name": "tags", "separator": ";"},
            {"name": "site", "datatype": "anyURI"},
            {"name": "made", "virtual": True},
            {"name": "pattern", "datatype": {"base": "string", "format": "[a-z]+|x"}},
        ],
    },
}


@pytest.mark.parametrize("wrapped", [False, True])
def test_datatypes_ranges_and_keys(wrapped):
    data = {"@context": "http://www.w3.org/ns/csvw", **({"tables": [TABLE]} if wrapped else TABLE)}
    schema = schema_from_csvw(data, header=["pid", "AGE", "region"])
    assert [(c.name, c.kind) for c in schema] == [
        ("pid", "identifier"),
        ("AGE", "integer"),
        ("region", "categorical"),
        ("pay", "float"),
        ("seen", "date"),
        ("ill", "boolean"),
        ("children", "integer"),
        ("notes", "unknown"),
        ("tags", "text"),
        ("site", "identifier"),
        ("pattern", "unknown"),
    ]
    assert schema["AGE"].bounds == (0, 110)
    assert not schema["AGE"].nullable
    assert schema["region"].levels == ("north", "south", "north west")
    assert (schema["region"].nullable, schema["region"].missing) == (True, ("NA",))
    assert schema["pay"].bounds is None  # one end is open
    assert schema["seen"].bounds == (1, 31)
    assert schema["ill"].format == "Y/N"
    assert (schema["children"].bounds, schema["children"].missing) == ((0, 20), (-9,))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"tables": []}, "must describe one table"),
        ({"tableSchema": {}}, "no tableSchema with columns"),
        ({"tableSchema": {"columns": []}}, "lists no columns"),
        (
            {
                "tableSchema": {
                    "columns": [
                        {"name": "a", "datatype": {"base": "integer", "minimum": "x", "maximum": 1}}
                    ]
                }
            },
            "minimum or maximum is no integer",
        ),
    ],
)
def test_faults_are_named(data, words):
    with pytest.raises(SchemaError, match=words):
        schema_from_csvw(data)
