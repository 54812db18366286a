"""Tables of a sheet or a CSV file as they are: crosstabs, long tables of counts, summaries by groups, `describe()`, tables of SPSS."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from .coefficient_grid import coefficient_pieces, is_coefficients
from .crossed import TOTALS, OpenQuestionError, PrintedGrid, parse_table
from .grids import CellGrid, blocks_of
from .numbers import is_number, is_remark, is_whole, is_withheld_mark, number_text, sign_of
from .printed import STATISTICS, ParsedSummary, ParsedTable
from .protocol import Annotation, LineError, Match, ParsedOutput, unreadable_match

COUNTS = (
    "freq",
    "freq.",
    "frequency",
    "count",
    "counts",
    "n",
    "anzahl",
    "häufigkeit",
    "fréquence",
    "effectif",
    "people",
    "persons",
    "nobs",
    "size",
)
"""What a column of counts is called, in small letters."""
PERCENTS = (
    "percent",
    "valid percent",
    "cumulative percent",
    "cum.",
    "cum",
    "%",
    "pct",
    "proportion",
    "share",
    "prozent",
)
"""What columns beside counts are called that follow from them."""


@dataclass(frozen=True)
class _Layout:
    """A table under its header: names of label columns and of the columns' variable, labels over the columns, rows of labels and cells."""

    row_names: tuple[str | None, ...]
    column_name: str | None
    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    cells: tuple[tuple[str, ...], ...] = field(repr=False)
    lines: tuple[int, ...]
    words: tuple[str, ...] = ()


def grid_pieces(grid: CellGrid, program: str = "table") -> list[Match]:
    """Return a piece for each table of a sheet; text without numbers is no table."""
    pieces: list[Match] = []
    for block in blocks_of(grid):
        if not _has_numbers(block):
            continue
        pieces += (
            coefficient_pieces(block, program)
            if is_coefficients(block)
            else _pieces(block, program)
        )
    return pieces


def remarks_of(grid: CellGrid) -> list[int]:
    """Return the lines beside the tables of a sheet that say something in numbers: titles, notes, text."""
    tables = {line for block in blocks_of(grid) if _has_numbers(block) for line in block.lines}
    beside = [
        (line, row) for row, line in zip(grid.rows, grid.lines, strict=True) if line not in tables
    ]
    return [line for line, row in beside if any(is_remark(cell) for cell in row)]


def _has_numbers(block: CellGrid) -> bool:
    return any(is_number(cell) for row in block.rows for cell in row)


def _pieces(block: CellGrid, program: str) -> list[Match]:
    lines = range(block.lines[0], block.lines[-1] + 1)
    spss = any(
        re.search(r"Crosstabulation$|^Statistics$", title) for title in block.titles
    ) or _is_frequencies(block)
    program = "SPSS" if spss else program
    try:
        layout = _laid_out(block)
    except LineError as fault:
        return [unreadable_match(lines, program, fault)]
    names = [label[-1].lower() for label in layout.labels]
    if (
        names and all(name in STATISTICS for name in names) and len(layout.row_names) == 1
    ):  # describe()
        return [
            Match(lines, program, partial(_described, layout, k))
            for k in range(len(layout.columns))
        ]
    return [Match(lines, program, partial(_facts, layout))]


def _is_frequencies(block: CellGrid) -> bool:
    """Whether a table is what SPSS calls frequencies: Frequency, Percent, Valid Percent, Cumulative Percent."""
    return any(
        {"frequency", "percent", "cumulative percent"} <= {cell.lower() for cell in row}
        for row in block.rows[:2]
    )


