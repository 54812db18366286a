"""Sections to one HTML file: no script, nothing from elsewhere, readable in print, small whatever the data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from markupsafe import Markup

from .._base.errors import InputError
from .._base.results import INSIDE, Leaving
from .._base.text import display_name
from .sections import PageAnswer, Section

if TYPE_CHECKING:
    from jinja2 import Template

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
PRINTED_ROWS = 60
UNSEEN = dict.fromkeys(
    [
        *range(9),
        11,
        12,
        *range(14, 32),
        *range(127, 160),
        *range(0x202A, 0x202F),
        *range(0xD800, 0xE000),
    ],
    "\ufffd",
)
"""Characters that no page may hold, or that turn the words after them, wherever they come from."""


def page(
    title: str,
    sections: Iterable[Section],
    *,
    facts: Sequence[tuple[str, str]] = (),
    alarm: str = "",
    answers: Sequence[PageAnswer] = (),
    leaving: Leaving = INSIDE,
) -> str:
    """Return sections as one HTML file, whose first line says whether it may leave, and why.

    Parameters
    ----------
    facts
        Names and words that stand at the end.
    alarm
        What has to be said before all other findings, above the title.
    answers
        What one decides by: questions with a sentence and a small picture each, below the title.
    """
    html = _template().render(
        title=display_name(title, 120),
        sections=tuple(sections),
        facts=facts,
        policy=POLICY,
        printed_rows=PRINTED_ROWS,
        alarm=alarm,
        answers=tuple(answers),
        leaving=leaving,
    )
    return html.translate(UNSEEN)


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("chaffinch.report", "templates")
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["kind"] = lambda block: type(block).__name__
    return environment.get_template("page.html.j2")


class _Shapes(HTMLParser):
    """Lets shapes and text pass, and refuses what could call, run or link."""

    TAGS = frozenset(
        (
            "svg",
            "title",
            "desc",
            "g",
            "rect",
            "path",
            "text",
            "tspan",
            "circle",
            "line",
            "polyline",
            "polygon",
            "ellipse",
            "defs",
            "marker",
        )
    )
    REFUSED = re.compile(r"^on|href$|^style$|^src")
    OUTSIDE = re.compile(r"url\(\s*[^#\s]|javascript:", re.IGNORECASE)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.TAGS:
            raise InputError(
                f"A picture in a report holds shapes and text only. Got an element '{display_name(tag, 30)}'."
            )
        for name, value in attrs:
            if self.REFUSED.search(name) or self.OUTSIDE.search(value or ""):
                raise InputError(
                    f"A picture in a report holds shapes and text only. Got an attribute '{display_name(name, 30)}'."
                )

    def handle_decl(self, data: str) -> None:
        raise InputError(
            "A picture in a report is a plain <svg> element. Got a declaration or a comment in it."
        )

    unknown_decl = handle_pi = handle_comment = handle_decl


def checked_picture(svg: str | None) -> Markup | None:
    """Return a picture that may stand in the page."""
    if svg is None:
        return None
    parser = _Shapes()
    parser.feed(svg)
    parser.close()
    if not svg.lstrip().startswith("<svg"):
        raise InputError("A picture in a report is a plain <svg> element. Got something else.")
    return Markup(svg.strip())  # noqa: S704  checked above: shapes and text only
