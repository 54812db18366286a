"""Rows and columns of text from CSV, workbooks, HTML and tables drawn in text; and the tables that stand in one sheet."""

from __future__ import annotations

import csv
import html
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from itertools import groupby, takewhile
from operator import itemgetter, or_
from pathlib import Path

from ...._base.errors import InputError
from .numbers import PrintedText, is_number, plain_text
from .protocol import LineError

_DELIMITERS = ",;\t|"
MOST_CELLS = 500_000
"""Cells of a file, empty ones between its first and last among them: more are no output, and would fill a memory."""
MOST_TABLES = 1_000
"""Tables of a sheet, apart by empty rows or columns."""


@dataclass(frozen=True)
class CellGrid:
    """Cells as text, row by row, each with where it stands; all rows are of one width. `titles` are lines that stand above alone.

    `filled`: cells that belong to a merged one, as (row, column), and hold nothing themselves. `hidden`: whether the sheet does not show.
    """

    rows: tuple[tuple[PrintedText, ...], ...] = field(repr=False)
    sheet: str | None = None
    titles: tuple[str, ...] = ()
    filled: frozenset[tuple[int, int]] = frozenset()
    hidden: bool = False

    @property
    def lines(self) -> tuple[int, ...]:
        """The line of each row."""
        return tuple(row[0].position.line for row in self.rows if row)

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.rows[0]) if self.rows else 0


def _grid(
    rows: Sequence[Sequence[str]],
    lines: Sequence[int],
    sheet: str | None = None,
    filled: frozenset[tuple[int, int]] = frozenset(),
    columns: Sequence[int] = (),
) -> CellGrid:
    """Rows of any width as cells; `columns` are where each column begins, where that is not its number."""
    width = max(map(len, rows), default=0)
    _check_cells(width * len(rows))
    starts = columns or range(1, width + 1)
    even = tuple(
        tuple(
            PrintedText(plain_text(cell), line, start)
            for cell, start in zip([*row, *[""] * (width - len(row))], starts, strict=True)
        )
        for row, line in zip(rows, lines, strict=True)
    )
    return CellGrid(even, sheet, filled=filled)


def _check_cells(count: int) -> None:
    if count > MOST_CELLS:
        raise InputError(
            f"it has over {MOST_CELLS:,} cells, more than an output has. Records do not leave; check tables in parts."
        )


def csv_grid(text: str) -> CellGrid:
    """Return the rows of a text with delimiters: commas, semicolons, tabs or bars, by which most lines have the same number of cells."""
    best = max(_DELIMITERS, key=lambda sign: round(_evenness(text, sign), 9))
    rows, numbers = [], []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=best, strict=True)
    begun = 1
    try:
        for row in reader:
            rows.append(
                [
                    re.sub(r'^="?(.*?)"?$', r"\1", cell) if cell.startswith("=") else cell
                    for cell in row
                ]
            )
            numbers.append(begun)
            begun = reader.line_num + 1
    except csv.Error:
        n_lines = text.count("\n") + 1
        raise LineError(
            min(begun, n_lines), "quotes are not closed: the file is cut, or it is no CSV."
        ) from None
    return _grid(rows, numbers)


def _evenness(text: str, sign: str) -> float:
    """Return the share of lines that have the most common number of cells, if they are apart by a sign and have two or more; 0 where they cannot be."""
    try:
        widths = [
            len(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter=sign) if row
        ]
    except csv.Error:  # quotes that are not closed make one cell of the rest of the file
        return 0.0
    several = Counter(width for width in widths if width > 1)
    return several.most_common(1)[0][1] / len(widths) if several else 0.0


