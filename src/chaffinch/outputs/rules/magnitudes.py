"""Rules on numbers of people's own: dominance in sums and means, degrees of freedom of spreads, quantiles that are someone's value.

The formulas are ACRO's (`sdcchecks.py`), with x1 >= x2 >= ... the values of a group and T their sum:

    n-k:       fails if  (x1 + ... + xn) / T >= k
    p-ratio:   fails if  (T - x1 - x2) / x1 < p

Both are for values of at least 0, and only where T, or x1, is above 0; a group with a value below 0 is for a person to look at.

A group need not be printed to be published: where the others and the total are, it follows (`derived_dominance`). Derived groups are held to the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..domain import Floats, Ints
from ..numbers import printed
from .atoms import atoms_of
from .cell_counts import COUNT, CellCounts, cells_within, margin
from .findings import RuleFinding, Status, some
from .policy import Policy

RULE = "dominance in derived groups"
MOST_ATOMS = 20_000
"""Combinations of levels that tables of one column's sums tell apart, up to which withheld sums are bounded."""
MOST_PROGRAMMES = 400
"""Linear programmes for the withheld sums of one column, two for each dominated group."""
_SLACK = 1e-12
_CLOSE = 1e-6
"""Differences of sums below this share of all of them are rounding."""


class Dominance(NamedTuple):
    """Which groups break which rule; `negative`: has values below 0; `equal`: two or more people, all with the same value."""

    nk: NDArray[np.bool_]
    p_ratio: NDArray[np.bool_]
    negative: NDArray[np.bool_]
    equal: NDArray[np.bool_]


def dominance(values: Floats, labels: Ints, size: int, policy: Policy) -> Dominance:
    """Return which groups of values a few people dominate.

    Examples
    --------
    Of 100 the two largest have 91, and the others 9, which is more than a tenth of 50:

    >>> broken = dominance(np.array([50.0, 41.0, 5.0, 4.0]), np.zeros(4, dtype=np.int64), 1, Policy())
    >>> broken.nk.tolist(), broken.p_ratio.tolist()
    ([True], [False])
    """
    inside = labels >= 0
    values, labels = values[inside], labels[inside]
    order = np.lexsort((-values, labels))
    values, labels = values[order], labels[order]
    counts = np.bincount(labels, minlength=size)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    padded = np.concatenate([values, [0.0]])

    def largest(k: int) -> Floats:
        return np.where(counts > k, padded[np.minimum(starts + k, len(values))], 0.0)

    total = np.bincount(labels, weights=values, minlength=size)
    top = sum((largest(k) for k in range(policy.nk_n)), np.zeros(size))
    first, second = largest(0), largest(1)
    last = np.where(counts > 0, padded[np.maximum(starts + counts - 1, 0)], 0.0)
    negative = (counts > 0) & (last < 0)
    usable = (counts > 0) & ~negative
    return Dominance(
        usable & (total > 0) & (top >= policy.nk_k * total * (1 - _SLACK)),
        usable & (first > 0) & (total - first - second < policy.p_ratio * first * (1 - _SLACK)),
        negative,
        (counts > 1) & (first == last),
    )


def group_rules(cells: CellCounts, values: Floats, policy: Policy) -> list[RuleFinding]:
    """Return what dominance says of numbers by groups, and whether all people of a group have the same one."""
    broken = dominance(values, cells.labels, cells.size, policy)
    shown = ~cells.withheld & (cells.counts > 0)
    of, findings, unclear = (
        int(shown.sum()),
        list[RuleFinding](),
        cells.named(broken.negative & shown),
    )
    below = f"In {some(len(unclear), of, 'group')} there are values below 0, for which dominance is not defined."
    top = f"the {policy.nk_n} largest values make up at least {policy.nk_k:.0%} of the sum"
    rest = f"all but the two largest values are less than {policy.p_ratio:.0%} of the largest"
    for rule, broke, words in (
        ("n-k dominance", broken.nk, top),
        ("p-ratio", broken.p_ratio, rest),
    ):
        where, good = (
            cells.named(broke & shown),
            f"There is no group of which it is true that {words}.",
        )
        bad = f"In {some(len(where), of, 'group')} {words}."
        findings.append(cells.finding(rule, where, of=of, good=good, bad=bad))
        if unclear:
            findings.append(
                cells.finding(rule, unclear, of=of, good="", bad=below, status="review")
            )
    same = cells.named(broken.equal & shown & (cells.counts >= policy.threshold))
    good, bad = (
        "In no group do all people have the same value.",
        f"In {some(len(same), of, 'group')} all people have the same value.",
    )
    return [
        *findings,
        cells.finding("class disclosure", same, of=of, good=good, bad=bad, status="review"),
    ]


