"""The cache of a frame's codes between passes: held by Spark, in an address that it writes to, or
in files that workers write and map.
"""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa

from .._base.errors import FileError
from ..table.schema import Schema
from .blocks import BLOCK_SHAPE, FILE_SHAPE, FileBlocks, RowBlocks, WriteBlocks, sum_hashes
from .counter import RowsSeen, SparkCounter
from .jobs import Task, collect_table, in_one_job, in_our_words, map_partitions, reason
from .places import own_folder, remover
from .session import parallelism

UNIT_BLOCKS = 64
"""Blocks that one task reads of a file, at most: one large partition does not hold up the
others.
"""

TASK_BLOCKS = 512
"""Blocks that one task reads, about, where there are more than cores: thirty million records."""


def held_codes(
    rows: Any,
    encode: Task,
    schema: Schema,
    seen: RowsSeen,
    session: Any,
    cache: str | os.PathLike[str] | None,
) -> SparkCounter:
    """Return a counter of the codes that a task encodes from a frame, cached as `SparkScan.coded`
    documents.

    `seen`: how many rows it makes, and the sum of the hashes of those that it makes them of.
    """
    if cache is None:
        return _persist_blocks(map_partitions(rows, encode, BLOCK_SHAPE), schema, seen)
    address = os.fspath(cache)
    if "://" in address or (":/" in address and not Path(address).is_absolute()):
        return _written_by_spark(
            map_partitions(rows, encode, BLOCK_SHAPE), schema, seen, session, address
        )
    return _written_by_workers(rows, encode, schema, seen, session, Path(address))


def _persist_blocks(blocks: Any, schema: Schema, seen: RowsSeen) -> SparkCounter:
    with in_our_words(), in_one_job(blocks):
        persisted = blocks.persist()

    def forget() -> None:
        with in_our_words():
            persisted.unpersist()

    return SparkCounter(persisted, RowBlocks(), schema, seen, on_close=forget)


def _written_by_spark(
    blocks: Any, schema: Schema, seen: RowsSeen, session: Any, address: str
) -> SparkCounter:
    folder = f"{address.rstrip('/')}/chaffinch-codes-{secrets.token_hex(8)}"
    forget = remover(session, blocks, folder, inside="/blocks")
    try:
        with in_our_words(), in_one_job(blocks):
            own_folder(session, folder)
            blocks.write.option("compression", "zstd").parquet(f"{folder}/blocks")
            written = session.read.parquet(f"{folder}/blocks")
        return SparkCounter(written, RowBlocks(), schema, seen, on_close=forget)
    except BaseException:
        forget()
        raise


def _written_by_workers(
    rows: Any, encode: Task, schema: Schema, seen: RowsSeen, session: Any, parent: Path
) -> SparkCounter:
    if not parent.is_dir():
        raise FileError(
            f"There is no folder '{parent}' for the code cache. Make it first, where the driver and all workers see it."
        )
    folder = parent.absolute() / f"chaffinch-codes-{secrets.token_hex(8)}"
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise FileError(f"Cannot write the code cache into '{parent}': {reason(error)}.") from None

    def forget() -> None:
        shutil.rmtree(folder, ignore_errors=True)

    try:
        files = collect_table(
            map_partitions(rows, WriteBlocks(encode, str(folder)), FILE_SHAPE)
        ).sort_by([("first_row", "ascending"), ("path", "ascending")])
        written = RowsSeen(
            sum(files.column("n").to_pylist()), sum_hashes(files.column("checksum").to_numpy())
        )
        seen.check(written)
        blocks = FileBlocks(_units(files))
        tasks = _tasks(
            len(blocks.units),
            sum(stop - first for _, first, stop in blocks.units),
            parallelism(session),
        )
        with in_our_words():
            numbers = session.range(0, len(blocks.units), 1, tasks)
    except BaseException:
        forget()
        raise
    return SparkCounter(numbers, blocks, schema, seen, n_tasks=tasks, on_close=forget)


def _tasks(n_units: int, n_blocks: int, cores: int) -> int:
    """Return the number of tasks that read the files or parts of files: one for each core, more
    where that is too much for one; starting a task costs as much as counting a million rows.
    """
    return max(1, min(n_units, max(cores, -(-n_blocks // TASK_BLOCKS))))


def _units(files: pa.Table) -> tuple[tuple[str, int, int], ...]:
    """Return the units that tasks read: files, or parts of large ones."""
    return tuple(
        (path, first, min(first + UNIT_BLOCKS, blocks))
        for path, blocks in zip(
            files.column("path").to_pylist(), files.column("blocks").to_pylist(), strict=True
        )
        for first in range(0, blocks, UNIT_BLOCKS)
    )
