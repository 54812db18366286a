"""The pairs of columns that are furthest off, as heat maps side by side: original, synthetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from markupsafe import Markup

from .._base.svg import GREY, blend, cut, picture, text
from .._base.text import count_noun, fixed, percent, shown, width_of
from ..utility.shapes import PairShape, Shares, TableShapes
from .columns import hidden_words
from .heatmap import STRENGTH
from .sections import Figure, Heading, PageTable, Row

WIDE, HEAD, GAP = 374.0, 92.0, 22.0
LABELS, SLANT = 92.0, 34.0
"""Room for the names of rows, and for the last slanted name of a column."""


def pairs_figure(shapes: TableShapes, chosen: Callable[[Sequence[str]], str]) -> Figure | None:
    """Return the worst pairs drawn; `chosen` says why a pair is as it is where that was asked for, "" where it was not."""
    if not shapes.pairs:
        return None
    pictures = tuple(
        pair_picture(f"fig-pair-{i}", pair, shapes.threshold, chosen(pair.columns))
        for i, pair in enumerate(shapes.pairs)
    )
    rows: list[Row] = []
    for pair in shapes.pairs:
        rows.append(Heading(" × ".join(shown(name, 40) for name in pair.columns)))
        wide = len(pair.labels[1])
        rows += [
            (
                f"{pair.labels[0][k // wide]} × {pair.labels[1][k % wide]}",
                _share(one, shapes.threshold),
                _share(other, shapes.threshold),
            )
            for k, (one, other) in enumerate(zip(pair.original, pair.synthetic, strict=True))
        ]
    count = len(pictures)
    caption = (
        f"The {count} pairs of columns furthest from the original"
        if count > 1
        else "The pair of columns furthest from the original"
    )
    note = f"Darker: a larger share of all rows, rounded. Left: original; right: synthetic. Dashed: {hidden_words(shapes.threshold)}, hidden."
    table = PageTable(
        "Shares of rows", ("Values", "Original", "Synthetic"), tuple(rows), frozenset({1, 2})
    )
    return Figure("fig-pairs", caption, pictures, table, note, across=3)


def _share(share: float | None, threshold: int) -> str:
    return hidden_words(threshold) if share is None else percent(share)


def pair_picture(key: str, pair: PairShape, threshold: int, chosen: str = "") -> Markup:
    """Return a pair in both tables, on one scale of shades."""
    rows, columns = pair.labels
    side = min((WIDE - LABELS - GAP - SLANT) / 2 / max(len(columns), 1), 24.0)
    names = " × ".join(pair.columns)
    value = "" if pair.value is None else f", off by {fixed(pair.value)}"
    body = [text(0, 12, cut(names, WIDE - width_of(value, 12) - 4) + value, bold=True)]
    if chosen:
        body.append(text(0, 27, cut(chosen, WIDE, 11), size=11, fill="#5e2600"))
    most = max(
        [
            *(
                share
                for shares in (pair.original, pair.synthetic)
                for share in shares
                if share is not None
            ),
            0.01,
        ]
    )
    top = HEAD + (14 if chosen else 0)
    for place, (shares, title) in enumerate(
        ((pair.original, "original"), (pair.synthetic, "synthetic"))
    ):
        left = LABELS + place * (side * len(columns) + GAP)
        body += _map(shares, pair, left, top, side, most, title, threshold)
    for i, label in enumerate(rows):
        body.append(
            text(
                LABELS - 5,
                top + (i + 0.5) * side + 4,
                cut(label, LABELS - 6, 11),
                anchor="end",
                size=11,
            )
        )
    desc = f"{len(rows)} by {count_noun(len(columns), 'value')}; the shares are in the table below{value}. {chosen}".strip()
    return picture(
        key,
        WIDE,
        top + side * len(rows) + 18,
        title=f"{names}: original, synthetic",
        desc=desc,
        body=body,
    )


def _map(
    shares: Shares,
    pair: PairShape,
    left: float,
    top: float,
    side: float,
    most: float,
    title: str,
    threshold: int,
) -> list[str]:
    rows, columns = pair.labels
    out = []
    for k, share in enumerate(shares):
        i, j = divmod(k, len(columns))
        box = f'x="{left + j * side + 0.5:.1f}" y="{top + i * side + 0.5:.1f}" width="{side - 1:.1f}" height="{side - 1:.1f}"'
        said = f"{title}, {rows[i]} × {columns[j]}: {_share(share, threshold)}"
        if share is None:
            paint = f'fill="none" stroke="{GREY}" stroke-opacity=".5" stroke-dasharray="2 3" class="hidden"'
        else:
            red, green, blue = blend(STRENGTH, (share / most) ** 0.6)
            paint = f'fill="#{red:02x}{green:02x}{blue:02x}" stroke="#bbb" stroke-width=".5"'
        out.append(f"<rect {box} {paint}><title>{escape(said)}</title></rect>")
    for j, label in enumerate(columns):
        out.append(text(left + (j + 0.65) * side, top - 4, cut(label, 62, 11), size=11, turn=-60))
    out.append(text(left, top + side * len(rows) + 13, title, size=11, fill=GREY))
    return out
