"""Differencing between outputs: two that are safe on their own, whose cells differ by a few people.

Each output is a label for each record. For two labellings the people they share make a bipartite graph of cells; `kernels.nested` searches
it for a union of cells of one that lies inside a union of cells of the other with 1 to threshold - 1 people between them. Unions of very many
cells are searched up to a limit of work; what is not looked at by then is not assessed, and that is said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import listed
from .findings import ORDER, Finding, Status, cells_in_words
from .policy import Policy
from .several import differencing_by_several
from .tallies import COUNT, Ints, Mask, OutputTally, defined_within, margin
from .unions import MOST_CELLS, small_unions

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
    `complete`: whether every such union was looked at for that. `of_total`: whether it is all of `outer` that exceeds it, and no smaller union.
    """

    outer: OutputTally
    inner: OutputTally
    cells: tuple[int, ...]
    by_definition: bool
    complete: bool = True
    of_total: bool = False

    @property
    def of_n_alone(self) -> bool:
        """Whether it is between numbers of people alone, and those between them lack a value: nothing else is said of them."""
        return (
            self.of_total
            and self.outer.size == self.inner.size == 1
            and not self.inner.leaves_out_levels
        )


@dataclass(frozen=True, eq=False)
class TallyComparison:
    """What two tallies have between them: differences, the names of cells whose unions were not looked at, and of how many cells."""

    differences: tuple[Difference, ...] = ()
    unseen: tuple[str, ...] = ()
    starts: int = 0


def _table(one: OutputTally, other: OutputTally) -> tuple[Ints, Ints, Ints]:
    """The people by cell of one tally and of another, and those of each cell who are in none of the other."""
    from ...counts.tally import (
        count_cells,
    )  # here, since engines read this module and must not load counts

    whole = count_cells([one.known + 1, other.known + 1], [one.size + 1, other.size + 1])
    return whole[1:, 1:], whole[1:, 0], whole[0, 1:]


def _links(one: OutputTally, other: OutputTally) -> list[tuple[Ints, ...]]:
    """The people that cells of two tallies share, in compressed rows from either side."""
    n_a, n_b = one.size, other.size
    if (n_a + 1) * (n_b + 1) <= DENSE:
        table, a_out, b_out = _table(one, other)
        rows, columns = np.nonzero(table)
        people = table[rows, columns]
    else:
        keys, people = np.unique((one.known + 1) * (n_b + 1) + other.known + 1, return_counts=True)
        rows, columns = np.divmod(keys, n_b + 1)
        a_out, b_out = np.zeros(n_a, dtype=np.int64), np.zeros(n_b, dtype=np.int64)
        a_out[rows[(columns == 0) & (rows > 0)] - 1] = people[(columns == 0) & (rows > 0)]
        b_out[columns[(rows == 0) & (columns > 0)] - 1] = people[(rows == 0) & (columns > 0)]
        both = (rows > 0) & (columns > 0)
        rows, columns, people = rows[both] - 1, columns[both] - 1, people[both].astype(np.int64)
    turned = np.argsort(columns, kind="stable")
    sides: list[tuple[Ints, ...]] = []
    for of, to, shared, out, size in (
        (rows, columns, people, a_out, n_a),
        (columns[turned], rows[turned], people[turned], b_out, n_b),
    ):
        starts = np.searchsorted(of, np.arange(size + 1))
        total = np.bincount(of, weights=shared, minlength=size).astype(np.int64) + out
        sides.append((starts, np.ascontiguousarray(to), shared, total, np.ascontiguousarray(out)))
    return sides


class _Unions(NamedTuple):
    """Unions of cells of one tally with those of the other's cells inside, cells from which unions were not grown, and whether all others are here."""

    pairs: Iterable[tuple[Mask, Mask]]
    unseen: tuple[str, ...] = ()
    complete: bool = True


