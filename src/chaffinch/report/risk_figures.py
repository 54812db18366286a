"""Pictures of attacks: the ladder of references, the funnel, risks of records, the map of sets of keys, and the table of their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from markupsafe import Markup

from .._base.svg import INK, bars, blend, box, circle, cut, element, ink_on, picture, text
from .._base.text import (
    count_noun,
    detectable_words,
    display_name,
    format_fixed,
    format_signed,
    number,
    percent,
    width_of,
)
from ..risk.attacker import attacker_of
from ..risk.attribution.exposure import Funnel, RiskSpread
from ..risk.finding import Finding, keys_words
from ..risk.result import ladder_plot, sides_of
from .charts import SIGNED, UNKNOWN, colour_scale, hex_colour
from .sections import Cell, Col, Figure, Num, PageTable, Wide, page_table

MOST = 40
DRAWN = 20
MOST_KEYS = 16
SIDES = {
    "guess": "Guess",
    "marginals_only": "Marginals only",
    "label_only": "Label only",
    "holdout": "Holdout",
    "original": "Original",
}
"""References of an attack, and their names."""

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


def attacks_table(caption: str, attacks: Sequence[Finding], *, keys: bool) -> PageTable:
    """Return attacks with all their numbers, one row each; `keys` says whether these are named."""
    used = used_sides(attacks)
    return page_table(
        caption,
        attacks,
        Col("Attack", lambda attack: display_name(attack.title, 80)),
        *([Col("Keys", lambda attack: keys_words(attack.keys, limit=8))] if keys else []),
        Num(
            "Value and 95 % interval",
            lambda attack: with_interval(format_fixed(attack.value), attack.interval),
        ),
        *(Num(name, _reference(side)) for side, name in used.items()),
        Num(
            "Excess and 95 % interval",
            lambda attack: with_interval(format_signed(attack.excess), attack.excess_interval),
        ),
        Num("p, all attacks", lambda attack: number(attack.p_family)),
        Num("Detectable", _detectable),
        Num(
            "With a match",
            lambda attack: Cell(
                count_words(attack.n_matched), f"of {count_words(attack.n_people)}"
            ),
        ),
    )


def _reference(side: str) -> Callable[[Finding], str]:
    return lambda attack: format_fixed(getattr(attack, side))


def _detectable(attack: Finding) -> str:
    return number(None) if attack.detectable is None else detectable_words(attack.detectable)


def used_sides(findings: Sequence[Finding]) -> dict[str, str]:
    """Return the references that some of the findings have, with their names."""
    return {
        side: name
        for side, name in SIDES.items()
        if any(getattr(finding, side) is not None for finding in findings)
    }


def count_words(count: int | str | None) -> str:
    """Return a count, which may be masked."""
    return display_name(count, 20) if isinstance(count, str) else number(count)


# The ladder.


def ladder(key: str, sensitive: str, attacks: Sequence[Finding], *, several: bool) -> Figure | None:
    """Return the attacks on one column between their references: a line for each, worst first where there are many."""
    known = [attack for attack in attacks if attack.value is not None]
    if not known:
        return None
    many = len(known) > DRAWN
    listed = (
        sorted(known, key=lambda attack: attack.rank, reverse=True)[:MOST]
        if several or many
        else known
    )
    shortlist = listed[:DRAWN]
    scope = f", the {len(shortlist)} worst of {len(known):,} attacks" if many else ""
    caption = f"Guessing {display_name(sensitive, 40)}: each attack between its references{scope}"
    plot = ladder_plot(f"{key}-plot", caption, shortlist, several=several)
    note = (
        "Guess: always the most frequent value of the people whom the attack is about, or a draw where the attack draws. Marginals only: the same attack from a table of independent columns. Label only: from one whose "
        "sensitive column follows the label alone. Holdout: on people who are not in the data. Original: from the original itself."
    )
    series = sides_of(shortlist)
    if "label_only" not in series:
        note = note.replace(
            " Label only: from one whose sensitive column follows the label alone.", ""
        )
    if "holdout" not in series:
        note = note.replace(" Holdout: on people who are not in the data.", " There is no holdout.")
    if many:
        note += f" The table has the {len(listed)} worst, the JSON all."
    return Figure(key, caption, (plot,), attacks_table(caption, listed, keys=several), note)


def funnel(key: str, row: Funnel, scope: int) -> Figure | None:
    """Return how many people remain at each step from a match to a certain and right answer; `of` sets of keys were tried."""
    values = {
        label: share for name, label in STEPS.items() if (share := getattr(row, name)) is not None
    }
    if not values:
        return None
    worst = f", the worst of {scope:,} sets of keys" if scope > 1 else ""
    caption = f"From a match to disclosure: {display_name(row.sensitive, 40)} knowing {keys_words(row.keys)}{worst}"
    desc = "Share of people: " + "; ".join(
        f"{label}: {percent(value)}" for label, value in values.items()
    )
    steps = {**STEPS, **OTHERS}
    table = page_table(
        caption,
        [name for name in steps if getattr(row, name) is not None],
        Col("Step", lambda name: steps[name]),
        Num("Share of people in the original", lambda name: percent(getattr(row, name))),
    )
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
    caption = f"Risk of each record in the original: {display_name(spread.sensitive, 40)}"
    hidden = f"hidden: fewer than {threshold} records"
    share_texts = {
        name: hidden if share is None else percent(share) for name, share in shares.items()
    }
    desc = "; ".join(f"{name}: {share}" for name, share in share_texts.items())
    plot = bars(f"{key}-plot", caption, desc, shares, top=0.5, hidden=hidden)
    table = page_table(caption, share_texts.items(), Col("Risk"), Num("Share of records"))
    what = display_name(spread.what, 400).rstrip(".")
    return Figure(key, caption, (plot,), table, f"Risk: {what}." if what else "")


def with_interval(value: str, interval: tuple[float, float] | None) -> Cell:
    """Return a value with its interval below it."""
    return Cell(
        value, f"{format_fixed(interval[0])} to {format_fixed(interval[1])}" if interval else ""
    )


def subset_map(
    key: str, sensitive: str, attacks: Sequence[Finding], p_family: float | None
) -> Figure | None:
    """Return sets of keys by attacks, coloured by the excess, or where there is none by how far the value is above the guess."""
    by_excess = any(attack.excess is not None for attack in attacks)
    cells: dict[tuple[str, ...], dict[str, Finding]] = {}
    for attack in attacks:
        cells.setdefault(attack.keys, {})[attack.attacker] = attack
    key_sets = list(cells)
    if len(key_sets) < 2 or not any(
        _shade(a, by_excess) is not None for row in cells.values() for a in row.values()
    ):
        return None
    rank = {chosen: max(_rank(a, by_excess) for a in row.values()) for chosen, row in cells.items()}
    shortlist = sorted(key_sets, key=lambda chosen: -rank[chosen])[:MOST]
    measures = list(dict.fromkeys(attack.attacker for attack in attacks))
    what = "excess over the holdout" if by_excess else "value less guess"
    scope = (
        f", the {len(shortlist)} worst of {len(key_sets):,}"
        if len(shortlist) < len(key_sets)
        else ""
    )
    caption = f"Sets of keys{scope}: {what} in guessing {display_name(sensitive, 40)}"
    top = max(cells[shortlist[0]].values(), key=lambda a: _rank(a, by_excess))
    plot = _map(f"{key}-plot", caption, cells, shortlist, measures, top, by_excess)
    largest = format_signed(_shade(top, by_excess))
    p = (
        f" Its p-value over all attacks: {number(top.p_family)}; that of the largest of all: {number(p_family)}."
        if by_excess
        else " There is no holdout, so this is no excess."
    )
    note = (
        f"{'Filled circles: keys that are known. ' * _has_circles(cells)}Outlined: the largest, {largest} ({display_name(top.title, 80)}).{p} "
        "Orange with a plus is riskier, blue with a minus lower than the reference."
    )
    rows = tuple(
        (
            ", ".join(display_name(name, 32) for name in chosen[:12]),
            *(format_signed(_shade(cells[chosen].get(m), by_excess)) for m in measures),
        )
        for chosen in shortlist
    )
    return Figure(
        key,
        caption,
        (plot,),
        page_table(caption, rows, Wide("Keys"), *(Num(attacker_of(m).title) for m in measures)),
        note,
    )


def _shade(attack: Finding | None, by_excess: bool) -> float | None:
    if attack is None or by_excess:
        return None if attack is None else attack.excess
    return None if attack.guess is None or attack.value is None else attack.value - attack.guess


def _rank(attack: Finding, by_excess: bool) -> float:
    shade = _shade(attack, by_excess)
    return -9.0 if shade is None else shade


def _map(
    key: str,
    caption: str,
    cells: Mapping[tuple[str, ...], Mapping[str, Finding]],
    shortlist: Sequence[tuple[str, ...]],
    measures: Sequence[str],
    top: Finding,
    by_excess: bool,
) -> Markup:
    names = list(
        dict.fromkeys(name for chosen in sorted(cells, key=len, reverse=True) for name in chosen)
    )
    marked = _has_circles(cells)
    side, wide, pitch = 22.0, 52.0, 22.0
    heads = [*(names if marked else ()), *(attacker_of(m).title for m in measures)]
    labels = [cut(name, 150, 11) for name in heads]
    head = 16 + max(width_of(label, 11) for label in labels) * 0.8
    row_labels = [] if marked else [cut(", ".join(chosen), 330) for chosen in shortlist]
    x_start = (
        12 + len(names) * side if marked else 16 + max(width_of(label, 12) for label in row_labels)
    )
    start = x_start + 14
    xs = [8 + (i + 0.5) * side for i in range(len(names) if marked else 0)]
    xs += [start + (i + 0.5) * wide for i in range(len(measures))]
    body = [
        text(x + 4, head - 6, label, size=11, rotation=-52)
        for x, label in zip(xs, labels, strict=True)
    ]
    known = [
        v for c in shortlist for a in cells[c].values() if (v := _shade(a, by_excess)) is not None
    ]
    reach = next((r for r in (0.05, 0.1, 0.2, 0.5) if max(map(abs, known)) <= r), 1.0)
    ring = ""
    for i, chosen in enumerate(shortlist):
        y = head + i * pitch
        if marked:
            body += [
                circle(x, y + pitch / 2, 6, fill=INK)
                if name in chosen
                else circle(x, y + pitch / 2, 3, fill="none", stroke="#bbb")
                for x, name in zip(xs, names, strict=False)
            ]
        else:
            body.append(text(x_start - 6, y + 15, row_labels[i], anchor="end"))
        for j, measure in enumerate(measures):
            attack = cells[chosen].get(measure)
            body.append(
                _cell(start + j * wide, y, wide, pitch, attack, _shade(attack, by_excess), reach)
            )
            if attack is top:
                ring = box(start + j * wide, y, wide - 2, pitch - 2, stroke=INK, stroke_width=3)
    bottom = head + len(shortlist) * pitch
    scale = colour_scale(20, bottom + 12, SIGNED, -reach, reach, unknown="no value")
    body += [ring, *scale]
    over = max(x + width_of(label, 11) * 0.62 for x, label in zip(xs, labels, strict=True))
    desc = f"{count_noun(len(shortlist), 'set')} of keys by {count_noun(len(measures), 'attack')}; largest {format_signed(_shade(top, by_excess))} for {display_name(top.title, 80)} knowing {keys_words(top.keys)}."
    return picture(
        key,
        max(start + len(measures) * wide + 8, over + 16, 320),
        bottom + 46,
        title=caption,
        desc=desc,
        body=body,
    )


def _has_circles(cells: Mapping[tuple[str, ...], object]) -> bool:
    """Return whether keys are few enough to have a column of circles each."""
    return len({name for chosen in cells for name in chosen}) <= MOST_KEYS


def _cell(
    x: float,
    y: float,
    wide: float,
    high: float,
    attack: Finding | None,
    value: float | None,
    reach: float,
) -> str:
    colour = None if value is None else blend(SIGNED, (value + reach) / (2 * reach))
    fill = UNKNOWN if colour is None else hex_colour(colour)
    description = (
        f"{display_name(attack.title, 80)}, {keys_words(attack.keys)}: {format_signed(value)}"
        if attack
        else "not measured"
    )
    cell = box(x, y, wide - 2, high - 2, fill=fill, tooltip=description)
    if colour is None or value is None:
        return cell
    return cell + element(
        "text",
        format_signed(value).replace("0.", ".", 1),
        x=x + (wide - 2) / 2,
        y=y + high / 2 + 3,
        fill=ink_on(colour),
        font_size=11,
        text_anchor="middle",
        pointer_events="none",
    )
