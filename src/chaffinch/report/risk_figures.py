"""Pictures of attacks: the ladder of references, the funnel of correct attribution, risks of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from .plots import Dot, bars, dots
from .risk_words import attack_words, guess_of, keys_of, worse
from .sections import Cell, Figure, Row, Table
from .words import fixed, is_number, number, percent, shown, signed

__all__ = ["MOST", "attack_name", "attacks_table", "funnel", "ladder", "records"]

Data = Mapping[str, Any]
MOST = 40
DRAWN = 20
SIDES = {
    "original": "original", "value": "synthetic", "marginals_only": "marginals only", "holdout": "holdout",
    "label_only": "label only", "guess": "guess",
}  # fmt: skip
SHORT = {
    "gcap_score": "GCAP score", "gcap_vote": "GCAP vote", "nb": "Bayes", "svm": "SVM", "knn": "Neighbours", "rf": "Forest", "lr": "Logistic",
}  # fmt: skip
LANES = {"original": 0, "marginals_only": 0, "guess": 0, "label_only": 1, "holdout": 1, "value": 2}


def attacks_table(caption: str, attacks: Sequence[Data], *, keys: bool, sensitive: bool = False) -> Table:
    """Return attacks with all their numbers, one row each; `keys` and `sensitive` say whether these are named."""
    sides = {
        "guess": "Guess",
        "marginals_only": "Marginals only",
        "label_only": "Label only",
        "holdout": "Holdout",
        "original": "Original",
    }
    used = {side: name for side, name in sides.items() if any(is_number(attack.get(side)) for attack in attacks)}
    head = (
        "Attack", *(["Keys"] if keys else []), "Value and 95 % interval", *used.values(), "Excess and 95 % interval", "p, all attacks",
        "Detectable", "With a match",
    )  # fmt: skip
    rows: tuple[Row, ...] = tuple(
        (
            Cell(attack_name(attack), f"on {shown(attack.get('sensitive'), 40)}" if sensitive else ""),
            *([keys_of(attack, most=8)] if keys else []), _with(fixed(attack.get("value")), attack.get("interval")),
            *(fixed(_side(attack, side)) for side in used), _with(signed(attack.get("excess")), attack.get("excess_interval")),
            number(attack.get("p_family")), number(attack.get("detectable")),
            Cell(_count(attack.get("n_matched")), f"of {_count(attack.get('n_records'))}"),
        )
        for attack in attacks
    )  # fmt: skip
    return Table(caption, head, rows, frozenset(range(2 if keys else 1, len(head))))


def _with(value: str, interval: Any) -> Cell:
    low, high = _ends(interval)
    return Cell(value, "" if low is None else f"{fixed(low)} to {fixed(high)}")


def attack_name(attack: Data) -> str:
    """Return the name of an attack, with its convention where it has one."""
    convention = attack.get("convention")
    return attack_words(attack.get("measure")).name + (f" ({shown(convention, 20)})" if convention else "")


def _short(attack: Data) -> str:
    return SHORT.get(str(attack.get("measure") or "unnamed")) or attack_name(attack)


def _count(count: Any) -> str:
    return number(count) if is_number(count) or count is None else shown(count, 20)


# The ladder.


def ladder(key: str, sensitive: Any, attacks: Sequence[Data], *, several: bool) -> Figure | None:
    """Return the attacks on one column between their references: a line for each, worst first where there are many."""
    known = [attack for attack in attacks if is_number(attack.get("value"))]
    if not known:
        return None
    many = len(known) > DRAWN
    listed = sorted(known, key=worse, reverse=True)[:MOST] if several else known[:MOST]
    some = listed[:DRAWN]
    rows = [(f"{_short(a)}: {keys_of(a, most=12)}" if several else attack_name(a), _dots(a)) for a in some]
    series = [side for side in SIDES if any(_side(a, side) is not None for a in some)]
    of = f", the {len(some)} worst of {len(known):,} attacks" if many else ""
    caption = f"Guessing {shown(sensitive, 40)}: each attack between its references{of}"
    said = "; ".join(
        f"{name}: " + ", ".join(f"{d.series} {number(d.value)}" for d in found) for name, found in rows[:12]
    )
    used = sorted({LANES[side] for side in series})
    plot = dots(
        f"{key}-plot", caption, said, rows, [SIDES[side] for side in series],
        label="share of people for whom the attack is right; bars: 95 % interval", low=0.0, high=1.0,
        lanes=[used.index(LANES[side]) for side in series], marks=[list(SIDES).index(side) for side in series],
    )  # fmt: skip
    note = (
        "Guess: always the most frequent value of the people whom the attack is about, or a draw where the attack draws. Marginals only: the same attack from a table of independent columns. Label only: from one whose "
        "sensitive column follows the label alone. Holdout: on people who are not in the data. Original: from the original itself."
    )
    if "label_only" not in series:
        note = note.replace(" Label only: from one whose sensitive column follows the label alone.", "")
    if "holdout" not in series:
        note = note.replace(" Holdout: on people who are not in the data.", " There is no holdout.")
    if many:
        note += f" The table has the {len(listed)} worst, the JSON all."
    return Figure(key, caption, (plot,), attacks_table(caption, listed, keys=several), note)


def _side(attack: Data, side: str) -> float | None:
    if side == "guess":
        return guess_of(attack)
    return float(attack[side]) if is_number(attack.get(side)) else None


def _dots(attack: Data) -> list[Dot]:
    out = []
    for side, name in SIDES.items():
        found = _side(attack, side)
        if found is not None:
            out.append(Dot(name, found, *_ends(attack.get("interval") if side == "value" else None)))
    return out


def _ends(interval: Any) -> tuple[float | None, float | None]:
    known = isinstance(interval, list | tuple) and len(interval) == 2 and all(map(is_number, interval))
    return (float(interval[0]), float(interval[1])) if known else (None, None)


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


def funnel(key: str, row: Data, of: int) -> Figure | None:
    """Return how many people remain at each step from a match to a certain and right answer; `of` sets of keys were tried."""
    values = {words: float(row[name]) for name, words in STEPS.items() if is_number(row.get(name))}
    if not values:
        return None
    worst = f", the worst of {of:,} sets of keys" if of > 1 else ""
    caption = f"From a match to disclosure: {shown(row.get('sensitive'), 40)} knowing {keys_of(row)}{worst}"
    desc = "Share of people: " + "; ".join(f"{words}: {percent(value)}" for words, value in values.items())
    cells = tuple(
        (words, percent(row.get(name))) for name, words in {**STEPS, **OTHERS}.items() if row.get(name) is not None
    )
    table = Table(caption, ("Step", "Share of people in the original"), cells, frozenset({1}))
    note = "Each bar is a share of all people in the original. DiSCO: someone would be certain, and right."
    plot = bars(f"{key}-plot", caption, desc, values, top=1.0)
    return Figure(key, caption, (plot,), table, note)


# Risks of records.


def records(key: str, data: Data) -> Figure | None:
    """Return how the risk is spread over records, bins of few records hidden."""
    shares = list(data.get("shares") or ())
    ends = list(data.get("bins") or ())
    if len(ends) != len(shares) + 1 or not all(map(is_number, ends)) or not shares:
        return None
    names = [f"{number(low)} to {number(high)}" for low, high in pairwise(ends)]
    found = {name: float(s) if is_number(s) else None for name, s in zip(names, shares, strict=True)}
    caption = f"Risk of each record in the original: {shown(data.get('sensitive'), 40)}"
    hidden = "hidden: fewer than 10 records"
    told = {name: hidden if share is None else percent(share) for name, share in found.items()}
    plot = bars(f"{key}-plot", caption, "; ".join(f"{n}: {s}" for n, s in told.items()), found, top=0.5, hidden=hidden)
    table = Table(caption, ("Risk", "Share of records"), tuple(told.items()), frozenset({1}))
    what = shown(data.get("what") or "", 400).rstrip(".")
    return Figure(key, caption, (plot,), table, f"Risk: {what}." if what else "")
