"""Differencing between outputs: two that are safe on their own, whose cells differ by a few people.

Each output is a label for each record. For two labellings the people they share make a bipartite graph of cells; `unions_of` searches
it for a union of cells of one that lies inside a union of cells of the other with 1 to threshold - 1 people between them, from many cells at a time, by
matrices. Unions of tallies of many cells are searched up to a limit of work; what is not looked at by then is not assessed, and that is said.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ..._base.errors import join_names
from ..domain import Ints, Mask
from .cell_counts import COUNT, CellCounts, defined_within, margin
from .evidence import RULES, Release, Rule
from .findings import ORDER, RuleFinding, Status, cells_in_words
from .policy import Policy
from .small_groups import differencing_by_several

MOST_CHECKED = 2_000
"""Of one pair of tallies, how many finds are looked at for whether they hold by definition; if none of them does and there are more, the
others are not assessed."""
MOST_STEPS = 50_000_000
"""Steps that the search for unions may take in one pair of tallies of many cells, in either direction: about a second."""
MOST_STEPS_OF_ALL = 500_000_000
"""Steps of that search in all pairs of tallies together."""
DENSE = 4_000_000
"""Pairs of cells up to which all are counted, with and without people."""
MOST_CELLS = 64
"""Cells of two tallies up to which no limit is asked for."""
SEEDS = 256
"""Cells from which unions are grown at the same time, at least."""
MAX_GROWING = 12_000_000
"""Entries of unions that are grown at the same time, where they may be more."""


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


class Unions(NamedTuple):
    """Unions of cells of one tally, each with those cells of another that lie inside it; and cells of either from which unions were not grown."""

    pairs: list[tuple[Mask, Mask]]
    unseen: tuple[Mask, Mask]
    steps: int


def shared_people(one: CellCounts, other: CellCounts) -> tuple[Any, Ints, Ints]:
    """Return the people by cell of one tally and of another, and those of each cell who are in none of the other; as a sparse matrix where cells are many."""
    from ...counts.tally import count_cells  # engines read this module, and must not load it

    shape, numbers = (one.size + 1, other.size + 1), [one.known + 1, other.known + 1]
    if shape[0] * shape[1] <= DENSE:
        whole: Any = count_cells(numbers, shape, weights=one.weights)
        outside = whole[1:, 0], whole[0, 1:]
    else:
        from scipy.sparse import coo_array

        keys, pair = np.unique(numbers[0] * shape[1] + numbers[1], return_inverse=True)
        people = np.bincount(pair, weights=one.weights).astype(np.int64)
        whole = coo_array((people, np.divmod(keys, shape[1])), shape=shape).tocsr()
        outside = whole[1:, [0]].toarray()[:, 0], whole[[0], 1:].toarray()[0]
    return whole[1:, 1:], *outside


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

    def _compare(self, one: CellCounts, other: CellCounts, threshold: int) -> TallyComparison:
        shared, of_one, of_other = shared_people(one, other)
        differences, unseen = list[Difference](), list[str]()
        for outer, inner, people in (
            (one, other, (shared, of_one, of_other)),
            (other, one, (shared.T, of_other, of_one)),
        ):
            limit = max(min(self.left, MOST_STEPS), 0)
            unions = unions_of(*people, threshold, most_steps=limit)
            self.left -= unions.steps
            for table, cells in zip((outer, inner), unions.unseen, strict=True):
                unseen += [f"{table.part}: {name}" for name in table.named(cells)]
            union_cells, defined, of_total = set[int](), False, True
            for union, inside in unions.pairs[:MOST_CHECKED]:
                sure = defined_within(inner, np.flatnonzero(inside), outer, union)
                if sure and not defined:
                    union_cells, defined, of_total = set(), True, True
                if sure == defined:
                    union_cells.update(np.flatnonzero(union).tolist())
                    of_total = of_total and bool((union | (outer.counts == 0)).all())
            if union_cells:
                complete = defined or len(unions.pairs) <= MOST_CHECKED
                differences.append(
                    Difference(
                        outer, inner, tuple(sorted(union_cells)), defined, complete, of_total
                    )
                )
        return TallyComparison(tuple(differences), tuple(unseen), 2 * (one.size + other.size))


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
    quoted = join_names([f"'{name}'" for name in names], max_names=3)
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


def unions_of(
    shared: Any, outer_rest: Ints, inner_rest: Ints, threshold: int, *, most_steps: int = MOST_STEPS
) -> Unions:
    """Return each union of the outer tally's cells, and the union of the inner one's within it, between which there are 1 to threshold - 1 people.

    `shared` has the people by cell of both, `outer_rest` and `inner_rest` those of each cell who are in none of the other. A union is grown from every cell: a
    cell of the inner tally brings in all outer ones that it touches (or it would not be inside), an outer one all inner ones with which it shares `threshold` people or
    more (or the difference would be as large). Then all inner cells that lie inside count. A step is a cell that another one brings in; of few cells none are counted.

    Examples
    --------
    Two cells have 20 + 15 people, of whom 32 are in the one cell of the other tally:

    >>> unions_of(np.array([[19], [13]]), np.array([1, 2]), np.array([0]), 10).pairs
    [(array([ True,  True]), array([ True]))]
    """
    n_outer, reaches_out = len(outer_rest), inner_rest > 0
    sizes = np.concatenate([shared.sum(axis=1) + outer_rest, -shared.sum(axis=0) - inner_rest])
    unseen, steps = np.zeros(len(sizes), dtype=bool), 0
    if max(shared.shape) <= MOST_CELLS:
        unions = _small_unions(shared, reaches_out, threshold)
        beyond = unions @ sizes
        unions = unions[unions[:, n_outer:].any(axis=1) & (beyond > 0) & (beyond < threshold)]
    else:
        search = _LargeSearch(shared, reaches_out, outer_rest + shared @ reaches_out, threshold)
        unions, unseen, steps = search.unions(sizes, most_steps)
    # Rows of bits are sorted as one word each: the same order as cell by cell, a hundred times as fast where cells are many.
    bits = np.packbits(unions, axis=1)
    different = np.unique(bits.view(f"V{bits.shape[1]}").ravel(), return_index=True)[1]
    pairs = [(union[:n_outer], union[n_outer:]) for union in unions[different]]
    return Unions(pairs, (unseen[:n_outer], unseen[n_outer:]), steps)


def _small_unions(shared: Ints, reaches_out: Mask, threshold: int) -> Mask:
    """The cells of each union, and those inside, from all seeds at once, in full matrices."""
    n_outer, n_inner = shared.shape
    touching, tied = (shared > 0).astype(np.float32), (shared >= threshold).astype(np.float32)
    union, size = np.eye(n_outer + n_inner, dtype=bool), 0
    outer, inner = union[:, :n_outer], union[:, n_outer:]
    while outer.sum() + inner.sum() > size:
        size = outer.sum() + inner.sum()
        inner = inner | (outer.astype(np.float32) @ tied > 0)
        outer = outer | (inner.astype(np.float32) @ touching.T > 0)
    possible, n_touched = ~inner[:, reaches_out].any(axis=1), touching.sum(axis=0)
    inside = (outer.astype(np.float32) @ touching == n_touched) & (n_touched > 0) & ~reaches_out
    return np.hstack([outer, inside])[possible]


class _LargeSearch:
    """The same of many cells, by sparse matrices.

    Most cells bring in the largest set of cells that bring in each other, and so all that these bring in, the core: what else such a cell brings in is looked
    for alone. `lost` are the people of each outer cell whom no union inside has.
    """

    def __init__(self, shared: Any, reaches_out: Mask, lost: Ints, threshold: int) -> None:
        from scipy.sparse import block_array, csr_array
        from scipy.sparse.csgraph import connected_components

        links = csr_array(shared)
        self.touching = (links > 0).astype(np.int64)
        tied = (links >= threshold).astype(np.int64)
        graph = block_array([[None, tied], [self.touching.T, None]]).tocsr()
        self.component = connected_components(graph, connection="strong")[1]
        self.largest = self.component == np.bincount(self.component).argmax()
        self.core, self.leads_to_core = _closed(graph.T, self.largest), _closed(graph, self.largest)
        into_core = graph.multiply(self.leads_to_core[:, None]).multiply(self.core)
        self.graph = (graph - into_core).tocsr()
        self.graph.eliminate_zeros()
        self.lost = np.concatenate([lost, threshold * reaches_out])
        self.reaches_out, self.threshold = reaches_out, threshold

    def unions(self, sizes: Ints, most_steps: int) -> tuple[Mask, Mask, int]:
        """Return unions with few people beyond those inside, the cells from which none was grown, and the number of steps."""
        from scipy.sparse import csr_array, hstack

        n_touched = self.touching.sum(axis=0)
        has_links = np.concatenate([self.touching.sum(axis=1), n_touched]) > 0
        # Cells that bring in each other lead to the same union: one of them is the seed.
        seeds = np.unique(self.component, return_index=True)[1]
        seeds, unions, steps = seeds[has_links[seeds]], [np.zeros((0, len(sizes)), dtype=bool)], 0
        batch_size = max(SEEDS, MAX_GROWING // len(sizes))
        while len(seeds) and steps < most_steps:
            outer, taken = self._grown(seeds[:batch_size])
            seeds, steps = seeds[batch_size:], steps + taken
            touched = (outer @ self.touching).tocoo()
            whole = (touched.data == n_touched[touched.col]) & ~self.reaches_out[touched.col]
            cells = whole[whole], (touched.row[whole], touched.col[whole])
            union = hstack([outer > 0, csr_array(cells, shape=touched.shape)]).tocsr()
            beyond, has_inside = (
                union @ sizes,
                np.bincount(cells[1][0], minlength=touched.shape[0]) > 0,
            )
            unions.append(union[has_inside & (beyond > 0) & (beyond < self.threshold)].toarray())
        return np.concatenate(unions), np.isin(self.component, self.component[seeds]), steps

    def _grown(self, seeds: Ints) -> tuple[Any, int]:
        """The outer cells of the unions that seeds lead to, without those that are the core's again or have too many people beyond; and the number of steps."""
        from scipy.sparse import csr_array

        n, n_outer = len(self.core), self.touching.shape[0]
        entries = np.ones(len(seeds), dtype=np.int64), (np.arange(len(seeds)), seeds)
        union = fresh = csr_array(entries, shape=(len(seeds), n))
        degrees, steps = np.diff(self.graph.indptr), len(seeds)
        while fresh.nnz:
            possible = union @ self.lost < self.threshold
            seeds, union, fresh = seeds[possible], union[possible], fresh[possible]
            steps += int((fresh @ degrees).sum())
            fresh = (fresh @ self.graph).sign()
            fresh = (fresh - fresh.multiply(union)).tocsr()
            fresh.eliminate_zeros()
            union = union + fresh
        adds = union[:, :n_outer] @ ~self.core[:n_outer] > 0
        different = adds | self.largest[seeds] | ~self.leads_to_core[seeds]
        union, with_core = union[different], self.leads_to_core[seeds[different]]
        union = (
            union + csr_array(with_core[:, None] * 1) @ csr_array(self.core[None, :] * 1)
        ).sign()
        possible = union @ self.lost < self.threshold
        return union[possible][:, :n_outer], steps


def _closed(graph: Any, cells: Mask) -> Mask:
    """Cells, and all that lead to them."""
    while ((wider := cells | (graph @ cells > 0)) > cells).any():
        cells = wider
    return cells
