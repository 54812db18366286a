"""Tables as R prints them: `table()`, `xtabs()`, `addmargins()`, `prop.table()`; also counts as pandas prints them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, takewhile
from typing import Any

from ..numbers import (
    NUMBER,
    PrintedText,
    labels_over,
    line_where,
    words_in,
)
from ..parsed import UNNAMED, Cell, ParsedTable, ParsedTest
from ..printed_grid import (
    PrintedGrid,
    axis_names,
    is_correlation,
    parse_correlation,
    parse_table,
)
from ..protocol import (
    READERS,
    Annotation,
    LineError,
    Match,
    OpenQuestionError,
    TextReader,
)

_CELL = re.compile(rf"{NUMBER}|<\s?\d+|NA")
_SERIES_END = re.compile(r"(?:Name: (?P<name>.+), )?dtype: u?int\d+")
_LAYER = re.compile(r", , (?:(?P<name>.+?) = )?(?P<level>.*\S)\s*")


@dataclass(frozen=True)
class _Block:
    """A table in some lines (from 1). `either_way`: labels over counts, as R prints them, or labels beside counts, as pandas does."""

    lines: range
    grid: PrintedGrid
    program: str = "R"
    either_way: bool = False


def read_r_tables(lines: Sequence[str]) -> Iterator[Match]:
    """Give a match for each table in some lines."""
    start = 0
    while start < len(lines):
        match = _histogram(lines, start) or _layers(lines, start)
        block = (
            None
            if match
            else (
                _series(lines, start)
                or _matrix(lines, start)
                or _two_way_table(lines, start)
                or _one_way_table(lines, start)
            )
        )
        if block is not None:
            match = Match(block.lines, block.program, partial(_parse_block, block))
        if match is not None:
            yield match
        start = start + 1 if match is None else match.lines[-1]


def _parse_block(block: _Block, annotation: Annotation) -> ParsedTable | ParsedTest:
    grid = block.grid
    if is_correlation(grid):
        return parse_correlation(grid, annotation)
    if block.either_way:
        raise OpenQuestionError(
            "two lines of two numbers.",
            "Labels may stand over their counts, as R prints a table, or beside them, as pandas prints value_counts(). Write it as CSV, or describe it in a file of outputs.",
        )
    (row_name,) = grid.row_names
    if block.program != "R":
        return parse_table(grid, annotation)
    if annotation.kind is None and (
        len(grid.columns) == 1 or (not grid.columns and row_name is None)
    ):
        raise OpenQuestionError(
            "R: numbers below labels.",
            "R prints values by name, and columns of records, in this form, too. Are they counts of people?",
            {"kind": "table", "by": [row_name or "COLUMN", *(["COLUMN"] if grid.columns else [])]},
        )
    is_whole = all("." not in cell for row in grid.cells for cell in row)
    return parse_table(replace(grid, counts=is_whole or None), annotation)


def _numbers(lines: Sequence[str], k: int) -> list[PrintedText]:
    """The numbers at the end of a line."""
    last_words = reversed(words_in(lines[k], k + 1))
    return list(takewhile(_CELL.fullmatch, last_words))[::-1]


def _two_way_table(lines: Sequence[str], start: int) -> _Block | None:
    """A table of two columns that begins at a line: the name of the columns, the name of the rows with the columns' labels, then rows."""
    if start + 2 >= len(lines) or ":" in lines[start] or "|" in lines[start]:
        return None
    top, head = lines[start].rstrip("\n"), lines[start + 1].rstrip()
    if not top.startswith(" ") or len(top.split()) > 1 or not head.strip():
        return None
    named = top if top.strip() else head
    indent = len(named) - len(named.lstrip())
    # Cells are the numbers right of the labels.
    first = [word for word in _numbers(lines, start + 2) if word.position.column > indent]
    labels = labels_over(head, first, indent)
    row_name = head[:indent].strip() or None
    if labels is None or (row_name is not None and _CELL.fullmatch(row_name)):
        return None  # the number of a row: records, not a table
    cells = _rows_in_line(lines, start + 2, [word.end for word in first])
    last = start + 2 + len(cells)
    rows = [line[:indent].strip() for line in lines[start + 2 : last]]
    goes_on = last < len(lines) and bool(lines[last].strip())
    more = _two_way_table(lines, last) if goes_on else None
    if more is None and goes_on and _numbers(lines, last):  # a row that is out of line
        rows.append("")
        cells.append((PrintedText("", last + 1),) * len(first))
        last += 1
    grid = _grid((row_name, top.strip() or None), rows, labels, cells)
    if more is not None and (more.grid.rows, more.grid.column_name) == (rows, grid.column_name):
        # A wide table, folded.
        joined = (row + other for row, other in zip(cells, more.grid.cells, strict=True))
        grid = replace(grid, columns=grid.columns + more.grid.columns, cells=tuple(joined))
        last = more.lines[-1]
    return _Block(range(start + 1, last + 1), grid)


