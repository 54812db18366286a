"""The report on a synthetic table as one page: what is promised, the verdicts, where it is good and where it is bad, then figures and what they do not show.

One rule about leaving: a page with distributions of the original, or with figures that were taken from it, is kept inside. Its public variant holds measures over
many people with masked counts, as `--json` does, and no distribution, no level, no note, no command and no seed; where privacy was promised, no figure that was
taken from the original at all, since the promise covers none.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from .._base.results import Leaving
from .._base.text import count_noun, display_name, number, percent
from ..risk.finding import ALPHA
from ..utility.result import SHARES, TableSummary, UtilityAbout, UtilityResult, metrics_of, rules
from .decision import Decision, answers_of
from .heads import NOT_TESTED, looks_picture
from .page import PageContent
from .promise import promise_section
from .result import ReportResult
from .risk import findings_section, risk_facts, risk_sections, setting_words
from .sections import (
    Block,
    Cell,
    Col,
    Details,
    Heading,
    Listing,
    Num,
    PageAnswer,
    PageTable,
    Paragraph,
    Row,
    Section,
    Short,
    Wide,
    page_table,
)
from .synthesis import SEED, Choices, network_picture, synthesis_section, why_section
from .text import RISK_RULES, UTILITY_ALONE, UTILITY_BESIDE, UTILITY_LIMITS
from .tradeoff import tradeoff_section
from .utility import look_sections, utility_sections, verdict_section

LARGEST = 1_900_000
"""Bytes of a page with the picture of its network."""

TOO_LARGE = Markup(
    "<p>The picture of this network is too large for a page. Its edges are in the table.</p>"
)
OPEN = frozenset(("promise", "tradeoff", "look-columns", "look-pairs", "why", "synthesis"))
"""Sections of a report that stand open; all others are behind a line that opens them, on paper too."""

MOST_NOTES = 40
MOST_LISTED = 500


def render(report: ReportResult | Mapping[str, Any], *, public: bool = False) -> str:
    """Return a report as one HTML file: what is promised, the verdict, then where it is good and where it is bad, then figures.

    Parameters
    ----------
    report
        As `report_of` returns it, or the plain data that `report.json` holds.
    public
        Whether to return the variant that may leave: without distributions of the original, and where privacy was promised without
        any figure that was taken from it.

    Raises
    ------
    InputError
        If the data are no report.
    """
    result = report if isinstance(report, ReportResult) else ReportResult.from_dict(report)
    return release_page(result, public=public).html


def release_page(
    report: ReportResult, *, public: bool = False, link_of: Callable[[str], str] | None = None
) -> PageContent:
    """Return the page of a report, or its `public` variant; with `link_of`, columns in the picture of the network lead to the addresses that it returns.

    A picture of the network that would make the page too large is left out with a word in its place.
    """
    picture = network_picture(report.synthesis, link_of)
    content = _page(report, picture, public)
    if picture is None or len(content.html.encode()) <= LARGEST:
        return content
    return _page(report, TOO_LARGE, public)


def _page(report: ReportResult, picture: Markup | None, public: bool) -> PageContent:
    promise = report.privacy_promise
    verdicts = [verdict_section(report.rows)] if report.rows else []
    attacked = report.risk is not None and bool(report.risk.findings)
    if report.risk is not None and attacked:
        verdicts.append(findings_section(report.risk))
    if verdicts and promise is not None:
        line = Paragraph(f"Privacy: {promise.line.rstrip('.')}.", "lead")
        verdicts[0] = replace(verdicts[0], blocks=(line, *verdicts[0].blocks))
    promised = promise_section(promise, public=public)
    looks = (
        look_sections(report.utility, Choices(report.synthesis).why)
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
        sections.append(words_section(utility=bool(report.rows), risk=attacked))
    sections += closing_sections(report)
    facts = (*header(report), *(risk_facts(report.risk) if report.risk is not None else ()))
    decision = report.decision
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
    return PageContent(
        report.title or "Report",
        [replace(section, folded=section.id not in OPEN) for section in sections],
        facts=facts,
        alarm=" ".join(alarm_text for alarm_text in alarms if alarm_text),
        answers=answers,
        leaving=leaving_of(report, public=public),
    )


def header(report: ReportResult) -> tuple[tuple[str, str], ...]:
    """Return what a reader must know first: what is promised, the tables, the label, the seed, versions and date."""
    about, run, promise = report.about, report.run, report.privacy_promise
    no_holdout = (
        "none given: no excess can be stated"
        if report.utility is None
        else "none given: identical tables are the best that can be had"
    )
    versions = ", ".join(
        f"{display_name(name, 30)} {display_name(version, 30)}"
        for name, version in run.versions.items()
    )
    return (
        *([("Promise", promise.line)] if promise is not None else []),
        ("Original", _table_words(about.original)),
        ("Synthetic", _table_words(about.synthetic)),
        (
            "Holdout",
            no_holdout if about.holdout in (None, TableSummary()) else _table_words(about.holdout),
        ),
        ("Label", "none given" if about.label is None else display_name(about.label)),
        (
            SEED,
            "none given: a second run differs a little" if about.seed is None else str(about.seed),
        ),
        *([("Versions", versions)] if versions else []),
        *([("Date", display_name(run.date))] if run.date else []),
    )


def _table_words(table: TableSummary | None) -> str:
    if table is None:
        return "not named"
    parts = [display_name(table.name)] if table.name else []
    if table.rows is not None:
        parts.append(
            f"{'about ' * bool(isinstance(table.rows, int) and table.rows)}{count_noun(table.rows, 'row')}"
        )
    if table.columns is not None:
        parts.append(count_noun(table.columns, "column"))
    return ", ".join(parts) or "not named"


# After the figures.


def closing_sections(report: ReportResult) -> Iterator[Section]:
    """Yield what stands behind the numbers: columns and notes, settings, definitions, limits, how to run it again."""
    result = report.utility
    if result is not None or report.risk is None:
        yield Section(
            "limits",
            "What this does not show",
            (Listing((UTILITY_ALONE if report.risk is None else UTILITY_BESIDE, *UTILITY_LIMITS)),),
        )
        columns = tuple(_columns(report.about)) or (Paragraph("No columns were listed."),)
        yield Section("data", "Columns and notes", columns)
    if result is not None and result.results:
        yield Section(
            "measures", "How each measure is defined", (_definitions(result), _settings(result))
        )
    command = report.run.command
    if command:
        command_line = command if isinstance(command, str) else shlex.join(command)
        yield Section("again", "Run it again", (Paragraph(command_line, "code"),))


def _columns(about: UtilityAbout) -> Iterator[Block]:
    if about.columns:
        more = (
            f"; the first {MOST_LISTED}, all are in the JSON"
            if len(about.columns) > MOST_LISTED
            else ""
        )
        table = page_table(
            f"Columns as compared{more}",
            about.columns[:MOST_LISTED],
            Col("Column", lambda c: display_name(c.name, 40)),
            Col("Kind", lambda c: display_name(c.kind)),
            Num("Levels", lambda c: number(c.levels)),
            Col("Role", lambda c: display_name(c.role)),
        )
        yield Details(f"{len(about.columns)} columns", (table,))
    left_out, notes = about.not_measured, list(about.notes)
    if left_out:
        notes.insert(
            0,
            f"Not measured: {', '.join(display_name(name, 40) for name in left_out[:MOST_NOTES])}.",
        )
    if notes:
        rest = (
            [f"And {len(notes) - MOST_NOTES} more, in the JSON."] if len(notes) > MOST_NOTES else []
        )
        yield Listing((*(display_name(note, 400) for note in notes[:MOST_NOTES]), *rest))


def _definitions(result: UtilityResult) -> PageTable:
    return page_table(
        "Definitions and where they come from",
        metrics_of(result.results),
        Col("Measure", lambda metric: metric.title),
        Wide("Definition", lambda metric: metric.definition),
        Wide("Reference", lambda metric: metric.source),
    )


def _settings(result: UtilityResult) -> Details:
    rows = []
    for metric in metrics_of(result.results):
        measured = result[metric.name]
        decisive = (
            ()
            if measured.value is None
            else (key for key in measured.decisive if key not in ("label", "task"))
        )
        for key, value in {
            **{key: getattr(measured, key) for key in decisive},
            **measured.settings,
        }.items():
            rows.append((metric.title, display_name(key), setting_words(value)))
    if not rows:
        return Details("Settings of every measure", (Paragraph("None were recorded."),))
    table = page_table(
        "Settings of every measure", rows, Col("Measure"), Col("Setting"), Wide("Value")
    )
    return Details("Settings of every measure", (table,))


INSIDE = Leaving(
    False,
    "It draws how values of the original are distributed, and its figures are exact; the variant that may leave is written by --public.",
)
INSIDE_PROMISED = Leaving(
    False,
    "Its figures are taken from the original without noise, and the promise does not cover them; the variant that may leave is written by --public.",
)
PUBLIC = Leaving(
    True,
    "It holds measures over many people, rounded counts and names of columns: no record, and no value or count of fewer people than the threshold.",
)
PUBLIC_PROMISED = Leaving(
    True, "It holds settings and what is promised: no figure in it was taken from the original."
)
FROM_JSON = Leaving(
    True,
    "It was made from what --json holds: measures over many people and rounded counts, no record, and no value or count of few people.",
)
"""The first line of a page made of plain data, where none of them comes with a promise."""

PRIVATE_SECTIONS = ("promise", "synthesis")
TOLD = ("Promise of privacy", "Membership, knowing the method")
"""Lines of what was tested that say nothing of the data: how many tests of singling out could be made does."""

LEFT_OUT = ("look-columns", "look-pairs", "data", "again")
"""Sections that show distributions, notes on columns, or a command with its paths."""


def promises(report: ReportResult) -> bool:
    """Return whether a promise was made or attempted: one by a seed or with a damaged account counts."""
    return report.synthesis is not None and report.synthesis.model.privacy is not None


def leaving_of(report: ReportResult, *, public: bool) -> Leaving:
    """Return the first line of a report's page."""
    if public:
        return PUBLIC_PROMISED if promises(report) else PUBLIC
    return INSIDE_PROMISED if promises(report) else INSIDE


