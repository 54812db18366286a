"""Drawn rows as Parquet files that workers write themselves, without Spark's own writer.

A task writes a file under a name of its own into a folder beside the one that is asked for. What
Spark took of the answers lists the files that count; the others, of tasks that failed or were run
twice, are removed. Then the folder is renamed into place: until then the old one is untouched.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .._base import files as safe_files
from .._base.errors import ClusterError, FileError
from .._base.seeds import Seed
from ..synth.model import FittedModel
from .drawing import DrawRows, draw_task
from .jobs import collect_table, in_our_words, map_partitions, reason
from .places import MANIFEST, is_address, local_path
from .session import current_session, ready

BATCHES_A_TASK = 16
"""Batches of 65,536 rows that a task draws, unless told otherwise: a file of about a million
rows.
"""

ROWS_SHAPE = "path string, batch long, n long"


@dataclass(frozen=True)
class WrittenRows:
    """The files of written rows: the folder, its files in the order of their rows, and the number
    of rows.
    """

    folder: Path
    files: tuple[Path, ...]
    n_rows: int


@dataclass(frozen=True)
class WriteRows:
    """The task that draws batches of rows by batch number and writes them to a file of its own; its
    answer has a row for each batch.
    """

    rows: DrawRows
    folder: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        path = Path(self.folder) / f"rows-{secrets.token_hex(8)}.parquet"
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        counts: list[int] = []
        writer = None
        try:
            try:
                for table in self.rows.tables(numbers):
                    writer = writer or pq.ParquetWriter(path, table.schema)
                    writer.write_table(table)
                    counts.append(table.num_rows)
            finally:
                if writer is not None:
                    writer.close()
        except OSError as error:
            path.unlink(missing_ok=True)
            raise FileError(
                f"A worker cannot write rows: {reason(error)}. Name a folder that the driver and all workers see under the same path."
            ) from None
        if numbers:
            arrays = [
                pa.array([str(path)] * len(numbers)),
                pa.array(numbers, pa.int64()),
                pa.array(counts, pa.int64()),
            ]
            yield pa.RecordBatch.from_arrays(arrays, ["path", "batch", "n"])


def write(
    model: FittedModel,
    folder: str | os.PathLike[str],
    n_rows: int | None = None,
    *,
    seed: Seed = None,
    session: Any = None,
    partitions: int | None = None,
    overwrite: bool = False,
    paid: bool = False,
) -> WrittenRows:
    """Write new rows to a folder of Parquet files, and return what was written: the rows of
    `model.sample(n_rows, seed=seed)`, in the order of the files.

    `folder`: a path that the driver and all workers see; there may be none yet, an empty one, or
    with `overwrite` one that this function wrote, which is replaced when all is done; never by rows
    that are `paid` for, with a fit of their own under a privacy budget. For other places (hdfs://,
    s3://, tables) let Spark write: `draw(model, n_rows, seed=seed).write`.
    """
    session = current_session(session)
    target = check_folder(folder, overwrite=overwrite, paid=paid)
    task = draw_task(model, n_rows, seed)
    ready(session)
    batches = max(1, -(-task.n_rows // model.batch_rows))
    tasks = min(batches, partitions or -(-batches // BATCHES_A_TASK))
    staging = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        try:
            staging.mkdir(mode=0o700)
            with in_our_words():
                numbers = session.range(0, batches, 1, tasks)
            answer = collect_table(
                map_partitions(numbers, WriteRows(task, str(staging)), ROWS_SHAPE)
            )
            names = _sorted_files(staging, answer, batches=batches, n_rows=task.n_rows)
            check_folder(folder, overwrite=overwrite, paid=paid)  # as it is by now
            _move_into_place(staging, target)
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"Cannot write into '{target}': {reason(error)}.") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return WrittenRows(target, tuple(target / name for name in names), task.n_rows)


def check_folder(
    folder: str | os.PathLike[str], *, overwrite: bool = False, paid: bool = False
) -> Path:
    """Return the checked output folder: other files are never replaced, and rows of an earlier run
    only with `overwrite`.
    """
    if is_address(os.fspath(folder)):
        raise FileError(
            f"'{os.fspath(folder)}' is an address, which Spark writes to and not workers: use draw(model, n_rows, seed=seed).write.parquet(...)."
        )
    target = local_path(os.fspath(folder)).absolute()
    if target.exists() and not target.is_dir():
        raise FileError(f"Cannot write into '{target}': it is a file. Name a folder.")
    if not target.parent.is_dir():
        raise FileError(
            f"Cannot write '{target}': there is no folder '{target.parent}'. Make it first, or name another."
        )
    if target.is_dir() and any(target.iterdir()) and not (target / MANIFEST).is_file():
        raise FileError(
            f"'{target}' holds other files. Name a new folder, or empty it: it would be replaced."
        )
    if target.is_dir() and any(target.iterdir()):
        safe_files.check_free(target, overwrite=overwrite, paid=paid)
    return target


def _sorted_files(staging: Path, answer: pa.Table, *, batches: int, n_rows: int) -> list[str]:
    """Rename the valid files by the order of their rows, remove the others, and write the manifest;
    return the names.
    """
    rows = sorted(answer.to_pylist(), key=lambda row: int(row["batch"]))
    if [row["batch"] for row in rows] != list(range(batches)) or sum(
        row["n"] for row in rows
    ) != n_rows:
        raise ClusterError(
            "Workers wrote other rows than they were asked for: nothing was put in place. Try again."
        )
    paths = list(dict.fromkeys(row["path"] for row in rows))
    if absent := [path for path in paths if not Path(path).is_file()]:
        raise FileError(
            f"{len(absent)} of {len(paths)} files that workers wrote are not there: the folder must be one that the driver and all workers see."
        )
    names = [f"part-{number:05d}.parquet" for number in range(len(paths))]
    for path, name in zip(paths, names, strict=True):
        os.replace(path, staging / name)
    for other in staging.glob("rows-*"):
        other.unlink()
    counts = dict.fromkeys(paths, 0)
    for row in rows:
        counts[row["path"]] += row["n"]
    files = [{"name": name, "rows": counts[path]} for path, name in zip(paths, names, strict=True)]
    text = json.dumps(
        {"format": "chaffinch-rows", "version": 1, "rows": n_rows, "files": files}, indent=1
    )
    (staging / MANIFEST).write_text(text, encoding="utf-8")
    staging.chmod(0o755)
    return names


def _move_into_place(staging: Path, target: Path) -> None:
    """Move a complete folder to its target; an old one is moved aside first, and back if that
    fails.
    """
    old = (
        target.with_name(f".{target.name}.{secrets.token_hex(4)}.old") if target.exists() else None
    )
    if old is not None:
        os.rename(target, old)
    try:
        os.rename(staging, target)
    except OSError:
        if old is not None:
            os.rename(old, target)
        raise
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)
