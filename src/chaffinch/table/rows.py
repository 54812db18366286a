"""The rows of a table, wherever they are: in memory, in files or on a cluster.

Tasks are reduced over chunks of rows, and steps turn chunks into other chunks. A chunk is a `Table`
with the number of its first row (`Table.first_row`). A table in memory is one chunk, a file is a
stream of chunks, and a cluster has some in each partition. Random numbers in a step depend on the
seed and on row numbers alone, so chunk boundaries change nothing and all engines give the same
figures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.runtime import thread_count, thread_map
from .code_cache import CodeCache, CodeLayout, CodeWriter, temporary_folder
from .codes import Codes
from .formats import Source
from .read import in_memory, read
from .schema import Column, Note, Role, Schema
from .sources import open_source
from .table import Table

T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)

Names = Collection[str] | None
"""Names of columns; None: all of them."""

RAW = Schema((Column("\x00raw", "text"),))
"""The schema of rows as they came: no column has codes."""

UNKNOWN = -1
"""The number of rows of a source before its first pass."""


class Task(Protocol[R_co]):
    """A question about rows: a small Arrow table for the chunks of each place, and an answer from all of these.

    A frozen dataclass of plain values: it is sent to workers. `columns`: the columns it reads; None:
    all. `values`: whether it reads values, or codes alone, which may come from a cache.
    """

    @property
    def columns(self) -> Names: ...

    @property
    def values(self) -> bool: ...

    def summary(self, chunks: Iterator[Table]) -> pa.Table:
        """Return the summary of some chunks, which come in the order of their rows."""

    def result(self, summaries: Iterator[pa.Table]) -> R_co:
        """Return the answer; summaries come in the order of their rows."""


class Step:
    """Turns a chunk into another chunk. A frozen dataclass of plain values: it is sent to workers.

    `values`: whether it reads values even where codes alone are asked for. `filters`: whether it
    keeps a subset of the rows unchanged; their new row numbers are assigned by the caller.
    """

    values: bool = False
    filters: bool = False

    def needs(self, columns: Names) -> Names:
        """Return the columns that it needs to give the named ones."""
        return columns

    def __call__(self, chunk: Table) -> Table:
        """Return the new chunk; its `first_row` is its first row's number among all new rows."""
        raise NotImplementedError


class Draw(Protocol):
    """Draws rows in chunks of `chunk_rows`, the last one shorter. A frozen dataclass of plain values."""

    @property
    def chunk_rows(self) -> int: ...

    def __call__(self, number: int) -> Table:
        """Return a chunk by its number, from 0."""


@runtime_checkable
class Rows(Protocol):
    """Rows under a schema, in memory, in files or on a cluster: the interface that measures use."""

    @property
    def schema(self) -> Schema:
        """The schema of their codes."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes on their columns."""

    @property
    def person_of(self) -> NDArray[np.int64] | None:
        """The person of each row, in memory only; None: every row is another person."""

    @property
    def n_persons(self) -> int:
        """The number of persons."""

    @property
    def local(self) -> bool:
        """Whether this machine reads them; identifiers, which must not leave a cluster, are compared only then."""

    @property
    def in_memory(self) -> bool:
        """Whether they are one chunk in memory; no sample is drawn then."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, with codes or without."""

    @property
    def text(self) -> bool:
        """Whether cells are unparsed words of a text file."""

    @property
    def name(self) -> str:
        """Their name in messages; empty: their role (synthetic, holdout) is used."""

    def reduce(self, task: Task[T]) -> T:
        """Return the answer of a task over all rows."""

    def map(
        self, step: Step, schema: Schema, *, n_rows: int | None = None, notes: tuple[Note, ...] = ()
    ) -> Rows:
        """Return the rows after a step, under its schema; `n_rows` is their number where it changes."""

    def draw_rows(self, draw: Draw, schema: Schema, n_rows: int) -> Rows:
        """Return drawn rows, in the same place as these."""

    def cached(self) -> AbstractContextManager[Rows]:
        """Give the same rows with their codes cached until the block ends."""

    def once(self, name: str, work: Callable[[ExitStack], T]) -> T:
        """Return a result that several measures share, computed once per cache; contexts it enters close with the cache."""

    def table(self, limit: float = inf) -> Table:
        """Return all rows as a table in memory; reading stops once there are more than `limit`."""

    def open(self, other: Any) -> Rows:
        """Return another table unparsed, in the same place as these, for comparison."""

    def raw(self) -> Rows:
        """Return the rows unparsed, to be read under another schema."""

    def comparable(self) -> Rows:
        """Return the rows in the form that is compared; raise where comparison needs memory."""

    def counter(self, dense_cells: int) -> Any:
        """Return the engine's own counter; None where chunks are counted."""