def public_sections(report: ReportResult, sections: Iterable[Section]) -> Iterator[Section]:
    """Yield the sections that may leave."""
    for section in sections:
        if (section.id in PRIVATE_SECTIONS) if promises(report) else (section.id not in LEFT_OUT):
            yield section


def public_answers(
    report: ReportResult, decision: Decision, answers: tuple[PageAnswer, ...]
) -> tuple[PageAnswer, ...]:
    """Return the answers that may leave: where privacy was promised, those that rest on the original say that they stay inside.

    How many attacks could be made depends on the data, too, and is not told then.
    """
    if not promises(report):
        return answers
    stays = "Measured inside. The figures are taken from the original and no promise covers them, so they are not on this page."
    out = []
    for answer_data, answer in zip(decision.answers, answers, strict=True):
        if answer_data.question != NOT_TESTED:
            out.append(replace(answer, sentence=stays, picture=None, notes=(), word=""))
            continue
        looks = [line for line in answer_data.looks if line.what in TOLD]
        promised = answer_data.sentence.partition("; not tested:")[0].rstrip(".")
        out.append(
            replace(
                answer,
                picture=looks_picture(f"box-{len(out) + 1}", answer_data.question, looks),
                notes=(),
                sentence=f"{promised}; what attacks on the table found is not on this page.",
            )
        )
    return tuple(out)


