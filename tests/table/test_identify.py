"""Identifiers: made anew or dropped as the schema says."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import chaffinch
from chaffinch.table import Table


def again(table: Table, seed: int = 1) -> Table:
    """Return the table made anew from its own codes."""
    return Table.from_codes(table.schema, [table.codes[j] for j in range(len(table.codes))], seed=seed, like=table)


def test_identifiers_are_regenerated_or_dropped_as_the_schema_says():
    from dataclasses import replace

    table = chaffinch.read(
        pa.table({"person_id": range(1000, 1100), "x": ["a", "b"] * 50, "uid": [f"u{i}" for i in range(100)]})
    )
    assert table.schema["person_id"].role == table.schema["uid"].role == "identifier"
    assert again(table).columns == ("x",)
    made = replace(table.schema, columns=tuple(replace(c, output="regenerate") for c in table.schema))
    out = Table.from_codes(made, [table.codes[0]], seed=0, first_row=10, like=table)
    assert out.columns == ("person_id", "x", "uid")
    assert out.data["person_id"].to_pylist()[:2] == [11, 12]
    assert out.data["uid"].to_pylist()[:1] == ["000000011"]


@pytest.mark.parametrize("name", ["household_id", "hhid", "PersonNr"])
def test_repeated_identifiers_are_pointed_out(name):
    table = chaffinch.read(pa.table({name: np.repeat(np.arange(100), 3) * 7919, "x": ["a", "b", "c"] * 100}))
    assert table.schema[name].kind == "identifier"
    assert any("not independent" in str(note) for note in table.notes)
