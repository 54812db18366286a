"""Charts that several pages draw: lines through points on two axes, and heat maps of relations between columns.

Lines are told apart by colour, dashes and shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.svg import GREY, SERIES, Axis, Colour, blend, cut, ink_on, mark, picture, text
from .._base.text import count_noun, fixed, is_number, number, shown, signed, width_of
from ..utility.association import Association

DASHES = ("", "7 4", "2 3", "10 3 2 3", "5 2", "1 2")
UNJOINED = "none"
LEFT, RIGHT, HEAD = 64.0, 20.0, 14.0
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


@dataclass(frozen=True)
class Point:
    """A place on a plot, with the ends of an interval where there is one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Curve:
    """A line of one series.

    Parameters
    ----------
    marks, joined
        Whether its points are marked, and whether a line leads through them.
    look
        Its place among the colours and shapes; its own unless given.
    shift
        Pixels to the right.
    """

    name: str
    points: tuple[Point, ...]
    marks: bool = True
    joined: bool = True
    look: int | None = None
    shift: float = 0.0


def curves(
    key: str,
    title: str,
    desc: str,
    lines: Sequence[Curve],
    *,
    across: Axis,
    up: Axis,
    labels: tuple[str, str],
    level: tuple[str, float] | None = None,
    diagonal: str = "",
    size: tuple[float, float] = (560.0, 360.0),
    x_of: Callable[[float], float] | None = None,
    extra: Sequence[str] = (),
) -> Markup:
    """Return lines through points on two axes, with intervals as upright bars.

    Parameters
    ----------
    across, up
        The axes, laid over pixels: `frame` says which.
    labels
        What the axes show.
    level
        The name and the height of a dashed line, as of a baseline.
    diagonal
        The name of a dashed line where both numbers are equal; none where it is empty.
    at
        Where a number stands from left to right, where the axis alone does not say it.
    extra
        More shapes, drawn below the lines.
    """
    width, height = size
    (x_start, right), (bottom, top) = frame(size)
    index = x_of or across
    parts = [*across.across(top, bottom), *up.up(x_start, right), *extra]
    entries: dict[str, tuple[str, str, str]] = {}
    for i, line in enumerate(lines):
        colour, shape, dash = _look(i if line.look is None else line.look)
        entries[line.name] = (
            colour,
            shape if line.marks else "",
            dash if line.joined else UNJOINED,
        )
    if diagonal:
        entries[diagonal] = (GREY, "", "4 4")
        parts.append(
            _path([(across(value), up(value)) for value in _shared(across, up)], GREY, "4 4", 1.5)
        )
    if level:
        entries[level[0]] = (GREY, "", "4 4")
        parts.append(_path([(x_start, up(level[1])), (right, up(level[1]))], GREY, "4 4", 1.5))
    for line in lines:
        colour, shape, dash = entries[line.name]
        spots = [(index(p.x) + line.shift, up(p.y)) for p in line.points]
        parts.append(_path(spots, colour, dash, 2) if line.joined else "")
        if line.marks:
            parts += [
                _marked(line.name, p, x, y, up, colour, shape)
                for p, (x, y) in zip(line.points, spots, strict=True)
            ]
    parts.append(
        text((x_start + right) / 2, bottom + 36, labels[0], anchor="middle", size=11, fill=GREY)
    )
    parts.append(
        text(12, (top + bottom) / 2, labels[1], anchor="middle", size=11, fill=GREY, turn=-90)
    )
    legend, foot = _legend(entries, x_start, right, bottom + 60)
    # A figure may stand alone in a file, where no page says what its letters look like.
    body = ['<g font-family="sans-serif" font-size="12">', *parts, *legend, "</g>"]
    return picture(key, width, max(height, foot), title=title, desc=desc, body=body)


