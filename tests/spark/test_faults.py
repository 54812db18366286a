"""What goes wrong on a cluster changes no count: executors of their own, tasks run twice, executors that die, drivers that die."""

from __future__ import annotations

import os
import shutil
import signal
import site
import subprocess
import sys
import time
import venv
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch
import chaffinch.spark as cs
from chaffinch.errors import ChaffinchError, ClusterError
from chaffinch.spark import write
from chaffinch.spark.session import check_workers
from chaffinch.table.domain import same_codes

from .conftest import LocalSession

CLUSTER = '''
import os, sys
from importlib import import_module
from itertools import combinations

import chaffinch, chaffinch.spark as cs
from chaffinch.spark import counter as counter_module, jobs
from pyspark.sql import SparkSession

path, folder = sys.argv[1:]
options = {"ui.enabled": "false", "sql.shuffle.partitions": "2", "driver.bindAddress": "127.0.0.1", "driver.host": "127.0.0.1", "executor.memory": "512m",
    "speculation": "true", "speculation.interval": "100ms", "speculation.quantile": "0.5", "speculation.multiplier": "1.5", "speculation.minTaskRuntime": "100ms",
    "ui.showConsoleProgress": "false"}
builder = SparkSession.builder.master("local-cluster[2,1,1024]")
for name, value in options.items():
    builder = builder.config(f"spark.{name}", value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("OFF")
table = chaffinch.read(path)
pairs = list(combinations(table.schema.names, 2))
want = chaffinch.MemoryCounter(table).marginals(pairs)
scanned = cs.scan(spark.read.parquet(path).repartition(4), table.schema)
mapped = jobs.map_partitions


def with_fault(fault):
    def faulty(frame, task, shape):
        def work(batches):
            from pyspark import TaskContext

            yield from task(batches)
            fault(TaskContext.get())

        return mapped(frame, work, shape)

    for module in (import_module("chaffinch.spark.holding"), counter_module):
        module.map_partitions = faulty


def none(task):
    pass


def failed(task):
    if task.attemptNumber() == 0 and task.partitionId() == 0:
        raise RuntimeError("fails after its answer was given")


def straggling(task):
    import time

    if task.attemptNumber() == 0 and task.partitionId() == 0:
        time.sleep(20)


def killed(task):
    """The executor, the parent of the daemon that forks workers, dies with the answer given and not yet taken."""
    import os, signal, time

    if task.partitionId() == 1:
        try:
            os.close(os.open(f"{folder}/killed", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        executor = int(open(f"/proc/{os.getppid()}/stat").read().rpartition(")")[2].split()[1])
        os.kill(executor, signal.SIGKILL)
        time.sleep(60)


for fault in (none, failed, straggling, killed):
    with_fault(fault)
    with scanned.coded(folder) as counter:
        written = os.listdir(os.path.dirname(counter.source.units[0][0]))
        assert all(ours.same(theirs) for ours, theirs in zip(counter.marginals(pairs), want, strict=True)), fault.__name__
    print(fault.__name__, "same", "" if len(written) == len({unit[0] for unit in counter.source.units}) else "and files of others", flush=True)
print(os.listdir(folder))
spark.stop()
'''


@pytest.mark.slow
def test_real_executors_that_fail_straggle_and_die_change_no_count(spark, data, tmp_path):
    """Two executors in processes of their own, and speculation: of each fault counts are those of memory, and no file of codes stays."""
    path, cache = tmp_path / "cmc.parquet", tmp_path / "cache"
    chaffinch.read(data / "cmc.csv").write(path)
    cache.mkdir()
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_GATEWAY")
    }
    done = subprocess.run(
        [sys.executable, "-c", CLUSTER, str(path), str(cache)],
        capture_output=True,
        text=True,
        timeout=900,
        env={**environment, "PYSPARK_PYTHON": sys.executable},
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr[-3000:]
    assert [line.split()[:2] for line in lines[:4]] == [
        ["none", "same"],
        ["failed", "same"],
        ["straggling", "same"],
        ["killed", "same"],
    ]
    assert lines[1].endswith(
        "and files of others"
    )  # the task that failed had written its file: it is not read
    assert lines[4] == "['killed']"


DRIVER = """
import sys, time
from chaffinch.spark import files, write
import chaffinch
from tests.spark.conftest import LocalSession

collect_table = files.collect_table
files.collect_table = lambda frame: (collect_table(frame), print("written", flush=True), time.sleep(60))[0]
write(chaffinch.load(sys.argv[1]), sys.argv[2], 150_000, seed=8, session=LocalSession(), partitions=2, overwrite=True)
"""


def test_a_driver_killed_while_workers_write_leaves_the_old_folder(data, tmp_path):
    """SIGKILL when all files are written and before they are put in place; a later run then replaces the folder."""
    model = chaffinch.BayesNet(parents=1, conditionals="tables").fit(data / "cmc.csv", seed=1)
    model.save(tmp_path / "m.chaffinch")
    out = tmp_path / "out"
    write(model, out, 7, seed=1, session=LocalSession())
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    root = os.fspath(data.parents[1])
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(tmp_path / "m.chaffinch"), str(out)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": root},
    ) as driver:
        assert driver.stdout.readline() == "written\n"
        driver.send_signal(signal.SIGKILL)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    write(model, out, 9, seed=1, session=LocalSession(), overwrite=True)
    assert (
        pa.concat_tables([pq.read_table(path) for path in sorted(out.glob("*.parquet"))]).num_rows
        == 9
    )


