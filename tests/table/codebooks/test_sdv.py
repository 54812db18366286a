"""SDV metadata as a schema: what it says is taken over, and faults are named."""

from __future__ import annotations

import json

import pytest

import chaffinch

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
