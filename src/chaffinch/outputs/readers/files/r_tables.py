"""Tables as R prints them, `table()`, `xtabs()`, `addmargins()` and `prop.table()` of one, two or three columns; and counts as pandas prints them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

from .companion import Help
from .crossed import Crossed, OpenQuestionError, table_facts
from .found import Facts, LineError
from .pieces import NUMBER, READERS, Piece, TextReader
from .printed_table import UNNAMED, PrintedTable

_TOKEN = re.compile(r"\S+")
_CELL = re.compile(rf"{NUMBER}|<\s?\d+|NA")
_SERIES_END = re.compile(r"(?:Name: (?P<name>.+), )?dtype: u?int\d+")
_LAYER = re.compile(r", , (?:(?P<name>.+?) = )?(?P<level>.*\S)\s*")


@dataclass(frozen=True)
class _Block:
    """A table of two columns in some lines (from 1): names, labels, cells."""

    lines: range
    row_name: str | None
    column_name: str | None
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...] = field(repr=False)
    row_lines: tuple[int, ...] = ()
    program: str = "R"
    either_way: bool = False  # Two lines of two numbers: labels over counts, as R prints them, or labels beside counts, as pandas does
    said: bool = False  # Whether it says that these are counts


def read_r_tables(lines: Sequence[str]) -> list[Piece]:
    """Return a piece for each table in some lines."""
    pieces: list[Piece] = []
    at = 0
    while at < len(lines):
        layer = _LAYER.fullmatch(lines[at].rstrip())
        if layer is not None:
            piece, at = _layers(lines, at)
            pieces.append(piece)
            continue
        block = _series(lines, at) or _two(lines, at) or _one(lines, at)
        if block is None:
            at += 1
            continue
        at = block.lines[-1]
        pieces.append(Piece(block.lines, block.program, partial(_facts, block)))
    return pieces


def _facts(block: _Block, given: Help) -> Facts:
    if block.either_way:
        raise OpenQuestionError(
            "two lines of two numbers.",
            "Labels may stand over their counts, as R prints a table, or beside them, as pandas prints value_counts(). Write it as CSV, or describe it in a file of outputs.",
            {},
        )
    if (
        block.program == "R"
        and given.kind is None
        and (len(block.columns) == 1 or (not block.columns and block.row_name is None))
    ):
        raise OpenQuestionError(
            "R: numbers below labels.",
            "R prints values by name, and columns of records, in this form, too. Are they counts of people?",
            {
                "kind": "table",
                "by": [block.row_name or "COLUMN", *(["COLUMN"] if block.columns else [])],
            },
        )
    whole = all("." not in cell for row in block.cells for cell in row)
    return table_facts(
        Crossed(
            block.row_name,
            block.column_name,
            block.rows,
            block.columns,
            block.cells,
            block.row_lines,
            counts=(block.said or None) if block.program != "R" else True if whole else None,
            said=block.said,
        ),
        given,
    )


def _tokens(line: str) -> list[tuple[int, str]]:
    """Words with the places at which they end."""
    return [(match.end(), match.group()) for match in _TOKEN.finditer(line)]


def _numbers(line: str) -> list[tuple[int, str]]:
    """The numbers at the end of a line, with the places at which they end."""
    numbers: list[tuple[int, str]] = []
    for end, word in reversed(_tokens(line)):
        if not _CELL.fullmatch(word):
            break
        numbers.insert(0, (end, word))
    return numbers


def _two(lines: Sequence[str], at: int) -> _Block | None:
    """A table of two columns that begins at a line: the name of the columns, the name of the rows with the columns' labels, then rows."""
    if at + 2 >= len(lines) or ":" in lines[at] or "|" in lines[at]:
        return None
    top, head = lines[at].rstrip("\n"), lines[at + 1].rstrip()
    indented = top.startswith(" ") and len(top.split()) <= 1
    if not indented or not head.strip() or (not top.strip() and not top):
        return None
    left = len(top) - len(top.lstrip()) if top.strip() else len(head) - len(head.lstrip())
    first = _numbers(lines[at + 2])
    width = _width(lines[at + 2], first, left)
    if not width:
        return None
    first = first[-width:]
    labels = _labels(head[left:], [end - left for end, _ in first]) if len(head) > left else None
    if labels is None:
        return None
    rows, cells, row_lines, k = [], [], [], at + 2
    while k < len(lines) and lines[k].strip():
        numbers = _numbers(lines[k])[-width:]
        if len(numbers) < width or [end for end, _ in numbers] != [end for end, _ in first]:
            break
        rows.append(lines[k][:left].strip())
        cells.append(tuple(word for _, word in numbers))
        row_lines.append(k + 1)
        k += 1
    row_name = head[:left].strip() or None
    if row_name is not None and _CELL.fullmatch(row_name):
        return None  # the number of a row: records, not a table
    block = _Block(
        range(at + 1, k + 1),
        row_name,
        top.strip() or None,
        tuple(labels),
        tuple(rows),
        tuple(cells),
        tuple(row_lines),
    )
    more = _two(lines, k) if k < len(lines) and lines[k].strip() else None
    if (
        more is not None and more.rows == block.rows and more.column_name == block.column_name
    ):  # a wide table, folded
        joined = tuple((*one, *other) for one, other in zip(block.cells, more.cells, strict=True))
        return _Block(
            range(at + 1, more.lines[-1] + 1),
            row_name,
            block.column_name,
            (*block.columns, *more.columns),
            block.rows,
            joined,
            block.row_lines,
        )
    if k < len(lines) and lines[k].strip() and _numbers(lines[k]) and more is None:
        return _Block(
            range(at + 1, k + 2),
            row_name,
            block.column_name,
            block.columns,
            (*block.rows, ""),
            (*block.cells, ("",) * width),
            (*block.row_lines, k + 1),
        )
    return block