@pytest.mark.slow
def test_a_driver_on_spark_that_is_killed_while_workers_write_leaves_the_old_folder(
    spark, data, tmp_path
):
    """The command itself, with a session of its own: SIGKILL as soon as workers have begun a file; JVM and workers go with the driver, and what they wrote is in no place that counts."""
    model = chaffinch.BayesNet(parents=1, conditionals="tables").fit(data / "cmc.csv", seed=1)
    model.save(tmp_path / "m.chaffinch")
    out = tmp_path / "out"
    write(model, out, 7, seed=1, session=spark)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYSPARK", "SPARK"))
    }
    command = [
        sys.executable,
        "-m",
        "chaffinch",
        "sample",
        str(tmp_path / "m.chaffinch"),
        "-o",
        str(out),
        "-n",
        "2e7",
        "--engine",
        "spark",
        "--seed",
        "2",
        "--overwrite",
    ]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    ) as driver:
        stop = time.monotonic() + 180
        while not list(tmp_path.glob(".out.*.part/rows-*")) and time.monotonic() < stop:
            assert driver.poll() is None, "it ended before it wrote"
            time.sleep(0.05)
        driver.send_signal(signal.SIGKILL)
    assert list(tmp_path.glob(".out.*.part/rows-*"))  # it was writing
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    write(model, out, 9, seed=1, session=spark, overwrite=True)
    assert (
        pa.concat_tables([pq.read_table(path) for path in sorted(out.glob("*.parquet"))]).num_rows
        == 9
    )


# Data that are unevenly spread.


def test_skew_changes_nothing(spark, tmp_path):
    """All rows in one partition of seven, nearly all of them with one level: codecs, counts and sparse tables are those of memory."""
    rng = np.random.default_rng(1)
    n = 3000
    rows = pa.table(
        {
            "word": np.where(rng.random(n) < 0.995, "all", rng.choice(["x", "y"], n)),
            "number": np.where(rng.random(n) < 0.99, 5, rng.integers(0, 900, n)),
            "wide": rng.integers(0, 400, n),
        }
    )
    pq.write_table(rows, tmp_path / "rows.parquet")
    from pyspark.sql import functions

    frame = spark.read.parquet(str(tmp_path / "rows.parquet")).repartition(
        7, functions.expr("number * 0")
    )
    assert sorted(row["n"] for row in frame.mapInArrow(_rows_of_partition, "n long").collect())[
        -2:
    ] == [0, n]
    table, scanned = chaffinch.read(rows), cs.scan(frame)
    assert all(
        same_codes(ours.codec, theirs.codec)
        for ours, theirs in zip(scanned.schema, table.schema, strict=True)
    )
    pairs = list(combinations(table.schema.names, 2))
    (tmp_path / "cache").mkdir()
    for cache in (None, tmp_path / "cache"):
        with scanned.coded(cache) as counter:
            assert all(
                ours.same(theirs)
                for ours, theirs in zip(
                    counter.marginals(pairs),
                    chaffinch.MemoryCounter(table).marginals(pairs),
                    strict=True,
                )
            )
    assert list((tmp_path / "cache").iterdir()) == []


def _rows_of_partition(batches):
    yield pa.record_batch({"n": [sum(batch.num_rows for batch in batches)]})


