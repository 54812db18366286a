"""Tables of a sheet or a CSV file as they are: crosstabs, long tables of counts, summaries by groups, `describe()`, tables of SPSS."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import accumulate

from .coefficient_grid import coefficient_matches, is_coefficients
from .grids import CellGrid, blocks_of
from .numbers import is_number, is_remark, is_withheld_mark
from .parsed import STATISTICS
from .printed_grid import TOTALS, PrintedGrid, parse_described, parse_grid
from .protocol import LineError, Match, unreadable_match
from .survival_grid import is_survival_table, parse_survival
from .variance_grid import is_variance_table, parse_variance


def grid_matches(grid: CellGrid, program: str = "table") -> list[Match]:
    """Return a match for each table of a sheet; text without numbers is no table."""
    return [
        match
        for block in blocks_of(grid)
        if _has_numbers(block)
        for match in (coefficient_matches if is_coefficients(block) else _matches)(block, program)
    ]


def remarks_of(grid: CellGrid) -> list[int]:
    """Return the lines beside the tables of a sheet that say something in numbers: titles, notes, text."""
    tables = {line for block in blocks_of(grid) if _has_numbers(block) for line in block.lines}
    return [
        line
        for row, line in zip(grid.rows, grid.lines, strict=True)
        if line not in tables and any(map(is_remark, row))
    ]


def _has_numbers(block: CellGrid) -> bool:
    return any(is_number(cell) for row in block.rows for cell in row)


def _matches(block: CellGrid, program: str) -> list[Match]:
    lines = range(block.lines[0], block.lines[-1] + 1)
    # What SPSS calls frequencies has Frequency, Percent, Valid Percent, Cumulative Percent over its columns.
    heads = ({cell.lower() for cell in row} for row in block.rows[:2])
    if any(re.search(r"Crosstabulation$|^Statistics$", title) for title in block.titles) or any(
        {"frequency", "percent", "cumulative percent"} <= head for head in heads
    ):
        program = "SPSS"
    try:
        grid = _printed_grid(block)
    except LineError as fault:
        return [unreadable_match(lines, program, fault)]
    names = [row.lower() for row in grid.rows]
    if names and all(name in STATISTICS for name in names) and len(grid.row_names) == 1:
        described = (partial(parse_described, grid, k) for k in range(len(grid.columns)))
        return [Match(lines, program, parse) for parse in described]
    forms = (
        (is_variance_table, parse_variance),
        (is_survival_table, parse_survival),
    )
    parse = next((parse for is_form, parse in forms if is_form(grid)), parse_grid)
    return [Match(lines, program, partial(parse, grid))]


def _printed_grid(block: CellGrid) -> PrintedGrid:
    """A table with its names, labels and cells apart."""
    if len(block.rows) < 2 or block.width < 2:
        raise LineError(block.lines[0], "a table needs a header, labels and numbers.")
    row_name, column_name, head, first = _header(block)
    body = block.rows[first:]
    width = _label_width(head, body)
    _check_cells(block, first, width, head)
    names: tuple[str | None, ...] = tuple(name or None for name in head[:width])
    # As SPSS has it: the variable's name is beside its first label, and only totals stand below it.
    below = all(not row[0] or row[0].lower() in (*TOTALS, "missing") for row in body[1:])
    if width == 2 and not head[0] and body[0][0] and below:
        labels: list[tuple[str, ...]] = [(row[1] or row[0],) for row in body]
        variable = body[0][0]
        names = (row_name or (variable if variable.lower() != "valid" else None),)
    else:
        labels = _filled_labels(body, width)
        names = (row_name or names[0], *names[1:])
    cells = tuple(row[width:] for row in body)
    return PrintedGrid(names, column_name, tuple(labels), tuple(head[width:]), cells, block.titles)


def _check_cells(block: CellGrid, first: int, width: int, head: Sequence[str]) -> None:
    """Raise for numbers in merged cells, and for columns of numbers without a name."""
    merged = {(row, column) for row, column in block.filled if row >= first}
    if any(column >= width or is_number(block.rows[row][column]) for row, column in merged):
        raise LineError(
            block.lines[min(row for row, _ in merged)],
            "numbers stand in merged cells. Unmerge them, and fill in what they stand for.",
        )
    if not all(head[width:]):
        raise LineError(
            block.lines[first - 1], "a column has no name. Name it, or unmerge its header."
        )


def _filled_labels(body: Sequence[Sequence[str]], width: int) -> list[tuple[str, ...]]:
    """The labels of each row; an empty one is that above it."""
    rows = (tuple(row[:width]) for row in body)
    return [*accumulate(rows, lambda above, row: tuple(map(_or_above, row, above)))]


def _or_above(cell: str, above: str) -> str:
    return cell or above


def _header(block: CellGrid) -> tuple[str | None, str | None, Sequence[str], int]:
    """The name of the rows, the name of the columns, the line of names and labels, and how many lines these are."""
    rows = block.rows
    over = _over(rows)
    if over is not None:  # the columns' name over their labels
        above = ("" if cell == over else cell for cell in rows[0])
        return None, over, [label or name for label, name in zip(rows[1], above, strict=True)], 2
    is_alone = [bool(row[0]) and not any(row[1:]) for row in rows[:3]]
    if (
        len(rows) > 2 and is_alone[1] and any(rows[2][1:])
    ):  # pandas: the index has a line of its own
        return rows[1][0], rows[0][0] or None, ["", *rows[0][1:]], 2
    # Two levels of columns, then the index.
    if len(rows) > 3 and not rows[0][0] and not rows[1][0] and is_alone[2]:
        names = set(rows[0]) - {""}
        if len(names) != 1:
            raise LineError(
                block.lines[0], "the columns have two levels of names: write the table with one."
            )
        return rows[2][0], names.pop(), rows[1], 3
    return None, None, rows[0], 1


def _over(rows: Sequence[Sequence[str]]) -> str | None:
    """What stands alone over the labels of columns, totals apart."""
    first, second = rows[0], rows[1]
    heads = [cell for cell in first[1:] if cell and cell.lower() not in TOTALS]
    if len(heads) != 1 or is_number(heads[0]) or len(rows) < 3 or all(first[1:]):
        return None
    has_labels = sum(map(bool, second)) >= 2 and not (first[0] and second[0])
    return heads[0] if has_labels else None


def _label_width(head: Sequence[str], body: Sequence[Sequence[str]]) -> int:
    """How many columns hold labels, from the left: the first, and those that are no numbers throughout."""
    width = 1
    while width < len(head) - 1 and any(
        row[width] and not is_number(row[width]) and not is_withheld_mark(row[width])
        for row in body
    ):
        width += 1
    return 2 if width == 1 and len(head) > 2 and not head[0] and not head[1] else width
