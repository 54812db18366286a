"""Rows on Spark (`table.rows.Rows`): tasks and steps are sent to workers, and summaries, counts or
a sample come back.

Workers know the number of every row. A first pass tells how many rows each partition has, and rows
are numbered one partition after another, so that groups, samples and references are those of one
machine that reads the rows in that order. Every later pass checks that partitions have the rows
that they had.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from math import inf
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from .._base.errors import InputError, join_names
from .._base.runtime import T
from ..counts.counter import Counter
from ..counts.marginal import Marginal
from ..table.code_cache import codes_of_block
from ..table.codes import Codes
from ..table.domain import encode_column
from ..table.fit_schema import parse_columns
from ..table.rows import RAW, Draw, Names, Rows, RowsOutOfMemory, Step, Task, join_tables
from ..table.schema import Note, Schema
from ..table.table import Table
from ..table.text import spelling_of
from .blocks import (
    BLOCK_ROWS,
    CHECK,
    PART,
    BlockSource,
    block_of,
    hash_rows,
    regroup_batches,
    sum_hashes,
)
from .counter import PartitionRows, RowsSeen, SparkCounter
from .holding import held_codes
from .jobs import collect_table, in_our_words, map_partitions
from .session import parallelism, session_of

SUMMARY_SHAPE = "first_row long, n long, checksum long, summary binary"
COUNT_SHAPE = "part int, n long, checksum long"

CHUNKS_A_TASK = 16
"""Chunks that a task draws, at most, where there are more than cores."""

REMEMBERED_CELLS = 1 << 23
"""Cells of marginals of a table that are kept, at most, since measures ask for those of the
original once for each table beside it.
"""

_NO_VALUES = pa.table({})


# On workers.


class ChunkReader(Protocol):
    """A picklable function from the batches of a partition to chunks, each with its row count and
    hashes.
    """

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Table, RowsSeen]]: ...


@dataclass(frozen=True, eq=False)
class FrameChunks:
    """Chunks of a frame's raw rows. Without `partitions`, rows are numbered within each partition
    and not compared with another pass.
    """

    names: tuple[str, ...]
    partitions: PartitionRows | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Table, RowsSeen]]:
        """Return the chunks of this partition."""
        total, number = RowsSeen(0, 0), 0
        for batch in regroup_batches(batches, BLOCK_ROWS):
            number = batch.column(PART)[0].as_py()
            first_row = self.partitions.first_rows.get(number, 0) if self.partitions else 0
            cells = pa.Table.from_arrays(batch.columns[: len(self.names)], list(self.names))
            codes = Codes.from_columns([], [], n_rows=batch.num_rows)
            seen = RowsSeen(batch.num_rows, sum_hashes(batch.column(CHECK).to_numpy()))
            yield Table(RAW, cells, codes, first_row=first_row + total.n_rows), seen
            total += seen
        if self.partitions and total.n_rows:
            self.partitions.check(number, total)


@dataclass(frozen=True, eq=False)
class DrawnChunks:
    """Chunks drawn by chunk number."""

    draw: Draw

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Table, RowsSeen]]:
        """Return the chunks whose numbers this partition has."""
        for numbers in batches:
            for number in numbers.column(0).to_pylist():
                chunk = self.draw(number)
                yield chunk, RowsSeen(chunk.codes.n_rows, 0)


@dataclass(frozen=True, eq=False)
class BlockChunks:
    """Chunks of the codes in blocks."""

    source: BlockSource
    schema: Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Table, RowsSeen]]:
        """Return the chunks of this partition's blocks."""
        for blocks in self.source.read(batches):
            numbers = zip(
                blocks["first_row"].to_pylist(), blocks["checksum"].to_pylist(), strict=True
            )
            for index, (first_row, checksum) in enumerate(numbers):
                codes = codes_of_block(blocks, self.schema.sizes, index)
                chunk = Table(self.schema, _NO_VALUES, codes, first_row=first_row)
                yield chunk, RowsSeen(codes.n_rows, checksum)


