"""Workbooks of Excel and LibreOffice (.xlsx, .xls, .ods): one sheet of them, by its name, through
the extra `excel`.

Cells are spelled and then understood as those of a text file are, so that numbers that are stored
as text are numbers, and codes with leading zeros stay codes. Formulas are read by the values that
were stored with them. What would come in wrong in silence (formulas without values, merged records,
cells of errors) is refused or said.
"""

from __future__ import annotations

import html
import re
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ..._base.errors import FileError, InputError, MissingExtraError, join_names
from ..schema import Note
from .format import (
    FORMATS,
    Format,
    Labels,
    ReadOptions,
    Source,
    chosen_table,
    spelled_column,
    spelled_source,
)
from .layout import LOOKED_AT, FileLayout, Names, find_names
from .packing import ZIP, check_archive
from .workbook_writer import write_workbook

MOST_CELLS = 50_000_000
"""Cells between the first and the last of a sheet: more are a sheet with something far from its
table.
"""

MOST_UNPACKED = 64 << 20
"""Bytes that a workbook of outputs unpacks to."""
MOST_PROPERTIES = 1 << 18
MOST_SHEETS = 200
"""Sheets of a workbook of outputs."""

# No mark is looked for beyond the next one: a sheet whose marks are not closed takes no longer than it is long.
_CELL = re.compile(rb"<(?:\w{1,20}:)?c\b([^<>]*)>|</(?:\w{1,20}:)?c>")
_FORMULA = re.compile(rb"<(?:\w+:)?f\b")
_VALUE = re.compile(rb"<(?:\w+:)?v\b[^>/]*>[^<]")
_TYPE = re.compile(rb'\bt="(\w+)"')
_PLACE = re.compile(rb'\br="([A-Z]{1,3})([0-9]{1,7})"')
_SHEET = re.compile(r"<(?:\w{1,20}:)?sheet\b[^<>]*>")
_NUMBER = re.compile(r"\s*[+-]?[0-9]+([.,][0-9]+)?\s*")


_PROPERTY = re.compile(
    rb"<(?:(?:dc|cp|meta):(?:title|subject|description|keywords?|category|user-defined)|vt:\w{1,20})\b[^<>]*>([^<]*)<"
)
_APP_VERSION = re.compile(
    rb'<(meta:user-defined|property)\b[^<>]*name="AppVersion"[^<>]*>.{0,200}?</\1>', re.DOTALL
)
"""The version of the program that wrote a workbook, which LibreOffice files among the
properties.
"""

_READ_PARTS = re.compile(
    r"\[Content_Types\]\.xml|_rels/\.rels|docProps/(core|app|custom)\.xml|xl/(workbook|styles|sharedStrings|calcChain|metadata)\.(xml|bin)"
    r"|xl/_rels/workbook\.(xml|bin)\.rels|xl/worksheets/[^/]+\.(xml|bin)|xl/worksheets/_rels/[^/]+\.rels|xl/theme/[^/]+\.xml"
    r"|xl/theme/_rels/[^/]+\.rels|xl/tables/[^/]+\.(xml|bin)|xl/printerSettings/printerSettings\d+\.bin"
    r"|mimetype|content\.xml|styles\.xml|meta\.xml|settings\.xml|manifest\.rdf|META-INF/manifest\.xml|Configurations2/.*|Thumbnails/thumbnail\.png"
)
"""Parts of .xlsx, .xlsb and .ods archives that hold the cells that are read, how they look, and
which parts there are.
"""

_UNREAD_PARTS = {
    r"xl/(threaded)?comments.*|xl/persons/.*": "cell comments",
    r"xl/pivot(Cache|Tables)/.*": "a pivot table or its cache, which holds the records behind it",
    r"xl/(embeddings|activeX|ctrlProps)/.*|Object .*": "an embedded object",
    r"xl/(drawings|charts|chartsheets|media|diagrams)/.*|Pictures/.*|docProps/thumbnail.*": "a drawing, a chart or a picture",
    r"xl/externalLinks/.*": "stored values of another workbook",
    r"xl/(model|customData|queryTables|slicer\w*|timeline\w*)/.*|xl/connections\..*": "a data model, a query or a slicer",
    r"xl/vba.*|xl/macrosheets/.*|xl/dialogsheets/.*|Basic/.*|Scripts/.*": "a macro",
    r"customXml/.*": "document properties",
    r"xl/revisions/.*": "tracked changes",
}
"""What other parts are, by their names."""


