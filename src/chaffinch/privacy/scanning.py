"""The private door for a file larger than memory: its records coded batch by batch into a cache, which the private counter counts.

Each batch goes through `coded_cells`, the very function that codes a table in memory. What it makes of a record depends on the record and on public
declarations alone, so the codes are those of the whole file, in its order, however it is cut into batches; with persons, only rows that
`kept_rows` keeps are in a batch, the very ones that `keep_rows` keeps of the whole. So neighbouring files have neighbouring caches: the argument of
`prepare`, and of `keep_rows`, as it is. Where something is to be discovered, counts of cells are summed over batches before noise is put in them
(`tallies`): the counts are those of the whole file, and so is what is drawn. The number of batches, and what is on disk meanwhile, shows in no message
and in no result; the folder is its owner's alone and is removed at the end, however it ends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.errors import InputError, PrivacyError
from ..counts.coded import CodedScan
from ..counts.counter import Counter, StreamCounter
from ..table.code_cache import CodeCache, CodeLayout, CodeWriter, temporary_folder
from ..table.formats import Source
from ..table.personal.detect import personal_note, warn_of, with_evidence
from ..table.scan import CodedBatch, Scan
from ..table.schema import Note, Schema
from ..table.table import Table
from .discover import wanted_columns
from .kept_rows import kept_rows
from .opening import Undiscovered, Unread
from .prepare import StoredCells, cells_of_rows, coded_cells, plain_cells
from .prepare import prepare as prepare_declared


@dataclass(frozen=True, eq=False)
class DeclaredScan(Scan):
    """Records of a file under a sealed schema, read batch by batch by what codes a table for a private fit: what measures of a release take for the original.

    Its source has the rows that are kept, and no others.
    """

    def encoded(
        self, batches: Iterable[pa.RecordBatch], columns: Sequence[str] | None = None
    ) -> Table:
        """Return some rows of the source, of all columns or of some, as the table that `prepare` makes of them."""
        sealed = (
            self.schema
            if columns is None
            else replace(self.schema, columns=tuple(self.schema[name] for name in columns))
        )
        every = list(batches)
        rows = pa.Table.from_batches(every) if every else self.source.schema.empty_table()
        return replace(coded_cells(cells_of_rows(self.source, rows), sealed), notes=self.notes)

    @property
    def person(self) -> str | None:
        """The column that says whose row it is, where some have several; None where every row is a person of its own."""
        return self.schema.only("person") if self.schema.persons > 1 else None

    def one_row_each(self, key: int) -> DeclaredScan:
        """Return one row of each person, drawn at random: people are counted once then, and rows are independent of each other."""
        person = self.person
        if person is None:
            return self
        with temporary_folder() as place:
            kept = kept_rows(lambda: _ids(self.source, person), 1, place, key=key)
            return replace(self, source=_kept(self.source, person, kept), n_rows=int(kept.sum()))

    def batches(
        self, *, columns: Collection[str] | None = None, weight: str | None = None
    ) -> Iterator[CodedBatch]:
        """Return batches of the codes of all columns; records are not weighted."""
        if weight is not None:
            raise PrivacyError(
                "Records under a promise have no weights: one would change a count by its weight."
            )
        yield from (CodedBatch(self.encoded([batch]).codes) for batch in self.source.batches())


@dataclass(frozen=True, eq=False)
class PreparedScan(CodedScan):
    """Records under a sealed schema as a cache of codes: `BayesNet(epsilon=1).fit(StreamCounter(scan))`. Make one with `prepared_scan`.

    `look`: a table of the same columns without a row.
    """

    look: Table | None = None

    @property
    def empty(self) -> Table:
        """A table of the same columns without a row, which drawn tables look like."""
        assert self.look is not None
        return self.look

    def finer(self) -> CodedScan:
        """Raise: numbers cut finer would be cut by the data."""
        raise PrivacyError(
            "Records under a promise have the codes that are declared, and no others."
        )


@dataclass(frozen=True, eq=False)
class FileCells:
    """The cells of a file, batch by batch: of the rows that are kept. `persons`: how many of each person, 0 where every row is one of its own."""

    source: Source
    folder: Path
    persons: int = 0

    def parts(self, columns: Sequence[str]) -> Iterator[StoredCells]:
        """Yield the cells of the named columns, batch by batch."""
        for batch in self.source.batches(list(columns)):
            yield self._of(pa.Table.from_batches([batch]))

    def empty(self) -> StoredCells:
        """Return the cells of no row."""
        return self._of(self.source.schema.empty_table())

    def coded(self, schema: Schema, notes: Sequence[Note]) -> PreparedScan:
        """Return the records under a schema that declares all, as a cache of codes in the folder."""
        look = replace(prepare_declared(self.empty(), schema), notes=tuple(notes))
        scan = DeclaredScan(self.source, look.schema, 0, look.notes)
        codes, layout = self.folder / "codes", CodeLayout.of(look.schema)
        with CodeWriter(codes, layout) as writer:
            for batch in self.source.batches():
                if batch.num_rows:
                    writer.write(scan.encoded([batch]).codes)
        cache = CodeCache.open(codes, layout)
        return PreparedScan(replace(scan, n_rows=cache.n_rows), look.schema, cache, look=look)

    def _of(self, rows: pa.Table) -> StoredCells:
        return replace(cells_of_rows(self.source, rows), persons=self.persons)


@dataclass(frozen=True, eq=False, repr=False)
class UndiscoveredScan(Undiscovered):
    """A file whose domain is not all declared, read batch by batch: the rest is discovered by the fit, and `coded` is its cache of codes from then on."""

    cells: FileCells
    _coded: list[PreparedScan] = field(default_factory=list)

    def under(self, schema: Schema) -> Table:
        """Return a table without a row under a schema in which everything has been found: the rows stay in the file."""
        return self.coded.empty if self._coded else prepare_declared(self.cells.empty(), schema)

    def counter(self, schema: Schema) -> Counter:
        """Return a counter of the records under a schema in which everything has been found; they are coded once."""
        self._coded[:] = [self.cells.coded(schema, ())]
        return StreamCounter(self.coded)

    @property
    def coded(self) -> PreparedScan:
        """The records as a cache of codes, once everything has been found."""
        if not self._coded:
            raise PrivacyError(
                "The domain of the file is not yet known: a private fit discovers it."
            )
        return self._coded[0]


@contextmanager
def prepared_scan(
    unread: Unread, *, folder: Path | None = None
) -> Iterator[PreparedScan | UndiscoveredScan]:
    """Give the records of a file, of which the header was read so far, as a cache of codes that is removed when the block ends.

    Where something is left to be discovered, that is done by the fit, which the cache is then made for.

    Raises
    ------
    InputError
        If the file has other rows when it is read again.
    """
    notes = personal_note(
        with_evidence(unread.schema)
    )  # by names and declarations: no record is asked
    warn_of(notes)
    with temporary_folder(folder) as place:
        person = unread.person or unread.schema.only("person")
        source = unread.source
        if person is not None:
            source = _kept(
                source,
                person,
                kept_rows(lambda: _ids(unread.source, person), unread.rows_per_person, place),
            )
        cells = FileCells(source, place, 0 if person is None else unread.rows_per_person)
        if wanted_columns(unread.schema):
            yield UndiscoveredScan(cells, unread.schema)
        else:
            yield cells.coded(unread.schema, notes)


def _kept(source: Source, person: str, kept: NDArray[np.bool_]) -> Source:
    """Return a source of the rows that are kept of each person: which ones is held as a bit a row."""
    n_rows, bits = len(kept), np.packbits(kept)

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        names = None if columns is None else list(columns)
        with_person = (
            None if names is None else [*names, *[person] * (person not in names and source.text)]
        )
        start = 0
        for batch in source.batches(with_person):
            if start + batch.num_rows > n_rows:
                raise _changed(source)
            first, start = start, start + batch.num_rows
            mask = np.unpackbits(bits[first // 8 : start // 8 + 1])[first % 8 :][
                : batch.num_rows
            ].astype(bool)
            if source.text:  # only a row of the wrong length has null cells: its person is not known, and may have many more
                mask &= (
                    batch.column(batch.schema.names.index(person))
                    .is_valid()
                    .to_numpy(zero_copy_only=False)
                )
            yield (
                batch.filter(pa.array(mask))
                if names is None
                else batch.filter(pa.array(mask)).select(names)
            )
        if start != n_rows:
            raise _changed(source)

    return replace(
        source, read=read, n_rows=None, head=None, files=()
    )  # the source itself sees that its files are the same


def _ids(source: Source, person: str) -> Iterator[Any]:
    for batch in source.batches([person]):
        yield plain_cells(pa.chunked_array([batch.column(0)]))


def _changed(source: Source) -> InputError:
    return InputError(
        f"'{source.name}' has other rows than when it was first read. Work on a file that nobody writes to."
    )
