"""Pictures of attacks: the ladder of references, the funnel, risks of records, and the table of their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .._base.svg import bars
from .._base.text import detectable_words, fixed, number, percent, shown, signed
from ..risk.attribution.attack import Attack
from ..risk.attribution.exposure import Funnel, RiskSpread
from ..risk.attribution.ladder import ladder_plot, sides_of
from ..risk.attribution.verdict import keys_words, worse
from .sections import Cell, Figure, PageTable, Row

MOST = 40
DRAWN = 20


def attacks_table(
    caption: str, attacks: Sequence[Attack], *, keys: bool, sensitive: bool = False
) -> PageTable:
    """Return attacks with all their numbers, one row each; `keys` and `sensitive` say whether these are named."""
    sides = {
        "guess": "Guess",
        "marginals_only": "Marginals only",
        "label_only": "Label only",
        "holdout": "Holdout",
        "original": "Original",
    }
    used = {
        side: name
        for side, name in sides.items()
        if any(getattr(a, side) is not None for a in attacks)
    }
    head = (
        "Attack",
        *(["Keys"] if keys else []),
        "Value and 95 % interval",
        *used.values(),
        "Excess and 95 % interval",
        "p, all attacks",
        "Detectable",
        "With a match",
    )
    rows: tuple[Row, ...] = tuple(
        (
            Cell(_title(a), f"on {shown(a.sensitive, 40)}" if sensitive else ""),
            *([keys_words(a.keys, most=8)] if keys else []),
            with_interval(fixed(a.value), a.interval),
            *(fixed(getattr(a, side)) for side in used),
            with_interval(signed(a.excess), a.excess_interval),
            number(a.p_family),
            detectable_words(a.detectable) if a.detectable is not None else number(None),
            Cell(_count(a.n_matched), f"of {_count(a.n_records)}"),
        )
        for a in attacks
    )
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
    listed = sorted(known, key=worse, reverse=True)[:MOST] if several or many else known
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
        note = note.replace(
            " Label only: from one whose sensitive column follows the label alone.", ""
        )
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
    values = {
        words: share for name, words in STEPS.items() if (share := getattr(row, name)) is not None
    }
    if not values:
        return None
    worst = f", the worst of {of:,} sets of keys" if of > 1 else ""
    caption = f"From a match to disclosure: {shown(row.sensitive, 40)} knowing {keys_words(row.keys)}{worst}"
    desc = "Share of people: " + "; ".join(
        f"{words}: {percent(value)}" for words, value in values.items()
    )
    steps = {**STEPS, **OTHERS}
    cells = tuple(
        (steps[name], percent(share)) for name in steps if (share := getattr(row, name)) is not None
    )
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


def with_interval(value: str, interval: tuple[float, float] | None) -> Cell:
    """Return a value with its interval below it."""
    return Cell(value, f"{fixed(interval[0])} to {fixed(interval[1])}" if interval else "")
