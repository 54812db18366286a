"""What runs are called in a comparison, and what differs in how their tables were made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._base.text import display_name, letter
from .promise import promise_of
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
    made_by = report.synthesis
    model = None if made_by is None else made_by.model
    network = {} if made_by is None else made_by.network
    promise = promise_of(made_by)
    account = None if promise is None else promise.account
    facts = {
        name: display_name(network[name], 40)
        for name in SETTINGS
        if isinstance(network.get(name), str | int | float)
    }
    settings = {} if made_by is None else made_by.settings
    facts |= {
        name: _value_words(value)
        for name, value in settings.items()
        if name not in facts and name not in TOLD_ELSEWHERE
    }
    facts["epsilon"] = (
        NONE
        if account is None
        else f"{account.epsilon:.6g}" + (" (test only)" if account.test_only else "")
    )
    facts["delta"] = NONE if account is None or account.delta is None else f"{account.delta:.6g}"
    facts["protected"] = (
        ", ".join(display_name(name, 24) for name in model.sensitive[:6]) or NONE
        if model is not None
        else NONE
    )
    facts["columns"] = f"{len(report.about.columns)}" if report.about.columns else ""
    facts["rows"] = (
        f"{report.about.synthetic.rows}" if report.about.synthetic.rows is not None else ""
    )
    facts["original"] = display_name(report.about.original.name or "", 40)
    facts["holdout"] = (
        NONE
        if report.about.holdout is None
        else display_name(report.about.holdout.name or "given", 40)
    )
    facts["label"] = (
        display_name(report.about.label, 40) if report.about.label is not None else NONE
    )
    facts |= _attack_facts(report)
    facts["file"] = display_name(report.about.synthetic.name or "", 60)
    facts["title"] = display_name(report.title, 60) if report.title else ""
    facts["seed"] = NONE if made_by is None or made_by.seed is None else str(made_by.seed)
    facts["date"] = display_name(report.run.date, 40) if report.run.date else ""
    return facts


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
    names = list(
        dict.fromkeys(
            name for name in (*SETTINGS, *(name for facts in all_facts for name in facts))
        )
    )
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
    if labels:
        summary = [
            ", ".join(_fact_words(fact, index, report) for fact in chosen[:MAX_FACTS])
            for index, report in enumerate(reports)
        ]
        return tuple(
            f"{label}: {differing_facts}" if differing_facts else label
            for label, differing_facts in zip(labels, summary, strict=True)
        )
    # What tells most of them apart with the fewest words: settings before files, files before titles and dates.
    few = chosen[:MAX_FACTS]
    if not few:
        return tuple(
            display_name(report.about.synthetic.name or "synthetic table") for report in reports
        )
    return tuple(
        ", ".join(_fact_words(fact, index, report) for fact in few)
        for index, report in enumerate(reports)
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
    return (
        [table]
        if differing
        else [
            table,
            Paragraph("Nothing else that the reports say of how the tables were made differs."),
        ]
    )
