"""What the reader of a table should know of it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Note"]


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
