"""Columns of outputs as columns of tables, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import chaffinch
from chaffinch.errors import InputError
from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.records import MOST_GRID, columns_of, schema_of, table_of_codes
from chaffinch.table import Column, Schema

FIELDS = Fields(
    (
        Field("sex", ("f", "m")),
        Field("age", (0, 5, 10)),
        Field("dose", (0.5, 1.0)),
        Field("ill", (False, True)),
    )
)


def test_codes_are_the_outputs_own() -> None:
    codes = np.array([[1, 2, 0, 1], [0, 0, 1, 0], [1, 1, 1, 1]], dtype=np.int32)
    table = table_of_codes(FIELDS, codes)
    assert [table.code(name).tolist() for name in FIELDS.names] == codes.T.tolist()
    assert table.to_arrow().to_pylist()[0] == {"sex": "m", "age": 10, "dose": 0.5, "ill": True}
    kinds = [(column.kind, column.bounds) for column in schema_of(FIELDS)]
    assert kinds == [
        ("categorical", None),
        ("integer", (0, 10)),
        ("float", (0.5, 1)),
        ("boolean", None),
    ]


@pytest.mark.parametrize(
    ("column", "entry"),
    [
        (Column("x", "categorical", levels=("b", "a")), {"levels": ["b", "a"]}),
        (Column("x", "boolean"), {"levels": [False, True]}),
        (Column("x", "integer", bounds=(0, 90), step=5), {"from": 0, "to": 90, "step": 5}),
        (Column("x", "float", bounds=(0, 1), decimals=2), {"from": 0, "to": 1, "step": 0.01}),
    ],
)
def test_a_schema_declares_levels(column: Column, entry: dict[str, Any]) -> None:
    assert columns_of(Schema((column,))) == [{"name": "x", **entry}]


def test_undeclared_levels_come_from_a_table_that_is_passed() -> None:
    table = chaffinch.read(
        pd.DataFrame({"w": ["b", "a", None], "n": [3, 1, 3], "unused": [1, 2, 3]})
    )
    bare = Schema((Column("w", "categorical"), Column("n", "integer"), Column("unused", "integer")))
    with pytest.raises(InputError, match="Column 'w' declares no levels and no bounds"):
        columns_of(bare)
    assert columns_of(bare, names=["n", "w"], data=table) == [
        {"name": "n", "levels": [1, 3]},
        {"name": "w", "levels": ["a", "b"]},
    ]


def test_a_grid_may_be_too_fine() -> None:
    columns_of(Schema((Column("x", "integer", bounds=(0, MOST_GRID)),)))
    with pytest.raises(InputError, match="over 100000 levels"):
        columns_of(Schema((Column("x", "integer", bounds=(0, MOST_GRID + 1)),)))
