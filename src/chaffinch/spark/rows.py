"""Rows on Spark (`table.rows.Rows`): tasks and steps go to workers, and summaries, counts or a
sample come back.

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
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from .._base.errors import InputError, listed
from ..counts.counter import Counter
from ..counts.marginal import Marginal
from ..table.code_cache import codes_of_block
from ..table.codes import Codes
from ..table.domain import encode_column
from ..table.fit_schema import typed
from ..table.rows import RAW, Draw, Names, Rows, Step, Task, check_comparable, joined
from ..table.schema import Note, Schema
from ..table.table import Table
from ..table.text import spelling_of
from .blocks import BLOCK_ROWS, CHECK, PART, BlockSource, block_of, hashed, regrouped, summed
from .counter import PartitionRows, RowsSeen, SparkCounter
from .holding import held_codes
from .jobs import collected, in_our_words, mapped
from .session import parallelism, session_of

T = TypeVar("T")

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
    """What turns the batches of a partition into chunks, each with what was seen of its rows. It
    travels.
    """

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Table, RowsSeen]]: ...


@dataclass(frozen=True, eq=False)
class FrameChunks:
    """Chunks of a frame's rows as they came. Without `partitions` rows are numbered within each,
    and not compared with those of another pass.
    """

    names: tuple[str, ...]
    partitions: PartitionRows | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Table, RowsSeen]]:
        """Return the chunks of this partition."""
        total, number = RowsSeen(0, 0), 0
        for batch in regrouped(batches, BLOCK_ROWS):
            number = batch.column(PART)[0].as_py()
            first_row = self.partitions.first_rows.get(number, 0) if self.partitions else 0
            cells = pa.Table.from_arrays(batch.columns[: len(self.names)], list(self.names))
            codes = Codes.of([], [], n_rows=batch.num_rows)
            seen = RowsSeen(batch.num_rows, summed(batch.column(CHECK).to_numpy()))
            yield Table(RAW, cells, codes, first_row=first_row + total.n_rows), seen
            total += seen
        if self.partitions and total.n_rows:
            self.partitions.check(number, total)


@dataclass(frozen=True, eq=False)
class DrawnChunks:
    """Chunks that are drawn by their numbers."""

    draw: Draw

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Table, RowsSeen]]:
        """Return the chunks whose numbers this partition has."""
        for numbers in batches:
            for number in numbers.column(0).to_pylist():
                chunk = self.draw(number)
                yield chunk, RowsSeen(chunk.codes.n_rows, 0)


@dataclass(frozen=True, eq=False)
class BlockChunks:
    """Chunks of codes that are held in blocks."""

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
    """The chunks that steps make of those of a reader."""

    reader: ChunkReader
    steps: tuple[Step, ...] = ()

    def stepped(self, chunk: Table) -> Table:
        """Return what the steps make of a chunk."""
        for step in self.steps:
            chunk = step(chunk)
        return chunk


@dataclass(frozen=True, eq=False)
class EncodeBlocks:
    """Makes blocks of the codes of chunks: a task, and a source of blocks that are counted as they
    are made.
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
    """The task that makes a summary of the chunks of a partition: one for each run of chunks that
    stand one after another, as blocks may come in any order.
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
    """Return what gives chunks of one run the same number: that of their first row, less the rows
    that came before.
    """
    before = 0

    def number(chunk: tuple[Table, RowsSeen]) -> int:
        nonlocal before
        offset = chunk[0].first_row - before
        before += chunk[0].codes.n_rows
        return offset

    return number


class _SeenChunks:
    """Chunks that go by, and what was seen of their rows."""

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
            seen += RowsSeen(batch.num_rows, summed(batch.column(CHECK).to_numpy()))
        if seen.n_rows:
            counts = [pa.array([count]) for count in (seen.n_rows, seen.checksum)]
            yield pa.RecordBatch.from_arrays(
                [pa.array([number], pa.int32()), *counts], ["part", "n", "checksum"]
            )


def packed_table(table: pa.Table) -> bytes:
    """Return a table as bytes that travel."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def unpacked_table(raw: bytes) -> pa.Table:
    """Return the table in bytes."""
    with pa.ipc.open_stream(raw) as reader:
        return reader.read_all()


