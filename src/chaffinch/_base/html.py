"""A plain HTML table, what notebooks show for a result, and how every page is written. Pictures live in `report/`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape

from .safe_files import write_text

__all__ = ["KEEP_INSIDE", "html_page", "html_table", "write_page"]

KEEP_INSIDE = "Keep inside until reviewed."
"""The first words of every page that Chaffinch writes: a page compares with the original, and a person decides whether it may leave."""


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
        f"<body><p><strong>{KEEP_INSIDE}</strong></p><h1>{escape(title)}</h1>{body}</body></html>\n"
    )


def write_page(path: str | os.PathLike[str], html: str) -> None:
    """Write a page to a file, wholly or not at all, readable by its owner alone."""
    write_text(path, html, mode=0o600)
