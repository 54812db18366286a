"""A stand-in for Spark's frames, for tests that need no Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from chaffinch.spark.blocks import BLOCK_SHAPE, CHECK, PART, RowBlocks
from chaffinch.spark.counter import SparkCounter
from chaffinch.spark.rows import (
    EncodeBlocks,
    EncodeCells,
    FrameChunks,
    RawFrame,
    SparkRows,
    SteppedChunks,
    raw_rows,
)
from chaffinch.table import Table

KINDS = {
    "int": pa.int32(),
    "long": pa.int64(),
    "double": pa.float64(),
    "binary": pa.binary(),
    "string": pa.string(),
}


class LocalFrame:
    """What the counter asks of a Spark frame, in this process: partitions are lists of batches."""

    def __init__(self, parts: list[list[pa.RecordBatch]], schema: pa.Schema | None = None) -> None:
        self.parts, self.schema = parts, schema

    def mapInArrow(self, work: Callable[..., Iterator[pa.RecordBatch]], shape: str) -> LocalFrame:
        fields = [field.split() for field in shape.split(", ")]  # as Spark writes shapes
        schema = pa.schema([(name, KINDS[kind]) for name, kind in fields])
        out = LocalFrame([list(work(iter(part))) for part in self.parts], schema)
        assert all(batch.schema.names == schema.names for part in out.parts for batch in part)
        return out

    def unionAll(self, other: LocalFrame) -> LocalFrame:
        return LocalFrame([*self.parts, *other.parts])

    def repartition(self, n_parts: int | str, *names: str) -> LocalFrame:
        if isinstance(n_parts, str):  # as many as Spark likes
            n_parts, names = 3, (n_parts, *names)
        parts: list[list[pa.RecordBatch]] = [[] for _ in range(n_parts)]
        for batch in (batch for part in self.parts for batch in part):
            for i in range(batch.num_rows):
                row = batch.slice(i, 1)
                parts[hash(tuple(row.column(name)[0].as_py() for name in names)) % n_parts].append(
                    row
                )
        return LocalFrame(parts)

    def limit(self, n_rows: int) -> LocalFrame:
        return LocalFrame([self.toArrow().slice(0, n_rows).to_batches()])

    def toArrow(self) -> pa.Table:
        batches = [batch for part in self.parts for batch in part]
        return pa.Table.from_batches(batches) if batches else self.schema.empty_table()


class LocalSession:
    """What drawing asks of a Spark session, in this process."""

    version = "local"
    createDataFrame = None

    def __init__(self) -> None:
        self.jobs = 0

    def range(self, start: int, stop: int, step: int, n_parts: int) -> LocalFrame:
        self.jobs += 1
        numbers = np.array_split(np.arange(start, stop, step), n_parts)
        return LocalFrame([[pa.record_batch({"id": pa.array(own)})] for own in numbers])


class LocalRawFrame(RawFrame):
    """A frame of rows in this process: partitions of an Arrow table, some of them empty."""

    session = LocalSession()

    def __init__(self, rows: pa.Table, n_parts: int, *, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        hashes = pa.array(rng.integers(-(2**63), 2**63 - 1, rows.num_rows))
        bounds = [0, *np.sort(rng.integers(0, rows.num_rows + 1, n_parts - 1)), rows.num_rows]
        numbers = np.repeat(np.arange(n_parts, dtype=np.int32), np.diff(bounds))
        cells = rows.append_column(CHECK, hashes).append_column(PART, pa.array(numbers))
        self.__dict__.update(rows=cells.combine_chunks(), bounds=bounds, counted=None)

    columns = property(lambda self: tuple(self.rows.column_names[:-2]))

    def select(self, names: Sequence[str]) -> LocalFrame:
        rows = self.rows.select([*names, CHECK, PART])
        return LocalFrame(
            [rows.slice(a, b - a).to_batches(max_chunksize=1000) for a, b in pairwise(self.bounds)]
        )


@dataclass(frozen=True, eq=False)
class LocalSparkRows(SparkRows):
    """Rows on Spark in partitions of this process; others that are opened are too."""

    n_parts: int = 1

    @classmethod
    def of(cls, original: Table, n_parts: int, folder: Path) -> LocalSparkRows:
        place, schema = LocalRawFrame(original.data, n_parts), original.schema
        steps = (EncodeCells(schema),)
        return cls(place, schema, original.n_rows, steps, cache=folder, n_parts=n_parts)

    def open(self, other: pa.Table) -> SparkRows:
        return raw_rows(LocalRawFrame(other, self.n_parts + 1, seed=other.num_rows), self.cache)


def encoder(table: Table) -> EncodeBlocks:
    """Return the task that makes blocks of codes of rows, whatever the partitions."""
    return EncodeBlocks(
        SteppedChunks(FrameChunks(table.schema.names), (EncodeCells(table.schema),))
    )


def local_counter(table: Table, n_parts: int, **options: object) -> SparkCounter:
    """Return a counter of a table in partitions, without Spark."""
    rows = LocalRawFrame(table.data, n_parts)
    blocks = rows.select(table.schema.names).mapInArrow(encoder(table), BLOCK_SHAPE)
    return SparkCounter(blocks, RowBlocks(), table.schema, rows.seen, **options)  # type: ignore[arg-type]
