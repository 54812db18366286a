"""Sections to one HTML file, or to a part of a page of ours: no script, nothing from elsewhere, readable in print, small whatever the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from markupsafe import Markup

from .._base.results import INSIDE, Leaving
from .._base.text import display_name
from .sections import PageAnswer, Section

if TYPE_CHECKING:
    from jinja2 import Environment

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


@dataclass(frozen=True)
class PageContent:
    """What a page shows.

    Parameters
    ----------
    facts
        Names and words that stand at the end.
    alarm
        What has to be said before all other findings, above the title.
    answers
        What one decides by: questions with a sentence and a small picture each, below the title.
    leaving
        The first line: whether the page may leave, and why.
    """

    title: str
    sections: Sequence[Section]
    facts: Sequence[tuple[str, str]] = ()
    alarm: str = ""
    answers: Sequence[PageAnswer] = ()
    leaving: Leaving = INSIDE

    @cached_property
    def html(self) -> str:
        """The page as one HTML file."""
        return self._rendered("page.html.j2", embedded=False)

    @cached_property
    def fragment(self) -> Markup:
        """What stands between the head and the foot of the page, to be shown within another: without its first line, which that one says."""
        return Markup(self._rendered("content.html.j2", embedded=True))  # noqa: S704  the template escapes all words

    def _rendered(self, template: str, *, embedded: bool) -> str:
        content = {**vars(self), "title": display_name(self.title, 120)}
        html = (
            _environment()
            .get_template(template)
            .render(content, policy=POLICY, printed_rows=PRINTED_ROWS, embedded=embedded)
        )
        return html.translate(UNSEEN)


@cache
def _environment() -> Environment:
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
    return environment
