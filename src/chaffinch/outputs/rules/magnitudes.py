"""Rules on numbers of people's own: dominance in sums and means, one value in a group, degrees of freedom, quantiles that are someone's value.

The formulas are ACRO's (`sdcchecks.py`), with x1 >= x2 >= ... the values of a group and T their sum:

    n-k:       fails if  (x1 + ... + xn) / T >= k
    p-ratio:   fails if  (T - x1 - x2) / x1 < p

Both are for values of at least 0, and only where T, or x1, is above 0; a group with a value below 0 is for a person to look at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._base.arrays import Mask
from .counts import names_of_cells
from .evidence import (
    RULES,
    DegreesOfFreedom,
    HistogramEnds,
    Magnitudes,
    Quantiles,
    Rule,
    RuleOutcome,
    SortedGroups,
    Spread,
    TableCells,
)
from .findings import count_phrase
from .policy import Policy

_SLACK = 1e-12


def by_share(groups: SortedGroups, policy: Policy) -> Mask:
    """Return which groups break the n-k rule.

    Examples
    --------
    Of 100 the two largest have 91, and the others 9, which is more than a tenth of 50:

    >>> groups = SortedGroups(np.array([50.0, 41.0, 5.0, 4.0]), np.zeros(4, dtype=np.int64), 1)
    >>> by_share(groups, Policy()).tolist(), by_ratio(groups, Policy()).tolist()
    ([True], [False])
    """
    top = sum((groups.largest(k) for k in range(policy.nk_n)), np.zeros(len(groups.total)))
    enough = top >= policy.nk_k * groups.total * (1 - _SLACK)
    return (groups.counts > 0) & ~groups.negative & (groups.total > 0) & enough


def by_ratio(groups: SortedGroups, policy: Policy) -> Mask:
    """Return which groups break the p-ratio rule."""
    first, second = groups.largest(0), groups.largest(1)
    little = groups.total - first - second < policy.p_ratio * first * (1 - _SLACK)
    return (groups.counts > 0) & ~groups.negative & (first > 0) & little


def share_words(policy: Policy) -> str:
    """Return what is true of a group that breaks the n-k rule."""
    return f"the {policy.nk_n} largest values make up at least {policy.nk_k:.0%} of the sum"


def ratio_words(policy: Policy) -> str:
    """Return what is true of a group that breaks the p-ratio rule."""
    return f"all but the two largest values are less than {policy.p_ratio:.0%} of the largest"


def _dominance(piece: Magnitudes, dominated: Mask, phrase: str) -> Iterator[RuleOutcome]:
    cells = piece.cells
    shown = ~cells.withheld & (cells.counts > 0)
    n_shown, where = int(shown.sum()), cells.named(dominated & shown)
    unclear = cells.named(piece.groups.negative & shown)
    yield RuleOutcome(
        where,
        n_shown,
        clear_sentence=f"There is no group of which it is true that {phrase}.",
        sentence=f"In {count_phrase(len(where), n_shown, 'group')} {phrase}.",
    )
    if unclear:
        yield RuleOutcome(
            unclear,
            n_shown,
            sentence=f"In {count_phrase(len(unclear), n_shown, 'group')} there are values below 0, for which dominance is not defined.",
            status="review",
        )


@RULES.register(
    Rule("n-k dominance", "Do a few people make up most of a group's sum?", ("nk_n", "nk_k"))
).looks_at(Magnitudes)
def _nk(piece: Magnitudes, policy: Policy) -> Iterator[RuleOutcome]:
    return _dominance(piece, by_share(piece.groups, policy), share_words(policy))


@RULES.register(
    Rule(
        "p-ratio",
        "Does a group's sum give its largest value away to the second largest?",
        ("p_ratio",),
    )
).looks_at(Magnitudes)
def _p_ratio(piece: Magnitudes, policy: Policy) -> Iterator[RuleOutcome]:
    return _dominance(piece, by_ratio(piece.groups, policy), ratio_words(policy))


@RULES.register(
    Rule(
        "class disclosure",
        "Are all people of a row or column in one cell, or do all of a group have the same value?",
    )
).looks_at(TableCells)
def _full_lines(piece: TableCells, policy: Policy) -> Iterator[RuleOutcome]:
    """Whether one cell of a row or column (a line of any direction) holds all its people: who is in the line is in the cell."""
    full, total = list[tuple[Any, Mask]](), 0
    for table in piece.cells:
        if table.implied or table.base > 1 or max(table.shape, default=1) < 2:
            continue
        cells = np.zeros(table.size, dtype=bool)
        for line in table.lines():
            several, counts = table.possible[line].sum(axis=1) > 1, table.counts[line]
            alone = several & ((counts > 0).sum(axis=1) == 1) & ~table.withheld[line].any(axis=1)
            cells[line[alone, counts[alone].argmax(axis=1)]] = True
            total += int((several & (counts.sum(axis=1) > 0)).sum())
        full.append((table, cells))
    if full:
        where = names_of_cells(full)
        yield RuleOutcome(
            where,
            total,
            clear_sentence="In no row or column are all people in one cell.",
            sentence=f"{len(where)} cell{'' if len(where) == 1 else 's'} of the table: everyone in the row or column is in that one cell.",
            status="review",
        )


@_full_lines.looks_at(Magnitudes)
def _same_value(piece: Magnitudes, policy: Policy) -> Iterator[RuleOutcome]:
    """Whether all people of a group have the same number."""
    cells = piece.cells
    shown = ~cells.withheld & (cells.counts > 0)
    n_shown = int(shown.sum())
    same = cells.named(piece.groups.equal & shown & (cells.counts >= policy.threshold))
    yield RuleOutcome(
        same,
        n_shown,
        clear_sentence="In no group do all people have the same value.",
        sentence=f"In {count_phrase(len(same), n_shown, 'group')} all people have the same value.",
        status="review",
    )


@RULES.register(
    Rule(
        "residual degrees of freedom",
        "Are there few residual degrees of freedom?",
        ("residual_dof",),
    )
).looks_at(DegreesOfFreedom)
def _few_degrees(piece: DegreesOfFreedom, policy: Policy) -> Iterator[RuleOutcome]:
    min_dof = policy.residual_dof
    where = ["n less parameters"] if piece.dof < min_dof else []
    yield RuleOutcome(
        where,
        1,
        clear_sentence=f"There are at least {min_dof} residual degrees of freedom.",
        sentence=f"There are fewer than {min_dof} residual degrees of freedom.",
    )


@_few_degrees.looks_at(Spread)
def _few_in_spread(piece: Spread, policy: Policy) -> Iterator[RuleOutcome]:
    cells, min_dof = piece.cells, policy.residual_dof
    shown = ~cells.withheld & (cells.counts > 0)
    n_shown, where = int(shown.sum()), cells.named(shown & (cells.counts - 1 < min_dof))
    yield RuleOutcome(
        where,
        n_shown,
        clear_sentence=f"Every spread has at least {min_dof} degrees of freedom.",
        sentence=f"The spread of {count_phrase(len(where), n_shown, 'group')} has fewer than {min_dof} degrees of freedom.",
    )


@RULES.register(
    Rule("quantile of a few", "Is a quantile, as printed, the value of few people?")
).looks_at(Quantiles)
def _quantile_of_few(piece: Quantiles, policy: Policy) -> Iterator[RuleOutcome]:
    threshold, total = policy.threshold, len(piece.shown)
    where = [q.name for q in piece.shown if 0 < q.n_equal < threshold and 0.0 < q.point < 1.0]
    yield RuleOutcome(
        where,
        total,
        clear_sentence=f"No quantile is the value of fewer than {threshold} people.",
        sentence=f"{count_phrase(len(where), total, 'quantile').capitalize()}: the value itself of fewer than {threshold} people.",
        status="review",
    )


@RULES.register(Rule("beyond a quantile", "Do few people lie beyond a quantile?")).looks_at(
    Quantiles
)
def _beyond(piece: Quantiles, policy: Policy) -> Iterator[RuleOutcome]:
    threshold, total = policy.threshold, len(piece.shown)
    where = [q.name for q in piece.shown if 0.0 < q.point < 1.0 and q.n_beyond < threshold]
    yield RuleOutcome(
        where,
        total,
        clear_sentence=f"Beyond every quantile there are {threshold} people or more.",
        sentence=f"Fewer than {threshold} people lie beyond {count_phrase(len(where), total, 'quantile')}.",
        status="review",
    )


@RULES.register(
    Rule("ends", "Is an end the smallest or largest value, which few people have?")
).looks_at(Quantiles)
def _extremes(piece: Quantiles, policy: Policy) -> Iterator[RuleOutcome]:
    """Whether the smallest or largest value is that of few people, which fails."""
    threshold, total = policy.threshold, len(piece.shown)
    where = [q.name for q in piece.shown if 0 < q.n_equal < threshold and q.point in (0.0, 1.0)]
    if where:
        yield RuleOutcome(
            where,
            total,
            sentence=f"{count_phrase(len(where), total, 'quantile').capitalize()}: the smallest or largest value, which fewer than {threshold} people have.",
        )


@_extremes.looks_at(HistogramEnds)
def _edges(piece: HistogramEnds, policy: Policy) -> Iterator[RuleOutcome]:
    """Whether an end is the smallest or largest value there is, which few people have."""
    where = [name for name, n in piece.n_equal.items() if n < policy.threshold]
    yield RuleOutcome(
        where,
        2,
        clear_sentence="No end of the histogram is an extreme value of a few people.",
        sentence=f"{count_phrase(len(where), 2, 'end')} of the histogram: the extreme value itself, which fewer than {policy.threshold} people have.",
        status="review",
    )