def _rows_in_line(
    lines: Sequence[str], start: int, ends: list[int]
) -> list[tuple[PrintedText, ...]]:
    """The rows from a line on whose last numbers end at some characters."""
    numbers = (_numbers(lines, k)[-len(ends) :] for k in range(start, len(lines)))
    return [
        tuple(row) for row in takewhile(lambda row: [cell.end for cell in row] == ends, numbers)
    ]


def _matrix(lines: Sequence[str], start: int) -> _Block | None:
    """Correlations as R and pandas print them: names over the columns, and a row for each."""
    names = lines[start].split() if lines[start].startswith(" ") else []
    if len(names) < 2 or start + len(names) >= len(lines):
        return None
    rows = [words_in(lines[k], k + 1) for k in range(start + 1, start + 1 + len(names))]
    if any(len(row) != 1 + len(names) for row in rows):
        return None
    labels = [str(row[0]) for row in rows]
    cells = [tuple(row[1:]) for row in rows]
    grid = _grid((None, None), labels, names, cells)
    return _Block(range(start + 1, start + 2 + len(names)), grid) if is_correlation(grid) else None


def _grid(
    names: tuple[str | None, str | None],
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[tuple[PrintedText, ...]],
    *,
    is_stated: bool = False,
) -> PrintedGrid:
    row_name, column_name = names
    labels = tuple((row,) for row in rows)
    return PrintedGrid(
        (row_name,),
        column_name,
        labels,
        tuple(columns),
        tuple(cells),
        counts=is_stated or None,
        is_stated=is_stated,
    )


def _series(lines: Sequence[str], start: int) -> _Block | None:
    """Counts as pandas prints a series, `value_counts()` first of all: its name, labels each beside a number, then the type of these."""
    end = line_where(lines, start + 1, _ends_series)
    last = _SERIES_END.fullmatch(lines[end].strip()) if start + 1 < end < len(lines) else None
    name = lines[start].strip()
    if last is None or re.search(r"\s", name):
        return None
    is_stated = (last["name"] or "").strip().lower() in ("count", "size", "n")
    row_name = name or (None if is_stated else last["name"])
    rows = [line.rstrip().rsplit(None, 1)[0].strip() for line in lines[start + 1 : end]]
    cells = [(words_in(lines[k], k + 1)[-1],) for k in range(start + 1, end)]
    grid = _grid((row_name, None), rows, (), cells, is_stated=is_stated)
    return _Block(range(start + 1, end + 2), grid, program="pandas")


def _ends_series(line: str) -> bool:
    is_row = re.fullmatch(r"\S.*\s\d+", line.rstrip()) is not None
    return not is_row or _SERIES_END.fullmatch(line.strip()) is not None


def _one_way_table(lines: Sequence[str], start: int) -> _Block | None:
    """A table of one column: its name, its labels, its counts below them, each ending at the same place."""
    if start + 2 >= len(lines):
        return None
    name, labels, counts = (line.rstrip() for line in lines[start : start + 3])
    numbers = _numbers(lines, start + 2)
    if (
        " " in name.strip()
        or ":" in name
        or name.startswith(" ")
        or len(numbers) != len(counts.split())
        or not all(re.fullmatch(r"\d+", word) for word in numbers)
    ):
        return None
    after = lines[start + 3].strip() if start + 3 < len(lines) else ""
    level_names = labels_over(labels, numbers)
    if level_names is None or len(level_names) < 2 or (after and not name):
        return None
    # R ends its lines with a blank; where an editor cut it off nothing tells the two apart.
    either_way = (
        not lines[start + 1].endswith(" ")
        and len(level_names) == 2
        and all(re.fullmatch(r"\S+\s+\d+", line) for line in (labels, counts))
    )
    grid = _grid((name or None, None), level_names, (), [(word,) for word in numbers])
    return _Block(range(start + 1, start + 4), grid, either_way=either_way)


