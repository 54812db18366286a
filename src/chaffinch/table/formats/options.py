"""How a file is to be read, as far as somebody says so: what is not said is found from the file, and noted."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import TypedDict

from ..._base.errors import InputError
from ..decimal_sign import DecimalSign, check_sign

HEADERS = ("yes", "no", "units")
"""What may be said of the header of a text file or sheet, besides the number of the line that it stands in."""


class FileOptions(TypedDict, total=False):
    """What may be said of a file, in `chaffinch.read` and wherever else one is named.

    encoding
        Of a text file: utf-8 unless given, or what its bytes leave no doubt about.
    delimiter
        What divides the cells of a text file: found from its first lines unless given.
    decimal
        The decimal sign of a text file, "." or ",": found from all of its numbers unless given.
    header
        "yes": the first line has the names of columns; "no": no line has, and they are called column_1, column_2 ...; "units": the line after the
        names has units; a number: the line with the names. True and False say yes and no. Found unless given.
    comment
        The sign that lines start with that are no records. Unless given, lines with # above the names are left out.
    table
        The sheet of a workbook, the table of a database, the file in a zip archive; the only one unless given.
    """

    encoding: str | None
    delimiter: str | None
    decimal: str | None
    header: str | int | bool | None
    comment: str | None
    table: str | None


@dataclass(frozen=True)
class ReadOptions:
    """How a file or object is read: `FileOptions`, checked, and whether records may stop it.

    `tolerant` asks for a source that no record can stop or shape, for private fits: nothing is found from a file, so that what is not
    given is plain (UTF-8, names in the first line, no comments). A line of a text file is a record, unless `line_breaks` declares that cells in quotes
    hold line breaks; without a line of names the delimiter and the number of `columns` are to be given. Rows of a text file with too many or too few cells
    become rows without values, after the others; bytes that are no text become U+FFFD; one column is enough; pandas columns of Python objects become words;
    the bytes of words in Arrow files come as they are.
    """

    encoding: str | None = None
    delimiter: str | None = None
    decimal: DecimalSign | None = None
    header: str | int | None = None
    comment: str | None = None
    table: str | None = None
    tolerant: bool = False
    columns: int | None = None
    line_breaks: bool = False

    @property
    def undescribed(self) -> bool:
        """Whether nothing but records stands in a text file, and none of them may be asked what it is."""
        return self.tolerant and self.header == "no"

    @classmethod
    def of(
        cls,
        options: FileOptions,
        *,
        tolerant: bool = False,
        columns: int | None = None,
        line_breaks: bool = False,
    ) -> ReadOptions:
        """Return checked options, or raise an InputError that says what may be said."""
        encoding, delimiter, comment = (
            options.get("encoding"),
            options.get("delimiter"),
            options.get("comment"),
        )
        if encoding is not None:
            _check_encoding(encoding)
        for name, sign in (("delimiter", delimiter), ("comment", comment)):
            if sign is not None and (len(sign) != 1 or sign in '"\r\n'):
                raise InputError(
                    f"{name} must be one character, and no quote or line break. Got {sign!r}."
                )
        header = _checked_header(options.get("header"))
        return cls(
            encoding,
            delimiter,
            check_sign(options.get("decimal")),
            header,
            comment,
            options.get("table"),
            tolerant,
            columns,
            line_breaks,
        )


def _check_encoding(encoding: str) -> None:
    try:
        known = codecs.lookup(encoding)._is_text_encoding
    except (LookupError, ValueError):
        known = False
    if not known:
        raise InputError(
            f"Unknown encoding '{encoding}'. Examples: utf-8, cp1252, latin-1, utf-16."
        )


def _checked_header(header: str | int | bool | None) -> str | int | None:
    if header is None:
        return None
    if isinstance(header, bool):
        return "yes" if header else "no"
    if isinstance(header, str) and header.isdecimal():
        header = int(header)
    if header in HEADERS or (isinstance(header, int) and 1 <= header <= 1000):
        return header
    raise InputError(
        f"header must be one of {', '.join(HEADERS)}, or the number of the line with the names, up to 1000. Got {header!r}."
    )
