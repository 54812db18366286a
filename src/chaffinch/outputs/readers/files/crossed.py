"""From the rows and columns of a printed table to what they mean: counts, percentages, totals; or a question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ...cells import SEPARATOR, TOTAL
from .numbers import is_whole, is_withheld_mark, number_text, plain_text, sign_of
from .printed import UNNAMED, ParsedTable
from .protocol import Annotation, LineError

TOTALS = (
    "all",
    "total",
    "totals",
    "sum",
    "grand total",
    "gesamt",
    "summe",
    "insgesamt",
    "total général",
    "totale",
    "totaal",
)
"""What the last row or column of a table may be called, in small letters, where it holds totals."""
NEAR = 0.011
"""What rounded shares may miss their sum by, for each of them: half a unit of the last of two decimals, and a little."""


NEAR_WHOLE = 1e-6
"""What sums of whole numbers may be off by; nothing is off that has a withheld cell, nan, in it."""


class OpenQuestionError(Exception):
    """That something cannot be told: what was understood, what is asked, and the keys of the line that says it, if one can."""

    def __init__(self, understood: str, question: str, keys: dict[str, Any] | None = None) -> None:
        super().__init__(question)
        self.understood, self.question, self.keys = understood, question, keys or {}


@dataclass(frozen=True)
class PrintedGrid:
    """A table as it stands: names and labels of rows and columns, cells as text, the line of each row.

    `columns` is empty for a table of one column. `counts`: whether the file says that these are counts; None where it does not say. `said`: whether
    it says so in a word; programs print percentages in the form of counts.
    """

    row_name: str | None
    column_name: str | None
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[str]] = field(repr=False)
    lines: Sequence[int]
    counts: bool | None = None
    said: bool = True
    percentages: Literal["all", "rows", "columns"] | None = None


def parse_table(table: PrintedGrid, given: Annotation) -> ParsedTable:
    """Return the counts or percentages of a table; OpenQuestionError or LineError, naming the line, where they cannot be told."""
    by = _names(table, given)
    size = f"{len(table.rows)} x {max(len(table.columns), 1)}"
    understood = f"a table of numbers, {size}."
    sign = given.decimal or _sign(table, understood)
    for names in (table.rows, table.columns):
        if twice := next((name for name, times in Counter(names).items() if times > 1), None):
            raise LineError(
                table.lines[0],
                f"two rows or columns have the same name ({'a blank one' if not twice else 'see the file'}). Name them apart.",
            )
    if given.totals is not False and any(
        _is_total(name) for names in (table.rows, table.columns) for name in list(names)[:-1]
    ):
        raise LineError(
            table.lines[0],
            "totals stand before the last row or column. Put them last, or say totals = false.",
        )
    texts = [
        [_cell(cell, sign, line) for cell in row]
        for row, line in zip(table.cells, table.lines, strict=True)
    ]
    share = given.percentages or table.percentages
    numbers = [cell for row in texts for cell in row if not is_withheld_mark(cell)]
    whole = all(is_whole(cell) for cell in numbers)
    if share is None and not whole:
        share = _share(table, texts)
        if share is None:
            raise OpenQuestionError(
                understood,
                "Its numbers are neither counts nor shares of rows, columns or all: say what they are.",
                {"kind": "mean", "of": "COLUMN"},
            )
    if share is not None:
        return _percentages(table, texts, by, share, given)
    unsaid = not given.kind and not (table.counts and table.said)
    if unsaid and table.columns and _share(table, texts) in ("rows", "columns"):
        raise OpenQuestionError(
            f"a table of whole numbers, {size}, whose rows or columns each add up to about 100.",
            'Are they counts of people (kind = "table"), or percentages?',
            {"kind": "table", "percentages": _share(table, texts)},
        )
    if not given.kind and not table.counts and not _adds_up(table, texts):
        raise OpenQuestionError(
            f"a table of whole numbers, {size}, without totals.",
            "Are they counts of people?",
            {"kind": "table", "by": list(by)},
        )
    return _counts(table, texts, by, given)


def _sign(table: PrintedGrid, understood: str) -> str:
    """The decimal sign of a table; LineError where it has two, a question where it may be either and totals do not tell."""
    sign = sign_of(
        (line, cell) for line, row in zip(table.lines, table.cells, strict=True) for cell in row
    )
    if sign.mixed:
        words = f"its decimal sign is not that of line {min(sign.mixed)}. Write all numbers of the file the same way."
        raise LineError(max(sign.mixed), words)
    if sign.sign is None and not _adds_up(table):
        question = f"In line {sign.line} a comma may be a decimal sign or stand for thousands."
        raise OpenQuestionError(understood, question, {"decimal": ","})
    return sign.sign or "."


def _names(table: PrintedGrid, given: Annotation) -> tuple[str, ...]:
    wanted = 2 if table.columns else 1
    if given.by is not None:
        if len(given.by) != wanted:
            raise LineError(
                table.lines[0],
                f"the table crosses {wanted} columns, and outputs.toml names {len(given.by)}: by = [...].",
            )
        return tuple(given.by)
    names = [table.row_name or UNNAMED[0], table.column_name or UNNAMED[1]][:wanted]
    return tuple(given.columns.get(name, name) for name in names)


def _cell(cell: str, sign: str, line: int) -> str:
    """A number as plain text, or the mark of a withheld cell."""
    if is_withheld_mark(cell):
        return plain_text(cell)
    number = number_text(cell, sign)
    if number is None:
        what = "a cell is empty" if not plain_text(cell) else "a cell is no number"
        raise LineError(line, f"{what}. If it is withheld, write a mark for it such as <10.")
    return number


def _is_total(name: str) -> bool:
    return plain_text(name).strip(":").lower() in TOTALS


def _ends(table: PrintedGrid) -> tuple[bool, bool]:
    """Whether the last row and the last column are called as totals are."""
    return (len(table.rows) > 1 and _is_total(table.rows[-1])), (
        len(table.columns) > 1 and _is_total(table.columns[-1])
    )


def _adds_up(table: PrintedGrid, texts: Sequence[Sequence[str]] | None = None) -> bool:
    """Whether the table has totals to which whole numbers add up."""
    bottom, right = _ends(table)
    if not bottom and not right:
        return False
    texts = texts or [
        [number_text(cell) or plain_text(cell) for cell in row] for row in table.cells
    ]
    try:
        return not _misfits(table, texts, bottom, right)
    except ValueError:
        return False


def _misfits(
    table: PrintedGrid, texts: Sequence[Sequence[str]], bottom: bool, right: bool
) -> list[int]:
    """The lines whose numbers do not add up to their totals; sums with withheld cells are not looked at."""
    numbers = [
        [math.nan if is_withheld_mark(cell) else float(cell) for cell in row] for row in texts
    ]
    body = numbers[:-1] if bottom else numbers
    misfits = []
    if right:
        misfits += [
            line
            for row, line in zip(numbers, table.lines, strict=True)
            if abs(sum(row[:-1]) - row[-1]) > NEAR_WHOLE
        ]
    if bottom and any(
        abs(sum(row[k] for row in body) - total) > NEAR_WHOLE for k, total in enumerate(numbers[-1])
    ):
        misfits.append(table.lines[-1])
    return misfits


def _counts(
    table: PrintedGrid, texts: list[list[str]], by: tuple[str, ...], given: Annotation
) -> ParsedTable:
    bottom, right = _ends(table) if given.totals is not False else (False, False)
    said = bool(given.kind) or bool(table.counts and table.said)
    misfits = _misfits(table, texts, bottom, right)
    if misfits and given.base == 1:
        raise OpenQuestionError(
            f"a table of counts of {' by '.join(repr(name) for name in by)}, with totals.",
            f"The numbers of line {misfits[0]} do not add up to their total: are they rounded, to which base? Or is the last one no total: totals = false.",
            {"kind": "table", "by": list(by), "base": 5},
        )
    marks = [
        cell
        for row in texts
        for cell in row
        if is_withheld_mark(cell) and not any(sign.isdigit() for sign in cell)
    ]
    if marks and given.threshold is None:
        raise OpenQuestionError(
            f"a table of counts of {' by '.join(repr(name) for name in by)}, with withheld cells.",
            "Below which count are cells withheld?",
            {"kind": "table", "by": list(by), "threshold": 10},
        )
    cells: dict[tuple[str, ...], Any] = {}
    columns = list(table.columns)
    row_labels = list(table.rows[:-1] if bottom else table.rows)
    column_labels = columns[:-1] if right else columns
    margins = bottom or right
    wanted_rows = [*row_labels, *([TOTAL] if margins else [])]
    wanted_columns = [*column_labels, *([TOTAL] if margins else [])]
    for r, row in enumerate(wanted_rows):
        if not columns:
            cells[(row,)] = _value(texts[r][0]) if row != TOTAL or bottom else "?"
            continue
        for c, column in enumerate(wanted_columns):
            missing = (row == TOTAL and not bottom) or (column == TOTAL and not right)
            cells[(row, column)] = "?" if missing else _value(texts[r][c])
    _check_labels((*row_labels, *column_labels), table.lines[0])
    labels = (tuple(row_labels), tuple(column_labels)) if columns else (tuple(row_labels),)
    return _exact_without_totals(
        ParsedTable(
            by,
            labels,
            cells,
            margins,
            None,
            given.threshold,
            given.base,
            given.where,
            said,
            bool(given.kind),
        )
    )


def _exact_without_totals(table: ParsedTable) -> ParsedTable:
    """The table without totals of which only some are printed, where all cells are: they follow."""
    if "?" not in table.cells.values() or any(
        isinstance(cell, str) and cell != "?" for cell in table.cells.values()
    ):
        return table
    cells = {key: cell for key, cell in table.cells.items() if TOTAL not in key}
    return replace(table, cells=cells, margins=False)


def _value(text: str) -> Any:
    return text if is_withheld_mark(text) else int(float(text))


def _check_labels(labels: Sequence[str], line: int) -> None:
    if any(SEPARATOR in label for label in labels):
        raise LineError(line, f"a label has the sign {SEPARATOR} in it. Rename the level.")
    if TOTAL in labels:
        raise LineError(
            line,
            f"a level is called '{TOTAL}', as totals are. Rename the level, or put the totals last.",
        )


def _share(
    table: PrintedGrid, texts: Sequence[Sequence[str]]
) -> Literal["all", "rows", "columns"] | None:
    """Of what numbers are shares: the sums that are 1 or 100."""
    rows = [[float(cell) for cell in row if not is_withheld_mark(cell)] for row in texts]
    if any(len(row) != len(texts[0]) for row in rows) or any(
        number < 0 for row in rows for number in row
    ):
        return None
    bottom, right = _ends(table)
    body = [row[:-1] if right else row for row in (rows[:-1] if bottom else rows)]
    for whole in (100.0, 1.0):
        near = NEAR * whole * max(len(body), len(body[0])) / 10
        if all(abs(sum(row) - whole) <= near for row in body) and len(body[0]) > 1:
            return "rows"
        if (
            all(abs(sum(column) - whole) <= near for column in zip(*body, strict=True))
            and len(body) > 1
        ):
            return "columns"
        if abs(sum(map(sum, body)) - whole) <= near * len(body):
            return "all"
    return None


def _percentages(
    table: PrintedGrid,
    texts: list[list[str]],
    by: tuple[str, ...],
    share: Literal["all", "rows", "columns"],
    given: Annotation,
) -> ParsedTable:
    bottom, right = _ends(table)
    rows = list(table.rows[:-1] if bottom else table.rows)
    columns = list(table.columns[:-1] if right else table.columns)
    body = [row[: len(columns) or 1] for row in texts[: len(rows)]]
    largest = max(
        (float(cell) for row in body for cell in row if not is_withheld_mark(cell)), default=0.0
    )
    times = largest <= 1.0 and share is not None
    cells: dict[tuple[str, ...], Any] = {}
    for row, numbers in zip(rows, body, strict=True):
        for column, cell in zip(columns or [""], numbers, strict=True):
            key = (row, column) if columns else (row,)
            cells[key] = cell if is_withheld_mark(cell) else _times_hundred(cell) if times else cell
    _check_labels((*rows, *columns), table.lines[0])
    labels = (tuple(rows), tuple(columns)) if columns else (tuple(rows),)
    return ParsedTable(by, labels, cells, False, share, given.threshold, 1, given.where)


def _times_hundred(text: str) -> str:
    """A share as a percentage with the same digits.

    Examples
    --------
    >>> _times_hundred("0.230"), _times_hundred("1")
    ('23.0', '100')
    """
    from decimal import Decimal

    number = Decimal(text).scaleb(2)
    return format(number if number.as_tuple().exponent <= 0 else number.quantize(Decimal(1)), "f")  # type: ignore[operator]
