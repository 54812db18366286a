"""A stand-in for Spark's frames, for tests that need no Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from chaffinch.spark.blocks import BLOCK_SHAPE, CHECK, Encode, RowBlocks, schema_text, summed
from chaffinch.spark.counter import RowsSeen, SparkCounter
from chaffinch.spark.frames import FrameParts, _refuse, _rooms
from chaffinch.spark.parts import FrameRows
from chaffinch.spark.profiles import PART
from chaffinch.table import Table
from chaffinch.table.align import shared_columns
from chaffinch.table.long import LongTable
from chaffinch.table.schema import Schema


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
                parts[hash(tuple(row.column(name)[0].as_py() for name in names)) % n_parts].append(
                    row
                )
        return LocalFrame(parts)

    def limit(self, n_rows: int) -> LocalFrame:
        return LocalFrame([self.toArrow().slice(0, n_rows).to_batches()])

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
    return LocalFrame(
        [rows.slice(a, b - a).to_batches(max_chunksize=1000) for a, b in pairwise(bounds)]
    )


def local_counter(table: Table, n_parts: int, **options: object) -> SparkCounter:
    """Return a counter of a table in partitions, without Spark."""
    rows = hashed_rows(table, n_parts)
    hashes = [batch.column(CHECK).to_numpy() for part in rows.parts for batch in part]
    seen = RowsSeen(
        table.n_rows, summed(np.concatenate(hashes) if hashes else np.empty(0, dtype=np.int64))
    )
    blocks = rows.mapInArrow(Encode(schema_text(table.schema)), BLOCK_SHAPE)
    return SparkCounter(blocks, RowBlocks(), table.schema, seen, **options)  # type: ignore[arg-type]


class LocalRows:
    """What `FrameParts` asks of a frame of rows, in this process: partitions of an Arrow table, some of them empty."""

    def __init__(self, rows: pa.Table, n_parts: int, *, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.rows, self.hashes = rows, rng.integers(-(2**63), 2**63 - 1, rows.num_rows)
        self.bounds = [
            0,
            *np.sort(rng.integers(0, rows.num_rows + 1, n_parts - 1)).tolist(),
            rows.num_rows,
        ]

    def select(self, names: Sequence[str], *, check: bool) -> LocalFrame:
        rows = pa.table(
            [self.rows.column(name).combine_chunks() for name in names],
            [f"c{j}" for j in range(len(names))],
        )
        if check:
            rows = rows.append_column(CHECK, pa.array(self.hashes))
        parts = []
        for number, (a, b) in enumerate(pairwise(self.bounds)):
            own = rows.slice(a, b - a)
            parts.append(
                own.append_column(PART, pa.array(np.full(b - a, number, dtype=np.int32)))
                .combine_chunks()
                .to_batches(max_chunksize=1000)
            )
        return LocalFrame(parts)


@contextmanager
def local_grid(
    original: Table, *others: pa.Table, n_parts: int, folder: Path, seed: int = 0
) -> Iterator[tuple[LongTable, ...]]:
    """Give tables on one grid in partitions of this process: what `frames_on_one_grid` gives of DataFrames."""
    rows = [
        LocalRows(table, n_parts + number, seed=seed + number)
        for number, table in enumerate((original.data, *others))
    ]
    names = ["synthetic", "holdout"][: len(others)]
    found = [
        _rooms(frame, original.schema.modelled, name)
        for name, frame in zip(names, rows[1:], strict=True)
    ]
    shared, schema, notes = shared_columns(original.schema, [one for one, _ in found], {}, names)
    seen = [RowsSeen(original.n_rows, summed(rows[0].hashes)), *(one for _, one in found)]
    with ExitStack() as held:
        yield tuple(
            LongTable(
                schema,
                own.n_rows,
                _refuse,
                _refuse,
                tuple(said),
                remote=FrameParts(
                    frame, FrameRows(schema, tuple(shared), name), own, LocalSession(), folder, held
                ),
            )
            for name, frame, own, said in zip(["", *names], rows, seen, [(), *notes], strict=True)
        )


@dataclass(frozen=True, eq=False)
class LocalOrigin:
    """An original that brings itself and others onto one grid in this process, in partitions."""

    table: Table
    n_parts: int
    folder: Path

    @property
    def schema(self) -> Schema:
        return self.table.schema

    @contextmanager
    def beside(self, *others: pa.Table, progress: object = None) -> Iterator[tuple[LongTable, ...]]:
        with local_grid(self.table, *others, n_parts=self.n_parts, folder=self.folder) as aligned:
            yield aligned


@pytest.fixture
def cells_added_here(monkeypatch):
    """Counts of keys are added up in this process, where Spark's group-by would."""

    def added(cells: LocalFrame) -> LocalFrame:
        total: dict[tuple[int, bytes], int] = {}
        for row in cells.toArrow().to_pylist():
            key = (row["clique"], row["cell"])
            total[key] = total.get(key, 0) + row["n"]
        keys = sorted(total, reverse=True)  # in no order that anybody may count on
        batch = pa.record_batch(
            [
                pa.array([q for q, _ in keys], pa.int32()),
                pa.array([cell for _, cell in keys], pa.binary()),
                pa.array([total[key] for key in keys], pa.int64()),
            ],
            ["clique", "cell", "n"],
        )
        return LocalFrame([[batch]])

    monkeypatch.setattr("chaffinch.spark.frames.added_cells", added)
