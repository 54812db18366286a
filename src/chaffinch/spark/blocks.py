"""Blocks of codes, the form in which Spark holds a table between passes. One row of a frame, or of
an Arrow file, stands for up to 65,536 records.

A block is one of the code cache of one machine (`table.code_cache`), with the sum of its records'
hashes and the number of its first record beside it. The hashes are those of the raw values, taken
by Spark: their sum does not depend on the order of rows, and tells in every job whether the data
are still those of the first pass.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._base.errors import FileError
from ..table.code_cache import block_of as block_of_codes
from ..table.code_cache import codes_of_block
from ..table.codes import Codes
from ..table.groups import code_column
from ..table.schema import Schema
from .jobs import Task, reason
from .session import spark_functions

BLOCK_ROWS = 1 << 16
"""Records in a block, at most."""

CHECK = "_chaffinch_check"
"""The column of rows' hashes."""

PART = "_chaffinch_part"
"""The column of the number of the partition that a row is in."""

BLOCK_SHAPE = (
    "rows long, codes8 binary, codes16 binary, codes32 binary, checksum long, first_row long"
)
_BLOCK = pa.schema(
    [
        ("rows", pa.int64()),
        ("codes8", pa.binary()),
        ("codes16", pa.binary()),
        ("codes32", pa.binary()),
        ("checksum", pa.int64()),
        ("first_row", pa.int64()),
    ]
)


class BlockSource(Protocol):
    """The source of the blocks of a task's partition."""

    def read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return batches of blocks."""


@dataclass(frozen=True)
class RowBlocks:
    """Blocks that are rows of the frame itself."""

    def read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the batches as they come."""
        return batches


@dataclass(frozen=True)
class FileBlocks:
    """Blocks in Arrow files that all workers see; a row of the frame is the number of a unit: a
    file, its first block, and the index after its last block.
    """

    units: tuple[tuple[str, int, int], ...]

    def read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the blocks of the units of this partition, mapped into memory."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                path, first, stop = self.units[number]
                try:
                    with pa.memory_map(path) as source:
                        reader = pa.ipc.open_file(source)
                        yield from (reader.get_batch(i) for i in range(first, stop))
                except (OSError, pa.ArrowInvalid):
                    raise FileError(
                        "A worker cannot read the code cache. It must be a folder that all workers see under the same path, and stay until the "
                        "last job is done."
                    ) from None


def hash_rows(frame: Any, names: Sequence[str]) -> Any:
    """Return the named columns of a frame, a hash of each row over all hashable columns, and the
    number of its partition.

    Columns are called by their places, c0, c1 ...: names with points or quotes in them would be
    parsed. Tasks name them again.
    """
    functions, fields = spark_functions(), list(frame.schema)
    places = {field.name: f"c{j}" for j, field in enumerate(fields)}
    plain = [places[field.name] for field in fields if not unhashable(field.dataType)]
    check = functions.xxhash64(*plain) if plain else functions.lit(0).cast("long")
    return frame.toDF(*places.values()).select(
        *(places[name] for name in names),
        check.alias(CHECK),
        functions.spark_partition_id().alias(PART),
    )


def unhashable(kind: Any) -> bool:
    """Return whether Spark cannot hash values of a type."""
    return any(word in kind.simpleString() for word in ("map<", "variant"))


@dataclass(frozen=True)
class CodeColumns:
    """The names of the columns of a schema and the number of codes of each: what counting needs."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    @classmethod
    def from_schema(cls, schema: Schema) -> CodeColumns:
        """Return the names and sizes of a schema's columns."""
        return cls(tuple(schema.names), tuple(schema.sizes))

    @property
    def schema(self) -> Schema:
        """A schema with numbers for levels; built once by a worker, for all of its tasks."""
        return _bare_schema(self)


@lru_cache(maxsize=8)
def _bare_schema(columns: CodeColumns) -> Schema:
    return Schema(tuple(map(code_column, columns.names, columns.sizes)))