@dataclass(frozen=True, eq=False)
class CodedBatch:
    """The codes of some rows: of the columns asked for; the others are all 0. And their weights, if asked for."""

    codes: Codes
    weights: NDArray[np.float64] | None = None


class RowsOutOfMemory:
    """What all rows have in common that are not a table in memory: each row is another person, without a weight."""

    schema: Schema
    n_rows: int
    person_of = None
    in_memory = False
    text = False
    name = ""

    @property
    def n_persons(self) -> int:
        """The number of persons: of rows."""
        return self.n_rows

    def raw(self) -> Any:
        """Return the rows themselves."""
        return self

    def comparable(self) -> Any:
        """Return the rows themselves; raise where people have several rows or records have weights."""
        check_comparable(self.schema)
        return self


class LocalRows(RowsOutOfMemory):
    """Rows that this machine reads chunk by chunk; subclasses implement `chunks`."""

    notes: tuple[Note, ...]
    local = True

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.schema.names

    def chunks(self, columns: Names = None, *, values: bool = True) -> Iterator[Table]:
        """Return the chunks in the order of rows, with values and codes of the named columns; other codes are 0. Without `values`, codes alone."""
        raise NotImplementedError

    def reduce(self, task: Task[T]) -> T:
        """Return what a task makes of all rows."""
        return task.result(iter([task.summary(self.counted_chunks(task.columns, task.values))]))

    def counted_chunks(self, columns: Names, values: bool) -> Iterator[Table]:
        """Yield chunks; raise if their number of rows differs from the first pass."""
        n_rows = 0
        for chunk in self.chunks(columns, values=values):
            n_rows += chunk.codes.n_rows
            yield chunk
        if self.n_rows not in (n_rows, UNKNOWN):
            raise InputError(
                "A table has another number of rows than when it was first read. Work on files that nobody writes to."
            )

    def batches(self, *, columns: Names = None, weight: str | None = None) -> Iterator[CodedBatch]:
        """Return the codes of chunks, as counters take them; records are not weighted."""
        assert weight is None
        for chunk in self.counted_chunks(columns, False):
            yield CodedBatch(chunk.codes)

    def map(
        self, step: Step, schema: Schema, *, n_rows: int | None = None, notes: tuple[Note, ...] = ()
    ) -> Rows:
        """Return the rows that a step makes of these whenever they are gone through."""
        return MappedRows(self, step, schema, self.n_rows if n_rows is None else n_rows, notes)

    def draw_rows(self, draw: Draw, schema: Schema, n_rows: int) -> Rows:
        """Return rows that are drawn whenever they are gone through."""
        return MadeRows(draw, schema, n_rows)

    @contextmanager
    def cached(self) -> Iterator[Rows]:
        """Give the rows with their codes in a folder that its owner alone can read, which later passes map: a few bytes a row."""
        layout = CodeLayout.from_schemas(self.schema)
        with ExitStack() as stack:
            folder = stack.enter_context(temporary_folder(n_bytes=self.n_rows * layout.row_bytes))
            with CodeWriter(folder / "codes", layout) as writer:
                for chunk in self.counted_chunks(None, False):
                    writer.write(chunk.codes)
            cache = CodeCache.open(folder / "codes", layout)
            yield CachedRows(self, cache, stack, self.schema, self.n_rows, self.notes)

    def once(self, name: str, work: Callable[[ExitStack], T]) -> T:
        """Work out what is asked: rows that are not cached remember nothing."""
        with ExitStack() as stack:
            return work(stack)

    def table(self, limit: float = inf) -> Table:
        """Return all rows as a table; where they are more than `limit`, perhaps not all."""
        tables: list[Table] = []
        for chunk in self.counted_chunks(None, True):
            if chunk.n_rows or not tables:
                tables.append(chunk)
            if sum(table.n_rows for table in tables) > limit:
                break
        merged = join_tables([table for table in tables if table.n_rows] or tables[:1])
        return replace(merged, schema=self.schema, notes=self.notes, first_row=0)

    def open(self, other: Any) -> Rows:
        """Return another table to be compared with these, read in chunks."""
        return as_it_came(other)

    def counter(self, dense_cells: int) -> None:
        """Return nothing: whoever counts goes through chunks."""


