"""The verdict on risk as a section: a table of its own, since its references are others than those of utility."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .._base.words import NONE, fixed, number, shown, signed
from ..risk.attribution.verdict import TOGETHER, RiskVerdictRow
from .risk_words import RULES
from .sections import Block, Cell, Details, Heading, Listing, PageTable, Paragraph, Row, Section

__all__ = ["risk_verdict_section", "with_interval"]

MOST_ROWS = 60


def risk_verdict_section(rows: Sequence[RiskVerdictRow]) -> Section:
    """Return the verdict on risk as a section."""
    label = any(row.label_only is not None for row in rows)
    head = (
        "Attack", "Value and 95 % interval", "Guess", "Marginals only", *(["Label only"] if label else []), "Holdout",
        "Original", "Excess and 95 % interval", "In words",
    )  # fmt: skip
    last = len(head) - 1
    table = PageTable(
        "How often each attack is right, beside a guess without keys, and the same attack from independent columns, on a holdout, and from the original",
        head, tuple(_rows(rows, label)), frozenset(range(1, last)), frozenset({last}), cards=True,
    )  # fmt: skip
    blocks: list[Block] = [Paragraph(_lead(rows), "lead"), table]
    if len(rows) > MOST_ROWS:
        blocks.append(Paragraph(f"The first {MOST_ROWS} of {len(rows)} rows; all are in the JSON.", "note"))
    blocks.append(Details("How the words are chosen", (Listing(RULES),)))
    return Section("risk-verdict", "What it gives away, in words", tuple(blocks))


def _lead(rows: Sequence[RiskVerdictRow]) -> str:
    single = [row for row in rows if not row.together]
    tally: dict[str, int] = {}
    for row in single:
        tally[row.word] = tally.get(row.word, 0) + 1
    counts = ", ".join(f"{count} × {shown(word, 40)}" for word, count in tally.items())
    out = f"Attribute disclosure by {len(single)} attacks: {counts}."
    for row in rows:
        if row.together:
            out += f" {shown(row.measure)}: {shown(row.words or row.word, 120)}."
    return out


def _rows(rows: Sequence[RiskVerdictRow], label: bool) -> Iterator[Row]:
    group = None
    together = [row for row in rows if row.together]
    single = [row for row in rows if not row.together]
    for row in [*together, *single[: MOST_ROWS - len(together)]]:
        of_row = (
            TOGETHER if row.together
            else "Risk" if row.sensitive is None
            else f"Sensitive column: {shown(row.sensitive)}"
        )  # fmt: skip
        if of_row != group:
            group = of_row
            yield Heading(of_row)
        tail = row.words.removeprefix(row.word).lstrip(": ")
        yield (
            Cell(row.measure, row.question if row.together else ""),
            with_interval(fixed(row.value), row.interval),
            fixed(row.guess),
            fixed(row.marginals_only),
            *([fixed(row.label_only)] if label else []),
            fixed(row.holdout),
            fixed(row.original),
            _chance(row) if row.together else with_interval(signed(row.excess), row.excess_interval),
            Cell(" ".join(filter(None, (f"{tail}." if tail else "", row.sentence))), word=row.word),
        )


def with_interval(value: str, interval: tuple[float, float] | None) -> Cell:
    """Return a value with its interval below it."""
    return Cell(value, f"{fixed(interval[0])} to {fixed(interval[1])}" if interval else "")


def _chance(row: RiskVerdictRow) -> Cell:
    if row.p_family is None:
        return Cell(NONE)
    return Cell(
        f"p = {number(row.p_family)}", f"lower bound {signed(row.lower_bound)}" if row.lower_bound is not None else ""
    )
