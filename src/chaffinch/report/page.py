"""Sections to one HTML file: no script, nothing from elsewhere, readable in print, small whatever the data.

A report is made by `report_of` and rendered by `render`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from .._base.errors import InputError
from .._base.results import INSIDE, Leaving, write_page
from .._base.text import shown
from .about import closing_sections, header, synthesis_section
from .decision import decision_of
from .decision_box import answers_of
from .leaving import leaving_of, promises, public_answers, public_facts, public_sections
from .promise import promise_of, promise_section
from .result import ReportResult
from .risk import risk_facts, risk_sections
from .risk_verdict import risk_verdict_section
from .sections import PageAnswer, Paragraph, Section
from .tradeoff import tradeoff_section
from .utility import look_sections, utility_sections, verdict_section
from .verdict_words import words_section
from .why import Choices, why_section

if TYPE_CHECKING:
    from jinja2 import Template


POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
LARGEST = 1_900_000
PRINTED_ROWS = 60
OPEN = frozenset(("promise", "tradeoff", "look-columns", "look-pairs", "why", "synthesis"))
"""Sections of a report that stand open; all others are behind a line that opens them, on paper too."""
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


def render(
    report: ReportResult | Mapping[str, Any],
    *,
    network_svg: str | None = None,
    public: bool = False,
) -> str:
    """Return a report as one HTML file: what is promised, the verdict, then where it is good and where it is bad, then figures.

    Parameters
    ----------
    report
        As `report_of` returns it, or the plain data that `report.json` holds.
    network_svg
        The picture of the network that made the table, as `model.plot()` draws it; left out with a word in
        its place where it would make the page too large.
    public
        Whether to return the variant that may leave: without distributions of the original, and where privacy was promised without
        any figure that was taken from it.

    Raises
    ------
    InputError
        If the data are no report, or the picture holds more than shapes and text.
    """
    result = report if isinstance(report, ReportResult) else ReportResult.from_dict(report)
    picture = _checked_picture(network_svg)
    html = _rendered(result, picture, public)
    if picture is not None and len(html.encode()) > LARGEST:
        html = _rendered(
            result,
            Markup(
                "<p>The picture of this network is too large for a page. Its edges are in the table.</p>"
            ),
            public,
        )
    return html


def write_report(report: ReportResult, html: Path | None, public: Path | None) -> None:
    """Write a report's page to be kept inside, the variant that may leave, or both, wherever a path is given."""
    for path, may_leave in ((html, False), (public, True)):
        if path is not None:
            write_page(path, render(report, public=may_leave), public=may_leave)


def _rendered(report: ReportResult, picture: Markup | None, public: bool) -> str:
    promise = promise_of(report.synthesis)
    verdicts = [verdict_section(report.rows)] if report.rows else []
    verdicts += [risk_verdict_section(report.risk_rows, report.risk)] if report.risk_rows else []
    if verdicts and promise is not None:
        line = Paragraph(f"Privacy: {promise.line.rstrip('.')}.", "lead")
        verdicts[0] = replace(verdicts[0], blocks=(line, *verdicts[0].blocks))
    promised = promise_section(promise, public=public)
    looks = (
        look_sections(report.utility, Choices(report.synthesis))
        if report.utility is not None
        else ()
    )
    synthesis = synthesis_section(report.synthesis, picture, public=public)
    first = (promised, tradeoff_section(report), *looks, why_section(report), synthesis)
    sections: list[Section] = [*(section for section in first if section is not None), *verdicts]
    sections += (
        utility_sections(report.utility, report.threshold) if report.utility is not None else ()
    )
    sections += risk_sections(report.risk, report.threshold) if report.risk is not None else ()
    if verdicts:
        sections.append(words_section(utility=bool(report.rows), risk=bool(report.risk_rows)))
    sections += closing_sections(report)
    facts = (*header(report), *(risk_facts(report.risk) if report.risk is not None else ()))
    decision = decision_of(report)
    alarms = [promise.alarm] if promise else []
    if (
        decision.limit is not None
        and not decision.limit.passed
        and not (public and promises(report))
    ):
        alarms.append(decision.limit.sentence)
    answers = answers_of(decision)
    if public:
        sections, answers = (
            list(public_sections(report, sections)),
            public_answers(report, decision, answers),
        )
        facts = public_facts(report, facts)
    return page(
        report.title or "Report",
        [replace(section, folded=section.id not in OPEN) for section in sections],
        facts=facts,
        alarm=" ".join(words for words in alarms if words),
        answers=answers,
        leaving=leaving_of(report, public=public),
    )


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
        title=shown(title, 120),
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
    every = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    every.filters["kind"] = lambda block: type(block).__name__
    return every.get_template("page.html.j2")


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
                f"A picture in a report holds shapes and text only. Got an element '{shown(tag, 30)}'."
            )
        for name, value in attrs:
            if self.REFUSED.search(name) or self.OUTSIDE.search(value or ""):
                raise InputError(
                    f"A picture in a report holds shapes and text only. Got an attribute '{shown(name, 30)}'."
                )

    def handle_decl(self, data: str) -> None:
        raise InputError(
            "A picture in a report is a plain <svg> element. Got a declaration or a comment in it."
        )

    unknown_decl = handle_pi = handle_comment = handle_decl


def _checked_picture(svg: str | None) -> Markup | None:
    """Return a picture that may stand in the page."""
    if svg is None:
        return None
    parser = _Shapes()
    parser.feed(svg)
    parser.close()
    if not svg.lstrip().startswith("<svg"):
        raise InputError("A picture in a report is a plain <svg> element. Got something else.")
    return Markup(svg.strip())  # noqa: S704  checked above: shapes and text only