def _width(line: str, numbers: list[tuple[int, str]], left: int) -> int:
    """How many of the numbers at the end of a row are cells: those right of its labels."""
    return sum(1 for end, word in numbers if end - len(word) >= left)


def _labels(head: str, ends: Sequence[int]) -> list[str] | None:
    """The labels over columns that end at some places; None where they do not fit."""
    starts = [0, *ends]
    labels = [head[one:other].strip() for one, other in pairwise(starts)]
    return labels if all(labels) and len(head) <= ends[-1] else None


def _series(lines: Sequence[str], at: int) -> _Block | None:
    """Counts as pandas prints a series, `value_counts()` first of all: its name, labels each beside a number, then the type of these."""
    end = at + 1
    while (
        end < len(lines)
        and re.fullmatch(r"\S.*\s\d+", lines[end].rstrip())
        and not _SERIES_END.fullmatch(lines[end].strip())
    ):
        end += 1
    last = _SERIES_END.fullmatch(lines[end].strip()) if at + 1 < end < len(lines) else None
    name = lines[at].strip()
    if last is None or re.search(r"\s", name):
        return None
    parts = [line.rstrip().rsplit(None, 1) for line in lines[at + 1 : end]]
    said = (last["name"] or "").strip().lower() in ("count", "size", "n")
    row_name = name or (None if said else last["name"])
    rows, cells = (
        tuple(label.strip() for label, _ in parts),
        tuple((number,) for _, number in parts),
    )
    return _Block(
        range(at + 1, end + 2),
        row_name,
        None,
        (),
        rows,
        cells,
        tuple(range(at + 2, end + 1)),
        program="pandas",
        said=said,
    )


def _one(lines: Sequence[str], at: int) -> _Block | None:
    """A table of one column: its name, its labels, its counts below them, each ending at the same place."""
    if at + 2 >= len(lines):
        return None
    name, labels, counts = (lines[at + k].rstrip() for k in range(3))
    numbers = _numbers(counts)
    if (
        " " in name.strip()
        or ":" in name
        or not numbers
        or len(numbers) != len(_tokens(counts))
        or not all(re.fullmatch(r"\d+", word) for _, word in numbers)
    ):
        return None
    after = lines[at + 3].strip() if at + 3 < len(lines) else ""
    words = _labels(labels, [end for end, _ in numbers])
    if (
        words is None
        or (after and not name.strip())
        or len(words) < 2
        or (name and name.startswith(" "))
    ):
        return None
    cells = tuple((word,) for _, word in numbers)
    # R ends its lines with a blank; where an editor cut it off nothing tells the two apart.
    either_way = (
        not lines[at + 1].endswith(" ")
        and len(words) == 2
        and re.fullmatch(r"\S+\s+\d+", labels) is not None
        and re.fullmatch(r"\S+\s+\d+", counts) is not None
    )
    return _Block(
        range(at + 1, at + 4),
        name.strip() or None,
        None,
        (),
        tuple(words),
        cells,
        (at + 3,) * len(cells),
        either_way=either_way,
    )


def _layers(lines: Sequence[str], at: int) -> tuple[Piece, int]:
    """The tables of a third column's levels, one after the other, and the line after them."""
    start, blocks, fault = at, list[tuple[str | None, str, _Block]](), 0
    while at < len(lines):
        layer = _LAYER.fullmatch(lines[at].rstrip())
        if layer is None:
            break
        k = at + 1
        while k < len(lines) and lines[k].strip() == "" and not lines[k].startswith(" "):
            k += 1
        block = _two(lines, k)
        if block is None:
            fault = at + 1
            at = min(k + 1, len(lines))
            break
        blocks.append((layer["name"], layer["level"], block))
        at = block.lines[-1]
        while at < len(lines) and not lines[at].strip():
            at += 1
    end = max(at, start + 1)
    return Piece(
        range(start + 1, end + 1), "R", partial(_layered, blocks, fault or start + 1, bool(fault))
    ), end


def _layered(
    blocks: Sequence[tuple[str | None, str, _Block]], line: int, cut: bool, given: Help
) -> Facts:
    if cut or not blocks:
        raise LineError(line, "a layer of the table has no rows: the file is cut.")
    names, _, first = blocks[0]
    if any((one.rows, one.columns) != (first.rows, first.columns) for _, _, one in blocks):
        raise LineError(
            blocks[-1][2].lines[0], "the layers of the table have different rows or columns."
        )
    if given.by is not None and len(given.by) != 3:
        raise LineError(
            line,
            f"the table crosses 3 columns, and outputs.toml names {len(given.by)}: by = [...].",
        )
    by = tuple(
        given.by
        or (first.row_name or UNNAMED[0], first.column_name or UNNAMED[1], names or UNNAMED[2])
    )
    cells: dict[tuple[str, ...], Any] = {}
    for _, level, block in blocks:
        plain = table_facts(
            Crossed("r", "c", block.rows, block.columns, block.cells, block.row_lines, counts=True),
            given.model_copy(update={"by": None, "totals": False}),
        )
        if not isinstance(plain, PrintedTable) or plain.percentages:
            raise OpenQuestionError("R: a table of three columns.", "Its numbers are no counts.")
        cells |= {(*key, level): cell for key, cell in plain.cells.items()}
    labels = (tuple(first.rows), tuple(first.columns), tuple(level for _, level, _ in blocks))
    return PrintedTable(
        by,
        labels,
        cells,
        False,
        None,
        given.threshold,
        given.base,
        given.where,
        bool(given.kind),
        bool(given.kind),
    )


READERS.register(TextReader("r tables", "table(), xtabs() and prop.table() in R", read_r_tables))
