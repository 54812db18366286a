"""Differencing between outputs: two that are safe on their own, whose cells differ by a few people.

Each output is a label for each record. For two labellings the people they share make a bipartite graph of cells; `kernels.nested` searches
it for a union of cells of one that lies inside a union of cells of the other with 1 to threshold - 1 people between them. Unions of very many
cells are searched up to a limit of work; what is not looked at by then is not assessed, and that is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .findings import ORDER, Finding, Status, cells_in_words
from .policy import Policy
from .tallies import COUNT, Ints, OutputTally, defined_within, margin

__all__ = ["Difference", "differences", "differencing"]

MOST_CHECKED = 2_000
"""Of one pair of tallies, how many finds are looked at for whether they hold by definition; if none of them does and there are more, the
others are not assessed."""
MOST_STEPS = 200_000_000
"""Steps that the search for unions of more than 128 cells may take in one pair of tallies, about a second,"""
MOST_STEPS_OF_ALL = 2_000_000_000
"""and in all pairs together."""
DENSE = 4_000_000
_NO_LIMIT = 2**62


@dataclass(frozen=True)
class Difference:
    """A union of cells of `outer` that exceeds a union of cells of `inner` by a few people.

    `by_definition`: one lies in the other by the levels that define them; otherwise only for these records, which a reader need not know.
    `complete`: whether every such union was looked at for that.
    """

    outer: OutputTally
    inner: OutputTally
    cells: tuple[int, ...]
    by_definition: bool
    complete: bool = True


@dataclass(frozen=True, eq=False)
class TallyComparison:
    """What two tallies have between them: differences, the names of cells whose unions were not looked at, and of how many cells."""

    differences: tuple[Difference, ...] = ()
    unseen: tuple[str, ...] = ()
    starts: int = 0


@dataclass(eq=False)
class _Work:
    """The steps that are left of a limit."""

    left: int


def _shared(one: OutputTally, other: OutputTally) -> list[tuple[Ints, ...]]:
    """The people that cells of two tallies share, in compressed rows from either side."""
    from ...counts.tally import count_cells  # here, since engines read this module and must not load counts

    n_a, n_b = one.size, other.size
    if (n_a + 1) * (n_b + 1) <= DENSE:
        table = count_cells([one.known + 1, other.known + 1], [n_a + 1, n_b + 1])
        rows, columns = np.nonzero(table)
        people = table[rows, columns]
    else:
        keys, people = np.unique((one.known + 1) * (n_b + 1) + other.known + 1, return_counts=True)
        rows, columns = np.divmod(keys, n_b + 1)
    both = (rows > 0) & (columns > 0)
    a_out, b_out = np.zeros(n_a, dtype=np.int64), np.zeros(n_b, dtype=np.int64)
    a_out[rows[(columns == 0) & (rows > 0)] - 1] = people[(columns == 0) & (rows > 0)]
    b_out[columns[(rows == 0) & (columns > 0)] - 1] = people[(rows == 0) & (columns > 0)]
    rows, columns, people = rows[both] - 1, columns[both] - 1, people[both].astype(np.int64)
    turned = np.argsort(columns, kind="stable")
    sides: list[tuple[Ints, ...]] = []
    for of, to, shared, out, size in (
        (rows, columns, people, a_out, n_a),
        (columns[turned], rows[turned], people[turned], b_out, n_b),
    ):
        starts = np.searchsorted(of, np.arange(size + 1))
        total = np.bincount(of, weights=shared, minlength=size).astype(np.int64) + out
        sides.append((starts, np.ascontiguousarray(to), shared, total, out))
    return sides


def _searched(outer: tuple[Ints, ...], inner: tuple[Ints, ...], threshold: int, work: _Work) -> NDArray[Any]:
    """For each seed the people of its union beyond the one inside; 0 where they are none or many, -1 where it was not looked at."""
    from .kernels import MOST_UNITED, nested, union_sizes

    n_a, n_b = len(outer[3]), len(inner[3])
    every = np.ones(n_a + n_b, dtype=np.bool_)
    beyond = np.asarray(nested(*outer, *inner, threshold, union_sizes(MOST_UNITED), every, _NO_LIMIT))[:-1]
    if (larger := beyond < 0).any():
        steps = max(min(work.left, MOST_STEPS), 0)
        again = np.asarray(nested(*outer, *inner, threshold, union_sizes(max(n_a, 1)), larger, steps))
        work.left -= int(again[-1])
        beyond[larger] = again[:-1][larger]
    return beyond


def differences(one: OutputTally, other: OutputTally, threshold: int) -> list[Difference]:
    """Return where unions of cells of two tallies, one inside the other, differ by 1 to threshold - 1 people.

    At most one is returned for each direction: one that holds by definition, if there is any.
    """
    return list(_comparison(one, other, threshold, _Work(MOST_STEPS_OF_ALL)).differences)


def _comparison(one: OutputTally, other: OutputTally, threshold: int, work: _Work) -> TallyComparison:
    from .kernels import united

    (mine, theirs), differences, unseen = _shared(one, other), list[Difference](), list[str]()
    for outer, inner, a, b in ((one, other, mine, theirs), (other, one, theirs, mine)):
        beyond = _searched(a, b, threshold, work)
        for start, part in ((0, outer), (outer.size, inner)):
            open_cells = np.flatnonzero(beyond[start : start + part.size] < 0)
            unseen += [f"{part.part}: {name}" for name in part.called(open_cells)]
        seeds = np.flatnonzero(beyond > 0)
        cells, defined = set[int](), False
        for seed in seeds[:MOST_CHECKED]:
            marks = np.asarray(united(*a[:3], *b[:2], b[4], threshold, int(seed)))
            union, inside = marks[: outer.size], np.flatnonzero(marks[outer.size :])
            sure = defined_within(inner, inside, outer, union)
            if sure and not defined:
                cells, defined = set(), True
            if sure == defined:
                cells.update(int(cell) for cell in np.flatnonzero(union))
        if cells:
            complete = defined or len(seeds) <= MOST_CHECKED
            differences.append(Difference(outer, inner, tuple(sorted(cells)), defined, complete))
    return TallyComparison(tuple(differences), tuple(unseen), 2 * (one.size + other.size))


def differencing(
    tallies: dict[str, Sequence[OutputTally]], released: dict[str, Sequence[OutputTally]], policy: Policy
) -> list[Finding]:
    """Return, for each pair of outputs, whether cells, totals or populations of the two differ by a few people.

    Of outputs that are out already (`released`) only what lies between them and the new ones is said. Exact counts (or sums of the same
    column) that differ by definition fail. For a person to look at are: counts whose rounding or decimals leave less open than the
    threshold; cells that lie in each other only for these records; and the same regression on two populations. Not assessed is what takes
    more work than the limit allows. Of outputs without a number that could be subtracted nothing is said.
    """
    if not policy.differencing:
        return []
    findings, known = list[Finding](), _Known({}, _Work(MOST_STEPS_OF_ALL))
    for mine in tallies.values():
        findings += _findings(mine[0], None, _compared(mine, mine, policy, known), policy)
    pairs = [(a, b, tallies[b]) for a, b in combinations(tallies, 2)]
    pairs += [(a, b, theirs) for a in tallies for b, theirs in released.items()]
    for a, b, theirs in pairs:
        findings += _findings(tallies[a][0], b, _compared(tallies[a], theirs, policy, known), policy)
    noted = {one.output for one in findings} | {one.other for one in findings}
    for name, mine in tallies.items():
        if name not in noted and any(one.quantities for one in mine):
            good = "No cell or total differs from another output's by fewer people than the threshold."
            findings.append(mine[0].finding("differencing", [], of=mine[0].size, good=good, bad=""))
    return findings


@dataclass(frozen=True, eq=False)
class _Known:
    """What was compared already, since outputs share margins and totals, and the work that is left."""

    comparisons: dict[tuple[bytes, bytes, int], TallyComparison]
    work: _Work

    def of(self, one: OutputTally, other: OutputTally, threshold: int) -> TallyComparison:
        """Return the comparison of two tallies."""
        key = (one.key, other.key, threshold)
        if key not in self.comparisons:
            comparison = _comparison(one, other, threshold, self.work)
            self.comparisons[key] = self.comparisons[other.key, one.key, threshold] = comparison
        return self.comparisons[key]


@dataclass(frozen=True, eq=False)
class _Compared:
    """What was found between two outputs, the cells whose unions were not looked at, and of how many."""

    differences: tuple[tuple[Difference, Status], ...]
    unseen: tuple[str, ...]
    starts: int


def _margins_beside(mine: Sequence[OutputTally], theirs: Sequence[OutputTally]) -> list[OutputTally]:
    """Margins of a table of many columns by those that another output has, too: only by these can their cells lie in each other."""
    margins: dict[frozenset[int], OutputTally] = {}
    for table in mine:
        own = {position for (position, _), names in zip(table.steps, table.names, strict=True) if len(names) > 1}
        for other in theirs if table.more_margins else ():
            common = frozenset(own & {position for position, _ in other.steps})
            if 1 < len(common) < len(own) and common not in margins:
                margins[common] = margin(table, common)
    return list(margins.values())


def _compared(mine: Sequence[OutputTally], theirs: Sequence[OutputTally], policy: Policy, known: _Known) -> _Compared:
    differences: list[tuple[Difference, Status]] = []
    unseen, starts = list[str](), 0
    printed = [one for one in mine if not one.implied]  # what is implied adds nothing to what it is implied by
    ours, others = [*mine, *_margins_beside(mine, theirs)], [*theirs, *_margins_beside(theirs, mine)]
    pairs = combinations(printed, 2) if mine is theirs else ((a, b) for a in ours for b in others)
    for one, other in pairs:
        if one.key == other.key:
            continue
        common = one.quantities & other.quantities
        open_to = one.width + other.width
        least = min(policy.of(one.kind).threshold, policy.of(other.kind).threshold)
        if not common or open_to >= least:
            continue
        plain = any(what == COUNT or what.startswith("sum:") for what in common)
        comparison = known.of(one, other, least)
        unseen += comparison.unseen
        starts += comparison.starts
        for difference in comparison.differences:
            exact = plain and open_to == 0
            status: Status = "review" if difference.complete or not exact else "not assessed"
            differences.append((difference, "fail" if exact and difference.by_definition else status))
    return _Compared(tuple(differences), tuple(dict.fromkeys(unseen)), starts)


def _findings(cells: OutputTally, other: str | None, compared: _Compared, policy: Policy) -> list[Finding]:
    """The finding between two outputs, or within one: none where nothing differs by few and everything was looked at."""
    statuses: list[Status] = [status for _, status in compared.differences]
    statuses += ["not assessed"] if compared.unseen else []
    if not statuses:
        return []
    status = max(statuses, key=ORDER.index)
    where = [
        f"{difference.outer.part}: {name}"
        for difference, verdict in compared.differences
        if verdict == status
        for name in difference.outer.called(difference.cells)
    ]
    where = list(dict.fromkeys([*where, *(compared.unseen if status == "not assessed" else ())]))
    least = policy.of(cells.kind).threshold
    beside = "Its own totals and cells" if other is None else "Cells or populations of the two outputs"
    few = f"{beside} differ by fewer than {least} people, whom subtracting one from the other shows."
    words = few if status == "fail" else f"{few} Only for these records, or only nearly: a person should look."
    if status == "not assessed":
        parts = []
        if any(not difference.complete for difference, _ in compared.differences):
            parts.append(
                f"{beside} differ by fewer than {least} people in more places than were looked at for whether that is so by definition."
            )
        elif compared.differences:
            parts.append(f"{few} Only for these records, or only nearly, where it was looked at.")
        if compared.unseen:
            looked = cells_in_words(max(compared.starts - len(compared.unseen), 0), least)
            every = cells_in_words(compared.starts, least)
            parts.append(
                f"Unions that start from a cell were looked at for {looked} of {every} cells of the tables and "
                "margins, up to the limit of work; of the rest nothing is known."
            )
        words = " ".join(parts)
    of = max(cells.size, len(where))
    return [cells.finding("differencing", where, of=of, good="", bad=words, status=status, other=other)]
