"""Memorisation tests on a page: members beside others, a sentence for each test, its definition and what it is known not to see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .._base.text import between, fixed, number, percent, shown, signed
from ..risk.memorisation.finding import MemorisationFinding
from .sections import Block, Cell, Details, Listing, PageTable, Paragraph
from .sentences import MEMORISATION_TESTED


def memorisation_tests(findings: Sequence[MemorisationFinding]) -> Iterator[Block]:
    """Yield what tests found: nothing where there are none."""
    if not findings:
        return
    yield Paragraph(MEMORISATION_TESTED)
    yield Listing(tuple(shown(one.sentence, 400) for one in findings))
    head = (
        "Test",
        "People in the data",
        "Holdout",
        "Excess, towards risk",
        "95 % interval",
        "p",
        "p, all together",
        "People",
    )
    rows = tuple(
        (
            Cell(one.about.title, one.direction),
            _value(one, one.value),
            _value(one, one.holdout),
            signed(one.excess),
            between(one.excess_interval) if one.excess_interval else number(None),
            number(one.p_value),
            number(one.p_family),
            _people(one),
        )
        for one in findings
    )
    yield PageTable(
        "Members beside people who are not in the data", head, rows, frozenset(range(1, 8))
    )
    defined = tuple(
        (one.about.title, one.about.definition, one.about.blindness, one.about.reference)
        for one in findings
    )
    table = PageTable(
        "Definitions of the tests, and what each does not see",
        ("Test", "Definition", "Does not see", "Reference"),
        defined,
        wide=frozenset({1, 2, 3}),
    )
    yield Details("How each test is defined, and what it does not see", (table,))


def _value(finding: MemorisationFinding, value: float | None) -> str:
    return (
        (percent(value) if finding.about.share else fixed(value))
        if value is not None
        else number(None)
    )


def _people(finding: MemorisationFinding) -> str:
    return (
        shown(finding.n_people, 20)
        if isinstance(finding.n_people, str)
        else number(finding.n_people)
    )