def workbook_grids(path: Path) -> list[CellGrid]:
    """Return all sheets of a workbook that have something in them, hidden ones too."""
    from ....table.formats.workbook import sheets_of

    grids = []
    for sheet in sheets_of(path, most_cells=MOST_CELLS):
        height, width = len(sheet.rows), max(map(len, sheet.rows), default=0)
        merged = [
            (begin, (min(end[0], height - 1), min(end[1], width - 1)))
            for begin, end in sheet.merged
        ]
        _check_cells(
            sum(
                max(end[0] - begin[0] + 1, 0) * max(end[1] - begin[1] + 1, 0)
                for begin, end in merged
            )
        )
        filled = frozenset(
            (row, column)
            for begin, end in merged
            for row in range(begin[0], end[0] + 1)
            for column in range(begin[1], end[1] + 1)
            if (row, column) != tuple(begin)
        )
        grid = _grid(
            sheet.rows, range(sheet.first, sheet.first + len(sheet.rows)), sheet.name, filled
        )
        grids.append(replace(grid, hidden=not sheet.visible))
    return grids


_LAYOUT = frozenset(
    (
        "align",
        "axis",
        "bgcolor",
        "border",
        "cellpadding",
        "cellspacing",
        "charset",
        "class",
        "cols",
        "colspan",
        "dir",
        "face",
        "frame",
        "halign",
        "headers",
        "height",
        "hidden",
        "id",
        "lang",
        "name",
        "nowrap",
        "rel",
        "role",
        "rows",
        "rowspan",
        "rules",
        "scope",
        "size",
        "span",
        "style",
        "summary",
        "type",
        "valign",
        "width",
        "xmlns",
        "http-equiv",
    )
)
"""Attributes that say how a page looks, not what it says: their values are looked at by their form."""
_MARKUP = re.compile(
    r"(#[0-9a-f]{3,8}|[a-z_-]*\d{1,4}(\.\d+)?(px|em|ex|rem|pt|pc|cm|mm|in|vw|vh|%|deg|s|ms)?|utf-?\d+|iso-8859-\d+|windows-125\d"
    r"|#?T_[0-9a-f]{1,40}(_[a-z_]+\d{1,4}|_[a-z_]+){0,4})",
    re.IGNORECASE,
)
"""What holds digits in the layout of pages: colours, lengths, short numbers, encodings, the names that pandas gives to styled cells."""


_META = re.compile(
    r"(?i)charset=\S+|width=device-width|[a-z-]+=\d(\.\d)?\b|IE=\w+|\b\d{1,3}(\.\d{1,4})+\b"
)
"""What holds digits in the head of a page: its encoding, its scale, the version of the program that wrote it."""


def _is_layout(value: str) -> bool:
    """Return whether an attribute or a style sheet holds no digits but those of colours, lengths and short names.

    Examples
    --------
    >>> [_is_layout(value) for value in ("width: 12.5px; color: #1a2b3c", "row3 col_heading", "--income: 987654321", "p-19870412")]
    [True, True, False, False]
    """
    if re.search(r"(?i)url\(|content\s*:|--\w+\s*:|/\*", value):
        return not re.search(r"\d", value)
    tokens = re.split(r"[\s:;,{}.>!()]+", re.sub(r"(?i)\brgba?\([\d., %]{1,40}\)", "", value))
    return all(_MARKUP.fullmatch(word) for word in tokens if re.search(r"\d", word))


