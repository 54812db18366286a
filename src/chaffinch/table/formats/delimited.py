"""Text files whose cells a delimiter divides: CSV and TSV, also packed.

Their top says the encoding, what divides cells, which lines are no records, and the names of
columns: given, or found where the file leaves no doubt. For private fits a file is read so that no
record stops it (`every_row`): bytes that are no text, and rows of too many or too few cells.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import functools
import io
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..._base.errors import FileError, InputError
from ..domain import missing_words
from ..schema import Note
from ..text import format_values, has_decimals
from ..types import whole_array
from .encodings import NAMES, encoding_of, normal, not_in
from .format import FORMATS, Format, Labels, ReadOptions, Source
from .layout import LOOKED_AT, FileLayout, Names, find_names, plain_names
from .packing import PACKINGS, TextFile, packing_by_name, packing_of

if TYPE_CHECKING:
    from ..table import Table


BLOCK_BYTES = 1 << 24
"""Bytes of a text file that Arrow takes at a time."""

HEAD_BYTES = 1 << 20
"""Bytes of a text file that are taken at a time where only its first rows are wanted."""

MOST_HEADER = 1 << 20
"""Characters that the header of a text file may have."""

DELIMITERS = (",", ";", "\t", "|")
MOST_BLOCK = (1 << 31) - 1
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_QUOTED = re.compile(rb'[^\r\n"]*"[^\r\n]*')
_APART = "chaffinch-apart"
# A byte that is no text is one of the last 256 characters of Unicode; those, and the one before them, have that one put before them.
_UNSAFE = re.compile("[\udc00-\udcff\U0010feff-\U0010ffff]")
_MARKED = re.compile(
    rb"\xf4\x8f\xbb\xbf(\xf4\x8f[\xbb-\xbf][\x80-\xbf])|\xf4\x8f([\xbc-\xbf])([\x80-\xbf])"
)


@contextlib.contextmanager
def _naming_faults(name: str, delimiter: str, encoding: str) -> Iterator[None]:
    """Say in our words why Arrow cannot read a text file."""
    try:
        yield
    except pa.ArrowInvalid as error:
        reason = str(error)
        if ragged := re.search(r"Expected (\d+) columns, got (\d+)", reason):
            expected, actual = ragged.groups()
            raise FileError(
                f"'{name}' has a row of {actual} cells where its header has {expected}. Check quotes and delimiters "
                f"(read with {delimiter!r}), a file cut short, or lines that are comments (--comment '#')."
            ) from None
        if "utf8" in reason.lower():
            raise not_in(name, encoding) from None
        if "empty" in reason.lower() or "Could not skip" in reason:
            raise InputError(f"'{name}' has no rows.") from None
        raise FileError(
            f"Cannot read '{name}' as text with the delimiter {delimiter!r}: its rows do not hold together."
        ) from None


def open_text(
    file: TextFile, options: ReadOptions, delimiter: str | None = None, form: str = "csv"
) -> Source:
    """Return a text file as a source of words: its encoding, delimiter, comments and header as
    given, or as found.

    With `tolerant` nothing is found but the delimiter, from the line with the names, which are
    public; without such a line nothing is.
    """
    import pyarrow.csv as pv

    top = (
        given_top(file, options, delimiter)
        if options.tolerant
        else found_top(file, options, delimiter)
    )
    names, delimiter, encoding = top.names.names, top.delimiter, top.encoding
    if len(names) < 2 and not options.tolerant:
        raise InputError(
            f"'{file.name}' has one column when read with the delimiter {delimiter!r}. A table needs two or more; if another "
            "delimiter divides it, pass it."
        )
    schema = pa.schema([(name, pa.string()) for name in names])
    header, comment = top.names.row is not None, top.comment or "#" * bool(top.comments)
    layout = FileLayout(
        form,
        "",
        encoding,
        delimiter,
        header,
        top.line,
        bool(top.names.units),
        comment,
        top.inferred,
    )
    units = {
        name: Labels(title=unit.strip())
        for name, unit in zip(names, top.names.units, strict=False)
        if unit.strip()
    }
    if options.tolerant:
        if any(
            "\ufffd" in name for name in names
        ):  # names are public: only what comes after them is read whatever it is
            raise not_in(file.name, encoding)
        return Source(
            file.name,
            schema,
            every_row(file, top, schema, line_breaks=options.line_breaks),
            text=True,
            layout=layout,
            notes=top.names.notes,
            labels=units,
        )

    def read(
        columns: Sequence[str] | None, block_bytes: int = BLOCK_BYTES
    ) -> Iterator[pa.RecordBatch]:
        with (
            _naming_faults(file.name, delimiter, encoding),
            _stream(file, options.comment, encoding) as stream,
        ):
            yield from pv.open_csv(
                stream,
                read_options=pv.ReadOptions(
                    block_size=block_bytes,
                    encoding="utf-8" if options.comment else encoding,
                    skip_rows=top.lines,
                    column_names=list(names),
                ),
                parse_options=pv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                convert_options=as_words(names, columns),
            )

    return Source(
        file.name,
        schema,
        read,
        text=True,
        layout=layout,
        notes=top.notes,
        labels=units,
        head=lambda n_rows: read(names, HEAD_BYTES),
    )


def _stream(file: TextFile, comment: str | None, encoding: str) -> Any:
    """Return a file as Arrow reads it: as it is, or recoded to UTF-8 without lines that are
    comments.
    """
    if comment is None:
        return file.stream()
    raw: Any = file.open()
    if encoding != "utf-8":  # a byte that is no text in the encoding stops it
        raw = codecs.EncodedFile(raw, "utf-8", encoding)
    return pa.PythonFile(Uncommented(raw, comment), mode="r")


def _shape(path: Path, options: ReadOptions, *, delimiter: str | None) -> tuple[int, int] | None:
    """Rows are the bytes of the file over those of a line among its first."""
    if packing_of(path) is not None:
        return None
    # Names in the first line are enough here: what is wrong with them is said when the file is read.
    columns = len(
        given_top(TextFile.from_path(path), options, options.delimiter or delimiter).names.names
    )
    with open(path, "rb") as handle:
        head = handle.read(1 << 20)
    lines = head.count(b"\n")
    return (
        (round(path.stat().st_size * lines / (head.rindex(b"\n") + 1)) - 1, columns)
        if lines
        else None
    )


def _open(path: Path, options: ReadOptions, *, delimiter: str | None) -> Source:
    return open_text(
        TextFile.from_path(path, by_name=options.undescribed),
        options,
        delimiter,
        "tsv" if delimiter == "\t" else "csv",
    )


@contextlib.contextmanager
def _writer(
    path: Path, target: Path, *, delimiter: str | None
) -> Iterator[Callable[[Table], None]]:
    encoders: list[Any] = []
    packing = packing_by_name(target)
    with pa.output_stream(str(path), compression=packing and packing.codec) as stream:

        def write(table: Table) -> None:
            sign = delimiter or _delimiter(table)
            layout = table.origin.layout
            if not encoders:
                encoders.append(codecs.getincrementalencoder(layout.encoding or "utf-8")())
                if layout.header:
                    put(sign.join(_quote(pa.array(list(table.columns)), sign).to_pylist()) + "\n")
            for start in range(0, table.n_rows, 1 << 16):
                put(_rows(table, start, 1 << 16, sign))

        def put(text: str) -> None:
            try:
                stream.write(encoders[0].encode(text))
            except UnicodeEncodeError as error:
                raise FileError(
                    f"'{target}' cannot be written as {error.encoding}, as its original came: it has characters that this encoding lacks. "
                    "Write Parquet, or read the original from a file in UTF-8."
                ) from None

        yield write


def _delimiter(table: Table) -> str:
    """Return the delimiter of a CSV file: that of the original, else a comma, or a semicolon with
    decimal commas.
    """
    if table.origin.layout.delimiter not in ("", "\t"):
        return table.origin.layout.delimiter
    return (
        ";"
        if any(column.decimal == "," and has_decimals(column) for column in table.schema)
        else ","
    )


def _rows(table: Table, start: int, length: int, delimiter: str) -> str:
    """Return rows as lines of text."""
    cells = []
    for column in table.schema:
        values = whole_array(table.data.column(column.name).slice(start, length))
        text = _quote(
            format_values(values, column.format, column.decimal, column.thousands), delimiter
        )
        if column.modelled:
            spelled = missing_words(column, table.code(column.name)[start : start + length])
            if spelled is not None:
                text = pc.coalesce(_quote(spelled, delimiter), text)
        cells.append(pc.fill_null(text, ""))
    lines = pc.binary_join_element_wise(*cells, delimiter)
    return "".join(f"{line}\n" for line in lines.to_pylist())


def _quote(text: pa.Array, delimiter: str) -> pa.Array:
    """Put words in quotes where a delimiter, a quote or a line break needs it."""
    text = text.cast(pa.string())
    risky = pc.match_substring_regex(text, f'["\\n\\r{re.escape(delimiter)}]')
    if not pc.any(risky).as_py():
        return text
    doubled = pc.replace_substring(text, '"', '""')
    return pc.if_else(risky, pc.binary_join_element_wise('"', doubled, '"', ""), text)


def _text_format(
    name: str, title: str, delimiter: str | None, read_endings: tuple[str, ...] = ()
) -> Format:
    return Format(
        name,
        title,
        (f".{name}", *(f".{name}{packing.ending}" for packing in PACKINGS if packing.codec)),
        open=partial(_open, delimiter=delimiter),
        writer=partial(_writer, delimiter=delimiter),
        shape=partial(_shape, delimiter=delimiter),
        private=True,
        packed=True,
        read_endings=read_endings,
    )


CSV = FORMATS.register(_text_format("csv", "CSV", None))


FORMATS.register(_text_format("tsv", "TSV (both also .gz, .zst, .bz2)", "\t", (".tab",)))


@dataclass(frozen=True)
class TextTop:
    """The header of a text file and how it is read.

    `lines`: how many lines there are before the first record, comments included where they are not
    filtered. `comment`: the sign of lines that are to be filtered, empty for none; `comments`: how
    many lines at the top are comments.
    """

    names: Names
    encoding: str
    delimiter: str
    lines: int
    comment: str = ""
    comments: int = 0
    notes: tuple[Note, ...] = ()
    inferred: tuple[str, ...] = ()

    @property
    def line(self) -> int:
        """The number of the line with the names, or of the first record where no line has them."""
        return 1 + self.comments + (self.names.skip if self.names.row is None else self.names.row)


def given_top(file: TextFile, options: ReadOptions, delimiter: str | None) -> TextTop:
    """Return the top of a file as it is given. Only the delimiter is found, from the line with the
    names, which are public.

    No record is read beyond what a buffer holds: a file that is damaged after its header has one
    all the same. Under a promise (`tolerant`) the names end with their line, unless line breaks are
    declared, and where no line has them nothing is read: the first line is a record.
    """
    encoding = normal(options.encoding or "utf-8")
    if options.undescribed:
        return _undescribed_top(file, options, options.delimiter or delimiter, encoding)
    with file.open() as handle:
        if encoding == "utf-8" and handle.peek(2)[:2] in (b"\xff\xfe", b"\xfe\xff"):  # type: ignore[attr-defined]
            raise not_in(file.name, encoding)
        with io.TextIOWrapper(handle, encoding=encoding, errors="replace") as text:
            all_lines = _lines(text)
            lines = (
                line
                for line in all_lines
                if not (options.comment and line.startswith(options.comment))
            )
            first = next(lines, "").removeprefix("\ufeff")
            skipped = 0
            if isinstance(options.header, int):
                while skipped < options.header - 1 and first:
                    first, skipped = next(lines, ""), skipped + 1
            sign = options.delimiter or delimiter or _sniff(first)
            if options.tolerant and not options.line_breaks:
                if not closed_line(sign).fullmatch(first.rstrip("\r\n").encode("utf-8", "replace")):
                    raise InputError(
                        f"The line with the names of '{file.name}' ends inside quotes. Close them, or declare line_breaks = true in the schema."
                    )
                top = [first, *itertools.islice(lines, int(options.header == "units"))]
                rows, n_lines = [_cells(line, sign) for line in top], len(top)
            else:
                reader = csv.reader(itertools.chain([first], lines), delimiter=sign)
                rows = list(itertools.islice(reader, 1 + (options.header == "units"))) or [[]]
                n_lines = reader.line_num
            names = plain_names(
                rows, None if isinstance(options.header, int) else options.header, f"'{file.name}'"
            )
    if options.header == "no":
        n_lines = 0
    return TextTop(
        names, encoding, sign, skipped + n_lines, options.comment or "", notes=names.notes
    )


def _undescribed_top(
    file: TextFile, options: ReadOptions, delimiter: str | None, encoding: str
) -> TextTop:
    """Return the top of a file without a line of names, from what is declared alone."""
    if delimiter is None:
        raise InputError(
            f"No line of '{file.name}' has the names of columns, and under a promise of privacy no record is asked what divides its cells. "
            'Say it: --delimiter , (delimiter="," in Python).'
        )
    if options.columns is None:
        raise InputError(
            f"No line of '{file.name}' has the names of columns, and under a promise of privacy no record is asked how many there are. Declare them in "
            "a schema, as column_1, column_2 ..., and pass it with --schema."
        )
    names = plain_names([[""] * options.columns], "no", f"'{file.name}'")
    return TextTop(names, encoding, delimiter, 0, options.comment or "", notes=names.notes)


@functools.cache
def closed_line(delimiter: str) -> re.Pattern[bytes]:
    """Return the pattern of a line, in UTF-8, that does not end inside quotes.

    As Arrow reads: a quote opens where a cell starts, two of them inside are one, and what follows
    the closing one belongs to the cell as it is.

    Examples
    --------
    >>> [bool(closed_line(",").fullmatch(line)) for line in (b'a,"b"', b'a,"b', b'a,5" pipe', b'a,"b""')]
    [True, False, True, False]
    """
    sign = re.escape(delimiter.encode())
    cell = rb'(?:"(?:[^"]|"")*+"(?:(?!D).)*+|(?!")(?:(?!D).)*+)'.replace(b"D", sign)
    return re.compile(cell + rb"(?:" + sign + cell + rb")*+", re.DOTALL)


def found_top(file: TextFile, options: ReadOptions, delimiter: str | None) -> TextTop:
    """Return the top of a file as given or found, with notes on what was found and is not usual."""
    encoding = (
        normal(options.encoding)
        if options.encoding
        else encoding_of(file.open, file.name, file.check)
    )
    notes, settings = [], []
    if options.encoding is None and encoding != "utf-8":
        notes.append(
            Note(
                "",
                "encoding",
                f"The file is read as {NAMES.get(encoding, encoding)}, and written so.",
            )
        )
        settings.append("encoding")
    lines, comments = _top_lines(file, encoding, options.comment)
    if comments and not options.comment:
        notes.append(
            Note(
                "",
                "comment",
                "Lines above the names that start with # are left out, and not written again.",
            )
        )
        settings.append("comment")
    sign = options.delimiter or delimiter or _found_delimiter(lines)
    reader = csv.reader(lines, delimiter=sign)
    rows, ends = [], []
    for row in reader:
        rows.append(row)
        ends.append(reader.line_num)
        if len(rows) == LOOKED_AT:
            break
    if not rows:
        raise FileError(
            f"'{file.name}' has no line that is not a comment. A table needs column names and rows."
        )
    header = options.header
    if isinstance(header, int):
        header = 1 + sum(end < header - comments for end in ends)
    names = find_names(rows, header, f"'{file.name}'", above=comments)
    if "\ufffd" in "".join(names.names):
        raise not_in(file.name, encoding)
    before = (ends[names.skip - 1] if names.skip else 0) + (0 if options.comment else comments)
    return TextTop(
        names,
        encoding,
        sign,
        before,
        options.comment or "",
        comments,
        (*notes, *names.notes),
        (*settings, *names.inferred),
    )


def _top_lines(file: TextFile, encoding: str, comment: str | None) -> tuple[list[str], int]:
    """Return the first lines of a file without those at the top that are comments, and how many
    those are.
    """
    with (
        file.open() as handle,
        io.TextIOWrapper(handle, encoding=encoding, errors="replace", newline="") as text,
    ):
        lines = []
        for line in _lines(text):
            lines.append(line)
            if len(lines) > 2 * LOOKED_AT:
                break
    if lines:
        lines[0] = lines[0].removeprefix("\ufeff")
    if comment:
        return [line for line in lines if not line.startswith(comment)], 0
    n_comments = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    if 0 < n_comments < len(lines) and _is_header(lines[n_comments - 1], lines[n_comments:]):
        n_comments -= 1
    return lines[n_comments:], n_comments


def _is_header(comment: str, below: Sequence[str]) -> bool:
    """Whether the last line with # has the names: as many cells as the next lines, and the very
    next is like those after it.
    """
    sign = _sniff(below[0])
    widths = [len(_cells(line, sign)) for line in (comment, *below[:3])]
    if widths[0] < 2 or len(set(widths)) > 1 or len(widths) < 3:
        return False
    first, second = _cells(below[0], sign), _cells(below[1], sign)
    return sum(
        a[:1].isdigit() == b[:1].isdigit() for a, b in zip(first, second, strict=True)
    ) == len(first) and any(cell[:1].isdigit() for cell in first)


def _lines(text: io.TextIOWrapper) -> Iterator[str]:
    """Yield lines, of at most a megabyte in all: a header that is longer is none."""
    remaining = MOST_HEADER
    while remaining > 0 and (line := text.readline(remaining)):
        remaining -= len(line)
        yield line


def _cells(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter), [])


def _sniff(first: str) -> str:
    """Return the delimiter that divides the first line into the most cells; a comma if none
    does.
    """
    line = first.splitlines()[0] if first else ""
    return max(DELIMITERS, key=lambda d: (len(_cells(line, d)), d == ","))


def _found_delimiter(lines: Sequence[str]) -> str:
    """Return the delimiter: the sign that divides the first line into most cells, if it divides the
    others alike; else the one that divides most lines alike.
    """
    written = [line for line in lines if line.strip()][:50]
    if not written:
        return ","
    first = _sniff(written[0])
    agreement = {sign: _agreement(written, sign) for sign in (*DELIMITERS, " ")}
    width = len(_cells(written[0], first))
    if width > 1 and (len(written) < 3 or agreement[first][1] in (width, width + 1)):
        return first
    share, width, sign = max((*agreement[sign], sign) for sign in agreement if sign != " ")
    if width > 1 and share > 0.5:
        return sign
    share, width = agreement[" "]
    return " " if width > 1 and share > 0.9 and len(written) > 2 else first


def _agreement(lines: Sequence[str], delimiter: str) -> tuple[float, int]:
    """Return the share of lines that have the usual number of cells, and that number."""
    width, often = Counter(len(_cells(line, delimiter)) for line in lines).most_common(1)[0]
    return often / len(lines), width


def as_words(names: Sequence[str], columns: Sequence[str] | None) -> Any:
    """Return how cells are converted: all are words, of the columns asked for, and an empty one is
    no null.
    """
    import pyarrow.csv as pv

    types = dict.fromkeys(names, pa.string())
    chosen = None if columns is None else list(columns)
    return pv.ConvertOptions(column_types=types, strings_can_be_null=False, include_columns=chosen)


def every_row(
    file: TextFile, top: TextTop, schema: pa.Schema, *, line_breaks: bool = False
) -> Callable[[Sequence[str] | None], Iterator[pa.RecordBatch]]:
    """A reader of a text file that no row stops: what has too many or too few cells comes last, as
    a row of nulls.

    A line is a record, so that no quote takes in the records after it: a line that ends inside
    quotes is a row of nulls too. Not so where `line_breaks` are declared.
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
            rows = pa.Table.from_arrays(
                [_restore_bytes(column) for column in rows.columns], names=names
            )
        yield from rows.to_batches()
        if ragged:
            yield pa.RecordBatch.from_arrays(
                [pa.nulls(len(ragged), pa.string())] * len(names), names=names
            )

    return read


