"""Plots of pages: those of `_base.svg`, and the points of a sweep with the line of their means."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from statistics import fmean

from markupsafe import Markup

from .._base.svg import GREY, INK, SERIES, Axis, Dot, bars, cut, dots, picture, text
from .._base.svg import mark as _mark
from .._base.words import number, shown

__all__ = ["Dot", "_mark", "bars", "dots", "sweep_plot"]


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
        title = escape(f"{shown(setting, 40)} {shown(place)}: {number(value)}")
        parts.append(
            f'<circle cx="{at[place]:.1f}" cy="{up(value):.1f}" r="3.5" fill="#fff" stroke="{INK}"><title>{title}</title></circle>'  # type: ignore[index]
        )
    parts.append(text((left + width) / 2, foot + 36, shown(setting, 40), anchor="middle", size=11, fill=GREY))
    desc = f"{len(points)} syntheses at {len(settings)} settings; {measure} from {number(min(values))} to {number(max(values))}."
    return picture(key, width, height, title=f"{measure} by {setting}", desc=desc, body=parts)
