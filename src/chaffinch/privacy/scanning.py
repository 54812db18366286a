"""The private door for a file larger than memory: its records coded batch by batch into a cache, which the private counter counts.

Each batch goes through `prepare`, the very function that reads a table into memory. What it makes of a record depends on the record and on public
declarations alone, so the codes are those of the whole file, in its order, however it is cut into batches; with persons, only rows that
`kept_rows` keeps are in a batch, and `prepare` keeps all of these. So neighbouring files have neighbouring caches: the argument of `prepare`, and of
`keep_rows`, as it is. The number of batches, and what is on disk meanwhile, shows in no message and in no result; the folder is its owner's alone and is
removed at the end, however it ends.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.errors import InputError, PrivacyError
from ..counts.coded import CodedScan
from ..table.code_cache import CodeCache, CodeLayout, CodeWriter, temporary_folder
from ..table.scan import Scan
from ..table.sources import Source
from ..table.table import Table
from .discover import wanted_columns
from .kept_rows import kept_rows
from .opening import Unread, prepare
from .prepare import plain_cells

__all__ = ["PreparedScan", "prepared_scan"]


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
        raise PrivacyError("Records under a promise have the codes that are declared, and no others.")


@contextmanager
def prepared_scan(unread: Unread, *, folder: Path | None = None) -> Iterator[PreparedScan]:
    """Give the records of a file, of which the header was read so far, as a cache of codes that is removed when the block ends.

    Raises
    ------
    PrivacyError
        If something is left to be discovered: that needs the cells themselves.
    InputError
        If the file has other rows when it is read again.
    """
    if wanted_columns(unread.schema):
        raise PrivacyError("What a schema leaves to be discovered is discovered in memory. Declare it, or use --engine memory.")
    look = _prepared(unread, [])
    with temporary_folder(folder) as place:
        person = unread.person or unread.schema.only("person")
        kept = None if person is None else kept_rows(lambda: _ids(unread.source, person), unread.rows_per_person, place)
        layout = CodeLayout.of(look.schema)
        codes = place / "codes"
        with CodeWriter(codes, layout) as writer:
            for table in _tables(unread, kept):
                writer.write(table.codes)
        cache = CodeCache.open(codes, layout)
        yield PreparedScan(Scan(unread.source, look.schema, cache.n_rows, look.notes), look.schema, cache, look=look)


def _tables(unread: Unread, kept: NDArray[np.bool_] | None) -> Iterator[Table]:
    """Yield the records that are kept, batch by batch, prepared."""
    start = 0
    for batch in unread.source.batches():
        n_rows = batch.num_rows
        if kept is not None:
            mask = np.asarray(kept[start : start + n_rows])
            if len(mask) != n_rows:
                raise _changed(unread.source)
            batch = batch.filter(pa.array(mask))
        start += n_rows
        if batch.num_rows:
            yield _prepared(unread, [batch])
    if kept is not None and start != len(kept):
        raise _changed(unread.source)


def _prepared(unread: Unread, batches: list[pa.RecordBatch]) -> Table:
    source = replace(unread.source, read=lambda _: iter(batches))
    with warnings.catch_warnings():
        if batches:
            warnings.simplefilter("ignore")  # what there is to say hangs on names and declarations, and was said of no row
        prepared = prepare(source, unread.schema, person=unread.person, rows_per_person=unread.rows_per_person)
    assert isinstance(prepared, Table)
    return prepared


def _ids(source: Source, person: str) -> Iterator[Any]:
    for batch in source.batches([person]):
        yield plain_cells(pa.chunked_array([batch.column(0)]))


def _changed(source: Source) -> InputError:
    return InputError(f"'{source.name}' has other rows than when it was first read. Work on a file that nobody writes to.")