class Comparer:
    """Compares tallies, each two of them once, since outputs share margins and totals, in a number of steps at most."""

    def __init__(self, steps: int | None = None) -> None:
        self.left = MOST_STEPS_OF_ALL if steps is None else steps
        self._known: dict[tuple[bytes, bytes, int], TallyComparison] = {}

    def of(self, one: OutputTally, other: OutputTally, threshold: int) -> TallyComparison:
        """Return where unions of cells of two tallies, one inside the other, differ by 1 to threshold - 1 people.

        There is at most one difference for each direction: one that holds by definition, if there is any.
        """
        key = (one.key, other.key, threshold)
        if key not in self._known:
            self._known[key] = self._known[other.key, one.key, threshold] = self._compare(
                one, other, threshold
            )
        return self._known[key]

    def _searched(
        self, outer: tuple[Ints, ...], inner: tuple[Ints, ...], threshold: int
    ) -> NDArray[Any]:
        """For each seed the people of its union beyond the one inside; 0 where they are none or many, -1 where it was not looked at."""
        from .kernels import MOST_UNITED, nested, union_sizes

        n_a, n_b = len(outer[3]), len(inner[3])
        every = np.ones(n_a + n_b, dtype=np.bool_)
        beyond = np.asarray(
            nested(outer, inner, threshold, union_sizes(MOST_UNITED), every, _NO_LIMIT)
        )[:-1]
        if (larger := beyond < 0).any():
            steps = max(min(self.left, MOST_STEPS), 0)
            again = np.asarray(
                nested(outer, inner, threshold, union_sizes(max(n_a, 1)), larger, steps)
            )
            self.left -= int(again[-1])
            beyond[larger] = again[:-1][larger]
        return beyond

    def _compare(self, one: OutputTally, other: OutputTally, threshold: int) -> TallyComparison:
        small = max(one.size, other.size) <= MOST_CELLS
        sides = (
            self._small_unions(one, other, threshold)
            if small
            else self._unions(one, other, threshold)
        )
        differences, unseen = list[Difference](), list[str]()
        for (outer, inner), found in zip(((one, other), (other, one)), sides, strict=True):
            unseen += found.unseen
            cells, defined, of_total = set[int](), False, True
            for union, inside in found.pairs:
                sure = defined_within(inner, np.flatnonzero(inside), outer, union)
                if sure and not defined:
                    cells, defined, of_total = set(), True, True
                if sure == defined:
                    cells.update(int(cell) for cell in np.flatnonzero(union))
                    of_total = of_total and bool((union | (outer.counts == 0)).all())
            if cells:
                differences.append(
                    Difference(
                        outer,
                        inner,
                        tuple(sorted(cells)),
                        defined,
                        defined or found.complete,
                        of_total,
                    )
                )
        return TallyComparison(tuple(differences), tuple(unseen), 2 * (one.size + other.size))

    def _small_unions(self, one: OutputTally, other: OutputTally, threshold: int) -> list[_Unions]:
        table, a_out, b_out = _table(one, other)
        return [
            _Unions(small_unions(*people, threshold))
            for people in ((table, a_out, b_out), (table.T, b_out, a_out))
        ]

    def _unions(self, one: OutputTally, other: OutputTally, threshold: int) -> list[_Unions]:
        mine, theirs = _links(one, other)
        sides: list[_Unions] = []
        for outer, inner, a, b in ((one, other, mine, theirs), (other, one, theirs, mine)):
            beyond, unseen = self._searched(a, b, threshold), list[str]()
            for part, seeds_of in ((outer, beyond[: outer.size]), (inner, beyond[outer.size :])):
                unseen += [f"{part.part}: {name}" for name in part.named(seeds_of < 0)]
            seeds = np.flatnonzero(beyond > 0)
            sides.append(
                _Unions(
                    _grown(a, b, threshold, seeds[:MOST_CHECKED]),
                    tuple(unseen),
                    len(seeds) <= MOST_CHECKED,
                )
            )
        return sides


