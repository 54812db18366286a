"""Several rows for one person, in a file larger than memory: which of them are kept, found by a bounded sort on disk.

Rows are dealt by a hash of their person into parts, each of which fits in memory; then `keep_rows` says for each part which of its rows are kept.

Privacy: the rows that are kept are those that `keep_rows` keeps of the whole file, so its proof holds as it is. All rows of one person are in one part,
in the order of the file, since the part is a function of the person's id alone, and ids that are one person to `keep_rows` have one hash. Whether a row is
kept depends on the rows of its own person before it, all of which are in its part: who else is there has no say. A row that is not among the first
`most` of its person in its batch is not among the first `most` of the file either: leaving it out before it is dealt changes nothing, and bounds what
one person with very many rows can put into a part. No hash decides who is who: two persons whose hashes are equal are in one part, and told apart by
their ids.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..table.code_cache import writing_to
from ..table.sample import hashes_of
from ..table.spell import is_bytes, spell_values
from .persons import keep_rows

PARTS = 128
"""Parts that rows are dealt into: a file of 10^9 rows has some eight million in each."""


def kept_rows(
    ids: Callable[[], Iterator[pa.Array]], most: int, folder: Path, *, key: int | None = None
) -> NDArray[np.bool_]:
    """Return for each row whether it is one of the first `most` of its person; on disk, in `folder`, a byte a row.

    `ids` gives the ids of all rows batch by batch, plain, as `keep_rows` takes them. Rows without an id are persons of their own, and kept. `key`: rows are
    taken in the order of a keyed hash of their place, and not of the file: with `most` = 1, one row of each person at random.
    """
    place = folder / "persons"
    place.mkdir(mode=0o700)
    salt, n_rows = secrets.token_bytes(16), 0
    with ExitStack() as files:
        writers: dict[int, Any] = {}
        for batch in ids():
            first = _first(batch, np.arange(n_rows, n_rows + len(batch)), most, key)
            who = batch.take(pa.array(first))
            parts = _parts_of(who, salt)
            order = np.argsort(parts, kind="stable")
            ends = np.searchsorted(parts[order], np.arange(PARTS + 1))
            with writing_to(place):
                for number in np.unique(parts).tolist():
                    chosen = order[ends[number] : ends[number + 1]]
                    rows = pa.record_batch(
                        {"row": pa.array(first[chosen] + n_rows), "who": who.take(pa.array(chosen))}
                    )
                    if number not in writers:
                        writers[number] = files.enter_context(
                            pa.ipc.new_file(str(place / f"{number:03d}.arrow"), rows.schema)
                        )
                    writers[number].write_batch(rows)
            n_rows += len(batch)
    with writing_to(place):
        kept: NDArray[np.bool_] = np.memmap(
            folder / "kept", dtype=np.bool_, mode="w+", shape=(max(n_rows, 1),)
        )[:n_rows]
        for path in sorted(place.iterdir()):
            with pa.memory_map(str(path)) as mapped:
                part = pa.ipc.open_file(mapped).read_all()
                rows = part.column("row").to_numpy()
                kept[rows[_first(part.column("who"), rows, most, key)]] = True
                del part
            path.unlink()
    return kept


def _first(
    ids: pa.Array | pa.ChunkedArray, rows: NDArray[np.int64], most: int, key: int | None
) -> NDArray[np.int64]:
    """Return which of some rows, given their places in the file, are the first `most` of their person among them, in the order of the file."""
    if key is None:
        return keep_rows(ids, most)
    order = np.argsort(hashes_of(rows, key), kind="stable")
    return np.sort(order[keep_rows(ids.take(pa.array(order)), most)])


def _parts_of(ids: pa.Array, salt: bytes) -> NDArray[np.int64]:
    """Return the part of each row: the same for ids that are one person to `keep_rows`."""
    if pa.types.is_decimal(ids.type):
        ids = spell_values(ids).cast(pa.large_binary())
    if pa.types.is_temporal(ids.type) and not pa.types.is_interval(ids.type):
        ids = pc.cast(ids, pa.int32() if ids.type.bit_width == 32 else pa.int64())
    values = ids.to_pylist()
    if is_bytes(ids.type):
        values = [None if word is None else word.strip() for word in values]
    # Python's hash of bytes is keyed anew in each process; 0.0 and -0.0 have one, and who is told apart hangs on no hash.
    return np.fromiter(
        (hash((salt, value)) % PARTS for value in values), dtype=np.int64, count=len(values)
    )
