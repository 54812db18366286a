"""A plain HTML table: what notebooks show for a result. Pictures live in `report/`."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

__all__ = ["html_table"]


def html_table(head: Sequence[str], rows: Sequence[Sequence[object]], *, caption: str = "") -> str:
    """Return an HTML table with every cell escaped.

    Examples
    --------
    >>> html_table(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    top = "".join(f"<th>{escape(str(cell))}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{title}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
