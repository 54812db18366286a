"""What goes wrong on a cluster changes no count: executors of their own, tasks run twice, executors that die, drivers that die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch.spark import write

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
mapped = jobs.mapped


def with_fault(fault):
    def faulty(frame, task, shape):
        def work(batches):
            from pyspark import TaskContext

            yield from task(batches)
            fault(TaskContext.get())

        return mapped(frame, work, shape)

    for module in (import_module("chaffinch.spark.holding"), counter_module):
        module.mapped = faulty


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
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_GATEWAY")}
    done = subprocess.run(
        [sys.executable, "-c", CLUSTER, str(path), str(cache)], capture_output=True, text=True, timeout=900, env={**environment, "PYSPARK_PYTHON": sys.executable}
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr[-3000:]
    assert [line.split()[:2] for line in lines[:4]] == [["none", "same"], ["failed", "same"], ["straggling", "same"], ["killed", "same"]]
    assert lines[1].endswith("and files of others")  # the task that failed had written its file: it is not read
    assert lines[4] == "['killed']"


DRIVER = '''
import sys, time
from chaffinch.spark import files, write
import chaffinch
from tests.spark.conftest import LocalSession

collected = files.collected
files.collected = lambda frame: (collected(frame), print("written", flush=True), time.sleep(60))[0]
write(chaffinch.load(sys.argv[1]), sys.argv[2], 150_000, seed=8, session=LocalSession(), partitions=2)
'''


def test_a_driver_killed_while_workers_write_leaves_the_old_folder(data, tmp_path):
    """SIGKILL when all files are written and before they are put in place; a later run then replaces the folder."""
    model = chaffinch.BayesNet(parents=1, conditionals="tables").fit(data / "cmc.csv", seed=1)
    model.save(tmp_path / "m.chaffinch")
    out = tmp_path / "out"
    write(model, out, 7, seed=1, session=LocalSession())
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    root = os.fspath(data.parents[1])
    with subprocess.Popen([sys.executable, "-c", DRIVER, str(tmp_path / "m.chaffinch"), str(out)], stdout=subprocess.PIPE, text=True, cwd=root, env={**os.environ, "PYTHONPATH": root}) as driver:
        assert driver.stdout.readline() == "written\n"
        driver.send_signal(signal.SIGKILL)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    write(model, out, 9, seed=1, session=LocalSession())
    assert pa.concat_tables([pq.read_table(path) for path in sorted(out.glob("*.parquet"))]).num_rows == 9
