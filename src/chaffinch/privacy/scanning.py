"""The private door for a file larger than memory: its records coded batch by batch into a cache, which the private counter counts.

Each batch goes through `coded_cells`, the very function that codes a table in memory. What it makes of a record depends on the record and on public
declarations alone, so the codes are those of the whole file, in its order, however it is cut into batches; with persons, only rows that
`kept_rows` keeps are in a batch, the very ones that `keep_rows` keeps of the whole. So neighbouring files have neighbouring caches: the argument of
`prepare`, and of `keep_rows`, as it is. Where something is to be discovered, counts of cells are summed over batches before noise is put in them
(`tallies`): the counts are those of the whole file, and so is what is drawn. The number of batches, and what is on disk meanwhile, shows in no message
and in no result; the folder is its owner's alone and is removed at the end, however it ends.

**Several rows for one person**: which of them are kept is found by a bounded sort on disk. Rows are dealt by a hash of their person into parts, each of which fits in memory; then `keep_rows` says for each part which of its rows are kept.

Privacy: the rows that are kept are those that `keep_rows` keeps of the whole file, so its proof holds as it is. All rows of one person are in one part,
in the order of the file, since the part is a function of the person's id alone, and ids that are one person to `keep_rows` have one hash. Whether a row is
kept depends on the rows of its own person before it, all of which are in its part: who else is there has no say. A row that is not among the first
`most` of its person in its batch is not among the first `most` of the file either: leaving it out before it is dealt changes nothing, and bounds what
one person with very many rows can put into a part. No hash decides who is who: two persons whose hashes are equal are in one part, and distinguished by
their ids.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._base.errors import InputError, PrivacyError
from .._base.runtime import Progress, silent
from ..counts.coded import CodedScan
from ..counts.counter import Counter, StreamCounter
from ..table.code_cache import CodeCache, CodeLayout, CodeWriter, temporary_folder, writing_to
from ..table.formats import Source
from ..table.personal.detect import personal_note, warn_of, with_evidence
from ..table.rows import CodedBatch
from ..table.sample import hashes_of
from ..table.scan import Scan
from ..table.schema import Note, Schema
from ..table.spell import spell_values
from ..table.table import Table
from ..table.types import is_bytes
from .discover import wanted_columns
from .prepare import StoredCells, cells_of_rows, coded_cells, keep_rows, plain_cells
from .prepare import prepare as prepare_declared
from .session import DataWithoutDomain, LazySource


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
        all_batches = list(batches)
        rows = (
            pa.Table.from_batches(all_batches) if all_batches else self.source.schema.empty_table()
        )
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
        with temporary_folder() as folder:
            is_kept = kept_rows(lambda: _ids(self.source, person), 1, folder, key=key)
            return replace(
                self, source=_keep(self.source, person, is_kept), n_rows=int(is_kept.sum())
            )

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
    """Records under a sealed schema as a cache of codes: `BayesNet(epsilon=1).fit(StreamCounter(scan))`. Make one with `prepared_scan`."""

    def rebin_finely(self, *, progress: Progress = silent) -> CodedScan:
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
            yield self._stored(pa.Table.from_batches([batch]))

    def empty(self) -> StoredCells:
        """Return the cells of no row."""
        return self._stored(self.source.schema.empty_table())

    def coded(self, schema: Schema, notes: Sequence[Note]) -> PreparedScan:
        """Return the records under a schema that declares all, as a cache of codes in the folder."""
        look = replace(prepare_declared(self.empty(), schema), notes=tuple(notes))
        scan = DeclaredScan(self.source, look.schema, 0, look.notes)
        codes, layout = self.folder / "codes", CodeLayout.from_schemas(look.schema)
        with CodeWriter(codes, layout) as writer:
            for batch in self.source.batches():
                if batch.num_rows:
                    writer.write(scan.encoded([batch]).codes)
        cache = CodeCache.open(codes, layout)
        return PreparedScan(replace(scan, n_rows=cache.n_rows), look.schema, cache)

    def _stored(self, rows: pa.Table) -> StoredCells:
        return replace(cells_of_rows(self.source, rows), persons=self.persons)


@dataclass(frozen=True, eq=False, repr=False)
class ScanWithoutDomain(DataWithoutDomain):
    """A file whose domain is not all declared, read batch by batch: the rest is discovered by the fit, and `coded` is its cache of codes from then on."""

    cells: FileCells
    _coded: list[PreparedScan] = field(default_factory=list)

    def discovered(self, schema: Schema) -> tuple[Scan, PreparedScan]:
        """Return the records under the schema of the fitted model: the rows stay in the file, and their codes in the cache."""
        return self.coded.scan, self.coded

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
    lazy: LazySource, *, folder: Path | None = None
) -> Iterator[PreparedScan | ScanWithoutDomain]:
    """Give the records of a file, of which the header was read so far, as a cache of codes that is removed when the block ends.

    Where something is left to be discovered, that is done by the fit, which the cache is then made for.

    Raises
    ------
    InputError
        If the file has other rows when it is read again.
    """
    notes = personal_note(
        with_evidence(lazy.schema)
    )  # by names and declarations: no record is asked
    warn_of(notes)
    with temporary_folder(folder) as workspace:
        person = lazy.person or lazy.schema.only("person")
        source = lazy.source
        if person is not None:
            source = _keep(
                source,
                person,
                kept_rows(lambda: _ids(lazy.source, person), lazy.rows_per_person, workspace),
            )
        cells = FileCells(source, workspace, 0 if person is None else lazy.rows_per_person)
        if wanted_columns(lazy.schema):
            yield ScanWithoutDomain(cells, lazy.schema)
        else:
            yield cells.coded(lazy.schema, notes)


def _keep(source: Source, person: str, is_kept: NDArray[np.bool_]) -> Source:
    """Return a source of the rows that are kept of each person: which ones is held as a bit a row."""
    n_rows, bits = len(is_kept), np.packbits(is_kept)

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        names = None if columns is None else list(columns)
        with_person = (
            None if names is None else [*names, *[person] * (person not in names and source.text)]
        )
        start = 0
        for batch in source.batches(with_person):
            if start + batch.num_rows > n_rows:
                raise _changed_error(source)
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
            raise _changed_error(source)

    return replace(
        source, read=read, n_rows=None, head=None, files=()
    )  # the source itself sees that its files are the same


def _ids(source: Source, person: str) -> Iterator[Any]:
    for batch in source.batches([person]):
        yield plain_cells(pa.chunked_array([batch.column(0)]))


def _changed_error(source: Source) -> InputError:
    return InputError(
        f"'{source.name}' has other rows than when it was first read. Work on a file that nobody writes to."
    )


PARTS = 128
"""Parts that rows are dealt into: a file of 10^9 rows has some eight million in each."""


def kept_rows(
    ids: Callable[[], Iterator[pa.Array]], max_rows: int, folder: Path, *, key: int | None = None
) -> NDArray[np.bool_]:
    """Return for each row whether it is one of the first `max_rows` of its person; on disk, in `folder`, a byte a row.

    `ids` gives the ids of all rows batch by batch, plain, as `keep_rows` takes them. Rows without an id are persons of their own, and kept. `key`: rows are
    taken in the order of a keyed hash of their place, and not of the file: with `max_rows` = 1, one row of each person at random.
    """
    parts_folder = folder / "persons"
    parts_folder.mkdir(mode=0o700)
    salt, n_rows = secrets.token_bytes(16), 0
    with ExitStack() as files:
        writers: dict[int, Any] = {}
        for batch in ids():
            first = _first(batch, np.arange(n_rows, n_rows + len(batch)), max_rows, key)
            who = batch.take(pa.array(first))
            parts = _parts_of(who, salt)
            order = np.argsort(parts, kind="stable")
            ends = np.searchsorted(parts[order], np.arange(PARTS + 1))
            with writing_to(parts_folder):
                for number in np.unique(parts).tolist():
                    chosen = order[ends[number] : ends[number + 1]]
                    rows = pa.record_batch(
                        {"row": pa.array(first[chosen] + n_rows), "who": who.take(pa.array(chosen))}
                    )
                    if number not in writers:
                        writers[number] = files.enter_context(
                            pa.ipc.new_file(str(parts_folder / f"{number:03d}.arrow"), rows.schema)
                        )
                    writers[number].write_batch(rows)
            n_rows += len(batch)
    with writing_to(parts_folder):
        is_kept: NDArray[np.bool_] = np.memmap(
            folder / "kept", dtype=np.bool_, mode="w+", shape=(max(n_rows, 1),)
        )[:n_rows]
        for path in sorted(parts_folder.iterdir()):
            with pa.memory_map(str(path)) as mapped:
                stored_rows = pa.ipc.open_file(mapped).read_all()
                rows = stored_rows.column("row").to_numpy()
                is_kept[rows[_first(stored_rows.column("who"), rows, max_rows, key)]] = True
                del stored_rows
            path.unlink()
    return is_kept


def _first(
    ids: pa.Array | pa.ChunkedArray, rows: NDArray[np.int64], max_rows: int, key: int | None
) -> NDArray[np.int64]:
    """Return which of some rows, given their places in the file, are the first `max_rows` of their person among them, in the order of the file."""
    if key is None:
        return keep_rows(ids, max_rows)
    order = np.argsort(hashes_of(rows, key), kind="stable")
    return np.sort(order[keep_rows(ids.take(pa.array(order)), max_rows)])


def _parts_of(ids: pa.Array, salt: bytes) -> NDArray[np.int64]:
    """Return the part of each row: the same for ids that are one person to `keep_rows`."""
    if pa.types.is_decimal(ids.type):
        ids = spell_values(ids).cast(pa.large_binary())
    if pa.types.is_temporal(ids.type) and not pa.types.is_interval(ids.type):
        ids = pc.cast(ids, pa.int32() if ids.type.bit_width == 32 else pa.int64())
    values = ids.to_pylist()
    if is_bytes(ids.type):
        values = [None if word is None else word.strip() for word in values]
    # Python's hash of bytes is keyed anew in each process; 0.0 and -0.0 have one, and who is distinguished depends on no hash.
    return np.fromiter(
        (hash((salt, value)) % PARTS for value in values), dtype=np.int64, count=len(values)
    )
