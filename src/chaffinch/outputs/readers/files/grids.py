"""Rows and columns of text from CSV, workbooks, HTML and tables drawn in text; and the tables that stand in one sheet."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path

from .found import LineError
from .numbers import is_number, plain_text

__all__ = ["CellGrid", "HtmlPage", "blocks_of", "csv_grid", "html_page", "text_grid", "workbook_grids"]

_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class CellGrid:
    """Cells as text, row by row, with the line of each row; all rows are of one width. `titles` are lines that stand above alone.

    `filled`: cells that belong to a merged one, as (row, column), and hold nothing themselves. `hidden`: whether the sheet does not show.
    """

    rows: tuple[tuple[str, ...], ...] = field(repr=False)
    lines: tuple[int, ...]
    sheet: str | None = None
    titles: tuple[str, ...] = ()
    filled: frozenset[tuple[int, int]] = frozenset()
    hidden: bool = False

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.rows[0]) if self.rows else 0


def _grid(
    rows: Sequence[Sequence[str]],
    lines: Sequence[int],
    sheet: str | None = None,
    filled: frozenset[tuple[int, int]] = frozenset(),
) -> CellGrid:
    width = max(map(len, rows), default=0)
    even = tuple((*(plain_text(cell) for cell in row), *[""] * (width - len(row))) for row in rows)
    return CellGrid(even, tuple(lines), sheet, filled=filled)


def csv_grid(text: str) -> CellGrid:
    """Return the rows of a text with delimiters: commas, semicolons, tabs or bars, by which most lines have the same number of cells."""
    lines = text.splitlines()
    best, most = ",", -1.0
    for sign in _DELIMITERS:
        counts = [len(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter=sign) if row]
        several = [count for count in counts if count > 1]
        score = (len(several) / max(len(counts), 1)) * (
            several.count(max(set(several), key=several.count)) / len(several) if several else 0.0
        )
        if score > most + 1e-9:
            best, most = sign, score
    rows, numbers = [], []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=best, strict=True)
    begun = 1
    try:
        for row in reader:
            rows.append([re.sub(r'^="?(.*?)"?$', r"\1", cell) if cell.startswith("=") else cell for cell in row])
            numbers.append(begun)
            begun = reader.line_num + 1
    except csv.Error:
        raise LineError(min(begun, len(lines)), "quotes are not closed: the file is cut, or it is no CSV.") from None
    return _grid(rows, numbers)


def workbook_grids(path: Path) -> list[CellGrid]:
    """Return all sheets of a workbook that have something in them, hidden ones too."""
    from ....table.formats.workbook import sheets_of

    grids = []
    for sheet in sheets_of(path):
        filled = frozenset(
            (row, column)
            for begin, end in sheet.merged
            for row in range(begin[0], end[0] + 1)
            for column in range(begin[1], end[1] + 1)
            if (row, column) != tuple(begin)
        )
        grid = _grid(sheet.rows, range(sheet.first, sheet.first + len(sheet.rows)), sheet.name, filled)
        grids.append(replace(grid, hidden=not sheet.visible))
    return grids


class _TableParser(HTMLParser):
    """The cells of all tables of a page, with the lines of their rows; a cell over several columns stands in the first. Text outside them, too."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[tuple[list[list[str]], list[int]]] = []
        self.cell: list[str] | None = None
        self.span = 1
        self.outside: list[tuple[int, str]] = []
        self.silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append(([], []))
        elif tag in ("style", "script"):
            self.silent += 1
        elif tag == "tr" and self.tables:
            self.tables[-1][0].append([])
            self.tables[-1][1].append(self.getpos()[0])
        elif tag in ("td", "th") and self.tables and self.tables[-1][0]:
            self.cell = []
            span = dict(attrs).get("colspan") or "1"
            self.span = min(int(span), 100) if span.isdecimal() else 1
        elif tag == "br" and self.cell is not None:
            self.cell.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self.cell is not None:
            self.tables[-1][0][-1] += ["".join(self.cell).strip(), *[""] * (self.span - 1)]
            self.cell = None
        elif tag in ("style", "script"):
            self.silent = max(self.silent - 1, 0)

    def handle_data(self, data: str) -> None:
        if self.cell is not None:
            self.cell.append(data)
        elif not self.silent and data.strip():
            self.outside.append((self.getpos()[0], data.strip()))


@dataclass(frozen=True)
class HtmlPage:
    """The tables of a page, and the text outside them with its lines."""

    grids: tuple[CellGrid, ...]
    text: tuple[tuple[int, str], ...] = ()


