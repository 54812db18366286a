"""The section on mitigations: what is done to outputs, what is lost, how rules and risk stand before and after, and what else would do."""

from __future__ import annotations

from math import isfinite

from .._base.text import fixed, shown
from ..outputs.check.mitigation import Loss, MitigationPlan
from .sections import Block, Cell, Listing, PageTable, Paragraph, Row

LIMITS = (
    "The search takes the best next step each time; it does not prove that no smaller change would do. Of the cells of a small table that is tried.",
    "Loss is the share of an output's numbers that is withheld, gone or printed more coarsely, by what is published alone. Which loss matters least to a reader is for the analyst to say.",
    "Mitigated outputs were checked anew, all together and beside what is out already, by the same rules. What the rules do not see, they do not see here either.",
)


def mitigation_blocks(plan: MitigationPlan) -> tuple[Block, ...]:
    """Return what a page says of mitigations."""
    blocks: list[Block] = [Paragraph(plan.sentence)]
    if plan.steps:
        rows: tuple[Row, ...] = tuple(
            (
                shown(step.output),
                "; then ".join(step.words),
                Cell("", word=step.before),
                "not published"
                if step.dropped or step.after is None
                else Cell("", word=step.after),
                _share(step.loss),
                step.loss.words,
            )
            for step in plan.steps
        )
        head = ("Output", "Change", "Rules before", "Rules after", "Lost", "What is lost")
        blocks.append(
            PageTable(
                "What is done, least loss first",
                head,
                rows,
                wide=frozenset({1, 5}),
                numbers=frozenset({4}),
                cards=True,
            )
        )
    if plan.assessed:
        risks: tuple[Row, ...] = tuple(
            (
                one.words,
                fixed(one.risk),
                f"{fixed(one.low)} to {fixed(one.high)}" if isfinite(one.low) else "",
                one.verdict,
            )
            for one in plan.assessed
        )
        head_risk = ("Outputs", "Largest marginal risk", "Interval", "Verdict")
        blocks.append(
            PageTable(
                "Marginal risk before and after",
                head_risk,
                risks,
                wide=frozenset({0}),
                numbers=frozenset({1}),
            )
        )
    if plan.options:
        others: tuple[Row, ...] = tuple(
            (
                shown(one.output),
                one.words,
                Cell("", word=one.status),
                "taken" if one.taken else "",
                _share(one.loss),
                one.loss.words,
            )
            for one in plan.options
        )
        head_options = ("Output", "Change", "Rules after", "", "Lost", "What is lost")
        blocks.append(
            PageTable(
                "Each way that was tried and breaks no rule, least loss first",
                head_options,
                others,
                wide=frozenset({1, 5}),
                numbers=frozenset({4}),
                cards=True,
            )
        )
    if plan.not_mended:
        blocks.append(
            Listing(
                tuple(
                    f"Not mended: '{shown(name)}': {why}." for name, why in plan.not_mended.items()
                )
            )
        )
    blocks.append(Paragraph(" ".join(LIMITS), "note"))
    return tuple(blocks)


def _share(loss: Loss) -> str:
    return f"{loss.share:.1%}"
