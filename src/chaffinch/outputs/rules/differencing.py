"""Differencing between outputs: two that are safe on their own, whose cells differ by a few people.

Each output is a label for each record. For two labellings the people they share make a bipartite graph of cells; `unions_of` searches
it for a union of cells of one that lies inside a union of cells of the other with 1 to threshold - 1 people between them, from many cells at a time, by
matrices. Unions of tallies of many cells are searched up to a limit of work; what is not looked at by then is not assessed, and that is said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, product
from typing import Any, NamedTuple

import numpy as np

from ..._base.arrays import Ints, Mask
from ..._base.errors import join_names
from .cell_counts import COUNT, CellCounts, defined_within, margin
from .evidence import RULES, Release, Rule
from .findings import ORDER, RuleFinding, Status, cells_in_words
from .policy import Policy
from .small_groups import SmallGroup
from .system import CellSystem

RULE = "differencing"
MAX_NAMED = 40
"""Cells of a combination that the inside is told."""
MAX_CHECKED = 2_000
"""Of one pair of tallies, how many finds are looked at for whether they hold by definition; if none of them does and there are more, the
others are not assessed."""
MAX_STEPS = 50_000_000
"""Steps that the search for unions may take in one pair of tallies of many cells, in either direction: about a second."""
MAX_STEPS_OF_ALL = 500_000_000
"""Steps of that search in all pairs of tallies together."""
MAX_DENSE = 4_000_000
"""Pairs of cells up to which all are counted, with and without people."""
MAX_SMALL_CELLS = 64
"""Cells of two tallies up to which no limit is asked for."""
SEEDS = 256
"""Cells from which unions are grown at the same time, at least."""
MAX_GROWING = 16_000_000
"""Cells and links between cells, times unions, that are grown at the same time, where these may be more: of cells with many links a small batch is quicker."""


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


def shared_people(table: CellCounts, other: CellCounts) -> tuple[Any, Ints, Ints]:
    """Return the people by cell of one tally and of another, and those of each cell who are in none of the other; as a sparse matrix where cells are many."""
    from ...counts.tally import count_cells  # engines read this module, and must not load it

    shape, numbers = (table.size + 1, other.size + 1), [table.known + 1, other.known + 1]
    if shape[0] * shape[1] <= MAX_DENSE:
        shared: Any = count_cells(numbers, shape, weights=table.weights)
        outside = shared[1:, 0], shared[0, 1:]
    else:
        from scipy.sparse import coo_array

        keys, pair = np.unique(numbers[0] * shape[1] + numbers[1], return_inverse=True)
        people = np.bincount(pair, weights=table.weights).astype(np.int64)
        shared = coo_array((people, np.divmod(keys, shape[1])), shape=shape).tocsr()
        outside = shared[1:, [0]].toarray()[:, 0], shared[[0], 1:].toarray()[0]
    return shared[1:, 1:], *outside


class Comparer:
    """Compares tallies, each two of them once, since outputs share margins and totals, in a number of steps at most."""

    def __init__(self, steps: int | None = None) -> None:
        self.left = MAX_STEPS_OF_ALL if steps is None else steps
        self._known: dict[tuple[bytes, bytes, int], TallyComparison] = {}

    def compare(self, table: CellCounts, other: CellCounts, threshold: int) -> TallyComparison:
        """Return where unions of cells of two tallies, one inside the other, differ by 1 to threshold - 1 people.

        There is at most one difference for each direction: one that holds by definition, if there is any.
        """
        key = (table.key, other.key, threshold)
        if key not in self._known:
            self._known[key] = self._known[other.key, table.key, threshold] = self._compare(
                table, other, threshold
            )
        return self._known[key]

    def _compare(self, first: CellCounts, other: CellCounts, threshold: int) -> TallyComparison:
        shared, of_one, of_other = shared_people(first, other)
        differences, unseen = list[Difference](), list[str]()
        for outer, inner, people in (
            (first, other, (shared, of_one, of_other)),
            (other, first, (shared.T, of_other, of_one)),
        ):
            limit = max(min(self.left, MAX_STEPS), 0)
            unions = unions_of(*people, threshold, most_steps=limit)
            self.left -= unions.steps
            for table, cells in zip((outer, inner), unions.unseen, strict=True):
                unseen += [f"{table.part_name}: {name}" for name in table.named(cells)]
            judged = [
                (union, defined_within(inner, np.flatnonzero(inside), outer, union))
                for union, inside in unions.pairs[:MAX_CHECKED]
            ]
            defined = any(sure for _, sure in judged)
            chosen = [union for union, sure in judged if sure == defined]
            if chosen:
                named = tuple(np.flatnonzero(np.any(chosen, axis=0)).tolist())
                of_total = all((union | (outer.counts == 0)).all() for union in chosen)
                complete = defined or len(unions.pairs) <= MAX_CHECKED
                differences.append(Difference(outer, inner, named, defined, complete, of_total))
        return TallyComparison(tuple(differences), tuple(unseen), 2 * (first.size + other.size))


@RULES.register(
    Rule(
        RULE,
        "Do outputs, one subtracted from the other, or several together, leave few people?",
        ("differencing", "threshold"),
    )
).looks_at(Release)
def _look_at_differences(release: Release, policy: Policy) -> list[RuleFinding]:
    """Return, for each pair of outputs, whether cells, totals or populations of the two differ by a few people; then the same of several.

    Of outputs that are out already only what lies between them and the new ones is said. Exact counts (or sums of the same
    column) that differ by definition fail. For a person to look at are: counts whose rounding or decimals leave less open than the
    threshold; cells that lie in each other only for these records; and the same regression on two populations. Not assessed is what takes
    more work than the limit allows. Of outputs without a number that could be subtracted nothing is said.
    """
    if not policy.differencing:
        return []
    tallies, released = release.new, release.before
    findings, comparer = list[RuleFinding](), Comparer()
    for cells in tallies.values():
        findings += _compare_outputs(cells, cells, None, policy, comparer).findings()
    pairs = [(a, b, tallies[b]) for a, b in combinations(tallies, 2)]
    pairs += [(a, b, theirs) for a in tallies for b, theirs in released.items()]
    # By the output that leaves few people out, totals of others that have them.
    left_out = dict[str, list[CellCounts]]()
    for a, b, theirs in pairs:
        between = _compare_outputs(tallies[a], theirs, b, policy, comparer)
        if (difference := between.of_total(released)) is not None:
            left_out.setdefault(difference.inner.output, []).append(difference.outer)
        else:
            findings += between.findings()
    for name, totals in left_out.items():
        findings += _left_out_by(tallies[name][0], totals, policy, released)
    failed = {frozenset(finding.names) for finding in findings if finding.status == "fail"}
    failed |= {
        frozenset({name, total.output}) for name, totals in left_out.items() for total in totals
    }
    findings += _differencing_by_several(release, policy, failed)
    noted = {name for finding in findings for name in finding.names}
    for name, cells in tallies.items():
        if name not in noted and any(tally.quantities for tally in cells):
            findings.append(
                cells[0].finding(
                    RULE,
                    [],
                    total=cells[0].size,
                    clear_sentence="No cell or total differs from another output's by fewer people than the threshold.",
                    sentence="",
                )
            )
    return findings


def _left_out_by(
    cells: CellCounts, totals: Sequence[CellCounts], policy: Policy, released: Collection[str]
) -> list[RuleFinding]:
    """That an output leaves out few people, who are in the totals of others: it fails, and those others are for a person to look at."""
    threshold = policy.for_kind(cells.kind).threshold
    names = list(dict.fromkeys(total.output for total in totals))
    quoted = join_names([f"'{name}'" for name in names], max_names=3)
    sentence = f"It leaves out fewer than {threshold} people who are in {quoted}: subtracting its total or n from theirs shows them. Publish it of the same people, or withhold it."
    findings = [cells.finding(RULE, ["n"], total=cells.size, sentence=sentence)]
    sentence = f"Its total or n, beside '{cells.output}', shows fewer than {threshold} people: it may leave if '{cells.output}' does not."
    for total in {total.output: total for total in totals if total.output not in released}.values():
        where = [f"{total.part_name}: n"]
        findings.append(
            total.finding(RULE, where, total=total.size, sentence=sentence, status="review")
        )
    return findings


def _margins_beside(
    tallies: Sequence[CellCounts], others: Sequence[CellCounts]
) -> list[CellCounts]:
    """Margins of a table of many columns by those that another output has, too: only by these can their cells lie in each other."""
    margins: dict[frozenset[int], CellCounts] = {}
    for table in tallies:
        crossed = {
            position
            for (position, _), names in zip(table.steps, table.names, strict=True)
            if len(names) > 1
        }
        for other in others if table.more_margins else ():
            common = frozenset(crossed & {position for position, _ in other.steps})
            if 1 < len(common) < len(crossed) and common not in margins:
                margins[common] = margin(table, common)
    return list(margins.values())


@dataclass(frozen=True)
class _JudgedDifference:
    """A difference of two outputs, its status, and whether it is between sums."""

    difference: Difference
    status: Status
    is_sum: bool


@dataclass(frozen=True)
class _OutputComparison:
    """What two outputs (or the parts of one, without an `other`) have between them; `unseen` are names of cells, out of so many `starts`, from which no unions were grown."""

    cells: CellCounts
    other: str | None
    judged: Sequence[_JudgedDifference]
    unseen: Sequence[str]
    starts: int
    threshold: int

    def of_total(self, released: Collection[str]) -> Difference | None:
        """Return the difference where one output leaves out few people whom the other's total has, and nothing smaller than that total shows them; else None.

        It is the fault of the one that leaves them out. That holds of counts alone: a sum of the same column shows a person's value, whichever of the two is withheld.
        """
        failing = [judged.difference for judged in self.judged if judged.status == "fail"]
        inner = {difference.inner.output for difference in failing}
        is_total = all(difference.of_total for difference in failing)
        has_sums = any(judged.is_sum for judged in self.judged)
        if self.other is None or has_sums or not is_total or len(inner) != 1 or inner & {*released}:
            return None
        return failing[0]

    def findings(self) -> list[RuleFinding]:
        """Return the finding between the two: none where nothing differs by few and everything was looked at."""
        statuses: list[Status] = [judged.status for judged in self.judged]
        statuses += ["not assessed"] if self.unseen else []
        if not statuses:
            return []
        worst = max(statuses, key=ORDER.index)
        where = [
            f"{judged.difference.outer.part_name}: {name}"
            for judged in self.judged
            if judged.status == worst
            for name in judged.difference.outer.called(judged.difference.cells)
        ]
        where = list(dict.fromkeys([*where, *(self.unseen if worst == "not assessed" else ())]))
        total, sentence = max(self.cells.size, len(where)), self._sentences(worst)
        return [
            self.cells.finding(
                RULE,
                where,
                total=total,
                sentence=sentence,
                status=worst,
                other=self.other,
            )
        ]

    def _sentences(self, status: Status) -> str:
        subject = (
            "Its own totals and cells"
            if self.other is None
            else "Cells or populations of the two outputs"
        )
        few = f"{subject} differ by fewer than {self.threshold} people"
        shows = f"{few}, whom subtracting one from the other shows."
        if status == "fail":
            return shows
        if status == "review":
            return f"{shows} Only for these records, or only nearly: a person should look."
        sentences = list[str]()
        if not all(judged.difference.complete for judged in self.judged):
            sentences.append(
                f"{few} in more places than were looked at for whether that is so by definition."
            )
        elif self.judged:
            sentences.append(
                f"{shows} Only for these records, or only nearly, where it was looked at."
            )
        if self.unseen:
            looked_at = cells_in_words(max(self.starts - len(self.unseen), 0), self.threshold)
            sentences.append(
                f"Unions that start from a cell were looked at for {looked_at} of {cells_in_words(self.starts, self.threshold)} cells of the tables and "
                "margins, up to the limit of work; of the rest nothing is known."
            )
        return " ".join(sentences)


def _compare_outputs(
    tallies: Sequence[CellCounts],
    others: Sequence[CellCounts],
    other_name: str | None,
    policy: Policy,
    comparer: Comparer,
) -> _OutputComparison:
    """What two outputs, or the parts of one, have between them."""
    judged, unseen, starts = list[_JudgedDifference](), list[str](), 0
    for table, other in _pairs_of_tallies(tallies, others):
        common, width = table.quantities & other.quantities, table.width + other.width
        threshold = min(
            policy.for_kind(table.kind).threshold, policy.for_kind(other.kind).threshold
        )
        if table.key == other.key or not common or width >= threshold:
            continue
        comparison = comparer.compare(table, other, threshold)
        unseen += comparison.unseen
        starts += comparison.starts
        for difference in comparison.differences:
            # What was compared before may be tallies of other outputs, of the same definitions.
            outer, inner = (table, other) if difference.outer.key == table.key else (other, table)
            judged.append(_judge(replace(difference, outer=outer, inner=inner), common, width))
    threshold = policy.for_kind(tallies[0].kind).threshold
    names = list(dict.fromkeys(unseen))
    return _OutputComparison(tallies[0], other_name, judged, names, starts, threshold)


def _pairs_of_tallies(
    tallies: Sequence[CellCounts], others: Sequence[CellCounts]
) -> Iterator[tuple[CellCounts, CellCounts]]:
    """The pairs of two outputs' tallies, margins included, or of one's; what is implied adds nothing within the output that it follows from."""
    if tallies is others:
        yield from combinations([tally for tally in tallies if not tally.implied], 2)
    else:
        yield from product(
            [*tallies, *_margins_beside(tallies, others)],
            [*others, *_margins_beside(others, tallies)],
        )


def _judge(difference: Difference, quantities: Collection[str], width: int) -> _JudgedDifference:
    """The status of a difference of some quantities, whose printing leaves a width open."""
    is_sum = any(quantity.startswith("sum:") for quantity in quantities)
    is_exact = (is_sum or COUNT in quantities) and width == 0
    status: Status = "review" if difference.complete or not is_exact else "not assessed"
    of_n_alone = difference.of_n_alone and not is_sum
    fails = is_exact and difference.by_definition and not of_n_alone
    return _JudgedDifference(difference, "fail" if fails else status, is_sum)


def _differencing_by_several(
    release: Release, policy: Policy, known: Collection[frozenset[str]]
) -> list[RuleFinding]:
    """Return which outputs disclose a group of few people together, each group by the fewest outputs that do.

    `known` are the pairs of outputs (or single ones) of which that is said already. Combinations of
    released outputs alone are not reported. Where the limit of work came first, the outputs are not assessed.
    """
    findings, reported = list[RuleFinding](), set(known)
    tallies = [*chain(*release.before.values(), *release.new.values())]
    quantities = {quantity for tally in tallies for quantity in tally.quantities}
    for quantity in sorted(quantities):
        if quantity != COUNT and not quantity.startswith("sum:"):
            continue
        exact = [
            tally
            for tally in tallies
            if quantity in tally.quantities and tally.base == 1 and tally.width == 0
        ]
        for system in CellSystem.connected(exact):
            if len(system.outputs) > 2:
                findings += _groups_of_few(
                    system, release.new, policy, reported, of_counts=quantity == COUNT
                )
    return findings


def _groups_of_few(
    system: CellSystem,
    new: Mapping[str, Sequence[CellCounts]],
    policy: Policy,
    reported: set[frozenset[str]],
    *,
    of_counts: bool,
) -> list[RuleFinding]:
    """The groups of few people that outputs of one system disclose together."""
    thresholds = {tally.output: policy.for_kind(tally.kind).threshold for tally in system.tallies}
    threshold = max(thresholds.values())
    search, findings = system.small_groups(threshold), list[RuleFinding]()
    for group in search.groups:
        needed = system.fewest_outputs(group)
        names = [name for name in new if name in needed]
        outputs = [*names, *(name for name in needed if name not in new)]
        lowest = min(thresholds[name] for name in outputs)
        is_reported = not names or frozenset(outputs) in reported or group.n_people >= lowest
        # Two numbers of people that tell how many lack a value: for review, as the two were compared.
        of_n_alone = of_counts and len(outputs) == 2 and _is_n_alone(system, group)
        if not is_reported and not of_n_alone:
            reported.add(frozenset(outputs))
            findings.append(_group_finding(system, group, new[names[0]][0], outputs, lowest))
    names = [name for name in new if name in system.outputs]
    if not search.finished and names:
        others = [*names[1:], *(name for name in system.outputs if name not in names)]
        first, more = new[names[0]][0], " beside those that were found" if search.groups else ""
        fields = {"total": first.size, "status": "not assessed", "others": others}
        where = ["several outputs together"]
        findings.append(
            first.finding(
                RULE,
                where,
                sentence=f"Whether {len(system.outputs)} outputs that share columns leave fewer than {threshold} people together, three or more of them at a time{more}, "
                "was not worked out to the end, up to the limit of work; of the rest nothing is known.",
                **fields,
            )
        )
    return findings


def _is_n_alone(system: CellSystem, group: SmallGroup) -> bool:
    """Whether a combination is of numbers of people alone, who differ by missing values."""
    tallies = [tally for tally, _ in system.group_cells(group)]
    return all(tally.size == 1 and not tally.leaves_out_levels for tally in tallies)


def _group_finding(
    system: CellSystem, group: SmallGroup, cells: CellCounts, outputs: Sequence[str], threshold: int
) -> RuleFinding:
    """That outputs disclose a group together; the cells of the combination are named for the inside."""
    where = [
        f"{tally.output}, {tally.part_name}: {tally.called([cell])[0]}"
        for tally, cell in system.group_cells(group)[:MAX_NAMED]
    ]
    quoted = [f"'{name}'" for name in outputs]
    subject, names = "Its own totals and cells together", "."
    if len(outputs) > 1:
        subject = f"{len(outputs)} outputs together"
        names = f": {', '.join(quoted[:-1])} and {quoted[-1]}."
    sentence = f"{subject} leave fewer than {threshold} people, whom adding and subtracting their counts shows{names}"
    status: Status = "fail" if system.is_by_definition(group) else "review"
    if status == "review":
        sentence += " Perhaps only for these records: a person should look."
    total, others = max(cells.size, len(where)), outputs[1:]
    fields = {"other": others[0]} if len(others) == 1 else {"others": others}
    return cells.finding(RULE, where, total=total, sentence=sentence, status=status, **fields)


def unions_of(
    shared: Any, outer_rest: Ints, inner_rest: Ints, threshold: int, *, most_steps: int = MAX_STEPS
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
    if max(shared.shape) <= MAX_SMALL_CELLS:
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
        self.core, self.leads_to_core = (
            _lead_to(graph.T, self.largest),
            _lead_to(graph, self.largest),
        )
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
        batch_size = max(SEEDS, MAX_GROWING // (len(sizes) + self.graph.nnz))
        while len(seeds) and steps < most_steps:
            outer, taken = self._grown(seeds[:batch_size])
            seeds, steps = seeds[batch_size:], steps + taken
            touched = (outer @ self.touching).tocoo()
            is_inside = (touched.data == n_touched[touched.col]) & ~self.reaches_out[touched.col]
            cells = is_inside[is_inside], (touched.row[is_inside], touched.col[is_inside])
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


def _lead_to(graph: Any, cells: Mask) -> Mask:
    """Cells, and all that lead to them."""
    while ((wider := cells | (graph @ cells > 0)) > cells).any():
        cells = wider
    return cells