def spread_rule(cells: CellCounts, policy: Policy) -> RuleFinding:
    """Return whether spreads of groups have enough degrees of freedom."""
    shown, least = ~cells.withheld & (cells.counts > 0), policy.residual_dof
    of, where = int(shown.sum()), cells.named(shown & (cells.counts - 1 < least))
    good = f"Every spread has at least {least} degrees of freedom."
    bad = (
        f"The spread of {some(len(where), of, 'group')} has fewer than {least} degrees of freedom."
    )
    return cells.finding("residual degrees of freedom", where, of=of, good=good, bad=bad)


def quantile_rules(
    cells: CellCounts,
    values: Floats,
    points: Sequence[float],
    decimals: int | None,
    policy: Policy,
) -> list[RuleFinding]:
    """Return whether quantiles are values of a few people, and whether few people lie beyond one.

    A quantile as printed is the value of those people of the group whose own values print the same. At 0 and 1 (smallest and largest) few
    such people fail; in between they are for a person to look at.
    """
    ends, shared, beyond = list[str](), list[str](), list[str]()
    of = 0
    order = np.argsort(cells.labels, kind="stable")
    starts = np.searchsorted(cells.labels[order], np.arange(cells.size + 1))
    for group, name in enumerate(cells.called(np.arange(cells.size))):
        mine = np.sort(values[order[starts[group] : starts[group + 1]]])
        n = len(mine)
        if n == 0 or cells.withheld[group]:
            continue
        for q in points:
            of += 1
            at, value = f"{name} at {q:g}", float(np.quantile(mine, q))
            low, high = printed(
                value if decimals is None else round(value, decimals), decimals=decimals
            )
            have = int(
                np.searchsorted(mine, high, side="right") - np.searchsorted(mine, low, side="left")
            )
            if 0 < have < policy.threshold:
                (ends if q in (0.0, 1.0) else shared).append(at)
            if 0.0 < q < 1.0 and min(q, 1.0 - q) * n < policy.threshold:
                beyond.append(at)
    least = policy.threshold
    few = f"{some(len(shared), of, 'quantile').capitalize()}: the value itself of fewer than {least} people."
    tail = f"Fewer than {least} people lie beyond {some(len(beyond), of, 'quantile')}."
    no_few = f"No quantile is the value of fewer than {least} people."
    no_tail = f"Beyond every quantile there are {least} people or more."
    findings = [
        cells.finding("quantile of a few", shared, of=of, good=no_few, bad=few, status="review"),
        cells.finding("beyond a quantile", beyond, of=of, good=no_tail, bad=tail, status="review"),
    ]
    if ends:
        bad = f"{some(len(ends), of, 'quantile').capitalize()}: the smallest or largest value, which fewer than {least} people have."
        findings.append(cells.finding("ends", ends, of=of, good="", bad=bad))
    return findings


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
                part
                for tally in self.tallies
                if not tally.withheld.any()
                for part in _margins(tally)
            ),
        ]
        for outer, inner in permutations({tally.key: tally for tally in tables[::-1]}.values(), 2):
            outer_cell = np.where(inner.withheld, -1, cells_within(inner, outer)[0])
            reduced = np.zeros(outer.size, dtype=bool)
            reduced[outer_cell[outer_cell >= 0]] = True
            subtracted = (inner.labels >= 0) & (outer_cell[inner.labels] >= 0)
            remains = (outer.known >= 0) & ~subtracted & reduced[outer.known]
            yield outer, inner, np.where(remains, outer.known, -1)

    def intervals(
        self, table: CellCounts, cells: Sequence[int]
    ) -> Iterator[tuple[float, float] | None]:
        """Give the least and the largest sum of each of some withheld cells that all printed sums allow; None where that is not worked out.

        The unknowns are the sums of the finest groups that the tables tell apart, each at least 0.
        """
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

        tables = [table, *(tally for tally in self.tallies if tally is not table)]
        atoms = atoms_of(tables, table.sizes, most=MOST_ATOMS)
        scale = max(float(self.values.sum()), 1e-300)
        rows, columns, totals = list[Ints](), list[Ints](), list[Floats]()
        for number, tally in enumerate(tables):
            shown = np.flatnonzero(~tally.withheld)
            row_of = np.full(tally.size + 1, -1, dtype=np.int64)
            row_of[shown] = sum(len(part) for part in totals) + np.arange(len(shown))
            inside = np.flatnonzero(row_of[atoms.cells[:, number]] >= 0)
            rows.append(row_of[atoms.cells[inside, number]])
            columns.append(inside)
            behind = tally.labels >= 0
            sums = np.bincount(
                tally.labels[behind], weights=self.values[behind] / scale, minlength=tally.size
            ).astype(float)
            totals.append(sums[shown])
        row, column, total = np.concatenate(rows), np.concatenate(columns), np.concatenate(totals)
        matrix = csr_array((np.ones(len(row)), (row, column)), shape=(len(total), len(atoms.cells)))
        for number, cell in enumerate(cells):
            if not atoms.complete or 2 * number >= MOST_PROGRAMMES:
                yield None
                continue
            aim = (atoms.cells[:, 0] == cell).astype(float)
            results = [
                linprog(sign * aim, A_eq=matrix, b_eq=total, bounds=(0, None), method="highs")
                for sign in (1.0, -1.0)
            ]
            # 3: unbounded above.
            ends = [np.inf if result.status == 3 else result.fun for result in results]
            yield (
                None
                if None in ends
                else (scale * ends[0], scale * (np.inf if ends[1] == np.inf else -ends[1]))
            )


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


