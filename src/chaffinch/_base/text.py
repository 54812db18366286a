"""A table as plain text, for terminals and for results that show themselves."""

from __future__ import annotations

from collections.abc import Sequence


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with aligned columns, as wide as its longest words.

    Examples
    --------
    >>> print(text_table(["name", "value"], [["mu", "0.1"], ["delta", "0.25"]]))
    name   value
    mu     0.1
    delta  0.25
    """
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[j]) for line in lines) for j in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
