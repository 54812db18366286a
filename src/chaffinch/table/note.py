"""What the reader of a table should know of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .._base.errors import listed

SHOWN = 10
"""Columns of which the same is said line by line; of more, they are named in one."""


@dataclass(frozen=True)
class Note:
    """Something the reader of a table should know of a column: what was dropped, pooled or changed, and why.

    Without a column it is said of the whole table.
    """

    column: str
    what: str
    sentence: str

    def __str__(self) -> str:
        return f"Column '{self.column}': {self.sentence}" if self.column else self.sentence


def note_lines(notes: Iterable[Note]) -> list[str]:
    """Return notes as lines for a screen, in their order: what is said alike of more than ten columns is one line, where the first of them stands.

    Examples
    --------
    >>> for line in note_lines([Note(f"q{i}", "constant", "it has a single value.") for i in range(800)]):
    ...     print(line)
    Columns 'q0', 'q1', 'q2', 'q3', 'q4', 'q5', 'q6', 'q7', 'q8', 'q9' and 790 more: it has a single value.
    """
    every = list(notes)
    alike: dict[tuple[str, str], list[str]] = {}
    for note in every:
        alike.setdefault((note.what, note.sentence), []).append(note.column)
    lines = list[str]()
    for note in every:
        columns = alike[note.what, note.sentence]
        if len(columns) <= SHOWN or not note.column:
            lines.append(str(note))
        elif note.column == columns[0]:
            names = listed((f"'{column}'" for column in columns), most=SHOWN)
            lines.append(f"Columns {names}: {note.sentence}")
    return lines
