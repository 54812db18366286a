"""Fitting a column: constant, empty, huge and hardly filled ones, and pooled words."""

from __future__ import annotations

import pyarrow as pa
import pytest

import chaffinch
from chaffinch.table import Table


def fails(source, says, kind=chaffinch.errors.ChaffinchError, **options):
    with pytest.raises(kind) as caught:
        chaffinch.read(source, **options)
    assert says in str(caught.value), str(caught.value)


def test_a_million_levels():
    words = pa.array([f"w{i}" for i in range(1_000_100)])
    frame = pa.table({"a": pa.concat_arrays([words, words]), "b": pa.array(["x", "y"] * 1_000_100)})
    schema = chaffinch.Schema(
        (chaffinch.Column("a", "categorical", rare="keep"), chaffinch.Column("b", "categorical"))
    )
    fails(
        frame,
        "Column 'a' has 1,000,100 levels; at most 200,000",
        chaffinch.errors.SchemaError,
        schema=schema,
    )
    table = chaffinch.read(frame)  # without a schema it is free text, and goes
    assert table.schema["a"].kind == "text"


def test_constant_and_empty_columns_work_with_a_sentence():
    table = chaffinch.read(
        pa.table({"c": ["k"] * 20, "n": pa.array([None] * 20, pa.float64()), "x": ["a", "b"] * 10})
    )
    assert sorted(note.what for note in table.notes) == ["constant", "empty"]
    out = chaffinch.Table.from_codes(
        table.schema, [table.codes[j] for j in range(3)], seed=0, like=table
    )
    assert out.to_arrow().equals(table.to_arrow())


SECRET_WORD = "Aurelia Zzyzx"

SECRET_WHOLE = 7654321


@pytest.mark.parametrize("n_records", [1, 2])
def test_a_column_with_hardly_any_numbers_is_made_missing(n_records):
    numbers = [float(SECRET_WHOLE)] * n_records + [None] * (50 - n_records)
    table = chaffinch.read(
        pa.table(
            {"x": pa.array(numbers), "y": ["a", "b"] * 25, "z": pa.array(numbers).cast(pa.int64())}
        )
    )
    out = Table.from_codes(table.schema, [table.codes[j] for j in range(3)], seed=0, like=table)
    assert out.data["x"].null_count == out.data["z"].null_count == 50


def test_a_pooled_word_is_said_without_being_told():
    table = chaffinch.read(pa.table({"w": ["a"] * 20 + [SECRET_WORD], "y": ["p", "q", "r"] * 7}))
    (note,) = table.notes
    assert note.what == "pooled"
    assert SECRET_WORD not in str(note)
    kept = chaffinch.read(
        pa.table({"w": ["a"] * 20 + [SECRET_WORD], "y": ["p", "q", "r"] * 7}), rare="keep"
    )
    assert SECRET_WORD in kept.schema["w"].codec.levels
    assert not kept.notes
