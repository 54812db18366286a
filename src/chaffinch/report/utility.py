"""A utility study as sections of a page: verdict first, then where it is good and where it is bad, then figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .heatmap import MOST_COLUMNS, NUMBERED, Matrices, heat_maps
from .measures import GROUPS, MEASURES
from .plots import Dot, bars, dots
from .sections import Block, Cell, Details, Figure, Grid, Heading, Listing, Paragraph, Row, Section, Table
from .uses import uses_sections
from .verdict import RULES, WORDS
from .words import NONE, between, fixed, is_number, number, percent, shown, signed

__all__ = ["utility_sections", "verdict_section", "why_not"]

Data = Mapping[str, Any]
GROUP_OF = {measure.id: measure.group for measure in MEASURES}
FEW = 8


def utility_sections(utility: Data) -> Iterator[Section]:
    """Yield what a study's plain data have to show, after the verdict: only sections that have something."""
    parts: tuple[tuple[str, str, list[Block]], ...] = (
        ("where", "Where it is good and where it is bad", list(_where(utility))),
        ("columns", "Each column by itself", list(_columns(utility))),
        ("relations", "How columns are related", list(_relations(utility))),
    )
    for key, title, blocks in parts:
        if blocks:
            yield Section(key, title, tuple(blocks))
    yield from uses_sections(utility)


def why_not(data: Data) -> str:
    """Return why a measure has no value, as a sentence."""
    return f"Not applicable: {str(data.get('not_applicable') or 'no value was given').rstrip('.')}."


# The verdict.


def verdict_section(rows: Sequence[Data]) -> Section:
    """Return the table that a person reads first: number, interval, references, a word and a sentence for each measure."""
    references = ("Independent columns", "Resampled original", "Holdout", "Identical tables")
    head = ("Measure", "Value and 95 % interval", *references, "In words")
    tally = {word: sum(row.get("word") == word for row in rows) for word in (*WORDS, "not applicable")}
    counts = ", ".join(f"{count} {word}" for word, count in tally.items() if count)
    blocks: list[Block] = [
        Paragraph(f"Nearness to the original by {len(rows)} measures: {counts}.", "lead"),
        Table(
            "Each number beside that of independent columns, of the original's records drawn again, of a holdout, and of identical tables",
            head, tuple(_verdict_rows(rows)), frozenset({1, 2, 3, 4, 5}), frozenset({0, 6}), cards=True,
        ),
    ]  # fmt: skip
    ladder = _ladder(rows)
    if ladder is not None:
        blocks.append(ladder)
    blocks.append(Details("How the words are chosen", (Listing(RULES),)))
    return Section("verdict", "The verdict in words", tuple(blocks))


def _verdict_rows(rows: Sequence[Data]) -> Iterator[Row]:
    group = ""
    for row in rows:
        of_row = GROUPS.get(GROUP_OF.get(str(row.get("id")), ""), str(row.get("section", "")).capitalize())
        if of_row != group:
            group = of_row
            yield Heading(group)
        missing = row.get("value") is None
        yield (
            Cell(
                str(row.get("measure")), f"{row.get('question') or ''} {str(row.get('direction') or '').capitalize()}."
            ),
            Cell(number(row.get("value")), "" if missing or not row.get("interval") else between(row["interval"])),
            number(row.get("marginals")),
            number(row.get("resample")),
            number(row.get("holdout")),
            number(row.get("identical")),
            Cell(str(row.get("sentence") or ""), word=str(row.get("word") or "")),
        )


def _ladder(rows: Sequence[Data]) -> Figure | None:
    """Return the measures that have a scale, each from independent columns to the best that can be had."""
    drawn, table = [], []
    for row in rows:
        kept, value, marginals = row.get("kept"), row.get("value"), row.get("marginals")
        if not (is_number(kept) and is_number(value) and is_number(marginals)):
            continue
        ends = [_kept(end, float(marginals or 0.0), row["best"]) for end in row.get("interval") or ()]
        low, high = (min(ends), max(ends)) if len(ends) == 2 else (None, None)
        drawn.append((str(row["measure"]), [Dot("synthetic table", float(kept), low, high)]))  # type: ignore[arg-type]
        table.append(
            (
                str(row["measure"]),
                percent(kept),
                f"{percent(low)} to {percent(high)}" if ends else NONE,
                str(row["word"]),
            )
        )
    if not drawn:
        return None
    caption = "How far from independent columns to the best that can be had"
    desc = "; ".join(f"{name}: {found[0].value:.0%}" for name, found in drawn)
    sides = {"as the holdout": "holdout", "as the original drawn again": "resample"}
    found = (words for words, side in sides.items() if any(row.get(side) is not None for row in rows))
    best = next(found, "as identical tables")
    plot = dots(
        "fig-ladder-plot", caption, desc, drawn, ("synthetic table",), label="share of the way; the bar is the 95 % interval",
        low=0.0, high=1.0, ends=("0: independent columns", f"1: {best}"),
    )  # fmt: skip
    data = Table(caption, ("Measure", "Share of the way", "95 % interval", "Word"), tuple(table), frozenset({1, 2}))
    return Figure("fig-ladder", caption, (plot,), data)


def _kept(value: float, marginals: float, best: float) -> float:
    return min(max((marginals - value) / (marginals - best), 0.0), 1.0)


# Where it is good and where it is bad.


