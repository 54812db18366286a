"""Pieces of pictures: an SVG with a title and a description inside, text that fits, colours that can be told apart, axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from markupsafe import Markup

from .words import number, shown, width_of

__all__ = ["GREY", "INK", "SERIES", "Axis", "blend", "contrast", "cut", "ink_on", "picture", "text"]

INK, GREY, RULE = "#1b1b1b", "#595959", "#d5d5d5"
SIZE = 12.0

SERIES = (
    ("#0072B2", "circle"), ("#D55E00", "square"), ("#6f6f6f", "diamond"), ("#009E73", "triangle"), ("#9B4580", "cross"),
    ("#1b1b1b", "bar"),
)  # fmt: skip
"""Okabe and Ito's colours (the purple darkened), told apart by all; each has a shape of its own too."""

Colour = tuple[int, int, int]


def picture(key: str, width: float, height: float, *, title: str, desc: str, body: Sequence[str]) -> Markup:
    """Return an SVG of a size in pixels; title and description are what a screen reader says of it."""
    return Markup(  # noqa: S704  all text in the parts went through escape
        f'<svg xmlns="http://www.w3.org/2000/svg" id="{key}" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-labelledby="{key}-title {key}-desc">'
        f'<title id="{key}-title">{escape(shown(title, 300))}</title>'
        f'<desc id="{key}-desc">{escape(shown(desc, 3000))}</desc>' + "".join(body) + "</svg>"
    )


def text(
    x: float, y: float, words: str, *, anchor: str = "start", size: float = SIZE, fill: str = INK, turn: float = 0, bold: bool = False
) -> str:  # fmt: skip
    """Return a line of text, its baseline at a point, turned about it by some degrees."""
    extra = f' text-anchor="{anchor}"' if anchor != "start" else ""
    extra += f' font-size="{size:g}"' if size != SIZE else ""
    extra += f' transform="rotate({turn:g} {x:.1f} {y:.1f})"' if turn else ""
    extra += ' font-weight="600"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}"{extra}>{escape(words)}</text>'


def cut(name: object, room: float, size: float = SIZE) -> str:
    """Return a name cut so that it fits into some pixels.

    Examples
    --------
    >>> cut("a_very_long_column_name_indeed", 80)
    'a_very…eed'
    """
    whole = shown(name, most=80)
    most = len(whole)
    while most > 3 and width_of(whole, size) > room:
        most -= 1
        whole = shown(name, most=most)
    return whole


def blend(colours: Sequence[Colour], place: float) -> Colour:
    """Return the colour at a place from 0 to 1 along a row of colours."""
    at = min(max(place, 0.0), 1.0) * (len(colours) - 1)
    i = min(int(at), len(colours) - 2)
    red, green, blue = (round(a + (b - a) * (at - i)) for a, b in zip(colours[i], colours[i + 1], strict=True))
    return red, green, blue


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast ratio of two colours, 1 to 21, as the Web Content Accessibility Guidelines define it.

    Examples
    --------
    >>> round(contrast((0, 0, 0), (255, 255, 255)))
    21
    """
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
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

    def __init__(self, low: float, high: float, start: float, end: float, *, log: bool = False) -> None:
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
        self.low, self.high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
        self.ticks = [round(self.low + i * step, 12) for i in range(round((self.high - self.low) / step) + 1)]

    def __call__(self, value: float) -> float:
        """Return where a number stands, in pixels; never beyond the ends."""
        at = math.log10(value) if self.log else value
        share = (at - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def across(self, top: float, bottom: float) -> list[str]:
        """Return ticks and grid lines of a horizontal axis below a plot."""
        out = []
        for tick in self.ticks:
            x = self(tick)
            out.append(f'<path d="M{x:.1f} {top:.1f}V{bottom:.1f}" stroke="{RULE}"/>')
            out.append(text(x, bottom + 16, number(tick), anchor="middle", size=11, fill=GREY))
        return out

    def up(self, left: float, right: float) -> list[str]:
        """Return ticks and grid lines of a vertical axis at the left of a plot."""
        out = []
        for tick in self.ticks:
            y = self(tick)
            out.append(f'<path d="M{left:.1f} {y:.1f}H{right:.1f}" stroke="{RULE}"/>')
            out.append(text(left - 6, y + 4, number(tick), anchor="end", size=11, fill=GREY))
        return out