def html_page(text: str) -> HtmlPage:
    """Return what a page holds."""
    parser = _TableParser()
    parser.feed(text)
    return HtmlPage(tuple(_grid(rows, lines) for rows, lines in parser.tables if rows), tuple(parser.outside))


def text_grid(lines: Sequence[str], first: int) -> CellGrid:
    """Return a table drawn in text: columns are apart by two blanks or more that stand in all its lines.

    Examples
    --------
    >>> text_grid(["        Model 1   Model 2", "age     0.1 ***   0.2", "work              0.3 *"], 1).rows[2]
    ('work', '', '0.3 *')
    """
    kept = [
        (number, line.expandtabs())
        for number, line in enumerate(lines, first)
        if line.strip() and not re.fullmatch(r"[-=\s_]+", line.strip())
    ]
    width = max((len(line) for _, line in kept), default=0)
    used = [any(place < len(line) and line[place] != " " for _, line in kept) for place in range(width)]
    ends: list[tuple[int, int]] = []
    for place in (place for place, taken in enumerate(used) if taken):
        if ends and place - ends[-1][1] <= 1:
            ends[-1] = (ends[-1][0], place + 1)
        else:
            ends.append((place, place + 1))
    rows = [[line[begin:end].strip() for begin, end in ends] for _, line in kept]
    return _grid(rows, [number for number, _ in kept])


def _empty(row: Sequence[str]) -> bool:
    return not any(row)


def _alone(row: Sequence[str]) -> bool:
    return sum(map(bool, row)) == 1


def blocks_of(grid: CellGrid) -> list[CellGrid]:
    """Return the tables of a sheet: apart by empty rows, or by empty columns; lines of one cell above a table are its titles, below it notes."""
    blocks: list[CellGrid] = []
    titles: list[str] = []
    start = 0
    rows = grid.rows
    while start < len(rows):
        if _empty(rows[start]):
            start += 1
            continue
        stop = start
        while stop < len(rows) and not _empty(rows[stop]):
            stop += 1
        for part in _beside(grid, start, stop):
            while part.rows and _alone(part.rows[0]) and part.rows[0][0] and not _one_column(part):
                titles.append(part.rows[0][0])
                part = _rest(part, 1, len(part.rows))
            end = len(part.rows)
            while (
                end > 1
                and _alone(part.rows[end - 1])
                and part.rows[end - 1][0]
                and not is_number(part.rows[end - 1][0])
                and part.width > 1
            ):
                end -= 1
            notes = [row[0] for row in part.rows[end:]]
            part = _rest(part, 0, end)
            if part.rows:
                blocks.append(CellGrid(part.rows, part.lines, grid.sheet, (*titles, *notes), part.filled))
                titles = []
        start = stop
    return blocks


def _one_column(grid: CellGrid) -> bool:
    return all(_alone(row) for row in grid.rows) and any(is_number(cell) for row in grid.rows for cell in row)


def _rest(grid: CellGrid, start: int, stop: int) -> CellGrid:
    filled = frozenset((row - start, column) for row, column in grid.filled if start <= row < stop)
    return CellGrid(grid.rows[start:stop], grid.lines[start:stop], grid.sheet, grid.titles, filled)


def _beside(grid: CellGrid, start: int, stop: int) -> list[CellGrid]:
    """Tables that stand side by side in some rows, empty columns around them left out."""
    rows = grid.rows[start:stop]
    full = [any(row[k] for row in rows) for k in range(grid.width)]
    runs, k = [], 0
    while k < len(full):
        if full[k]:
            end = k
            while end < len(full) and full[end]:
                end += 1
            runs.append((k, end))
            k = end
        else:
            k += 1
    if len(runs) > 1 and any(end - begin < 2 for begin, end in runs):
        runs = [(runs[0][0], runs[-1][1])]
    parts = []
    for begin, end in runs:
        filled = frozenset(
            (row - start, column - begin)
            for row, column in grid.filled
            if start <= row < stop and begin <= column < end
        )
        own = [(row[begin:end], line) for row, line in zip(rows, grid.lines[start:stop], strict=True)]
        while own and _empty(own[0][0]):
            own, filled = own[1:], frozenset((row - 1, column) for row, column in filled)
        while own and _empty(own[-1][0]):
            own = own[:-1]
        parts.append(CellGrid(tuple(row for row, _ in own), tuple(line for _, line in own), grid.sheet, (), filled))
    return parts
