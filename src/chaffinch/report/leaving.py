"""One rule about leaving: which page may leave, why, and what a page that may does not hold.

A page with distributions of the original, or with figures that were taken from it, is kept inside. Its public variant holds measures over many
people with masked counts, as `--json` does, and no distribution, no level, no note, no command and no seed; where privacy was promised, no figure that
was taken from the original at all, since the promise covers none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from .._base.results import Leaving
from .about import SEED
from .decision import NOT_TESTED, Decision
from .decision_box import looks_picture
from .result import ReportResult
from .sections import PageAnswer, Section

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
    for part, answer in zip(decision.answers, answers, strict=True):
        if part.question != NOT_TESTED:
            out.append(replace(answer, sentence=stays, picture=None, notes=(), word=""))
            continue
        looks = [line for line in part.looks if line.what in TOLD]
        out.append(
            replace(
                answer,
                picture=looks_picture(f"box-{len(out) + 1}", part.question, looks),
                notes=(),
                sentence=_promised(part.sentence),
            )
        )
    return tuple(out)


def _promised(sentence: str) -> str:
    """The promise in a sentence, without what was tested."""
    return f"{sentence.partition('; not tested:')[0].rstrip('.')}; what attacks on the table found is not on this page."


def public_facts(
    report: ReportResult, facts: Iterable[tuple[str, str]]
) -> tuple[tuple[str, str], ...]:
    """Return the facts that may leave: no seed; where privacy was promised, settings alone."""
    if not promises(report):
        return tuple((name, words) for name, words in facts if name != SEED)
    known = ("Promise", "Label", "Keys", "Sensitive", "Versions")
    return tuple(
        (name, words.removesuffix("; this report is not covered"))
        for name, words in facts
        if name in known
    )
