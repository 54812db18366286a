"""The picture of attacks between their references: a line for each attack, a dot for each reference."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from ..._base.svg import Dot, dots
from ..._base.text import number
from .attack import Attack
from .verdict import keys_words

SIDES = {
    "original": "original",
    "value": "synthetic",
    "marginals_only": "marginals only",
    "holdout": "holdout",
    "label_only": "label only",
    "guess": "guess",
}
"""What stands on a ladder, by the fields of an attack."""
LANES = {"original": 0, "marginals_only": 0, "guess": 0, "label_only": 1, "holdout": 1, "value": 2}


def sides_of(attacks: Sequence[Attack]) -> list[str]:
    """Return the sides that some attack has."""
    return [side for side in SIDES if any(getattr(attack, side) is not None for attack in attacks)]


def ladder_plot(key: str, caption: str, attacks: Sequence[Attack], *, several: bool) -> Markup:
    """Return the picture; `several` says whether there are several sets of keys, which are then named."""
    rows = [
        (
            f"{a.attacker.short if not a.convention else a.title}: {keys_words(a.keys, most=12)}"
            if several
            else a.title,
            _dots(a),
        )
        for a in attacks
    ]
    series = sides_of(attacks)
    words = "; ".join(
        f"{name}: " + ", ".join(f"{dot.series} {number(dot.value)}" for dot in line)
        for name, line in rows[:12]
    )
    used = sorted({LANES[side] for side in series})
    return dots(
        key,
        caption,
        words,
        rows,
        [SIDES[side] for side in series],
        label="share of people for whom the attack is right; bars: 95 % interval",
        low=0.0,
        high=1.0,
        lanes=[used.index(LANES[side]) for side in series],
        marks=[list(SIDES).index(side) for side in series],
    )


def _dots(attack: Attack) -> list[Dot]:
    ends = attack.interval or (None, None)
    return [
        Dot(name, value, *(ends if side == "value" else (None, None)))
        for side, name in SIDES.items()
        if (value := getattr(attack, side)) is not None
    ]
