"""Rows of frames as parts of tables on workers, and the tasks that work on them: summaries, blocks of codes, counts of keys, rows chosen by a hash.

A reader turns the batches of a partition into the parts that one machine makes of a file (`table.align`), so that measures see the same on both.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.seeds import generator
from ..counts.marginal import SparseCounts
from ..synth.model import BATCH_ROWS
from ..table.align import (
    ColumnRoom,
    OtherTable,
    SharedColumn,
    part_of_original,
    part_of_other,
    wanted_columns,
)
from ..table.codes import Codes
from ..table.long import Summary
from ..table.sample import below_share, hashes_of_places, hashes_of_values
from ..table.schema import Column, Schema
from ..table.table import Table
from .blocks import BLOCK_ROWS, CHECK, BlockSource, block_of, codes_of, regrouped, summed
from .counting import PIECE_CELLS, ROWS, cell_batch, cell_keys
from .drawing import cached_model
from .profiles import PART

SUMMARY_SHAPE = "part int, n long, checksum long, summary binary"
_SUMMARY = pa.schema(
    [("part", pa.int32()), ("n", pa.int64()), ("checksum", pa.int64()), ("summary", pa.binary())]
)

PLACES = 40
"""Bits of a row's place that are its number in its partition; those above are the number of the partition."""


@dataclass(frozen=True, eq=False)
class PlacedPart:
    """A part of a table, the place of its first row, and the sum of its rows' hashes, 0 where these were not asked for."""

    place: int
    checksum: int
    table: Table


class PartReader(Protocol):
    """What turns the batches of a partition into parts. It travels."""

    @property
    def schema(self) -> Schema:
        """The schema that all tables share."""

    def raw(self, columns: Collection[str] | None) -> list[str]:
        """Return the columns of the frame that the named ones are made of."""

    def read(
        self, batches: Iterator[pa.RecordBatch], columns: Collection[str] | None = None
    ) -> Iterator[PlacedPart]:
        """Return the parts, with values and codes of the named columns, or of all."""


@dataclass(frozen=True, eq=False)
class FrameRows:
    """The rows of a frame: of the original, or of the other table of a name."""

    schema: Schema
    shared: tuple[SharedColumn, ...]
    name: str = ""

    def raw(self, columns: Collection[str] | None) -> list[str]:
        """Return the columns themselves: one at least, to learn how many rows a part has."""
        return [one.own.name for one in wanted_columns(self.shared, columns)]

    def read(
        self, batches: Iterator[pa.RecordBatch], columns: Collection[str] | None = None
    ) -> Iterator[PlacedPart]:
        """Return the parts of this partition."""
        wanted, names, seen = wanted_columns(self.shared, columns), self.raw(columns), 0
        for batch in regrouped(batches, BLOCK_ROWS):
            rows, check, part = _named(batch, names)
            if self.name:
                table = part_of_other(
                    OtherTable(self.name, names, None, None, pa.Table.from_batches([rows])),
                    self.schema,
                    wanted,
                )
            else:
                table = part_of_original(rows, self.schema, wanted)
            yield PlacedPart((part << PLACES) + seen, check, table)
            seen += batch.num_rows


def _named(batch: pa.RecordBatch, names: Sequence[str]) -> tuple[pa.RecordBatch, int, int]:
    """The rows of a batch under their names, the sum of their hashes if it has them, and the number of its partition."""
    check = summed(batch.column(CHECK).to_numpy()) if CHECK in batch.schema.names else 0
    part = batch.column(PART)[0].as_py() if batch.num_rows else 0
    return pa.RecordBatch.from_arrays(batch.columns[: len(names)], list(names)), check, part


@dataclass(frozen=True, eq=False)
class RecodedRows:
    """The rows of a reader under other codes."""

    schema: Schema
    rows: PartReader
    codes: Callable[[Table], list[NDArray[Any]]]

    def raw(self, columns: Collection[str] | None) -> list[str]:
        """Return all columns: other codes may be made of any."""
        return self.rows.raw(None)

    def read(
        self, batches: Iterator[pa.RecordBatch], columns: Collection[str] | None = None
    ) -> Iterator[PlacedPart]:
        """Return the parts of this partition under the other codes."""
        for part in self.rows.read(batches):
            yield replace(
                part,
                table=replace(
                    part.table,
                    schema=self.schema,
                    codes=Codes.of(self.codes(part.table), self.schema.sizes),
                ),
            )


