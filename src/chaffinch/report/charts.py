"""Charts that several pages draw: lines through points on two axes, points with names on a plane, and heat maps of relations between columns.

Lines differ in colour, dashes and shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np
from markupsafe import Markup

from .._base.arrays import Floats
from .._base.svg import (
    GREY,
    INK,
    SERIES,
    SIZE,
    Axis,
    Colour,
    blend,
    box,
    circle,
    cut,
    element,
    ink_on,
    line,
    mark,
    picture,
    text,
)
from .._base.text import (
    count_noun,
    display_name,
    format_fixed,
    format_signed,
    number,
    width_of,
)
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
    for i, curve in enumerate(lines):
        colour, shape, dash = _look(i if curve.look is None else curve.look)
        entries[curve.name] = (
            colour,
            shape if curve.marks else "",
            dash if curve.joined else UNJOINED,
        )
    if diagonal:
        entries[diagonal] = (GREY, "", "4 4")
        low, high = max(across.low, up.low), min(across.high, up.high)
        shared = (10**low, 10**high) if across.log else (low, high)
        ends = [(across(value), up(value)) for value in shared]
        parts.append(line(ends, stroke=GREY, dashes="4 4", width=1.5))
    if level:
        entries[level[0]] = (GREY, "", "4 4")
        y = up(level[1])
        parts.append(line([(x_start, y), (right, y)], stroke=GREY, dashes="4 4", width=1.5))
    for curve in lines:
        colour, shape, dash = entries[curve.name]
        spots = [(index(p.x) + curve.shift, up(p.y)) for p in curve.points]
        if curve.joined:
            parts.append(line(spots, stroke=colour, dashes=dash, width=2))
        if curve.marks:
            parts += [
                _point_mark(curve.name, p, x, y, up, colour, shape)
                for p, (x, y) in zip(curve.points, spots, strict=True)
            ]
    parts.append(
        text((x_start + right) / 2, bottom + 36, labels[0], anchor="middle", size=11, fill=GREY)
    )
    parts.append(
        text(12, (top + bottom) / 2, labels[1], anchor="middle", size=11, fill=GREY, rotation=-90)
    )
    legend, foot = _legend(entries, x_start, right, bottom + 60)
    # A figure may stand alone in a file, where no page says what its letters look like.
    body = element("g", *parts, *legend, font_family="sans-serif", font_size=12)
    return picture(key, width, max(height, foot), title=title, desc=desc, body=[body])


def _point_mark(
    name: str, point: Point, x: float, y: float, up: Axis, colour: str, shape: str
) -> str:
    description, bar = f"{display_name(name)}: {number(point.y)}", ""
    if point.low is not None and point.high is not None:
        description += f" ({number(point.low)} to {number(point.high)})"
        bar = line([(x, up(point.low)), (x, up(point.high))], stroke=colour, width=1.5)
    return element("g", bar, mark(x, y, colour, shape), tooltip=description)


def frame(
    size: tuple[float, float] = (560.0, 360.0),
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the pixels of a plot: left and right, then bottom and top, with room for labels and a legend below."""
    width, height = size
    return (LEFT, width - RIGHT - 6), (height - 84, HEAD)


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A point of a plane: its intervals, its mark ("dot" is a small one), what it says when pointed at, and its name beside or above it."""

    x: float
    y: float
    x_interval: tuple[float, float] | None = None
    y_interval: tuple[float, float] | None = None
    colour: str = GREY
    shape: str = ""
    description: str = ""
    label: str = ""
    ink: str = GREY
    above: bool = False


@dataclass(frozen=True)
class Level:
    """A dashed line across a plane, named at its left end, or at its right."""

    name: str
    value: float
    colour: str = GREY
    at_right: bool = False


def plane(
    across: tuple[float, float], up: tuple[float, float], size: tuple[float, float]
) -> tuple[Axis, Axis]:
    """Return the axes of a plane from the least and the largest number on each, with room for their names."""
    width, height = size
    return Axis(*across, LEFT, width - RIGHT), Axis(*up, height - 52, 18)


def scatter(
    key: str,
    title: str,
    desc: str,
    spots: Sequence[Spot],
    *,
    axes: tuple[Axis, Axis],
    names: tuple[str, str],
    levels: Sequence[Level] = (),
    stairs: Sequence[tuple[float, float]] = (),
    remark: str = "",
    size: tuple[float, float],
) -> Markup:
    """Return points on a plane, each named without lying over another name; one above the axis stands at its end, without intervals.

    Parameters
    ----------
    axes, names
        As `plane` returns them, and what they show.
    stairs
        Points that a line leads through in steps.
    remark
        A line at the upper left.
    """
    (width, height), (across, up) = size, axes
    body = [*across.across(up.end, up.start), *up.up(across.start, across.end)]
    labels = PointLabels(top=up.end + 8, bottom=up.start, room=0.45 * width, step=13)
    for level in levels:
        y = up(level.value)
        body.append(
            line([(across.start, y), (across.end, y)], stroke=level.colour, width=1.5, dashes="6 3")
        )
        x, anchor = (across.end - 4, "end") if level.at_right else (across.start + 6, "start")
        body.append(labels.add(x, y - 5, level.name, fill=INK, anchor=anchor))
    if remark:
        body.append(labels.add(across.start + 6, up.end + 12, remark, fill=GREY, anchor="start"))
    turns = [(across(x), up(y)) for x, y in stairs]
    corners = [(x, y) for (_, y), (x, _) in pairwise(turns)]
    steps = [point for pair in zip_longest(turns, corners) for point in pair if point]
    body.append(line(steps, stroke=SERIES[0][0], width=1.5))
    body += [_spot(spot, across, up) for spot in spots if spot.shape]
    for spot in spots:
        x, y = across(spot.x), up(spot.y)
        right = x > (across.start + width) / 2
        if spot.label and spot.above:
            body.append(labels.add(x, y - 11, spot.label, fill=spot.ink, anchor="middle"))
        elif spot.label:
            anchor = "end" if right else "start"
            x += -9 if right else 9
            body.append(labels.add(x, y - 8, spot.label, fill=spot.ink, anchor=anchor))
    centre, middle = (across.start + width) / 2, (up.start + up.end) / 2
    name = cut(names[0], width - across.start)
    body.append(text(centre, height - 10, name, anchor="middle", fill=GREY))
    body.append(text(14, middle, names[1], anchor="middle", fill=GREY, rotation=-90))
    # A figure may stand alone in a file, where no page says what its letters look like.
    drawn = element("g", *body, font_family="sans-serif", font_size=12)
    return picture(key, width, height, title=title, desc=desc, body=[drawn])


def _spot(spot: Spot, across: Axis, up: Axis) -> str:
    x, y = across(spot.x), up(spot.y)
    bars = ""
    if spot.y <= up.high:
        if spot.x_interval:
            low, high = map(across, spot.x_interval)
            bars += line([(low, y), (high, y)], stroke=spot.colour, width=1.5, stroke_opacity=".5")
        if spot.y_interval:
            low, high = map(up, spot.y_interval)
            bars += line([(x, low), (x, high)], stroke=spot.colour, width=1.5, stroke_opacity=".5")
    dot = (
        circle(x, y, 3, fill=spot.colour)
        if spot.shape == "dot"
        else mark(x, y, spot.colour, spot.shape)
    )
    return element("g", bars, dot, tooltip=display_name(spot.description, 300))


@dataclass
class PointLabels:
    """Names beside the points of a picture, each moved down until it lies over no other: between `top` and `bottom`, at most `room` wide, lines `step` apart."""

    top: float
    bottom: float
    room: float
    step: float
    taken: list[tuple[float, float, float]] = field(default_factory=list)

    def add(self, x: float, y: float, name: str, *, fill: str, anchor: str) -> str:
        """Return a name near a point."""
        name_shown = cut(name, self.room)
        wide = width_of(name_shown, SIZE)
        start = x - wide if anchor == "end" else x - wide / 2 if anchor == "middle" else x
        y = max(y, self.top)
        while (
            any(
                abs(y - other) < self.step and start < end and begin < start + wide
                for begin, end, other in self.taken
            )
            and y < self.bottom
        ):
            y += self.step
        self.taken.append((start, start + wide, y))
        return text(x, y, name_shown, fill=fill, anchor=anchor)


def _look(index: int) -> tuple[str, str, str]:
    colour, shape = SERIES[index % len(SERIES)]
    return colour, shape, DASHES[index % len(DASHES)]


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
        if dash != UNJOINED:
            out.append(line([(x, y), (x + 28, y)], stroke=colour, dashes=dash, width=2))
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
                rotation=-90 if upright else -52,
            )
        )
    bottom = top + size * side
    parts += colour_scale(margin, bottom + 14, ramp, low, high)
    return picture(
        key,
        max(margin + size * side + right, margin + 330),
        bottom + 46,
        title=title,
        desc=_map_words(names, values),
        body=parts,
    )


def _map_words(names: Sequence[str], values: Floats) -> str:
    """Say what a map shows, for those who cannot see it."""
    below = np.tril(np.nan_to_num(np.abs(values), nan=-1.0) + 2.0, -1)
    if not below.any() or below.max() < 2.0:
        return f"{count_noun(len(names), 'column')}; no value is defined."
    i, j = divmod(int(below.argmax()), len(names))
    pairs = values[np.tril_indices(len(names), -1)]
    return (
        f"{len(names)} by {count_noun(len(names), 'column')}, mean absolute value {number(float(np.nanmean(np.abs(pairs))))}; "
        f"largest for {display_name(names[j], 40)} and {display_name(names[i], 40)}: {format_signed(float(values[i, j]))}. The numbers are in the table below."
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
    square = f"h{side - gap:.1f}v{side - gap:.1f}h-{side - gap:.1f}z"
    out = [
        element("path", d="".join(start + square for start in starts), fill=shade)
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
    short = [display_name(name, 32 if len(names) <= NUMBERED else 16) for name in names]
    out = []
    for i, j in np.ndindex(values.shape):
        if i == j:
            continue
        value = float(values[i, j])
        known = value == value
        fill = hex_colour(_shade(value, ramp, low, high)) if known else UNKNOWN
        tooltip = (
            f"{format_fixed(both_values[0][i, j], 2)}, now {format_fixed(both_values[1][i, j], 2)} ({format_signed(value, 2)})"
            if known
            else "not defined"
        )
        # Of many columns one half says it for both: the page stays small whatever the names.
        named = len(names) <= NUMBERED or j < i
        pair = f"{short[i]}, {short[j]}: {tooltip}" if named else ""
        x, y = x_start + j * side, top + i * side
        out.append(box(x, y, side - 1, side - 1, fill=fill, tooltip=pair))
    return [*out, _outline(x_start, top, side * len(values))]


def _outline(x_start: float, top: float, length: float) -> str:
    return box(x_start - 1, top - 1, length + 1, length + 1, stroke="#bbb")


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
            (format_signed(value, 2) if change else format_fixed(value, 2))
            .replace("0.", ".", 1)
            .replace("1.00", "1")
        )
        x, y = x_start + (j + 0.5) * side - 0.5, top + (i + 0.5) * side + size * 0.35
        ink = ink_on(_shade(value, ramp, low, high))
        by_ink.setdefault(ink, []).append(element("text", digits, x=x, y=y))
    look: dict[str, Any] = {"font_size": size, "text_anchor": "middle", "pointer_events": "none"}
    return [element("g", *parts, fill=ink, **look) for ink, parts in by_ink.items()]


def colour_scale(
    x_start: float,
    top: float,
    ramp: Sequence[Colour],
    low: float,
    high: float,
    *,
    unknown: str = "not defined",
) -> list[str]:
    """Return the legend of a map: its colours from the lowest to the highest value, and the one where there is none."""
    steps, width = 40, 5.0
    out = [
        box(
            x_start + i * width,
            top,
            width,
            10,
            shape_rendering="crispEdges",
            fill=hex_colour(blend(ramp, i / (steps - 1))),
        )
        for i in range(steps)
    ]
    end = x_start + steps * width
    out.append(box(x_start, top, end - x_start, 10, stroke="#999"))
    for share in (0.0, 0.5, 1.0):
        value = low + share * (high - low)
        tick_label = format_signed(value, 2).replace(".00", "") if low < 0 else number(value)
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
    out.append(box(end + 22, top, 10, 10, fill=UNKNOWN, stroke="#999"))
    out.append(text(end + 38, top + 9.5, unknown, size=11, fill=GREY))
    return out
