"""From a printed table to what it means: counts, percentages, totals or summaries; or a question. Sheets and tables of fixed width come the same way."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import chain, product
from typing import Any, Literal

from ...cells import SEPARATOR, TOTAL
from .numbers import (
    PrintedText,
    is_whole,
    is_withheld_mark,
    number_text,
    parse_count,
    plain_text,
    same_position,
    sign_of,
)
from .parsed import (
    STATISTICS,
    UNNAMED,
    Cell,
    ParsedOutput,
    ParsedSummary,
    ParsedTable,
    ParsedTest,
)
from .protocol import Annotation, LineError, OpenQuestionError, check_lines

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
NEAR = 0.011
"""What rounded shares may miss their sum by, for each of them: half a unit of the last of two decimals, and a little."""
NEAR_WHOLE = 1e-6
"""What sums of whole numbers may be off by; nothing is off that has a withheld cell, nan, in it."""

Share = Literal["all", "rows", "columns"]
_COUNT_TITLE = re.compile(
    r"counts?|frequenc(y|ies)|n|number of (people|persons|records)", re.IGNORECASE
)
_CROSS_TITLE = re.compile(
    r"(?:counts? of )?([\w.]+)\s*(?:\*|by|x)\s*([\w.]+)(?:\s+Crosstabulation)?"
)


@dataclass(frozen=True)
class PrintedGrid:
    """A table as it stands: the names of its columns of labels and of what its columns are levels of, labels, cells as text with their positions.

    `columns` is empty for a table of one column. `titles` stand above or below it. `counts`: whether the file says that these are counts; None where it does not
    say. `is_stated`: whether it says so in a word; programs print percentages in the form of counts.
    """

    row_names: tuple[str | None, ...]
    column_name: str | None
    labels: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[PrintedText, ...], ...] = field(repr=False)
    titles: tuple[str, ...] = ()
    counts: bool | None = None
    is_stated: bool = True

    @property
    def rows(self) -> list[str]:
        """The label of each row: the last where there are several."""
        return [label[-1] for label in self.labels]

    @property
    def lines(self) -> tuple[int, ...]:
        """The line of each row."""
        return tuple(row[0].position.line for row in self.cells)

    @property
    def all_cells(self) -> Iterator[PrintedText]:
        """The cells, row by row."""
        return chain.from_iterable(self.cells)

    @property
    def has_totals(self) -> tuple[bool, bool]:
        """Whether the last row and the last column are called as totals are."""
        rows, columns = (
            len(names) > 1 and _is_total(names[-1]) for names in (self.rows, self.columns)
        )
        return rows, columns


def decimal_sign(
    cells: Iterable[str],
    annotation: Annotation,
    understood: str,
    *,
    fallback: str | None = None,
) -> str:
    """Return the decimal sign of cells; LineError where they have two, a question where it may be either and there is no fallback."""
    sign = sign_of(cells)
    if annotation.decimal is not None:
        return annotation.decimal
    if sign.mixed:
        fault = f"its decimal sign is not that of line {min(sign.mixed)}. Write all numbers of the file the same way."
        raise LineError(max(sign.mixed), fault)
    if (sign.sign or fallback) is None:
        question = f"In line {sign.line} a comma may be a decimal sign or stand for thousands."
        raise OpenQuestionError(understood, question, {"decimal": ","})
    return sign.sign or fallback or "."


def axis_names(names: Sequence[str], annotation: Annotation, line: int) -> tuple[str, ...]:
    """Return the columns that a table crosses: as outputs.toml says, else by the names that stand there; LineError where these are more or fewer."""
    by = annotation.by
    if by is None:
        return tuple(annotation.columns.get(name, name) for name in names)
    if len(by) != len(names):
        fault = (
            f"the table crosses {len(names)} columns, and outputs.toml names {len(by)}: by = [...]."
        )
        raise LineError(line, fault)
    return tuple(by)


# Tables of counts or percentages.


def parse_table(grid: PrintedGrid, annotation: Annotation) -> ParsedTable:
    """Return the counts or percentages of a table; OpenQuestionError or LineError, naming the line, where they cannot be told."""
    axes = [grid.row_names[0] or UNNAMED[0], grid.column_name or UNNAMED[1]]
    by = axis_names(axes[: 2 if grid.columns else 1], annotation, grid.lines[0])
    size = f"{len(grid.labels)} x {max(len(grid.columns), 1)}"
    understood = f"a table of numbers, {size}."
    fallback = "." if _adds_up(grid) else None
    sign = decimal_sign(grid.all_cells, annotation, understood, fallback=fallback)
    _check_names(grid, annotation)
    cells = [[_cell(cell, sign) for cell in row] for row in grid.cells]
    if annotation.kind == "weighted-table":
        return _weighted_table(grid, cells, by, annotation)
    share = annotation.percentages
    if share is None and not all(
        is_whole(cell) for row in cells for cell in row if not is_withheld_mark(cell)
    ):
        share = _share(grid, cells)
        if share is None:
            raise OpenQuestionError(
                understood,
                "Its numbers are neither counts nor shares of rows, columns or all: say what they are.",
                {"kind": "mean", "of": "COLUMN"},
            )
    if share is not None:
        return _percentage_table(grid, cells, by, share, annotation)
    is_stated = bool(annotation.kind) or bool(grid.counts and grid.is_stated)
    if not is_stated and grid.columns and (share := _share(grid, cells)) in ("rows", "columns"):
        raise OpenQuestionError(
            f"a table of whole numbers, {size}, whose rows or columns each add up to about 100.",
            'Are they counts of people (kind = "table"), or percentages?',
            {"kind": "table", "percentages": share},
        )
    if not annotation.kind and not grid.counts and not _adds_up(grid, cells):
        raise OpenQuestionError(
            f"a table of whole numbers, {size}, without totals.",
            "Are they counts of people?",
            {"kind": "table", "by": list(by)},
        )
    table = _count_table(grid, cells, by, annotation)
    return replace(table, is_stated=is_stated, is_confirmed=bool(annotation.kind))


def _is_total(name: str) -> bool:
    return plain_text(name).strip(":").lower() in TOTALS


def _check_names(grid: PrintedGrid, annotation: Annotation) -> None:
    """Raise for two rows or columns of the same name, and for totals that are not the last."""
    all_names = (grid.rows, grid.columns)
    counted = [pair for names in all_names for pair in Counter(names).items()]
    has_totals_before = any(_is_total(name) for names in all_names for name in names[:-1])
    check_lines(
        (
            any(name and times > 1 for name, times in counted),
            grid.lines[0],
            "two rows or columns have the same name (see the file). Name them apart.",
        ),
        (
            annotation.totals is not False and has_totals_before,
            grid.lines[0],
            "totals stand before the last row or column. Put them last, or say totals = false.",
        ),
    )


def _cell(cell: PrintedText, sign: str) -> str:
    """A number as plain text, or the mark of a withheld cell."""
    plain = plain_text(cell)
    if is_withheld_mark(cell):
        return same_position(cell, plain)
    number = number_text(cell, sign)
    if number is None:
        what = "a cell is no number" if plain else "a cell is empty"
        raise LineError(
            cell.position.line, f"{what}. If it is withheld, write a mark for it such as <10."
        )
    return number


def _floats(cells: Iterable[Sequence[str]]) -> list[list[float]]:
    """Numbers; nan for cells that are withheld."""
    return [[math.nan if is_withheld_mark(cell) else float(cell) for cell in row] for row in cells]


def _adds_up(grid: PrintedGrid, cells: Iterable[Sequence[str]] | None = None) -> bool:
    """Whether the table has totals to which whole numbers add up."""
    plain = ([number_text(cell) or plain_text(cell) for cell in row] for row in grid.cells)
    try:
        return any(grid.has_totals) and not _wrong_lines(grid, cells or plain)
    except ValueError:
        return False


def _wrong_lines(grid: PrintedGrid, cells: Iterable[Sequence[str]]) -> list[int]:
    """The lines whose numbers do not add up to their totals; sums with withheld cells are not looked at."""
    bottom, right = grid.has_totals
    numbers = _floats(cells)
    lines = [
        line
        for row, line in zip(numbers, grid.lines, strict=True)
        if right and abs(sum(row[:-1]) - row[-1]) > NEAR_WHOLE
    ]
    columns = zip(*numbers, strict=True) if bottom else ()
    if any(abs(sum(column[:-1]) - column[-1]) > NEAR_WHOLE for column in columns):
        lines.append(grid.lines[-1])
    return lines


def _share(grid: PrintedGrid, cells: Sequence[Sequence[str]]) -> Share | None:
    """Of what numbers are shares: the sums that are 1 or 100."""
    rows = _floats(cells)
    if not all(number >= 0 for row in rows for number in row):  # nan is not
        return None
    bottom, right = grid.has_totals
    body = [row[:-1] if right else row for row in (rows[:-1] if bottom else rows)]
    for total in (100.0, 1.0):
        near = NEAR * total * max(len(body), len(body[0])) / 10
        if all(abs(sum(row) - total) <= near for row in body) and len(body[0]) > 1:
            return "rows"
        columns = zip(*body, strict=True)
        if all(abs(sum(column) - total) <= near for column in columns) and len(body) > 1:
            return "columns"
        if abs(sum(map(sum, body)) - total) <= near * len(body):
            return "all"
    return None


def _count_table(
    grid: PrintedGrid, cells: list[list[str]], by: tuple[str, ...], annotation: Annotation
) -> ParsedTable:
    bottom, right = grid.has_totals if annotation.totals is not False else (False, False)
    about = {"kind": "table", "by": list(by)}
    named = " by ".join(map(repr, by))
    if (bottom or right) and annotation.base == 1 and (lines := _wrong_lines(grid, cells)):
        raise OpenQuestionError(
            f"a table of counts of {named}, with totals.",
            f"The numbers of line {lines[0]} do not add up to their total: are they rounded, to which base? Or is the last one no total: totals = false.",
            {**about, "base": 5},
        )
    marks = [cell for row in cells for cell in row if is_withheld_mark(cell)]
    if annotation.threshold is None and any(not re.search(r"\d", mark) for mark in marks):
        raise OpenQuestionError(
            f"a table of counts of {named}, with withheld cells.",
            "Below which count are cells withheld?",
            {**about, "threshold": 10},
        )
    table = _labelled_table(grid, cells, by, annotation, (bottom, right))
    totals = [TOTAL] * (bottom or right)
    numbers: dict[Cell, Any] = {}
    for r, row in enumerate([*table.labels[0], *totals]):
        for c, column in enumerate([*table.labels[1], *totals] if grid.columns else [""]):
            missing = (row == TOTAL and not bottom) or (column == TOTAL and not right)
            key = (row, column) if grid.columns else (row,)
            text = "?" if missing else cells[r][c]
            numbers[key] = text if missing or is_withheld_mark(text) else parse_count(text)
    marked = [cell for cell in numbers.values() if isinstance(cell, str)]
    if marked and set(marked) == {"?"}:
        # Totals of which only some are printed, where all cells are: they follow.
        numbers = {key: cell for key, cell in numbers.items() if TOTAL not in key}
        totals = []
    return replace(table, cells=numbers, margins=bool(totals), base=annotation.base)


def _labelled_table(
    grid: PrintedGrid,
    cells: Sequence[Sequence[str]],
    by: tuple[str, ...],
    annotation: Annotation,
    totals: tuple[bool, bool],
) -> ParsedTable:
    """The table with its labels, totals apart, and its cells as they are printed."""
    bottom, right = totals
    rows = grid.rows[:-1] if bottom else grid.rows
    columns = grid.columns[:-1] if right else grid.columns
    check_lines(
        (
            any(SEPARATOR in label for label in (*rows, *columns)),
            grid.lines[0],
            f"a label has the sign {SEPARATOR} in it. Rename the level.",
        ),
        (
            TOTAL in (*rows, *columns),
            grid.lines[0],
            f"a level is called '{TOTAL}', as totals are. Rename the level, or put the totals last.",
        ),
    )
    labels = (tuple(rows), tuple(columns)) if columns else (tuple(rows),)
    body = (cell for row in cells[: len(rows)] for cell in row[: len(columns) or 1])
    numbers = dict(zip(product(*labels), body, strict=True))
    return ParsedTable(by, labels, numbers, threshold=annotation.threshold, where=annotation.where)


def _percentage_table(
    grid: PrintedGrid,
    cells: list[list[str]],
    by: tuple[str, ...],
    share: Share,
    annotation: Annotation,
) -> ParsedTable:
    table = _labelled_table(grid, cells, by, annotation, grid.has_totals)
    numbers = {key: cell for key, cell in table.cells.items() if not is_withheld_mark(cell)}
    if max(map(float, numbers.values()), default=0.0) <= 1.0:
        numbers = {key: _times_hundred(text) for key, text in numbers.items()}
    return replace(table, cells={**table.cells, **numbers}, percentages=share)


def _weighted_table(
    grid: PrintedGrid, cells: list[list[str]], by: tuple[str, ...], annotation: Annotation
) -> ParsedTable:
    """Sums of weights, or percentages of them; totals follow."""
    about = {"kind": "weighted-table", "by": list(by)}
    if annotation.variable is None:
        question = "Which column holds the weights?"
        raise OpenQuestionError("a table of sums of weights.", question, {**about, "of": "WEIGHT"})
    if annotation.percentages:
        table = _percentage_table(grid, cells, by, annotation.percentages, annotation)
    else:
        totals = grid.has_totals if annotation.totals is not False else (False, False)
        if any(totals) and (lines := _wrong_lines(grid, cells)):
            question = f"The numbers of line {lines[0]} do not add up to their total: leave the totals out, or say totals = false."
            raise OpenQuestionError("a table of sums of weights, with totals.", question)
        table = _labelled_table(grid, cells, by, annotation, totals)
    return replace(table, variable=annotation.variable, is_confirmed=True)


def _times_hundred(text: str) -> str:
    """A share as a percentage with the same digits.

    Examples
    --------
    >>> _times_hundred("0.230"), _times_hundred("1")
    ('23.0', '100')
    """
    number = Decimal(text).scaleb(2)
    shown = number if number.as_tuple().exponent <= 0 else number.quantize(Decimal(1))  # type: ignore[operator]
    return same_position(text, format(shown, "f"))


# Correlations.


def is_correlation(grid: PrintedGrid) -> bool:
    """Return whether a table has the form of a matrix of correlations: the same names on both sides, ones on the diagonal, and its lower half at least."""
    if grid.rows != list(grid.columns) or len(grid.rows) < 2 or len(grid.row_names) > 1:
        return False
    cells = [[number_text(cell, ".") for cell in row] for row in grid.cells]
    lower = [cells[a][b] for a in range(len(cells)) for b in range(a + 1)]
    upper = [cells[a][b] for a in range(len(cells)) for b in range(a + 1, len(cells))]
    numbers = [float(cell) for cell in (*lower, *upper) if cell is not None]
    has_ones = all(float(cells[k][k] or 0.0) == 1.0 for k in range(len(cells)))
    is_apart = any("." in cell and float(cell) != 1.0 for cell in lower if cell is not None)
    is_full = None not in lower and (None not in upper or set(upper) == {None})
    return is_full and has_ones and is_apart and all(abs(number) <= 1.0 for number in numbers)


def parse_correlation(grid: PrintedGrid, annotation: Annotation) -> ParsedTest:
    """Return a matrix of correlations, of which a line says that they are Pearson's; OpenQuestionError where none does."""
    if annotation.kind != "correlation":
        raise OpenQuestionError(
            f"a matrix of correlations of {len(grid.rows)} columns.",
            "Are they Pearson's, and of how many people?",
            {"kind": "correlation", "n": 1000},
        )
    columns = annotation.by or [annotation.columns.get(name, name) for name in grid.rows]
    cells = [[number_text(cell) for cell in row] for row in grid.cells]
    for (b, row), a in product(enumerate(cells), range(len(cells))):
        first, second = row[a], cells[a][b]
        if a >= b or first is None or second is None:
            continue
        # R prints each column with digits of its own: the half that has more of them is kept.
        short, long = sorted((first, second), key=len)
        if abs(float(short) - float(long)) > 0.51 * 10.0 ** -len(short.partition(".")[2]):
            raise LineError(grid.lines[b], "the two halves of the correlations are not the same.")
        row[a], cells[a][b] = long, None
    title = "Pearson correlations"
    numbers = {"values": cells}
    return ParsedTest(
        "correlation", title, numbers, tuple(columns), None, annotation.n, annotation.where
    )


