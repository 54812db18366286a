"""Private fits on Spark: the codes of one machine, noise on the driver, and few rows of a person, which depend on nobody else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch
import chaffinch.spark as cs
from chaffinch.errors import InputError, PrivacyError
from chaffinch.spark.private import EncodeDeclared, first_rows
from chaffinch.spark.rows import SparkRows
from chaffinch.synth.model_file import model_to_bytes

from .conftest import LocalRawFrame


@pytest.fixture(scope="module")
def declared(data):
    return chaffinch.read_schema(data / "cmc_declared.toml")


@pytest.fixture(scope="module")
def prepared(data, declared):
    return chaffinch.prepare(data / "cmc.csv", declared)


@pytest.fixture(scope="module")
def rows(data):
    """The stored cells of the table, as Parquet has them, some of them odd: outside their bounds, missing."""
    table = chaffinch.read(data / "cmc.csv").data
    ages = table.column("wife_age").to_numpy().astype(np.int64).copy()
    ages[:3] = [-5, 999, 2**40]
    gone = np.zeros(len(ages), dtype=bool)
    gone[7] = True
    return table.set_column(0, "wife_age", pa.array(ages, mask=gone))


def test_a_seeded_fit_is_that_of_memory(rows, declared, tmp_path):
    """Codes are those of one machine. The same answers are asked for in the same order, so the same noise is drawn: on the driver, once."""
    pytest.importorskip("opendp")
    table = chaffinch.prepare(rows, declared)
    encode = EncodeDeclared(replace(table.schema, columns=table.schema.modelled))
    place = LocalRawFrame(rows, 5)
    local = SparkRows(place, table.schema, table.n_rows, (encode,), cache=tmp_path)
    coded = local.table()
    assert all((coded.code(name) == table.code(name)).all() for name in table.schema.names)
    settings = chaffinch.BayesNet(epsilon=2.0)
    with local.cached() as held:
        ours, theirs = settings.fit(held.counter(1 << 22), seed=5), settings.fit(table, seed=5)
    assert ours.privacy.test_only
    assert model_to_bytes(ours) == model_to_bytes(theirs)


def test_a_frame_is_fitted_as_its_file_is(spark, rows, declared, tmp_path):
    path = tmp_path / "cmc.parquet"
    pq.write_table(rows, path)
    scanned = cs.prepare(spark.read.parquet(str(path)).repartition(3), declared)
    settings = chaffinch.BayesNet(epsilon=2.0)
    with scanned.coded() as counter:
        ours = settings.fit(counter, seed=5)
    assert model_to_bytes(ours) == model_to_bytes(
        settings.fit(chaffinch.prepare(path, declared), seed=5)
    )
    assert chaffinch.prepare(path, declared).schema.sizes == scanned.schema.sizes


def test_what_is_not_declared_is_refused(spark, declared):
    frame = spark.createDataFrame([(1, "x")], "a int, b string")
    with pytest.raises(PrivacyError, match=r"declared domain|public"):
        cs.prepare(frame, {"a": "integer", "b": "categorical"})
    with pytest.raises(InputError, match=r"lacks|Unknown column"):
        cs.prepare(frame, declared)
    with pytest.raises(InputError, match="rows_per_person must be a whole number"):
        first_rows(frame, "a", 0)
    with pytest.raises(InputError, match="Cast it to text or numbers"):
        first_rows(frame.selectExpr("array(a) as a", "b"), "a", 1)


def kept(frame):
    return sorted(
        (row["id"], row["x"])
        for row in frame.collect()
        if row["id"] is not None and row["id"].strip()
    )


def test_rows_of_a_person_are_few_and_hang_on_nobody_else(spark):
    people = (
        [(f"p{i % 40}", i) for i in range(400)]
        + [(" p1 ", 1000), ("p1\t", 1001)]
        + [(None, i) for i in range(7)]
        + [("  ", 8)] * 3
    )
    frame = spark.createDataFrame(people, "id string, x int").repartition(5)
    limited = first_rows(frame, "id", 3, key="secret")
    assert limited.columns == ["id", "x"]
    rows = limited.collect()
    assert sum(row["id"] is None for row in rows) == 7
    assert sum(row["id"] == "  " for row in rows) == 3
    counts = {}
    for name, _ in kept(limited):
        counts[name.strip()] = counts.get(name.strip(), 0) + 1
    assert counts == {f"p{i}": 3 for i in range(40)}
    without = first_rows(
        frame.where("id <> 'p7' or id is null").repartition(2), "id", 3, key="secret"
    )
    assert kept(without) == [(name, x) for name, x in kept(limited) if name != "p7"]
    assert kept(first_rows(frame, "id", 3, key="other")) != kept(limited)
