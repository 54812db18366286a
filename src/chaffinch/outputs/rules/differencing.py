"""Differencing between outputs: two that are safe on their own, whose cells differ by a few people.

Each output is a label for each record. For two labellings the people they share make a bipartite graph of cells; `nested` searches
it for a union of cells of one that lies inside a union of cells of the other with 1 to threshold - 1 people between them. Unions of very many
cells are searched up to a limit of work; what is not looked at by then is not assessed, and that is said. Between tallies of few cells `small_unions`
does the same from all seeds at once, by matrices: loading compiled code takes longer than comparing a folder of small tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._base.compiled import compiled
from ..._base.errors import listed
from ..domain import Ints, Mask
from .cell_counts import COUNT, CellCounts, defined_within, margin
from .evidence import RULES, Release, Rule
from .findings import ORDER, RuleFinding, Status, cells_in_words
from .policy import Policy
from .small_groups import differencing_by_several

MOST_CHECKED = 2_000
"""Of one pair of tallies, how many finds are looked at for whether they hold by definition; if none of them does and there are more, the
others are not assessed."""
MOST_STEPS = 200_000_000
"""Steps that the search for unions of more than 128 cells may take in one pair of tallies, about a second."""
MOST_STEPS_OF_ALL = 2_000_000_000
"""Steps of that search in all pairs of tallies together."""
DENSE = 4_000_000
_NO_LIMIT = 2**62
Links = tuple[NDArray[np.int64], ...]
"""The people that cells share with those of another tally, in compressed rows: starts, to, people, size, out.

