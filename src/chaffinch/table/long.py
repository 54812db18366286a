"""A table larger than memory: what measures ask a table for, part by part, as often as asked.

A `Table` is its own only part, so whatever is written for parts works on both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.runtime import Progress, silent
from .code_cache import CodeCache, CodeLayout, CodeWriter
from .codes import Codes
from .scan import CodedBatch
from .schema import Column, Note, Schema
from .table import Table

T = TypeVar("T")

Read = Callable[[Collection[str] | None], Iterator[Table]]
"""Yields the parts of a table in their order, with the values and codes of the named columns, or of all; the others' codes are 0."""


Summary = Callable[[Iterator[Table]], pa.Table]
"""Makes a small table of some parts: a frozen dataclass of plain values, since it may travel to where they are."""


class RemoteParts(Protocol):
    """The parts of a table that stay where they are, on a cluster: work goes to them, and summaries, counts and samples come back."""

    def summaries(self, task: Summary, columns: Collection[str] | None) -> Iterator[pa.Table]:
        """Return what a task makes of the parts in each place, with the values and codes of the named columns."""

    def code_summaries(
        self, task: Callable[[Iterator[Codes]], pa.Table], groups: int
    ) -> Iterator[pa.Table]:
        """Return what a task makes of codes in each place; the first column is the group of a record, one of so many."""

    def counter(self, group: Column, dense_cells: int) -> Any:
        """Return what counts the codes, after a column of the groups that records are dealt into."""

    def key_counts(
        self,
        code: Callable[[Table, int], Mapping[str, NDArray[Any]]],
        columns: Collection[str],
        cliques: Sequence[Sequence[str]],
        sizes: Mapping[str, int],
    ) -> list[Any]:
        """Return the sparse marginals of codes that are made of each part, and of the number of its place."""

    def drawn_key_counts(
        self,
        draw: Callable[[int, int], Mapping[str, NDArray[Any]]],
        n_rows: int,
        cliques: Sequence[Sequence[str]],
        sizes: Mapping[str, int],
    ) -> list[Any]:
        """Return the sparse marginals of so many rows that are drawn in batches, by number and size."""

    def chosen(self, share: float, key: int, by: str, most: float) -> Table | None:
        """Return a share of the rows, chosen by a keyed hash; None where they are more than `most`."""

    def recoded(self, schema: Schema, codes: Callable[[Table], list[NDArray[Any]]]) -> RemoteParts:
        """Return the same rows under other codes."""

    def independent(self, n_rows: int, seed: np.random.SeedSequence) -> RemoteParts:
        """Return so many rows of independent columns with the shares of these."""

    def resampled(self, n_rows: int, seed: np.random.SeedSequence) -> RemoteParts:
        """Return the rows drawn with replacement: about so many."""

    def count_rows(self) -> int:
        """Return how many rows there are."""


@runtime_checkable
class LongOrigin(Protocol):
    """An original whose rows stay elsewhere, and that brings itself and other tables onto one grid there."""

    @property
    def schema(self) -> Schema:
        """The fitted schema of the original."""

    def beside(
        self, *others: Any, progress: Progress = silent
    ) -> AbstractContextManager[tuple[LongTable, ...]]:
        """Return itself and the others as tables with one schema; what is held of them meanwhile is removed at the end of the block."""