# Tables by what their headers say.


def parse_grid(grid: PrintedGrid, annotation: Annotation) -> ParsedOutput:
    """Return what a table is by its header: counts, one row for each cell, or summaries."""
    if is_correlation(grid):
        return parse_correlation(grid, annotation)
    heads = [name.lower() for name in grid.columns]
    counted = [k for k, name in enumerate(heads) if name in COUNTS]
    others = [k for k, name in enumerate(heads) if name not in (*COUNTS, *PERCENTS)]
    if (
        annotation.kind in (None, "table")
        and len(counted) == 1
        and (not others or counted[0] == len(heads) - 1)
        and all(_has_few_levels(grid, k) for k in others)
    ):
        return _long_counts(grid, counted[0], others, annotation)
    if heads and all(name in STATISTICS for name in heads):
        return _summaries(grid, annotation)
    if annotation.kind in ("mean", "sum", "sd", "variance", "median"):
        return _by_kind(grid, annotation)
    if len(grid.row_names) > 1:
        raise OpenQuestionError(
            f"a table with {len(grid.row_names)} columns of labels.",
            "Which column holds counts? Call it n, and give one row for each cell.",
        )
    if any(name in PERCENTS for name in heads):
        raise OpenQuestionError(
            "a table with percentages.", "Its columns are no levels of one variable."
        )
    says_counts = any(
        _COUNT_TITLE.fullmatch(title.strip()) or "Crosstabulation" in title for title in grid.titles
    )
    # A title such as "sex by work" or "sex * work Crosstabulation" names the columns.
    title = next(
        filter(None, (_CROSS_TITLE.fullmatch(title.strip()) for title in grid.titles)), None
    )
    row_name, column_name = title.groups() if title else (None, None)
    return parse_table(
        replace(
            grid,
            row_names=(grid.row_names[0] or row_name,),
            column_name=grid.column_name or column_name,
            counts=says_counts or None,
        ),
        annotation,
    )