@dataclass(frozen=True, eq=False)
class MappedRows(LocalRows):
    """Rows that a step makes of others."""

    rows: LocalRows
    step: Step
    schema: Schema
    n_rows: int
    notes: tuple[Note, ...] = ()

    @property
    def text(self) -> bool:  # type: ignore[override]
        """Whether cells are words still."""
        return self.rows.text and self.step.filters

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.rows.columns if self.step.filters else self.schema.names

    def raw(self) -> Rows:
        """Return the rows as they came, where the step left some of them."""
        if not self.step.filters:
            return self
        return self.rows.raw().map(self.step, RAW, n_rows=self.n_rows)

    def chunks(self, columns: Names = None, *, values: bool = True) -> Iterator[Table]:
        """Return the chunks that the step makes."""
        needed = self.step.needs(columns)
        chunks = map(self.step, self.rows.counted_chunks(needed, values or self.step.values))
        yield from number_chunks(chunks) if self.step.filters else chunks


@dataclass(frozen=True, eq=False)
class MadeRows(LocalRows):
    """Rows that are drawn whenever they are gone through."""

    draw: Draw
    schema: Schema
    n_rows: int
    notes: tuple[Note, ...] = ()

    def chunks(self, columns: Names = None, *, values: bool = True) -> Iterator[Table]:
        """Return all chunks, a few at a time over threads."""
        n_chunks, together = -(-self.n_rows // self.draw.chunk_rows), thread_count()
        for first in range(0, n_chunks, together):
            yield from thread_map(self.draw, range(first, min(first + together, n_chunks)))


@dataclass(frozen=True, eq=False)
class CachedRows(LocalRows):
    """Rows whose codes are in a cache; values are read where the rows are. `stack`: resources that last as long as the cache."""

    rows: LocalRows
    cache: CodeCache
    stack: ExitStack
    schema: Schema
    n_rows: int
    notes: tuple[Note, ...]
    shared: dict[str, Any] = field(default_factory=dict)

    def chunks(self, columns: Names = None, *, values: bool = True) -> Iterator[Table]:
        """Return chunks of mapped codes: what is not looked at is not read. With `values` those of the rows."""
        if values:
            yield from self.rows.chunks(columns)
            return
        bare = pa.table({})
        yield from number_chunks(Table(self.schema, bare, codes) for codes in self.cache.batches())

    def once(self, name: str, work: Callable[[ExitStack], T]) -> T:
        """Return what was worked out before, or work it out."""
        if name not in self.shared:
            self.shared[name] = work(self.stack)
        result: T = self.shared[name]
        return result


@dataclass(frozen=True, eq=False)
class SourceRows(LocalRows):
    """Rows of a source as they came: cells of text files are words. `in_memory`: as one chunk, of which a step makes a table."""

    source: Source
    in_memory: bool = False
    schema: Schema = RAW
    n_rows: int = UNKNOWN
    notes: tuple[Note, ...] = ()

    @property
    def text(self) -> bool:  # type: ignore[override]
        """Whether cells are words."""
        return self.source.text

    @property
    def name(self) -> str:  # type: ignore[override]
        """What messages call the source."""
        return self.source.name

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.source.schema.names)

    def chunks(self, columns: Names = None, *, values: bool = True) -> Iterator[Table]:
        """Return the batches of the source, or all of them as one."""
        return number_chunks(self._batches(columns))

    def _batches(self, columns: Names) -> Iterator[Table]:
        batches = self.source.batches(None if columns is None else list(columns))
        tables = (pa.Table.from_batches([batch]) for batch in batches)
        for cells in [pa.concat_tables(tables)] if self.in_memory else tables:
            yield Table(RAW, cells, Codes.from_columns([], [], n_rows=cells.num_rows))

    def loaded(self) -> SourceRows:
        """Return the rows in memory."""
        return replace(self, source=in_memory(self.source), in_memory=True)

    def map(
        self, step: Step, schema: Schema, *, n_rows: int | None = None, notes: tuple[Note, ...] = ()
    ) -> Rows:
        """Return the rows that a step makes of these: a table where they are in memory."""
        if not self.in_memory:
            return super().map(step, schema, n_rows=n_rows, notes=notes)
        (chunk,) = self.chunks(step.needs(None))
        return replace(step(chunk), notes=notes)


