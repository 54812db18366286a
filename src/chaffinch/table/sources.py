"""Where a table comes from: files and objects, all as streams of Arrow batches that can be read again."""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from .._base.errors import FileError, InputError, listed
from .codec import Scalar
from .decimal_sign import DecimalSign, check_sign
from .spell import spell
from .types import is_words

__all__ = ["Labels", "Source", "Tagged", "expected_shape", "open_source", "recognise"]

BATCH_ROWS = 1 << 18
BLOCK_BYTES = 1 << 24
MOST_BLOCK = (1 << 31) - 1
MOST_HEADER = 1 << 20
"""Characters that the header of a text file may have."""
Native = Literal["pandas", "polars", "arrow"]


@dataclass(frozen=True)
class Labels:
    """What SPSS and Stata files say of a column besides its values."""

    title: str = ""
    values: Mapping[Scalar, str] = field(default_factory=dict)
    missing: tuple[Scalar, ...] = ()
    display: str = ""
    measure: str = ""


class Tagged(pa.ExtensionType):  # type: ignore[misc]
    """The type of values with words beside them that say why one is missing, as Stata's .a to .z do."""

    def __init__(self, values: pa.DataType) -> None:
        self.values = values
        super().__init__(pa.struct([("value", values), ("word", pa.string())]), "chaffinch.tagged")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> Tagged:
        return cls(storage.field("value").type)


