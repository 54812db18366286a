"""What is printed: lines and tables that fit the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def show_lines(*lines: str) -> None:
    """Print sentences, a line each, broken where the screen ends; empty ones are left out."""
    screen = console()
    for line in lines:
        if line:
            screen.print(line, markup=False, soft_wrap=False)


def show_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Console:
    """Print a table, without a heading where there is none, and return where it was printed.

    What is wider than the screen is printed in parts below each other, the first column in each: words may break, numbers never.
    """
    from rich.table import Table
    from rich.text import Text

    screen, lines = console(), [tuple(row) for row in rows]
    parts = columns_that_fit(head, lines, screen.width)
    for number, part in enumerate(parts):
        if number:
            screen.print()
        table = Table(box=None, pad_edge=False, show_header=bool(head))
        for j in part:
            table.add_column(Text(head[j]) if head else "", overflow="fold")
        for line in lines:
            table.add_row(
                *(Text(line[j]) for j in part)
            )  # names may hold brackets, which are markup
        screen.print(table)
    return screen


def columns_that_fit(
    head: Sequence[str], rows: Sequence[Sequence[str]], width: int
) -> list[list[int]]:
    """Return the columns of each part of a table that may be so wide: all in one where they fit, else the first column in every part.

    Examples
    --------
    >>> columns_that_fit(["a", "b", "c"], [["one", "0.1234", "0.5678"]], 14), columns_that_fit(["a", "b"], [["one", "0.1"]], 80)
    ([[0, 1], [0, 2]], [[0, 1]])
    """
    n = len(head) or len(rows[0]) if head or rows else 0
    cells = [max((len(row[j]) for row in rows), default=0) for j in range(n)]
    names = [len(head[j]) if head else 0 for j in range(n)]
    if sum(map(max, zip(cells, names, strict=True))) + 2 * (n - 1) <= width:
        return [list(range(n))]
    words = [
        max(map(len, head[j].split()), default=0) if head else 0 for j in range(n)
    ]  # a heading may break between words
    most = max(width // 3, 1)
    needs = [min(max(cells[j], words[j]), most) for j in range(n)]
    parts, used = [[0]], needs[0]
    for j in range(1, n):
        if used + 2 + needs[j] > width and len(parts[-1]) > 1:
            parts.append([0])
            used = needs[0]
        parts[-1].append(j)
        used += 2 + needs[j]
    return parts


def console() -> Console:
    """Return where tables are printed: as wide as the terminal or COLUMNS say, or 160 characters where neither does."""
    from rich.console import Console

    return Console(
        width=None if sys.stdout.isatty() or os.environ.get("COLUMNS") else 160, highlight=False
    )


def number(value: float | None) -> str:
    """Return a number for a table on the screen: three digits, nothing where there is none.

    Examples
    --------
    >>> number(0.123456), number(None)
    ('0.123', '')
    """
    return "" if value is None else f"{value:.3g}"
