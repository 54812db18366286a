"""A result of utility as sections of a page: verdict first, then where it is good and where it is bad, then figures.

Columns and the worst pairs of columns are drawn original beside synthetic, cells of few people hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from markupsafe import Markup

from .._base.masking import THRESHOLD
from .._base.svg import GREY, SERIES, bars, blend, box, cut, element, line, picture, text
from .._base.text import (
    between,
    count_noun,
    display_name,
    format_fixed,
    format_signed,
    number,
    percent,
    width_of,
)
from ..stats.intervals import Result
from ..utility.association import Association
from ..utility.impossible import ImpossiblePairs
from ..utility.jensen_shannon import JensenShannon
from ..utility.result import (
    GRADE_LABELS,
    LADDER,
    NOT_APPLICABLE,
    UtilityResult,
    VerdictRow,
    ladder,
    ladder_plot,
    way_between,
)
from ..utility.shapes import ColumnShape, PairShape, Shares, TableShapes
from ..utility.tvd import MarginalDistance
from .charts import MOST_COLUMNS, NUMBERED, STRENGTH, Matrices, heat_maps, hex_colour
from .sections import (
    Block,
    Cell,
    Col,
    Figure,
    Grid,
    Heading,
    Num,
    PageTable,
    Paragraph,
    Row,
    Section,
    Wide,
    filled_sections,
    page_table,
)
from .uses import uses_sections

FEW = 8
WIDE, TALL, TOP, FOOT = 212.0, 150.0, 20.0, 16.0
LABELS = 92.0
PAIR_WIDE, PAIR_HEAD, PAIR_GAP = 374.0, 92.0, 22.0
PAIR_LABELS, PAIR_SLANT = 92.0, 34.0
"""Room for the names of rows, and for the last slanted name of a column."""

ORIGINAL, SYNTHETIC = SERIES[0][0], SERIES[1][0]
HIDDEN_CELL = {
    "stroke": GREY,
    "stroke_opacity": ".5",
    "stroke_dasharray": "2 3",
    "class_": "hidden",
}
STUB = 4.0
"""How high, in pixels, what is hidden is drawn: the same for all."""


def utility_sections(result: UtilityResult, threshold: int = THRESHOLD) -> Iterator[Section]:
    """Yield what a result has to show, after the verdict: only sections that have something."""
    yield from filled_sections(
        (
            ("where", "Where it is good and where it is bad", _where(result)),
            ("columns", "Distances of columns", _columns(result)),
            ("relations", "How columns are related", _relations(result)),
        )
    )
    yield from uses_sections(result, threshold)


def look_sections(
    result: UtilityResult, chosen: Callable[[Sequence[str]], str]
) -> Iterator[Section]:
    """Yield pictures of columns and of the worst pairs: nothing where the result was read from its plain data, which hold none.

    `chosen` says why a pair is as it is where that was asked for, "" where it was not.
    """
    if result.shapes is None:
        return
    columns, pairs = (
        columns_figure(result.shapes, dict(columns_by_distance(result))),
        pairs_figure(result.shapes, chosen),
    )
    if columns is not None:
        yield Section("look-columns", "Each column by itself", (columns,))
    if pairs is not None:
        yield Section("look-pairs", "Where pairs of columns went wrong", (pairs,))


def not_applicable(result: Result) -> str:
    """Return why a metric has no value, as a sentence."""
    return f"Not applicable: {(result.reason or 'no value was given').rstrip('.')}."


# The verdict.


def verdict_section(rows: Sequence[VerdictRow]) -> Section:
    """Return the table that a person reads first: number, interval, references, a word and a sentence for each metric."""
    side_names = {
        "marginals": "Independent columns",
        "resample": "Resampled original",
        "holdout": "Holdout",
    }
    used = {
        side: name
        for side, name in side_names.items()
        if any(getattr(row, side) is not None for row in rows)
    }
    tally = {
        word: sum(row.word == word for row in rows) for word in (*GRADE_LABELS, NOT_APPLICABLE)
    }
    counts = ", ".join(f"{count} {word}" for word, count in tally.items() if count)
    blocks: list[Block] = [
        Paragraph(
            f"Nearness to the original by {count_noun(len(rows), 'measure')}: {counts}.", "lead"
        ),
        page_table(
            f"Each number beside that of {_references(list(used))}",
            _verdict_rows(rows, list(used)),
            Wide("Measure"),
            Num("Value and 95 % interval"),
            *map(Num, used.values()),
            Wide("In words"),
            cards=True,
        ),
        *_ladder(rows),
    ]
    return Section("verdict", "What it is worth, measure by measure", tuple(blocks))


def _references(used: Sequence[str]) -> str:
    labels = {
        "marginals": "independent columns",
        "resample": "the original's records drawn again",
        "holdout": "a holdout",
    }
    return ", of ".join(labels[side] for side in used) or "nothing: there are no references"


def _verdict_rows(rows: Sequence[VerdictRow], used: Sequence[str]) -> Iterator[Row]:
    group = ""
    for row in rows:
        if row.group != group:
            group = row.group
            yield Heading(group)
        yield (
            Cell(row.measure, f"{row.question} {row.direction.capitalize()}."),
            Cell(
                number(row.value),
                "" if row.value is None or row.interval is None else between(row.interval),
            ),
            *(number(getattr(row, side)) for side in used),
            Cell(row.sentence, word=row.word),
        )


def _ladder(rows: Sequence[VerdictRow]) -> Iterator[Figure]:
    steps = ladder(rows)
    if steps:
        cells = tuple(
            (row.measure, percent(dot.value), way_between(dot.low, dot.high), row.word)
            for row, dot in steps
        )
        table = page_table(
            LADDER,
            cells,
            Col("Measure"),
            Num("Share of the way"),
            Num("95 % interval"),
            Col("Word"),
        )
        yield Figure("fig-ladder", LADDER, (ladder_plot("fig-ladder-plot", steps),), table)


# Where it is good and where it is bad.


def _where(result: UtilityResult) -> Iterator[Block]:
    ranked = columns_by_distance(result)
    half = min(FEW, max(len(ranked) // 2, 1))
    if len(ranked) > 1:
        best = ", ".join(display_name(name, 32) for name, _ in ranked[::-1][:3])
        worst = ", ".join(display_name(name, 32) for name, _ in ranked[:3])
        yield Paragraph(
            f"By themselves, nearest to the original: {best}. Farthest: {worst}.", "lead"
        )
    groups = (
        (("farthest from", ranked[:half]), ("nearest to", ranked[::-1][:half])) if ranked else ()
    )
    tables = [
        page_table(
            f"Columns {label} the original",
            ((display_name(name), format_fixed(value)) for name, value in shortlist),
            Col("Column"),
            Num("Jensen-Shannon distance"),
        )
        for label, shortlist in groups
    ]
    tables += [*_worst_pairs(result), *_impossible(result), *_worst_marginals(result)]
    if tables:
        yield Grid(tuple(tables))


def columns_by_distance(result: UtilityResult) -> list[tuple[str, float]]:
    """Return columns with their Jensen-Shannon distances, farthest first."""
    distances = result.results.get("jensen_shannon")
    known = distances.per_column if isinstance(distances, JensenShannon) else {}
    return sorted(known.items(), key=lambda item: -item[1])


def pair_words(names: Sequence[str]) -> str:
    """Return a pair of columns, or more, in words."""
    return " × ".join(display_name(name, 40) for name in names)


def _worst_pairs(result: UtilityResult) -> Iterator[PageTable]:
    phi = result.results.get("phi_k")
    if isinstance(phi, Association) and phi.worst:
        yield page_table(
            "Pairs whose relation changed most",
            phi.worst[:FEW],
            Col("Pair of columns", lambda pair: pair_words(pair.columns)),
            Num("phi_k, original", lambda pair: format_fixed(pair.original)),
            Num("phi_k, synthetic", lambda pair: format_fixed(pair.synthetic)),
            Num("Difference", lambda pair: format_signed(pair.difference)),
        )


def _worst_marginals(result: UtilityResult) -> Iterator[PageTable]:
    for name, distance in result.results.items():
        if isinstance(distance, MarginalDistance) and distance.largest:
            width = name.partition(".")[2]
            caption = f"{width}-way tables farthest from the original ({number(distance.cliques)} of {number(distance.total_cliques)} measured)"
            yield page_table(
                caption,
                distance.largest[:5],
                Col("Columns", lambda clique: pair_words(clique.columns)),
                Num("Total variation distance", lambda clique: format_fixed(clique.value)),
            )


def _impossible(result: UtilityResult) -> Iterator[PageTable]:
    pairs = result.results.get("impossible")
    if isinstance(pairs, ImpossiblePairs) and pairs.worst:
        caption = (
            f"Pairs of values that no original record has: {count_noun(pairs.pairs, 'pair')} of columns, {number(pairs.cells)} "
            "combinations of values"
        )
        yield page_table(
            caption,
            pairs.worst[:FEW],
            Col("Pair of columns", lambda pair: pair_words(pair.columns)),
            Num("Share of synthetic rows", lambda pair: percent(pair.share)),
        )


# Figures of columns and of relations.


def _columns(result: UtilityResult) -> Iterator[Block]:
    if "jensen_shannon" not in result.results:
        return
    ranked = columns_by_distance(result)
    if not ranked:
        yield Paragraph(not_applicable(result["jensen_shannon"]))
        return
    shortlist = ranked[:MOST_COLUMNS]
    scope = (
        f", the {len(shortlist)} farthest of {len(ranked)}" if len(shortlist) < len(ranked) else ""
    )
    caption = f"Jensen-Shannon distance of each column{scope}"
    desc = f"From {display_name(shortlist[0][0])} with {format_fixed(shortlist[0][1])} down to {display_name(shortlist[-1][0])} with {format_fixed(shortlist[-1][1])}."
    rows = tuple((display_name(name), format_fixed(value, 4)) for name, value in shortlist)
    table = page_table(caption, rows, Col("Column"), Num("Jensen-Shannon distance"))
    note = "0: the same distribution; 1: no value in common."
    yield Figure(
        "fig-js",
        caption,
        (bars("fig-js-plot", caption, desc, dict(shortlist), top=0.05),),
        table,
        note,
    )


def _relations(result: UtilityResult) -> Iterator[Block]:
    for name, what, signs in (
        ("phi_k", "phi_k", False),
        ("pearson", "Pearson correlation of codes", True),
    ):
        relations = result.results.get(name)
        if isinstance(relations, Association):
            matrices = Matrices(relations)
            if len(matrices.names) < 2:
                yield Paragraph(f"{what}: {not_applicable(relations)}")
            else:
                yield _map_figure(name.replace("_", "-"), what, matrices, signs)


def _map_figure(key: str, what: str, matrices: Matrices, signs: bool) -> Figure:
    size = len(matrices.names)
    cut = (
        f", the {size} of {matrices.of} columns with the largest differences"
        if size < matrices.of
        else ""
    )
    caption = f"{what} of pairs of columns{cut}"
    max_columns = 60 if size <= NUMBERED else 20
    rows = tuple(
        (
            display_name(a, max_columns),
            display_name(b, max_columns),
            format_fixed(o),
            format_fixed(s),
            format_signed(d),
        )
        for a, b, o, s, d in matrices.pairs()
    )
    table = page_table(
        caption,
        rows,
        Col("Column"),
        Col("Column"),
        Num("Original"),
        Num("Synthetic"),
        Num("Difference"),
    )
    note = "Difference: synthetic less original. Blue with a minus: weaker or lower than in the original; orange with a plus: stronger or higher."
    if size > NUMBERED:
        note += " Numbers are printed where the difference is at least 0.05."
    if cut:
        note += " The whole matrix is in the JSON."
    maps = heat_maps(f"fig-{key}", what, matrices, signs=signs)
    return Figure(f"fig-{key}", caption, maps, table, note, across=2 if size <= NUMBERED else 1)


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
        rows.append(Heading(display_name(shape.name, 60)))
        rows += [
            (label, _share(share, shapes.threshold), _share(other, shapes.threshold))
            for label, share, other in zip(
                shape.labels, shape.original, shape.synthetic, strict=True
            )
        ]
    caption = "Each column, original beside synthetic"
    caption += (
        f", the first {len(ranked)} of {shapes.n_columns} columns"
        if len(ranked) < shapes.n_columns
        else ""
    )
    order = (
        " Farthest from the original first, by Jensen-Shannon distance (JS)." if distances else ""
    )
    note = (
        f"Blue, filled: original. Orange, outlined: synthetic. Shares of rows, rounded.{order} A dashed stub hides a cell with "
        f"{hidden_words(shapes.threshold)}; levels that so few have stand together as “other”."
    )
    table = page_table("Shares of rows", rows, Col("Value"), Num("Original"), Num("Synthetic"))
    return Figure("fig-shapes", caption, pictures, table, note, across=5)


def hidden_words(threshold: int) -> str:
    """Return what is hidden, in words."""
    return f"fewer than {threshold} people"


def _share(share: float | None, threshold: int) -> str:
    return hidden_words(threshold) if share is None else percent(share)


def _largest(*groups: Shares) -> float:
    return max([*(share for shares in groups for share in shares if share is not None), 0.01])


def column_picture(
    key: str, shape: ColumnShape, threshold: int, distance: float | None = None
) -> Markup:
    """Return one column: upright bars in order for numbers, bars with names for levels."""
    max_share = _largest(shape.original, shape.synthetic)
    body = [text(0, 12, cut(shape.name, WIDE - 62), bold=True)]
    if distance is not None:
        body.append(
            text(WIDE - 2, 12, f"JS {format_fixed(distance)}", anchor="end", size=11, fill=GREY)
        )
    body += (
        _upright(shape, max_share, threshold)
        if shape.kind == "histogram"
        else _bar_labels(shape, max_share, threshold)
    )
    desc = "; ".join(
        f"{label}: {_share(share, threshold)}, {_share(other, threshold)}"
        for label, share, other in zip(shape.labels, shape.original, shape.synthetic, strict=True)
    )
    return picture(
        key, WIDE, TALL + 22, title=f"{shape.name}: original, synthetic", desc=desc, body=body
    )


def _upright(shape: ColumnShape, max_share: float, threshold: int) -> list[str]:
    count = len(shape.labels)
    wide = (WIDE - 4) / max(count, 1)
    bottom = TOP + TALL - FOOT
    room = bottom - TOP - 4
    out = []
    for i, label in enumerate(shape.labels):
        x = 2 + i * wide
        description = f"{label}: original {_share(shape.original[i], threshold)}, synthetic {_share(shape.synthetic[i], threshold)}"
        bars = ""
        for share, inset in ((shape.original[i], 0.5), (shape.synthetic[i], 1.5)):
            high = STUB if share is None else share / max_share * room
            area = (x + inset, bottom - high, max(wide - 2 * inset, 1.0), high)
            bars += _bar(area, hidden=share is None, filled=inset == 0.5)
        out.append(element("g", bars, tooltip=description))
    out.append(line([(0, bottom), (WIDE, bottom)], stroke=GREY))
    half = (WIDE - 8) / 2
    out.append(text(0, bottom + 14, cut(shape.labels[0], half, 11), size=11, fill=GREY))
    out.append(
        text(
            WIDE - 2, bottom + 14, cut(shape.labels[-1], half, 11), size=11, fill=GREY, anchor="end"
        )
    )
    return out


def _bar(area: tuple[float, float, float, float], *, hidden: bool, filled: bool) -> str:
    """Return the bar of one table: filled of the original, an outline of the synthetic one, a dashed stub of what is hidden."""
    if hidden:
        return box(*area, stroke=GREY, stroke_dasharray="2 2", class_="hidden")
    if filled:
        return box(*area, fill=ORIGINAL, fill_opacity=".55")
    return box(*area, stroke=SYNTHETIC, stroke_width=2)


def _bar_labels(shape: ColumnShape, max_share: float, threshold: int) -> list[str]:
    count = max(len(shape.labels), 1)
    pitch = min((TALL - 4) / count, 22.0)
    room = WIDE - LABELS - 6
    size = min(11.0, pitch)
    out = []
    for i, label in enumerate(shape.labels):
        y = TOP + 2 + i * pitch
        description = f"{label}: original {_share(shape.original[i], threshold)}, synthetic {_share(shape.synthetic[i], threshold)}"
        bars = ""
        for share, inset in ((shape.original[i], 0.5), (shape.synthetic[i], 2.0)):
            long = STUB if share is None else share / max_share * room
            area = (LABELS, y + inset, long, max(pitch - 2 * inset - 1.5, 1.0))
            bars += _bar(area, hidden=share is None, filled=inset == 0.5)
        out.append(element("g", bars, tooltip=description))
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
        rows.append(Heading(" × ".join(display_name(name, 40) for name in pair.columns)))
        wide = len(pair.labels[1])
        rows += [
            (
                f"{pair.labels[0][k // wide]} × {pair.labels[1][k % wide]}",
                _share(share, shapes.threshold),
                _share(other, shapes.threshold),
            )
            for k, (share, other) in enumerate(zip(pair.original, pair.synthetic, strict=True))
        ]
    count = len(pictures)
    caption = (
        f"The {count} pairs of columns furthest from the original"
        if count > 1
        else "The pair of columns furthest from the original"
    )
    note = f"Darker: a larger share of all rows, rounded. Left: original; right: synthetic. Dashed: {hidden_words(shapes.threshold)}, hidden."
    table = page_table("Shares of rows", rows, Col("Values"), Num("Original"), Num("Synthetic"))
    return Figure("fig-pairs", caption, pictures, table, note, across=3)


def pair_picture(key: str, pair: PairShape, threshold: int, chosen: str = "") -> Markup:
    """Return a pair in both tables, on one scale of shades."""
    rows, columns = pair.labels
    side = min((PAIR_WIDE - PAIR_LABELS - PAIR_GAP - PAIR_SLANT) / 2 / max(len(columns), 1), 24.0)
    names = " × ".join(pair.columns)
    value = "" if pair.value is None else f", off by {format_fixed(pair.value)}"
    body = [text(0, 12, cut(names, PAIR_WIDE - width_of(value, 12) - 4) + value, bold=True)]
    if chosen:
        body.append(text(0, 27, cut(chosen, PAIR_WIDE, 11), size=11, fill="#5e2600"))
    max_share = _largest(pair.original, pair.synthetic)
    top = PAIR_HEAD + (14 if chosen else 0)
    for index, (shares, title) in enumerate(
        ((pair.original, "original"), (pair.synthetic, "synthetic"))
    ):
        x_start = PAIR_LABELS + index * (side * len(columns) + PAIR_GAP)
        body += _pair_map(shares, pair, x_start, top, side, max_share, title, threshold)
    for i, label in enumerate(rows):
        body.append(
            text(
                PAIR_LABELS - 5,
                top + (i + 0.5) * side + 4,
                cut(label, PAIR_LABELS - 6, 11),
                anchor="end",
                size=11,
            )
        )
    desc = f"{len(rows)} by {count_noun(len(columns), 'value')}; the shares are in the table below{value}. {chosen}".strip()
    return picture(
        key,
        PAIR_WIDE,
        top + side * len(rows) + 18,
        title=f"{names}: original, synthetic",
        desc=desc,
        body=body,
    )


def _pair_map(
    shares: Shares,
    pair: PairShape,
    x_start: float,
    top: float,
    side: float,
    max_share: float,
    title: str,
    threshold: int,
) -> list[str]:
    rows, columns = pair.labels
    out = []
    for k, share in enumerate(shares):
        i, j = divmod(k, len(columns))
        description = f"{title}, {rows[i]} × {columns[j]}: {_share(share, threshold)}"
        if share is None:
            look = HIDDEN_CELL
        else:
            shade = hex_colour(blend(STRENGTH, (share / max_share) ** 0.6))
            look = {"fill": shade, "stroke": "#bbb", "stroke_width": ".5"}
        x, y = x_start + j * side + 0.5, top + i * side + 0.5
        out.append(box(x, y, side - 1, side - 1, tooltip=description, **look))
    for j, label in enumerate(columns):
        out.append(
            text(x_start + (j + 0.65) * side, top - 4, cut(label, 62, 11), size=11, rotation=-60)
        )
    out.append(text(x_start, top + side * len(rows) + 13, title, size=11, fill=GREY))
    return out
