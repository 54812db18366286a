"""A column's rules are checked when it is made, and messages name the column and the rule."""

from __future__ import annotations

import pytest

from chaffinch._base.errors import ChaffinchError, SchemaError
from chaffinch.table import Column, Schema


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
