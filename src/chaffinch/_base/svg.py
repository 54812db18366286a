"""Drawing primitives, inline SVG without scripts or anything from elsewhere: the drawing that a notebook shows, and for results and pages text that fits, axes, bars, dots with intervals."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from .files import write_text
from .text import display_name, format_fixed, number, width_of


@dataclass(frozen=True)
class Drawing:
    """A finished SVG picture: shows itself in a notebook, and is saved as a file.

    Examples
    --------
    >>> drawing = Drawing(canvas(10, 10, [box(1, 1, 8, 8, fill="#fff")], title="a box"))
    >>> drawing, drawing.svg.startswith("<svg ")
    (Drawing(a box), True)
    """

    svg: str

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the picture as an SVG file, wholly or not at all, readable by its owner alone: it is drawn from data, as a page is.

        A file that is there is refused unless `overwrite`.
        """
        write_text(path, self.svg, mode=0o600, overwrite=overwrite)

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Drawing({self.svg.partition('<title>')[2].partition('</title>')[0]})"


def element(tag: str, *children: str, tooltip: str = "", **attributes: str | float | None) -> str:
    """Return an element with its attributes and children, and what it says when pointed at.

    An attribute that is None is left out, a number has one decimal, an underscore in a name is a hyphen (one at its end is dropped). Children are elements, or text that went
    through `escape`.

    Examples
    --------
    >>> element("rect", x=1.25, y=2.0, stroke_width=2, class_="hidden", fill=None)
    '<rect x="1.2" y="2" stroke-width="2" class="hidden"/>'
    >>> element("path", d="M0 0H9", tooltip="a < b")
    '<path d="M0 0H9"><title>a &lt; b</title></path>'
    """
    given = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    inside = (f"<title>{escape(tooltip)}</title>" if tooltip else "") + "".join(children)
    return f"<{tag}{given}>{inside}</{tag}>" if inside else f"<{tag}{given}/>"


def _attribute(value: str | float) -> str:
    if isinstance(value, str):
        return escape(value)
    return f"{value:.1f}".removesuffix(".0")


def canvas(
    width: float,
    height: float,
    body: Iterable[str],
    *,
    title: str,
    desc: str = "",
    defs: str = "",
    role: str = "img",
) -> str:
    """Return a whole picture on a white ground, with a title and a description for those who do not see it; `role` is "group" where parts of it can be followed."""
    return (
        element(
            "svg",
            element("title", escape(title)),
            element("desc", escape(desc)),
            element("rect", width="100%", height="100%", fill="#fff"),
            element("defs", defs) if defs else "",
            *body,
            xmlns=SVG,
            viewBox=f"0 0 {width:.0f} {height:.0f}",
            width=round(width),
            height=round(height),
            role=role,
            font_family="system-ui, sans-serif",
            font_size=13,
        )
        + "\n"
    )


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    *,
    fill: str = "none",
    tooltip: str = "",
    **attributes: str | float | None,
) -> str:
    """Return a rectangle by its upper left corner and its size."""
    return element(
        "rect", tooltip=tooltip, x=x, y=y, width=width, height=height, fill=fill, **attributes
    )


def circle(
    x: float, y: float, radius: float, *, tooltip: str = "", **attributes: str | float | None
) -> str:
    """Return a circle by its centre."""
    return element("circle", tooltip=tooltip, cx=x, cy=y, r=radius, **attributes)


def line(
    points: Sequence[tuple[float, float]],
    *,
    stroke: str,
    width: float = 1.0,
    dashes: str = "",
    tooltip: str = "",
    **attributes: str | float | None,
) -> str:
    """Return a line through points; nothing where there are fewer than two."""
    if len(points) < 2:
        return ""
    return element(
        "path",
        tooltip=tooltip,
        d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points),
        fill="none",
        stroke=stroke,
        stroke_width=width,
        stroke_dasharray=dashes or None,
        **attributes,
    )


SVG = "http://www.w3.org/2000/svg"

INK, GREY, RULE = "#1b1b1b", "#595959", "#d5d5d5"

SIZE = 12.0