@dataclass(frozen=True, eq=False)
class EncodeCells(Step):
    """Makes codes of cells as they came, under a fitted schema."""

    schema: Schema

    def __call__(self, chunk: Table) -> Table:
        columns = tuple(c for c in self.schema if c.name in chunk.data.column_names)
        schema = replace(self.schema, columns=columns)
        values = typed(chunk.data, {c.name: spelling_of(c) for c in columns}, text=False)
        codes = [encode_column(column, *values[column.name]) for column in schema.modelled]
        data = pa.table({name: cells for name, (cells, _) in values.items()})
        return replace(
            chunk,
            schema=schema,
            data=data,
            codes=Codes.of(codes, schema.sizes, n_rows=chunk.n_rows),
        )


@dataclass(frozen=True, eq=False)
class CollectRows:
    """Brings rows to the driver, values and codes: of each place no more chunks than have more than
    `limit` rows.
    """

    schema: Schema
    limit: float

    columns = None
    values = True

    def summary(self, chunks: Iterator[Table]) -> pa.Table:
        """Return values and codes of chunks, one column beside the other."""
        tables, n_rows = [self._empty()], 0
        for chunk in chunks:
            if chunk.n_rows or not tables[0].columns:
                tables = [*(table for table in tables if table.n_rows), chunk]
            n_rows += chunk.n_rows
            if n_rows > self.limit:
                break
        rows = joined(tables)
        codes = [pa.array(rows.codes[j]) for j in range(len(rows.codes))]
        return pa.table(
            [*rows.data.columns, *codes],
            [*rows.data.column_names, *(f"code {j}" for j in range(len(codes)))],
        )

    def result(self, summaries: Iterator[pa.Table]) -> Table:
        """Return the rows of all places."""
        tables = [self._table(summary) for summary in summaries]
        return joined([table for table in tables if table.n_rows] or tables[:1])

    def _table(self, summary: pa.Table) -> Table:
        width = summary.num_columns - len(self.schema.sizes)
        codes = [column.to_numpy() for column in summary.columns[width:]]
        return Table(self.schema, summary.select(range(width)), Codes.of(codes, self.schema.sizes))

    def _empty(self) -> Table:
        nothing = [np.zeros(0, dtype=np.uint8)] * len(self.schema.sizes)
        return Table(self.schema, _NO_VALUES, Codes.of(nothing, self.schema.sizes))


# On the driver.


class RowSource(Protocol):
    """Where rows come from: a frame, and what its partitions become."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def session(self) -> Any: ...

    @property
    def seen(self) -> RowsSeen:
        """What every pass must see."""

    def read(self, columns: Names) -> tuple[Any, ChunkReader]:
        """Return a frame of what the named columns need, and what makes chunks of it."""


@dataclass(frozen=True, eq=False)
class RawFrame:
    """The rows of a DataFrame as they came. `counted`: what a first pass saw; None: one job counts
    when it is asked for.
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
        """What every pass must see."""
        return self.partitions.total

    @cached_property
    def partitions(self) -> PartitionRows:
        """What the first pass saw of each partition."""
        if self.counted is not None:
            return self.counted
        answer = collected(mapped(self.select(()), CountRows(), COUNT_SHAPE)).to_pylist()
        return PartitionRows({row["part"]: RowsSeen(row["n"], row["checksum"]) for row in answer})

    def select(self, names: Sequence[str]) -> Any:
        """Return the named columns with hashes and numbers of partitions. All columns are hashed,
        so that every pass has one plan, and one order of rows.
        """
        return hashed(self.frame, names)

    def read(self, columns: Names) -> tuple[Any, ChunkReader]:
        """Return the named columns, or all; one at least, to learn how many rows a chunk has."""
        names = self.columns if columns is None else tuple(columns) or self.columns[:1]
        return self.select(names), FrameChunks(names, self.partitions)


