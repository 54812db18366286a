"""Arrow and Feather files, and streams of Arrow batches in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from .format import FORMATS, Format, ReadOptions, Source, appending

if TYPE_CHECKING:
    from ..table import Table


_STREAM = b"\xff\xff\xff\xff"


def _is_stream(path: Path) -> bool:
    with open(path, "rb") as handle:
        return handle.read(4) == _STREAM


def _open(path: Path, options: ReadOptions) -> Source:
    tolerant, stream = options.tolerant, _is_stream(path)

    def reader() -> tuple[Any, Any]:
        handle = pa.memory_map(str(path))
        return handle, (pa.ipc.open_stream(handle) if stream else pa.ipc.open_file(handle))

    handle, opened = reader()
    schema = _words_as_bytes(opened.schema) if tolerant else opened.schema
    handle.close()

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        handle, opened = reader()
        with handle:
            batches = (
                opened
                if stream
                else (opened.get_batch(i) for i in range(opened.num_record_batches))
            )
            for batch in batches:
                batch = batch if columns is None else batch.select(list(columns))
                if tolerant:
                    arrays = [_sound(array) for array in batch.columns]
                    batch = pa.RecordBatch.from_arrays(arrays, schema=_words_as_bytes(batch.schema))
                else:
                    batch.validate(
                        full=True
                    )  # a damaged file may hold offsets that point outside it
                yield batch

    return Source(str(path), schema, read)


_BYTES = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}


def _as_bytes(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _as_bytes(kind.value_type), kind.ordered)
    return _BYTES.get(kind, kind)


def _words_as_bytes(schema: pa.Schema) -> pa.Schema:
    return pa.schema([f.with_type(_as_bytes(f.type)) for f in schema], metadata=schema.metadata)


def _sound(array: pa.Array) -> pa.Array:
    """Return an array whose offsets and indices lie inside it, words as bytes; what its values mean
    is not looked at.

    A byte that is no text, a time after midnight or a decimal of too many digits is a record's
    affair, and may not stop a reader.
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        array.indices.validate(full=True)
        return pa.DictionaryArray.from_arrays(
            array.indices, _sound(array.dictionary), ordered=kind.ordered
        )
    if pa.types.is_nested(kind) or pa.types.is_run_end_encoded(kind):
        return pa.nulls(len(array), kind)
    if kind in _BYTES:
        array = array.cast(_BYTES[kind])
    array.validate(full=not (pa.types.is_temporal(kind) or pa.types.is_decimal(kind)))
    return array


def _shape(path: Path, options: ReadOptions) -> tuple[int, int] | None:
    if _is_stream(path):
        return None
    with pa.memory_map(str(path)) as handle:
        opened = pa.ipc.open_file(handle)
        return sum(opened.get_batch(i).num_rows for i in range(opened.num_record_batches)), len(
            opened.schema
        )


def _writer(path: Path, target: Path) -> AbstractContextManager[Callable[[Table], None]]:
    return appending(lambda schema: pa.ipc.new_file(str(path), schema))


FORMATS.register(
    Format(
        "arrow",
        "Arrow/Feather",
        (".arrow", ".feather"),
        (b"ARROW1", _STREAM),
        open=_open,
        writer=_writer,
        shape=_shape,
        private=True,
    )
)
