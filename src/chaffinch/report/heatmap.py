"""Heat maps of relations between columns: original, synthetic, and their difference."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from .._base.svg import GREY, Colour, blend, cut, ink_on, picture, text
from .._base.text import count_noun, fixed, number, shown, signed, width_of
from ..utility.association import Association

MOST_COLUMNS = 40
NUMBERED = 20
WIDE = 1130.0
PAIRED = 556.0
MARKED = 0.05

# One hue from white for strengths; blue below zero and orange above for what has a sign, which no common colour blindness mixes up.
STRENGTH = ((255, 255, 255), (198, 219, 239), (107, 174, 214), (33, 113, 181), (8, 48, 107))
SIGNED = (
    (3, 62, 115),
    (60, 139, 190),
    (190, 218, 235),
    (255, 255, 255),
    (253, 208, 162),
    (230, 120, 20),
    (140, 55, 0),
)
UNKNOWN = "#e4e4e4"
Floats = NDArray[np.float64]


class Matrices:
    """Two matrices of relations between columns, as floats with NaN where there is none, cut to the columns that differ most."""

    def __init__(self, relations: Association, most: int = MOST_COLUMNS) -> None:
        self.of = len(relations.names)
        some = _most_different(relations.synthetic - relations.original, most)
        self.names = [relations.names[i] for i in some]
        self.original, self.synthetic = (
            side[np.ix_(some, some)] for side in (relations.original, relations.synthetic)
        )
        self.difference = self.synthetic - self.original

    def pairs(self) -> list[tuple[str, str, float, float, float]]:
        """Return the shown pairs with both values and the difference, largest first; NaN where there is none."""
        rows = []
        for i, one in enumerate(self.names):
            for j in range(i):
                at = (i, j)
                rows.append(
                    (self.names[j], one, self.original[at], self.synthetic[at], self.difference[at])
                )
        return sorted(rows, key=lambda row: -abs(row[4]) if row[4] == row[4] else 1.0)


def _most_different(difference: Floats, most: int) -> list[int]:
    """Return places of the columns with the largest differences, in their own order."""
    size = len(difference)
    if size <= most:
        return list(range(size))
    worst = np.nan_to_num(np.abs(difference), nan=-1.0)
    np.fill_diagonal(worst, -1.0)
    return sorted(np.argsort(-worst.max(axis=1), kind="stable")[:most].tolist())


def heat_maps(
    key: str, what: str, matrices: Matrices, *, signs: bool
) -> tuple[Markup, Markup, Markup]:
    """Return three maps: the original's relations, the synthetic table's, and the second less the first.

    Parameters
    ----------
    key
        Start of the identifiers in the page.
    what
        What is mapped, as `phi_k`.
    signs
        Whether it runs from -1 to 1, not from 0 to 1.
    """
    m = matrices
    ramp, low = (SIGNED, -1.0) if signs else (STRENGTH, 0.0)
    largest = np.nanmax(np.abs(m.difference)) if np.isfinite(m.difference).any() else 0.0
    reach = next(
        limit for limit in (0.1, 0.2, 0.5, 1.0, 2.0) if largest <= limit + 1e-9 or limit == 2.0
    )
    return (
        _map(
            f"{key}-original",
            f"{what}, original table",
            m.names,
            m.original,
            ramp,
            low,
            1.0,
            PAIRED,
        ),
        _map(
            f"{key}-synthetic",
            f"{what}, synthetic table",
            m.names,
            m.synthetic,
            ramp,
            low,
            1.0,
            PAIRED,
        ),
        _map(
            f"{key}-difference",
            f"{what}, synthetic less original",
            m.names,
            m.difference,
            SIGNED,
            -reach,
            reach,
            WIDE,
            beside=(m.original, m.synthetic),
        ),
    )


def _map(
    key: str,
    title: str,
    names: Sequence[str],
    values: Floats,
    ramp: Sequence[Colour],
    low: float,
    high: float,
    room: float,
    beside: tuple[Floats, Floats] | None = None,
) -> Markup:
    size = max(len(names), 1)
    font = 11.0 if size <= NUMBERED else 10.0 if beside else 9.0
    labels = [cut(name, 120 if beside else 96, font) for name in names]
    margin = max([40.0, *(width_of(label, font) + 8 for label in labels)])
    upright = (room - margin) / size * 0.79 < font * 1.2
    over, up = (0.0, 1.0) if upright else (0.62, 0.8)
    top = 26 + margin * up
    guess = min((room - margin) / size, 42.0)
    right = max(
        [
            2.0,
            *(
                width_of(name, font) * over + 10 - (size - i - 0.5) * guess
                for i, name in enumerate(labels)
            ),
        ]
    )
    side = min((room - margin - right) / size, 42.0)
    cells = (
        _named_cells(names, values, beside, margin, top, side, ramp, low, high) if beside else []
    )
    if not beside:
        cells = _plain_cells(values, margin, top, side, ramp, low, high)
    parts = [text(0, 14, title, size=13, bold=True), *cells]
    parts += _numbers(values, margin, top, side, ramp, low, high, change=beside is not None)
    for i, label in enumerate(labels):
        middle = (i + 0.5) * side
        parts.append(text(margin - 5, top + middle + font * 0.35, label, anchor="end", size=font))
        parts.append(
            text(
                margin + middle + font * 0.3,
                top - 5,
                label,
                size=font,
                turn=-90 if upright else -52,
            )
        )
    bottom = top + size * side
    parts += _scale(margin, bottom + 14, ramp, low, high)
    return picture(
        key,
        max(margin + size * side + right, margin + 330),
        bottom + 46,
        title=title,
        desc=_described(names, values),
        body=parts,
    )


def _described(names: Sequence[str], values: Floats) -> str:
    """Say what a map shows, for those who cannot see it."""
    below = np.tril(np.nan_to_num(np.abs(values), nan=-1.0) + 2.0, -1)
    if not below.any() or below.max() < 2.0:
        return f"{count_noun(len(names), 'column')}; no value is defined."
    i, j = divmod(int(below.argmax()), len(names))
    pairs = values[np.tril_indices(len(names), -1)]
    return (
        f"{len(names)} by {count_noun(len(names), 'column')}, mean absolute value {number(float(np.nanmean(np.abs(pairs))))}; "
        f"largest for {shown(names[j], 40)} and {shown(names[i], 40)}: {signed(float(values[i, j]))}. The numbers are in the table below."
    )


def _shade(value: float, ramp: Sequence[Colour], low: float, high: float) -> Colour:
    return blend(ramp, (value - low) / (high - low))


def _hex(colour: Colour) -> str:
    return f"#{colour[0]:02x}{colour[1]:02x}{colour[2]:02x}"


def _plain_cells(
    values: Floats,
    left: float,
    top: float,
    side: float,
    ramp: Sequence[Colour],
    low: float,
    high: float,
) -> list[str]:
    """Return cells as one path for each of 50 shades: a map of 40 columns stays small."""
    by_shade: dict[str, list[str]] = {}
    gap = 1.0 if side > 14 else 0.5
    for i, j in np.ndindex(values.shape):
        if i == j:
            continue
        value = float(values[i, j])
        place = round((value - low) / (high - low) * 50) / 50 if value == value else None
        shade = UNKNOWN if place is None else _hex(blend(ramp, place))
        by_shade.setdefault(shade, []).append(f"M{left + j * side:.1f} {top + i * side:.1f}")
    box = f"h{side - gap:.1f}v{side - gap:.1f}h-{side - gap:.1f}z"
    out = [
        f'<path d="{"".join(start + box for start in starts)}" fill="{shade}"/>'
        for shade, starts in by_shade.items()
    ]
    return [*out, _frame(left, top, side * len(values))]


def _named_cells(
    names: Sequence[str],
    values: Floats,
    beside: tuple[Floats, Floats],
    left: float,
    top: float,
    side: float,
    ramp: Sequence[Colour],
    low: float,
    high: float,
) -> list[str]:
    """Return cells that say their pair, both values and the signed difference when pointed at."""
    short = [escape(shown(name, 32 if len(names) <= NUMBERED else 16)) for name in names]
    box = f"h{side - 1:.1f}v{side - 1:.1f}h-{side - 1:.1f}z"
    out = []
    for i, j in np.ndindex(values.shape):
        if i == j:
            continue
        value = float(values[i, j])
        known = value == value
        fill = _hex(_shade(value, ramp, low, high)) if known else UNKNOWN
        words = (
            f"{fixed(beside[0][i, j], 2)}, now {fixed(beside[1][i, j], 2)} ({signed(value, 2)})"
            if known
            else "not defined"
        )
        start = f'<path d="M{left + j * side:.1f} {top + i * side:.1f}{box}" fill="{fill}"'
        # Of many columns one half says it for both: the page stays small whatever the names.
        named = len(names) <= NUMBERED or j < i
        out.append(
            f"{start}><title>{short[i]}, {short[j]}: {words}</title></path>"
            if named
            else f"{start}/>"
        )
    return [*out, _frame(left, top, side * len(values))]


def _frame(left: float, top: float, length: float) -> str:
    return f'<rect x="{left - 1:.1f}" y="{top - 1:.1f}" width="{length + 1:.1f}" height="{length + 1:.1f}" fill="none" stroke="#bbb"/>'


def _numbers(
    values: Floats,
    left: float,
    top: float,
    side: float,
    ramp: Sequence[Colour],
    low: float,
    high: float,
    *,
    change: bool,
) -> list[str]:
    """Return the numbers in the cells where they fit; of many columns only those that changed by 0.05 or more."""
    few = len(values) <= NUMBERED
    if not few and not change:
        return []
    size = round(min(11.0, side / (2.75 if change or low == 0.0 else 3.0)), 1)
    by_ink: dict[str, list[str]] = {}
    for i, j in np.ndindex(values.shape):
        value = float(values[i, j])
        if i == j or value != value or (not few and abs(value) < MARKED):
            continue
        words = (
            (signed(value, 2) if change else fixed(value, 2))
            .replace("0.", ".", 1)
            .replace("1.00", "1")
        )
        x, y = left + (j + 0.5) * side - 0.5, top + (i + 0.5) * side + size * 0.35
        ink = ink_on(_shade(value, ramp, low, high))
        by_ink.setdefault(ink, []).append(f'<text x="{x:.1f}" y="{y:.1f}">{words}</text>')
    return [
        f'<g fill="{ink}" font-size="{size:g}" text-anchor="middle" pointer-events="none">{"".join(parts)}</g>'
        for ink, parts in by_ink.items()
    ]


def _scale(left: float, top: float, ramp: Sequence[Colour], low: float, high: float) -> list[str]:
    steps, width = 40, 5.0
    out = [
        f'<rect x="{left + i * width:.1f}" y="{top:.1f}" width="{width:.1f}" height="10" shape-rendering="crispEdges" fill="{_hex(blend(ramp, i / (steps - 1)))}"/>'
        for i in range(steps)
    ]
    out.append(
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{steps * width:.1f}" height="10" fill="none" stroke="#999"/>'
    )
    for share in (0.0, 0.5, 1.0):
        value = low + share * (high - low)
        words = signed(value, 2).replace(".00", "") if low < 0 else number(value)
        out.append(
            text(left + share * steps * width, top + 24, words, anchor="middle", size=11, fill=GREY)
        )
    out.append(
        f'<rect x="{left + steps * width + 22:.1f}" y="{top:.1f}" width="10" height="10" fill="{UNKNOWN}" stroke="#999"/>'
    )
    out.append(text(left + steps * width + 38, top + 9.5, "not defined", size=11, fill=GREY))
    return out