def _has_few_levels(grid: PrintedGrid, column: int) -> bool:
    """Whether a column of a long table is one of labels: it has no fractions, and values come back."""
    cells = [row[column] for row in grid.cells]
    return all("." not in cell for cell in cells) and len(set(cells)) < max(len(cells), 2)


def _long_counts(
    grid: PrintedGrid, counted: int, others: list[int], annotation: Annotation
) -> ParsedTable:
    """A table that has a row for each cell, or one variable's frequencies."""
    names = [*grid.row_names, *(grid.columns[k] for k in others)]
    if len(names) == 1:
        title = next((title for title in grid.titles if re.fullmatch(r"[\w.]+", title)), None)
        # SPSS prints two totals: of valid values, and of all.
        totals = [k for k, row in enumerate(grid.rows) if row.lower() in TOTALS]
        shown = [k for k in range(len(grid.rows)) if k not in totals[1:]]
        frequencies = replace(
            grid,
            row_names=(names[0] or title,),
            column_name=None,
            labels=tuple(grid.labels[k] for k in shown),
            columns=(),
            cells=tuple((grid.cells[k][counted],) for k in shown),
            counts=True,
        )
        return parse_table(frequencies, annotation)
    by = axis_names(list(map(str, names)), annotation, grid.lines[0])
    cells: dict[Cell, int | str] = {}
    for label, row, line in zip(grid.labels, grid.cells, grid.lines, strict=True):
        key = (*label, *(row[k] for k in others))
        if any(word.lower() in TOTALS for word in key):
            raise LineError(
                line,
                "a row of totals stands among the cells. Leave it out, or give the table as a crosstab.",
            )
        number = number_text(row[counted], annotation.decimal or ".")
        if is_withheld_mark(row[counted]):
            cells[key] = row[counted]
        elif number is None or not is_whole(number):
            raise LineError(
                line, "a count must be a whole number, or a mark for a withheld cell such as <10."
            )
        elif key in cells:
            raise LineError(line, "two rows are of the same cell.")
        else:
            cells[key] = parse_count(number)
    return ParsedTable(
        by,
        tuple(tuple(dict.fromkeys(labels)) for labels in zip(*cells, strict=True)),
        cells,
        threshold=annotation.threshold,
        base=annotation.base,
        where=annotation.where,
        is_confirmed=bool(annotation.kind),
    )


