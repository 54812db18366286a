"""A page on an audit: what runs on neighbouring tables prove about epsilon, beside the claim."""

from __future__ import annotations

from .._base.results import Leaving
from .._base.text import number, percent, shown
from ..risk.auditing.result import AuditResult, ClaimVerdict, bounds_plot
from .page import page
from .page_heads import audit_answers
from .sections import Block, Cell, Figure, Listing, PageTable, Paragraph, Row, Section
from .sentences import AUDIT_LIMITS, AUDIT_PAIRS

LEAVING = {
    False: Leaving(True, "It holds numbers of runs on made-up tables."),
    True: Leaving(
        False,
        "It says how records of the user's own table fared, one of them being the most vulnerable.",
    ),
}
"""The first line, by whether the user's table was among those audited."""


def audit_page(audit: AuditResult, title: str = "Is the promise kept?") -> str:
    """Return one HTML file on an audit: the verdict, bounds beside the claim for each pair and box, and what they cannot say."""
    broken = audit.verdict is ClaimVerdict.BROKEN
    sections = [
        Section("finding", "What was found", _finding(audit, broken)),
        Section("bounds", "Bounds beside the claim", (_figure(audit),)),
        Section("pairs", "The tables", _pairs(audit)),
        Section("limits", "What this does not say", (Listing(AUDIT_LIMITS),)),
    ]
    facts = [
        ("Synthesiser", shown(audit.about.get("synth") or audit.synthesiser, 200)),
        ("Claim", _claim(audit)),
        ("Confidence", percent(audit.level)),
    ]
    if date := audit.run.get("date"):
        facts.append(("Date", shown(date)))
    return page(
        title,
        sections,
        facts=facts,
        alarm="The claim is broken: do not rely on this promise." if broken else "",
        answers=audit_answers(audit, AUDIT_LIMITS[0]),
        leaving=LEAVING[any(one.pair == "average" for one in audit.findings)],
    )


def _claim(audit: AuditResult) -> str:
    delta = f", delta {audit.delta:g}" if audit.delta else ""
    return f"epsilon {number(audit.epsilon)}{delta} ({shown(audit.neighbours, 120)})"


def _finding(audit: AuditResult, broken: bool) -> tuple[Block, ...]:
    head = (
        "Pair",
        "Box",
        "At least",
        "Claimed",
        "Found with 80 %",
        "Right guesses",
        "Runs",
        "Attacker",
        "Verdict",
    )
    rows: tuple[Row, ...] = tuple(
        (
            shown(f.pair),
            shown(f.box),
            f"{f.measure} {number(f.bound)}",
            number(f.claim),
            f.power,
            f"{f.right:,} of {f.guesses:,}",
            f"{f.runs:,}",
            shown(f.attacker),
            Cell(shown(str(f.verdict))),
        )
        for f in audit.findings
    )
    tests = len(audit.findings)
    how = (
        f"All bounds together hold with a confidence of {percent(audit.level)}: each of the {tests} tests has {audit.level_each:.6g}. Attackers and their rules "
        "were chosen on other runs than those that are counted."
    )
    return (
        Paragraph(audit.lead, "alarm" if broken else "lead"),
        PageTable(
            "What was proved, by pair of tables and by what is looked at",
            head,
            rows,
            numbers=frozenset({2, 3, 4, 5, 6}),
        ),
        Paragraph(how, "note"),
    )


def _figure(audit: AuditResult) -> Figure:
    rows = tuple(
        (f"{shown(f.pair)}, {shown(f.box)} box", number(f.share), f.power) for f in audit.findings
    )
    table = PageTable(
        "Bounds over the claim", ("Test", "Proved", "Found with 80 %"), rows, numbers=frozenset({1})
    )
    plot = bounds_plot("bounds-plot", audit)
    return Figure("bounds-figure", "What was proved, as a share of what is claimed", (plot,), table)


def _pairs(audit: AuditResult) -> tuple[Block, ...]:
    names = list(dict.fromkeys(f.pair for f in audit.findings))
    rows: tuple[Row, ...] = tuple(
        (shown(name), AUDIT_PAIRS.get(name, "A pair of the user's own.")) for name in names
    )
    blocks: list[Block] = [
        PageTable(
            "Pairs of tables that differ in one record",
            ("Pair", "What it is"),
            rows,
            wide=frozenset({1}),
        )
    ]
    if skipped := audit.skipped:
        words = tuple(
            f"{shown(s.pair)}{', ' + shown(s.box) + ' box' if s.box else ''}: {shown(s.reason, 300)}."
            for s in skipped
        )
        blocks += [Paragraph("Not tried:", "strong"), Listing(words)]
    return tuple(blocks)
