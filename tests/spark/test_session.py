"""The session and its workers: what they lack is said with what to install."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from dataclasses import replace

import pytest

import chaffinch
from chaffinch.errors import ClusterError, InputError, MissingExtraError
from chaffinch.spark import session as module
from chaffinch.spark.session import Workers, _check, check_workers, current_session, session_of

from .conftest import LocalSession

GOOD = Workers(
    "4.0.0",
    ".".join(map(str, sys.version_info[:3])),
    chaffinch.__version__,
    "2.0",
    "17.0",
    "0.60",
    "x86_64",
)


def test_workers_like_the_driver_are_fit():
    _check(GOOD)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"chaffinch": ""}, "Workers have no package 'chaffinch'"),
        ({"numba": ""}, "Workers have no package 'numba'"),
        ({"chaffinch": "0.0.1"}, "Workers run chaffinch 0.0.1, the driver"),
        ({"python": "3.8.1"}, "Workers run Python 3.8.1, the driver"),
    ],
)
def test_what_workers_lack_is_said_with_what_to_install(changes, words):
    with pytest.raises(
        ClusterError, match=r"Install Python 3\.\d+ with chaffinch\[spark\]=="
    ) as found:
        _check(replace(GOOD, **changes))
    assert words in str(found.value)


def test_without_pyspark_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    for call in (lambda: current_session(), lambda: session_of(1)):
        with pytest.raises(
            MissingExtraError,
            match=r"Working on Spark needs an extra: pip install 'chaffinch\[spark\]'",
        ):
            call()


def test_a_session_without_workers_that_fit_is_found_by_the_self_test():
    local = LocalSession()
    assert check_workers(local).chaffinch == chaffinch.__version__
    module.ready(local)
    assert local.jobs == 1


def test_a_cluster_that_is_not_there_is_named_without_what_spark_says(monkeypatch):
    class Fault(Exception):
        pass

    assert "No Spark cluster could be reached (Fault)" in str(
        module._no_cluster(Fault("secret-host"))
    )
    assert "secret" not in str(module._no_cluster(Fault("secret-host")))
    assert "it needs Java" in str(
        module._no_cluster(Fault("[JAVA_GATEWAY_EXITED] Java gateway process exited"))
    )
    module._check_remote("")
    module._check_remote("local[2]")
    with pytest.raises(ClusterError, match="No Spark cluster could be reached"):
        module._check_remote("sc://127.0.0.1:1/;token=x")


def test_a_session_that_is_active_is_taken_and_left(spark):
    with module.started_session() as session:
        assert session is current_session(spark)
    assert spark.range(3).count() == 3


def test_what_is_no_frame_and_no_session_is_named(spark):
    with pytest.raises(InputError, match=r"A Spark DataFrame is needed\. Got a dict"):
        session_of({})
    with pytest.raises(InputError, match=r"A Spark session is needed\. Got a dict"):
        current_session({})
    assert current_session() is current_session(spark)


def test_the_self_test_tells_versions_and_is_done_once(spark, monkeypatch):
    workers = check_workers(spark)
    assert (workers.spark, workers.chaffinch) == (spark.version, chaffinch.__version__)
    monkeypatch.setattr(module, "check_workers", lambda _: pytest.fail("asked twice"))
    module.ready(spark)


def test_workers_without_the_packages_are_found(spark, tmp_path, monkeypatch):
    venv.create(tmp_path / "bare", with_pip=False)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(tmp_path / "bare" / "bin" / "python"))
    with pytest.raises(
        ClusterError, match=r"Workers have no package '(pyarrow|numpy|pandas|chaffinch)'. Install"
    ):
        check_workers(spark)


CONNECT = """
import sys
import numpy as np, pyarrow as pa, chaffinch, chaffinch.spark as cs
from pyspark.sql import SparkSession

spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
table = chaffinch.read(sys.argv[1])
frame = spark.read.parquet(sys.argv[2]).repartition(5)
scanned = cs.scan(frame, table.schema)
with scanned.coded(sys.argv[3]) as counter:
    ours = chaffinch.BayesNet(parents=2).fit(counter, seed=7)
with scanned.coded() as counter:
    assert all(a.same(b) for a, b in zip(counter.marginals([("wife_age", "wife_education")]), chaffinch.MemoryCounter(table).marginals([("wife_age", "wife_education")])))
theirs = chaffinch.BayesNet(parents=2, conditionals="tables").fit(chaffinch.MemoryCounter(table), seed=7)
assert ours.network == theirs.network
drawn = cs.draw(ours, 70_000, seed=8, session=spark, partitions=2).toArrow()
assert drawn.equals(theirs.sample(70_000, seed=8).data.cast(drawn.schema)), drawn.schema
worth = chaffinch.utility(scanned, frame, measures=["jensen_shannon"], seed=1)
assert worth.results["jensen_shannon"].value == 0
attacked = chaffinch.risk(scanned, frame, keys=["wife_age"], sensitive=["contraceptive_method"], attackers=["matching", "exact_row"], resamples=20, seed=1)
assert attacked.memorisation.rows_equal == 1
print(type(spark).__module__, "same")
"""


@pytest.mark.slow
def test_connect_gives_the_same(spark, data, tmp_path):
    """A session of Connect in a process of its own: there is no RDD and no context, and the same network and rows come out."""
    if tuple(map(int, spark.version.split(".")[:1])) < (4,):
        pytest.skip("the package of Spark 3.5 has no Connect server")
    pytest.importorskip("grpc", reason="Connect needs grpcio: pip install 'pyspark[connect]'")
    path = tmp_path / "cmc.parquet"
    chaffinch.read(data / "cmc.csv").write(path)
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")
    }
    command = [sys.executable, "-c", CONNECT, str(path), str(path), str(tmp_path)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**environment, "PYSPARK_PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == "pyspark.sql.connect.session same"
