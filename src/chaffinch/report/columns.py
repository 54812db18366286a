"""Every column at a glance: original beside synthetic as small multiples, cells of few people hidden."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from markupsafe import Markup

from .._base.svg import GREY, SERIES, cut, picture, text
from .._base.text import fixed, percent, shown
from ..utility.shapes import ColumnShape, Shares, TableShapes
from .sections import Figure, Heading, PageTable, Row

WIDE, TALL, TOP, FOOT = 212.0, 150.0, 20.0, 16.0
LABELS = 92.0
ORIGINAL, SYNTHETIC = SERIES[0][0], SERIES[1][0]
STUB = 4.0
"""How high, in pixels, what is hidden is drawn: the same for all."""


def columns_figure(shapes: TableShapes, distances: Mapping[str, float]) -> Figure | None:
    """Return all columns as small pictures, those farthest from the original first; None where there are none."""
    if not shapes.columns:
        return None
    ranked = sorted(shapes.columns, key=lambda shape: -distances.get(shape.name, 0.0))
    pictures = tuple(
        column_picture(f"fig-shape-{i}", shape, shapes.threshold, distances.get(shape.name))
        for i, shape in enumerate(ranked)
    )
    rows: list[Row] = []
    for shape in ranked:
        rows.append(Heading(shown(shape.name, 60)))
        rows += [
            (label, _share(one, shapes.threshold), _share(other, shapes.threshold))
            for label, one, other in zip(shape.labels, shape.original, shape.synthetic, strict=True)
        ]
    caption = "Each column, original beside synthetic"
    caption += (
        f", the first {len(ranked)} of {shapes.of} columns" if len(ranked) < shapes.of else ""
    )
    order = (
        " Farthest from the original first, by Jensen-Shannon distance (JS)." if distances else ""
    )
    note = (
        f"Blue, filled: original. Orange, outlined: synthetic. Shares of rows, rounded.{order} A dashed stub hides a cell with "
        f"{hidden_words(shapes.threshold)}; levels that so few have stand together as “other”."
    )
    table = PageTable(
        "Shares of rows", ("Value", "Original", "Synthetic"), tuple(rows), frozenset({1, 2})
    )
    return Figure("fig-shapes", caption, pictures, table, note, across=5)


def hidden_words(threshold: int) -> str:
    """Return what is hidden, in words."""
    return f"fewer than {threshold} people"


def _share(share: float | None, threshold: int) -> str:
    return hidden_words(threshold) if share is None else percent(share)


def column_picture(
    key: str, shape: ColumnShape, threshold: int, distance: float | None = None
) -> Markup:
    """Return one column: upright bars in order for numbers, bars with names for levels."""
    most = max(
        [
            *(
                share
                for side in (shape.original, shape.synthetic)
                for share in side
                if share is not None
            ),
            0.01,
        ]
    )
    body = [text(0, 12, cut(shape.name, WIDE - 62), bold=True)]
    if distance is not None:
        body.append(text(WIDE - 2, 12, f"JS {fixed(distance)}", anchor="end", size=11, fill=GREY))
    body += (
        _upright(shape, most, threshold)
        if shape.kind == "histogram"
        else _named(shape, most, threshold)
    )
    desc = "; ".join(
        f"{label}: {_share(one, threshold)}, {_share(other, threshold)}"
        for label, one, other in zip(shape.labels, shape.original, shape.synthetic, strict=True)
    )
    return picture(
        key, WIDE, TALL + 22, title=f"{shape.name}: original, synthetic", desc=desc, body=body
    )


def _upright(shape: ColumnShape, most: float, threshold: int) -> list[str]:
    count = len(shape.labels)
    wide = (WIDE - 4) / max(count, 1)
    bottom = TOP + TALL - FOOT
    room = bottom - TOP - 4
    out = []
    for i, label in enumerate(shape.labels):
        x = 2 + i * wide
        said = f"{label}: original {_share(shape.original[i], threshold)}, synthetic {_share(shape.synthetic[i], threshold)}"
        bars = _bar(x + 0.5, bottom, wide - 1, shape.original[i], most, room, filled=True)
        bars += _bar(x + 1.5, bottom, wide - 3, shape.synthetic[i], most, room, filled=False)
        out.append(f"<g><title>{escape(said)}</title>{bars}</g>")
    out.append(f'<path d="M0 {bottom:.1f}H{WIDE:.1f}" stroke="{GREY}"/>')
    half = (WIDE - 8) / 2
    out.append(text(0, bottom + 14, cut(shape.labels[0], half, 11), size=11, fill=GREY))
    out.append(
        text(
            WIDE - 2, bottom + 14, cut(shape.labels[-1], half, 11), size=11, fill=GREY, anchor="end"
        )
    )
    return out


def _bar(
    x: float,
    bottom: float,
    wide: float,
    share: float | None,
    most: float,
    room: float,
    *,
    filled: bool,
) -> str:
    colour = ORIGINAL if filled else SYNTHETIC
    high = STUB if share is None else share / most * room
    box = f'x="{x:.1f}" y="{bottom - high:.1f}" width="{max(wide, 1.0):.1f}" height="{high:.1f}"'
    return _paint(box, colour, hidden=share is None, filled=filled)


def _paint(box: str, colour: str, *, hidden: bool, filled: bool) -> str:
    if hidden:
        return f'<rect {box} fill="none" stroke="{GREY}" stroke-dasharray="2 2" class="hidden"/>'
    if filled:
        return f'<rect {box} fill="{colour}" fill-opacity=".55"/>'
    return f'<rect {box} fill="none" stroke="{colour}" stroke-width="2"/>'


def _named(shape: ColumnShape, most: float, threshold: int) -> list[str]:
    count = max(len(shape.labels), 1)
    pitch = min((TALL - 4) / count, 22.0)
    room = WIDE - LABELS - 6
    size = min(11.0, pitch)
    out = []
    for i, label in enumerate(shape.labels):
        y = TOP + 2 + i * pitch
        sides: tuple[tuple[Shares, bool], ...] = ((shape.original, True), (shape.synthetic, False))
        said = f"{label}: original {_share(shape.original[i], threshold)}, synthetic {_share(shape.synthetic[i], threshold)}"
        bars = ""
        for side, filled in sides:
            share = side[i]
            long = STUB if share is None else share / most * room
            inset = 0.5 if filled else 2.0
            box = f'x="{LABELS:.1f}" y="{y + inset:.1f}" width="{long:.1f}" height="{max(pitch - 2 * inset - 1.5, 1.0):.1f}"'
            bars += _paint(
                box, ORIGINAL if filled else SYNTHETIC, hidden=share is None, filled=filled
            )
        out.append(f"<g><title>{escape(said)}</title>{bars}</g>")
        out.append(
            text(
                LABELS - 5,
                y + pitch / 2 + size * 0.32,
                cut(label, LABELS - 6, size),
                anchor="end",
                size=size,
            )
        )
    return out
