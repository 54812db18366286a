"""A sample on the driver: as large as asked for, the same in any partitions, and equal rows together."""

from __future__ import annotations

import pytest

import chaffinch
import chaffinch.spark as cs
from chaffinch.errors import InputError
from chaffinch.spark import sampling as module
from chaffinch.spark.sampling import sample_rows


def test_a_number_has_to_be_named():
    for rows in (0, -1, 2.5, True, 10**7):
        with pytest.raises(InputError, match="that many records come to the driver"):
            sample_rows([], rows)
    with pytest.raises(InputError, match="a scan or more"):
        sample_rows([], 5)


def test_samples_do_not_depend_on_partitions_and_hold_equal_rows_of_all_tables(spark, monkeypatch):
    """1,000 of 10,000: within 5 standard deviations of 30, but for one chance in a million."""
    rows = spark.createDataFrame([(i, f"w{i % 7}") for i in range(10_000)], "x int, w string")
    schema = chaffinch.read(rows.toPandas()).schema
    scans = [
        cs.scan(frame, schema)
        for frame in (rows.repartition(3), rows.where("x % 2 = 0").repartition(5))
    ]
    first, half = sample_rows(scans, 1000, key="secret")
    assert abs(first.num_rows - 1000) < 150
    chosen = {x for x in first.column("x").to_pylist() if x % 2 == 0}
    assert set(half.column("x").to_pylist()) == chosen
    again, _ = sample_rows([scans[1], scans[0]][::-1], 1000, key="secret")
    assert sorted(again.column("x").to_pylist()) == sorted(first.column("x").to_pylist())
    assert sorted(sample_rows(scans[:1], 1000)[0].column("x").to_pylist()) != sorted(
        first.column("x").to_pylist()
    )
    whole, _ = sample_rows(scans, 10_000)
    assert whole.num_rows == 10_000
    assert chaffinch.read(whole, schema).n_rows == 10_000
    monkeypatch.setattr(module, "_SPAN", 1)
    alike = cs.scan(
        spark.createDataFrame([(1, "a")] * 200 + [(2, "b")] * 200, "x int, w string"),
        {"x": "categorical", "w": "categorical"},
    )
    with pytest.raises(InputError, match="alike so often"):
        module._chosen(alike, 1.0, "k", 50)
