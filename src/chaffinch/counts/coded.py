"""A file as a cache of codes: read once for its schema, once to encode it, then counted from the
cache.

The cache holds the codes of the schema and, for numbers, those of the finer one that trees are
grown on, so that a fit of either kind reads the source no more. Rules are verified while it is
encoded. A rule that one column determines another adds a pass over these two.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.masking import THRESHOLD
from .._base.runtime import Progress, give_memory_back, silent, thread_map
from ..table.code_cache import CodeCache, CodeLayout, CodeWriter, temporary_folder, writing_to
from ..table.codes import Codes
from ..table.domain import encode_column
from ..table.fit_schema import CellValues
from ..table.formats.format import FileOptions
from ..table.refit import rebin_columns_finely, rebin_schema_finely
from ..table.rows import CodedBatch
from ..table.rules.find import RowBatch
from ..table.rules.keep import functions_of_batches, has_bins, rules_of_batches
from ..table.scan import Scan, profile_source
from ..table.schema import Column, Note, Schema
from ..table.schema_file import SchemaLike, as_schema
from ..table.sources import open_source
from ..table.table import Origin, weights_of
from ..table.weights import WeightSums, constant_weight_schema, weight_sums


@dataclass(frozen=True, eq=False)
class CodedScan:
    """A scan whose batches come from a cache of codes, to be counted by `StreamCounter`. Make one
    with `coded_scan`.

    `fine` is the schema with numbers cut finer; `view` says whose codes are handed out, 0 for
    `schema` and 1 for the finer one. `weights`: those of records, where these are counted by a
    column; all of its values have one code then.
    """

    scan: Scan
    fine: Schema
    cache: CodeCache
    view: Literal[0, 1] = 0
    weights: StoredWeights | None = None

    @property
    def schema(self) -> Schema:
        """The fitted schema of the codes that are handed out."""
        if self.view:
            return self.fine
        return self.scan.schema if self.weights is None else self.weights.schema

    @property
    def weight(self) -> str | None:
        """The column that records are counted by, if any: `StreamCounter(scan,
        weight=scan.weight)`.
        """
        return None if self.weights is None else self.weights.column.name

    @property
    def n_rows(self) -> int:
        """The number of records."""
        return self.cache.n_rows

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes on the columns."""
        return self.scan.notes

    def batches(
        self, *, columns: Collection[str] | None = None, weight: str | None = None
    ) -> Iterator[CodedBatch]:
        """Return batches of the codes of all columns; with `weight`, also the stored weights,
        scaled to add up to the number of records.
        """
        if weight is None:
            yield from (CodedBatch(codes) for codes in self.cache.batches(self.view))
            return
        if self.weights is None or weight != self.weight:
            raise InputError(
                f"Records in a cache of codes are not counted by '{weight}': make the cache with it, or count the file itself."
            )
        weights = self.weights.reader()
        yield from (
            CodedBatch(codes, weights(codes.n_rows)) for codes in self.cache.batches(self.view)
        )

    @property
    def total_weight(self) -> float | None:
        """The sum of the scaled weights, which is the number of records; None without weights."""
        known = self.weights is not None and self.weights.sums is not None
        return self.weights.sums.effective_rows if known else None  # type: ignore[union-attr]

    @property
    def look(self) -> Origin:
        """The format of the file, which drawn tables follow."""
        return self.scan.empty.look

    def rebin_finely(self, *, progress: Progress = silent) -> CodedScan:
        """Return the same rows on the codes of finer bins."""
        return replace(self, view=1)