`to[starts[i]:starts[i + 1]]` are the cells that share people with cell i, `people` how many; `size` is how many people it has, and `out` how
many of them are in no known cell of the other."""
MOST_UNITED = 128
"""The most cells of a union that is searched for at first, which is quick; larger ones come after, as far as there is work left."""
# Sizes of unions by which cells are sorted out: finer than octaves, which let too many pass.
_SIZES = (
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    10,
    12,
    14,
    16,
    20,
    24,
    28,
    32,
    36,
    40,
    44,
    48,
    56,
    64,
    72,
    80,
    96,
    112,
    128,
)
MOST_CELLS = 64
"""Cells of a tally up to which matrices of seeds by cells are quick."""


@dataclass(frozen=True)
class Difference:
    """A union of cells of `outer` that exceeds a union of cells of `inner` by a few people.

    `by_definition`: one lies in the other by the levels that define them; otherwise only for these records, which a reader need not know.
    `complete`: whether every such union was looked at for that. `of_total`: whether it is all of `outer` that exceeds it, and no smaller union.
    """

    outer: CellCounts
    inner: CellCounts
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


def _table(one: CellCounts, other: CellCounts) -> tuple[Ints, Ints, Ints]:
    """The people by cell of one tally and of another, and those of each cell who are in none of the other."""
    from ...counts.tally import (
        count_cells,
    )  # here, since engines read this module and must not load counts

    numbers, sizes = [one.known + 1, other.known + 1], [one.size + 1, other.size + 1]
    whole = count_cells(numbers, sizes, weights=one.weights)
    return whole[1:, 1:], whole[1:, 0], whole[0, 1:]


def _links(one: CellCounts, other: CellCounts) -> list[tuple[Ints, ...]]:
    """The people that cells of two tallies share, in compressed rows from either side."""
    n_a, n_b = one.size, other.size
    if (n_a + 1) * (n_b + 1) <= DENSE:
        table, a_out, b_out = _table(one, other)
        rows, columns = np.nonzero(table)
        people = table[rows, columns]
    else:
        pair = (one.known + 1) * (n_b + 1) + other.known + 1
        keys, of_pair = np.unique(pair, return_inverse=True)
        people = np.bincount(of_pair, weights=one.weights).astype(np.int64)
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

    def of(self, one: CellCounts, other: CellCounts, threshold: int) -> TallyComparison:
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

    def _compare(self, one: CellCounts, other: CellCounts, threshold: int) -> TallyComparison:
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

    def _small_unions(self, one: CellCounts, other: CellCounts, threshold: int) -> list[_Unions]:
        table, a_out, b_out = _table(one, other)
        return [
            _Unions(small_unions(*people, threshold))
            for people in ((table, a_out, b_out), (table.T, b_out, a_out))
        ]

    def _unions(self, one: CellCounts, other: CellCounts, threshold: int) -> list[_Unions]:
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

    n_a = len(outer[3])
    for seed in seeds:
        marks = np.asarray(united(outer, inner, threshold, int(seed)))
        yield marks[:n_a], marks[n_a:]


@RULES.register(
    Rule(
        "differencing",
        "Do outputs, one subtracted from the other, or several together, leave few people?",
        ("differencing", "threshold"),
    )
).at(Release)
def _differencing(release: Release, policy: Policy) -> list[RuleFinding]:
    """Return, for each pair of outputs, whether cells, totals or populations of the two differ by a few people; then the same of several.

    Of outputs that are out already only what lies between them and the new ones is said. Exact counts (or sums of the same
    column) that differ by definition fail. For a person to look at are: counts whose rounding or decimals leave less open than the
    threshold; cells that lie in each other only for these records; and the same regression on two populations. Not assessed is what takes
    more work than the limit allows. Of outputs without a number that could be subtracted nothing is said.
    """
    tallies, released = release.new, release.before
    if not policy.differencing:
        return []
    findings, comparer = list[RuleFinding](), Comparer()
    for mine in tallies.values():
        within = _findings(mine, mine, None, policy, comparer)
        findings += within if not isinstance(within, Difference) else []
    pairs = [(a, b, tallies[b]) for a, b in combinations(tallies, 2)]
    pairs += [(a, b, theirs) for a in tallies for b, theirs in released.items()]
    apart = dict[
        str, list[CellCounts]
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
    findings += differencing_by_several(release, policy, failed)
    noted = {name for one in findings for name in one.names}
    for name, mine in tallies.items():
        if name not in noted and any(one.quantities for one in mine):
            good = (
                "No cell or total differs from another output's by fewer people than the threshold."
            )
            findings.append(mine[0].finding("differencing", [], of=mine[0].size, good=good, bad=""))
    return findings


def _left_out_by(
    cells: CellCounts, totals: Sequence[CellCounts], policy: Policy, released: Collection[str]
) -> list[RuleFinding]:
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


def _margins_beside(mine: Sequence[CellCounts], theirs: Sequence[CellCounts]) -> list[CellCounts]:
    """Margins of a table of many columns by those that another output has, too: only by these can their cells lie in each other."""
    margins: dict[frozenset[int], CellCounts] = {}
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
    mine: Sequence[CellCounts],
    theirs: Sequence[CellCounts],
    other_name: str | None,
    policy: Policy,
    comparer: Comparer,
    released: Collection[str] = (),
) -> list[RuleFinding] | Difference:
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


def union_sizes(most: int) -> Any:
    """Return sizes of unions by which cells are sorted out, up to `most`, in steps of an eighth or less of an octave from 128 on.

    Examples
    --------
    >>> union_sizes(5).tolist(), union_sizes(300).tolist()[-7:]
    ([1, 2, 3, 4, 5], [162, 182, 204, 229, 257, 289, 300])
    """
    sizes = list(_SIZES)
    while sizes[-1] < most:
        sizes.append(min(sizes[-1] + sizes[-1] // 8, most))
    return np.array([*(size for size in sizes if size < most), most])


@compiled
def nested(
    outer: Links, inner: Links, threshold: int, sizes: Any, wanted: Any, most_steps: int
) -> Any:
    """Return, for each seed, how many people a union of a's cells has beyond a union of b's cells within it; 0 where not few.

    -1 stands for a seed that was not looked at to the end: its union has more cells than the last of `sizes`, or the work was done. The
    last entry is the number of steps. Only seeds that are `wanted` are tried, in at most about `most_steps` steps.

    Cells of a, the outer tally, are numbered from 0, those of b, the inner one, go on after them.

    A union U of a's cells and V of b's with V inside U differ by the people of U in no cell of V. Starting from a seed: a cell of b brings
    in all cells of a that it touches (or V would not be inside U); a cell of a brings in all cells of b with which it shares `threshold`
    people or more (or the difference would be as large). Then every cell of b that is inside U joins V. Cells tied by `threshold`
    shared people lead to the same sets, and so do cells of b that touch the same cells: one of them is the seed.
    """
    a_starts, a_to, a_people, a_size, a_out = outer
    b_starts, b_to, b_people, b_size, b_out = inner
    n_a, n_b = len(a_size), len(b_size)
    differences = np.zeros(n_a + n_b, dtype=np.int64)
    tied = np.full(n_a + n_b, -1, dtype=np.int64)
    mark = np.full(n_a + n_b, -1, dtype=np.int64)
    seen, seen_by = np.zeros(n_b, dtype=np.int64), np.full(n_b, -1, dtype=np.int64)
    queue = np.empty(n_a + n_b, dtype=np.int64)
    heavy, sets = np.zeros(n_a, dtype=np.bool_), np.zeros(n_b, dtype=np.uint64)
    # People of a cell of a who are lost to any union of at most sizes[j] cells: those in cells of b that touch more, or leave a.
    n_bins, most, steps = len(sizes), sizes[-1], 0
    lost = np.zeros((n_a, n_bins), dtype=np.int32)
    # Those who are lost to any union at all.
    gone_for_good = np.zeros(n_a, dtype=np.int64)
    for a in range(n_a):
        for k in range(a_starts[a], a_starts[a + 1]):
            b = a_to[k]
            heavy[a] |= a_people[k] >= threshold
            last = n_bins
            if b_out[b] == 0:
                last = np.searchsorted(sizes, b_starts[b + 1] - b_starts[b])
            else:
                gone_for_good[a] += a_people[k]
            if last > 0:
                lost[a, last - 1] += a_people[k]
        for j in range(n_bins - 2, -1, -1):
            lost[a, j] += lost[a, j + 1]
    for b in range(n_b):
        # A number for the set of cells that b touches: two sets of the same number are the same set, but once in 2 ** 64.
        number = np.uint64(b_starts[b + 1] - b_starts[b])
        for k in range(b_starts[b], b_starts[b + 1]):
            mixed = (np.uint64(b_to[k]) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            number += mixed ^ (mixed >> np.uint64(31))
        sets[b] = number
    order = np.argsort(sets)
    for k in range(1, n_b):
        if sets[order[k]] == sets[order[k - 1]]:
            tied[n_a + order[k]] = n_a + order[k]
    for seed in range(n_a + n_b):
        if tied[seed] >= 0 or not wanted[seed]:
            continue
        if steps > most_steps:
            differences[seed] = -1
            continue
        queue[0], head, tail = seed, 0, 1
        mark[seed] = seed
        total, within, out, united, any_b, valid, capped = 0, 0, 0, 0, False, True, False
        sure = 0
        while head < tail and valid:
            node = queue[head]
            head += 1
            if node < n_a:
                total += a_size[node]
                out += a_out[node]
                sure += a_out[node] + gone_for_good[node]
                united += 1
                if sure >= threshold:
                    valid = False
                    break
                if united > most or lost[node, n_bins - 1] >= threshold or steps > most_steps:
                    valid, capped = False, True
                    break
                if heavy[node]:
                    steps += a_starts[node + 1] - a_starts[node]
                    for k in range(a_starts[node], a_starts[node + 1]):
                        other = n_a + a_to[k]
                        if a_people[k] >= threshold and mark[other] != seed:
                            mark[other] = seed
                            queue[tail] = other
                            tail += 1
            else:
                b = node - n_a
                if b_out[b] > 0:
                    valid = False
                    break
                if b_starts[b + 1] - b_starts[b] > most:
                    valid, capped = False, True
                    break
                steps += b_starts[b + 1] - b_starts[b]
                within += b_size[b]
                any_b = True
                for k in range(b_starts[b], b_starts[b + 1]):
                    other = b_to[k]
                    if mark[other] != seed:
                        mark[other] = seed
                        queue[tail] = other
                        tail += 1
        if valid:
            size = np.searchsorted(sizes, united)
            gone = 0
            for position in range(tail):
                if queue[position] < n_a:
                    gone += lost[queue[position], size]
            valid = gone + out < threshold
        if valid:
            for position in range(tail):
                node = queue[position]
                if node >= n_a:
                    continue
                steps += a_starts[node + 1] - a_starts[node]
                for k in range(a_starts[node], a_starts[node + 1]):
                    b = a_to[k]
                    if mark[n_a + b] == seed or b_out[b] > 0:
                        continue
                    if seen_by[b] != seed:
                        seen_by[b], seen[b] = seed, 0
                    seen[b] += 1
                    if seen[b] == b_starts[b + 1] - b_starts[b]:
                        mark[n_a + b] = seed
                        within += b_size[b]
                        any_b = True
            difference = total - within
            if any_b and 0 < difference < threshold:
                differences[seed] = difference
        if capped:
            differences[seed] = -1
        # Cells tied to the seed by many shared people need no search of their own.
        tied[seed] = seed
        queue[0], head, tail = seed, 0, 1
        while head < tail:
            node = queue[head]
            head += 1
            if node < n_a:
                if heavy[node]:
                    for k in range(a_starts[node], a_starts[node + 1]):
                        other = n_a + a_to[k]
                        if a_people[k] >= threshold and tied[other] < 0:
                            tied[other] = seed
                            queue[tail] = other
                            tail += 1
            else:
                b = node - n_a
                for k in range(b_starts[b], b_starts[b + 1]):
                    other = b_to[k]
                    if b_people[k] >= threshold and tied[other] < 0:
                        tied[other] = seed
                        queue[tail] = other
                        tail += 1
    return np.append(differences, steps)


@compiled
def united(outer: Links, inner: Links, threshold: int, seed: int) -> Any:
    """Return which cells make up the two unions that start from a seed, a's and then b's: what `nested` counted."""
    a_starts, a_to, a_people, _, _ = outer
    b_starts, b_to, _, _, b_out = inner
    n_a, n_b = len(a_starts) - 1, len(b_starts) - 1
    mark = np.zeros(n_a + n_b, dtype=np.bool_)
    queue, head, tail = [seed], 0, 1
    mark[seed] = True
    while head < tail:
        node = queue[head]
        head += 1
        if node < n_a:
            for k in range(a_starts[node], a_starts[node + 1]):
                other = n_a + a_to[k]
                if a_people[k] >= threshold and not mark[other]:
                    mark[other] = True
                    queue.append(other)
                    tail += 1
        else:
            for k in range(b_starts[node - n_a], b_starts[node - n_a + 1]):
                other = b_to[k]
                if not mark[other]:
                    mark[other] = True
                    queue.append(other)
                    tail += 1
    for position in range(tail):
        node = queue[position]
        if node >= n_a:
            continue
        for k in range(a_starts[node], a_starts[node + 1]):
            b = a_to[k]
            if mark[n_a + b] or b_out[b] > 0:
                continue
            inside = True
            for j in range(b_starts[b], b_starts[b + 1]):
                if not mark[b_to[j]]:
                    inside = False
                    break
            mark[n_a + b] = inside
    return mark


def small_unions(shared: Ints, a_out: Ints, b_out: Ints, threshold: int) -> list[tuple[Mask, Mask]]:
    """Return each union of a's cells, and the union of b's within it, between which there are 1 to threshold - 1 people.

    `shared` has the people by cell of a and of b, `a_out` and `b_out` those of each cell who are in none of the other.
    A union is grown from every cell: a cell of b brings in all of a that it touches, a cell of a all of b with which it shares `threshold` people or more.

    Examples
    --------
    Two of a's cells have 20 + 15 people, of whom 32 are in b's one cell:

    >>> small_unions(np.array([[19], [13]]), np.array([1, 2]), np.array([0]), 10)
    [(array([ True,  True]), array([ True]))]
    """
    n_a, n_b = shared.shape
    touching = (shared > 0).astype(np.float32)
    tied = (shared >= threshold).astype(np.float32)
    start = np.eye(n_a + n_b, dtype=bool)
    of_a, of_b = start[:, :n_a], start[:, n_a:]
    while True:
        more_b = of_b | (_numbers(of_a) @ tied > 0)
        more_a = of_a | (_numbers(more_b) @ touching.T > 0)
        grown = more_a.sum() + more_b.sum() > of_a.sum() + of_b.sum()
        of_a, of_b = more_a, more_b
        if not grown:
            break
    whole = ~(of_b & (b_out > 0)).any(axis=1)
    of_a, of_b = of_a[whole], of_b[whole]
    # Cells of b that lie inside by now, though none brought them in.
    within = (
        (_numbers(of_a) @ touching == touching.sum(axis=0))
        & (touching.sum(axis=0) > 0)
        & (b_out == 0)
    )
    of_b = of_b | within
    beyond = of_a @ (shared.sum(axis=1) + a_out) - of_b @ (shared.sum(axis=0) + b_out)
    few = of_b.any(axis=1) & (beyond > 0) & (beyond < threshold)
    if not few.any():
        return []
    different = np.unique(np.hstack([of_a[few], of_b[few]]), axis=0)
    return [(one[:n_a], one[n_a:]) for one in different]


def _numbers(mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    return mask.astype(np.float32)
