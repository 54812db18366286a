"""A result of utility as sections of a page: verdict first, then where it is good and where it is bad, then figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .._base.masking import THRESHOLD
from .._base.svg import bars
from .._base.text import between, count_noun, fixed, number, percent, shown, signed
from ..stats.result import Result
from ..utility.association import Association
from ..utility.impossible import ImpossiblePairs
from ..utility.jensen_shannon import JensenShannon
from ..utility.result import UtilityResult
from ..utility.tvd import MarginalDistance
from ..utility.verdict import (
    LADDER,
    NOT_APPLICABLE,
    WORDS,
    VerdictRow,
    ladder,
    ladder_plot,
    way_between,
)
from .columns import columns_figure
from .heatmap import MOST_COLUMNS, NUMBERED, Matrices, heat_maps
from .pairs import pairs_figure
from .sections import Block, Cell, Figure, Grid, Heading, PageTable, Paragraph, Row, Section
from .uses import uses_sections
from .why import Choices

FEW = 8


def utility_sections(result: UtilityResult, threshold: int = THRESHOLD) -> Iterator[Section]:
    """Yield what a result has to show, after the verdict: only sections that have something."""
    parts: tuple[tuple[str, str, list[Block]], ...] = (
        ("where", "Where it is good and where it is bad", list(_where(result))),
        ("columns", "Distances of columns", list(_columns(result))),
        ("relations", "How columns are related", list(_relations(result))),
    )
    for key, title, blocks in parts:
        if blocks:
            yield Section(key, title, tuple(blocks))
    yield from uses_sections(result, threshold)


def look_sections(result: UtilityResult, choices: Choices) -> Iterator[Section]:
    """Yield pictures of columns and of the worst pairs: nothing where the result was read from its plain data, which hold none."""
    if result.shapes is None:
        return
    columns, pairs = (
        columns_figure(result.shapes, dict(_by_column(result))),
        pairs_figure(result.shapes, choices.why),
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
    sides = {
        "marginals": "Independent columns",
        "resample": "Resampled original",
        "holdout": "Holdout",
    }
    used = {
        side: name
        for side, name in sides.items()
        if any(getattr(row, side) is not None for row in rows)
    }
    head = ("Measure", "Value and 95 % interval", *used.values(), "In words")
    last = len(head) - 1
    tally = {word: sum(row.word == word for row in rows) for word in (*WORDS, NOT_APPLICABLE)}
    counts = ", ".join(f"{count} {word}" for word, count in tally.items() if count)
    blocks: list[Block] = [
        Paragraph(
            f"Nearness to the original by {count_noun(len(rows), 'measure')}: {counts}.", "lead"
        ),
        PageTable(
            f"Each number beside that of {_references(list(used))}",
            head,
            tuple(_verdict_rows(rows, list(used))),
            frozenset(range(1, last)),
            frozenset({0, last}),
            cards=True,
        ),
        *_ladder(rows),
    ]
    return Section("verdict", "What it is worth, measure by measure", tuple(blocks))


def _references(used: Sequence[str]) -> str:
    words = {
        "marginals": "independent columns",
        "resample": "the original's records drawn again",
        "holdout": "a holdout",
    }
    return ", of ".join(words[side] for side in used) or "nothing: there are no references"


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
        table = PageTable(
            LADDER,
            ("Measure", "Share of the way", "95 % interval", "Word"),
            cells,
            frozenset({1, 2}),
        )
        yield Figure("fig-ladder", LADDER, (ladder_plot("fig-ladder-plot", steps),), table)


# Where it is good and where it is bad.


def _where(result: UtilityResult) -> Iterator[Block]:
    ranked = _by_column(result)
    half = min(FEW, max(len(ranked) // 2, 1))
    if len(ranked) > 1:
        best = ", ".join(shown(name, 32) for name, _ in ranked[::-1][:3])
        worst = ", ".join(shown(name, 32) for name, _ in ranked[:3])
        yield Paragraph(
            f"By themselves, nearest to the original: {best}. Farthest: {worst}.", "lead"
        )
    sides = (
        (("farthest from", ranked[:half]), ("nearest to", ranked[::-1][:half])) if ranked else ()
    )
    tables = [
        PageTable(
            f"Columns {words} the original",
            ("Column", "Jensen-Shannon distance"),
            tuple((shown(name), fixed(value)) for name, value in some),
            frozenset({1}),
        )
        for words, some in sides
    ]
    tables += [*_worst_pairs(result), *_impossible(result), *_worst_marginals(result)]
    if tables:
        yield Grid(tuple(tables))


def _by_column(result: UtilityResult) -> list[tuple[str, float]]:
    """Return columns with their Jensen-Shannon distances, farthest first."""
    distances = result.results.get("jensen_shannon")
    known = distances.per_column if isinstance(distances, JensenShannon) else {}
    return sorted(known.items(), key=lambda item: -item[1])


def _pair(names: Sequence[str]) -> str:
    return " × ".join(shown(name, 40) for name in names)


def _worst_pairs(result: UtilityResult) -> Iterator[PageTable]:
    phi = result.results.get("phi_k")
    if isinstance(phi, Association) and phi.worst:
        rows = tuple(
            (
                _pair(pair.columns),
                fixed(pair.original),
                fixed(pair.synthetic),
                signed(pair.difference),
            )
            for pair in phi.worst[:FEW]
        )
        head = ("Pair of columns", "phi_k, original", "phi_k, synthetic", "Difference")
        yield PageTable("Pairs whose relation changed most", head, rows, frozenset({1, 2, 3}))


def _worst_marginals(result: UtilityResult) -> Iterator[PageTable]:
    for name, distance in result.results.items():
        if isinstance(distance, MarginalDistance) and distance.largest:
            rows = tuple(
                (_pair(clique.columns), fixed(clique.value)) for clique in distance.largest[:5]
            )
            width = name.partition(".")[2]
            caption = f"{width}-way tables farthest from the original ({number(distance.cliques)} of {number(distance.of)} measured)"
            yield PageTable(caption, ("Columns", "Total variation distance"), rows, frozenset({1}))


def _impossible(result: UtilityResult) -> Iterator[PageTable]:
    pairs = result.results.get("impossible")
    if isinstance(pairs, ImpossiblePairs) and pairs.worst:
        rows = tuple((_pair(pair.columns), percent(pair.share)) for pair in pairs.worst[:FEW])
        caption = (
            f"Pairs of values that no original record has: {count_noun(pairs.pairs, 'pair')} of columns, {number(pairs.cells)} "
            "combinations of values"
        )
        yield PageTable(
            caption, ("Pair of columns", "Share of synthetic rows"), rows, frozenset({1})
        )


# Figures of columns and of relations.


def _columns(result: UtilityResult) -> Iterator[Block]:
    if "jensen_shannon" not in result.results:
        return
    ranked = _by_column(result)
    if not ranked:
        yield Paragraph(not_applicable(result["jensen_shannon"]))
        return
    some = ranked[:MOST_COLUMNS]
    of = f", the {len(some)} farthest of {len(ranked)}" if len(some) < len(ranked) else ""
    caption = f"Jensen-Shannon distance of each column{of}"
    desc = f"From {shown(some[0][0])} with {fixed(some[0][1])} down to {shown(some[-1][0])} with {fixed(some[-1][1])}."
    rows = tuple((shown(name), fixed(value, 4)) for name, value in some)
    table = PageTable(caption, ("Column", "Jensen-Shannon distance"), rows, frozenset({1}))
    note = "0: the same distribution; 1: no value in common."
    yield Figure(
        "fig-js", caption, (bars("fig-js-plot", caption, desc, dict(some), top=0.05),), table, note
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
    most = 60 if size <= NUMBERED else 20
    rows = tuple(
        (shown(a, most), shown(b, most), fixed(o), fixed(s), signed(d))
        for a, b, o, s, d in matrices.pairs()
    )
    table = PageTable(
        caption,
        ("Column", "Column", "Original", "Synthetic", "Difference"),
        rows,
        frozenset({2, 3, 4}),
    )
    note = "Difference: synthetic less original. Blue with a minus: weaker or lower than in the original; orange with a plus: stronger or higher."
    if size > NUMBERED:
        note += " Numbers are printed where the difference is at least 0.05."
    if cut:
        note += " The whole matrix is in the JSON."
    maps = heat_maps(f"fig-{key}", what, matrices, signs=signs)
    return Figure(f"fig-{key}", caption, maps, table, note, across=2 if size <= NUMBERED else 1)
