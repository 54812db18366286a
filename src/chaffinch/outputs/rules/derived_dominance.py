"""Dominance in groups that are not printed: where the others and the total are, a group follows, and is held to the rules on sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from ..._base.arrays import Floats, Ints
from .cell_counts import COUNT, CellCounts, cells_within, margin
from .evidence import RULES, Release, Rule, SortedGroups
from .findings import RuleFinding, Status, count_phrase
from .magnitudes import by_ratio, by_share, ratio_words, share_words
from .policy import Policy
from .system import CellSystem

RULE = "dominance in derived groups"
_CLOSE = 1e-6
"""Differences of sums below this share of all of them are rounding."""


@dataclass(frozen=True, eq=False)
class _Sums:
    """All tables of sums or means of one column, new and released, with the column's value of each record.

    `exact` are the outputs whose sums are known: a mean is a sum for those who know the number of people.
    """

    column: str
    tallies: Sequence[CellCounts]
    values: Floats
    exact: frozenset[str]

    def status(self, outputs: Sequence[str]) -> Status:
        return "fail" if self.exact.issuperset(outputs) else "review"

    def differences(self) -> Iterator[tuple[CellCounts, CellCounts, Ints]]:
        """Give an outer and an inner table, and the cell of the outer table for each record that no shown inner cell within that cell has (-1 for others)."""
        tables = [
            *self.tallies,
            *(
                total
                for tally in self.tallies
                if not tally.withheld.any()
                for total in _margins(tally)
            ),
        ]
        for outer, inner in permutations({tally.key: tally for tally in tables[::-1]}.values(), 2):
            outer_cell = np.where(inner.withheld, -1, cells_within(inner, outer)[0])
            reduced = np.zeros(outer.size, dtype=bool)
            reduced[outer_cell[outer_cell >= 0]] = True
            subtracted = (inner.labels >= 0) & (outer_cell[inner.labels] >= 0)
            remains = (outer.known >= 0) & ~subtracted & reduced[outer.known]
            yield outer, inner, np.where(remains, outer.known, -1)

    def largest(self, table: CellCounts, cells: Ints) -> Floats:
        """Return the largest sum of each of some withheld cells that all printed sums allow; NaN where that is not worked out."""
        if (self.values < 0).any():  # a sum may then be anything
            return np.full(len(cells), np.nan)
        ends = CellSystem(self.tallies).sum_ranges(table, cells.tolist(), self.values)
        return np.array([np.nan if pair is None else pair[1] for pair in ends])


def _definition(tally: CellCounts) -> bytes:
    return replace(tally, withheld=np.zeros_like(tally.withheld)).key


def _margins(table: CellCounts) -> list[CellCounts]:
    """The total of a table, and its margins by one column."""
    several = [
        position
        for (position, _), names in zip(table.steps, table.names, strict=True)
        if len(names) > 1
    ]
    return (
        [
            margin(table, ()),
            *(margin(table, (position,)) for position in several if len(several) > 1),
        ]
        if several
        else []
    )


@RULES.register(
    Rule(
        RULE,
        "Do a few people dominate a group that follows from printed sums?",
        ("differencing", "nk_n", "nk_k", "p_ratio"),
    )
).looks_at(Release)
def _derived_dominance(release: Release, policy: Policy) -> list[RuleFinding]:
    """Return whether a few people dominate a group whose sum is not printed and follows, or nearly follows, from sums that are.

    Two ways lead to such a group: a cell less the printed cells within it; and a withheld cell that a few people dominate, whose largest possible sum lies less far
    above the true one than the rule asks for: x1 p - (T - x1 - x2) for the p-ratio, (x1 + ... + xn) / k - T for n-k (upper protection levels, Hundepool et
    al. 2012, *Statistical Disclosure Control*, section 4.4). What only outputs that are out already say together is not told.
    """
    findings: list[RuleFinding] = []
    if not policy.differencing:
        return findings
    counted = {
        _definition(tally)
        for tally in release.tallies
        if COUNT in tally.quantities and not tally.withheld.any()
    }
    sums_of: dict[str, list[CellCounts]] = {}
    for tally in release.tallies:
        for quantity in tally.quantities if tally.kind not in ("sd", "variance") else ():
            if quantity.startswith("sum:"):
                sums_of.setdefault(quantity.removeprefix("sum:"), []).append(tally)
    for column, tables in sums_of.items():
        exact = frozenset(
            tally.output
            for tally in tables
            if tally.kind != "mean" or _definition(tally) in counted
        )
        sums = _Sums(column, tables, release.numbers(column), exact)
        by_difference = list(_by_difference(sums, release.new, policy))
        reported = {frozenset(finding.names) for finding in by_difference}
        findings += [*by_difference, *_by_bounds(sums, release.new, policy, reported)]
    return findings


def _by_difference(sums: _Sums, new: Mapping[str, object], policy: Policy) -> Iterator[RuleFinding]:
    reported: set[frozenset[str]] = set()
    for outer, inner, labels in sums.differences():
        names = list(dict.fromkeys((outer.output, inner.output)))
        mine = next((name for name in names if name in new), None)
        if mine is None or frozenset(names) in reported:
            continue
        rules = policy.for_kind(outer.kind)
        values = SortedGroups(sums.values, labels, outer.size)
        for groups, phrase in (
            (by_share(values, rules), share_words(rules)),
            (by_ratio(values, rules), ratio_words(rules)),
            (values.negative, "there are values below 0, for which dominance is not defined"),
        ):
            if not groups.any():
                continue
            reported.add(frozenset(names))
            status = "review" if groups is values.negative else sums.status(names)
            first, other = (outer, inner) if outer.output == mine else (inner, outer)
            other_name = None if other.output == mine else other.output
            source = "Its own cells" if other_name is None else f"This output and '{other_name}'"
            size = len(np.unique(labels[labels >= 0]))
            yield first.finding(
                RULE,
                outer.named(groups),
                total=size,
                sentence=f"{source} give, by subtraction, the sums of groups that are not printed. In {count_phrase(int(groups.sum()), size, 'such group')} {phrase}.",
                status=status,
                other=other_name,
            )
            break


def _room_needed(values: Floats, labels: Ints, size: int, policy: Policy) -> Floats:
    """How far above its sum the largest possible sum of each group must lie; 0 where no rule asks for room."""
    groups = SortedGroups(values, labels, size)
    first, top = groups.largest(0), sum((groups.largest(k) for k in range(policy.nk_n)), 0.0)
    for_ratio = policy.p_ratio * first - (groups.total - first - groups.largest(1))
    room = np.maximum(for_ratio, top / policy.nk_k - groups.total)
    return np.where(groups.total > 0, np.maximum(room, 0.0), 0.0)


def _by_bounds(
    sums: _Sums, new: Mapping[str, object], policy: Policy, reported: set[frozenset[str]]
) -> Iterator[RuleFinding]:
    outputs = list(dict.fromkeys(tally.output for tally in sums.tallies))
    why = "values below 0" if (sums.values < 0).any() else "limit of work"
    unclear = f"a few people dominate the sum, and how closely the printed sums bound it was not worked out ({why})"
    is_close = "a few people dominate the sum, and the printed sums leave it less room than the dominance rules ask for"
    for tally in sums.tallies:
        needed = _room_needed(sums.values, tally.labels, tally.size, policy.for_kind(tally.kind))
        asked = np.flatnonzero(np.where(tally.withheld, needed, 0.0))
        names = [name for name in dict.fromkeys((tally.output, *outputs)) if name in new]
        is_known = any(known <= {*outputs} and tally.output in known for known in reported)
        if not len(asked) or not names or is_known:
            continue
        largest, n_withheld = sums.largest(tally, asked), int(tally.withheld.sum())
        totals = np.array([sums.values[tally.labels == cell].sum() for cell in asked])
        first = next(other for other in sums.tallies if other.output == names[0])
        rest = [name for name in outputs if name != names[0]]
        for cells, phrase, status in (
            (
                asked[largest - totals < needed[asked] - _CLOSE * totals],
                is_close,
                sums.status(outputs),
            ),
            (asked[np.isnan(largest)], unclear, "not assessed"),
        ):
            if len(cells):
                yield first.finding(
                    RULE,
                    tally.called(cells),
                    total=n_withheld,
                    sentence=f"In {count_phrase(len(cells), n_withheld, 'withheld group')} {phrase}.",
                    status=status,
                    other=rest[0] if len(rest) == 1 else None,
                    others=rest if len(rest) > 1 else (),
                )