def _calamine() -> Any:
    try:
        import python_calamine as package
    except ImportError:
        raise MissingExtraError("Reading workbooks", "excel") from None
    return package


@dataclass(frozen=True)
class SheetCells:
    """A sheet as it stands: its cells as text, row by row from `first` (counted from 1), and merged
    ranges, from and to as (row, column) from 0.

    `visible`: whether it shows.
    """

    name: str
    first: int
    rows: tuple[tuple[str, ...], ...]
    merged: tuple[tuple[tuple[int, int], tuple[int, int]], ...] = ()
    visible: bool = True


def sheets_of(path: Path, *, most_cells: int = MOST_CELLS) -> list[SheetCells]:
    """Return all sheets of a workbook that have something in them, hidden ones too, as they stand;
    FileError or InputError where they cannot be read.

    The workbook is measured before it is unpacked: one of more than `most_cells` cells, empty ones
    between the first and the last of a sheet among them, or whose bytes or text would fill a
    memory, is refused.
    """
    _check_unpacked(path, most_cells)
    workbook, sheets, zipped = _workbook(path)
    sheet_cells = []
    if len(sheets) > MOST_SHEETS:
        raise InputError(
            f"'{path}' has over {MOST_SHEETS} sheets, more than outputs have. Check it in parts."
        )
    for name, visible in sheets.items():
        if not _is_filled(path, workbook, name, zipped):
            continue
        what = f"'{path}::{name}'"
        if (look := _looked_at(path, name) if zipped else None) is not None:
            look.check(what)
            if look.errors:
                raise InputError(
                    f"{what} has cells with an error, in columns {join_names(list(look.errors))}. Mend them in the spreadsheet program."
                )
        sheet, rows, merged = _cells(workbook, name, what)
        start = sheet.start or (0, 0)
        spelled = tuple(tuple(spelled_column(row).to_pylist()) for row in rows)
        corners = tuple(
            ((a[0] - start[0], a[1] - start[1]), (b[0] - start[0], b[1] - start[1]))
            for a, b in merged
        )
        sheet_cells.append(SheetCells(name, start[0] + 1, spelled, corners, visible))
    return sheet_cells


def _check_unpacked(path: Path, most_cells: int) -> None:
    """Raise where a workbook would fill a memory: by its true sizes, not by those that the archive
    states.
    """
    fault = f"'{path}' unpacks to more than an output holds"
    try:
        check_archive(path)
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile:
        raise FileError(
            f"Cannot read '{path}' as a workbook: it is damaged, or an old one. Save it as .xlsx."
        ) from None
    with archive, open(path, "rb") as handle:
        sizes = {
            member.filename: _true_size(handle, member, MOST_UNPACKED)
            for member in archive.infolist()
        }
        if sum(sizes.values()) > MOST_UNPACKED:
            raise InputError(f"{fault}: over {MOST_UNPACKED >> 20} MiB. Check its tables in parts.")
        if not {"xl/workbook.xml", "content.xml"} & set(sizes) or "xl/workbook.bin" in sizes:
            raise FileError(
                f"Cannot read '{path}' as a workbook: it is none, or a binary one. Save it as .xlsx."
            )
        n_cells, n_bytes = _xlsx_extent(archive, sizes)
        if "content.xml" in sizes:
            more_cells, more_bytes = _ods_extent(archive.read("content.xml"))
            n_cells, n_bytes = n_cells + more_cells, n_bytes + more_bytes
    if n_cells > most_cells:
        raise InputError(
            f"{fault}: over {most_cells:,} cells, empty ones among them. Clear what is beside its tables, or check them in parts."
        )
    if n_bytes > MOST_UNPACKED:
        raise InputError(
            f"{fault}: its cells hold over {MOST_UNPACKED >> 20} MiB of text. Check its tables in parts."
        )


