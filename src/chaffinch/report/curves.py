"""Lines through points on two axes, told apart by colour, dashes and shape: what the pages on attacks draw."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from markupsafe import Markup

from .._base.errors import InputError
from .._base.svg import GREY, SERIES, Axis, cut, mark, picture, text
from .._base.text import count_noun, is_number, number, shown, width_of

DASHES = ("", "7 4", "2 3", "10 3 2 3", "5 2", "1 2")
UNJOINED = "none"
LEFT, RIGHT, HEAD = 64.0, 20.0, 14.0


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
    at: Callable[[float], float] | None = None,
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
    (left, right), (bottom, top) = frame(size)
    place = at or across
    parts = [*across.across(top, bottom), *up.up(left, right), *extra]
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
        parts.append(_path([(left, up(level[1])), (right, up(level[1]))], GREY, "4 4", 1.5))
    for line in lines:
        colour, shape, dash = entries[line.name]
        spots = [(place(p.x) + line.shift, up(p.y)) for p in line.points]
        parts.append(_path(spots, colour, dash, 2) if line.joined else "")
        if line.marks:
            parts += [
                _marked(line.name, p, x, y, up, colour, shape)
                for p, (x, y) in zip(line.points, spots, strict=True)
            ]
    parts.append(
        text((left + right) / 2, bottom + 36, labels[0], anchor="middle", size=11, fill=GREY)
    )
    parts.append(
        text(12, (top + bottom) / 2, labels[1], anchor="middle", size=11, fill=GREY, turn=-90)
    )
    legend, foot = _legend(entries, left, right, bottom + 60)
    # A figure may stand alone in a file, where no page says what its letters look like.
    body = ['<g font-family="sans-serif" font-size="12">', *parts, *legend, "</g>"]
    return picture(key, width, max(height, foot), title=title, desc=desc, body=body)


def _marked(name: str, point: Point, x: float, y: float, up: Axis, colour: str, shape: str) -> str:
    said, bar = f"{shown(name)}: {number(point.y)}", ""
    if point.low is not None and point.high is not None:
        said += f" ({number(point.low)} to {number(point.high)})"
        bar = f'<path d="M{x:.1f} {up(point.low):.1f}V{up(point.high):.1f}" stroke="{colour}" stroke-width="1.5"/>'
    return f"<g><title>{escape(said)}</title>{bar}{mark(x, y, colour, shape)}</g>"


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
    (left, right), (bottom, top) = frame(size)
    known = sorted({float(row["epsilon"]) for row in rows if row["epsilon"] is not None})
    promised = len(known) > 0
    none = any(row["epsilon"] is None for row in rows)
    edge = right - 96 if none and promised else right
    across = Axis(
        known[0] if promised else 1.0,
        known[-1] if promised else 1.0,
        left + 14,
        edge - 14,
        log=True,
    )
    if len(known) < 2:
        across.ticks = known
    apart = right - 40 if promised else (left + right) / 2
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
        for part in (
            [r for r in mine if r["epsilon"] is not None],
            [r for r in mine if r["epsilon"] is None],
        ):
            points = tuple(
                Point(
                    float(row["epsilon"] or math.inf),
                    float(row["success"]),
                    *map(float, row["interval"]),
                )
                for row in part
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
        at=lambda x: across(x) if x < math.inf else apart,
        extra=extra,
    )


def _look(place: int) -> tuple[str, str, str]:
    colour, shape = SERIES[place % len(SERIES)]
    return colour, shape, DASHES[place % len(DASHES)]


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
    entries: Mapping[str, tuple[str, str, str]], left: float, right: float, top: float
) -> tuple[list[str], float]:
    """What each line looks like, on as many lines as that takes, and where it ends; a line without a mark has no shape."""
    out, x, y = [], left, top
    for name, (colour, shape, dash) in entries.items():
        words = cut(name, right - left - 40)
        room = 52 + width_of(words, 12)
        if x > left and x + room - 16 > right:
            x, y = left, y + 20
        out.append("" if dash == UNJOINED else _path([(x, y), (x + 28, y)], colour, dash, 2))
        out += [mark(x + 14, y, colour, shape)] if shape else []
        out.append(text(x + 34, y + 4, words))
        x += room
    return out, y + 14
