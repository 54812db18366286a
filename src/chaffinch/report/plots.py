"""Plots of a few numbers each: bars, dots with intervals, points of a sweep with the line of their means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from statistics import fmean

from markupsafe import Markup

from .figures import GREY, INK, SERIES, Axis, cut, picture, text
from .words import fixed, number, shown, width_of

__all__ = ["Dot", "bars", "dots", "sweep_plot"]

WIDTH = 760.0
LABELS = 240.0


@dataclass(frozen=True)
class Dot:
    """A number of one series, with an interval where there is one."""

    series: str
    value: float
    low: float | None = None
    high: float | None = None


def bars(
    key: str, title: str, desc: str, values: Mapping[str, float | None], *, top: float | None = None, hidden: str = "hidden"
) -> Markup:  # fmt: skip
    """Return horizontal bars from zero, one for each name, in the order given; each says its number, or that it is hidden."""
    pitch, head = 22.0, 12.0
    labels = [cut(name, LABELS - 10) for name in values]
    left = max([60.0, *(width_of(label, 12) + 12 for label in labels)])
    bottom = head + pitch * len(values)
    known = [value for value in values.values() if value is not None]
    axis = Axis(0.0, max([top or 0.0, *known]) or 1.0, left, WIDTH - 60)
    parts = axis.across(head - 4, bottom)
    for i, ((name, value), label) in enumerate(zip(values.items(), labels, strict=True)):
        y, end = head + i * pitch, axis(value or 0.0)
        parts.append(text(left - 6, y + 15, label, anchor="end"))
        if value is None:
            words = width_of(hidden, 11) + 6
            parts.append(
                f'<rect x="{left + 2:.1f}" y="{y + 3:.1f}" width="{words:.1f}" height="{pitch - 7:.1f}" fill="#fff"/>'
            )
            parts.append(text(left + 6, y + 15, hidden, size=11, fill=GREY))
            continue
        parts.append(
            f'<rect x="{left:.1f}" y="{y + 3:.1f}" width="{max(end - left, 1):.1f}" height="{pitch - 7:.1f}" fill="{SERIES[0][0]}">'
            f"<title>{escape(shown(name))}: {fixed(value)}</title></rect>"
        )
        parts.append(f'<rect x="{end + 3:.1f}" y="{y + 3:.1f}" width="42" height="{pitch - 7:.1f}" fill="#fff"/>')
        parts.append(text(end + 6, y + 15, fixed(value), size=11))
    return picture(key, WIDTH, bottom + 26, title=title, desc=desc, body=parts)


def dots(
    key: str, title: str, desc: str, rows: Sequence[tuple[str, Sequence[Dot]]], series: Sequence[str], *,
    label: str, low: float | None = None, high: float | None = None, line: float | None = None, ends: tuple[str, str] | None = None,
    lanes: Sequence[int] | None = None, marks: Sequence[int] | None = None,
) -> Markup:  # fmt: skip
    """Return rows of dots on one axis: each series has a colour and a shape, a bar shows an interval.

    Parameters
    ----------
    label
        What the axis shows.
    low, high
        Ends of the axis, where the data do not choose them.
    line
        Where an upright line stands, as zero.
    ends
        Words below the two ends of the axis.
    lanes
        The line within a row on which each series stands; each has one of its own unless given.
    marks
        Places in `SERIES` of what each series looks like; the first ones unless given.
    """
    lane = list(range(len(series)) if lanes is None else lanes)
    pitch = 16.0 + 11.0 * (max(lane, default=0) + 1)
    labels = [cut(name, LABELS) for name, _ in rows]
    left = max([60.0, *(width_of(words, 12) + 14 for words in labels)])
    looks = [SERIES[place % len(SERIES)] for place in marks or range(len(series))]
    legend, head = _legend(series, looks, left) if len(series) > 1 else ([], 10.0)
    bottom = head + pitch * len(rows)
    every = [v for _, found in rows for d in found for v in (d.value, d.low, d.high) if v is not None]
    every += [] if line is None else [line]
    axis = Axis(
        min(every, default=0.0) if low is None else low,
        max(every, default=1.0) if high is None else high,
        left,
        WIDTH - 24,
    )
    parts = axis.across(head - 4, bottom)
    if line is not None:
        parts.append(f'<path d="M{axis(line):.1f} {head - 4:.1f}V{bottom:.1f}" stroke="{GREY}" stroke-width="1.5"/>')
    for i, ((name, found), words) in enumerate(zip(rows, labels, strict=True)):
        y = head + i * pitch
        if i:
            parts.append(f'<path d="M0 {y:.1f}H{WIDTH - 24:.0f}" stroke="#eee"/>')
        parts.append(text(left - 8, y + pitch / 2 + 4, words, anchor="end"))
        for dot in found:
            place = series.index(dot.series)
            parts.append(_dot(dot, axis, y + 13.5 + 11.0 * lane[place], *looks[place], name))
    parts += legend
    for words, x, anchor in zip(ends or (), (left, WIDTH - 24), ("start", "end"), strict=False):
        parts.append(text(x, bottom + 34, words, size=11, fill=GREY, anchor=anchor))
    parts.append(
        text((left + WIDTH - 24) / 2, bottom + (50 if ends else 34), label, anchor="middle", size=11, fill=GREY)
    )
    return picture(key, WIDTH, bottom + (58 if ends else 42), title=title, desc=desc, body=parts)


def _dot(dot: Dot, axis: Axis, y: float, colour: str, shape: str, name: str) -> str:
    x = axis(dot.value)
    bar, said = "", ""
    if dot.low is not None and dot.high is not None:
        bar = f'<path d="M{axis(dot.low):.1f} {y:.1f}H{axis(dot.high):.1f}" stroke="{colour}" stroke-width="2"/>'
        said = f" ({number(dot.low)} to {number(dot.high)})"
    told = f"{shown(name)}, {dot.series}: {number(dot.value)}{said}"
    return f"<g><title>{escape(told)}</title>{bar}{_mark(x, y, colour, shape)}</g>"


def _mark(x: float, y: float, colour: str, shape: str) -> str:
    paint = f'fill="{colour}" stroke="#fff" stroke-width="1"'
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" {paint}/>'
    path = {
        "square": f"M{x - 4.5:.1f} {y - 4.5:.1f}h9v9h-9z",
        "diamond": f"M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z",
        "triangle": f"M{x:.1f} {y - 5.5:.1f}l5.5 10h-11z",
        "cross": f"M{x - 5:.1f} {y - 2.5:.1f}l2.5 -2.5l2.5 2.5l2.5 -2.5l2.5 2.5l-2.5 2.5l2.5 2.5l-2.5 2.5l-2.5 -2.5l-2.5 2.5l-2.5 -2.5l2.5 -2.5z",
        "bar": f"M{x - 1.5:.1f} {y - 7:.1f}h3v14h-3z",
    }[shape]
    return f'<path d="{path}" {paint}/>'


def _legend(series: Sequence[str], looks: Sequence[tuple[str, str]], left: float) -> tuple[list[str], float]:
    """Return what each series looks like, on as many lines as that takes, and where the plot starts below it."""
    room = sum(40 + width_of(name, 12) for name in series) - 20
    left = min(left, max(0.0, WIDTH - room))
    out, x, y = [], left, 12.0
    for name, look in zip(series, looks, strict=True):
        if x > left and x + 20 + width_of(name, 12) > WIDTH:
            x, y = left, y + 20
        out.append(_mark(x + 5, y, *look))
        out.append(text(x + 16, y + 4, name))
        x += 40 + width_of(name, 12)
    return out, y + 22


def sweep_plot(key: str, measure: str, setting: str, points: Sequence[tuple[float | str, float]]) -> Markup:
    """Return the values of a measure at each setting: a point for each synthesis, a line through the means.

    Settings that are numbers stand on an axis, a logarithmic one where they span more than a factor of twenty; others side by side.
    """
    width, height, left, foot = 340.0, 240.0, 56.0, 196.0
    settings = list(dict.fromkeys(place for place, _ in points))
    numbers = [place for place in settings if isinstance(place, int | float)]
    by_number = len(numbers) == len(settings)
    if by_number:
        log = min(numbers) > 0 and max(numbers) / min(numbers) > 20
        across = Axis(min(numbers), max(numbers), left + 8, width - 14, log=log)
        settings = sorted(numbers)
        at = {place: across(place) for place in numbers}
    else:
        step = (width - 14 - left) / len(settings)
        at = {place: left + (i + 0.5) * step for i, place in enumerate(settings)}  # type: ignore[misc]
    values = [value for _, value in points]
    up = Axis(min(0.0, *values), max(values) or 1.0, foot, 28)
    means = [(at[place], up(fmean(value for p, value in points if p == place))) for place in settings]  # type: ignore[index]
    parts = [text(0, 14, measure, size=13, bold=True), *up.up(left, width - 6)]
    if by_number:
        parts += across.across(foot, foot + 5)
    else:
        parts += [text(at[p], foot + 16, cut(p, step, 11), anchor="middle", size=11, fill=GREY) for p in settings]  # type: ignore[index]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in means)
    parts.append(f'<path d="M{path}" fill="none" stroke="{SERIES[0][0]}" stroke-width="2"/>')
    for place, value in points:
        said = escape(f"{shown(setting, 40)} {shown(place)}: {number(value)}")
        parts.append(
            f'<circle cx="{at[place]:.1f}" cy="{up(value):.1f}" r="3.5" fill="#fff" stroke="{INK}"><title>{said}</title></circle>'  # type: ignore[index]
        )
    parts.append(text((left + width) / 2, foot + 36, shown(setting, 40), anchor="middle", size=11, fill=GREY))
    desc = f"{len(points)} syntheses at {len(settings)} settings; {measure} from {number(min(values))} to {number(max(values))}."
    return picture(key, width, height, title=f"{measure} by {setting}", desc=desc, body=parts)
