"""A scan gives the codes that reading the whole file gives, batch by batch."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.table.formats import delimited, parquet

ROWS = {"sex": ["f", "m", "f"] * 40, "age": list(range(120)), "weight": [0.5, 1.5] * 60}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_batches_have_the_codes_of_the_table(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(parquet, "BATCH_ROWS", 7)
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 200)
    whole = chaffinch.read(pa.table(ROWS))
    whole.write(tmp_path / f"t.{ending}")
    scanned = chaffinch.scan(tmp_path / f"t.{ending}", schema=whole.schema)
    assert scanned.n_rows == 120
    batches = list(scanned.batches(weight="weight"))
    assert len(batches) > 1
    for j, name in enumerate(whole.schema.names):
        np.testing.assert_array_equal(
            np.concatenate([batch.codes[j] for batch in batches]), whole.code(name)
        )
    np.testing.assert_array_equal(
        np.concatenate([batch.weights for batch in batches]), ROWS["weight"]
    )
    one = list(scanned.batches(columns=["sex"]))
    assert all(
        not batch.codes[1].any() for batch in one
    )  # columns that were not asked for are all 0
    assert sum(batch.codes.n_rows for batch in scanned.batches(columns=[])) == 120


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("rows", [1, 50, 120, 1000])
def test_tables_of_a_scan_are_slices_of_what_read_gives(tmp_path, monkeypatch, ending, rows):
    whole = chaffinch.read(pa.table(ROWS))
    whole.write(tmp_path / f"t.{ending}")
    whole = chaffinch.read(tmp_path / f"t.{ending}")
    monkeypatch.setattr(parquet, "BATCH_ROWS", 7)
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 200)
    parts = list(chaffinch.scan(tmp_path / f"t.{ending}").tables(rows))
    assert [part.n_rows for part in parts] == [
        min(rows, 120 - start) for start in range(0, 120, rows)
    ]
    assert pa.concat_tables([part.data for part in parts]).equals(whole.data)
    for name in whole.schema.names:
        np.testing.assert_array_equal(
            np.concatenate([part.code(name) for part in parts]), whole.code(name)
        )