class Uncommented(io.RawIOBase):
    """A stream of UTF-8 without lines that start with a sign, but for those that start so inside
    quotes.
    """

    def __init__(self, raw: Any, comment: str) -> None:
        self._raw, self._sign = raw, comment.encode()
        self._rest, self._quoted, self._ended = b"", False, False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while not self._ended:
            piece = self._raw.read(size)
            self._ended = not piece
            block = self._rest + piece
            cut = len(block) if self._ended else block.rfind(b"\n") + 1
            complete, self._rest = block[:cut], block[cut:]
            if lines := b"".join(
                line for line in complete.splitlines(keepends=True) if self._is_record(line)
            ):
                return lines
        return b""

    def _is_record(self, line: bytes) -> bool:
        if not self._quoted and line.startswith(self._sign):
            return False
        self._quoted ^= line.count(b'"') % 2 == 1
        return True


class _LineRecords(io.RawIOBase):
    """A stream of UTF-8 in which every line is a record, whatever its quotes: what becomes of a
    line depends on that line alone.

    A line that ends inside quotes becomes one of too many cells; lines that start with the sign of
    comments are left out. Arrow takes a mark of the byte order off the first line: where that is a
    record, such marks are taken off every line.
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
            complete, self._rest = b"".join([*self._rest, piece[:cut]]), [piece[cut:]]
            if records := self._records(complete):
                return records
        return b""

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


class _Recoded(io.RawIOBase):
    """A stream of bytes as UTF-8, which is what Arrow reads; each byte that is no text is a
    character of its own (`_restore_bytes`).

    So two identifiers that differ in such bytes alone stay two: as one person they would share the
    rows that are kept of each, and without the one more rows of the other would be.
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


codecs.register_error(_APART, _apart)


def _mark(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x10FF00 + code - 0xDC00) if code < 0xE000 else "\U0010feff" + match[0]


def _restore_bytes(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return words with the bytes that `_Recoded` wrote as characters."""

    def bare(match: re.Match[bytes]) -> bytes:
        return match[1] or bytes([(match[2][0] - 0xBC << 6) + match[3][0] - 0x80])

    chunks = []
    for chunk in column.chunks:
        values = [_MARKED.sub(bare, value) for value in chunk.cast(pa.binary()).to_pylist()]
        chunks.append(
            pa.array(values, pa.binary()).view(pa.string())
        )  # not cast: Arrow would refuse what is no text
    return pa.chunked_array(chunks, pa.string())