@contextmanager
def coded_scan(
    source: Any,
    schema: SchemaLike | None = None,
    *,
    rare: Literal["pool", "keep"] = "pool",
    threshold: int = THRESHOLD,
    weight: str | None = None,
    folder: Path | None = None,
    check: Callable[[Scan], object] = lambda scan: None,
    progress: Progress = silent,
    **options: Unpack[FileOptions],
) -> Iterator[CodedScan]:
    """Yield a cache of the codes of a file, removed at the end of the block; arguments as for
    `scan`.

    `weight`: the column that records are counted by, the schema's role unless named: eight bytes a
    row more. `folder`: where the cache lies, a byte or two a cell; None: where the system has
    temporary files (`TMPDIR`). `check` is called when the schema is fitted, and may raise before
    anything is encoded.

    Examples
    --------
    >>> import chaffinch, pyarrow as pa
    >>> with coded_scan(pa.table({"sex": ["f", "m"] * 30, "ill": ["no", "no", "yes"] * 20})) as coded:
    ...     chaffinch.StreamCounter(coded).marginals([("sex", "ill")])[0].counts
    array([[20, 10],
           [20, 10]])
    """
    profiled = profile_source(
        open_source(source, **options),
        as_schema(schema),
        rare=rare,
        threshold=threshold,
        progress=progress,
    )
    scanned = profiled.scan
    check(
        scanned
        if weight is None
        else replace(scanned, schema=scanned.schema.with_roles(weight=weight))
    )
    columns = rebin_columns_finely(scanned, progress=progress)
    find, sample = profiled.find, profiled.sample
    scanned = replace(scanned, profiles=None)
    del profiled
    give_memory_back()  # what profiles held: of many columns much, and nobody asks for it again
    layout = CodeLayout.from_schemas(scanned.schema, rebin_schema_finely(scanned, columns))
    with temporary_folder(
        folder,
        n_bytes=scanned.n_rows
        * (layout.row_bytes + 8 * bool(weight or scanned.schema.only("weight"))),
    ) as cache_folder:
        encoded = _Encoding(scanned, layout, cache_folder / "codes", progress)
        if find is not None:
            ruled, notes = rules_of_batches(
                scanned.schema,
                scanned.n_rows,
                encoded.rows,
                find=find,
                threshold=threshold,
                sample=sample,
                codes=encoded.coded_rows,
            )
            scanned = replace(scanned, schema=ruled, notes=(*scanned.notes, *notes))
        sample = None
        if weight is not None:
            scanned = replace(scanned, schema=scanned.schema.with_roles(weight=weight))
        weights = StoredWeights.waiting(scanned.schema, cache_folder / "weights")
        coded = scanned if weights is None else replace(scanned, schema=weights.schema)
        fine = rebin_schema_finely(
            coded,
            columns
            if weights is None
            else [weights.schema[c.name] if c.name == weights.column.name else c for c in columns],
        )
        final = CodeLayout.from_schemas(coded.schema, fine)
        if (
            not encoded.complete or final.digest != layout.digest
        ):  # rules that were found cut bins anew, or weights have one code
            shutil.rmtree(encoded.folder, ignore_errors=True)
            encoded = _Encoding(coded, final, cache_folder / "final", progress, weights)
            for _ in encoded.rows(None):
                pass
        if fine is not coded.schema:
            fine_rows = replace(encoded, scan=replace(coded, schema=fine), view=1)
            fine = replace(
                fine, functions=functions_of_batches(fine, fine_rows.coded_rows, THRESHOLD)
            )
        if weights is not None:
            weights = weights.summed()
            fine = weights.in_schema(fine)
        give_memory_back()
        yield CodedScan(scanned, fine, CodeCache.open(encoded.folder, final), weights=weights)