SERIES = (
    ("#0072B2", "circle"),
    ("#D55E00", "square"),
    ("#6f6f6f", "diamond"),
    ("#009E73", "triangle"),
    ("#9B4580", "cross"),
    ("#1b1b1b", "bar"),
)
"""Okabe and Ito's colours (the purple darkened), distinguishable by all; each has a shape of its own too."""

Colour = tuple[int, int, int]


def picture(
    key: str, width: float, height: float, *, title: str, desc: str, body: Sequence[str]
) -> Markup:
    """Return an SVG of a size in pixels; title and description are what a screen reader says of it."""
    return Markup(  # noqa: S704  all text in the parts went through escape
        element(
            "svg",
            element("title", escape(display_name(title, 300)), id=f"{key}-title"),
            element("desc", escape(display_name(desc, 3000)), id=f"{key}-desc"),
            *body,
            xmlns=SVG,
            id=key,
            viewBox=f"0 0 {width:.0f} {height:.0f}",
            width=round(width),
            height=round(height),
            role="img",
            aria_labelledby=f"{key}-title {key}-desc",
        )
    )


def text(
    x: float,
    y: float,
    label: str,
    *,
    anchor: str = "start",
    size: float = SIZE,
    fill: str = INK,
    rotation: float = 0,
    bold: bool = False,
) -> str:
    """Return a line of text, its baseline at a point, turned about it by some degrees."""
    return element(
        "text",
        escape(label),
        x=x,
        y=y,
        fill=fill,
        text_anchor=None if anchor == "start" else anchor,
        font_size=None if size == SIZE else size,
        transform=f"rotate({rotation:g} {x:.1f} {y:.1f})" if rotation else None,
        font_weight=600 if bold else None,
    )


def cut(name: object, room: float, size: float = SIZE) -> str:
    """Return a name cut so that it fits into some pixels.

    Examples
    --------
    >>> cut("a_very_long_column_name_indeed", 80)
    'a_very…eed'
    """
    label = display_name(name, max_length=80)
    max_length = len(label)
    while max_length > 3 and width_of(label, size) > room:
        max_length -= 1
        label = display_name(name, max_length=max_length)
    return label


def blend(colours: Sequence[Colour], position: float) -> Colour:
    """Return the colour at a position from 0 to 1 along a row of colours."""
    scaled = min(max(position, 0.0), 1.0) * (len(colours) - 1)
    i = min(int(scaled), len(colours) - 2)
    red, green, blue = (
        round(a + (b - a) * (scaled - i)) for a, b in zip(colours[i], colours[i + 1], strict=True)
    )
    return red, green, blue


def contrast(first: Colour, second: Colour) -> float:
    """Return the contrast ratio of two colours, 1 to 21, as the Web Content Accessibility Guidelines define it.

    Examples
    --------
    >>> round(contrast((0, 0, 0), (255, 255, 255)))
    21
    """
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Colour) -> float:
    parts = [c / 255 for c in colour]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ink_on(colour: Colour) -> str:
    """Return black or white, whichever reads better on a colour: one of them always has a contrast above 4.5."""
    return "#000" if contrast(colour, (0, 0, 0)) >= contrast(colour, (255, 255, 255)) else "#fff"


