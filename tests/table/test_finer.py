"""Finer numbers: the same from a table and from a scan, no level of fewer than ten records, and only where nobody said how to cut."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch.errors import InputError
from chaffinch.table.refit import FINE, finer, finer_scan, on_codes_of


@pytest.fixture
def table() -> pa.Table:
    rng = np.random.default_rng(2)
    pay = np.round(np.exp(rng.normal(5, 1, 3_000)), 2)
    pay[:40] = np.nan
    return pa.table(
        {
            "pay": pa.array(pay, from_pandas=True),
            "age": rng.integers(0, 90, 3_000),
            "w": rng.random(3_000) + 0.5,
            "cut": rng.random(3_000),
        }
    )


def test_levels_are_more_and_hold_ten_records(table):
    coarse = chaffinch.read(table, schema={"cut": {"kind": "float", "bins": 5}, "w": "weight"})
    fine = finer(coarse)
    assert fine.schema == coarse.schema
    assert [
        fine.schema[name].size > coarse.schema[name].size for name in ("pay", "age", "cut")
    ] == [True, True, False]
    assert fine.schema["w"].codec is coarse.schema["w"].codec
    assert fine.schema["pay"].size <= FINE + 1
    for name in ("pay", "age"):
        assert (
            np.bincount(fine.code(name), minlength=fine.schema[name].size).min() >= 9
        )  # an edge is the mean of ten records
    assert finer(fine).code("pay").tolist() == fine.code("pay").tolist()


def test_a_scan_is_cut_alike(table, tmp_path):
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=700)
    fine, scanned = (
        finer(chaffinch.read(tmp_path / "t.parquet")),
        finer_scan(chaffinch.scan(tmp_path / "t.parquet")),
    )
    assert scanned.schema == fine.schema
    for name in fine.schema.names:
        assert scanned.schema[name].codec.to_dict() == fine.schema[name].codec.to_dict()


def test_other_rows_on_the_same_codes(table):
    fine = finer(chaffinch.read(table))
    half = chaffinch.read(table.slice(0, 1_000))
    put = on_codes_of(half, fine.schema, fine.schema.names)
    assert put.code("pay").tolist() == fine.code("pay")[:1_000].tolist()
    assert on_codes_of(fine, fine.schema, fine.schema.names) is fine
    words, others = (
        chaffinch.read(pa.table({"a": levels * 20, "b": ["x", "y"] * 20}))
        for levels in (["p", "q"], ["p", "r"])
    )
    with pytest.raises(InputError, match="'a' has other codes"):
        on_codes_of(words, others.schema, ["a", "b"])