@dataclass
class _Encoding:
    """The pass that encodes the rows of a scan: they are yielded, and written to the cache on the
    way.
    """

    scan: Scan
    layout: CodeLayout
    folder: Path
    progress: Progress
    weights: StoredWeights | None = None
    view: int = 0
    complete: bool = False

    def rows(self, columns: Collection[str] | None) -> Iterator[RowBatch]:
        """Yield all rows, with all columns or those named; the first pass writes all columns to the
        cache.
        """
        if self.complete:
            yield from self.scan.row_batches(columns)
            return
        with CodeWriter(self.folder, self.layout) as writer:
            yield from self._written(writer)
            if writer.n_rows_given != self.scan.n_rows:
                raise InputError(
                    f"'{self.scan.source.name}' has other rows than when it was first read. Work on a file that nobody writes to."
                )
        self.complete = True

    def coded_rows(self, columns: Collection[str]) -> Iterator[RowBatch]:
        """Yield all rows of some columns with their codes alone, from the complete cache; from the
        source where a column has bins.
        """
        if not self.complete or any(has_bins(self.scan.schema[name].codec) for name in columns):
            yield from self.scan.row_batches(columns)
            return
        places = {name: j for j, name in enumerate(self.scan.schema.names)}
        for codes in CodeCache.open(self.folder, self.layout).batches(self.view):
            yield RowBatch({}, {name: codes[places[name]] for name in columns})

    def _written(self, writer: CodeWriter) -> Iterator[RowBatch]:
        modelled, stored, weights = self.scan.schema.modelled, self.layout.columns, self.weights
        spelled = (
            modelled
            if weights is None
            else [
                weights.column if column.name == weights.column.name else column
                for column in modelled
            ]
        )
        for batch in self.scan.source.batches([column.name for column in modelled]):
            cells = self.scan.cells(batch, spelled)
            if weights is not None:
                weights.add(cells)
            codes = thread_map(lambda column: _codes(column, cells, weights), stored)  # noqa: B023
            writer.write(Codes.from_columns(codes, self.layout.sizes, n_rows=batch.num_rows))
            self.progress("encoding", writer.n_rows_given / max(self.scan.n_rows, 1))
            codes_by_name = {
                column.name: codes[position]
                for column, position in zip(modelled, self.layout.views[0], strict=True)
            }
            yield self.scan.row_batch(cells, modelled, codes_by_name)


def _codes(column: Column, cells: CellValues, weights: StoredWeights | None) -> NDArray[Any]:
    """Return the codes of a column; weights all have the code 0."""
    values, tokens = cells[column.name]
    if weights is not None and column.name == weights.column.name:
        return np.zeros(len(values), dtype=np.uint8)
    return encode_column(column, values, tokens)


@dataclass(frozen=True)
class StoredWeights:
    """The weights of records, in row order, in a file next to a cache of codes; confidential, as
    the cache is.

    `column`: the weights as they are. `schema`: with one code for all of them. `sums`: None while
    they are being written.
    """

    column: Column
    schema: Schema
    file: Path
    sums: WeightSums | None = None

    @classmethod
    def waiting(cls, schema: Schema, file: Path) -> StoredWeights | None:
        """Return the file for the weights of a table, before their mean is known; None without
        weights.
        """
        name = schema.only("weight")
        if name is None or not schema[name].modelled:
            return None
        return cls(schema[name], constant_weight_schema(schema, name, 0.0), file)

    def add(self, cells: CellValues) -> None:
        """Append the weights of some rows; raise for a value that is not a weight."""
        weights = weights_of(self.column, cells[self.column.name][0])
        with writing_to(self.file.parent), self.file.open("ab") as handle:
            handle.write(np.ascontiguousarray(weights, dtype=np.float64).data)

    def summed(self) -> StoredWeights:
        """Return the weights with their sums, and the schema with their mean."""
        sums = weight_sums(self._parts())
        weighted = replace(self.schema, columns=self._columns(self.schema, self.column))
        return replace(
            self,
            sums=sums,
            schema=constant_weight_schema(
                weighted, self.column.name, sums.mean_of(self.column.name)
            ),
        )

    def in_schema(self, schema: Schema) -> Schema:
        """Return a schema of the same columns with one code for the mean weight."""
        return replace(schema, columns=self._columns(schema, self.schema[self.column.name]))

    def reader(self) -> Callable[[int], NDArray[np.float64]]:
        """Return a function that returns the weights of the next rows, scaled to add up to the
        number of records.
        """
        assert self.sums is not None
        weights: NDArray[np.float64] = (
            np.memmap(self.file, dtype=np.float64, mode="r") if self.sums.n_rows else np.empty(0)
        )
        scale, start = self.sums.scale, 0

        def read(n_rows: int) -> NDArray[np.float64]:
            nonlocal start
            start += n_rows
            return np.asarray(weights[start - n_rows : start] * scale)

        return read

    def _columns(self, schema: Schema, column: Column) -> tuple[Column, ...]:
        return tuple(column if current.name == column.name else current for current in schema)

    def _parts(self) -> Iterator[NDArray[np.float64]]:
        if self.file.exists():
            with self.file.open("rb") as handle:
                while len(weights := np.fromfile(handle, dtype=np.float64, count=1 << 20)):
                    yield weights