class _TableParser(HTMLParser):
    """The cells of all tables of a page, with the lines of their rows; a cell over several columns stands in the first. Text outside them, too.

    `unshown` has the lines of scripts, comments and attributes that a reader of the page does not see, or that hold what no table does.
    """

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[tuple[list[list[str]], list[int]]] = []
        self.cell: list[str] | None = None
        self.span = 1
        self.outside: list[tuple[int, str]] = []
        self.unshown: list[tuple[int, str]] = []
        self.inside: str | None = None
        self.n_cells = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._look_at(tag, attrs)
        if tag == "table":
            self.tables.append(([], []))
        elif tag in ("style", "script"):
            self.inside = tag
        elif tag == "tr" and self.tables:
            self.tables[-1][0].append([])
            self.tables[-1][1].append(self.getpos()[0])
        elif tag in ("td", "th") and self.tables and self.tables[-1][0]:
            self.cell = []
            span = dict(attrs).get("colspan") or "1"
            self.span = min(int(span), 100) if span.isdecimal() and len(span) < 9 else 1
            self.n_cells += self.span
            _check_cells(self.n_cells)
        elif tag == "br" and self.cell is not None:
            self.cell.append(" ")

    def _look_at(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note attributes that may hold values, and elements that show another document."""
        named = [(name, value or "") for name, value in attrs]
        if any(name in ("src", "srcdoc", "data") for name, _ in named) or tag in (
            "object",
            "embed",
            "iframe",
            "canvas",
        ):
            self.unshown.append(
                (self.getpos()[0], "a script, a picture or a document within the page")
            )
        for name, value in named:
            if (tag, name) == ("meta", "content"):
                value = _META.sub("", value)
                looked_at = not re.search(r"\d", value)
            else:
                looked_at = not re.search(r"\d", f"{name}{value}") or (
                    name in _LAYOUT and _is_layout(value)
                )
            if not looked_at:
                self.unshown.append((self.getpos()[0], "values in attributes"))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self.cell is not None:
            self.tables[-1][0][-1] += ["".join(self.cell).strip(), *[""] * (self.span - 1)]
            self.cell = None
        elif tag in ("style", "script"):
            self.inside = None

    def handle_data(self, data: str) -> None:
        if self.inside is not None:
            if not _is_layout(data) if self.inside == "style" else re.search(r"\d", data):
                self.unshown.append(
                    (
                        self.getpos()[0],
                        f"values in a {'style sheet' if self.inside == 'style' else 'script'}",
                    )
                )
        elif self.cell is not None:
            self.cell.append(data)
        elif data.strip():
            self.outside.append((self.getpos()[0], data.strip()))

    def handle_comment(self, data: str) -> None:
        if re.search(r"\d", data):
            self.unshown.append((self.getpos()[0], "values in a comment"))

    def handle_pi(self, data: str) -> None:
        if re.search(r"\d", re.sub(r'version="[\d.]+"|encoding="[\w-]+"', "", data)):
            self.unshown.append((self.getpos()[0], "values in a comment"))

    def unknown_decl(self, data: str) -> None:
        self.handle_comment(data)


@dataclass(frozen=True)
class HtmlPage:
    """The tables of a page, the text outside them with its lines, and what it holds that is not looked at, with its lines."""

    grids: tuple[CellGrid, ...]
    text: tuple[tuple[int, str], ...] = ()
    unshown: tuple[tuple[int, str], ...] = ()


def html_page(text: str) -> HtmlPage:
    """Return what a page holds."""
    parser = _TableParser()
    parser.feed(
        text
    )  # no close(): it would look for the end of each mark that has none, over and over
    if "<" in parser.rawdata:
        parser.unshown.append((parser.getpos()[0], "what follows a mark that is not closed"))
    elif parser.rawdata.strip():
        parser.outside.append((parser.getpos()[0], html.unescape(parser.rawdata).strip()))
    if parser.cell is not None:  # a page that ends within a cell: what stands there is text
        parser.outside.append((parser.getpos()[0], "".join(parser.cell).strip()))
    grids = tuple(_grid(rows, lines) for rows, lines in parser.tables if rows)
    return HtmlPage(grids, tuple(parser.outside), tuple(parser.unshown))


def text_grid(lines: Sequence[str], first: int) -> CellGrid:
    """Return a table drawn in text: columns are apart by two blanks or more that stand in all its lines.

    Examples
    --------
    >>> text_grid(["        Model 1   Model 2", "age     0.1 ***   0.2", "work              0.3 *"], 1).rows[2]
    ('work', '', '0.3 *')
    """
    rows_of_text = [
        (number, line.expandtabs())
        for number, line in enumerate(lines, first)
        if line.strip() and not re.fullmatch(r"[-=\s_]+", line.strip())
    ]
    width = max((len(line) for _, line in rows_of_text), default=0)
    used = [
        any(offset < len(line) and line[offset] != " " for _, line in rows_of_text)
        for offset in range(width)
    ]
    within = (any(used[k - 1 : k]) and any(used[k + 1 : k + 2]) for k in range(width))
    ends = [(run.start, run.stop) for run in _runs(map(or_, used, within))]
    rows = [[line[begin:end].strip() for begin, end in ends] for _, line in rows_of_text]
    starts = [begin + 1 for begin, _ in ends]
    return _grid(rows, [number for number, _ in rows_of_text], columns=starts)


def _alone(row: Sequence[str]) -> bool:
    return sum(map(bool, row)) == 1


def _runs(marks: Iterable[bool]) -> list[range]:
    """The runs of marks that are set.

    Examples
    --------
    >>> _runs([True, False, True, True])
    [range(0, 1), range(2, 4)]
    """
    grouped = ([*run] for is_set, run in groupby(enumerate(marks), itemgetter(1)) if is_set)
    return [range(run[0][0], run[-1][0] + 1) for run in grouped]


def blocks_of(grid: CellGrid) -> list[CellGrid]:
    """Return the tables of a sheet: apart by empty rows, or by empty columns; lines of one cell above a table are its titles, below it notes."""
    blocks: list[CellGrid] = []
    titles: list[str] = []
    for run in _runs(any(row) for row in grid.rows):
        for table in _adjacent_tables(grid, run.start, run.stop):
            first = _titles(table)
            end = len(table.rows) - _notes(table, first)
            titles += [row[0] for row in table.rows[:first]]
            notes = [row[0] for row in table.rows[end:]]
            body = _rest(table, first, end)
            if body.rows:
                blocks.append(replace(body, titles=(*titles, *notes)))
                titles = []
            if len(blocks) > MOST_TABLES:
                raise InputError(
                    f"it has over {MOST_TABLES:,} tables on a sheet, more than an output has. Check it in parts."
                )
    return blocks


def _titles(grid: CellGrid) -> int:
    """How many rows at the top hold a title: one cell, the first, and not a column of numbers under it."""
    alone = [_alone(row) for row in grid.rows]
    # The first row from which on each has one cell.
    column_from = len(alone) - sum(1 for _ in takewhile(bool, reversed(alone)))
    last_number = max(
        (k for k, row in enumerate(grid.rows) if any(map(is_number, row))), default=-1
    )
    is_title = (
        alone[k] and bool(row[0]) and not column_from <= k <= last_number
        for k, row in enumerate(grid.rows)
    )
    return sum(1 for _ in takewhile(bool, is_title))


def _notes(grid: CellGrid, first: int) -> int:
    """How many rows at the bottom hold a note: one cell, the first, and no number; one row below the titles is none."""
    below = grid.rows[first + 1 :] if grid.width > 1 else ()
    is_note = (_alone(row) and bool(row[0]) and not is_number(row[0]) for row in reversed(below))
    return sum(1 for _ in takewhile(bool, is_note))


def _rest(grid: CellGrid, start: int, stop: int) -> CellGrid:
    filled = frozenset((row - start, column) for row, column in grid.filled if start <= row < stop)
    return replace(grid, rows=grid.rows[start:stop], filled=filled)


def _adjacent_tables(grid: CellGrid, start: int, stop: int) -> list[CellGrid]:
    """Tables that stand side by side in some rows, empty columns around them left out."""
    rows = grid.rows[start:stop]
    columns_used = _runs(any(row[k] for row in rows) for k in range(grid.width))
    runs = [(run.start, run.stop) for run in columns_used]
    if len(runs) > 1 and any(end - begin < 2 for begin, end in runs):
        runs = [(runs[0][0], runs[-1][1])]
    tables = []
    for begin, end in runs:
        filled = frozenset(
            (row - start, column - begin)
            for row, column in grid.filled
            if start <= row < stop and begin <= column < end
        )
        columns = tuple(row[begin:end] for row in rows)
        shown = [k for k, row in enumerate(columns) if any(row)]
        table = CellGrid(columns, grid.sheet, (), filled)
        tables.append(_rest(table, shown[0], shown[-1] + 1))
    return tables
