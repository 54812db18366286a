"""How a table lies in a text file or sheet: where its names stand, what is above and below them,
and what they are.

Names are not records. A record that is taken for the names is lost, and its cells stand in every
message and file; so where a first row may be either, nothing is guessed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..._base.errors import InputError, join_names
from ..schema import Note

LOOKED_AT = 200
"""Rows at the top of a file that are looked at to find the names of its columns."""

Cells = Sequence[str]

_NUMBER = re.compile(r"[+-]?([0-9]+([.,' ][0-9]+)*|[.,][0-9]+)([eE][+-]?[0-9]{1,3})?%?")
_WHOLE = re.compile(r"[0-9]{1,4}")
_DATE = re.compile(
    r"[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}([ T][0-9:.Z+]+)?|[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?"
)
_NOTHING = frozenset(
    ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "?", ".", "-")
)


@dataclass(frozen=True)
class FileLayout:
    """How a table lies in its file: given or found, so that it can be shown, and another table be
    written the same way.

    Parameters
    ----------
    format
        The name of the file format: "csv".
    table
        The sheet, the table of a database or the member of an archive; empty where a file has one
        table only.
    encoding, delimiter
        Of text files; empty elsewhere.
    header
        Whether a line has the names of columns.
    line
        The number of that line, or of the first record without one.
    units
        Whether a line of units follows the names.
    comment
        The sign of lines that were left out; empty where none were.
    inferred
        What of this was found from the file and is not what files usually have; the rest was given,
        or is usual.
    """

    format: str = ""
    table: str = ""
    encoding: str = ""
    delimiter: str = ""
    header: bool = True
    line: int = 1
    units: bool = False
    comment: str = ""
    inferred: tuple[str, ...] = ()


@dataclass(frozen=True)
class Names:
    """The names of columns, how many rows at the top are no records, and what should be said of
    that.

    `row`: which row has the names, from 0; None where none has. `skip`: rows before the first
    record. `units`: what the row of units says.
    """

    names: tuple[str, ...]
    row: int | None
    skip: int
    units: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    inferred: tuple[str, ...] = ()


def plain_names(rows: Sequence[Cells], header: str | int | None, what: str) -> Names:
    """Return the names where `header` says they are, in the first row unless it says otherwise. No
    record is looked at, but counted in cells.
    """
    row = header - 1 if isinstance(header, int) else 0
    if row >= len(rows):
        raise InputError(f"{what} has no line {row + 1}: the names of columns cannot stand there.")
    if header == "no":
        names, notes = distinct_names([""] * len(rows[0]), numbered=True)
        return Names(names, None, 0, notes=notes)
    names, notes = distinct_names(rows[row])
    if header != "units":
        return Names(names, row, row + 1, notes=notes)
    units = tuple(rows[row + 1]) if row + 1 < len(rows) else ()
    return Names(names, row, row + 2, units, notes)


def find_names(
    rows: Sequence[Cells], header: str | int | None, what: str, *, above: int = 0
) -> Names:
    """Return the names of the columns from the rows at the top of a file, as found where `header`
    does not say; raise where they leave a doubt.

    `above` is how many lines there are above these rows.
    """
    if header is not None:
        return plain_names(rows, header, what)
    top, padded = _first_row(rows)
    notes, settings = [], []
    if top:
        notes.append(
            Note(
                "",
                "header",
                f"The names of columns stand in line {above + top + 1}; what is above them is left out.",
            )
        )
        settings.append("line")
    first, below = rows[top], [row for row in rows[top + 1 :] if any(cell.strip() for cell in row)]
    if padded:
        first = ["", *first]
    elif _is_record(first, below, what):
        names, renamed = distinct_names([""] * len(first), numbered=True)
        return Names(names, None, top, notes=(*notes, *renamed), inferred=(*settings, "header"))
    names, renamed = distinct_names(first)
    units: tuple[str, ...] = ()
    if below and _are_units(below[0], below[1:]):
        units = tuple(below[0])
        notes.append(
            Note(
                "",
                "units",
                "The line after the names has units: it is no record, and is not written again.",
            )
        )
        settings.append("units")
    return Names(names, top, top + 1 + bool(units), units, (*notes, *renamed), tuple(settings))


def distinct_names(
    cells: Cells, *, numbered: bool = False
) -> tuple[tuple[str, ...], tuple[Note, ...]]:
    """Return names that differ from each other and are not blank, and what was changed to that end.

    Examples
    --------
    >>> distinct_names(["a", "", "a"])[0]
    ('a', 'column_2', 'a_2')
    """
    if numbered:
        sentence = (
            f"No line has the names of columns: they are called column_1 to column_{len(cells)}."
        )
        return tuple(f"column_{i}" for i in range(1, len(cells) + 1)), (
            Note("", "header", sentence),
        )
    given, names = set(cells), []
    changes: dict[str, list[str]] = {"blank": [], "double": []}
    seen: set[str] = set()
    for position, cell in enumerate(cells, start=1):
        name = cell
        if not cell.strip():
            name = _free(f"column_{position}", given | seen)
            changes["blank"].append(name)
        elif cell in seen:
            number = 2
            while (name := f"{cell}_{number}") in given or name in seen:
                number += 1
            changes["double"].append(name)
        seen.add(name)
        names.append(name)
    sentences = {
        "blank": "Columns without a name are called {}.",
        "double": "Columns with a name that another has are called {}.",
    }
    notes = (
        Note("", "names", sentences[how].format(join_names(new)))
        for how, new in changes.items()
        if new
    )
    return tuple(names), tuple(notes)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _first_row(rows: Sequence[Cells]) -> tuple[int, bool]:
    """Return which row is the first of the table, and whether it lacks the name of the first
    column, as R writes row names.

    Rows above it have fewer cells with something in them than nearly all rows have cells.
    """
    widths = [len(row) for row in rows]
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    usual = Counter(
        width for width, cells in zip(widths, filled, strict=True) if cells
    ).most_common(1)
    width = usual[0][0] if usual else 0
    if width < 2 or len(rows) < 3:
        return 0, False
    if widths[0] == width - 1 >= 2 and all(each == width for each in widths[1:]):
        return 0, True
    if widths[0] == width and 2 * filled[0] > width:
        return 0, False
    for i, (each, cells) in enumerate(zip(widths, filled, strict=True)):
        if each == width and 2 * cells > width:
            few = all(2 * above <= width for above in filled[:i])
            return (i, False) if few else (0, False)
    return 0, False


def _is_value(cell: str) -> bool:
    """Whether a cell is spelled as a number, a date or a time."""
    bare = cell.strip()
    return bool(_NUMBER.fullmatch(bare) or _DATE.fullmatch(bare))


def _is_record(first: Cells, below: Sequence[Cells], what: str) -> bool:
    """Return whether a first row is a record; raise where it may be one and may be names.

    Words that stand in their column again are values and not names. Numbers and dates alone are a
    record, but for whole numbers that rise by one step: those may be years, waves, the numbers of
    columns.
    """
    values = [cell for cell in first if _is_value(cell)]
    labels = [
        (index, cell)
        for index, cell in enumerate(first)
        if cell.strip() not in _NOTHING and not _is_value(cell)
    ]
    again = [
        index
        for index, cell in labels
        if any(len(row) > index and row[index] == cell for row in below)
    ]
    if not values and not labels:
        raise _doubt(what)
    if not values:
        if len(again) == len(labels) > 1:
            return True
        if len(labels) > 1 and 2 * len(again) > len(labels):
            raise _doubt(what)
        return False
    if again:
        return True
    rising = all(_WHOLE.fullmatch(cell.strip()) for cell in values) and _rise(values)
    if rising and len(values) > (1 if labels else 3):
        return False
    if labels or rising:
        raise _doubt(what)
    return True


def _doubt(what: str) -> InputError:
    return InputError(
        f"The first line of {what} may have the names of columns or be a record. Say which: --header yes or --header no (header=True or "
        "header=False in Python)."
    )


def _rise(values: Sequence[str]) -> bool:
    """Whether whole numbers rise by one step."""
    numbers = [int(cell) for cell in values]
    steps = {b - a for a, b in pairwise(numbers)}
    return len(numbers) == 1 or (len(steps) == 1 and steps.pop() > 0)


def _are_units(row: Cells, below: Sequence[Cells]) -> bool:
    """Whether a row has words, or nothing, above columns of numbers, of which there are two or
    more, or one with a unit in brackets.
    """
    if len(below) < 3:
        return False
    n_labels = 0
    bracketed = False
    for index, cell in enumerate(row):
        cells = [each[index].strip() for each in below if len(each) > index]
        numbers = [each for each in cells if _is_value(each)]
        if not numbers or any(not _is_value(each) and each not in _NOTHING for each in cells):
            continue
        bare = cell.strip()
        if _is_value(bare) or (bare in _NOTHING and bare):
            return False
        n_labels += bool(bare)
        bracketed = bracketed or bool(re.fullmatch(r"[\[(].{1,20}[\])]", bare))
    return n_labels > 1 or (n_labels == 1 and bracketed)