class Axis:
    """A line of numbers laid over pixels, with round ticks.

    Examples
    --------
    >>> axis = Axis(0.0, 0.43, 100, 300)
    >>> axis.ticks, axis(0.2)
    ([0.0, 0.1, 0.2, 0.3, 0.4, 0.5], 180.0)
    """

    def __init__(
        self, low: float, high: float, start: float, end: float, *, log: bool = False
    ) -> None:
        self.log, self.start, self.end = log, start, end
        if log:
            self.low, self.high = math.log10(low), math.log10(high)
            if self.low == self.high:
                self.low, self.high = self.low - 0.5, self.high + 0.5
            powers = range(math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9) + 1)
            self.ticks = [10.0**power for power in powers] if len(powers) > 1 else [low, high]
            return
        if low == high:
            low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
        step = 10 ** math.floor(math.log10((high - low) / 4))
        step *= next(m for m in (1, 2, 2.5, 5, 10) if (high - low) / (step * m) <= 5)
        self.low, self.high = (
            math.floor(low / step + 1e-9) * step,
            math.ceil(high / step - 1e-9) * step,
        )
        self.ticks = [
            round(self.low + i * step, 12) for i in range(round((self.high - self.low) / step) + 1)
        ]

    def __call__(self, value: float) -> float:
        """Return where a number stands, in pixels; never beyond the ends."""
        position = math.log10(value) if self.log else value
        share = (position - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def across(self, top: float, bottom: float) -> list[str]:
        """Return ticks and grid lines of a horizontal axis below a plot."""
        out = []
        for tick in self.ticks:
            x = self(tick)
            out.append(line([(x, top), (x, bottom)], stroke=RULE))
            out.append(text(x, bottom + 16, number(tick), anchor="middle", size=11, fill=GREY))
        return out

    def up(self, x_start: float, x_end: float) -> list[str]:
        """Return ticks and grid lines of a vertical axis at the left of a plot."""
        out = []
        for tick in self.ticks:
            y = self(tick)
            out.append(line([(x_start, y), (x_end, y)], stroke=RULE))
            out.append(text(x_start - 6, y + 4, number(tick), anchor="end", size=11, fill=GREY))
        return out


# Plots of a few numbers.

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
    key: str,
    title: str,
    desc: str,
    values: Mapping[str, float | None],
    *,
    top: float | None = None,
    hidden: str = "hidden",
) -> Markup:
    """Return horizontal bars from zero, one for each name, in the order given; each says its number, or that it is hidden."""
    pitch, head = 22.0, 12.0
    labels = [cut(name, LABELS - 10) for name in values]
    x_start = max([60.0, *(width_of(label, 12) + 12 for label in labels)])
    bottom = head + pitch * len(values)
    known = [value for value in values.values() if value is not None]
    axis = Axis(0.0, max([top or 0.0, *known]) or 1.0, x_start, WIDTH - 60)
    parts = axis.across(head - 4, bottom)
    for i, ((name, value), label) in enumerate(zip(values.items(), labels, strict=True)):
        y, end = head + i * pitch, axis(value or 0.0)
        parts.append(text(x_start - 6, y + 15, label, anchor="end"))
        if value is None:
            room = width_of(hidden, 11) + 6
            parts.append(box(x_start + 2, y + 3, room, pitch - 7, fill="#fff"))
            parts.append(text(x_start + 6, y + 15, hidden, size=11, fill=GREY))
            continue
        description = f"{display_name(name)}: {format_fixed(value)}"
        long = max(end - x_start, 1)
        parts.append(box(x_start, y + 3, long, pitch - 7, fill=SERIES[0][0], tooltip=description))
        parts.append(box(end + 3, y + 3, 42, pitch - 7, fill="#fff"))
        parts.append(text(end + 6, y + 15, format_fixed(value), size=11))
    return picture(key, WIDTH, bottom + 26, title=title, desc=desc, body=parts)