def _laid_out(block: CellGrid) -> _Layout:
    """The header of a table and what stands under it."""
    rows, lines = list(block.rows), list(block.lines)
    if len(rows) < 2 or block.width < 2:
        raise LineError(lines[0], "a table needs a header, labels and numbers.")
    row_name: str | None = None
    column_name: str | None = None
    head = list(rows[0])
    body_at = 1
    over = _over(rows)
    if over is not None:  # the columns' name over their labels
        column_name, head = (
            over,
            [
                label or (above if above != over else "")
                for label, above in zip(rows[1], rows[0], strict=True)
            ],
        )
        body_at = 2
    elif (
        len(rows) > 2 and rows[1][0] and not any(rows[1][1:]) and any(rows[2][1:])
    ):  # pandas: the index has a line of its own
        column_name, row_name, head, body_at = head[0] or None, rows[1][0], ["", *head[1:]], 2
    elif (
        len(rows) > 3 and not rows[0][0] and not rows[1][0] and rows[2][0] and not any(rows[2][1:])
    ):  # two levels of columns, then the index
        if len(set(rows[0][1:]) - {""}) != 1:
            raise LineError(
                lines[0], "the columns have two levels of names: write the table with one."
            )
        column_name = next(cell for cell in rows[0] if cell)
        row_name, head, body_at = rows[2][0], list(rows[1]), 3
    body, at = rows[body_at:], lines[body_at:]
    if any(row >= body_at and is_number(rows[row][column]) for row, column in block.filled) or any(
        row >= body_at and column >= _label_columns(head, body)[0] for row, column in block.filled
    ):
        row = min(row for row, _ in block.filled if row >= body_at)
        raise LineError(
            lines[row],
            "numbers stand in merged cells. Unmerge them, and fill in what they stand for.",
        )
    width, names = _label_columns(head, body)
    labels, last = list[tuple[str, ...]](), [""] * width
    named_down = (
        width == 2
        and not head[0]
        and bool(body[0][0])
        and all(not row[0] or row[0].lower() in (*TOTALS, "missing") for row in body[1:])
    )
    for cells_of in body:
        if named_down:
            labels.append((cells_of[1] or cells_of[0],))
            continue
        last = [cell or last[k] for k, cell in enumerate(cells_of[:width])]
        labels.append(tuple(last))
    if named_down:
        names = [row_name or (body[0][0] if body[0][0].lower() != "valid" else None)]
    elif row_name is not None:
        names = [row_name, *names[1:]]
    columns = head[width:]
    if not all(columns):
        raise LineError(lines[body_at - 1], "a column has no name. Name it, or unmerge its header.")
    cells = tuple(tuple(row[width:]) for row in body)
    return _Layout(
        tuple(names), column_name, tuple(columns), tuple(labels), cells, tuple(at), block.titles
    )


def _over(rows: Sequence[Sequence[str]]) -> str | None:
    """What stands alone over the labels of columns, totals apart."""
    words = [cell for cell in rows[0][1:] if cell and cell.lower() not in TOTALS]
    blanks = sum(1 for cell in rows[0] if not cell)
    first = rows[0][0]
    if len(words) != 1 or blanks < 1 or is_number(words[0]) or len(rows) < 3:
        return None
    beside = [cell for cell in rows[1] if cell]
    return (
        words[0]
        if len(beside) >= 2
        and (not first or not rows[1][0])
        and any(not cell for cell in rows[0][1:])
        else None
    )


def _label_columns(
    head: Sequence[str], body: Sequence[Sequence[str]]
) -> tuple[int, list[str | None]]:
    """How many columns hold labels, from the left, and their names: the first, and those that are no numbers throughout."""
    width = 1
    while width < len(head) - 1 and any(
        row[width] and not is_number(row[width]) and not is_withheld_mark(row[width])
        for row in body
    ):
        width += 1
    if width == 1 and not head[0] and len(head) > 2 and not head[1]:
        width = 2
    return width, [name or None for name in head[:width]]