@dataclass(frozen=True, eq=False)
class SteppedChunks:
    """The chunks of a reader after some steps."""

    reader: ChunkReader
    steps: tuple[Step, ...] = ()

    def stepped(self, chunk: Table) -> Table:
        """Return a chunk after all steps."""
        for step in self.steps:
            chunk = step(chunk)
        return chunk


@dataclass(frozen=True, eq=False)
class EncodeBlocks:
    """Encodes chunks as blocks of codes: a task, and a source of blocks that are counted without
    being stored.
    """

    chunks: SteppedChunks

    def read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the blocks of this partition."""
        for source, seen in self.chunks.reader(batches):
            chunk = self.chunks.stepped(source)
            yield block_of(chunk.codes, seen.checksum, chunk.first_row)

    __call__ = read


@dataclass(frozen=True, eq=False)
class Summarise:
    """The task that summarises the chunks of a partition: one summary for each run of consecutive
    chunks, as blocks may come in any order.
    """

    chunks: SteppedChunks
    task: Task[Any]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _, run in groupby(self.chunks.reader(batches), _run_numbers()):
            chunks = _SeenChunks(run)
            summary = self.task.summary(map(self.chunks.stepped, chunks))
            for _chunk in chunks:
                pass  # what the task did not look at is counted and compared all the same
            seen, first_row = chunks.seen, chunks.first_row
            numbers = [pa.array([n]) for n in (first_row, seen.n_rows, seen.checksum)]
            yield pa.RecordBatch.from_arrays(
                [*numbers, pa.array([packed_table(summary)], pa.binary())],
                ["first_row", "n", "checksum", "summary"],
            )


def _run_numbers() -> Callable[[tuple[Table, RowsSeen]], int]:
    """Return a function that numbers chunks by run: the number of their first row minus the rows
    before.
    """
    before = 0

    def number(chunk: tuple[Table, RowsSeen]) -> int:
        nonlocal before
        offset = chunk[0].first_row - before
        before += chunk[0].codes.n_rows
        return offset

    return number


class _SeenChunks:
    """An iterator of chunks that records the number of their rows and hashes."""

    def __init__(self, chunks: Iterable[tuple[Table, RowsSeen]]) -> None:
        self.chunks, self.seen, self.first_row = iter(chunks), RowsSeen(0, 0), -1

    def __iter__(self) -> Iterator[Table]:
        for chunk, seen in self.chunks:
            self.first_row = chunk.first_row if self.first_row < 0 else self.first_row
            self.seen += seen
            yield chunk


@dataclass(frozen=True)
class CountRows:
    """The task that counts the rows of a partition and sums their hashes."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen, number = RowsSeen(0, 0), 0
        for batch in batches:
            number = batch.column(PART)[0].as_py() if batch.num_rows else number
            seen += RowsSeen(batch.num_rows, sum_hashes(batch.column(CHECK).to_numpy()))
        if seen.n_rows:
            counts = [pa.array([count]) for count in (seen.n_rows, seen.checksum)]
            yield pa.RecordBatch.from_arrays(
                [pa.array([number], pa.int32()), *counts], ["part", "n", "checksum"]
            )


