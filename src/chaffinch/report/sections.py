"""What a page is made of: sections of paragraphs, tables and figures, as plain frozen data that the template walks.

A stage that has more to say adds sections; the template stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from markupsafe import Markup

from .._base.text import count_noun


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of plain text."""

    text: str
    tone: str = ""
    """`lead` for the sentence one reads first, `alarm` for what must not be missed, `strong` for a name over what follows, `note` for small
    print, `code` for a command."""


@dataclass(frozen=True)
class Listing:
    """A list of plain sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """A cell of a table in two voices: a text, and a smaller note below it."""

    text: str
    note: str = ""
    word: str = ""
    """A verdict's word, shown as a badge before the text."""


@dataclass(frozen=True)
class Heading:
    """A row across a table that names the rows below it."""

    text: str


Row = tuple[str | Cell, ...] | Heading


@dataclass(frozen=True)
class Col:
    """A column of a table: its head, and what of a row stands in it: a field by its name, what a function returns, or without either the row's own cell."""

    head: str
    value: str | Callable[[Any], str | Cell] | None = None
    look: ClassVar[str] = ""
    """How the template sets it."""


class Num(Col):
    """A column of numbers, set flush right."""

    look = "num"


class Wide(Col):
    """A column of sentences."""

    look = "wide"


class Short(Col):
    """A column of words that are never broken; in a card its head stands before them."""

    look = "short"


@dataclass(frozen=True)
class PageTable:
    """A table: the first cell of each row names the row. `cards`: whether rows become cards on a narrow screen, instead of a table that scrolls."""

    caption: str
    columns: tuple[Col, ...]
    rows: tuple[Row, ...]
    cards: bool = False

    @property
    def head(self) -> tuple[str, ...]:
        """The heads of the columns."""
        return tuple(column.head for column in self.columns)

    @property
    def length(self) -> int:
        """How many rows there are; headings are none."""
        return sum(not isinstance(row, Heading) for row in self.rows)

    def __post_init__(self) -> None:
        for row in self.rows:
            if not isinstance(row, Heading) and len(row) != len(self.columns):
                raise ValueError(
                    f"Table '{self.caption}' has {count_noun(len(self.columns), 'column')}. Got a row of {len(row)}."
                )


def page_table(caption: str, rows: Iterable[Any], *columns: Col, cards: bool = False) -> PageTable:
    """Return a table with a row for each of some results, as its columns say; headings stay.

    Examples
    --------
    >>> page_table("Ages", [(1, "old")], Col("Name", lambda row: row[1]), Num("Years", lambda row: f"{row[0]}")).rows
    (('old', '1'),)
    """
    return PageTable(
        caption,
        columns,
        tuple(row if isinstance(row, Heading) else _cells(row, columns) for row in rows),
        cards,
    )


def _cells(row: Any, columns: Sequence[Col]) -> tuple[str | Cell, ...]:
    if all(column.value is None for column in columns):
        return tuple(row)
    return tuple(
        column.value(row)
        if callable(column.value)
        else row[index]
        if column.value is None
        else getattr(row, column.value)
        for index, column in enumerate(columns)
    )


@dataclass(frozen=True)
class Figure:
    """Pictures under one caption, and the numbers they show, behind a line that opens them.

    Parameters
    ----------
    open
        Whether the numbers stand open from the start.
    across
        How many of the pictures, from the first, share a line in print.
    """

    id: str
    caption: str
    pictures: tuple[Markup, ...]
    table: PageTable
    note: str = ""
    open: bool = False
    across: int = 1


@dataclass(frozen=True)
class Grid:
    """Small tables side by side."""

    tables: tuple[PageTable, ...]


@dataclass(frozen=True)
class Details:
    """Blocks behind a line that opens them."""

    summary: str
    blocks: tuple[Paragraph | Listing | PageTable | Grid | Figure, ...]


Block = Paragraph | Listing | PageTable | Figure | Grid | Details


@dataclass(frozen=True)
class Section:
    """A part of a page: what it says under a heading."""

    id: str
    title: str
    blocks: tuple[Block, ...]
    folded: bool = False
    """Whether it stands behind a line that opens it, on paper too."""


def filled_sections(parts: Iterable[tuple[str, str, Iterable[Block]]]) -> Iterator[Section]:
    """Yield a section for each id, title and blocks; none where there are no blocks."""
    for key, title, blocks in parts:
        if shown_blocks := tuple(blocks):
            yield Section(key, title, shown_blocks)


@dataclass(frozen=True)
class PageAnswer:
    """A question that a page opens with, its answer in a sentence, a small picture, and what else to know in small print."""

    question: str
    sentence: str
    picture: Markup | None = None
    notes: tuple[str, ...] = ()
    word: str = ""