@dataclass(frozen=True, eq=False, repr=False)
class LongTable:
    """Rows under a schema, in a file or on a cluster and not in memory. Every row is a person of its own.

    Parameters
    ----------
    read
        Yields parts with their values.
    coded
        Yields parts of which only the codes are asked for: from a cache, where there is one.
    folder
        Where codes may be kept while the table is measured; None: files are read again.
    remote
        What works on the parts where they are, if they stay there: nothing then yields them here.
    """

    schema: Schema
    n_rows: int
    read: Read
    coded: Read
    notes: tuple[Note, ...] = ()
    folder: Path | None = None
    person_of: None = None
    remote: RemoteParts | None = None
    _shared: dict[str, Any] = field(default_factory=dict)

    def once(self, name: str, work: Callable[[], T]) -> T:
        """Return what several measures ask of the table, worked out when the first asks for it."""
        if name not in self._shared:
            self._shared[name] = work()
        shared: T = self._shared[name]
        return shared

    @property
    def n_persons(self) -> int:
        """The number of persons: of rows."""
        return self.n_rows

    def parts(self, columns: Collection[str] | None = None) -> Iterator[Table]:
        """Return the parts as tables under the whole schema; only the named columns (all if None) are read."""
        yield from self._whole(self.read(columns))

    def batches(
        self, *, columns: Collection[str] | None = None, weight: str | None = None
    ) -> Iterator[CodedBatch]:
        """Return the codes of parts, as a `Scan` does; records are not weighted."""
        assert weight is None
        for part in self._whole(self.coded(columns)):
            yield CodedBatch(part.codes)

    def with_codes(self, column: Column, codes: Callable[[int, int], NDArray[Any]]) -> LongTable:
        """Return the table with one more column before the others; `codes` gives those of the rows between two places."""
        schema = replace(self.schema, columns=(column, *self.schema.columns))

        def widened(read: Read) -> Read:
            def parts(columns: Collection[str] | None) -> Iterator[Table]:
                at = 0
                for part in read(columns):
                    own = [
                        codes(at, at + part.codes.n_rows),
                        *(part.codes[j] for j in range(len(part.codes))),
                    ]
                    yield replace(part, schema=schema, codes=Codes.of(own, schema.sizes))
                    at += part.codes.n_rows

            return parts

        return replace(
            self, schema=schema, read=widened(self.read), coded=widened(self.coded), _shared={}
        )

    def recoded(self, schema: Schema, codes: Callable[[Table], list[NDArray[Any]]]) -> LongTable:
        """Return the table under other codes, made of the values and codes of its parts."""
        if self.remote is not None:
            return replace(
                self, schema=schema, remote=self.remote.recoded(schema, codes), _shared={}
            )

        def parts(columns: Collection[str] | None) -> Iterator[Table]:
            for part in self.read(None):
                yield replace(part, schema=schema, codes=Codes.of(codes(part), schema.sizes))

        return replace(self, schema=schema, read=parts, coded=parts, _shared={}).cached()

    def cached(self) -> LongTable:
        """Return the table with its codes in a cache in its folder, which later passes map: a few bytes a row, confidential. All columns are mapped, whichever are asked for."""
        folder = self.folder
        if folder is None:
            return self
        place, layout = folder / f"codes-{len(list(folder.iterdir()))}", CodeLayout.of(self.schema)
        with CodeWriter(place, layout) as writer:
            for part in self._whole(self.coded(None)):
                writer.write(part.codes)
        cache, bare = CodeCache.open(place, layout), pa.table({})

        def parts(columns: Collection[str] | None) -> Iterator[Table]:
            yield from (
                Table(self.schema, bare, codes) for codes in cache.batches()
            )  # mapped: what is not looked at is not read

        return replace(self, coded=parts)

    def _whole(self, parts: Iterator[Table]) -> Iterator[Table]:
        """Yield parts, and raise where they have not the rows that the first pass had."""
        seen = 0
        for part in parts:
            seen += part.codes.n_rows
            yield part
        if seen != self.n_rows:
            raise InputError(
                "A table has another number of rows than when it was first read. Measure files that nobody writes to."
            )

    def __repr__(self) -> str:
        return f"LongTable({self.n_rows:,} rows x {len(self.schema.names)} columns)"


def codes_of(table: Table | LongTable) -> Iterator[Codes]:
    """Return the codes of the parts of a table."""
    if isinstance(table, LongTable):
        yield from (batch.codes for batch in table.batches())
    else:
        yield table.codes


def rows_of(table: Table | LongTable, columns: Collection[str] | None = None) -> Iterator[Table]:
    """Return the parts of a table: a table in memory is its own."""
    if isinstance(table, LongTable):
        yield from table.parts(columns)
    else:
        yield table


def summaries_of(
    table: Table | LongTable, task: Summary, columns: Collection[str] | None = None
) -> Iterator[pa.Table]:
    """Return what a task makes of the parts of a table: one small table here, or one from each place where parts are."""
    if isinstance(table, LongTable) and table.remote is not None:
        yield from table.remote.summaries(task, columns)
    else:
        yield task(rows_of(table, columns))


def joined(parts: list[Table]) -> Table:
    """Return one table of several with the same schema."""
    first = parts[0]
    if len(parts) == 1:
        return first
    same = all(part.data.schema.equals(first.data.schema) for part in parts)
    data = pa.concat_tables(
        [part.data for part in parts], promote_options="none" if same else "permissive"
    )
    codes = [np.concatenate([part.codes[j] for part in parts]) for j in range(len(first.codes))]
    persons = [part.person_of for part in parts if part.person_of is not None]
    whose = np.concatenate(persons) if len(persons) == len(parts) else None
    return Table(
        first.schema,
        data,
        Codes.of(codes, first.codes.sizes),
        first.notes,
        first.origin,
        person_of=whose,
    )
