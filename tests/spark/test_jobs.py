"""Faults on workers and in Spark come as sentences of ours, and never with a value."""

from __future__ import annotations

import subprocess
import sys
from typing import ClassVar

import pyarrow as pa
import pytest

from chaffinch.errors import ChaffinchError, ClusterError, FileError, SchemaError
from chaffinch.spark.jobs import (
    WorkerError,
    collect_table,
    guard_task,
    in_our_words,
    map_partitions,
    settle,
    translate_error,
)

SECRET = "4711-secret"


def failing(error: Exception):
    def task(batches):
        yield from batches
        raise error

    return task


class SparkFault(Exception):
    """A stand-in for what pyspark raises: told by its module."""


SparkFault.__module__ = "pyspark.errors"


def test_a_task_gives_its_batches():
    batch = pa.record_batch({"x": [1, 2]})
    assert list(guard_task(lambda batches: batches, iter([batch]))) == [batch]


def test_a_fault_of_a_task_leaves_without_its_message_and_its_cause():
    with pytest.raises(WorkerError, match="ValueError in ") as found:
        list(guard_task(failing(ValueError(SECRET)), iter([])))
    assert SECRET not in str(found.value)
    assert found.value.__suppress_context__
    ours = translate_error(
        SparkFault(f"Traceback ...\nRuntimeError: {found.value}\n\tat org.apache.spark {SECRET}")
    )
    assert isinstance(ours, ClusterError)
    assert "A task on a worker failed: ValueError in" in str(ours)
    assert SECRET not in str(ours)


def test_where_in_our_code_a_fault_arose_is_said():
    from chaffinch.spark.rows import CountRows

    with pytest.raises(WorkerError, match=r"chaffinch/spark/rows\.py, line \d+"):
        list(guard_task(CountRows(), iter([pa.record_batch({"x": [1]})])))


@pytest.mark.parametrize("kind", [SchemaError, FileError])
def test_an_error_of_ours_on_a_worker_is_that_error_on_the_driver(kind):
    with pytest.raises(WorkerError) as found:
        list(guard_task(failing(kind('Column "age" has {odd} values.\nDeclare them.')), iter([])))
    with pytest.raises(kind, match="Declare them"), in_our_words():
        raise SparkFault(f"Job aborted: {found.value} at line 7")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "ModuleNotFoundError: No module named 'pyarrow'",
            "Workers have no package 'pyarrow'. Install Python 3",
        ),
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.8",
            "Workers run another Python than the driver. Install",
        ),
        (
            f"[CAST_INVALID_INPUT] The value '{SECRET}' cannot be cast",
            "A job on Spark failed: SparkFault. What Spark says",
        ),
    ],
)
def test_faults_of_spark_become_sentences(text, words):
    with pytest.raises(ClusterError) as found, in_our_words():
        raise SparkFault(text)
    assert words in str(found.value)
    assert SECRET not in str(found.value)
    assert found.value.__suppress_context__


def test_the_condition_that_spark_names_is_said():
    class Conditioned(SparkFault):
        def getCondition(self):
            return "CAST_INVALID_INPUT"

    assert "A job on Spark failed: CAST_INVALID_INPUT." in str(translate_error(Conditioned(SECRET)))


def test_other_faults_are_left_alone():
    with pytest.raises(KeyError), in_our_words():
        raise KeyError("x")
    with pytest.raises(ChaffinchError, match="as it is"), in_our_words():
        raise SchemaError("as it is")


def test_rows_of_an_older_spark_become_an_arrow_table():
    """Spark 3.5 has no toArrow: rows come with arrays of bytes, and with nothing where a cell is null."""

    class Frame:
        dtypes: ClassVar = [
            ("clique", "int"),
            ("cell", "binary"),
            ("n", "bigint"),
            ("spread", "double"),
            ("path", "string"),
        ]

        def collect(self):
            return [
                {"clique": -1, "cell": bytearray(b"ab"), "n": 3, "spread": 0.5, "path": "x"},
                {"clique": 0, "cell": None, "n": 2**40, "spread": 1.5, "path": None},
            ]

    table = collect_table(Frame())
    assert table.schema.types == [pa.int32(), pa.binary(), pa.int64(), pa.float64(), pa.string()]
    assert table.column("cell").to_pylist() == [b"ab", None]
    assert table.column("n").to_pylist() == [3, 2**40]


def test_importing_the_package_imports_no_pyspark():
    code = "import sys, chaffinch.spark, chaffinch.spark.drawing; print(sorted(m for m in sys.modules if m.split('.')[0] in ('pyspark', 'py4j')))"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


def test_a_failed_cast_in_spark_is_told_without_the_value(spark):
    spark.conf.set("spark.sql.ansi.enabled", "true")
    frame = spark.createDataFrame([(SECRET,)], "x string").selectExpr("cast(x as int) as x")
    with pytest.raises(ClusterError, match="A job on Spark failed") as found:
        collect_table(frame)
    assert SECRET not in str(found.value)


def test_a_fault_on_a_real_worker_is_told_without_the_value(spark):
    def bad(batches):  # inside: workers have no tests, so that it has to travel whole
        list(batches)
        raise ValueError("4711-secret")
        yield

    with pytest.raises(ClusterError, match="A task on a worker failed: ValueError in ") as found:
        collect_table(map_partitions(spark.range(0, 2, 1, 2), bad, "id long"))
    assert SECRET not in str(found.value)


def test_a_worker_settles_once_and_nobody_else_does():
    """In a process that Spark's daemon started what is loaded is frozen after the first task; in any other nothing is."""
    code = (
        "import gc, sys, types\nfrom chaffinch.spark.jobs import settle\nassert not settle()\nassert gc.get_freeze_count() == 0\n"
        "sys.modules['__main__'].__spec__ = types.SimpleNamespace(name='pyspark.daemon')\nassert settle()\nassert gc.get_freeze_count() > 10_000\nassert not settle()\n"
        "sys.modules.update({f'more{i}': sys for i in range(20)})\nassert settle()\n"
    )
    assert not settle()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
