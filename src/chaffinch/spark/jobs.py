"""Jobs on Spark: tasks that workers run on Arrow batches, and their errors translated into ours.

What Spark says of a fault quotes values (a text that is no number, a row that was being worked on),
and messages leave a trusted environment more easily than data do. So a worker's fault travels as
its kind and place, or as a sentence of ours, and the driver repeats nothing else.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from .._base import errors
from .._base.errors import ChaffinchError, ClusterError, MissingExtraError
from .._base.runtime import one_thread

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What a worker does with the batches of a partition. Frozen dataclasses of plain values: they
travel.
"""

MANY_MODULES = 20
"""Modules that a worker loads before it settles again."""

_FAULT = re.compile(r"chaffinch-fault (\{.*?\}) end-of-fault")
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_ARROW_TYPES = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "binary": pa.binary(),
    "double": pa.float64(),
    "string": pa.string(),
}


class WorkerError(RuntimeError):
    """The error of a task as it is sent to the driver: its kind and a sentence, and no value."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(
            f"chaffinch-fault {json.dumps({'kind': kind, 'sentence': sentence})} end-of-fault"
        )


def guard_task(task: Task, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a task, run on one thread; any exception becomes an error without
    values.
    """
    try:
        with one_thread():
            yield from task(batches)
    except ChaffinchError as error:
        fault = WorkerError(type(error).__name__, str(error))
    except Exception as error:  # whatever it is, its message may quote a cell
        fault = WorkerError("", f"{type(error).__name__} in {_fault_location(error)}")
    else:
        return
    raise fault from None


def _fault_location(error: Exception) -> str:
    """Return the module and line of our code where an error arose, if known."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "chaffinch" in frame.filename
    ]
    if not frames:
        return "an unknown place"
    tail = frames[-1].filename.replace("\\", "/").rpartition("chaffinch/")[2]
    return f"chaffinch/{tail}, line {frames[-1].lineno}"


def settle() -> bool:
    """Move what a Spark worker has loaded out of the reach of the garbage collector, again after
    much more was loaded; return whether that was done now.

    After each task Spark has a worker that it uses again collect garbage. Where numba and Arrow are
    loaded, that goes through half a million objects that stay anyway: 60 ms of CPU a task, as much
    as counting all pairs of a million and a half rows.
    """
    program = getattr(sys.modules.get("__main__"), "__spec__", None)
    loaded, frozen = len(sys.modules), getattr(settle, "loaded", 0)
    if program is None or not program.name.startswith("pyspark.") or loaded < frozen + MANY_MODULES:
        return False
    gc.collect()
    gc.freeze()
    settle.loaded = loaded  # type: ignore[attr-defined]
    return True


def map_partitions(frame: Any, task: Task, shape: str) -> Any:
    """Return the frame of a task's results for each partition's batches; `shape` has its column
    names and types in Spark's notation.
    """

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from chaffinch.spark.jobs import (
            guard_task,
            settle,
        )  # this function travels by value, what it calls by name

        yield from guard_task(task, batches)
        settle()

    with in_our_words():
        return frame.mapInArrow(work, shape)


def reason(error: OSError) -> str:
    """Return why the system refused a file, without the file's name, which Arrow adds.

    Examples
    --------
    >>> reason(FileNotFoundError(2, "Failed to open local file ..."))
    'No such file or directory'
    """
    return os.strerror(error.errno) if error.errno else "the system refused"


def collect_table(frame: Any) -> pa.Table:
    """Return a small frame as an Arrow table: one job."""
    with in_our_words(), in_one_job(frame):
        if hasattr(frame, "toArrow"):  # Spark 4
            return frame.toArrow()
        rows, types = frame.collect(), frame.dtypes
    return pa.table(
        {
            name: pa.array([_plain(row[name]) for row in rows], _ARROW_TYPES[kind])
            for name, kind in types
        }
    )


ADAPTIVE = "spark.sql.adaptive.enabled"


@contextlib.contextmanager
def in_one_job(frame: Any) -> Iterator[None]:
    """Keep Spark from planning stage by stage (adaptive execution): our shuffles are small, and
    partitions must be the same in every pass.
    """
    session = getattr(frame, "sparkSession", None)
    before = None
    with contextlib.suppress(Exception):  # some clusters let nobody set anything
        before = session.conf.get(ADAPTIVE)  # type: ignore[union-attr]
        session.conf.set(ADAPTIVE, "false")  # type: ignore[union-attr]
    try:
        yield
    finally:
        if before is not None:
            with contextlib.suppress(Exception):
                session.conf.set(ADAPTIVE, before)  # type: ignore[union-attr]


def _plain(cell: Any) -> Any:
    """Return bytes where Spark 3.5 has an array of them; anything else unchanged."""
    return bytes(cell) if isinstance(cell, bytearray) else cell


@contextlib.contextmanager
def in_our_words() -> Iterator[None]:
    """Raise Spark's exceptions in the block as errors of ours, without Spark's messages."""
    try:
        yield
    except ChaffinchError:
        raise
    except Exception as error:
        if not _of_spark(error):
            raise
        ours = translate_error(error)
    else:
        return
    raise ours from None


def _of_spark(error: Exception) -> bool:
    return any(
        kind.__module__.partition(".")[0] in ("pyspark", "py4j", "grpc")
        for kind in type(error).__mro__
    )


def translate_error(error: Exception) -> ChaffinchError:
    """Return our error for a Spark exception: the sentence of a task, a known cause, or the name of
    its condition.
    """
    text = str(error)
    if match := _FAULT.search(text):
        fault = json.loads(match.group(1))
        kind = getattr(errors, fault["kind"], None) if fault["kind"] else None
        if kind is not None and issubclass(kind, ChaffinchError) and kind is not MissingExtraError:
            return kind(fault["sentence"])
        return ClusterError(f"A task on a worker failed: {fault['sentence']}. {_LOOK}")
    if missing := _NO_MODULE.search(text):
        return ClusterError(f"Workers have no package '{missing.group(1)}'. {install_sentence()}")
    if "PYTHON_VERSION_MISMATCH" in text:
        return ClusterError(f"Workers run another Python than the driver. {install_sentence()}")
    return ClusterError(f"A job on Spark failed: {_condition(error)}. {_LOOK}")


_LOOK = "What Spark says of it may hold values of records, and is not repeated here: look into the logs of the driver and the executors."


def install_sentence() -> str:
    """Return the sentence on what to install on workers, and how."""
    import platform

    from .. import __version__

    python = ".".join(platform.python_version_tuple()[:2])
    return (
        f"Install Python {python} with chaffinch[spark]=={__version__} on all workers, or ship the driver's environment with the job (--archives), and "
        "name its Python by spark.pyspark.python or PYSPARK_PYTHON before the session starts."
    )


def _condition(error: Exception) -> str:
    """Return Spark's name of an error condition, or the class of the exception: neither contains
    values.
    """
    for ask in ("getCondition", "getErrorClass"):
        with contextlib.suppress(Exception):
            if name := getattr(error, ask)():
                return str(name)
    with contextlib.suppress(Exception):
        return str(error.java_exception.getClass().getName())  # type: ignore[attr-defined]
    return type(error).__name__