def packed_table(table: pa.Table) -> bytes:
    """Return a table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def unpacked_table(raw: bytes) -> pa.Table:
    """Return the table from its bytes."""
    with pa.ipc.open_stream(raw) as reader:
        return reader.read_all()


@dataclass(frozen=True, eq=False)
class EncodeCells(Step):
    """Encodes raw cells under a fitted schema."""

    schema: Schema

    def __call__(self, chunk: Table) -> Table:
        columns = tuple(c for c in self.schema if c.name in chunk.data.column_names)
        schema = replace(self.schema, columns=columns)
        values = parse_columns(chunk.data, {c.name: spelling_of(c) for c in columns}, text=False)
        codes = [encode_column(column, *values[column.name]) for column in schema.modelled]
        data = pa.table({name: cells for name, (cells, _) in values.items()})
        return replace(
            chunk,
            schema=schema,
            data=data,
            codes=Codes.from_columns(codes, schema.sizes, n_rows=chunk.n_rows),
        )


@dataclass(frozen=True, eq=False)
class CollectRows:
    """Collects rows on the driver, values and codes: from each partition no chunks after more than
    `limit` rows.
    """

    schema: Schema
    limit: float

    columns = None
    values = True

    def summary(self, chunks: Iterator[Table]) -> pa.Table:
        """Return the values and codes of chunks as columns of one table."""
        tables, n_rows = [self._empty()], 0
        for chunk in chunks:
            if chunk.n_rows or not tables[0].columns:
                tables = [*(table for table in tables if table.n_rows), chunk]
            n_rows += chunk.n_rows
            if n_rows > self.limit:
                break
        rows = join_tables(tables)
        codes = [pa.array(rows.codes[j]) for j in range(len(rows.codes))]
        return pa.table(
            [*rows.data.columns, *codes],
            [*rows.data.column_names, *(f"code {j}" for j in range(len(codes)))],
        )

    def result(self, summaries: Iterator[pa.Table]) -> Table:
        """Return the rows of all partitions."""
        tables = [self._table(summary) for summary in summaries]
        return join_tables([table for table in tables if table.n_rows] or tables[:1])

    def _table(self, summary: pa.Table) -> Table:
        width = summary.num_columns - len(self.schema.sizes)
        codes = [column.to_numpy() for column in summary.columns[width:]]
        return Table(
            self.schema, summary.select(range(width)), Codes.from_columns(codes, self.schema.sizes)
        )

    def _empty(self) -> Table:
        nothing = [np.zeros(0, dtype=np.uint8)] * len(self.schema.sizes)
        return Table(self.schema, _NO_VALUES, Codes.from_columns(nothing, self.schema.sizes))


# On the driver.


class RowSource(Protocol):
    """The source of rows: a frame, and the reader of its partitions."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def session(self) -> Any: ...

    @property
    def seen(self) -> RowsSeen:
        """The rows and hashes that every pass must have."""

    def read(self, columns: Names) -> tuple[Any, ChunkReader]:
        """Return a frame with the columns that the named ones need, and the reader of its
        chunks.
        """


@dataclass(frozen=True, eq=False)
class RawFrame:
    """The raw rows of a DataFrame. `counted`: the rows of a first pass; None: one job counts them
    when needed.
    """

    frame: Any
    counted: PartitionRows | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.frame.columns)

    @property
    def session(self) -> Any:
        """The session of the frame."""
        return session_of(self.frame)

    @property
    def seen(self) -> RowsSeen:
        """The rows and hashes that every pass must have."""
        return self.partitions.total

    @cached_property
    def partitions(self) -> PartitionRows:
        """The rows and hashes of each partition in the first pass."""
        if self.counted is not None:
            return self.counted
        answer = collect_table(
            map_partitions(self.select(()), CountRows(), COUNT_SHAPE)
        ).to_pylist()
        return PartitionRows({row["part"]: RowsSeen(row["n"], row["checksum"]) for row in answer})

    def select(self, names: Sequence[str]) -> Any:
        """Return the named columns with row hashes and partition numbers. All columns are hashed,
        so that every pass has the same plan and order of rows.
        """
        return hash_rows(self.frame, names)

    def read(self, columns: Names) -> tuple[Any, ChunkReader]:
        """Return the named columns, or all; at least one, to know the number of rows of a chunk."""
        names = self.columns if columns is None else tuple(columns) or self.columns[:1]
        return self.select(names), FrameChunks(names, self.partitions)


