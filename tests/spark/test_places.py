"""Tables by their places: what is no table is named, and what was there stays until the new is whole."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chaffinch._base.files import overwriting
from chaffinch.errors import ClusterError, FileError
from chaffinch.spark import places as module
from chaffinch.spark.places import (
    MANIFEST,
    check_free,
    is_address,
    local_path,
    read_frame,
    write_frame,
)

SECRET = "4711-secret"


class Fault(Exception):
    """A stand-in for what Spark raises."""


Fault.__module__ = "pyspark.errors"


@pytest.mark.parametrize(
    ("says", "words"),
    [
        ("[PATH_NOT_FOUND] Path does not exist: hdfs://x", "There is no table at 'hdfs:///people'"),
        (
            "[FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER] Could not read footer",
            "There is no table at",
        ),
        ("[CANNOT_MERGE_SCHEMAS] Failed merging schemas", "have different columns or types"),
        ("java.net.UnknownHostException: nowhere", "its host is unknown"),
        ("java.net.ConnectException: Connection refused", "nothing answers there"),
        ('No FileSystem for scheme "nowhere"', "Spark knows no such scheme"),
        (
            "org.apache.hadoop.security.AccessControlException: Permission denied",
            "access is denied",
        ),
    ],
)
def test_what_spark_says_of_a_place_becomes_a_sentence_without_its_words(says, words):
    error = module._no_table("hdfs:///people", Fault(f"{says} {SECRET}"))
    assert isinstance(error, FileError)
    assert words in str(error)
    assert SECRET not in str(error)


def test_other_faults_of_spark_are_those_of_jobs():
    error = module._no_table("hdfs:///people", Fault(SECRET))
    assert isinstance(error, ClusterError)
    assert SECRET not in str(error)


def test_footers_differ_by_columns_and_types_and_not_by_who_wrote_them():
    def shape(name, fields):
        return module._shape(
            f"message {name} {{\n" + "".join(f"  {field};\n" for field in fields) + "}\n"
        )

    same = shape("spark_schema", ["optional int64 x", "required binary y (STRING)"])
    assert shape("schema", ["required int64 x", "optional binary y (STRING)"]) == same
    for other in (
        ["optional int32 x", "required binary y (STRING)"],
        ["optional int64 x"],
        ["optional int64 x", "required binary z (STRING)"],
    ):
        assert shape("schema", other) != same


def test_schemes_are_told_from_paths():
    assert not is_address("people.parquet")
    assert not is_address("/data/a:b")
    assert is_address("hdfs:/people")
    assert local_path("file:/data/x") == local_path("/data/x")


def test_a_place_without_a_table_is_named(spark, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "a.parquet").write_text(SECRET)
    for place in ("absent", "empty", "words"):
        with pytest.raises(FileError, match="There is no table") as found:
            read_frame(spark, str(tmp_path / place))
        assert SECRET not in str(found.value)
    with pytest.raises(FileError, match="Spark knows no such scheme"):
        read_frame(spark, "nowhere://here/people")


def test_a_folder_of_mixed_schemas_is_refused(spark, tmp_path):
    """Spark alone takes the columns of one file: whichever it is, the others' are lost or empty."""
    rows = {"x": [1, 2], "y": ["a", "b"]}
    for name, other in (
        ("fewer", pa.table({"x": [1]})),
        ("more", pa.table({**rows, "z": [1, 2]})),
        ("kinds", pa.table({"x": [0.5], "y": ["a"]})),
    ):
        folder = tmp_path / name
        folder.mkdir()
        pq.write_table(pa.table(rows), folder / "a.parquet")
        pq.write_table(other, folder / "b.parquet")
        with pytest.raises(FileError, match="have different columns or types"):
            read_frame(spark, str(folder))
    alike = tmp_path / "alike"
    alike.mkdir()
    for name in ("a", "b"):
        pq.write_table(pa.table(rows), alike / f"{name}.parquet")
    assert read_frame(spark, f"file:{alike}").count() == 4


def test_text_tables_have_the_types_that_spark_finds_and_one_header(spark, tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("x,y\n1,a\n2,b\n")
    assert read_frame(spark, str(path)).dtypes == [("x", "int"), ("y", "string")]


def test_rows_at_an_address_replace_ours_and_nothing_else_and_a_failed_job_leaves_the_old(
    spark, tmp_path
):
    place = f"file:{tmp_path}/out"
    write_frame(spark, spark.range(5), place, 5)
    assert json.loads((tmp_path / "out" / MANIFEST).read_text())["rows"] == 5
    with pytest.raises(FileError, match="rows of an earlier run"):
        write_frame(spark, spark.range(7), place, 7)
    with overwriting():
        write_frame(spark, spark.range(7), place, 7)
    assert spark.read.parquet(place).count() == 7
    bad = spark.range(3).selectExpr("assert_true(id < 2) as x", "id")
    with overwriting(), pytest.raises(ClusterError):
        write_frame(spark, bad, place, 3)
    assert spark.read.parquet(place).count() == 7
    assert [path.name for path in tmp_path.iterdir() if not path.name.endswith(".crc")] == ["out"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    with pytest.raises(FileError, match="holds other files"):
        check_free(spark, f"file:{tmp_path}/mine")