def _true_size(handle: BinaryIO, member: zipfile.ZipInfo, max_bytes: int) -> int:
    """The unpacked size of a member of an archive in bytes, counted up to just above `max_bytes`:
    the size in its header may be wrong.
    """
    handle.seek(member.header_offset)
    head = handle.read(30)
    if (
        len(head) < 30
        or head[:4] != ZIP
        or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    ):
        raise FileError("It is packed in a way that is not known here, or damaged. Save it anew.")
    handle.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), 1)
    if member.compress_type == zipfile.ZIP_STORED:
        return member.compress_size
    unpacker, size, remaining = zlib.decompressobj(-15), 0, member.compress_size
    while remaining > 0 and size <= max_bytes and not unpacker.eof:
        packed = unpacker.unconsumed_tail or handle.read(min(remaining, 1 << 16))
        if not packed:
            break
        remaining -= 0 if unpacker.unconsumed_tail else len(packed)
        size += len(unpacker.decompress(packed, 1 << 20))
    while unpacker.unconsumed_tail and size <= max_bytes:
        size += len(unpacker.decompress(unpacker.unconsumed_tail, 1 << 20))
    return size


def _xlsx_extent(archive: zipfile.ZipFile, sizes: Collection[str]) -> tuple[int, int]:
    """How many cells the sheets of an .xlsx workbook span, and about how many bytes of text they
    hold with shared texts written out.
    """
    n_cells, n_texts, n_bytes = 0, 0, 0
    for name in sizes:
        if name.endswith(".xml") and name not in (
            "content.xml",
            "styles.xml",
            "xl/styles.xml",
            "xl/sharedStrings.xml",
        ):
            content = archive.read(name)
            rows = [int(row) for row in re.findall(rb'\br="[A-Z]{1,3}([0-9]{1,7})"', content)]
            letters = {
                _number_of(column)
                for column in set(re.findall(rb'\br="([A-Z]{1,3})[0-9]{1,7}"', content))
            }
            unplaced = len(
                re.findall(rb"<(?:\w{1,20}:)?c\b", content)
            )  # cells need not say where they are
            n_cells += max(
                (max(rows, default=0) - min(rows, default=0) + 1) * max(letters, default=0),
                unplaced,
            )
            n_texts += content.count(b't="s"')
            n_bytes += len(content)
    if "xl/sharedStrings.xml" in sizes:
        texts = re.split(rb"<(?:\w{1,20}:)?si\b", archive.read("xl/sharedStrings.xml"))
        n_bytes += max(map(len, texts)) * n_texts
    return n_cells, n_bytes


def _ods_extent(content: bytes) -> tuple[int, int]:
    """The number of cells and bytes of an .ods workbook, repeated cells and rows among them."""
    n_cells, n_bytes = 0, 0
    for table in content.split(b"<table:table ")[1:]:
        height, width, row_end = 0, 0, 0
        for row in table.split(b"<table:table-row")[1:]:
            times = _repeats(row[: row.find(b">") + 1], b"rows")
            column_end, filled, text = 0, 0, 0
            for cell in re.split(rb"<table:(?:covered-)?table-cell", row)[1:]:
                head = cell[: cell.find(b">") + 1]
                column_end += _repeats(head, b"columns")
                if b"office:value" in head or b"<text:p" in cell:
                    filled = column_end
                    text += len(cell) * _repeats(head, b"columns")
            row_end += times
            if filled:
                height, width = row_end, max(width, filled)
                n_bytes += text * times
        n_cells += height * width
    return n_cells, n_bytes


def _repeats(head: bytes, what: bytes) -> int:
    match = re.search(rb'number-%s-repeated="([0-9]{1,9})"' % what, head)
    return int(match[1]) if match else 1