@dataclass(frozen=True)
class Source:
    """A table that can be read batch by batch, more than once.

    `text` says that every column is words of a text file, still to be understood; `delimiter` is what divides its cells, `decimal`
    the decimal sign that was given for it. `native` is the kind of object to give back, `dtypes` the types it had there where
    Arrow alone would not restore them.
    """

    name: str
    schema: pa.Schema
    read: Callable[[Sequence[str] | None], Iterator[pa.RecordBatch]]
    text: bool = False
    native: Native = "arrow"
    delimiter: str | None = None
    decimal: DecimalSign | None = None
    labels: Mapping[str, Labels] = field(default_factory=dict)
    dtypes: Mapping[str, Any] = field(default_factory=dict)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Return batches of rows, of all columns or of those named."""
        with _readable(self.name):
            yield from self.read(columns)

    def table(self) -> pa.Table:
        """Return all rows."""
        with _readable(self.name):
            return pa.Table.from_batches(self.read(None), schema=self.schema)


def open_source(
    source: Any,
    *,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    decimal: str | None = None,
    tolerant: bool = False,
) -> Source:
    """Return a source for a path, for a pandas, polars, pyarrow or any other Arrow-speaking object, or a dataset.

    `tolerant` gives one that no record can stop, for private fits. Rows of a text file with too many or too few cells become
    rows without values, after the others; bytes that are no text become U+FFFD; one column is enough; pandas columns of
    Python objects become words; the bytes of words in Arrow files come as they are.
    """
    sign = check_sign(decimal)
    if isinstance(source, str | os.PathLike):
        found = _open_file(Path(source), encoding, delimiter, tolerant)
    else:
        found = _open_object(source, tolerant)
    with _readable(found.name):
        names = found.schema.names
    if any(not str(name).strip() for name in names):
        raise InputError(f"'{found.name}' has a column without a name (column {_first_empty(names)}). Name it.")
    if double := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"'{found.name}' has columns of one name: {listed(double)}. Rename them.")
    return replace(found, decimal=sign) if found.text else found


def _first_empty(names: Sequence[str]) -> int:
    return next(i for i, name in enumerate(names, start=1) if not str(name).strip())


def recognise(path: Path) -> str:
    """Return the format of a file by its first bytes, or for text by its name.

    One of parquet, arrow, stream, feather1, sav, dta, csv, tsv, pickle.
    """
    try:
        with open(path, "rb") as handle:
            head = handle.read(512)
    except FileNotFoundError:
        raise FileError(f"No such file: '{path}'.") from None
    except IsADirectoryError:
        raise FileError(f"'{path}' is a folder. Name a file.") from None
    except OSError as error:
        raise FileError(f"Cannot read '{path}': {error.strerror}.") from error
    if not head:
        raise FileError(f"'{path}' is empty. A table needs column names and rows.")
    for magic, form in (
        (b"PAR1", "parquet"),
        (b"ARROW1", "arrow"),
        (b"\xff\xff\xff\xff", "stream"),
        (b"FEA1", "feather1"),
        (b"$FL2", "sav"),
        (b"$FL3", "sav"),
        (b"<stata_dta>", "dta"),
        (b"\x80\x02", "pickle"),
        (b"\x80\x03", "pickle"),
        (b"\x80\x04", "pickle"),
        (b"\x80\x05", "pickle"),
    ):
        if head.startswith(magic):
            return form
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".dta") and head[0] in range(0x69, 0x77):
        return "dta"
    for ending, form in (
        (".parquet", "parquet"),
        (".arrow", "arrow"),
        (".feather", "arrow"),
        (".sav", "sav"),
        (".dta", "dta"),
    ):
        if name.endswith(ending):
            raise FileError(
                f"'{path}' is named as {form} but does not start as such a file does. It may be damaged or misnamed."
            )
    return "tsv" if name.endswith((".tsv", ".tab")) else "csv"


def expected_shape(path: Path, *, encoding: str = "utf-8", delimiter: str | None = None) -> tuple[int, int] | None:
    """Return about how many rows and columns a file has, without reading it; None where that cannot be told.

    Parquet and Arrow files say so themselves. Rows of a text file are its bytes over those of a line among its first.
    """
    try:
        form = recognise(path)
        if form == "parquet":
            import pyarrow.parquet as pq

            found = pq.read_metadata(path)
            return found.num_rows, found.num_columns
        if form == "arrow":
            with pa.memory_map(str(path)) as handle:
                opened = pa.ipc.open_file(handle)
                rows = sum(opened.get_batch(i).num_rows for i in range(opened.num_record_batches))
                return rows, len(opened.schema)
        if form not in ("csv", "tsv") or _is_gzip(path):
            return None
        columns = len(open_source(path, encoding=encoding, delimiter=delimiter).schema)
        with open(path, "rb") as handle:
            head = handle.read(1 << 20)
        lines = head.count(b"\n")
        return (round(path.stat().st_size * lines / (head.rindex(b"\n") + 1)) - 1, columns) if lines else None
    except (FileError, InputError, pa.ArrowException, OSError):
        return None  # reading it says what is wrong


def _open_file(path: Path, encoding: str, delimiter: str | None, tolerant: bool) -> Source:
    form = recognise(path)
    with _readable(str(path)):
        if form == "parquet":
            return _parquet(path, tolerant)
        if form in ("arrow", "stream"):
            return _arrow(path, form, tolerant)
        if form in ("sav", "dta"):
            from .stat_files import open_stat_file

            return open_stat_file(path, form)
        if form in ("feather1", "pickle"):
            raise FileError(f"'{path}' is a {form} file, which is not read. Save it as Parquet or CSV.")
        return _text(path, encoding, "\t" if form == "tsv" and delimiter is None else delimiter, tolerant)


@contextlib.contextmanager
def _readable(name: str) -> Iterator[None]:
    """Turn what Arrow says of a bad file into our own words: Arrow's may quote cells."""
    try:
        yield
    except (FileError, InputError):
        raise
    except (pa.ArrowException, csv.Error, EOFError, gzip.BadGzipFile, UnicodeDecodeError, OSError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None and error.strerror:
            raise FileError(f"Cannot read '{name}': {error.strerror}.") from None
        raise FileError(f"Cannot read '{name}': it is damaged, truncated or not of the format it claims.") from None


def _parquet(path: Path, tolerant: bool) -> Source:
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)
    words = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
    # Dictionaries of words that are asked for as such come as they are; others are checked, and bytes that are no text stop it.
    coded = [f.name for f in schema if tolerant and pa.types.is_dictionary(f.type) and is_words(f.type)]
    if coded:
        schema = pq.ParquetFile(path, read_dictionary=coded).schema_arrow

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        wanted = set(schema.names if columns is None else columns)
        dictionaries = [*coded, *(name for name in words if name in wanted and columns is not None)]
        file = pq.ParquetFile(path, read_dictionary=dictionaries)
        yield from file.iter_batches(BATCH_ROWS, columns=None if columns is None else list(columns))

    return Source(str(path), schema, read, native="arrow")