def public_facts(
    report: ReportResult, facts: Iterable[tuple[str, str]]
) -> tuple[tuple[str, str], ...]:
    """Return the facts that may leave: no seed; where privacy was promised, settings alone."""
    if not promises(report):
        return tuple((name, value) for name, value in facts if name != SEED)
    known = ("Promise", "Label", "Keys", "Sensitive", "Versions")
    return tuple(
        (name, value.removesuffix("; this report is not covered"))
        for name, value in facts
        if name in known
    )


FOUND = f"the p-value of “people in the data and others are alike”, adjusted for all attacks together, is at most {percent(ALPHA)}, or the lower bound of the excess, which holds for all attacks at once, is above 0"
UTILITY = {
    "close": f"goes {percent(SHARES[0])} or more of the way from independent columns to the best that can be had",
    "fair": f"goes {percent(SHARES[1])} or more of it",
    "weak": f"goes {percent(SHARES[2])} or more of it",
    "lost": "goes less of it, or is no better than independent columns",
    "not applicable": "has no value here; its sentence says why",
}
RISK = {
    "excess found": FOUND,
    "no excess found": "that p-value is larger; an excess smaller than the detectable one may still be there",
    "not known": "there are no people to compare with who are not in the data, or all people score alike",
    "not assessed": "nobody looked; that is no pass",
    "not applicable": "has no value here; its reason says why",
}


def words_section(*, utility: bool, risk: bool) -> Section:
    """Return the words that a report uses, each with its rule, and below them the rules in full."""
    rows: list[Row] = []
    more: list[Block] = []
    if utility:
        rows.append(Heading("On what it is worth"))
        rows += [(Cell("", word=word), rule) for word, rule in UTILITY.items()]
        more.append(Details("How words on worth are chosen, in full", (Listing(rules()),)))
    if risk:
        rows.append(Heading("On what it gives away"))
        rows += [(Cell("", word=word), rule) for word, rule in RISK.items()]
        more.append(Details("How words on risk are chosen, in full", (Listing(RISK_RULES),)))
    table = page_table(
        "The words of the verdicts, and their rules",
        rows,
        Short("Word"),
        Wide("Said when a number"),
    )
    return Section("words", "What the words mean, by rule", (table, *more))
