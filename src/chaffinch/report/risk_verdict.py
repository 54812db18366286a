"""The verdict on attacks: one headline, a plain line for each word that needs one, and the numbers of every attack behind a line that opens them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .._base.text import NONE, count_noun, fixed, number, shown, signed
from ..risk.attribution.result import RiskResult
from ..risk.attribution.verdict import TOGETHER, RiskVerdictRow, keys_words
from ..risk.memorisation import MEMORISATION_TESTS
from .risk_figures import with_interval
from .sections import Block, Cell, Details, Heading, Listing, PageTable, Paragraph, Row, Section
from .sentences import CROSS_FIT_LINE, DETECTABLE_LINE, EXCESS_LINE

MOST_ROWS = 60
SIDES = {
    "guess": "Guess",
    "marginals_only": "Marginals only",
    "label_only": "Label only",
    "holdout": "Holdout",
    "original": "Original",
}


def risk_verdict_section(
    rows: Sequence[RiskVerdictRow], result: RiskResult | None = None
) -> Section:
    """Return the verdict on risk as a section; with its result, the headline of that stands first."""
    crossed = next((row for row in rows if row.id == "cross_fit"), None)
    alone = crossed is not None and not any(row.holdout is not None for row in rows)
    blocks: list[Block] = [Paragraph(_lead(rows, crossed if alone else None), "lead")]
    words = [EXCESS_LINE] if any(row.excess is not None or row.together for row in rows) else []
    words += [DETECTABLE_LINE] if any(row.detectable is not None for row in rows) else []
    words += [CROSS_FIT_LINE] if crossed is not None else []
    if words:
        blocks.append(Listing(tuple(words)))
    if result is not None and result.about.comparison:
        blocks.append(Listing(tuple(shown(sentence, 800) for sentence in result.about.comparison)))
    used = {
        side: name
        for side, name in SIDES.items()
        if any(getattr(row, side) is not None for row in rows)
    }
    head = ("Attack", "Value and 95 % interval", *used.values(), "Excess and 95 % interval", "Word")
    last = len(head) - 1
    table = PageTable(
        "How often each attack is right, beside its references",
        head,
        tuple(_rows(rows, used, alone=alone)),
        frozenset(range(1, last)),
        short=frozenset({last}),
        cards=True,
    )
    single = sum(not row.together for row in rows)
    many = f"{single} attack{'s' * (single != 1)}" if single else "All together"
    blocks.append(Details(f"{many}, with all numbers", (table,)))
    if (every := len(_drawn(rows, alone=alone))) > table.length:
        blocks.append(
            Paragraph(f"The first {table.length} of {every:,} rows; all are in the JSON.", "note")
        )
    return Section("risk-verdict", "What it gives away, attack by attack", tuple(blocks))


def _lead(rows: Sequence[RiskVerdictRow], crossed: RiskVerdictRow | None) -> str:
    """Return the words of all attacks together and how many found what; those of the cross-fit alone where there is no holdout."""
    if crossed is not None:
        tests = _tests(rows)
        return f"There is no holdout, so models of half the people speak. {shown(crossed.measure)}: {shown(crossed.words or crossed.word, 120)}.{tests} {crossed.sentence}".strip()
    single = [row for row in rows if not row.together and row.id not in MEMORISATION_TESTS]
    tally: dict[str, int] = {}
    for row in single:
        tally[row.word] = tally.get(row.word, 0) + 1
    counts = ", ".join(f"{count} × {shown(word, 40)}" for word, count in tally.items())
    out = (
        f"Attribute disclosure by {count_noun(len(single), 'attack')}: {counts}." if single else ""
    )
    out += _tests(rows)
    for row in rows:
        if row.together:
            out += f" {shown(row.measure)}: {shown(row.words or row.word, 120)}. {row.sentence}"
    return out.strip()


def _tests(rows: Sequence[RiskVerdictRow]) -> str:
    tests = sum(row.id in MEMORISATION_TESTS for row in rows)
    return f" Memorisation tests with an excess: {tests}." if tests else ""


def _drawn(rows: Sequence[RiskVerdictRow], *, alone: bool) -> list[RiskVerdictRow]:
    """Return the rows of the table, those of all attacks together first; without a holdout the family has nothing to say."""
    together = [row for row in rows if row.together and not (alone and row.id == "family")]
    return [*together, *(row for row in rows if not row.together)]


def _rows(rows: Sequence[RiskVerdictRow], used: dict[str, str], *, alone: bool) -> Iterator[Row]:
    group = None
    for row in _drawn(rows, alone=alone)[:MOST_ROWS]:
        of_row = (
            TOGETHER
            if row.together
            else "Memorisation tests"
            if row.id in MEMORISATION_TESTS
            else "Risk"
            if row.sensitive is None
            else f"Sensitive column: {shown(row.sensitive)}"
        )
        if of_row != group:
            group = of_row
            yield Heading(of_row)
        word = (
            "see the halves"
            if alone and not row.together and row.excess is None and row.value is not None
            else row.word
        )
        tail = "" if word != row.word else row.words.removeprefix(row.word).lstrip(": ")
        yield (
            Cell(
                row.measure,
                row.question
                if row.together
                else f"Knowing {keys_words(row.keys)}"
                if row.keys
                else "",
            ),
            with_interval(fixed(row.value), row.interval),
            *(fixed(getattr(row, side)) for side in used),
            _chance(row)
            if row.together
            else with_interval(signed(row.excess), row.excess_interval),
            Cell("", tail, word=word) if word == row.word else Cell(word),
        )


def _chance(row: RiskVerdictRow) -> Cell:
    if row.p_family is None:
        return Cell(NONE)
    return Cell(
        f"p = {number(row.p_family)}",
        f"lower bound {signed(row.lower_bound)}" if row.lower_bound is not None else "",
    )