def _grown(
    outer: tuple[Ints, ...], inner: tuple[Ints, ...], threshold: int, seeds: Ints
) -> Iterator[tuple[Mask, Mask]]:
    """The unions that seeds lead to, one after the other: all at once they would be large."""
    from .kernels import united

    n_a = len(outer[3])
    for seed in seeds:
        marks = np.asarray(united(outer, inner, threshold, int(seed)))
        yield marks[:n_a], marks[n_a:]


def differencing(
    tallies: dict[str, Sequence[OutputTally]],
    released: dict[str, Sequence[OutputTally]],
    policy: Policy,
    sizes: Sequence[int],
) -> list[Finding]:
    """Return, for each pair of outputs, whether cells, totals or populations of the two differ by a few people; then the same of several.

    Of outputs that are out already (`released`) only what lies between them and the new ones is said. Exact counts (or sums of the same
    column) that differ by definition fail. For a person to look at are: counts whose rounding or decimals leave less open than the
    threshold; cells that lie in each other only for these records; and the same regression on two populations. Not assessed is what takes
    more work than the limit allows. `sizes` are the numbers of levels of all columns. Of outputs without a number that could be subtracted nothing is said.
    """
    if not policy.differencing:
        return []
    findings, comparer = list[Finding](), Comparer()
    for mine in tallies.values():
        within = _findings(mine, mine, None, policy, comparer)
        findings += within if not isinstance(within, Difference) else []
    pairs = [(a, b, tallies[b]) for a, b in combinations(tallies, 2)]
    pairs += [(a, b, theirs) for a in tallies for b, theirs in released.items()]
    apart = dict[
        str, list[OutputTally]
    ]()  # by the output that leaves few people out, totals of others that have them
    for a, b, theirs in pairs:
        between = _findings(tallies[a], theirs, b, policy, comparer, released)
        if isinstance(between, Difference):
            apart.setdefault(between.inner.output, []).append(between.outer)
        else:
            findings += between
    for name, totals in apart.items():
        findings += _left_out_by(tallies[name][0], totals, policy, released)
    failed = {frozenset(one.names) for one in findings if one.status == "fail"}
    failed |= {
        frozenset({name, total.output}) for name, totals in apart.items() for total in totals
    }
    findings += differencing_by_several(tallies, released, policy, sizes, failed)
    noted = {name for one in findings for name in one.names}
    for name, mine in tallies.items():
        if name not in noted and any(one.quantities for one in mine):
            good = (
                "No cell or total differs from another output's by fewer people than the threshold."
            )
            findings.append(mine[0].finding("differencing", [], of=mine[0].size, good=good, bad=""))
    return findings


def _left_out_by(
    cells: OutputTally, totals: Sequence[OutputTally], policy: Policy, released: Collection[str]
) -> list[Finding]:
    """That an output leaves out few people, who are in the totals of others: it fails, and those others are for a person to look at."""
    least, names = (
        policy.of(cells.kind).threshold,
        list(dict.fromkeys(total.output for total in totals)),
    )
    quoted = listed([f"'{name}'" for name in names], most=3)
    bad = f"It leaves out fewer than {least} people who are in {quoted}: subtracting its total or n from theirs shows them. Publish it of the same people, or withhold it."
    findings = [cells.finding("differencing", ["n"], of=cells.size, good="", bad=bad)]
    for total in {total.output: total for total in totals if total.output not in released}.values():
        words = f"Its total or n, beside '{cells.output}', shows fewer than {least} people: it may leave if '{cells.output}' does not."
        findings.append(
            total.finding(
                "differencing",
                [f"{total.part}: n"],
                of=total.size,
                good="",
                bad=words,
                status="review",
            )
        )
    return findings


def _margins_beside(
    mine: Sequence[OutputTally], theirs: Sequence[OutputTally]
) -> list[OutputTally]:
    """Margins of a table of many columns by those that another output has, too: only by these can their cells lie in each other."""
    margins: dict[frozenset[int], OutputTally] = {}
    for table in mine:
        own = {
            position
            for (position, _), names in zip(table.steps, table.names, strict=True)
            if len(names) > 1
        }
        for other in theirs if table.more_margins else ():
            common = frozenset(own & {position for position, _ in other.steps})
            if 1 < len(common) < len(own) and common not in margins:
                margins[common] = margin(table, common)
    return list(margins.values())