def _arrow(path: Path, form: str, tolerant: bool) -> Source:
    def reader() -> tuple[Any, Any]:
        handle = pa.memory_map(str(path))
        return handle, (pa.ipc.open_file(handle) if form == "arrow" else pa.ipc.open_stream(handle))

    handle, opened = reader()
    schema = _words_as_bytes(opened.schema) if tolerant else opened.schema
    handle.close()

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        handle, opened = reader()
        with handle:
            batches = (opened.get_batch(i) for i in range(opened.num_record_batches)) if form == "arrow" else opened
            for batch in batches:
                batch = batch if columns is None else batch.select(list(columns))
                if tolerant:
                    arrays = [_sound(array) for array in batch.columns]
                    batch = pa.RecordBatch.from_arrays(arrays, schema=_words_as_bytes(batch.schema))
                else:
                    batch.validate(full=True)  # a damaged file may hold offsets that point outside it
                yield batch

    return Source(str(path), schema, read)


_BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}


def _as_bytes(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _as_bytes(kind.value_type), kind.ordered)
    return _BYTES.get(kind, kind)


def _words_as_bytes(schema: pa.Schema) -> pa.Schema:
    return pa.schema([f.with_type(_as_bytes(f.type)) for f in schema], metadata=schema.metadata)


def _sound(array: pa.Array) -> pa.Array:
    """Return an array whose offsets and indices lie inside it, words as bytes; what its values mean is not looked at.

    A byte that is no text, a time after midnight or a decimal of too many digits is a record's affair, and may not stop a reader.
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        array.indices.validate(full=True)
        return pa.DictionaryArray.from_arrays(array.indices, _sound(array.dictionary), ordered=kind.ordered)
    if pa.types.is_nested(kind) or pa.types.is_run_end_encoded(kind):
        return pa.nulls(len(array), kind)
    if kind in _BYTES:
        array = array.cast(_BYTES[kind])
    array.validate(full=not (pa.types.is_temporal(kind) or pa.types.is_decimal(kind)))
    return array


def _text(path: Path, encoding: str, delimiter: str | None, tolerant: bool) -> Source:
    import pyarrow.csv as pv

    delimiter, names = _header(path, encoding, delimiter)
    if len(names) < 2 and not tolerant:
        raise InputError(
            f"'{path}' has one column when read with the delimiter {delimiter!r}. A table needs two or more; if another "
            "delimiter divides it, pass it."
        )
    schema = pa.schema([(name, pa.string()) for name in names])
    compressed = _is_gzip(path)
    if tolerant:
        return Source(str(path), schema, _every_row(path, encoding, delimiter, schema), text=True, delimiter=delimiter)

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        try:
            with pa.input_stream(str(path), compression="gzip" if compressed else None) as stream:
                reader = pv.open_csv(
                    stream,
                    read_options=pv.ReadOptions(block_size=BLOCK_BYTES, encoding=encoding),
                    parse_options=pv.ParseOptions(
                        delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=True
                    ),
                    convert_options=pv.ConvertOptions(
                        column_types=dict.fromkeys(names, pa.string()),
                        strings_can_be_null=False,
                        include_columns=None if columns is None else list(columns),
                    ),
                )
                yield from reader
        except pa.ArrowInvalid as error:
            if ragged := re.search(r"Expected (\d+) columns, got (\d+)", str(error)):
                expected, actual = ragged.groups()
                raise FileError(
                    f"'{path}' has a row of {actual} cells where its header has {expected}. Check quotes and delimiters "
                    f"(read with {delimiter!r}), or a file cut short."
                ) from None
            if "utf8" in str(error).lower():
                raise _not_utf8(path, encoding) from None
            if "empty" in str(error).lower():
                raise InputError(f"'{path}' has no rows.") from None
            raise FileError(
                f"Cannot read '{path}' as text with the delimiter {delimiter!r}: its rows do not hold together."
            ) from None

    return Source(str(path), schema, read, text=True, delimiter=delimiter)


def _every_row(
    path: Path, encoding: str, delimiter: str, schema: pa.Schema
) -> Callable[[Sequence[str] | None], Iterator[pa.RecordBatch]]:
    """A reader of a text file that no row stops: what has too many or too few cells comes last, as a row of nulls."""
    import pyarrow.csv as pv

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        names = schema.names if columns is None else list(columns)
        block = BLOCK_BYTES
        while True:
            ragged: list[None] = []

            def skip(_row: Any, ragged: list[None] = ragged) -> str:
                ragged.append(None)  # appending is safe in the threads that Arrow calls this from
                return "skip"

            try:
                with _opened(path) as raw:
                    found = pv.read_csv(
                        pa.PythonFile(_Recoded(raw, encoding), mode="r"),
                        read_options=pv.ReadOptions(block_size=block),
                        parse_options=pv.ParseOptions(
                            delimiter=delimiter,
                            newlines_in_values=True,
                            # The only cell of a row may be empty; rows of several cells are never empty lines.
                            ignore_empty_lines=len(schema) > 1,
                            invalid_row_handler=skip,
                        ),
                        convert_options=pv.ConvertOptions(
                            column_types={name: pa.string() for name in schema.names},
                            strings_can_be_null=False,
                            include_columns=names,
                        ),
                    )
                break
            except pa.ArrowInvalid as error:
                if "straddling" in str(error) and block < MOST_BLOCK:
                    block = min(block * 8, MOST_BLOCK)  # one row is longer than a block
                    continue
                if "Empty CSV" in str(error):  # a header without the end of its line
                    return
                raise
        yield from found.to_batches()
        if ragged:
            yield pa.RecordBatch.from_arrays([pa.nulls(len(ragged), pa.string())] * len(names), names=names)

    return read


class _Recoded(io.RawIOBase):
    """A stream of bytes as UTF-8, with U+FFFD for what its encoding cannot read."""

    def __init__(self, raw: Any, encoding: str) -> None:
        self._raw = raw
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while True:
            piece = self._raw.read(size)
            text = self._decoder.decode(piece, final=not piece)
            if text or not piece:
                return text.encode("utf-8", "replace")


def _opened(path: Path) -> Any:
    return gzip.open(path, "rb") if _is_gzip(path) else open(path, "rb")


def _is_gzip(path: Path) -> bool:
    with open(path, "rb") as handle:
        return handle.read(2) == b"\x1f\x8b"


def _header(path: Path, encoding: str, delimiter: str | None) -> tuple[str, list[str]]:
    """Return the delimiter of a text file, found from its first line unless given, and the names in its header.

    No record is read beyond what a buffer holds: a file that is damaged after its header has one all the same.
    """
    with _opened(path) as handle:
        if handle.peek(2)[:2] in (b"\xff\xfe", b"\xfe\xff") and encoding.lower().replace("-", "") == "utf8":
            raise _not_utf8(path, encoding)
        try:
            text = io.TextIOWrapper(handle, encoding=encoding, errors="replace")
        except LookupError:
            raise InputError(f"Unknown encoding '{encoding}'. Examples: utf-8, cp1252, latin-1, utf-16.") from None
        with text:
            lines = _lines(text)
            first = next(lines, "").removeprefix("\ufeff")
            delimiter = delimiter or _sniff(first)
            if len(delimiter) != 1:
                raise InputError(f"delimiter must be one character. Got {delimiter!r}.")
            return delimiter, next(csv.reader(chain([first], lines), delimiter=delimiter), [])


def _lines(text: io.TextIOWrapper) -> Iterator[str]:
    """Yield lines, of at most a megabyte in all: a header that is longer is none."""
    left = MOST_HEADER
    while left > 0 and (line := text.readline(left)):
        left -= len(line)
        yield line


def _not_utf8(path: Path, encoding: str) -> FileError:
    with open(path, "rb") as handle:
        mark = handle.read(2)
    likely = "utf-16" if mark in (b"\xff\xfe", b"\xfe\xff") else "cp1252"
    return FileError(
        f"'{path}' is not {encoding}. Pass its encoding: most likely encoding=\"{likely}\" (--encoding {likely})."
    )


def _sniff(first: str) -> str:
    """Return the delimiter that divides the first line into the most cells; a comma if none does."""
    line = first.splitlines()[0] if first else ""
    return max((",", ";", "\t", "|"), key=lambda d: (len(next(csv.reader([line], delimiter=d), [])), d == ","))


def _open_object(source: Any, tolerant: bool) -> Source:
    import narwhals as nw

    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    native: Native = "arrow"
    dtypes: dict[str, Any] = {}
    if isinstance(source, pa.Table):
        table = source
    elif nw.dependencies.is_pandas_dataframe(source):
        native, table = "pandas", _from_pandas(source, tolerant)
        dtypes = {name: kind for name, kind in source.dtypes.items() if not hasattr(kind, "categories")}
    elif nw.dependencies.is_polars_dataframe(source) or nw.dependencies.is_polars_lazyframe(source):
        frame = source.collect() if nw.dependencies.is_polars_lazyframe(source) else source
        native, table = "polars", _from_polars(frame) if tolerant else frame.to_arrow()
    elif hasattr(source, "to_batches") and hasattr(source, "scanner"):
        return _dataset(source)
    elif hasattr(source, "__arrow_c_stream__"):
        table = pa.table(source)
    else:
        raise InputError(
            f"Cannot read a {type(source).__name__}. Give a path, a pandas, polars or pyarrow table, or an object with "
            "__arrow_c_stream__."
        )

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        chosen = table if columns is None else table.select(list(columns))
        yield from chosen.to_batches()

    return Source(f"{native} table", table.schema, read, native=native, dtypes=dtypes)


def _dataset(dataset: Any) -> Source:
    """A pyarrow dataset: a folder of files, read batch by batch."""

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        yield from dataset.to_batches(columns=None if columns is None else list(columns), batch_size=BATCH_ROWS)

    return Source("dataset", dataset.schema, read)


def _from_pandas(frame: Any, tolerant: bool) -> pa.Table:
    if any(not isinstance(name, str) for name in frame.columns):
        raise InputError(
            "Every column name of a pandas table must be text. Rename the others, as in df.columns.astype(str)."
        )
    if not frame.columns.is_unique:
        raise InputError(
            f"The pandas table has columns of one name: {listed(sorted(set(frame.columns[frame.columns.duplicated()])))}. Rename them."
        )
    if tolerant:
        arrays = [_by_dtype(frame[name]) for name in frame.columns]
        return pa.Table.from_arrays(arrays, names=list(frame.columns))
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        mixed = [name for name in frame.columns if not _converts(frame[name])]
        raise InputError(
            f"Columns mix types: {listed(mixed)}. Make each column one type, as in df[c].astype(str)."
        ) from None


def _by_dtype(column: Any) -> pa.Array | pa.ChunkedArray:
    """Return a pandas column in the type that its dtype alone decides; Python objects, categories and the like as words."""
    if column.dtype != object and not hasattr(column.dtype, "categories"):
        with contextlib.suppress(pa.ArrowException, TypeError, ValueError):  # also UnicodeError, which is a ValueError
            kind = pa.Array.from_pandas(column.iloc[:0]).type  # fails for a dtype that Arrow has no type for
            if not isinstance(kind, pa.BaseExtensionType):
                return pa.Array.from_pandas(column).cast(kind)
    return _spelt(column.tolist())


def _spelt(cells: Iterable[Any]) -> pa.Array:
    return pa.array([spell(cell) for cell in cells], type=pa.large_string())


def _from_polars(frame: Any) -> pa.Table:
    """Return a polars table, each column in the type that its dtype alone decides; as words where Arrow has none for it."""
    return pa.Table.from_arrays([_polars_column(frame[name]) for name in frame.columns], names=list(frame.columns))


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
