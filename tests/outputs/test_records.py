"""From tables to codes: types that mean the same, missing values, values that are no level, levels from data."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch._base.errors import InputError
from chaffinch.outputs import records
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.records import (
    MOST_GRID,
    CodedRecords,
    codes_of_table,
    columns_of,
    fields_of_table,
    schema_of,
    table_of_codes,
)
from chaffinch.table import Column, Schema, read


def coded(values: Any, levels: tuple[Any, ...], *, schema: Schema | None = None) -> list[int]:
    """The codes of one column, missing ones as -1."""
    table = read(pa.table({"c": values, "n": pa.array(range(len(values)))}), schema=schema)
    found = codes_of_table(table, OutputDomain((OutputColumn("c", levels),)))
    return found.codes[:, 0].tolist()


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        (pa.array([2, 1, None, 3]), (1, 2, 3)),
        (pa.array([2, 1, None, 3], pa.uint8()), ("1", "2", "3")),
        (pa.array([2.0, 1.0, None, 3.0]), ("1", "2", "3")),
        (pa.array([2.0, 1.0, float("nan"), 3.0]), (1, 2, 3)),
        (pa.array(["2", "1", None, "3"]), (1, 2, 3)),
        (pa.array(["2.0", "1.0", None, "3.0"]), (1, 2, 3)),
        (pa.array(["2.0", "1.0", None, "3.0"]), ("1", "2", "3")),
        (pa.array([2, 1, None, 3]), ("01", "02", "03")),
        (pa.array(["b", "a", None, "c"]), ("a", "b", "c")),
        (pa.array(["b", "a", None, "c"], pa.large_string()).dictionary_encode(), ("a", "b", "c")),
        (pa.array([0.3, 0.1 + 0.1, None, 0.4]), (0.2, 0.1 + 0.2, 0.4)),
        (pa.array([0.1 + 0.2, 0.2, None, 0.4]), (0.2, 0.3, 0.4)),
        (pa.array([20, 10, None, 40]), (10, 20, 40)),
        (
            pa.array(
                [
                    datetime.date(2020, 1, 2),
                    datetime.date(2020, 1, 1),
                    None,
                    datetime.date(2021, 1, 1),
                ]
            ),
            ("2020-01-01", "2020-01-02", "2021-01-01"),
        ),
    ],
)
def test_values_are_matched_by_what_they_mean(values: Any, levels: tuple[Any, ...]) -> None:
    assert coded(values, levels) == [1, 0, -1, 2]


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        (pa.array([True, False, None]), (False, True)),
        (pa.array([True, False, None]), (0, 1)),
        (pa.array([True, False, None]), ("0", "1")),
        (pa.array([True, False, None]), ("false", "true")),
        (pa.array([1, 0, None]), (False, True)),
        (pa.array(["True", "false", None]), (False, True)),
        (pa.array(["TRUE", "FALSE", None]), (False, True)),
    ],
)
def test_booleans(values: Any, levels: tuple[Any, ...]) -> None:
    assert coded(values, levels) == [1, 0, -1]


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        (["secret"] * 3 + ["a"] * 60, ("a", "b")),
        ([123456] * 3 + [1] * 60, (1, 2)),
        ([1.25] * 3 + [1.0] * 60, (1, 2)),
        ([-987] * 3 + [1] * 60, (0, 1, 5)),
        (["1x"] * 3 + ["1"] * 60, (1, 2)),
        ([7] * 3 + [1] * 60, ("1", "2")),
        ([7] * 3 + [1] * 60, (False, True)),
        ([1] * 63, ("01", "1.0")),  # either would do
    ],
)
def test_values_that_are_no_level_are_counted_and_never_shown(
    values: Any, levels: tuple[Any, ...]
) -> None:
    with pytest.raises(InputError) as caught:
        coded(pa.array(values), levels)
    words = str(caught.value)
    assert "Column 'c' of the data has values that are none of its levels" in words
    assert f"in {'<10' if levels != ('01', '1.0') else 60} of 60 records" in words
    assert not any(secret in words for secret in ("secret", "123456", "1.25", "987", "1x"))


def test_rows_with_a_missing_value_stay_since_each_output_has_its_own_records() -> None:
    frame = pd.DataFrame(
        {"a": ["x", None, "y", "x"], "b": [1.0, 2.0, np.nan, 2.0], "other": [None, None, None, 1.0]}
    )
    found = codes_of_table(
        read(frame), OutputDomain((OutputColumn("a", ("x", "y")), OutputColumn("b", (1, 2))))
    )
    assert found.codes.tolist() == [[0, 0], [-1, 1], [1, -1], [0, 1]]
    assert found.complete.tolist() == [True, False, False, True]
    assert found.codes.dtype == np.int32
    assert found.codes.flags.c_contiguous
    assert repr(found) == "CodedRecords(2 columns)"


def test_declared_missing_codes_are_missing_unless_they_are_levels() -> None:
    schema = Schema(
        (
            Column("c", "integer", type="int64", missing=(-8, 99)),
            Column("n", "integer", type="int64"),
        )
    )
    values = pa.array([1, -8, 2, 99])
    assert coded(values, (1, 2), schema=schema) == [0, -1, 1, -1]
    assert coded(values, (1, 2, 99), schema=schema) == [0, -1, 1, 2]
    assert coded(values, ("1", "2"), schema=schema) == [0, -1, 1, -1]
    table = read(pa.table({"c": values, "n": values}), schema=schema)
    assert fields_of_table(table, ["c"])["c"].levels == (1, 2)


def test_levels_from_data() -> None:
    table = read(
        pd.DataFrame(
            {
                "word": ["b", "a", None, "b"],
                "whole": [10.0, 9.0, np.nan, 2.0],
                "part": [0.5, 2.0, np.nan, 0.25],
                "yes": [True, True, True, True],
                "int": [3, 1, 2, 3],
                "cat": pd.Categorical(["z", "y", "z", None], categories=["z", "y", "unused"]),
                "none": [None] * 4,
            }
        )
    )
    found = fields_of_table(table, ["whole", "word", "part", "yes", "int", "cat"])
    assert [field.levels for field in found] == [
        (2, 9, 10),
        ("a", "b"),
        (0.25, 0.5, 2.0),
        (False, True),
        (1, 2, 3),
        ("y", "z"),
    ]
    assert isinstance(found["whole"].levels[0], int)
    assert codes_of_table(table, found).codes.tolist() == [
        [2, 1, 1, 1, 2, 1],
        [1, 0, 2, 1, 0, 0],
        [-1, -1, -1, 1, 1, 1],
        [0, 1, 0, 1, 2, -1],
    ]
    declared = fields_of_table(
        table,
        ["word", "int"],
        declared=[OutputColumn("word", ("b", "a")), OutputColumn("else", (1,))],
    )
    assert [field.levels for field in declared] == [("b", "a"), (1, 2, 3)]
    with pytest.raises(InputError, match="Column 'none' of the data has no values"):
        fields_of_table(table, ["none"])


def test_what_a_schema_declares_comes_first() -> None:
    frame = pa.table({"w": ["b", "a"], "k": [2, 3], "i": [5, 6], "f": [0.5, 1.0]})
    schema = Schema(
        (
            Column("w", "categorical", levels=("b", "a", "c")),
            Column("k", "categorical", type="int64", levels=(3, 1, 2)),
            Column("i", "integer", type="int64", bounds=(4, 8)),
            Column("f", "float", type="double", bounds=(0, 1), decimals=1),
        )
    )
    found = fields_of_table(read(frame, schema=schema), ["w", "k", "i", "f"])
    assert [field.levels for field in found][:3] == [("b", "a", "c"), (1, 2, 3), (4, 5, 6, 7, 8)]
    assert found["f"].levels == tuple(k / 10 for k in range(11))


def test_too_many_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_GRID", 3)
    table = read(pd.DataFrame({"n": range(40), "w": [f"w{k % 5}" for k in range(40)]}))
    with pytest.raises(
        InputError, match=r"Column 'n' has over 3 different values\. Recode it into bands"
    ):
        fields_of_table(table, ["n"])
    with pytest.raises(InputError, match="broader groups"):
        fields_of_table(table, ["w"])


def test_columns_that_the_data_lack() -> None:
    table = read(pd.DataFrame({"income": [1, 2], "sex": ["f", "m"]}))
    with pytest.raises(InputError, match=r"The data lack a column.*'incme'. Did you mean 'income'"):
        fields_of_table(table, ["sex", "incme"])
    with pytest.raises(InputError, match=r"The data lack a column.*'incme'. Did you mean 'income'"):
        codes_of_table(table, OutputDomain((OutputColumn("incme", (1, 2)),)))


@given(st.integers(0, 2**32 - 1), st.integers(2, 40))
@settings(deadline=None, max_examples=40)
def test_codes_survive_a_table(seed: int, rows: int) -> None:
    """Codes as a table of pandas, polars or Arrow, and back."""
    fields = OutputDomain(
        (
            OutputColumn("w", ("x", "y z", "|")),
            OutputColumn("b", (False, True)),
            OutputColumn("i", tuple(range(-3, 9))),
            OutputColumn("f", (0.1, 0.2, 1.5)),
        )
    )
    codes = fields.start(rows, seed=seed)
    table = table_of_codes(fields, codes)
    for same in (table, read(table.to_pandas()), read(pl.from_arrow(table.to_arrow()))):
        found = codes_of_table(same, fields)
        assert isinstance(found, CodedRecords)
        np.testing.assert_array_equal(found.codes, codes)
        assert found.complete.all()


FIELDS = OutputDomain(
    (
        OutputColumn("sex", ("f", "m")),
        OutputColumn("age", (0, 5, 10)),
        OutputColumn("dose", (0.5, 1.0)),
        OutputColumn("ill", (False, True)),
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
