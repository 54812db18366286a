"""What a page is made of: sections of paragraphs, tables and figures, as plain frozen data that the template walks.

A stage that has more to say adds sections; the template stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

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
class PageTable:
    """A table: the first cell of each row names the row.

    Parameters
    ----------
    numbers
        Places of columns that hold numbers, set flush right.
    wide
        Places of columns that hold sentences.
    short
        Places of columns that hold a word, which is never broken; in a card their heads stand before them.
    cards
        Whether rows become cards on a narrow screen, instead of a table that scrolls.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[Row, ...]
    numbers: frozenset[int] = frozenset()
    wide: frozenset[int] = frozenset()
    short: frozenset[int] = frozenset()
    cards: bool = False

    @property
    def length(self) -> int:
        """How many rows there are; headings are none."""
        return sum(not isinstance(row, Heading) for row in self.rows)

    def __post_init__(self) -> None:
        for row in self.rows:
            if not isinstance(row, Heading) and len(row) != len(self.head):
                raise ValueError(
                    f"Table '{self.caption}' has {count_noun(len(self.head), 'column')}. Got a row of {len(row)}."
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


@dataclass(frozen=True)
class PageAnswer:
    """A question that a page opens with, its answer in a sentence, a small picture, and what else to know in small print."""

    question: str
    sentence: str
    picture: Markup | None = None
    notes: tuple[str, ...] = ()
    word: str = ""