@dataclass(frozen=True, eq=False)
class DrawnFrame:
    """Rows that workers draw in chunks, by chunk number."""

    session: Any
    draw: Draw
    n_rows: int

    columns = ()

    @property
    def seen(self) -> RowsSeen:
        """The rows and hashes that every pass must have."""
        return RowsSeen(self.n_rows, 0)

    def read(self, columns: Names) -> tuple[Any, ChunkReader]:
        """Return the frame of chunk numbers, for any columns."""
        n_chunks = -(-self.n_rows // self.draw.chunk_rows)
        n_tasks = max(parallelism(self.session), -(-n_chunks // CHUNKS_A_TASK))
        with in_our_words():
            numbers = self.session.range(0, n_chunks, 1, max(1, min(n_chunks, n_tasks)))
        return numbers, DrawnChunks(self.draw)


@dataclass(frozen=True, eq=False)
class HeldCodes:
    """Codes in blocks that are cached."""

    session: Any
    counter: SparkCounter

    columns = ()

    @property
    def seen(self) -> RowsSeen:
        """The rows and hashes that every pass must have."""
        return self.counter.rows

    def read(self, columns: Names) -> tuple[Any, ChunkReader]:
        """Return the frame of blocks, for any columns: unused columns are not read."""
        return self.counter.frame, BlockChunks(self.counter.source, self.counter.schema)


@dataclass(frozen=True, eq=False)
class SparkRows(RowsOutOfMemory):
    """Rows on Spark under a schema: the rows of a source after some steps, recomputed in each pass.

    `cache`: where codes are held while the rows are cached, as `SparkScan.coded` says. Of cached
    rows, `codes` are the same rows with codes alone, and `resources` are what lasts as long as the
    cache. `known`: marginals that were asked for, by steps and cliques, which rows that are made of
    these share.
    """

    row_source: RowSource
    schema: Schema
    n_rows: int
    steps: tuple[Step, ...] = ()
    notes: tuple[Note, ...] = ()
    cache: str | os.PathLike[str] | None = None
    codes: SparkRows | None = field(default=None, repr=False)
    resources: ExitStack | None = field(default=None, repr=False)
    shared: dict[str, Any] = field(default_factory=dict, repr=False)
    known: dict[Any, list[Marginal]] = field(default_factory=dict, repr=False)

    local = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.schema.names or self.row_source.columns

    def read(self, columns: Names) -> tuple[Any, SteppedChunks]:
        """Return a frame and the reader of its chunks, with the named columns or all."""
        for step in reversed(self.steps):
            columns = step.needs(columns)
        frame, reader = self.row_source.read(columns)
        return frame, SteppedChunks(reader, self.steps)

    def reduce(self, task: Task[T]) -> T:
        """Return the result of a task from the summaries that workers make of their rows; tasks on
        codes alone use the cache.
        """
        if self.codes is not None and not task.values:
            return self.codes.reduce(task)
        frame, chunks = self.read(task.columns)
        answer = collect_table(map_partitions(frame, Summarise(chunks, task), SUMMARY_SHAPE))
        rows = answer.drop_columns(["summary"]).to_pylist()
        self.row_source.seen.check(
            sum((RowsSeen(row["n"], row["checksum"]) for row in rows), RowsSeen(0, 0))
        )
        raw = answer.sort_by("first_row").column("summary").to_pylist()
        return task.result(map(unpacked_table, raw) if raw else iter([task.summary(iter(()))]))

    def map(
        self, step: Step, schema: Schema, *, n_rows: int | None = None, notes: tuple[Note, ...] = ()
    ) -> SparkRows:
        """Return the rows after one more step; of cached rows from their codes, if the step needs
        no values.
        """
        codes = (
            None
            if self.codes is None or step.values
            else self.codes.map(step, schema, n_rows=n_rows)
        )
        return SparkRows(
            self.row_source,
            schema,
            self.n_rows if n_rows is None else n_rows,
            (*self.steps, step),
            notes,
            self.cache,
            codes,
            known=self.known,
        )

    def draw_rows(self, draw: Draw, schema: Schema, n_rows: int) -> SparkRows:
        """Return rows that workers draw in each pass."""
        row_source = DrawnFrame(self.row_source.session, draw, n_rows)
        return SparkRows(row_source, schema, n_rows, cache=self.cache)

    @contextmanager
    def cached(self) -> Iterator[SparkRows]:
        """Yield the rows with their codes cached until the block ends."""
        source = self if self.codes is None else self.codes
        frame, chunks = source.read(self.schema.names)
        seen, session = (
            RowsSeen(self.n_rows, self.row_source.seen.checksum),
            self.row_source.session,
        )
        with ExitStack() as resources:
            counter = resources.enter_context(
                held_codes(frame, EncodeBlocks(chunks), self.schema, seen, session, self.cache)
            )
            codes = SparkRows(HeldCodes(session, counter), self.schema, self.n_rows)
            yield replace(self, codes=codes, resources=resources, shared={}, known={})

    def once(self, name: str, work: Callable[[ExitStack], T]) -> T:
        """Return the result of work on cached rows, computed once by name."""
        if self.resources is None:
            with ExitStack() as resources:
                return work(resources)
        if name not in self.shared:
            self.shared[name] = work(self.resources)
        result: T = self.shared[name]
        return result

    def table(self, limit: float = inf) -> Table:
        """Return all rows as a table on the driver; of more than `limit` rows perhaps not all, but
        more than `limit`.
        """
        return replace(self.reduce(CollectRows(self.schema, limit)), notes=self.notes)

    def open(self, other: Any) -> Rows:
        """Return the raw rows of a DataFrame, or of a scan of one."""
        if isinstance(other, SparkRows):
            return replace(other.raw(), cache=other.cache or self.cache)
        session_of(other)
        check_names(other.columns)
        return raw_rows(RawFrame(other), self.cache)

    def counter(self, dense_cells: int) -> Counter:
        """Return a counter on Spark that caches its marginals."""
        if self.codes is not None:
            return self.codes.counter(dense_cells)
        return _RememberingCounter(
            replace(self._counter(), dense_cells=dense_cells), self.steps, self.known
        )

    def _counter(self) -> SparkCounter:
        """Return the counter of the cached blocks, or of blocks that are encoded while they are
        counted.
        """
        if isinstance(self.row_source, HeldCodes) and not self.steps:
            return self.row_source.counter
        frame, chunks = self.read(self.schema.names)
        seen = RowsSeen(self.n_rows, self.row_source.seen.checksum)
        if isinstance(self.row_source, HeldCodes):
            return replace(
                self.row_source.counter, source=EncodeBlocks(chunks), schema=self.schema, rows=seen
            )
        return SparkCounter(frame, EncodeBlocks(chunks), self.schema, seen)


def raw_rows(row_source: RowSource, cache: str | os.PathLike[str] | None = None) -> SparkRows:
    """Return the raw rows of a source."""
    return SparkRows(row_source, RAW, row_source.seen.n_rows, cache=cache)


def check_names(names: Sequence[str]) -> None:
    """Raise for duplicate column names of a DataFrame."""
    if double := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(
            f"The DataFrame has columns of one name: {join_names(double)}. Rename them."
        )


@dataclass(frozen=True, eq=False)
class _RememberingCounter:
    """A counter that caches its marginals, up to a number of cells."""

    counter: SparkCounter
    steps: tuple[Step, ...]
    known: dict[Any, list[Marginal]]

    @property
    def schema(self) -> Schema:
        return self.counter.schema

    @property
    def n_rows(self) -> int:
        return self.counter.n_rows

    def marginals(self, cliques: Sequence[Sequence[str]]) -> list[Marginal]:
        key = (self.steps, self.counter.dense_cells, tuple(map(tuple, cliques)))
        if key in self.known:
            return self.known[key]
        answer = self.counter.marginals(cliques)
        n_known = sum(
            marginal.counts.size for answers in self.known.values() for marginal in answers
        )
        if n_known + sum(marginal.counts.size for marginal in answer) <= REMEMBERED_CELLS:
            self.known[key] = answer
        return answer