def _marked(name: str, point: Point, x: float, y: float, up: Axis, colour: str, shape: str) -> str:
    description, bar = f"{shown(name)}: {number(point.y)}", ""
    if point.low is not None and point.high is not None:
        description += f" ({number(point.low)} to {number(point.high)})"
        bar = f'<path d="M{x:.1f} {up(point.low):.1f}V{up(point.high):.1f}" stroke="{colour}" stroke-width="1.5"/>'
    return f"<g><title>{escape(description)}</title>{bar}{mark(x, y, colour, shape)}</g>"


def frame(
    size: tuple[float, float] = (560.0, 360.0),
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the pixels of a plot: left and right, then bottom and top, with room for labels and a legend below."""
    width, height = size
    return (LEFT, width - RIGHT - 6), (height - 84, HEAD)


def success_figure(
    rows: Sequence[Mapping[str, Any]],
    *,
    key: str = "success",
    title: str = "Success of singling out against epsilon",
) -> Markup:
    """Return success against epsilon, a line for each synthesiser with intervals, beside the baseline: Sedlmeyr (2024), figures 12 to 15.

    Parameters
    ----------
    rows
        Each has `synthesiser` (a name), `epsilon` (above 0, or None for no promise: it stands apart at the right), `success`, `interval`
        and `baseline` (|X| / |D|, equation 1).

    Raises
    ------
    InputError
        If there are no rows, one lacks a key, or the baselines differ: they are other settings, and another figure.
    """
    if not rows:
        raise InputError("A figure of success needs rows. Got none.")
    for row in rows:
        for name in ("synthesiser", "epsilon", "success", "interval", "baseline"):
            if name not in row:
                raise InputError(f"A row of the figure lacks '{name}'.")
        if row["epsilon"] is not None and not (is_number(row["epsilon"]) and row["epsilon"] > 0):
            raise InputError("epsilon must be a number above 0, or None for no promise.")
    baselines = {float(row["baseline"]) for row in rows}
    if len(baselines) > 1:
        raise InputError("The rows have several baselines: draw a figure for each |X| / |D|.")
    size = (640.0, 400.0)
    (x_start, right), (bottom, top) = frame(size)
    known = sorted({float(row["epsilon"]) for row in rows if row["epsilon"] is not None})
    promised = len(known) > 0
    none = any(row["epsilon"] is None for row in rows)
    edge = right - 96 if none and promised else right
    across = Axis(
        known[0] if promised else 1.0,
        known[-1] if promised else 1.0,
        x_start + 14,
        edge - 14,
        log=True,
    )
    if len(known) < 2:
        across.ticks = known
    apart = right - 40 if promised else (x_start + right) / 2
    up = Axis(
        0.0,
        max(float(v) for row in rows for v in (*row["interval"], row["success"], row["baseline"])),
        bottom,
        top,
    )
    names = list(dict.fromkeys(str(row["synthesiser"]) for row in rows))
    lines = []
    for i, name in enumerate(names):
        mine = sorted(
            (row for row in rows if str(row["synthesiser"]) == name),
            key=lambda row: row["epsilon"] or 0.0,
        )
        # No line leads from a budget to none: what has no promise stands apart.
        for line in (
            [r for r in mine if r["epsilon"] is not None],
            [r for r in mine if r["epsilon"] is None],
        ):
            points = tuple(
                Point(
                    float(row["epsilon"] or math.inf),
                    float(row["success"]),
                    *map(float, row["interval"]),
                )
                for row in line
            )
            # Bars at one epsilon would hide each other: each stands a little beside it.
            lines += (
                [Curve(name, points, look=i, shift=7.0 * (i - (len(names) - 1) / 2))]
                if points
                else []
            )
    extra = []
    if none:
        extra = [text(apart, bottom + 16, "no promise", anchor="middle", size=11, fill=GREY)]
    if none and promised:
        extra.append(
            f'<path d="M{edge:.1f} {top:.1f}V{bottom:.1f}" stroke="{GREY}" stroke-width="1"/>'
        )
    (guess,) = baselines
    ways = [f"at {count_noun(len(known), 'value')} of epsilon"] * promised + [
        "without a promise"
    ] * none
    desc = f"{count_noun(len(names), 'synthesiser')} {' and '.join(ways)}; a guess reaches {number(guess)}."
    return curves(
        key,
        title,
        desc,
        lines,
        across=across,
        up=up,
        labels=("epsilon", "share of releases"),
        level=("a guess: |X| / |D|", guess),
        size=size,
        x_of=lambda x: across(x) if x < math.inf else apart,
        extra=extra,
    )


def _look(index: int) -> tuple[str, str, str]:
    colour, shape = SERIES[index % len(SERIES)]
    return colour, shape, DASHES[index % len(DASHES)]


def _path(spots: Sequence[tuple[float, float]], colour: str, dash: str, width: float) -> str:
    if len(spots) < 2:
        return ""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    steps = "L".join(f"{x:.1f} {y:.1f}" for x, y in spots)
    return f'<path d="M{steps}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dashed}/>'


def _shared(across: Axis, up: Axis) -> tuple[float, float]:
    """The least and the most that both axes have."""
    low, high = max(across.low, up.low), min(across.high, up.high)
    return (10**low, 10**high) if across.log else (low, high)


def _legend(
    entries: Mapping[str, tuple[str, str, str]], x_start: float, right: float, top: float
) -> tuple[list[str], float]:
    """What each line looks like, on as many lines as that takes, and where it ends; a line without a mark has no shape."""
    out, x, y = [], x_start, top
    for name, (colour, shape, dash) in entries.items():
        name_shown = cut(name, right - x_start - 40)
        room = 52 + width_of(name_shown, 12)
        if x > x_start and x + room - 16 > right:
            x, y = x_start, y + 20
        out.append("" if dash == UNJOINED else _path([(x, y), (x + 28, y)], colour, dash, 2))
        out += [mark(x + 14, y, colour, shape)] if shape else []
        out.append(text(x + 34, y + 4, name_shown))
        x += room
    return out, y + 14


class Matrices:
    """Two matrices of relations between columns, as floats with NaN where there is none, cut to the columns that differ most."""

    def __init__(self, relations: Association, max_columns: int = MOST_COLUMNS) -> None:
        self.of = len(relations.names)
        shortlist = _most_different(relations.synthetic - relations.original, max_columns)
        self.names = [relations.names[i] for i in shortlist]
        self.original, self.synthetic = (
            side[np.ix_(shortlist, shortlist)] for side in (relations.original, relations.synthetic)
        )
        self.difference = self.synthetic - self.original

    def pairs(self) -> list[tuple[str, str, float, float, float]]:
        """Return the shown pairs with both values and the difference, largest first; NaN where there is none."""
        rows = []
        for i, name in enumerate(self.names):
            for j in range(i):
                cell = (i, j)
                rows.append(
                    (
                        self.names[j],
                        name,
                        self.original[cell],
                        self.synthetic[cell],
                        self.difference[cell],
                    )
                )
        return sorted(rows, key=lambda row: -abs(row[4]) if row[4] == row[4] else 1.0)


def _most_different(difference: Floats, max_columns: int) -> list[int]:
    """Return places of the columns with the largest differences, in their own order."""
    size = len(difference)
    if size <= max_columns:
        return list(range(size))
    worst = np.nan_to_num(np.abs(difference), nan=-1.0)
    np.fill_diagonal(worst, -1.0)
    return sorted(np.argsort(-worst.max(axis=1), kind="stable")[:max_columns].tolist())


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
            both_values=(m.original, m.synthetic),
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
    both_values: tuple[Floats, Floats] | None = None,
) -> Markup:
    size = max(len(names), 1)
    font = 11.0 if size <= NUMBERED else 10.0 if both_values else 9.0
    labels = [cut(name, 120 if both_values else 96, font) for name in names]
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
        _named_cells(names, values, both_values, margin, top, side, ramp, low, high)
        if both_values
        else []
    )
    if not both_values:
        cells = _plain_cells(values, margin, top, side, ramp, low, high)
    parts = [text(0, 14, title, size=13, bold=True), *cells]
    parts += _numbers(values, margin, top, side, ramp, low, high, change=both_values is not None)
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


def hex_colour(colour: Colour) -> str:
    """Return a colour as a page writes it."""
    return f"#{colour[0]:02x}{colour[1]:02x}{colour[2]:02x}"


def _plain_cells(
    values: Floats,
    x_start: float,
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
        index = round((value - low) / (high - low) * 50) / 50 if value == value else None
        shade = UNKNOWN if index is None else hex_colour(blend(ramp, index))
        by_shade.setdefault(shade, []).append(f"M{x_start + j * side:.1f} {top + i * side:.1f}")
    box = f"h{side - gap:.1f}v{side - gap:.1f}h-{side - gap:.1f}z"
    out = [
        f'<path d="{"".join(start + box for start in starts)}" fill="{shade}"/>'
        for shade, starts in by_shade.items()
    ]
    return [*out, _outline(x_start, top, side * len(values))]


def _named_cells(
    names: Sequence[str],
    values: Floats,
    both_values: tuple[Floats, Floats],
    x_start: float,
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
        fill = hex_colour(_shade(value, ramp, low, high)) if known else UNKNOWN
        tooltip = (
            f"{fixed(both_values[0][i, j], 2)}, now {fixed(both_values[1][i, j], 2)} ({signed(value, 2)})"
            if known
            else "not defined"
        )
        start = f'<path d="M{x_start + j * side:.1f} {top + i * side:.1f}{box}" fill="{fill}"'
        # Of many columns one half says it for both: the page stays small whatever the names.
        named = len(names) <= NUMBERED or j < i
        out.append(
            f"{start}><title>{short[i]}, {short[j]}: {tooltip}</title></path>"
            if named
            else f"{start}/>"
        )
    return [*out, _outline(x_start, top, side * len(values))]


def _outline(x_start: float, top: float, length: float) -> str:
    return f'<rect x="{x_start - 1:.1f}" y="{top - 1:.1f}" width="{length + 1:.1f}" height="{length + 1:.1f}" fill="none" stroke="#bbb"/>'


def _numbers(
    values: Floats,
    x_start: float,
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
        digits = (
            (signed(value, 2) if change else fixed(value, 2))
            .replace("0.", ".", 1)
            .replace("1.00", "1")
        )
        x, y = x_start + (j + 0.5) * side - 0.5, top + (i + 0.5) * side + size * 0.35
        ink = ink_on(_shade(value, ramp, low, high))
        by_ink.setdefault(ink, []).append(f'<text x="{x:.1f}" y="{y:.1f}">{digits}</text>')
    return [
        f'<g fill="{ink}" font-size="{size:g}" text-anchor="middle" pointer-events="none">{"".join(parts)}</g>'
        for ink, parts in by_ink.items()
    ]


def _scale(
    x_start: float, top: float, ramp: Sequence[Colour], low: float, high: float
) -> list[str]:
    steps, width = 40, 5.0
    out = [
        f'<rect x="{x_start + i * width:.1f}" y="{top:.1f}" width="{width:.1f}" height="10" shape-rendering="crispEdges" fill="{hex_colour(blend(ramp, i / (steps - 1)))}"/>'
        for i in range(steps)
    ]
    out.append(
        f'<rect x="{x_start:.1f}" y="{top:.1f}" width="{steps * width:.1f}" height="10" fill="none" stroke="#999"/>'
    )
    for share in (0.0, 0.5, 1.0):
        value = low + share * (high - low)
        tick_label = signed(value, 2).replace(".00", "") if low < 0 else number(value)
        out.append(
            text(
                x_start + share * steps * width,
                top + 24,
                tick_label,
                anchor="middle",
                size=11,
                fill=GREY,
            )
        )
    out.append(
        f'<rect x="{x_start + steps * width + 22:.1f}" y="{top:.1f}" width="10" height="10" fill="{UNKNOWN}" stroke="#999"/>'
    )
    out.append(text(x_start + steps * width + 38, top + 9.5, "not defined", size=11, fill=GREY))
    return out