MEASURED_IN_MEMORY: dict[Role, str] = {
    "person": "people have several rows",
    "weight": "records have weights",
}
"""Roles of columns whose tables are compared in memory, and what they say of a table."""


def check_comparable(schema: Schema) -> None:
    """Raise where rows of a table have to be in memory to be compared."""
    for role, what in MEASURED_IN_MEMORY.items():
        if (
            schema.only(role) is not None and not schema.sealed
        ):  # a promise has bounded the rows of a person, and each is taken for itself
            raise InputError(
                f"Tables in which {what} are measured in memory: pass --engine memory, or leave the role '{role}' out of the schema."
            )


def as_rows(data: Any) -> Rows | None:
    """Return what is given where it is rows already; None where it is a path or an object that has to be read."""
    return data if isinstance(data, Rows) else None


def open_rows(data: Any, **options: Any) -> Rows:
    """Return rows as they are, and anything else as the table that is read of it: the one door of public functions."""
    return as_rows(data) or read(data, **options)


def open_table(data: Any, schema: Schema | None = None) -> Table:
    """Return anything as a table in memory that can be read as one: a `Table` as it is, all else under a schema where one is given."""
    return open_rows(data, schema=schema).table()


def as_it_came(data: Any, **options: Any) -> Any:
    """Return anything that can be read as a table, to be read by the schema of another."""
    rows = as_rows(data)
    if rows is None:
        return SourceRows(open_source(data, **options))
    if not rows.local:
        raise InputError(
            "A table on Spark is compared with one on Spark: scan the original with chaffinch.spark.scan."
        )
    return rows.raw()


def number_chunks(chunks: Iterable[Table]) -> Iterator[Table]:
    """Yield chunks that follow one another, with the numbers of their first rows."""
    first_row = 0
    for chunk in chunks:
        yield replace(chunk, first_row=first_row)
        first_row += chunk.codes.n_rows


def join_tables(tables: list[Table]) -> Table:
    """Return one table of several with the same schema."""
    first = tables[0]
    if len(tables) == 1:
        return first
    same = all(table.data.schema.equals(first.data.schema) for table in tables)
    data = pa.concat_tables(
        [table.data for table in tables], promote_options="none" if same else "permissive"
    )
    persons = [table.person_of for table in tables if table.person_of is not None]
    whose = np.concatenate(persons) if len(persons) == len(tables) else None
    codes = Codes.joined([table.codes for table in tables])
    return replace(first, data=data, codes=codes, person_of=whose)
