"""Reading a text file so that no record stops it, for private fits: bytes that are no text, and rows of too many or too few cells."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from .text_file import TextFile, Uncommented
from .text_top import BLOCK_BYTES, TextTop, as_words, closed_line

MOST_BLOCK = (1 << 31) - 1


def every_row(
    file: TextFile, top: TextTop, schema: pa.Schema, *, line_breaks: bool = False
) -> Callable[[Sequence[str] | None], Iterator[pa.RecordBatch]]:
    """A reader of a text file that no row stops: what has too many or too few cells comes last, as a row of nulls.

    A line is a record, so that no quote takes in the records after it: a line that ends inside quotes is a row of nulls too. Not so where `line_breaks` are declared.
    """
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
                with file.open() as raw:
                    stream = _Recoded(raw, top.encoding)
                    lines: Any = (
                        stream
                        if not (line_breaks and top.comment)
                        else Uncommented(stream, top.comment)
                    )
                    lines = lines if line_breaks else _LineRecords(lines, top, len(schema))
                    rows = pv.read_csv(
                        pa.PythonFile(lines, mode="r"),
                        read_options=pv.ReadOptions(
                            block_size=block, skip_rows=top.lines, column_names=schema.names
                        ),
                        parse_options=pv.ParseOptions(
                            delimiter=top.delimiter,
                            newlines_in_values=True,
                            # The only cell of a row may be empty; rows of several cells are never empty lines.
                            ignore_empty_lines=len(schema) > 1,
                            invalid_row_handler=skip,
                        ),
                        convert_options=as_words(schema.names, names),
                    )
                break
            except pa.ArrowInvalid as error:
                if "straddling" in str(error) and block < MOST_BLOCK:
                    block = min(block * 8, MOST_BLOCK)  # one row is longer than a block
                    continue
                if "Empty CSV" in str(error) or "Could not skip" in str(
                    error
                ):  # a header without the end of its line
                    return
                raise
        if stream.marked:
            rows = pa.Table.from_arrays([_restored(column) for column in rows.columns], names=names)
        yield from rows.to_batches()
        if ragged:
            yield pa.RecordBatch.from_arrays(
                [pa.nulls(len(ragged), pa.string())] * len(names), names=names
            )

    return read


class _LineRecords(io.RawIOBase):
    """A stream of UTF-8 in which every line is a record, whatever its quotes: what becomes of a line depends on that line alone.

    A line that ends inside quotes becomes one of too many cells; lines that start with the sign of comments are left out. Arrow takes a mark of the byte order
    off the first line: where that is a record, such marks are taken off every line.
    """

    def __init__(self, raw: Any, top: TextTop, n_columns: int) -> None:
        self._raw, self._comment, self._marked = raw, top.comment.encode(), top.lines == 0
        self._closed, self._ragged = closed_line(top.delimiter), top.delimiter.encode() * n_columns
        self._rest: list[bytes] = []
        self._ended = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while not self._ended:
            piece = self._raw.read(size)
            self._ended = not piece
            # A carriage return that ends a piece may be half of the end of a line.
            cut = (
                len(piece)
                if self._ended
                else max(piece.rfind(b"\n"), piece.rfind(b"\r", 0, -1)) + 1
            )
            if not cut and not self._ended:
                self._rest.append(piece)
                continue
            whole, self._rest = b"".join([*self._rest, piece[:cut]]), [piece[cut:]]
            if kept := self._records(whole):
                return kept
        return b""

    def readinto(self, into: Any) -> int:
        raise NotImplementedError  # Arrow reads by `read`

    def _records(self, block: bytes) -> bytes:
        if self._comment or (self._marked and codecs.BOM_UTF8 in block):
            block = b"".join(self._bare(line) for line in _LINE.findall(block))
        return (
            _QUOTED.sub(
                lambda line: line[0] if self._closed.fullmatch(line[0]) else self._ragged, block
            )
            if b'"' in block
            else block
        )

    def _bare(self, line: bytes) -> bytes:
        while self._marked and line.startswith(codecs.BOM_UTF8):
            line = line.removeprefix(codecs.BOM_UTF8)
        return b"" if self._comment and line.startswith(self._comment) else line


_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_QUOTED = re.compile(rb'[^\r\n"]*"[^\r\n]*')


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
_MARKED = re.compile(
    rb"\xf4\x8f\xbb\xbf(\xf4\x8f[\xbb-\xbf][\x80-\xbf])|\xf4\x8f([\xbc-\xbf])([\x80-\xbf])"
)


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
        chunks.append(
            pa.array(words, pa.binary()).view(pa.string())
        )  # not cast: Arrow would refuse what is no text
    return pa.chunked_array(chunks, pa.string())
