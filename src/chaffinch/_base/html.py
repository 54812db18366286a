"""A plain HTML table, what notebooks show for a result, and how every page is written. Pictures live in `report/`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .safe_files import write_text

KEEP_INSIDE = "Keep inside."
"""The first words of a page that is as confidential as the data."""

MAY_LEAVE = "May leave."
"""The first words of a page that holds only what may leave."""


@dataclass(frozen=True)
class Leaving:
    """Whether a page may leave, and why: its first line."""

    may: bool = False
    why: str = "Its figures are taken from the data, exactly and without noise; a person reviews what of it is published."

    @property
    def word(self) -> str:
        """The first words."""
        return MAY_LEAVE if self.may else KEEP_INSIDE


INSIDE = Leaving()
"""The first line of a page on data, unless it says more."""


def html_table(head: Sequence[str], rows: Sequence[Sequence[object]], *, caption: str = "") -> str:
    """Return an HTML table with every cell escaped.

    Examples
    --------
    >>> html_table(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    top = "".join(f"<th>{escape(str(cell))}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table>{title}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def html_page(title: str, body: str) -> str:
    """Return a whole HTML page around a body that is already HTML: no script, nothing from elsewhere, to be kept inside."""
    style = (
        "body{font-family:system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#222}"
        "table{border-collapse:collapse}th,td{padding:.25rem .6rem;border-bottom:1px solid #ccc;text-align:left;"
        "vertical-align:top}caption{text-align:left;font-weight:600;padding:.5rem 0}"
    )
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{style}</style></head>'
        f"<body><p><strong>{KEEP_INSIDE}</strong> {escape(INSIDE.why)}</p><h1>{escape(title)}</h1>{body}</body></html>\n"
    )


def write_page(
    path: str | os.PathLike[str], html: str, *, public: bool = False, overwrite: bool = False
) -> None:
    """Write a page to a file, wholly or not at all, over one that is there only if it may be overwritten: readable by its owner alone, unless it is `public`, made to leave."""
    write_text(path, html, mode=0o644 if public else 0o600, overwrite=overwrite)