def dots(
    key: str,
    title: str,
    desc: str,
    rows: Sequence[tuple[str, Sequence[Dot]]],
    series: Sequence[str],
    *,
    label: str,
    low: float | None = None,
    high: float | None = None,
    level: float | None = None,
    ends: tuple[str, str] | None = None,
    lanes: Sequence[int] | None = None,
    marks: Sequence[int] | None = None,
) -> Markup:
    """Return rows of dots on one axis: each series has a colour and a shape, a bar shows an interval.

    `level` is where an upright line stands, as zero; `ends` are words below the two ends of the axis. `lanes` are the lines within a
    row on which the series stand (each has its own unless given), `marks` the places in `SERIES` of what they look like.
    """
    lane = list(range(len(series)) if lanes is None else lanes)
    pitch = 16.0 + 11.0 * (max(lane, default=0) + 1)
    labels = [cut(name, LABELS) for name, _ in rows]
    x_start = max([60.0, *(width_of(name_shown, 12) + 14 for name_shown in labels)])
    looks = [SERIES[index % len(SERIES)] for index in marks or range(len(series))]
    legend, head = _legend(series, looks, x_start) if len(series) > 1 else ([], 10.0)
    bottom = head + pitch * len(rows)
    values = [v for _, row in rows for d in row for v in (d.value, d.low, d.high) if v is not None]
    values += [] if level is None else [level]
    axis = Axis(
        min(values, default=0.0) if low is None else low,
        max(values, default=1.0) if high is None else high,
        x_start,
        WIDTH - 24,
    )
    parts = axis.across(head - 4, bottom)
    if level is not None:
        x = axis(level)
        parts.append(line([(x, head - 4), (x, bottom)], stroke=GREY, width=1.5))
    for i, ((name, row), name_shown) in enumerate(zip(rows, labels, strict=True)):
        y = head + i * pitch
        if i:
            parts.append(line([(0, y), (WIDTH - 24, y)], stroke="#eee"))
        parts.append(text(x_start - 8, y + pitch / 2 + 4, name_shown, anchor="end"))
        for dot in row:
            index = series.index(dot.series)
            parts.append(_dot(dot, axis, y + 13.5 + 11.0 * lane[index], *looks[index], name))
    parts += legend
    for name_shown, x, anchor in zip(
        ends or (), (x_start, WIDTH - 24), ("start", "end"), strict=False
    ):
        parts.append(text(x, bottom + 34, name_shown, size=11, fill=GREY, anchor=anchor))
    parts.append(
        text(
            (x_start + WIDTH - 24) / 2,
            bottom + (50 if ends else 34),
            label,
            anchor="middle",
            size=11,
            fill=GREY,
        )
    )
    return picture(key, WIDTH, bottom + (58 if ends else 42), title=title, desc=desc, body=parts)


def _dot(dot: Dot, axis: Axis, y: float, colour: str, shape: str, name: str) -> str:
    bar, interval = "", ""
    if dot.low is not None and dot.high is not None:
        bar = line([(axis(dot.low), y), (axis(dot.high), y)], stroke=colour, width=2)
        interval = f" ({number(dot.low)} to {number(dot.high)})"
    title = f"{display_name(name)}, {dot.series}: {number(dot.value)}{interval}"
    return element("g", bar, mark(axis(dot.value), y, colour, shape), tooltip=title)


def mark(x: float, y: float, colour: str, shape: str) -> str:
    """Return the mark of a series at a point."""
    if shape == "circle":
        return circle(x, y, 5, fill=colour, stroke="#fff", stroke_width=1)
    path = {
        "square": f"M{x - 4.5:.1f} {y - 4.5:.1f}h9v9h-9z",
        "diamond": f"M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z",
        "triangle": f"M{x:.1f} {y - 5.5:.1f}l5.5 10h-11z",
        "cross": f"M{x - 5:.1f} {y - 2.5:.1f}l2.5 -2.5l2.5 2.5l2.5 -2.5l2.5 2.5l-2.5 2.5l2.5 2.5l-2.5 2.5l-2.5 -2.5l-2.5 2.5l-2.5 -2.5l2.5 -2.5z",
        "bar": f"M{x - 1.5:.1f} {y - 7:.1f}h3v14h-3z",
    }[shape]
    return element("path", d=path, fill=colour, stroke="#fff", stroke_width=1)


def _legend(
    series: Sequence[str], looks: Sequence[tuple[str, str]], x_start: float
) -> tuple[list[str], float]:
    """Return what each series looks like, on as many lines as that takes, and where the plot starts below it."""
    room = sum(40 + width_of(name, 12) for name in series) - 20
    x_start = min(x_start, max(0.0, WIDTH - room))
    out, x, y = [], x_start, 12.0
    for name, look in zip(series, looks, strict=True):
        if x > x_start and x + 20 + width_of(name, 12) > WIDTH:
            x, y = x_start, y + 20
        out.append(mark(x + 5, y, *look))
        out.append(text(x + 16, y + 4, name))
        x += 40 + width_of(name, 12)
    return out, y + 22