def unread_contents(path: Path) -> list[str]:
    """Return descriptions of what a workbook holds besides the cells of its sheets: comments, pivot
    caches, objects and other parts.
    """
    contents: dict[str, None] = {}
    with zipfile.ZipFile(path) as archive:
        if archive.comment:
            contents["a comment of the archive"] = None
        names = [name for name in archive.namelist() if not name.endswith("/")]
        if len(set(names)) < len(names):
            contents["two parts of one name"] = None
        for name in names:
            if not _READ_PARTS.fullmatch(name):
                description = next(
                    (
                        description
                        for pattern, description in _UNREAD_PARTS.items()
                        if re.fullmatch(pattern, name)
                    ),
                    "a part of another kind",
                )
                contents[description] = None
        if "xl/workbook.xml" in names:
            contents |= dict.fromkeys(_unread_in_sheets(archive, names))
        if "content.xml" in names:
            contents |= dict.fromkeys(_unread_in_ods(archive.read("content.xml")))
        for properties in {"docProps/core.xml", "docProps/custom.xml", "meta.xml"} & set(names):
            properties_xml = archive.read(properties)
            if len(properties_xml) > MOST_PROPERTIES or any(
                re.search(rb"\d", text)
                for text in _PROPERTY.findall(_APP_VERSION.sub(b"", properties_xml))
            ):
                contents["document properties"] = None
    return list(contents)


def _unread_in_sheets(archive: zipfile.ZipFile, names: Sequence[str]) -> Iterator[str]:
    """What the XML of an .xlsx workbook holds that no cell shows."""
    book = archive.read("xl/workbook.xml").decode("utf-8", "replace")
    sheets = {
        html.unescape(name)
        for name in re.findall(r'<(?:\w{1,20}:)?sheet\b[^<>]*?\bname="([^"]*)"', book)
    }
    paths = set()
    for sheet in sheets:
        with suppress(KeyError):
            paths.add(_sheet_path(archive, sheet))
    if any(name not in paths for name in names if re.fullmatch(r"xl/worksheets/[^/]+\.xml", name)):
        yield "a sheet that the workbook does not list"
    constants = re.findall(r"<(?:\w{1,20}:)?definedName\b[^<>]*>([^<]*)<", book)
    if any("!" not in constant and re.search(r"\d", constant) for constant in constants):
        yield "a named value"
    shown: set[bytes] = set()
    for path in paths & set(names):
        content = archive.read(path)
        shown.update(
            re.findall(
                rb'\bt="s"[^<>]{0,300}>\s{0,99}(?:<f\b[^<>]*/>|<f\b[^<>]*>[^<]*</f>)?\s{0,99}<(?:\w{1,20}:)?v>(\d+)<',
                content,
            )
        )
        marks = [mark.start() for mark in re.finditer(rb"</?(?:\w{1,20}:)?sheetData\b", content)]
        around = content[: marks[0]] + content[marks[-1] :] if marks else content
        if re.search(
            rb"<(?:\w{1,20}:)?(?:odd|even|first)(?:Header|Footer)>[^<]*\d",
            re.sub(rb"&amp;[\"A-Z\d]", b"", around),
        ):
            yield "text in a header or a footer"
        if re.search(
            rb"<(?:\w{1,20}:)?(?:formula1|prompt)\b[^<>]*>[^<!]*\d|\b(?:prompt|error)=\"[^\"]*\d",
            around,
        ):
            yield "values in a list of allowed entries"
    if "xl/sharedStrings.xml" in names and len(
        re.findall(rb"<(?:\w{1,20}:)?si\b", archive.read("xl/sharedStrings.xml"))
    ) > len(shown):
        yield "text that no cell shows"


def _unread_in_ods(content: bytes) -> Iterator[str]:
    """What the XML of an .ods workbook holds that no cell shows."""
    for mark, description in {
        b"<office:annotation": "cell comments",
        b"<table:tracked-changes": "tracked changes",
        b"<draw:": "a drawing, a chart or a picture",
        b"<office:script": "a macro",
        b"<table:content-validation ": "values in a list of allowed entries",
    }.items():
        if mark in content.replace(b"<office:scripts/>", b""):
            yield description