def _where(utility: Data) -> Iterator[Block]:
    ranked = _by_column(utility)
    half = min(FEW, max(len(ranked) // 2, 1))
    if ranked:
        best = ", ".join(shown(name, 32) for name, _ in ranked[::-1][:3])
        worst = ", ".join(shown(name, 32) for name, _ in ranked[:3])
        if len(ranked) > 1:
            yield Paragraph(f"By themselves, nearest to the original: {best}. Farthest: {worst}.", "lead")
    sides = (("farthest from", ranked[:half]), ("nearest to", ranked[::-1][:half])) if ranked else ()
    tables = [
        Table(
            f"Columns {words} the original", ("Column", "Jensen-Shannon distance"),
            tuple((shown(name), fixed(value)) for name, value in some), frozenset({1}),
        )
        for words, some in sides
    ]  # fmt: skip
    tables += _worst_pairs(utility.get("phi_k") or {})
    tables += _impossible(utility.get("impossible") or {})
    tables += _worst_marginals(utility.get("tvd") or {})
    if tables:
        yield Grid(tuple(tables))


def _by_column(utility: Data) -> list[tuple[str, float]]:
    """Return columns with their Jensen-Shannon distances, farthest first."""
    found = (utility.get("jensen_shannon") or {}).get("per_column") or {}
    known = [(str(name), float(value)) for name, value in found.items() if is_number(value)]
    return sorted(known, key=lambda item: -item[1])


def _pair(names: Any) -> str:
    return " × ".join(shown(name, 40) for name in names or ())


def _worst_pairs(data: Data) -> Iterator[Table]:
    rows = tuple(
        (
            _pair(row.get("columns")),
            fixed(row.get("original")),
            fixed(row.get("synthetic")),
            signed(row.get("difference")),
        )
        for row in (data.get("worst") or ())[:FEW]
    )
    if rows:
        head = ("Pair of columns", "phi_k, original", "phi_k, synthetic", "Difference")
        yield Table("Pairs whose relation changed most", head, rows, frozenset({1, 2, 3}))


def _worst_marginals(data: Data) -> Iterator[Table]:
    for width in ("1", "2", "3"):
        part = data.get(width) or {}
        rows = tuple((_pair(row.get("columns")), fixed(row.get("value"))) for row in (part.get("largest") or ())[:5])
        if rows:
            caption = f"{width}-way tables farthest from the original ({number(part.get('cliques'))} of {number(part.get('of'))} measured)"
            yield Table(caption, ("Columns", "Total variation distance"), rows, frozenset({1}))


def _impossible(data: Data) -> Iterator[Table]:
    rows = tuple((_pair(row.get("columns")), percent(row.get("share"))) for row in (data.get("worst") or ())[:FEW])
    if rows:
        cells = f", {number(data['cells'])} combinations of values" if data.get("cells") is not None else ""
        caption = f"Pairs of values that no original record has: {number(data.get('pairs'))} pairs of columns{cells}"
        yield Table(caption, ("Pair of columns", "Share of synthetic rows"), rows, frozenset({1}))


# Figures of columns and of relations.


def _columns(utility: Data) -> Iterator[Block]:
    data = utility.get("jensen_shannon")
    if data is None:
        return
    ranked = _by_column(utility)
    if not ranked:
        yield Paragraph(why_not(data))
        return
    some = ranked[:MOST_COLUMNS]
    of = f", the {len(some)} farthest of {len(ranked)}" if len(some) < len(ranked) else ""
    caption = f"Jensen-Shannon distance of each column{of}"
    desc = f"From {shown(some[0][0])} with {fixed(some[0][1])} down to {shown(some[-1][0])} with {fixed(some[-1][1])}."
    rows = tuple((shown(name), fixed(value, 4)) for name, value in some)
    table = Table(caption, ("Column", "Jensen-Shannon distance"), rows, frozenset({1}))
    note = "0: the same distribution; 1: no value in common."
    yield Figure("fig-js", caption, (bars("fig-js-plot", caption, desc, dict(some), top=0.05),), table, note)


def _relations(utility: Data) -> Iterator[Block]:
    for key, what, signs in (("phi_k", "phi_k", False), ("pearson", "Pearson correlation of codes", True)):
        data = utility.get(key)
        if data is None:
            continue
        matrices = Matrices(data)
        if len(matrices.names) < 2:
            yield Paragraph(f"{what}: {why_not(data)}")
            continue
        yield _map_figure(key.replace("_", "-"), what, matrices, signs)


def _map_figure(key: str, what: str, matrices: Matrices, signs: bool) -> Figure:
    size = len(matrices.names)
    cut = f", the {size} of {matrices.of} columns with the largest differences" if size < matrices.of else ""
    caption = f"{what} of pairs of columns{cut}"
    most = 60 if size <= NUMBERED else 20
    rows = tuple((shown(a, most), shown(b, most), fixed(o), fixed(s), signed(d)) for a, b, o, s, d in matrices.pairs())
    table = Table(caption, ("Column", "Column", "Original", "Synthetic", "Difference"), rows, frozenset({2, 3, 4}))
    note = "Difference: synthetic less original. Blue with a minus: weaker or lower than in the original; orange with a plus: stronger or higher."
    if size > NUMBERED:
        note += " Numbers are printed where the difference is at least 0.05."
    if cut:
        note += " The whole matrix is in the JSON."
    maps = heat_maps(f"fig-{key}", what, matrices, signs=signs)
    return Figure(f"fig-{key}", caption, maps, table, note, across=2 if size <= NUMBERED else 1)