def derived_dominance(
    tallies: Mapping[str, Sequence[CellCounts]],
    released: Mapping[str, Sequence[CellCounts]],
    numbers: Callable[[str], Floats],
    policy: Policy,
) -> list[RuleFinding]:
    """Return whether a few people dominate a group whose sum is not printed and follows, or nearly follows, from sums that are.

    Two ways lead to such a group: a cell less the printed cells within it; and a withheld cell that a few people dominate, whose largest possible sum lies less far
    above the true one than the rule asks for: x1 p - (T - x1 - x2) for the p-ratio, (x1 + ... + xn) / k - T for n-k (upper protection levels, Hundepool et
    al. 2012, *Statistical Disclosure Control*, section 4.4). `numbers` gives the values of a column, record by record. What only outputs that are out already say
    together is not told.
    """
    every = [tally for some in (*tallies.values(), *released.values()) for tally in some]
    counted = {
        _definition(tally)
        for tally in every
        if COUNT in tally.quantities and not tally.withheld.any()
    }
    sums_of: dict[str, list[CellCounts]] = {}
    for tally in every:
        for quantity in tally.quantities if tally.kind not in ("sd", "variance") else ():
            if quantity.startswith("sum:"):
                sums_of.setdefault(quantity.removeprefix("sum:"), []).append(tally)
    findings: list[RuleFinding] = []
    for column, tables in sums_of.items():
        exact = frozenset(
            tally.output
            for tally in tables
            if tally.kind != "mean" or _definition(tally) in counted
        )
        sums = _Sums(column, tables, numbers(column), exact)
        by_difference = list(_by_difference(sums, tallies, policy))
        told = {frozenset(one.names) for one in by_difference}
        findings += [*by_difference, *_by_bounds(sums, tallies, policy, told)]
    return findings