def _facts(layout: _Layout, given: Annotation) -> ParsedOutput:
    heads = [name.lower() for name in layout.columns]
    counted = [k for k, name in enumerate(heads) if name in COUNTS]
    others = [k for k, name in enumerate(heads) if name not in COUNTS and name not in PERCENTS]
    if (
        given.kind in (None, "table")
        and len(counted) == 1
        and all(name in COUNTS or name in PERCENTS for name in heads)
    ):
        return _long_counts(layout, counted[0], list(range(len(layout.row_names))), [], given)
    if (
        len(counted) == 1
        and others
        and given.kind in (None, "table")
        and all(_few_levels(layout, k) for k in others)
        and counted[0] == len(heads) - 1
    ):
        return _long_counts(layout, counted[0], list(range(len(layout.row_names))), others, given)
    if heads and all(name in STATISTICS for name in heads):
        return _summaries(layout, given)
    if given.kind in ("mean", "sum", "sd", "variance", "median"):
        return _by_kind(layout, given)
    if len(layout.row_names) > 1:
        raise OpenQuestionError(
            f"a table with {len(layout.row_names)} columns of labels.",
            "Which column holds counts? Call it n, and give one row for each cell.",
        )
    percents = [k for k, name in enumerate(heads) if name in PERCENTS]
    if percents:
        raise OpenQuestionError(
            "a table with percentages.", "Its columns are no levels of one variable."
        )
    counts = (
        True
        if any(
            re.fullmatch(
                r"counts?|frequenc(y|ies)|n|number of (people|persons|records)",
                word.strip().lower(),
            )
            or "Crosstabulation" in word
            for word in layout.words
        )
        else None
    )
    rows = [label[-1] for label in layout.labels]
    table = PrintedGrid(
        layout.row_names[0] or _title_name(layout, 0),
        layout.column_name or _title_name(layout, 1),
        rows,
        layout.columns,
        layout.cells,
        layout.lines,
        counts,
    )
    return parse_table(table, given)


def _title_name(layout: _Layout, place: int) -> str | None:
    """A column's name out of a title such as "sex by work" or "sex * work Crosstabulation"."""
    for title in layout.words:
        if match := re.fullmatch(
            r"(?:counts? of )?([\w.]+)\s*(?:\*|by|x)\s*([\w.]+)(?:\s+Crosstabulation)?",
            title.strip(),
        ):
            return match[1 + place]
    return None


def _few_levels(layout: _Layout, column: int) -> bool:
    """Whether a column of a long table is one of labels: it has no fractions, and values come back."""
    cells = [row[column] for row in layout.cells]
    return all("." not in cell for cell in cells) and len(set(cells)) < max(len(cells), 2)


def _long_counts(
    layout: _Layout, count: int, label_columns: list[int], others: list[int], given: Annotation
) -> ParsedOutput:
    """A table that has a row for each cell, or one variable's frequencies."""
    names = [layout.row_names[k] for k in label_columns] + [layout.columns[k] for k in others]
    if len(names) == 1:
        rows = [label[-1] for label in layout.labels]
        name = names[0] or next(
            (word for word in layout.words if re.fullmatch(r"[\w.]+", word)), None
        )
        keep = [k for k, row in enumerate(rows) if not _repeats(rows, k)]
        return parse_table(
            PrintedGrid(
                name,
                None,
                [rows[k] for k in keep],
                (),
                [(layout.cells[k][count],) for k in keep],
                [layout.lines[k] for k in keep],
                True,
            ),
            given,
        )
    if given.by is not None and len(given.by) != len(names):
        raise LineError(
            layout.lines[0],
            f"the table crosses {len(names)} columns, and outputs.toml names {len(given.by)}: by = [...].",
        )
    by = tuple(given.by or [given.columns.get(str(name), str(name)) for name in names])
    cells: dict[tuple[str, ...], int | str] = {}
    for label, row, line in zip(layout.labels, layout.cells, layout.lines, strict=True):
        key = (*(label[k] for k in label_columns), *(row[k] for k in others))
        if any(part.lower() in TOTALS for part in key):
            raise LineError(
                line,
                "a row of totals stands among the cells. Leave it out, or give the table as a crosstab.",
            )
        number = number_text(row[count], given.decimal or ".")
        if is_withheld_mark(row[count]):
            cells[key] = row[count]
        elif number is None or not is_whole(number):
            raise LineError(
                line, "a count must be a whole number, or a mark for a withheld cell such as <10."
            )
        elif key in cells:
            raise LineError(line, "two rows are of the same cell.")
        else:
            cells[key] = int(float(number))
    labels = tuple(tuple(dict.fromkeys(key[k] for key in cells)) for k in range(len(names)))
    return ParsedTable(
        by,
        labels,
        cells,
        False,
        None,
        given.threshold,
        given.base,
        given.where,
        by_hand=bool(given.kind),
    )


