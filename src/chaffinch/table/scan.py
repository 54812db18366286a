"""A file larger than memory, under a fitted schema: batches of codes, as many times as asked."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from .._base.masking import THRESHOLD
from .._base.progress import Progress, silent
from .._base.threads import thread_map
from .codes import Codes
from .encode import encode_column
from .find_rules import RowBatch
from .fit_schema import fit_schema, spelling_of, typed
from .formats.options import FileOptions
from .kept_rules import rules_of_batches
from .note import Note
from .personal.detect import warn_of
from .relations import values_of
from .schema import Schema
from .schema_file import SchemaLike, as_schema
from .sources import Source, open_source
from .table import weights_of

__all__ = ["CodedBatch", "Scan", "scan"]


@dataclass(frozen=True, eq=False)
class CodedBatch:
    """The codes of some rows: of the columns asked for; the others are all 0. And their weights, if asked for."""

    codes: Codes
    weights: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class Scan:
    """A source with a fitted schema, read batch by batch. Make one with `chaffinch.scan`."""

    source: Source
    schema: Schema
    n_rows: int
    notes: tuple[Note, ...] = ()

    def batches(self, *, columns: Collection[str] | None = None, weight: str | None = None) -> Iterator[CodedBatch]:
        """Return batches of codes; only the named columns (all if None) are read and coded."""
        wanted = [c for c in self.schema.modelled if columns is None or c.name in columns]
        read = {c.name: spelling_of(c) for c in wanted}
        if weight is not None:
            read[weight] = spelling_of(self.schema[weight])
        names = [c.name for c in wanted]
        one = self.schema.columns[0]
        if not read:
            read[one.name] = spelling_of(one)  # something has to be read to learn how many rows a batch has
        for batch in self.source.batches(list(read)):
            values = typed(batch, read, text=self.source.text)
            weights = None if weight is None else weights_of(self.schema[weight], values[weight][0])
            coded = dict(zip(names, thread_map(lambda c: encode_column(c, *values[c.name]), wanted), strict=True))  # noqa: B023
            nothing: NDArray[Any] = np.zeros(batch.num_rows, dtype=np.uint8)
            arrays = [coded.get(c.name, nothing) for c in self.schema.modelled]
            yield CodedBatch(Codes.of(arrays, self.schema.sizes, n_rows=batch.num_rows), weights)

    def row_batches(self) -> Iterator[RowBatch]:
        """Return batches of values and codes of all modelled columns, as rules see them."""
        columns = self.schema.modelled
        for batch in self.source.batches([column.name for column in columns]):
            cells = typed(batch, {column.name: spelling_of(column) for column in columns}, text=self.source.text)
            codes = {column.name: encode_column(column, *cells[column.name]) for column in columns}
            yield RowBatch({c.name: values_of(c, cells[c.name][0], codes[c.name]) for c in columns}, codes)


def scan(
    source: Any,
    schema: SchemaLike | None = None,
    *,
    rare: Literal["pool", "keep"] = "pool",
    threshold: int = THRESHOLD,
    progress: Progress = silent,
    **options: Unpack[FileOptions],
) -> Scan:
    """Return a scan of a file too large to read: arguments as for `read`.

    The schema is fitted in one pass over the file (two for text files, without a given schema). Memory
    stays bounded; quantiles of columns with over a million distinct numbers are right to about one in a thousand ranks.
    """
    opened = open_source(source, **options)
    declared = as_schema(schema)
    fitted = fit_schema(opened, declared, rare=rare, threshold=threshold, progress=progress)
    warn_of(fitted.notes)
    scanned = Scan(opened, fitted.schema, fitted.n_rows, fitted.notes)
    if declared is not None and (declared.fitted or not declared.rules):
        return scanned
    progress("looking for rules", -1)
    ruled = rules_of_batches(scanned.schema, scanned.n_rows, scanned.row_batches, find=declared is None, threshold=threshold)
    return replace(scanned, schema=ruled[0], notes=(*scanned.notes, *ruled[1]))
