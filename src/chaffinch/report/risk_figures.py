"""The verdict on attacks, whose references are others than those of utility, and pictures: the ladder of references, the funnel, risks of records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from .._base.svg import bars
from .._base.words import NONE, fixed, number, percent, shown, signed
from ..risk.attribution.attack import Attack
from ..risk.attribution.exposure import Funnel, RiskSpread
from ..risk.attribution.ladder import ladder_plot, sides_of
from ..risk.attribution.verdict import TOGETHER, RiskVerdictRow, keys_words, worse
from ..risk.memorisation import MEMORISATION_TESTS
from .sections import Block, Cell, Details, Figure, Heading, Listing, PageTable, Paragraph, Row, Section
from .sentences import RISK_RULES

__all__ = ["MOST", "attacks_table", "funnel", "ladder", "records", "risk_verdict_section"]

MOST = 40
MOST_ROWS = 60
DRAWN = 20


def attacks_table(caption: str, attacks: Sequence[Attack], *, keys: bool, sensitive: bool = False) -> PageTable:
    """Return attacks with all their numbers, one row each; `keys` and `sensitive` say whether these are named."""
    sides = {
        "guess": "Guess",
        "marginals_only": "Marginals only",
        "label_only": "Label only",
        "holdout": "Holdout",
        "original": "Original",
    }
    used = {side: name for side, name in sides.items() if any(getattr(a, side) is not None for a in attacks)}
    head = (
        "Attack", *(["Keys"] if keys else []), "Value and 95 % interval", *used.values(), "Excess and 95 % interval", "p, all attacks",
        "Detectable", "With a match",
    )  # fmt: skip
    rows: tuple[Row, ...] = tuple(
        (
            Cell(_title(a), f"on {shown(a.sensitive, 40)}" if sensitive else ""),
            *([keys_words(a.keys, most=8)] if keys else []), with_interval(fixed(a.value), a.interval),
            *(fixed(getattr(a, side)) for side in used), with_interval(signed(a.excess), a.excess_interval),
            number(a.p_family), number(a.detectable), Cell(_count(a.n_matched), f"of {_count(a.n_records)}"),
        )
        for a in attacks
    )  # fmt: skip
    return PageTable(caption, head, rows, frozenset(range(2 if keys else 1, len(head))))


def _title(attack: Attack) -> str:
    return shown(attack.title, 80)


def _count(count: int | str | None) -> str:
    return shown(count, 20) if isinstance(count, str) else number(count)


# The ladder.


def ladder(key: str, sensitive: str, attacks: Sequence[Attack], *, several: bool) -> Figure | None:
    """Return the attacks on one column between their references: a line for each, worst first where there are many."""
    known = [attack for attack in attacks if attack.value is not None]
    if not known:
        return None
    many = len(known) > DRAWN
    listed = sorted(known, key=worse, reverse=True)[:MOST] if several else known[:MOST]
    some = listed[:DRAWN]
    of = f", the {len(some)} worst of {len(known):,} attacks" if many else ""
    caption = f"Guessing {shown(sensitive, 40)}: each attack between its references{of}"
    plot = ladder_plot(f"{key}-plot", caption, some, several=several)
    note = (
        "Guess: always the most frequent value of the people whom the attack is about, or a draw where the attack draws. Marginals only: the same attack from a table of independent columns. Label only: from one whose "
        "sensitive column follows the label alone. Holdout: on people who are not in the data. Original: from the original itself."
    )
    series = sides_of(some)
    if "label_only" not in series:
        note = note.replace(" Label only: from one whose sensitive column follows the label alone.", "")
    if "holdout" not in series:
        note = note.replace(" Holdout: on people who are not in the data.", " There is no holdout.")
    if many:
        note += f" The table has the {len(listed)} worst, the JSON all."
    return Figure(key, caption, (plot,), attacks_table(caption, listed, keys=several), note)


# The funnel.


STEPS = {
    "iS": "Keys are in the synthetic table (iS)",
    "DiS": "… and have one value there (DiS)",
    "DiSCO": "… which is the right one (DiSCO)",
    "DiSDiO": "… also in the original (DiSDiO)",
}
OTHERS = {
    "Dorig": "Keys have one value in the original (Dorig)",
    "UiO": "Keys are unique in the original (UiO)",
    "UiOiS": "… and are in the synthetic table (UiOiS)",
    "repU": "… and unique there too (repU)",
}


def funnel(key: str, row: Funnel, of: int) -> Figure | None:
    """Return how many people remain at each step from a match to a certain and right answer; `of` sets of keys were tried."""
    values = {words: share for name, words in STEPS.items() if (share := getattr(row, name)) is not None}
    if not values:
        return None
    worst = f", the worst of {of:,} sets of keys" if of > 1 else ""
    caption = f"From a match to disclosure: {shown(row.sensitive, 40)} knowing {keys_words(row.keys)}{worst}"
    desc = "Share of people: " + "; ".join(f"{words}: {percent(value)}" for words, value in values.items())
    steps = {**STEPS, **OTHERS}
    cells = tuple((steps[name], percent(share)) for name in steps if (share := getattr(row, name)) is not None)
    table = PageTable(caption, ("Step", "Share of people in the original"), cells, frozenset({1}))
    note = "Each bar is a share of all people in the original. DiSCO: someone would be certain, and right."
    plot = bars(f"{key}-plot", caption, desc, values, top=1.0)
    return Figure(key, caption, (plot,), table, note)


# Risks of records.


def records(key: str, spread: RiskSpread, threshold: int) -> Figure | None:
    """Return how the risk is spread over records, bins of fewer records than the threshold hidden."""
    if len(spread.bins) != len(spread.shares) + 1 or not spread.shares:
        return None
    names = [f"{number(low)} to {number(high)}" for low, high in pairwise(spread.bins)]
    shares = dict(zip(names, spread.shares, strict=True))
    caption = f"Risk of each record in the original: {shown(spread.sensitive, 40)}"
    hidden = f"hidden: fewer than {threshold} records"
    words = {name: hidden if share is None else percent(share) for name, share in shares.items()}
    desc = "; ".join(f"{name}: {share}" for name, share in words.items())
    plot = bars(f"{key}-plot", caption, desc, shares, top=0.5, hidden=hidden)
    table = PageTable(caption, ("Risk", "Share of records"), tuple(words.items()), frozenset({1}))
    what = shown(spread.what, 400).rstrip(".")
    return Figure(key, caption, (plot,), table, f"Risk: {what}." if what else "")


# The verdict.


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
    blocks.append(Details("How the words are chosen", (Listing(RISK_RULES),)))
    return Section("risk-verdict", "What it gives away, in words", tuple(blocks))


def _lead(rows: Sequence[RiskVerdictRow]) -> str:
    single = [row for row in rows if not row.together and row.id not in MEMORISATION_TESTS]
    tally: dict[str, int] = {}
    for row in single:
        tally[row.word] = tally.get(row.word, 0) + 1
    counts = ", ".join(f"{count} × {shown(word, 40)}" for word, count in tally.items())
    out = f"Attribute disclosure by {len(single)} attacks: {counts}." if single else ""
    if tests := sum(row.id in MEMORISATION_TESTS for row in rows):
        out += f" Memorisation tests with an excess: {tests}."
    for row in rows:
        if row.together:
            out += f" {shown(row.measure)}: {shown(row.words or row.word, 120)}."
    return out.strip()


def _rows(rows: Sequence[RiskVerdictRow], label: bool) -> Iterator[Row]:
    group = None
    together = [row for row in rows if row.together]
    single = [row for row in rows if not row.together]
    for row in [*together, *single[: MOST_ROWS - len(together)]]:
        of_row = (
            TOGETHER if row.together
            else "Memorisation tests" if row.id in MEMORISATION_TESTS
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