def test_a_frame_that_changes_while_it_is_measured_is_refused(spark, tmp_path):
    """As many rows each time, and other values."""
    pq.write_table(
        pa.table({"a": ["x", "y"] * 100, "b": list(range(200))}), tmp_path / "rows.parquet"
    )
    whole = spark.read.parquet(str(tmp_path / "rows.parquet"))

    def shuffled(batches):
        import numpy as np

        for batch in batches:
            yield batch.set_column(
                0, "a", batch.column(0).take(np.random.default_rng().permutation(batch.num_rows))
            )

    with pytest.raises(ClusterError, match="as many rows, but other values"):
        chaffinch.utility(
            cs.scan(whole), whole.mapInArrow(shuffled, whole.schema), measures=["tvd"], seed=1
        )


# Workers of another kind.


def other_environment(folder: Path, version: str) -> Path:
    """Return the Python of an environment that has the packages of this one, but another release of Chaffinch."""
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "chaffinch").mkdir()
    (packages / "chaffinch" / "__init__.py").write_text(f'__version__ = "{version}"\n')
    (packages / "others.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return folder / "bin" / "python"


def test_workers_with_another_chaffinch_are_found_by_the_first_job(spark, tmp_path, monkeypatch):
    """A worker process of another environment, started by Spark: its release is named before anything is counted."""
    monkeypatch.setattr(
        spark.sparkContext, "pythonExec", str(other_environment(tmp_path / "other", "0.0.1"))
    )
    with pytest.raises(
        ClusterError,
        match=rf"Workers run chaffinch 0\.0\.1, the driver {chaffinch.__version__}: counts could differ. Install Python \d\.\d+ with chaffinch\[spark\]==",
    ):
        check_workers(spark)


def test_workers_with_another_python_are_found_by_the_first_job(spark, tmp_path, monkeypatch):
    ours = f"python3.{sys.version_info.minor}"
    names = [
        name for name in ("python3.10", "python3.12", "python3.13", "python3.14") if name != ours
    ]
    there = [
        *(shutil.which(name) for name in names),
        *(
            str(path)
            for name in names
            for path in Path.home().glob(f".pyenv/versions/*/bin/{name}")
        ),
    ]
    others = [python for python in there if python is not None and _starts(python)]
    if not others:
        pytest.skip("there is no other Python on this machine")
    wrapper = tmp_path / "python"
    wrapper.write_text(
        f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{":".join(site.getsitepackages())}" exec {others[0]} "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(wrapper))
    with pytest.raises(
        ClusterError,
        match=r"Workers (run another Python|run Python 3\.\d+|have no package).*Install Python",
    ):
        check_workers(spark)


def _starts(python: str) -> bool:
    return (
        subprocess.run([python, "-c", "import sys"], capture_output=True, check=False).returncode
        == 0
    )


OTHER_WORKERS = """
import sys
import chaffinch.spark as cs
from chaffinch.errors import ClusterError
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local-cluster[1,1,1024]").config("spark.executor.memory", "512m").config("spark.ui.enabled", "false")
spark = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
try:
    cs.scan(spark.range(100).selectExpr("id % 3 as a", "id % 5 as b"))
except ClusterError as error:
    print(error)
spark.stop()
"""


@pytest.mark.slow
def test_executors_with_another_chaffinch_are_named_before_a_row_is_read(spark, tmp_path):
    """An executor in a process of its own, whose Python is that of another environment."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYSPARK", "SPARK"))
    }
    environment |= {
        "PYSPARK_PYTHON": str(other_environment(tmp_path / "other", "0.0.1")),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    done = subprocess.run(
        [sys.executable, "-c", OTHER_WORKERS],
        capture_output=True,
        text=True,
        timeout=400,
        env=environment,
        check=False,
    )
    assert "Workers run chaffinch 0.0.1, the driver" in done.stdout, done.stderr[-2000:]


# What workers say of a cell that they cannot read.


def test_a_bad_cell_is_named_by_its_column_and_never_by_its_value(spark, tmp_path):
    secret = "4711-secret"
    rows = [(str(i % 7), "x" if i % 2 else "y") for i in range(200)] + [(secret, "x")]
    frame = spark.createDataFrame(rows, "age string, sex string").repartition(3)
    with pytest.raises(ChaffinchError) as found:
        cs.scan(frame, {"age": "integer"}).coded(tmp_path)
    text = f"{found.value} {found.value.__cause__} {found.value.__context__ if not found.value.__suppress_context__ else ''}"
    assert secret not in text
    assert "age" in str(found.value) or "worker failed" in str(found.value)