def _findings(
    mine: Sequence[OutputTally],
    theirs: Sequence[OutputTally],
    other_name: str | None,
    policy: Policy,
    comparer: Comparer,
    released: Collection[str] = (),
) -> list[Finding] | Difference:
    """The finding between two outputs, or within one: none where nothing differs by few and everything was looked at.

    Where one leaves out few people whom the other's total has, and nothing smaller than that total shows them, the difference itself: it is the fault of
    the one that leaves them out.
    """
    differences: list[tuple[Difference, Status]] = []
    unseen, starts, summed = list[str](), 0, False
    printed = [
        one for one in mine if not one.implied
    ]  # what is implied adds nothing to what it is implied by
    ours, others = (
        [*mine, *_margins_beside(mine, theirs)],
        [*theirs, *_margins_beside(theirs, mine)],
    )
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
        comparison = comparer.of(one, other, least)
        unseen += comparison.unseen
        starts += comparison.starts
        for found in comparison.differences:
            # What was compared before may be tallies of other outputs, of the same definitions.
            outer, inner = (one, other) if found.outer.key == one.key else (other, one)
            difference = replace(found, outer=outer, inner=inner)
            exact, adds_up = plain and open_to == 0, any(what.startswith("sum:") for what in common)
            status: Status = "review" if difference.complete or not exact else "not assessed"
            n_alone = difference.of_n_alone and not adds_up
            differences.append(
                (
                    difference,
                    "fail" if exact and difference.by_definition and not n_alone else status,
                )
            )
            summed = summed or adds_up
    unseen, cells = list(dict.fromkeys(unseen)), mine[0]
    statuses: list[Status] = [status for _, status in differences]
    statuses += ["not assessed"] if unseen else []
    if not statuses:
        return []
    worst = max(statuses, key=ORDER.index)
    failing = [difference for difference, status in differences if status == "fail"]
    # Of counts alone: a sum of the same column shows a person's value, whichever of the two is withheld.
    of_totals = (
        bool(failing)
        and other_name is not None
        and not summed
        and all(one.of_total for one in failing)
    )
    if (
        of_totals
        and len({one.inner.output for one in failing}) == 1
        and failing[0].inner.output not in released
    ):
        return failing[0]
    named = [
        (one.outer, one.outer.called(one.cells)) for one, status in differences if status == worst
    ]
    where = [f"{outer.part}: {name}" for outer, names in named for name in names]
    where = list(dict.fromkeys([*where, *(unseen if worst == "not assessed" else ())]))
    least = policy.of(cells.kind).threshold
    beside = (
        "Its own totals and cells"
        if other_name is None
        else "Cells or populations of the two outputs"
    )
    few = (
        f"{beside} differ by fewer than {least} people, whom subtracting one from the other shows."
    )
    words = [
        few
        if worst == "fail"
        else f"{few} Only for these records, or only nearly: a person should look."
    ]
    if worst == "not assessed":
        words = []
        if any(not one.complete for one, _ in differences):
            words.append(
                f"{beside} differ by fewer than {least} people in more places than were looked at for whether that is so by definition."
            )
        elif differences:
            words.append(f"{few} Only for these records, or only nearly, where it was looked at.")
        if unseen:
            looked, every = (
                cells_in_words(n, least) for n in (max(starts - len(unseen), 0), starts)
            )
            words.append(
                f"Unions that start from a cell were looked at for {looked} of {every} cells of the tables and "
                "margins, up to the limit of work; of the rest nothing is known."
            )
    of, bad = max(cells.size, len(where)), " ".join(words)
    return [
        cells.finding(
            "differencing", where, of=of, good="", bad=bad, status=worst, other=other_name
        )
    ]