@dataclass(frozen=True, eq=False)
class DrawnFrame:
    """Rows that workers draw in chunks, by the numbers of these."""

    session: Any
    draw: Draw
    n_rows: int

    columns = ()

    @property
    def seen(self) -> RowsSeen:
        """What every pass must see."""
        return RowsSeen(self.n_rows, 0)

    def read(self, columns: Names) -> tuple[Any, ChunkReader]:
        """Return the numbers of chunks, whatever columns are asked for."""
        n_chunks = -(-self.n_rows // self.draw.chunk_rows)
        n_tasks = max(parallelism(self.session), -(-n_chunks // CHUNKS_A_TASK))
        with in_our_words():
            numbers = self.session.range(0, n_chunks, 1, max(1, min(n_chunks, n_tasks)))
        return numbers, DrawnChunks(self.draw)


@dataclass(frozen=True, eq=False)
class HeldCodes:
    """Codes that are held in blocks."""

    session: Any
    counter: SparkCounter

    columns = ()

    @property
    def seen(self) -> RowsSeen:
        """What every pass must see."""
        return self.counter.rows

    def read(self, columns: Names) -> tuple[Any, ChunkReader]:
        """Return the blocks, whatever columns are asked for: what is not looked at is not read."""
        return self.counter.frame, BlockChunks(self.counter.source, self.counter.schema)


@dataclass(frozen=True, eq=False)
class SparkRows:
    """Rows on Spark under a schema: what steps make of the rows of a place, whenever they are gone
    through.

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

    person_of = None
    local = False
    in_memory = False
    text = False
    name = ""

    @property
    def n_persons(self) -> int:
        """How many people they are of: as many as rows."""
        return self.n_rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.schema.names or self.row_source.columns

    def read(self, columns: Names) -> tuple[Any, SteppedChunks]:
        """Return a frame, and what workers make of it: chunks with the named columns, or with
        all.
        """
        for step in reversed(self.steps):
            columns = step.needs(columns)
        frame, reader = self.row_source.read(columns)
        return frame, SteppedChunks(reader, self.steps)

    def reduce(self, task: Task[T]) -> T:
        """Return what a task makes of the summaries that workers make of their rows; codes alone
        come from the cache.
        """
        if self.codes is not None and not task.values:
            return self.codes.reduce(task)
        frame, chunks = self.read(task.columns)
        answer = collected(mapped(frame, Summarise(chunks, task), SUMMARY_SHAPE))
        rows = answer.drop_columns(["summary"]).to_pylist()
        self.row_source.seen.check(
            sum((RowsSeen(row["n"], row["checksum"]) for row in rows), RowsSeen(0, 0))
        )
        raw = answer.sort_by("first_row").column("summary").to_pylist()
        return task.result(map(unpacked_table, raw) if raw else iter([task.summary(iter(()))]))

    def map(
        self, step: Step, schema: Schema, *, n_rows: int | None = None, notes: tuple[Note, ...] = ()
    ) -> SparkRows:
        """Return the rows that a step makes of these; of cached ones from their codes, where it
        looks at no values.
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
        """Return rows that workers draw whenever they are gone through."""
        row_source = DrawnFrame(self.row_source.session, draw, n_rows)
        return SparkRows(row_source, schema, n_rows, cache=self.cache)

    @contextmanager
    def cached(self) -> Iterator[SparkRows]:
        """Give the rows with their codes held, until the block ends."""
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
        """Return what was worked out before of cached rows, or work it out."""
        if self.resources is None:
            with ExitStack() as resources:
                return work(resources)
        if name not in self.shared:
            self.shared[name] = work(self.resources)
        result: T = self.shared[name]
        return result

    def table(self, limit: float = inf) -> Table:
        """Return all rows as a table on the driver; where they are more than `limit`, more than
        that, and perhaps not all.
        """
        return replace(self.reduce(CollectRows(self.schema, limit)), notes=self.notes)

    def open(self, other: Any) -> Rows:
        """Return a DataFrame, or a scan of one, as it came."""
        if isinstance(other, SparkRows):
            return replace(other.raw(), cache=other.cache or self.cache)
        session_of(other)
        check_names(other.columns)
        return raw_rows(RawFrame(other), self.cache)

    def raw(self) -> SparkRows:
        """Return the rows themselves."""
        return self

    def comparable(self) -> Rows:
        """Return the rows themselves; raise where people have several or records have weights."""
        check_comparable(self.schema)
        return self

    def counter(self, dense_cells: int) -> Counter:
        """Return what counts them where they are, and remembers what was asked before."""
        if self.codes is not None:
            return self.codes.counter(dense_cells)
        return _RememberingCounter(
            replace(self._counter(), dense_cells=dense_cells), self.steps, self.known
        )

    def _counter(self) -> SparkCounter:
        """What counts blocks: those that are held, or those that are made while they are
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
    """Return the rows of a place as they came."""
    return SparkRows(row_source, RAW, row_source.seen.n_rows, cache=cache)


def check_names(names: Sequence[str]) -> None:
    """Raise where columns of a DataFrame have one name."""
    if double := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"The DataFrame has columns of one name: {listed(double)}. Rename them.")


@dataclass(frozen=True, eq=False)
class _RememberingCounter:
    """A counter that remembers its answers, up to a number of cells."""

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
