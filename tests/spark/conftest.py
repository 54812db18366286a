"""A stand-in for Spark's frames, for tests that need no Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from chaffinch.spark.blocks import BLOCK_SHAPE, CHECK, Encode, RowBlocks, schema_text, summed
from chaffinch.spark.counter import RowsSeen, SparkCounter
from chaffinch.table import Table


class LocalFrame:
    """What the counter asks of a Spark frame, in this process: partitions are lists of batches."""

    def __init__(self, parts: list[list[pa.RecordBatch]]) -> None:
        self.parts = parts

    def mapInArrow(self, work: Callable[..., Iterator[pa.RecordBatch]], shape: str) -> LocalFrame:
        names = [part.split()[0] for part in shape.split(", ")]  # as Spark writes shapes
        out = LocalFrame([list(work(iter(part))) for part in self.parts])
        assert all(batch.schema.names == names for part in out.parts for batch in part)
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
                parts[hash(tuple(row.column(name)[0].as_py() for name in names)) % n_parts].append(row)
        return LocalFrame(parts)

    def toArrow(self) -> pa.Table:
        return pa.Table.from_batches([batch for part in self.parts for batch in part])


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


def hashed_rows(table: Table, n_parts: int, *, seed: int = 0) -> LocalFrame:
    """Return the rows of a table with made-up hashes, in partitions of random lengths, some of them empty."""
    rng = np.random.default_rng(seed)
    hashes = pa.array(rng.integers(-(2**63), 2**63 - 1, table.n_rows), pa.int64())
    rows = table.data.append_column(CHECK, hashes).combine_chunks()
    ends = np.sort(rng.integers(0, table.n_rows + 1, n_parts - 1))
    bounds = [0, *ends.tolist(), table.n_rows]
    return LocalFrame([rows.slice(a, b - a).to_batches(max_chunksize=1000) for a, b in pairwise(bounds)])


def local_counter(table: Table, n_parts: int, **options: object) -> SparkCounter:
    """Return a counter of a table in partitions, without Spark."""
    rows = hashed_rows(table, n_parts)
    hashes = [batch.column(CHECK).to_numpy() for part in rows.parts for batch in part]
    seen = RowsSeen(table.n_rows, summed(np.concatenate(hashes) if hashes else np.empty(0, dtype=np.int64)))
    blocks = rows.mapInArrow(Encode(schema_text(table.schema)), BLOCK_SHAPE)
    return SparkCounter(blocks, RowBlocks(), table.schema, seen, **options)  # type: ignore[arg-type]
