"""Text files whose cells a delimiter divides: CSV and TSV, also packed by gzip."""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..._base.errors import FileError, InputError
from ..decimal_sign import has_decimals
from ..encode import missing_words
from ..text import format_values
from ..types import whole_array
from .format import FORMATS, Format, ReadOptions, Source

if TYPE_CHECKING:
    from ..table import Table

__all__ = ["CSV", "TSV", "open_text"]

BLOCK_BYTES = 1 << 24
MOST_BLOCK = (1 << 31) - 1
MOST_HEADER = 1 << 20
"""Characters that the header of a text file may have."""


def open_text(path: Path, encoding: str, delimiter: str | None, tolerant: bool) -> Source:
    """Return a text file as a source of words, its delimiter found from the header unless given."""
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
        if any("\ufffd" in name for name in names):  # names are public: only what comes after them is read whatever it is
            raise _not_utf8(path, encoding)
        return Source(str(path), schema, _every_row(path, encoding, delimiter, schema), text=True, delimiter=delimiter)

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        try:
            with pa.input_stream(str(path), compression="gzip" if compressed else None) as stream:
                yield from pv.open_csv(
                    stream,
                    read_options=pv.ReadOptions(block_size=BLOCK_BYTES, encoding=encoding),
                    parse_options=pv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                    convert_options=_words(names, columns),
                )
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
                    stream = _Recoded(raw, encoding)
                    rows = pv.read_csv(
                        pa.PythonFile(stream, mode="r"),
                        read_options=pv.ReadOptions(block_size=block),
                        parse_options=pv.ParseOptions(
                            delimiter=delimiter,
                            newlines_in_values=True,
                            # The only cell of a row may be empty; rows of several cells are never empty lines.
                            ignore_empty_lines=len(schema) > 1,
                            invalid_row_handler=skip,
                        ),
                        convert_options=_words(schema.names, names),
                    )
                break
            except pa.ArrowInvalid as error:
                if "straddling" in str(error) and block < MOST_BLOCK:
                    block = min(block * 8, MOST_BLOCK)  # one row is longer than a block
                    continue
                if "Empty CSV" in str(error):  # a header without the end of its line
                    return
                raise
        if stream.marked:
            rows = pa.Table.from_arrays([_restored(column) for column in rows.columns], names=names)
        yield from rows.to_batches()
        if ragged:
            yield pa.RecordBatch.from_arrays([pa.nulls(len(ragged), pa.string())] * len(names), names=names)

    return read


def _words(names: Sequence[str], columns: Sequence[str] | None) -> Any:
    """How cells are converted: all are words, of the columns asked for, and an empty one is no null."""
    import pyarrow.csv as pv

    types = dict.fromkeys(names, pa.string())
    chosen = None if columns is None else list(columns)
    return pv.ConvertOptions(column_types=types, strings_can_be_null=False, include_columns=chosen)


class _Recoded(io.RawIOBase):
    """A stream of bytes as UTF-8, which is what Arrow reads; each byte that is no text is a character of its own (`_restored`).

    So two identifiers that differ in such bytes alone stay two: as one person they would share the rows that are kept of each, and
    without the one more rows of the other would be.
    """

    def __init__(self, raw: Any, encoding: str) -> None:
        self.marked = False
        self._raw = raw
        self._decoder = codecs.getincrementaldecoder(encoding)(errors=_APART)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while True:
            piece = self._raw.read(size)
            text = self._decoder.decode(piece, final=not piece)
            if text or not piece:
                marked, many = _UNSAFE.subn(_mark, text)
                self.marked |= many > 0
                return marked.encode("utf-8", "replace")