def sum_hashes(hashes: NDArray[np.int64]) -> int:
    """Return the sum of hashes in 64 bits as a signed number, independent of the order of adding.

    Examples
    --------
    >>> sum_hashes(np.array([2**63 - 1, 1], dtype=np.int64)) == -(2**63)
    True
    """
    return int(
        np.add.reduce(hashes.astype(np.int64).view(np.uint64), dtype=np.uint64).astype(np.int64)
    )


def in_utc(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with its timestamps in UTC: Spark returns them in the time zone of the
    session.
    """
    for i, field in enumerate(batch.schema):
        if (kind := in_utc_type(field.type)) != field.type:
            batch = batch.set_column(i, field.with_type(kind), pc.cast(batch.column(i), kind))
    return batch


def in_utc_type(kind: pa.DataType) -> pa.DataType:
    """Return the UTC type of a timestamp type; any other type unchanged."""
    return (
        pa.timestamp(kind.unit, "UTC")
        if pa.types.is_timestamp(kind) and kind.tz is not None
        else kind
    )


def regroup_batches(batches: Iterator[pa.RecordBatch], n_rows: int) -> Iterator[pa.RecordBatch]:
    """Return the same rows in batches of at most `n_rows`, timestamps in UTC: Spark returns 10,000
    at a time.
    """
    waiting, n_waiting = [], 0
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            piece = batch.slice(start, n_rows - n_waiting)
            waiting.append(piece)
            n_waiting += piece.num_rows
            start += piece.num_rows
            if n_waiting == n_rows:
                yield _concat_batches(waiting)
                waiting, n_waiting = [], 0
    if n_waiting:
        yield _concat_batches(waiting)


def _concat_batches(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return in_utc(batches[0] if len(batches) == 1 else pa.concat_batches(batches))


def block_of(codes: Codes, check: int, first_row: int = 0) -> pa.RecordBatch:
    """Return the block of some rows: their codes, the sum of their hashes, and the number of the
    first row.
    """
    arrays = [
        array if pa.types.is_integer(array.type) else array.cast(pa.binary())
        for array in block_of_codes(codes).columns
    ]
    numbers = [pa.array([number], pa.int64()) for number in (check, first_row)]
    return pa.RecordBatch.from_arrays([*arrays, *numbers], schema=_BLOCK)


def codes_of(
    blocks: Iterator[pa.RecordBatch], sizes: tuple[int, ...]
) -> Iterator[tuple[Codes, int]]:
    """Yield the codes of each block with the sum of its rows' hashes."""
    for batch in blocks:
        for index, check in enumerate(batch.column("checksum").to_pylist()):
            yield codes_of_block(batch, sizes, index), check


FILE_SHAPE = "path string, blocks int, n long, checksum long, first_row long"


@dataclass(frozen=True)
class WriteBlocks:
    """The task that writes blocks of codes to a file of its own; it returns the file's name,
    blocks, records and sum of hashes.

    A task that is tried again, or twice at a time, writes another file; only what is in the answer
    of the one that Spark took is read later.
    """

    encode: Task
    folder: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        path = Path(self.folder) / f"codes-{secrets.token_hex(8)}.arrow"
        blocks = n_rows = checksum = first_row = 0
        writer = None
        try:
            try:
                for block in self.encode(batches):
                    if writer is None:
                        sink = os.fdopen(
                            os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb"
                        )
                        writer = pa.ipc.new_file(sink, _BLOCK)
                        first_row = block.column("first_row")[0].as_py()
                    writer.write_batch(block)
                    blocks += 1
                    n_rows += block.column("rows")[0].as_py()
                    checksum = sum_hashes(np.array([checksum, block.column("checksum")[0].as_py()]))
            finally:
                if writer is not None:
                    writer.close()
                    sink.close()
        except OSError as error:
            path.unlink(missing_ok=True)
            raise FileError(
                f"A worker cannot write the code cache: {reason(error)}. Name a folder that all workers see, with room for "
                "about a byte for each cell of the table."
            ) from None
        if blocks:
            numbers = [pa.array([number], pa.int64()) for number in (n_rows, checksum, first_row)]
            yield pa.RecordBatch.from_arrays(
                [pa.array([str(path)]), pa.array([blocks], pa.int32()), *numbers],
                ["path", "blocks", "n", "checksum", "first_row"],
            )
