"""A file larger than memory, under a fitted schema: batches of codes, as many times as asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.masking import THRESHOLD
from .._base.options import takes
from .._base.runtime import Progress, silent, thread_map
from .codes import Codes
from .domain import encode_column
from .fit_schema import CellValues, TableProfile, fit_schema, parse_columns
from .formats import Source
from .personal.detect import warn_of
from .read import encode_source
from .rows import CodedBatch, LocalRows, Names, Rows, SourceRows, number_chunks
from .rules.find import RowBatch, sampled_rows
from .rules.keep import Lazy, rules_of_batches
from .rules.relations import values_of
from .schema import Column, Note, Schema
from .settings import Reading
from .sources import open_source
from .table import Table, weights_of
from .text import spelling_of
from .types import to_numbers

if TYPE_CHECKING:
    from ..keywords import ReadingOptions
    from .schema_file import SchemaLike


@dataclass(frozen=True, eq=False)
class Scan(LocalRows):
    """A source with a fitted schema, read batch by batch. Make one with `chaffinch.scan`. `profiles` are what the schema was fitted to."""

    source: Source
    schema: Schema
    n_rows: int
    notes: tuple[Note, ...] = ()
    profiles: TableProfile | None = field(default=None, repr=False)

    def batches(
        self, *, columns: Collection[str] | None = None, weight: str | None = None
    ) -> Iterator[CodedBatch]:
        """Return batches of codes; only the named columns (all if None) are read and coded."""
        wanted = [c for c in self.schema.modelled if columns is None or c.name in columns]
        read = {c.name: spelling_of(c) for c in wanted}
        if weight is not None:
            read[weight] = spelling_of(self.schema[weight])
        names = [c.name for c in wanted]
        first = self.schema.columns[0]
        if not read:
            read[first.name] = spelling_of(
                first
            )  # something has to be read to learn how many rows a batch has
        for batch in self.source.batches(list(read)):
            values = parse_columns(batch, read, text=self.source.text)
            weights = None if weight is None else weights_of(self.schema[weight], values[weight][0])
            coded = dict(
                zip(
                    names,
                    thread_map(lambda c: encode_column(c, *values[c.name]), wanted),  # noqa: B023
                    strict=True,
                )
            )
            nothing: NDArray[Any] = np.zeros(batch.num_rows, dtype=np.uint8)
            arrays = [coded.get(c.name, nothing) for c in self.schema.modelled]
            yield CodedBatch(
                Codes.from_columns(arrays, self.schema.sizes, n_rows=batch.num_rows), weights
            )

    @property
    def name(self) -> str:  # type: ignore[override]
        """What messages call the source."""
        return self.source.name

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self.source.schema.names)

    def chunks(self, columns: Names = None, *, values: bool = True) -> Iterator[Table]:
        """Return the rows batch by batch: what `read` gives of them under the schema of all, all columns unless some are named."""
        names = None if columns is None else list(columns)
        batches = self.source.batches(names)
        return number_chunks(self.encoded([batch], names) for batch in batches)

    def raw(self) -> Rows:
        """Return the rows as they came."""
        return SourceRows(self.source)

    @property
    def empty(self) -> Table:
        """A table of the same columns without a row, which drawn tables look like."""
        return self.encoded([])

    def rebin_finely(self, *, progress: Progress = silent) -> Scan:
        """Return a scan of the same file with its numbers cut finer."""
        from .refit import rebin_scan_finely

        return rebin_scan_finely(self, progress=progress)

    def one_row_each(self, key: int) -> Scan:
        """Return one row of each person: all, since each is of a person of its own."""
        return self

    def row_batches(self, columns: Collection[str] | None = None) -> Iterator[RowBatch]:
        """Return batches of values and codes of the named modelled columns, or of all, as rules see them; each is worked out when it is asked for."""
        wanted = [
            column for column in self.schema.modelled if columns is None or column.name in columns
        ]
        for batch in self.source.batches([column.name for column in wanted]):
            yield self.row_batch(self.cells(batch, wanted), wanted)

    def tables(self, n_rows: int) -> Iterator[Table]:
        """Return all rows as tables of `n_rows` each, the last with what is left, in their order: what `read` gives, part by part."""
        waiting: list[pa.Table] = []
        n_waiting = seen = 0

        def next_table() -> Table:
            rows = pa.concat_tables(waiting)
            waiting.clear()
            return self.encoded(rows.to_batches())

        for batch in self.source.batches():
            start = 0
            while start < batch.num_rows:
                piece = pa.Table.from_batches([batch.slice(start, n_rows - n_waiting)])
                waiting.append(piece)
                n_waiting, start, seen = (
                    n_waiting + piece.num_rows,
                    start + piece.num_rows,
                    seen + piece.num_rows,
                )
                if n_waiting == n_rows:
                    n_waiting = 0
                    yield next_table()
        if n_waiting:
            yield next_table()
        if seen != self.n_rows:
            raise InputError(
                f"'{self.source.name}' has other rows than when it was first read. Work on a file that nobody writes to."
            )

    def encoded(
        self, batches: Iterable[pa.RecordBatch], columns: Sequence[str] | None = None
    ) -> Table:
        """Return some rows of the source as a table: what `read` gives of them under the schema of all. `columns`: those that the batches have, where not all."""
        schema = (
            self.schema
            if columns is None
            else replace(self.schema, columns=tuple(self.schema[name] for name in columns))
        )
        held_batches = list(batches)
        stored = (
            held_batches[0].schema if held_batches else self.source.schema
        )  # words that are asked for by name may come as dictionaries
        return encode_source(
            replace(self.source, schema=stored, read=lambda _: iter(held_batches), files=()),
            schema,
            self.notes,
        )

    def cells(self, batch: pa.RecordBatch | pa.Table, columns: Sequence[Column]) -> CellValues:
        """Return the typed cells of some rows of the source."""
        return parse_columns(
            batch, {column.name: spelling_of(column) for column in columns}, text=self.source.text
        )

    def row_batch(
        self,
        cells: CellValues,
        columns: Sequence[Column],
        codes: Mapping[str, NDArray[Any]] | None = None,
    ) -> RowBatch:
        """Return the values and codes of some rows from their typed cells; `codes` where they are known."""
        names = [column.name for column in columns]
        coded = (
            Lazy(lambda name: encode_column(self.schema[name], *cells[name]), names)
            if codes is None
            else codes
        )
        values = Lazy(lambda name: values_of(self.schema[name], cells[name][0], coded[name]), names)
        return RowBatch(values, coded, Lazy(lambda name: to_numbers(cells[name][0])[0], names))


@dataclass(frozen=True, eq=False)
class Profiled:
    """A scan after the pass that fits its schema, and before the one that fits its rules.

    `find`: whether rules are looked for (True), those declared fitted (False), or neither (None). `sample`: the rows that candidates come from,
    where they are known.
    """

    scan: Scan
    find: bool | None = None
    sample: RowBatch | None = None


def profile_source(
    source: Source,
    declared: Schema | None,
    *,
    rare: Literal["pool", "keep"] = "pool",
    threshold: int = THRESHOLD,
    progress: Progress = silent,
) -> Profiled:
    """Return a source with its schema fitted, in one pass over it, two for text files."""
    find = declared is None or declared.leaves_rules_open
    rows = _WatchedRows(source.n_rows) if find and source.n_rows is not None else None
    fitted = fit_schema(
        source,
        declared,
        rare=rare,
        threshold=threshold,
        progress=progress,
        watch=lambda batch, _: None if rows is None else rows.add(batch),
    )
    warn_of(fitted.notes)
    scanned = Scan(source, fitted.schema, fitted.n_rows, fitted.notes, fitted.profiles)
    if not find:
        return Profiled(
            scanned,
            False if declared is not None and declared.rules and not declared.fitted else None,
        )
    modelled = scanned.schema.modelled
    known = rows is not None and rows.first == fitted.n_rows == source.n_rows
    sample = (
        scanned.row_batch(scanned.cells(pa.Table.from_batches(rows.parts), modelled), modelled)
        if rows is not None and known
        else None
    )
    return Profiled(scanned, True, sample)


class _WatchedRows:
    """Keeps the rows of a source that candidates of rules come from, while it is read for another reason."""

    def __init__(self, n_rows: int) -> None:
        self.chosen = sampled_rows(n_rows)
        self.first = 0
        self.parts: list[pa.RecordBatch] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Keep what was chosen of a batch."""
        rows = (
            self.chosen[(self.chosen >= self.first) & (self.chosen < self.first + batch.num_rows)]
            - self.first
        )
        self.first += batch.num_rows
        self.parts.append(batch.take(pa.array(rows)))


@takes(Reading)
def scan(
    source: Any,
    schema: SchemaLike | None = None,
    *,
    settings: Reading | None = None,
    progress: Progress = silent,
    **options: Unpack[ReadingOptions],
) -> Scan:
    """Return a scan of a file too large to read: arguments as for `read`.

    The schema is fitted in one pass over the file (two for text files, without a given schema). Memory
    stays bounded; quantiles of columns with over a million distinct numbers are right to about one in a thousand ranks.
    """
    reading = Reading.chosen(settings, options if schema is None else {"schema": schema, **options})
    profiled = profile_source(
        open_source(source, **reading.file),
        reading.declared,
        rare=reading.rare,
        threshold=reading.threshold,
        progress=progress,
    )
    scanned = profiled.scan
    if profiled.find is None:
        return scanned
    progress("looking for rules", -1)
    ruled = rules_of_batches(
        scanned.schema,
        scanned.n_rows,
        scanned.row_batches,
        find=profiled.find,
        threshold=reading.threshold,
        sample=profiled.sample,
    )
    return replace(scanned, schema=ruled[0], notes=(*scanned.notes, *ruled[1]))
