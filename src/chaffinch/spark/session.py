"""The Spark session, and the check of its workers."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakSet

import pyarrow as pa

from .._base.errors import ClusterError, InputError, MissingExtraError
from .jobs import collect_table, in_our_words, install_sentence

PROBES = 8
"""Tasks of the self-test: workers of one kind are alike, and a job of few tasks is short."""

PATIENCE = 20.0
"""Seconds that the server of a cluster has to answer."""

_fit_sessions: WeakSet[Any] = WeakSet()
"""Sessions whose workers were looked at."""


@dataclass(frozen=True)
class Workers:
    """The versions on workers: of Spark, Python, Chaffinch and the packages that counting needs."""

    spark: str
    python: str
    chaffinch: str
    numpy: str
    pyarrow: str
    numba: str
    machine: str


def spark_functions() -> Any:
    """Return the functions of Spark's columns; MissingExtraError without pyspark."""
    try:
        from pyspark.sql import functions
    except ImportError:
        raise MissingExtraError("Working on Spark", "spark") from None
    return functions


def session_of(frame: Any) -> Any:
    """Return the session of a Spark DataFrame, classic or Connect; InputError for anything else."""
    spark_functions()
    if not hasattr(frame, "mapInArrow") or not hasattr(frame, "sparkSession"):
        raise InputError(
            f"A Spark DataFrame is needed. Got a {type(frame).__name__}: spark.createDataFrame or spark.read makes one."
        )
    return frame.sparkSession


def parallelism(session: Any) -> int:
    """Return the number of parallel tasks of a cluster, if known: on Connect it is not."""
    with suppress(Exception):
        return max(1, int(session.sparkContext.defaultParallelism))
    return 32


def current_session(session: Any = None) -> Any:
    """Return the session given, or else the active one; ClusterError where there is none."""
    if session is not None:
        if not hasattr(session, "createDataFrame"):
            raise InputError(f"A Spark session is needed. Got a {type(session).__name__}.")
        return session
    spark_functions()
    from pyspark.sql import SparkSession

    with in_our_words():
        session = SparkSession.getActiveSession()
    if session is None:
        raise ClusterError(
            "No Spark session is active. Start one (SparkSession.builder.getOrCreate()), or pass it: session=spark."
        )
    return session


@contextmanager
def started_session() -> Iterator[Any]:
    """Yield the active session, or a new one configured by the environment (spark-submit,
    SPARK_REMOTE, spark-defaults.conf; else local) and stopped after the block.

    Raises
    ------
    ClusterError
        If there is no Java, or no cluster where the settings say.
    """
    spark_functions()
    from pyspark.sql import SparkSession

    with in_our_words():
        active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    # Workers of this machine run the driver's Python, unless another is set.
    if not any(
        os.environ.get(name)
        for name in (
            "PYSPARK_PYTHON",
            "PYSPARK_DRIVER_PYTHON",
            "SPARK_REMOTE",
            "PYSPARK_GATEWAY_PORT",
        )
    ):
        os.environ["PYSPARK_PYTHON"] = sys.executable
    _check_remote(os.environ.get("SPARK_REMOTE", ""))
    try:
        builder = SparkSession.builder.appName("chaffinch")
        if sys.stderr is not None and not sys.stderr.isatty():
            builder = builder.config("spark.ui.showConsoleProgress", "false")
        session = builder.getOrCreate()
        if hasattr(session, "_jsc"):
            session.sparkContext.setLogLevel("OFF")  # what Spark logs of a fault quotes values
        else:
            str(session.version)  # Connect connects when it is asked something
    except Exception as error:
        raise _no_cluster(error) from None
    try:
        yield session
    finally:
        with suppress(Exception):
            session.stop()


def _check_remote(address: str) -> None:
    """Raise if no Connect server answers at an address: Spark itself would try for ten minutes."""
    parsed = urlsplit(address)
    if parsed.scheme != "sc" or not parsed.hostname:
        return
    try:
        socket.create_connection((parsed.hostname, parsed.port or 15002), timeout=PATIENCE).close()
    except OSError as error:
        raise _no_cluster(error) from None


def _no_cluster(error: Exception) -> ClusterError:
    """Return our error for a session that could not be started, with Spark's settings and without
    its messages.
    """
    text = f"{type(error).__name__} {error}"
    if (
        "JAVA_GATEWAY_EXITED" in text
        or "JAVA_HOME" in text
        or "Java gateway process exited" in text
    ):
        return ClusterError(
            "Spark could not be started: it needs Java 17, and settings that it understands. Install a JRE (Debian and Ubuntu: default-jre-headless), or set JAVA_HOME."
        )
    return ClusterError(
        f"No Spark cluster could be reached ({_kind(error)}). Look at the address of its master (spark-submit --master, SPARK_REMOTE, spark-defaults.conf), and "
        "whether it runs. Without any of these Spark runs on this machine."
    )


def _kind(error: Exception) -> str:
    inner = getattr(error, "java_exception", None)
    return str(inner.getClass().getSimpleName()) if inner is not None else type(error).__name__


def check_workers(session: Any) -> Workers:
    """Return the versions on the workers of a session; raise ClusterError, with what to install, if
    they cannot count as the driver does.

    One short job, done once a session by whatever needs workers.
    """

    def probe(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Travels by value and imports what it asks for one by one: a worker may have none of it.
        import importlib
        import json
        import platform

        import pyarrow

        for batch in batches:
            versions = {"python": platform.python_version(), "machine": platform.machine()}
            for name in ("chaffinch", "numpy", "pyarrow", "numba"):
                try:
                    versions[name] = str(importlib.import_module(name).__version__)
                except ImportError:
                    versions[name] = ""
            yield pyarrow.RecordBatch.from_arrays(
                [pyarrow.array([json.dumps(versions)] * batch.num_rows)], ["versions"]
            )

    with in_our_words():
        frame = session.range(0, PROBES, 1, PROBES).mapInArrow(probe, "versions string")
        version = str(session.version)
    versions = {
        text: json.loads(text) for text in collect_table(frame).column("versions").to_pylist()
    }
    answers = [Workers(spark=version, **facts) for facts in versions.values()]
    for workers in answers:
        _check(workers)
    _fit_sessions.add(session)
    return answers[0]


def ready(session: Any) -> None:
    """Check the workers of a session, once."""
    if session not in _fit_sessions:
        check_workers(session)


def _check(workers: Workers) -> None:
    import platform

    from .. import __version__

    for name in ("chaffinch", "numpy", "pyarrow", "numba"):
        if not getattr(workers, name):
            raise ClusterError(f"Workers have no package '{name}'. {install_sentence()}")
    if workers.chaffinch != __version__:
        raise ClusterError(
            f"Workers run chaffinch {workers.chaffinch}, the driver {__version__}: counts could differ. {install_sentence()}"
        )
    ours = platform.python_version_tuple()[:2]
    if tuple(workers.python.split(".")[:2]) != ours:
        raise ClusterError(
            f"Workers run Python {workers.python}, the driver {'.'.join(ours)}. {install_sentence()}"
        )