def _histogram(lines: Sequence[str], start: int) -> Match | None:
    """What `hist()` gives back, as R prints it: its parts after their names, up to its class."""
    if lines[start].rstrip() != "$breaks":
        return None
    stop = line_where(lines, start + 1, lambda line: line.strip() == '[1] "histogram"')
    parse = partial(_parse_histogram, lines[start : stop + 1], start + 1)
    return Match(range(start + 1, min(stop + 1, len(lines)) + 1), "R", parse)


def _parse_histogram(body: Sequence[str], first: int, annotation: Annotation) -> ParsedTable:
    """A histogram whose intervals have their upper edge, as they have unless R is told otherwise."""
    parts: dict[str, list[PrintedText]] = {}
    for number, line in enumerate(body, first):
        texts = words_in(line, number)
        if line.startswith("$"):
            parts[line.strip()] = numbers = []
        elif texts and re.fullmatch(r"\[\d+\]", texts[0]):
            numbers += texts[1:]
    breaks, counts = parts.get("$breaks", []), parts.get("$counts", [])
    if len(breaks) != len(counts) + 1 or body[-1].strip() != '[1] "histogram"':
        raise LineError(first, "a histogram must have breaks and a count between each two.")
    edges = pairwise(breaks)
    labels = [f"{'(' if k else '['}{low},{high}]" for k, (low, high) in enumerate(edges)]
    column = (parts.get("$xname") or [PrintedText("")])[0].strip('"').split("$")[-1]
    grid = _grid((column or None, None), labels, (), [(count,) for count in counts], is_stated=True)
    return parse_table(grid, annotation)


def _layers(lines: Sequence[str], start: int) -> Match | None:
    """The tables of a third column's levels, one after the other."""
    if not _LAYER.fullmatch(lines[start].rstrip()):
        return None
    layers: list[tuple[str | None, str, PrintedGrid]] = []
    fault: int | None = None
    end = start
    while end < len(lines) and (layer := _LAYER.fullmatch(lines[end].rstrip())):
        head = line_where(lines, end + 1, bool)
        block = _two_way_table(lines, head)
        if block is None:
            fault, end = end + 1, min(head + 1, len(lines))
            break
        layers.append((layer["name"], layer["level"], block.grid))
        end = line_where(lines, block.lines[-1], str.strip)
    parse = partial(_parse_layers, layers, fault, start + 1)
    return Match(range(start + 1, max(end, start + 1) + 1), "R", parse)


def _parse_layers(
    layers: Sequence[tuple[str | None, str, PrintedGrid]],
    fault: int | None,
    start: int,
    annotation: Annotation,
) -> ParsedTable:
    if fault is not None:
        raise LineError(fault, "a layer of the table has no rows: the file is cut.")
    name, _, first = layers[0]
    if any((grid.rows, grid.columns) != (first.rows, first.columns) for _, _, grid in layers):
        raise LineError(
            layers[-1][2].lines[0] - 2, "the layers of the table have different rows or columns."
        )
    axes = zip((*first.row_names, first.column_name, name), UNNAMED, strict=True)
    by = axis_names([axis or unnamed for axis, unnamed in axes], annotation, start)
    cells: dict[Cell, Any] = {}
    for _, level, grid in layers:
        layer = replace(grid, row_names=("r",), column_name="c", counts=True, is_stated=True)
        plain = parse_table(layer, annotation.model_copy(update={"by": None, "totals": False}))
        if plain.percentages:
            raise OpenQuestionError("R: a table of three columns.", "Its numbers are no counts.")
        cells |= {(*key, level): cell for key, cell in plain.cells.items()}
    return ParsedTable(
        by,
        (tuple(first.rows), first.columns, tuple(level for _, level, _ in layers)),
        cells,
        threshold=annotation.threshold,
        base=annotation.base,
        where=annotation.where,
        is_stated=bool(annotation.kind),
        is_confirmed=bool(annotation.kind),
    )


READERS.register(
    TextReader("r tables", "table(), xtabs(), prop.table(), cor() and hist() in R", read_r_tables)
)