def _by_difference(sums: _Sums, new: Mapping[str, object], policy: Policy) -> Iterator[RuleFinding]:
    told: set[frozenset[str]] = set()
    for outer, inner, labels in sums.differences():
        names = list(dict.fromkeys((outer.output, inner.output)))
        mine = next((name for name in names if name in new), None)
        if mine is None or frozenset(names) in told:
            continue
        rules = policy.of(outer.kind)
        broken = dominance(sums.values, labels, outer.size, rules)
        largest = f"the {rules.nk_n} largest values make up at least {rules.nk_k:.0%} of the sum"
        others = f"all but the two largest values are less than {rules.p_ratio:.0%} of the largest"
        for groups, words in (
            (broken.nk, largest),
            (broken.p_ratio, others),
            (broken.negative, "there are values below 0, for which dominance is not defined"),
        ):
            if not groups.any():
                continue
            told.add(frozenset(names))
            status = "review" if groups is broken.negative else sums.status(names)
            first, other = (outer, inner) if outer.output == mine else (inner, outer)
            beside = None if other.output == mine else other.output
            source = "Its own cells" if beside is None else f"This output and '{beside}'"
            size = len(np.unique(labels[labels >= 0]))
            bad = f"{source} give, by subtraction, the sums of groups that are not printed. In {some(int(groups.sum()), size, 'such group')} {words}."
            yield first.finding(
                RULE, outer.named(groups), of=size, good="", bad=bad, status=status, other=beside
            )
            break


def _room_needed(values: Floats, labels: Ints, size: int, policy: Policy) -> Floats:
    """How far above its sum the largest possible sum of each group must lie; 0 where no rule asks for room."""
    needed = np.zeros(size)
    for group in range(size):
        mine = np.sort(values[labels == group])[::-1]
        if len(mine) and mine.sum() > 0:
            first, second = mine[0], mine[1] if len(mine) > 1 else 0.0
            by_ratio = policy.p_ratio * first - (mine.sum() - first - second)
            by_share = mine[: policy.nk_n].sum() / policy.nk_k - mine.sum()
            needed[group] = max(by_ratio, by_share, 0.0)
    return needed


def _by_bounds(
    sums: _Sums, new: Mapping[str, object], policy: Policy, told: set[frozenset[str]]
) -> Iterator[RuleFinding]:
    for tally in sums.tallies:
        rules = policy.of(tally.kind)
        needed = np.where(
            tally.withheld, _room_needed(sums.values, tally.labels, tally.size, rules), 0.0
        )
        asked, linked = (
            np.flatnonzero(needed),
            list(dict.fromkeys(other.output for other in sums.tallies)),
        )
        mine = [name for name in dict.fromkeys((tally.output, *linked)) if name in new]
        if (
            not len(asked)
            or not mine
            or any(names <= {*linked} and tally.output in names for names in told)
        ):
            continue
        close, unseen = list[int](), list[int]()
        below = bool((sums.values < 0).any())  # a sum may then be anything
        for cell, ends in zip(
            asked,
            [None] * len(asked) if below else sums.intervals(tally, asked.tolist()),
            strict=True,
        ):
            total = float(sums.values[tally.labels == cell].sum())
            if ends is None:
                unseen.append(int(cell))
            elif ends[1] - total < needed[cell] - _CLOSE * total:
                close.append(int(cell))
        of, first = (
            int(tally.withheld.sum()),
            next(one for one in sums.tallies if one.output == mine[0]),
        )
        rest = [name for name in linked if name != mine[0]]
        names = {"other": rest[0]} if len(rest) == 1 else {"others": rest}
        words = "a few people dominate the sum, and the printed sums leave it less room than the dominance rules ask for"
        unclear = f"a few people dominate the sum, and how closely the printed sums bound it was not worked out ({'values below 0' if below else 'limit of work'})"
        for cells, text, status in (
            (close, words, sums.status([*linked])),
            (unseen, unclear, "not assessed"),
        ):
            if cells:
                bad = f"In {some(len(cells), of, 'withheld group')} {text}."
                yield first.finding(
                    RULE, tally.called(cells), of=of, good="", bad=bad, status=status, **names
                )