def _cells(workbook: Any, name: str, what: str) -> tuple[Any, list[list[Any]], Sequence[Any]]:
    """A sheet, its rows and its merged ranges."""
    try:
        sheet = workbook.get_sheet_by_name(name)
        return sheet, sheet.to_python(skip_empty_area=True), sheet.merged_cell_ranges or []
    except (_calamine().CalamineError, OSError, ValueError):
        raise FileError(f"Cannot read {what}: it is damaged, or no sheet of cells.") from None


def _workbook(path: Path) -> tuple[Any, dict[str, bool], bool]:
    """A workbook, its sheets with whether they are visible, and whether it is a zip archive."""
    package = _calamine()
    with open(path, "rb") as handle:
        zipped = handle.read(4) == ZIP
    if zipped:
        check_archive(path)
    try:
        workbook = package.CalamineWorkbook.from_path(str(path.absolute()))
        sheets = {
            sheet.name: sheet.visible == package.SheetVisibleEnum.Visible
            for sheet in workbook.sheets_metadata
        }
    except package.PasswordError:
        raise FileError(
            f"'{path}' is locked by a password. Save it without one, inside your own walls, and name that file."
        ) from None
    except (package.CalamineError, OSError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(
            f"Cannot read '{path}' as a workbook: it is damaged, locked, or of another Office program. Open it there, and save it as .xlsx or .csv."
        ) from None
    return workbook, sheets, zipped


def _open(path: Path, options: ReadOptions) -> Source:
    workbook, sheets, zipped = _workbook(path)
    shown = [name for name, visible in sheets.items() if visible]
    if options.table is None:
        name = chosen_table(
            path,
            None,
            [each for each in shown if _is_filled(path, workbook, each, zipped)] or shown,
            "sheet",
        )
    else:
        name = chosen_table(path, options.table, list(sheets), "sheet")
    look = _looked_at(path, name) if zipped else None
    what = f"'{path}::{name}'"
    if look is not None:
        look.check(what)
    sheet, rows, merged = _cells(workbook, name, what)
    notes = [] if look is None else look.notes(what)
    if zipped and look is None:
        errors, rows_merged = _ods_look(path, name)
        merged = merged or [((row, 0), (row, 1)) for row in rows_merged]
        if errors:
            notes.append(
                Note(
                    "", "errors", "The workbook has cells with an error: they are read as missing."
                )
            )
    if hidden := [each for each in sheets if each not in shown and each != name]:
        notes.append(
            Note(
                "",
                "sheets",
                f"The workbook has hidden sheets, which are not read: {join_names(hidden)}.",
            )
        )
    if options.table is None and len(sheets) > 1:
        notes.append(Note("", "sheets", f"The sheet '{name}' is read."))
    return _sheet_source(str(path), name, rows, merged, sheet.start or (0, 0), options, notes)


def _is_filled(path: Path, workbook: Any, name: str, zipped: bool) -> bool:
    """Whether a sheet has a cell with something in it."""
    look = _looked_at(path, name) if zipped else None
    if look is not None:
        return look.n_cells > 0
    try:
        return workbook.get_sheet_by_name(name).start is not None
    except (_calamine().CalamineError, OSError, ValueError):
        return False  # a sheet of charts


@dataclass(frozen=True)
class _SheetLook:
    """Facts on the cells of a sheet that the reader would lose: errors, formulas without values,
    and the extent.
    """

    n_cells: int
    rows: int
    columns: int
    errors: tuple[str, ...]
    unstored: bool

    def check(self, what: str) -> None:
        if self.unstored:
            raise InputError(
                f"{what} has formulas whose values are not stored with them. Open it in a spreadsheet program, save it, and read that: values are "
                "then stored."
            )
        if self.rows * self.columns > MOST_CELLS:
            raise InputError(
                f"{what} has cells far from its table: {self.rows:,} rows and {self.columns:,} columns in all. Clear what is beside the table."
            )

    def notes(self, what: str) -> list[Note]:
        if not self.errors:
            return []
        return [
            Note(
                "",
                "errors",
                f"Cells with an error are read as missing (columns {join_names(list(self.errors))} of the sheet).",
            )
        ]


def _looked_at(path: Path, name: str) -> _SheetLook | None:
    """Return what a sheet of an .xlsx file says; None for other workbooks."""
    with zipfile.ZipFile(path) as archive:
        try:
            content = archive.read(_sheet_path(archive, name))
        except KeyError:
            return None
    return _look(content)


def _ods_look(path: Path, name: str) -> tuple[bool, list[int]]:
    """Return whether a workbook of LibreOffice has cells of errors, and which rows of a sheet have
    cells that belong to a merged one.
    """
    with zipfile.ZipFile(path) as archive:
        if "content.xml" not in archive.namelist():
            return False, []  # a binary workbook (.xlsb)
        content = archive.read("content.xml")
    merged, row = [], 0
    for table in re.findall(rb"<table:table\b.*?</table:table>", content, re.DOTALL):
        named = re.search(rb'table:name="([^"]*)"', table)
        if named is None or html.unescape(named[1].decode("utf-8", "replace")) != name:
            continue
        for piece in table.split(b"<table:table-row")[1:]:
            repeated = re.match(rb'[^>]*number-rows-repeated="([0-9]{1,7})"', piece)
            if b"<table:covered-table-cell" in piece:
                merged.append(row)
            row += int(repeated[1]) if repeated else 1
    return b'value-type="error"' in content, merged


def _look(content: bytes) -> _SheetLook:
    n_cells, rows, columns, unstored = 0, 0, 0, False
    errors: dict[str, None] = {}
    opened: re.Match[bytes] | None = None
    for match in _CELL.finditer(content):
        if match[1] is not None:
            opened = None if match[1].endswith(b"/") else match
            continue
        if opened is None:
            continue
        attributes, inside = opened[1], content[opened.end() : match.start()]
        opened = None
        reference = _PLACE.search(attributes)
        kind = _TYPE.search(attributes)
        if not inside:
            continue
        if reference is not None:
            n_cells += 1
            rows, columns = max(rows, int(reference[2])), max(columns, _number_of(reference[1]))
        if kind is not None and kind[1] == b"e":
            errors[reference[1].decode() if reference is not None else "?"] = None
        elif (
            _FORMULA.search(inside)
            and not _VALUE.search(inside)
            and (kind is None or kind[1] != b"str")
        ):
            unstored = True
    return _SheetLook(n_cells, rows, columns, tuple(errors), unstored)


def _number_of(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number


def _sheet_path(archive: zipfile.ZipFile, name: str) -> str:
    """Return the path of a sheet in an .xlsx archive; KeyError if unknown."""
    book = archive.read("xl/workbook.xml").decode("utf-8", "replace")
    relations = archive.read("xl/_rels/workbook.xml.rels").decode("utf-8", "replace")
    for sheet in _SHEET.findall(book):
        named, key = re.search(r'\bname="([^"]*)"', sheet), re.search(r'\b\w+:id="([^"]*)"', sheet)
        if named is None or key is None or html.unescape(named[1]) != name:
            continue
        for relation in re.findall(r"<(?:\w{1,20}:)?Relationship\b[^<>]*>", relations):
            if re.search(rf'\bId="{re.escape(key[1])}"', relation) and (
                target := re.search(r'\bTarget="([^"]*)"', relation)
            ):
                path = html.unescape(target[1])
                return path.lstrip("/") if path.startswith("/") else f"xl/{path}"
    raise KeyError(name)


def _sheet_source(
    path: str,
    sheet: str,
    rows: list[list[Any]],
    merged: Sequence[Any],
    start: tuple[int, int],
    options: ReadOptions,
    notes: list[Note],
) -> Source:
    """Return the table in the rows of a sheet: under its names, without columns and rows that are
    empty.
    """
    what = f"'{path}::{sheet}'"
    top = [spelled_column(row).to_pylist() for row in rows[:LOOKED_AT]]
    if not top:
        raise FileError(f"{what} is empty. A table needs column names and rows.")
    header = options.header
    header = max(header - start[0], 1) if isinstance(header, int) else header
    names = find_names(top, header, what, above=start[0])
    if any(end[0] >= start[0] + names.skip and end != begin for begin, end in merged):
        raise InputError(
            f"{what} has merged cells among its records: only the first of each would be read. Unmerge them in the spreadsheet program, fill in what "
            "they stand for, and save it."
        )
    body = rows[names.skip :]
    empty = [not any(cell != "" for cell in row) for row in body]
    if any(empty[: len(empty) - _ending(empty)]):
        notes.append(Note("", "rows", "Rows without anything in them are left out."))
    body = [row for row, nothing in zip(body, empty, strict=True) if not nothing]
    columns, unnamed, mixed = _sheet_columns(body, names, top)
    name_notes = [
        note
        for note in names.notes
        if not (
            unnamed and note.what == "names" and all(f"{name}" in str(note) for name in unnamed)
        )
    ]
    if unnamed:
        notes.append(
            Note("", "columns", "Columns without a name and without anything in them are left out.")
        )
    if mixed:
        notes.append(
            Note(
                "",
                "numbers",
                f"Some numbers are stored as text, and read as numbers where the column has nothing else: {join_names(mixed)}.",
            )
        )
    line = 1 + start[0] + (names.skip if names.row is None else names.row)
    layout = FileLayout(
        "workbook",
        sheet,
        header=names.row is not None,
        line=line,
        units=bool(names.units),
        inferred=names.inferred,
    )
    units = {
        name: Labels(title=unit.strip())
        for name, unit in zip(names.names, names.units, strict=False)
        if unit.strip()
    }
    return spelled_source(f"{path}::{sheet}", columns, layout, [*notes, *name_notes], units)


def _sheet_columns(
    body: list[list[Any]], names: Names, top: list[list[Any]]
) -> tuple[dict[str, Any], list[str], list[str]]:
    """Return columns by name, the names of those left out since they have neither a name nor a
    value, and the names of those where some numbers are stored as text.
    """
    columns, unnamed, mixed = dict[str, Any](), list[str](), list[str]()
    blank = set(names.names) - ({*top[names.row]} if names.row is not None else set())
    for index, name in enumerate(names.names):
        cells = [row[index] for row in body]
        if not any(cell != "" for cell in cells) and (name in blank or names.row is None):
            unnamed.append(name)
            continue
        columns[name] = spelled_column(cells)
        if any(
            isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells
        ) and any(isinstance(cell, str) and _NUMBER.fullmatch(cell) for cell in cells):
            mixed.append(name)
    return columns, unnamed, mixed


def _ending(empty: Sequence[bool]) -> int:
    """How many rows at the end are empty."""
    return next((i for i, nothing in enumerate(reversed(empty)) if not nothing), len(empty))


FORMATS.register(
    Format(
        "xlsx",
        "a sheet of Excel (.xlsx, .xls)",
        (".xlsx",),
        recognise=lambda head, name: head.startswith(ZIP) and b"\nxl/workbook." in head,
        open=_open,
        writer=write_workbook,
        extra="excel",
        read_endings=(".xlsm", ".xlsb"),
        tables=True,
        files="a workbook of Excel",
        written_as=".xlsx",
    )
)
FORMATS.register(
    Format(
        "xls",
        recognise=lambda head, name: head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
        read_endings=(".xls",),
        open=_open,
        extra="excel",
        tables=True,
        files="a workbook of old Excel (.xls)",
        written_as=".xlsx",
    )
)
FORMATS.register(
    Format(
        "ods",
        "a sheet of LibreOffice (.ods)",
        recognise=lambda head, name: (
            b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet" in head[:200]
        ),
        read_endings=(".ods",),
        open=_open,
        extra="excel",
        tables=True,
        files="a workbook of LibreOffice",
        written_as=".xlsx",
    )
)
