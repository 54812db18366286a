"""What columns are taken for, and why."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

import chaffinch


def kinds(**columns):
    table = chaffinch.read(pa.table({**columns, "other": ["a", "b"] * (len(next(iter(columns.values()))) // 2)}))
    return {column.name: column.kind for column in table.schema}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.arange(200) % 4, "categorical"),
        (np.arange(200) % 50, "integer"),
        (np.arange(200), "identifier"),
        (np.arange(200) ** 2 * 17, "integer"),
        (np.arange(200) / 7, "float"),
        ((np.arange(200) % 40).astype(float), "integer"),
        ([True, False] * 100, "boolean"),
        (["x", "y", "z", "x"] * 50, "categorical"),
        ([f"u{i}" for i in range(200)], "identifier"),
        ([f"she said {i}" for i in range(200)], "text"),
        ([datetime.date(2000, 1, 1 + i % 28) for i in range(200)], "date"),
        ([datetime.datetime(2000, 1, 1, i % 24) for i in range(200)], "datetime"),
        ([[1, 2]] * 200, "text"),
        ([b"x"] * 200, "text"),
        ([None] * 200, "categorical"),
        ([7] * 200, "categorical"),
        ([2.5] * 200, "float"),
    ],
)
def test_kinds(values, kind):
    assert kinds(column=values)["column"] == kind


def test_every_column_has_a_reason_and_inference_is_deterministic(data):
    for path in sorted(data.glob("*.csv")) + sorted(data.glob("*.parquet")):
        first, second = chaffinch.scan(path), chaffinch.scan(path)
        assert all(column.reason for column in first.schema)
        assert first.schema == second.schema
        assert all(
            a.codec.to_dict() == b.codec.to_dict()
            for a, b in zip(first.schema.modelled, second.schema.modelled, strict=True)
        )


def test_row_order_does_not_change_inference(data):
    import pyarrow.parquet as pq

    table = pq.read_table(data / "adult_train.parquet")
    shuffled = table.take(pa.array(np.random.default_rng(0).permutation(table.num_rows)))
    one, two = chaffinch.read(table).schema, chaffinch.read(shuffled).schema
    for a, b in zip(one.modelled, two.modelled, strict=True):
        assert a.codec.to_dict() == b.codec.to_dict()


def test_a_rare_odd_value_late_in_the_table_counts(tmp_path):
    """A word in the last of 50,000 rows makes a whole-number column mixed: nothing is guessed from a sample."""
    path = tmp_path / "late.csv"
    path.write_text("a,b\n" + "".join(f"{i % 97},x\n" for i in range(50_000)) + "unknown,x\n")
    with pytest.raises(chaffinch.SchemaError, match="Column 'a' mixes numbers and text"):
        chaffinch.read(path)


def test_top_coded_numbers_are_categories(tmp_path):
    path = tmp_path / "top.csv"
    path.write_text("children,b\n" + "".join(f"{i % 4 if i % 5 else '4+'},x{i % 2}\n" for i in range(100)))
    schema = chaffinch.read(path).schema
    assert schema["children"].kind == "categorical"
    assert schema["children"].codec.levels == ("0", "1", "2", "3", "4+")


def test_a_lone_negative_code_is_hinted_at():
    table = chaffinch.read(pa.table({"income": [-8] * 20 + list(range(0, 3000, 10)), "b": ["x", "y"] * 160}))
    assert "missing = [-8]" in table.schema["income"].reason


def test_declared_missing_codes_are_levels_of_their_own():
    from dataclasses import replace

    values = [-8] * 20 + [99] * 15 + list(range(0, 30)) * 10
    frame = pa.table({"x": values, "b": (["p", "q"] * 200)[: len(values)]})
    first = chaffinch.read(frame).schema
    schema = chaffinch.Schema((replace(first["x"], missing=(-8, 99), codec=None), replace(first["b"], codec=None)))
    table = chaffinch.read(frame, schema=schema)
    codec = table.schema["x"].codec
    assert codec.size == codec.n_values + 2
    assert (table.code("x") == codec.size - 2).sum() == 20
    assert (table.code("x") == codec.size - 1).sum() == 15
    out = chaffinch.Table.from_codes(table.schema, [table.codes[0], table.codes[1]], seed=0)
    assert out.data["x"].to_pylist()[:35] == [-8] * 20 + [99] * 15


def test_roles():
    schema = chaffinch.read(pa.table({"a": ["x", "y"] * 9, "b": ["x", "y"] * 9, "c": ["p", "q"] * 9})).schema
    named = schema.with_roles(label="a", sensitive=["b"], keys=["c"])
    assert [column.role for column in named] == ["label", "sensitive", "key"]
    assert named.with_roles(label="c").with_role("label") == ("c",)
    with pytest.raises(chaffinch.InputError, match="cannot be key and label"):
        schema.with_roles(label="a", keys=["a"])
    with pytest.raises(chaffinch.UnknownNameError, match="Unknown column 'd'"):
        schema.with_roles(label="d")


def test_nothing_to_model_is_said():
    with pytest.raises(chaffinch.InputError, match="nothing to model"):
        chaffinch.read(pa.table({"id": range(100), "uuid": [f"x{i}" for i in range(100)]}))
