"""What runs are called in a comparison, and what differs in how their tables were made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._base.text import display_name, letter
from .result import ReportResult
from .sections import Block, Col, Paragraph, page_table

MAX_FACTS = 4
NONE, NOT_TOLD, DEFAULT = "none", "not told", "default"

SETTINGS = (
    "method",
    "conditionals",
    "search",
    "score",
    "parents",
    "leaf",
    "smoothing",
    "penalty",
    "draw",
)
"""Settings of a model by how soon they are named."""

TOLD_ELSEWHERE = frozenset(("label", "sensitive", "epsilon", "delta", "rows", "network"))
"""Settings of a synthesiser that stand among the facts under another name, or as the report has them."""


@dataclass(frozen=True)
class ReportDifference:
    """A fact that is not the same in all reports, and what it is in each, in words."""

    what: str
    values: tuple[str, ...]


def _facts(report: ReportResult) -> dict[str, str]:
    made_by, about, promise = report.synthesis, report.about, report.privacy_promise
    network, settings = ({}, {}) if made_by is None else (made_by.network, made_by.settings)
    account = None if promise is None else promise.account
    protected = () if made_by is None else made_by.model.sensitive[:6]
    test_only = " (test only)" if account is not None and account.test_only else ""
    facts = {
        name: display_name(network[name], 40)
        for name in SETTINGS
        if isinstance(network.get(name), str | int | float)
    }
    return {
        **facts,
        **{
            name: _value_words(value)
            for name, value in settings.items()
            if name not in facts and name not in TOLD_ELSEWHERE
        },
        "epsilon": NONE if account is None else f"{account.epsilon:.6g}{test_only}",
        "delta": NONE if account is None or account.delta is None else f"{account.delta:.6g}",
        "protected": ", ".join(display_name(name, 24) for name in protected) or NONE,
        "columns": f"{len(about.columns)}" if about.columns else "",
        "rows": "" if about.synthetic.rows is None else f"{about.synthetic.rows}",
        "original": display_name(about.original.name or "", 40),
        "holdout": NONE
        if about.holdout is None
        else display_name(about.holdout.name or "given", 40),
        "label": NONE if about.label is None else display_name(about.label, 40),
        **_attack_facts(report),
        "file": display_name(about.synthetic.name or "", 60),
        "title": display_name(report.title, 60),
        "seed": NONE if made_by is None or made_by.seed is None else str(made_by.seed),
        "date": display_name(report.run.date, 40),
    }


def _value_words(value: object) -> str:
    values = value if isinstance(value, list | tuple) else [value]
    return (
        ", ".join(
            display_name(f"{word:g}" if isinstance(word, float) else word, 40) for word in values
        )
        or NONE
    )


def _attack_facts(report: ReportResult) -> dict[str, str]:
    """What was attacked, with what; nothing where nothing was."""
    if report.risk is None:
        return {}
    about = report.risk.about
    attackers = dict.fromkeys(finding.attacker for finding in report.risk.findings)
    facts = {"keys": about.keys, "sensitive": about.sensitive, "attacks": tuple(attackers)}
    return {name: _value_words(value) for name, value in facts.items()}


def differences(reports: Sequence[ReportResult]) -> tuple[ReportDifference, ...]:
    """Return the facts that are not the same in all reports, settings first; a date alone is no difference."""
    all_facts = [_facts(report) for report in reports]
    names = dict.fromkeys((*SETTINGS, *(name for facts in all_facts for name in facts)))
    unknown = [
        DEFAULT if report.synthesis is not None and report.synthesis.settings else NOT_TOLD
        for report in reports
    ]
    out = [
        ReportDifference(
            name,
            tuple(
                facts.get(name, "") or other
                for facts, other in zip(all_facts, unknown, strict=True)
            ),
        )
        for name in names
    ]
    differing = [fact for fact in out if len(set(fact.values)) > 1]
    return tuple(fact for fact in differing if fact.what != "date" or len(differing) == 1)


def names_of_reports(
    reports: Sequence[ReportResult], labels: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return a name for each report: its label, or its title where all have one and titles differ, and what differs; the file's where nothing does.

    `labels` say which run a report is of.
    """
    titles = tuple(display_name(report.title, 60) for report in reports)
    if not labels and all(titles) and len(set(titles)) == len(titles):
        labels = titles
    chosen = [
        difference
        for difference in differences(reports)
        if not labels or difference.what not in ("title", "date")
    ]
    # What tells most of them apart with the fewest words: settings before files, files before titles and dates.
    summary = [
        ", ".join(_fact_words(fact, index, report) for fact in chosen[:MAX_FACTS])
        for index, report in enumerate(reports)
    ]
    if labels:
        return tuple(
            f"{label}: {differing_facts}" if differing_facts else label
            for label, differing_facts in zip(labels, summary, strict=True)
        )
    return tuple(
        differing_facts or display_name(report.about.synthetic.name or "synthetic table")
        for differing_facts, report in zip(summary, reports, strict=True)
    )


def _fact_words(difference: ReportDifference, index: int, report: ReportResult) -> str:
    """One fact of a name: a file, a title and a method speak for themselves, others with what they are."""
    value = difference.values[index]
    if value == NOT_TOLD and difference.what in ("file", "title"):
        return display_name(report.about.synthetic.name or "synthetic table")
    return (
        value
        if difference.what in ("file", "title", "date", "method")
        else f"{difference.what} {value}"
    )


def differing_blocks(names: Sequence[str], differing: Sequence[ReportDifference]) -> list[Block]:
    """Return which report each letter is, and what differs between them; a sentence where nothing does."""
    letters = [letter(i) for i in range(len(names))]
    rows = [("report", *names), *((fact.what, *fact.values) for fact in differing)]
    table = page_table("What differs", rows, Col("What"), *map(Col, letters))
    nothing = "Nothing else that the reports say of how the tables were made differs."
    return [table] if differing else [table, Paragraph(nothing)]