@dataclass(frozen=True, eq=False)
class ResampledRows:
    """The rows of a reader, each as often as a Poisson number says: drawn with replacement, and about `rate` times as many."""

    schema: Schema
    rows: PartReader
    rate: float
    entropy: tuple[int, ...]

    def raw(self, columns: Collection[str] | None) -> list[str]:
        """Return what the rows are made of."""
        return self.rows.raw(columns)

    def read(
        self, batches: Iterator[pa.RecordBatch], columns: Collection[str] | None = None
    ) -> Iterator[PlacedPart]:
        """Return the parts of this partition, drawn by a stream of each one's place."""
        for part in self.rows.read(batches, columns):
            times = np.random.default_rng([*self.entropy, part.place]).poisson(
                self.rate, part.table.n_rows
            )
            yield replace(
                part, table=part.table.take(np.repeat(np.arange(part.table.n_rows), times))
            )


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """Rows drawn from a model by the numbers of their batches."""

    schema: Schema
    model: bytes
    n_rows: int
    entropy: int
    spawn_key: tuple[int, ...]

    def raw(self, columns: Collection[str] | None) -> list[str]:
        """Return nothing: a row of the frame is a number."""
        return []

    def read(
        self, batches: Iterator[pa.RecordBatch], columns: Collection[str] | None = None
    ) -> Iterator[PlacedPart]:
        """Return the batches of this partition."""
        seed = np.random.SeedSequence(self.entropy, spawn_key=self.spawn_key)
        for numbers in batches:
            for number in numbers.column(0).to_pylist():
                for table in cached_model(self.model).batches(
                    self.n_rows, seed=seed, threads=1, numbers=[number]
                ):
                    yield PlacedPart(number * BATCH_ROWS, 0, replace(table, schema=self.schema))


# Tasks.


@dataclass(frozen=True, eq=False)
class FindRoom:
    """The task that finds what of another table's values the original's columns have no codes for, and counts rows and hashes."""

    columns: tuple[Column, ...]
    name: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rooms, names = (
            [ColumnRoom(column) for column in self.columns],
            [column.name for column in self.columns],
        )
        n_rows, check, part = 0, 0, 0
        for batch in regrouped(batches, BLOCK_ROWS):
            rows, own, part = _named(batch, names)
            other = OtherTable(self.name, names, None, None, pa.Table.from_batches([rows]))
            for room in rooms:
                room.add(*other.values(room.column))
            n_rows, check = n_rows + batch.num_rows, summed(np.array([check, own]))
        if n_rows:
            summary = pa.table(
                {
                    "used": [room.used.tobytes() for room in rooms],
                    "fractions": [bool(room.fractions) for room in rooms],
                }
            )
            yield _summary(part, n_rows, check, summary)


@dataclass(frozen=True, eq=False)
class OverParts:
    """The task that makes a small table of the parts of a partition."""

    reader: PartReader
    columns: tuple[str, ...] | None
    task: Summary

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = _Seen()
        summary = self.task(seen.tables(self.reader.read(batches, self.columns)))
        if seen.n_rows:
            yield _summary(seen.place >> PLACES, seen.n_rows, seen.checksum, summary)


class _Seen:
    """Rows and hashes of the parts that went by."""

    def __init__(self) -> None:
        self.n_rows = self.checksum = 0
        self.place = -1

    def tables(self, parts: Iterator[PlacedPart]) -> Iterator[Table]:
        for part in parts:
            self.place = part.place if self.place < 0 else self.place
            self.n_rows += part.table.codes.n_rows
            self.checksum = summed(np.array([self.checksum, part.checksum]))
            yield part.table


@dataclass(frozen=True, eq=False)
class OverCodes:
    """The task that makes a small table of the codes of a partition's blocks."""

    source: BlockSource
    sizes: tuple[int, ...]
    task: Callable[[Iterator[Codes]], pa.Table]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        n_rows = check = 0

        def every() -> Iterator[Codes]:
            nonlocal n_rows, check
            for codes, own in codes_of(self.source.read(batches), self.sizes):
                n_rows, check = n_rows + codes.n_rows, summed(np.array([check, own]))
                yield codes

        summary = self.task(every())
        if n_rows:
            yield _summary(0, n_rows, check, summary)