# Summaries.


def _summaries(grid: PrintedGrid, annotation: Annotation) -> ParsedSummary:
    """Statistics in columns, groups in rows."""
    by = tuple(
        annotation.by or [annotation.columns.get(name, name) for name in grid.row_names if name]
    )
    if len(by) != len(grid.row_names):
        raise OpenQuestionError(
            "a summary by groups.",
            "Which column are its rows groups of?",
            {"by": ["COLUMN"], "of": "NUMBER"},
        )
    columns = zip(*_numbers(grid, annotation), strict=True)
    statistics = {
        STATISTICS[name.lower()]: dict(zip(grid.labels, numbers, strict=True))
        for name, numbers in zip(grid.columns, columns, strict=True)
    }
    variable = annotation.variable or grid.column_name
    return ParsedSummary(variable, by, grid.labels, statistics, annotation.where)


def parse_described(grid: PrintedGrid, column: int, annotation: Annotation) -> ParsedSummary:
    """Return one column of `describe()`: statistics in rows."""
    statistics: dict[str, dict[Cell, str]] = {
        STATISTICS[row.lower()]: {(): numbers[column]}
        for row, numbers in zip(grid.rows, _numbers(grid, annotation), strict=True)
    }
    name = grid.columns[column]
    variable = annotation.columns.get(name, name)
    return ParsedSummary(variable, (), ((),), statistics, annotation.where)


