"""The top of a text file: its encoding, what divides its cells, lines that are no records, and the names of its columns."""

from __future__ import annotations

import csv
import functools
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ..._base.errors import FileError, InputError
from ..note import Note
from .encodings import NAMES, encoding_of, normal, not_in
from .layout import LOOKED_AT, Names, find_names, plain_names
from .options import ReadOptions
from .text_file import TextFile

BLOCK_BYTES = 1 << 24
"""Bytes of a text file that Arrow takes at a time."""

HEAD_BYTES = 1 << 20
"""Bytes of a text file that are taken at a time where only its first rows are wanted."""

MOST_HEADER = 1 << 20
"""Characters that the header of a text file may have."""

DELIMITERS = (",", ";", "\t", "|")

_SAID = {"\t": "tabs", " ": "spaces", "|": "bars", ";": "semicolons", ",": "commas"}


@dataclass(frozen=True)
class TextTop:
    """What the top of a text file says.

    `lines`: how many lines there are before the first record, comments included where they are not filtered. `comment`: the sign of lines
    that are to be filtered, empty for none; `comments`: how many lines at the top are comments.
    """

    names: Names
    encoding: str
    delimiter: str
    lines: int
    comment: str = ""
    comments: int = 0
    notes: tuple[Note, ...] = ()
    found: tuple[str, ...] = ()

    @property
    def line(self) -> int:
        """The number of the line with the names, or of the first record where no line has them."""
        return 1 + self.comments + (self.names.skip if self.names.row is None else self.names.row)


def given_top(file: TextFile, options: ReadOptions, delimiter: str | None) -> TextTop:
    """Return the top of a file as it is given. Only the delimiter is found, from the line with the names, which are public.

    No record is read beyond what a buffer holds: a file that is damaged after its header has one all the same. Under a promise (`tolerant`) the names end
    with their line, unless line breaks are declared, and where no line has them nothing is read: the first line is a record.
    """
    encoding = normal(options.encoding or "utf-8")
    if options.undescribed:
        return _undescribed_top(file, options, options.delimiter or delimiter, encoding)
    with file.open() as handle:
        if encoding == "utf-8" and handle.peek(2)[:2] in (b"\xff\xfe", b"\xfe\xff"):  # type: ignore[attr-defined]
            raise not_in(file.name, encoding)
        with io.TextIOWrapper(handle, encoding=encoding, errors="replace") as text:
            every = _lines(text)
            lines = (
                line for line in every if not (options.comment and line.startswith(options.comment))
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
    """Return what matches a line, in UTF-8, that does not end inside quotes.

    As Arrow reads: a quote opens where a cell starts, two of them inside are one, and what follows the closing one belongs to the cell as it is.

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
    notes, found = [], []
    if options.encoding is None and encoding != "utf-8":
        notes.append(
            Note(
                "",
                "encoding",
                f"The file is read as {NAMES.get(encoding, encoding)}, and written so.",
            )
        )
        found.append("encoding")
    lines, comments = _top_lines(file, encoding, options.comment)
    if comments and not options.comment:
        notes.append(
            Note(
                "",
                "comment",
                "Lines above the names that start with # are left out, and not written again.",
            )
        )
        found.append("comment")
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
        (*found, *names.found),
    )


def _top_lines(file: TextFile, encoding: str, comment: str | None) -> tuple[list[str], int]:
    """Return the first lines of a file without those at the top that are comments, and how many those are."""
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
    """Whether the last line with # has the names: as many cells as the next lines, and the very next is like those after it."""
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
    left = MOST_HEADER
    while left > 0 and (line := text.readline(left)):
        left -= len(line)
        yield line


def _cells(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter), [])


def _sniff(first: str) -> str:
    """Return the delimiter that divides the first line into the most cells; a comma if none does."""
    line = first.splitlines()[0] if first else ""
    return max(DELIMITERS, key=lambda d: (len(_cells(line, d)), d == ","))


def _found_delimiter(lines: Sequence[str]) -> str:
    """Return what divides the lines into cells: what divides the first into most, if it divides the others so too; else what divides most lines alike."""
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
    """Return how cells are converted: all are words, of the columns asked for, and an empty one is no null."""
    import pyarrow.csv as pv

    types = dict.fromkeys(names, pa.string())
    chosen = None if columns is None else list(columns)
    return pv.ConvertOptions(column_types=types, strings_can_be_null=False, include_columns=chosen)