@dataclass(frozen=True, eq=False)
class EncodeParts:
    """The task that turns rows into blocks of codes, with the group of each record, one of so many, before them.

    Records are dealt at random within a part, always in the same way for the same place, into groups of nearly equal size.
    """

    reader: PartReader
    groups: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sizes = (self.groups, *self.reader.schema.sizes)
        for part in self.reader.read(batches):
            codes = part.table.codes
            # From a turn of the part's own on: else short parts would all fill the first groups.
            dealt = np.resize(np.arange(self.groups, dtype=np.uint32), codes.n_rows)
            dealt = (
                dealt + (part.place % 1_000_003 + (part.place >> PLACES) * 7) % self.groups
            ) % self.groups
            generator(part.place % (1 << 63)).shuffle(dealt)
            yield block_of(
                Codes.of(
                    [dealt, *(codes[j] for j in range(len(codes)))], sizes, n_rows=codes.n_rows
                ),
                part.checksum,
            )


@dataclass(frozen=True, eq=False)
class ChooseRows:
    """The task that gives the rows that a keyed hash chooses, or how many there are."""

    reader: PartReader
    share: float
    key: int
    by: str
    count: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        n_rows = check = chosen = place = 0
        for part in self.reader.read(batches):
            table, place = part.table, part.place
            n_rows, check = n_rows + table.n_rows, summed(np.array([check, part.checksum]))
            hashes = (
                hashes_of_places(part.place, table.n_rows, self.key)
                if self.by == "place"
                else hashes_of_values(table, self.key)
            )
            rows = (
                np.flatnonzero(hashes < below_share(self.share))
                if self.share < 1
                else np.arange(table.n_rows)
            )
            chosen += len(rows)
            if len(rows) and not self.count:
                yield _summary(
                    part.place >> PLACES, 0, 0, _values_and_codes(table.take(rows), hashes[rows])
                )
        if n_rows:
            yield _summary(place >> PLACES, n_rows, check, pa.table({"chosen": [chosen]}))


def _values_and_codes(table: Table, hashes: NDArray[np.uint64]) -> pa.Table:
    """The values, codes and hashes of rows, columns called by their places."""
    data = table.data.select(list(table.schema.names))
    arrays = [
        *(column.combine_chunks() for column in data.columns),
        *(pa.array(table.codes[j]) for j in range(len(table.codes))),
        pa.array(hashes),
    ]
    return pa.table(arrays, names=[f"x{j}" for j in range(len(arrays))])


@dataclass(frozen=True, eq=False)
class PartCodes:
    """Codes of columns, made of each part and the number of its place."""

    reader: PartReader
    columns: tuple[str, ...]
    code: Callable[[Table, int], Mapping[str, NDArray[Any]]]

    def read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Mapping[str, NDArray[Any]]]:
        """Return the codes of the parts of a partition."""
        for part in self.reader.read(batches, self.columns):
            yield self.code(part.table, part.place)


@dataclass(frozen=True, eq=False)
class DrawnBatches:
    """Codes of columns that are drawn in batches, by number and size."""

    draw: Callable[[int, int], Mapping[str, NDArray[Any]]]
    n_rows: int

    def read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Mapping[str, NDArray[Any]]]:
        """Return the batches of a partition."""
        for numbers in batches:
            for number in numbers.column(0).to_pylist():
                yield self.draw(number, min(BATCH_ROWS, self.n_rows - number * BATCH_ROWS))


@dataclass(frozen=True, eq=False)
class CountKeyCells:
    """The task that counts combinations of codes, and gives a row for each that occurs in its partition, and one for the rows."""

    codes: PartCodes | DrawnBatches
    cliques: tuple[tuple[str, ...], ...]
    sizes: Mapping[str, int]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tallies = [SparseCounts([self.sizes[name] for name in clique]) for clique in self.cliques]
        n_rows = 0
        for codes in self.codes.read(batches):
            n_rows += len(next(iter(codes.values())))
            for tally, clique in zip(tallies, self.cliques, strict=True):
                tally.add([codes[name] for name in clique])
        # In place of a cell: a word of this task's own, so that no group-by joins it with another's.
        yield cell_batch(ROWS, [secrets.token_bytes(16)], np.array([n_rows]))
        for q, tally in enumerate(tallies):
            keys = cell_keys(tally)
            for start in range(0, len(keys), PIECE_CELLS):
                yield cell_batch(
                    q,
                    keys[start : start + PIECE_CELLS].tolist(),
                    tally.counts[start : start + PIECE_CELLS],
                )


def _summary(part: int, n: int, check: int, table: pa.Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array([value], kind)
            for value, kind in zip(
                (part, n, check, packed_table(table)), _SUMMARY.types, strict=True
            )
        ],
        schema=_SUMMARY,
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