def _by_kind(grid: PrintedGrid, annotation: Annotation) -> ParsedSummary:
    """A crosstab of means or other summaries, of which outputs.toml says what they are."""
    kind, variable = str(annotation.kind), annotation.variable
    if variable is None:
        raise OpenQuestionError(
            f"a table of numbers, said to be of kind {kind}.",
            "Which column do they summarise?",
            {"kind": kind, "of": "COLUMN"},
        )
    single = len(grid.columns) == 1
    names = (*grid.row_names, None if single else grid.column_name)
    by = tuple(annotation.by or [name for name in names if name])
    values = {
        label if single else (*label, column): number
        for label, numbers in zip(grid.labels, _numbers(grid, annotation), strict=True)
        for column, number in zip(grid.columns, numbers, strict=True)
    }
    if len(by) != len(next(iter(values))):
        raise OpenQuestionError(
            f"a table of kind {kind}.",
            "Which columns are crossed?",
            {"kind": kind, "of": variable, "by": ["ROWS", "COLUMNS"]},
        )
    return ParsedSummary(variable, by, tuple(values), {kind: values}, annotation.where)


def _numbers(grid: PrintedGrid, annotation: Annotation) -> list[list[str]]:
    """The cells, none of which is withheld, as plain numbers."""
    sign = decimal_sign(grid.all_cells, annotation, "a summary.")
    rows = []
    for row in grid.cells:
        numbers = [number for cell in row if (number := number_text(cell, sign)) is not None]
        if len(numbers) < len(row):
            raise LineError(row[0].position.line, "a cell is no number, or empty.")
        rows.append(numbers)
    return rows