def _apart(error: UnicodeError) -> tuple[str, int]:
    """Decode each byte that is no text as half a character, which no text has."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(chr(0xDC00 + byte) for byte in error.object[error.start : error.end]), error.end


_APART = "chaffinch-apart"
codecs.register_error(_APART, _apart)

# A byte that is no text is one of the last 256 characters of Unicode; those, and the one before them, have that one put before them.
_UNSAFE = re.compile("[\udc00-\udcff\U0010feff-\U0010ffff]")
_MARKED = re.compile(rb"\xf4\x8f\xbb\xbf(\xf4\x8f[\xbb-\xbf][\x80-\xbf])|\xf4\x8f([\xbc-\xbf])([\x80-\xbf])")


def _mark(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x10FF00 + code - 0xDC00) if code < 0xE000 else "\U0010feff" + match[0]


def _restored(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return words with the bytes that `_Recoded` wrote as characters."""

    def bare(match: re.Match[bytes]) -> bytes:
        return match[1] or bytes([(match[2][0] - 0xBC << 6) + match[3][0] - 0x80])

    chunks = []
    for chunk in column.chunks:
        words = [_MARKED.sub(bare, word) for word in chunk.cast(pa.binary()).to_pylist()]
        chunks.append(pa.array(words, pa.binary()).view(pa.string()))  # not cast: Arrow would refuse what is no text
    return pa.chunked_array(chunks, pa.string())


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


def _shape(path: Path, options: ReadOptions, *, delimiter: str | None) -> tuple[int, int] | None:
    """Rows are the bytes of the file over those of a line among its first."""
    if _is_gzip(path):
        return None
    columns = len(_open(path, options, delimiter=delimiter).schema)
    with open(path, "rb") as handle:
        head = handle.read(1 << 20)
    lines = head.count(b"\n")
    return (round(path.stat().st_size * lines / (head.rindex(b"\n") + 1)) - 1, columns) if lines else None


def _open(path: Path, options: ReadOptions, *, delimiter: str | None) -> Source:
    return open_text(path, options.encoding, options.delimiter or delimiter, options.tolerant)


@contextlib.contextmanager
def _writer(part: Path, target: Path, *, delimiter: str | None) -> Iterator[Callable[[Table], None]]:
    started: list[bool] = []
    compressed = target.name.lower().endswith(".gz")
    with pa.output_stream(str(part), compression="gzip" if compressed else None) as stream:

        def write(table: Table) -> None:
            sign = delimiter or _delimiter(table)
            if not started:
                header = sign.join(_quote(pa.array(list(table.columns)), sign).to_pylist())
                stream.write(f"{header}\n".encode())
                started.append(True)
            for start in range(0, table.n_rows, 1 << 16):
                stream.write(_rows(table, start, 1 << 16, sign))

        yield write


def _delimiter(table: Table) -> str:
    """Return what divides the cells of a CSV file: as they came, else a comma, or a semicolon beside decimal commas."""
    if table.origin.delimiter not in (None, "\t"):
        return table.origin.delimiter
    return ";" if any(column.decimal == "," and has_decimals(column) for column in table.schema) else ","


def _rows(table: Table, start: int, length: int, delimiter: str) -> bytes:
    """Return rows as lines of text."""
    cells = []
    for column in table.schema:
        values = whole_array(table.data.column(column.name).slice(start, length))
        words = _quote(format_values(values, column.format, column.decimal), delimiter)
        if column.modelled:
            spelled = missing_words(column, table.code(column.name)[start : start + length])
            if spelled is not None:
                words = pc.coalesce(_quote(spelled, delimiter), words)
        cells.append(pc.fill_null(words, ""))
    lines = pc.binary_join_element_wise(*cells, delimiter)
    return "".join(f"{line}\n" for line in lines.to_pylist()).encode()


def _quote(words: pa.Array, delimiter: str) -> pa.Array:
    """Put words in quotes where a delimiter, a quote or a line break needs it."""
    words = words.cast(pa.string())
    risky = pc.match_substring_regex(words, f'["\\n\\r{re.escape(delimiter)}]')
    if not pc.any(risky).as_py():
        return words
    doubled = pc.replace_substring(words, '"', '""')
    return pc.if_else(risky, pc.binary_join_element_wise('"', doubled, '"', ""), words)


def _delimited(name: str, title: str, delimiter: str | None, read_endings: tuple[str, ...] = ()) -> Format:
    return Format(
        name, title, (f".{name}", f".{name}.gz"), open=partial(_open, delimiter=delimiter),
        writer=partial(_writer, delimiter=delimiter), shape=partial(_shape, delimiter=delimiter), private=True,
        read_endings=read_endings,
    )  # fmt: skip


CSV = FORMATS.register(_delimited("csv", "CSV", None))
TSV = FORMATS.register(_delimited("tsv", "TSV (both also .gz)", "\t", (".tab",)))