def _repeats(rows: Sequence[str], k: int) -> bool:
    """Whether a row is a second total: SPSS prints one of valid values and one of all."""
    return rows[k].lower() in TOTALS and any(row.lower() in TOTALS for row in rows[:k])


def _summaries(layout: _Layout, given: Annotation) -> ParsedOutput:
    """Statistics in columns, groups in rows."""
    by = tuple(
        given.by or [given.columns.get(str(name), str(name)) for name in layout.row_names if name]
    )
    if len(by) != len(layout.row_names):
        raise OpenQuestionError(
            "a summary by groups.",
            "Which column are its rows groups of?",
            {"by": ["COLUMN"], "of": "NUMBER"},
        )
    numbers = _numbers(layout, given)
    statistics = {
        STATISTICS[name.lower()]: {
            label: row[k] for label, row in zip(layout.labels, numbers, strict=True)
        }
        for k, name in enumerate(layout.columns)
    }
    return ParsedSummary(given.of or layout.column_name, by, layout.labels, statistics, given.where)


def _described(layout: _Layout, k: int, given: Annotation) -> ParsedOutput:
    """One column of describe(): statistics in rows."""
    numbers = _numbers(layout, given)
    statistics: dict[str, dict[tuple[str, ...], str]] = {
        STATISTICS[label[-1].lower()]: {(): row[k]}
        for label, row in zip(layout.labels, numbers, strict=True)
    }
    name = layout.columns[k]
    return ParsedSummary(given.columns.get(name, name), (), ((),), statistics, given.where)


def _by_kind(layout: _Layout, given: Annotation) -> ParsedOutput:
    """A crosstab of means or other summaries, of which outputs.toml says what they are."""
    if given.of is None:
        raise OpenQuestionError(
            f"a table of numbers, said to be of kind {given.kind}.",
            "Which column do they summarise?",
            {"kind": given.kind, "of": "COLUMN"},
        )
    single = len(layout.columns) == 1
    by = tuple(
        given.by
        or [
            str(name)
            for name in (*layout.row_names, *([] if single else [layout.column_name]))
            if name
        ]
    )
    numbers = _numbers(layout, given)
    values = {}
    for label, row in zip(layout.labels, numbers, strict=True):
        for column, number in zip(layout.columns, row, strict=True):
            values[label if single else (*label, column)] = number
    if len(by) != len(next(iter(values))):
        raise OpenQuestionError(
            f"a table of kind {given.kind}.",
            "Which columns are crossed?",
            {"kind": given.kind, "of": given.of, "by": ["ROWS", "COLUMNS"]},
        )
    return ParsedSummary(given.of, by, tuple(values), {str(given.kind): values}, given.where)


def _numbers(layout: _Layout, given: Annotation) -> list[list[str]]:
    sign = sign_of(
        (line, cell) for line, row in zip(layout.lines, layout.cells, strict=True) for cell in row
    )
    if given.decimal is None and sign.mixed:
        raise LineError(
            max(sign.mixed),
            f"its decimal sign is not that of line {min(sign.mixed)}. Write all numbers of the file the same way.",
        )
    if given.decimal is None and sign.sign is None:
        raise OpenQuestionError(
            "a summary.",
            f"In line {sign.line} a comma may be a decimal sign or stand for thousands.",
            {"decimal": ","},
        )
    numbers = []
    for line, row in zip(layout.lines, layout.cells, strict=True):
        plain = [number_text(cell, given.decimal or sign.sign or ".") for cell in row]
        if any(one is None for one in plain):
            raise LineError(line, "a cell is no number, or empty.")
        numbers.append([str(one) for one in plain])
    return numbers
