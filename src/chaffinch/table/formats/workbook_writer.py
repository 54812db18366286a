"""Writing a table as a sheet of Excel (.xlsx): numbers as numbers, dates as dates, words as words
whatever they look like.

A small writer of our own: rows go out as they come, nothing else is stored, and the same table
gives the same bytes. Layout: ECMA-376, part 1, section 18.
"""

from __future__ import annotations

import contextlib
import datetime
import html
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..._base.errors import FileError, InputError
from ..domain import missing_words
from ..types import value_type

if TYPE_CHECKING:
    from ..table import Table


MOST_ROWS = 1_048_575
"""Records that a sheet holds below the names."""

MOST_COLUMNS = 16_384

MOST_LETTERS = 32_767
"""Characters that a cell holds."""

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_EPOCH = datetime.datetime(1899, 12, 30)
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

SHEET = "table"
"""The name of the sheet."""

_STYLES = (
    "General",
    "yyyy-mm-dd",
    "yyyy-mm-dd hh:mm:ss",
    "hh:mm:ss",
    *(f"0.{'0' * n}" for n in range(1, 16)),
)
"""How cells are shown, by their number in the file."""


@contextlib.contextmanager
def write_workbook(path: Path, target: Path) -> Iterator[Callable[[Table], None]]:
    """Give a function that appends tables to one sheet."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        contextlib.ExitStack() as stack,
    ):
        sheets: list[IO[bytes]] = []
        rows: list[int] = []

        def start(table: Table | None) -> None:
            for name, content in _parts().items():
                archive.writestr(_member(name), _XML + content)
            sheets.append(
                stack.enter_context(
                    archive.open(_member("xl/worksheets/sheet1.xml"), "w", force_zip64=True)
                )
            )
            sheets[0].write(f'{_XML}<worksheet xmlns="{_MAIN}"><sheetData>'.encode())
            if table is not None and table.origin.layout.header:
                sheets[0].write(_row([_word(name) for name in table.columns]))

        def write(table: Table) -> None:
            if len(table.columns) > MOST_COLUMNS:
                raise InputError(f"A sheet holds {MOST_COLUMNS:,} columns. Write CSV or Parquet.")
            rows.append(table.n_rows)
            if sum(rows) > MOST_ROWS:
                raise InputError(f"A sheet holds {MOST_ROWS:,} records. Write CSV or Parquet.")
            if not sheets:
                start(table)
            columns = [_cells(table, name) for name in table.columns]
            for row in zip(*columns, strict=True):
                sheets[0].write(_row(row))

        yield write
        if not sheets:
            start(None)
        sheets[0].write(b"</sheetData></worksheet>")


def _member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    member.compress_type = zipfile.ZIP_DEFLATED
    return member


def _parts() -> dict[str, str]:
    """Return all that a workbook of one sheet has besides it. The sheet has a name of its own: that
    of the original may say whose data they are.
    """
    from xml.sax.saxutils import quoteattr  # brings the whole of http with it

    formats = "".join(
        f"<numFmt numFmtId={quoteattr(str(164 + i))} formatCode={quoteattr(style)}/>"
        for i, style in enumerate(_STYLES)
    )
    cells = "".join(
        f'<xf numFmtId="{164 + i if i else 0}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
        for i in range(len(_STYLES))
    )
    return {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="{_KIND}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_KIND}.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="{_KIND}.styles+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets><sheet name={quoteattr(SHEET)} sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="rId2" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><numFmts count="{len(_STYLES)}">{formats}</numFmts><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
        '<fills count="1"><fill><patternFill patternType="none"/></fill></fills><borders count="1"><border/></borders>'
        f'<cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="{len(_STYLES)}">{cells}</cellXfs></styleSheet>',
    }


def _row(cells: Sequence[str]) -> bytes:
    return f"<row>{''.join(cells)}</row>".encode()


def _cells(table: Table, name: str) -> list[str]:
    """Return the cells of a column: values, missing codes as the words that they are, nothing where
    nothing stands.
    """
    column = table.schema[name]
    values = table.data.column(name).combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.cast(value_type(values.type))
    if pa.types.is_timestamp(values.type):
        values = (pc.local_timestamp(values) if values.type.tz else values).cast(
            pa.timestamp("us"), safe=False
        )
    style = _style(values.type, column.decimals)
    cells = [_cell(value, style) for value in values.to_pylist()]
    missing_text = missing_words(column, table.code(name)) if column.modelled else None
    if missing_text is not None:
        cells = [
            cell if word is None else _word(word)
            for cell, word in zip(cells, missing_text.to_pylist(), strict=True)
        ]
    return cells


def _style(kind: pa.DataType, decimals: int | None) -> int:
    shown = "General"
    if pa.types.is_date(kind):
        shown = "yyyy-mm-dd"
    elif pa.types.is_timestamp(kind):
        shown = "yyyy-mm-dd hh:mm:ss"
    elif pa.types.is_time(kind):
        shown = "hh:mm:ss"
    elif pa.types.is_floating(kind) and decimals:
        shown = f"0.{'0' * decimals}"
    return _STYLES.index(shown)


def _cell(value: Any, style: int) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, str):
        return _word(value)
    if isinstance(value, bool):
        return f'<c t="b"><v>{value:d}</v></c>'
    if isinstance(value, datetime.datetime):
        value = (value - _EPOCH) / datetime.timedelta(days=1)
    elif isinstance(value, datetime.date):
        value = (datetime.datetime.combine(value, datetime.time()) - _EPOCH).days
    elif isinstance(value, datetime.time):
        value = datetime.timedelta(
            hours=value.hour,
            minutes=value.minute,
            seconds=value.second,
            microseconds=value.microsecond,
        ) / datetime.timedelta(days=1)
    elif isinstance(value, int) and abs(value) > 2**53:
        return _word(
            str(value)
        )  # Excel has floats only: a longer number would lose its last digits
    elif not isinstance(value, int | float):
        return _word(str(value))
    return f'<c s="{style}"><v>{value!r}</v></c>'


def _word(word: str) -> str:
    """Return a cell with a word: one that starts with = is no formula."""
    if _FORBIDDEN.search(word) or len(word) > MOST_LETTERS:
        raise FileError(
            f"A sheet cannot hold words with control characters in them, or of more than {MOST_LETTERS:,} characters. Write CSV or Parquet."
        )
    return f'<c t="inlineStr"><is><t xml:space="preserve">{html.escape(word, quote=False)}</t></is></c>'
