"""Objects in memory as sources: what pandas, polars, pyarrow and other Arrow-speaking libraries
hold.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..._base.errors import InputError, join_names
from ..._base.registry import Registry
from ..spell import spell_bytes
from .format import BATCH_ROWS, Source, table_reader

if TYPE_CHECKING:
    from ..table import Table


@dataclass(frozen=True)
class ObjectKind:
    """A kind of object that a table is read from, and is given back as.

    Parameters
    ----------
    name
        In `Source.native` and messages: "pandas".
    recognise
        Whether an object is of this kind; must not import its library.
    open
        The source of an object; the second argument asks for one that no record can stop
        (`ReadOptions.tolerant`).
    give_back
        A table as such an object.
    """

    name: str
    recognise: Callable[[Any], bool]
    open: Callable[[Any, bool], Source]
    give_back: Callable[[Table], Any]


OBJECTS: Registry[ObjectKind] = Registry("kind of object")
"""Every kind of object that `chaffinch.read` takes, asked in this order."""


def open_object(source: Any, *, tolerant: bool) -> Source:
    """Return an object as a source; InputError where no kind of object recognises it."""
    for kind in OBJECTS:
        if kind.recognise(source):
            return kind.open(source, tolerant)
    raise InputError(
        f"Cannot read a {type(source).__name__}. Give a path, a pandas, polars or pyarrow table, or an object with "
        "__arrow_c_stream__."
    )


def table_source(
    table: pa.Table,
    native: str = "arrow",
    dtypes: Mapping[str, Any] | None = None,
    index: tuple[str, ...] = (),
) -> Source:
    """Return an Arrow table as a source."""
    return Source(
        f"{native} table",
        table.schema,
        table_reader(table),
        native=native,
        dtypes=dtypes or {},
        index=index,
    )


def _open_arrow(source: Any, tolerant: bool) -> Source:
    return table_source(
        pa.Table.from_batches([source]) if isinstance(source, pa.RecordBatch) else source
    )


def _is_pandas(source: Any) -> bool:
    import narwhals as nw

    return nw.dependencies.is_pandas_dataframe(source)


def _open_pandas(frame: Any, tolerant: bool) -> Source:
    frame, index = _with_index(frame)
    table = _from_pandas(frame, tolerant)
    dtypes = {name: kind for name, kind in frame.dtypes.items() if not hasattr(kind, "categories")}
    return table_source(table, "pandas", dtypes, index)


def _with_index(frame: Any) -> tuple[Any, tuple[str, ...]]:
    """Return a pandas table with the levels of its index as columns, and their names; an index
    without names only numbers rows.
    """
    names = tuple(frame.index.names)
    if not all(isinstance(name, str) and name for name in names) or set(names) & set(frame.columns):
        return frame, ()
    return frame.reset_index(), names


def _is_polars(source: Any) -> bool:
    import narwhals as nw

    return nw.dependencies.is_polars_dataframe(source) or nw.dependencies.is_polars_lazyframe(
        source
    )


def _open_polars(source: Any, tolerant: bool) -> Source:
    import narwhals as nw

    frame = source.collect() if nw.dependencies.is_polars_lazyframe(source) else source
    enums = {name: "enum" for name, kind in frame.schema.items() if type(kind).__name__ == "Enum"}
    if not tolerant:
        return table_source(frame.to_arrow(), "polars", enums)
    # Each column in the type that its dtype alone decides; as words where Arrow has none for it.
    arrays = [_polars_column(frame[name]) for name in frame.columns]
    return table_source(pa.Table.from_arrays(arrays, names=list(frame.columns)), "polars", enums)


def _open_dataset(dataset: Any, tolerant: bool) -> Source:
    """A pyarrow dataset: a folder of files, read batch by batch."""

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        yield from dataset.to_batches(
            columns=None if columns is None else list(columns), batch_size=BATCH_ROWS
        )

    return Source("dataset", dataset.schema, read)


def _from_pandas(frame: Any, tolerant: bool) -> pa.Table:
    if any(not isinstance(name, str) for name in frame.columns):
        raise InputError(
            "Every column name of a pandas table must be text. Rename the others, as in df.columns.astype(str)."
        )
    if not frame.columns.is_unique:
        raise InputError(
            f"The pandas table has columns of one name: {join_names(sorted(set(frame.columns[frame.columns.duplicated()])))}. Rename them."
        )
    if tolerant:
        arrays = [_by_dtype(frame[name]) for name in frame.columns]
        return pa.Table.from_arrays(arrays, names=list(frame.columns))
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        mixed = [name for name in frame.columns if not _converts(frame[name])]
        raise InputError(
            f"Columns mix types: {join_names(mixed)}. Make each column one type, as in df[c].astype(str)."
        ) from None


def _by_dtype(column: Any) -> pa.Array | pa.ChunkedArray:
    """Return a pandas column in the type that its dtype alone decides; Python objects, categories
    and the like as words.
    """
    if column.dtype != object and not hasattr(column.dtype, "categories"):
        with contextlib.suppress(
            pa.ArrowException, TypeError, ValueError
        ):  # also UnicodeError, which is a ValueError
            kind = pa.Array.from_pandas(
                column.iloc[:0]
            ).type  # fails for a dtype that Arrow has no type for
            if not isinstance(kind, pa.BaseExtensionType):
                return pa.Array.from_pandas(column).cast(kind)
    return _spelt(column.tolist())


def _spelt(cells: Iterable[Any]) -> pa.Array:
    return pa.array([spell_bytes(cell) for cell in cells], type=pa.large_binary())


def _polars_column(column: Any) -> pa.Array | pa.ChunkedArray:
    if str(column.dtype) != "Object":  # Arrow would take the addresses of Python objects
        with contextlib.suppress(pa.ArrowException):
            return column.to_arrow()
    return _spelt(column.to_list())


def _converts(column: Any) -> bool:
    try:
        pa.Array.from_pandas(column)
    except (pa.ArrowException, TypeError, ValueError):
        return False
    return True


OBJECTS.register(
    ObjectKind(
        "arrow",
        lambda source: isinstance(source, pa.Table | pa.RecordBatch),
        _open_arrow,
        lambda table: table.to_arrow(),
    )
)
OBJECTS.register(ObjectKind("pandas", _is_pandas, _open_pandas, lambda table: table.to_pandas()))
OBJECTS.register(ObjectKind("polars", _is_polars, _open_polars, lambda table: table.to_polars()))
OBJECTS.register(
    ObjectKind(
        "dataset",
        lambda source: hasattr(source, "to_batches") and hasattr(source, "scanner"),
        _open_dataset,
        lambda table: table.to_arrow(),
    )
)
OBJECTS.register(
    ObjectKind(
        "stream",
        lambda source: hasattr(source, "__arrow_c_stream__"),
        lambda source, tolerant: table_source(pa.table(source)),
        lambda table: table.to_arrow(),
    )
)
