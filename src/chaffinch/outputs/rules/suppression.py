"""Withheld cells that follow from what is shown: totals, margins and other outputs, new and released, all in one system.

The counts of the finest cells that the table and all outputs tied to it tell apart are unknowns (`atoms.py`); each number that is shown is a sum of them, and what its
sign says of a withheld cell ("<10": 1 to 9) bounds another. Linear algebra alone says of most cells that are given away that they are (`linear.py`), other tables near
the true one (`ranges.py`) and other records that fit (`feasible_tables.py`) say of most others that they are not. What is left to the rest is their range in whole people
(`ranges.py`; the audit of sdcTable and tau-Argus, over all outputs), up to a limit of work that all tables share; cells whose range is not worked out by then are not
assessed, and that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..domain import Mask
from . import atoms
from .atoms import atoms_of, combinations_of, components, merged, used_columns
from .cell_counts import COUNT, CellCounts
from .evidence import RULES, Outcome, Rule
from .feasible_tables import FeasibleTables, Guide
from .findings import cells_in_words, some
from .linear import LinearSystem
from .policy import Policy
from .ranges import CellRanges, WorkBudget, range_system, ranges

FEW_ATOMS = 10_000
"""Unknowns up to which programmes are asked before walks."""


class AllOutputs(NamedTuple):
    """What all outputs of a check say together, new and released: as one linear system, and other records that fit it; and the work left to ranges of cells."""

    linear: LinearSystem
    feasible: FeasibleTables
    budget: WorkBudget


def bounds(
    table: CellCounts,
    others: Iterable[CellCounts],
    *,
    of: Mask | None = None,
    enough: float = np.inf,
    budget: WorkBudget | None = None,
) -> CellRanges:
    """Return the least and the largest count that each cell of a table can have, given what others show.

    They are worked out for the cells of `of` (all that are withheld, if absent); others may come back with wider bounds than they have. A
    cell whose count may lie as far from the true one as `enough` is safe, which saves working out its bounds.

    Examples
    --------
    One of two cells is withheld, and the total shown:

    >>> from chaffinch.outputs.document import recipes_of
    >>> from chaffinch.outputs.domain import OutputColumn, OutputDomain
    >>> from chaffinch.outputs.rules.cell_counts import tallies_of
    >>> fields = OutputDomain((OutputColumn("sex", ("f", "m")),))
    >>> codes = np.array([[0]] * 12 + [[1]] * 3, dtype=np.int32)
    >>> entry = {"name": "t", "kind": "table", "by": ["sex"], "threshold": 10, "margins": True}
    >>> cells, *totals = tallies_of(recipes_of([entry], fields).outputs[0], fields, codes)
    >>> [end.tolist() for end in bounds(cells, [])[:2]], [end.tolist() for end in bounds(cells, totals)[:2]]
    ([[12, 1], [12, 9]], [[12, 3], [12, 3]])
    """
    of = table.withheld if of is None else of
    tied, all_in = _tied(table, others)
    limits = ranges(
        range_system(atoms_of(tied, table.sizes)),
        table.counts,
        of=of,
        enough=enough,
        budget=budget,
    )
    # Outputs that were left out may narrow what is open.
    return limits if all_in else limits._replace(assessed=limits.assessed & ~of)


def _tied(table: CellCounts, others: Iterable[CellCounts]) -> tuple[list[CellCounts], bool]:
    """The table and what hangs together with it, groups that do not matter added up; and whether that is all of it, or what could be written out."""
    chosen, keys = [table], {table.said}
    for other in others:
        if (
            COUNT not in other.quantities
            or other is table
            or (other.implied and used_columns(other))
        ):
            continue
        if other.said not in keys:
            keys.add(other.said)
            chosen.append(other)
    for _ in range(2):
        part = (
            next(part for part in components(chosen) if table in part)
            if used_columns(table)
            else chosen
        )
        chosen = merged([table, *(one for one in part if one is not table)], table.sizes, leave=1)
    if combinations_of(chosen, table.sizes) <= atoms.MOST_ATOMS:
        return chosen, True
    mine, kept = used_columns(table), [table]
    for other in sorted(
        chosen[1:], key=lambda one: (len(used_columns(one) - mine), -len(used_columns(one) & mine))
    ):
        if combinations_of([*kept, other], table.sizes) <= atoms.MOST_ATOMS:
            kept.append(other)
    return kept, False


def _has_few_atoms(table: CellCounts, others: Sequence[CellCounts]) -> bool:
    """Whether all that hangs together with a table is few unknowns."""
    tied, all_in = _tied(table, others)
    return all_in and combinations_of(tied, table.sizes) <= FEW_ATOMS


@dataclass(frozen=True, eq=False)
class WithheldTable:
    """A table of counts with withheld cells: `rest` is what else the same output shows, `others` what others do, `together` what is known of all of them at once.

    Of an output that is out already (`is_new` false) what `rest` alone gives away is not judged.
    """

    table: CellCounts
    rest: Sequence[CellCounts]
    others: Sequence[CellCounts]
    together: AllOutputs
    is_new: bool = True


@RULES.register(
    Rule(
        "suppression undone",
        "Does a withheld count follow from what is shown?",
        ("threshold", "zeros_are_disclosive", "protection"),
    )
).at(WithheldTable)
def _suppression(piece: WithheldTable, policy: Policy) -> list[Outcome]:
    """Return whether cells that are withheld for their few people can be worked out after all.

    A withheld cell must be left an interval at least `policy.protection` wide. Cells with the threshold's people or more, withheld to protect others, need none; nor
    do zeros unless they are disclosive.
    """
    table, own, others = piece.table, piece.rest, piece.others
    linear, feasible, budget = piece.together
    secret = (
        table.withheld
        & (table.counts < policy.threshold)
        & ((table.counts > 0) | policy.zeros_are_disclosive)
    )
    of, least, all_others = int(table.withheld.sum()), policy.protection, [*own, *others]
    ranked = linear.narrow(table, all_others, secret, least, by_rank=True)
    follows = ranked | linear.narrow(table, all_others, secret & ~ranked, least)
    # What all together leave open is left open by any of them.
    open_still, first = secret, None
    if (asked := secret & ~follows).any():
        # Programmes prove a cell safe in a tenth of a second while atoms are few, and walks that are in vain take seconds; of many atoms it is the other way round.
        if _has_few_atoms(table, all_others):
            first = _undone(table, all_others, asked, policy, linear, budget)
        guide = Guide(
            *linear.ends(table, all_others),
            lambda cell, wanted: linear.towards(table, all_others, cell, wanted),
        )
        safe = feasible.safe(table, asked if first is None else first[1], least, guide)
        open_still = secret & ~(safe if first is None else safe | asked & ~first[0] & ~first[1])
    alone, unseen = _undone(table, own, open_still, policy, linear, budget)
    outcomes = [_outcome(table, alone, of, [])] if piece.is_new else []
    rest = np.zeros_like(alone)
    if others:
        rest, left = follows & ~alone, open_still & ~alone & ~follows
        more, unseen = (
            _undone(table, all_others, left, policy, linear, budget)
            if first is None
            else (first[0] & left, first[1] & left)
        )
        rest |= more
    undone = (alone if piece.is_new else np.zeros_like(alone)) | rest

    def by_rank(some: Sequence[CellCounts], cells: Mask) -> Mask:
        return linear.narrow(table, [*own, *some], cells, least, by_rank=True)

    def by_ends(some: Sequence[CellCounts], cells: Mask) -> Mask:
        return linear.narrow(table, [*own, *some], cells, least)

    def by_ranges(some: Sequence[CellCounts], cells: Mask) -> Mask:
        return _undone(table, [*own, *some], cells, policy, linear, budget)[0]

    # What proved that cells follow from all others says also from which, the quickest way first.
    for cells, given_away_by in (
        (rest & ranked, by_rank),
        (rest & follows & ~ranked, by_ends),
        (rest & ~follows, by_ranges),
    ):
        outcomes += [
            _outcome(table, given_away, of, names)
            for names, given_away in _sources(others, cells, given_away_by)
        ]
    if unseen.any() and (piece.is_new or others):
        outcomes.append(_unfinished(table, unseen, undone, secret, policy.threshold))
    return [one for one in outcomes if one.where or len(outcomes) == 1]


Prover = Callable[[Sequence[CellCounts], Mask], Mask]
"""Which of some cells follow from what some other outputs show, beside the table's own."""


def _sources(
    others: Sequence[CellCounts], rest: Mask, given_away_by: Prover
) -> Iterator[tuple[list[str], Mask]]:
    """The outputs that give cells away, one alone where one does, else the fewest, and the cells that they do."""

    def of(names: Collection[str]) -> list[CellCounts]:
        return [other for other in others if other.output in names]

    for name in dict.fromkeys(other.output for other in others):
        if not rest.any():
            return
        given_away = given_away_by(of([name]), rest)
        if given_away.any():
            yield [name], given_away
            rest = rest & ~given_away
    while rest.any():
        names = list(dict.fromkeys(other.output for other in others))
        first = np.zeros_like(rest)
        first[np.flatnonzero(rest)[0]] = True
        names = _fewest(names, _shows(first, of, given_away_by))
        given_away = given_away_by(of(names), rest)
        yield names, given_away if given_away.any() else rest
        rest = rest & ~given_away if given_away.any() else np.zeros_like(rest)


def _shows(
    cell: Mask, of: Callable[[Collection[str]], list[CellCounts]], given_away_by: Prover
) -> Callable[[Sequence[str]], bool]:
    """Whether outputs of some names give a cell away."""
    return lambda names: bool(given_away_by(of(names), cell).any())


def _fewest(names: Sequence[str], enough: Callable[[Sequence[str]], bool]) -> list[str]:
    """Names that are enough together and of which none can be spared, those named last given up first; more are never less.

    Looking for the shortest beginning that is enough takes the logarithm of the steps that giving up one after the other would.

    Examples
    --------
    >>> _fewest("abcdef", lambda some: {"b", "e"} <= set(some))
    ['b', 'e']
    """
    needed, end = list[str](), len(names)
    if not enough(names):
        return list(names)
    while end and not enough(needed):
        least, most = 1, end
        while least < most:
            middle = (least + most) // 2
            least, most = (
                (least, middle) if enough([*names[:middle], *needed]) else (middle + 1, most)
            )
        end = most - 1
        needed.insert(0, names[end])
    return needed


def _undone(
    table: CellCounts,
    shown: Sequence[CellCounts],
    secret: Mask,
    policy: Policy,
    linear: LinearSystem,
    budget: WorkBudget | None = None,
) -> tuple[Mask, Mask]:
    """Which secret cells can be worked out, and which were not looked at before the limit of work."""
    undone = linear.narrow(table, shown, secret, policy.protection)
    rest = secret & ~undone
    if not rest.any():
        return undone, rest
    limits = bounds(table, shown, of=rest, enough=policy.protection, budget=budget)
    # What the sign itself says ("<3": 1 or 2) is the environment's choice; only what is lost beyond it counts.
    undone = undone | rest & (
        limits.hi - limits.lo < np.minimum(policy.protection, table.hi - table.lo)
    )
    return undone, rest & ~undone & ~limits.assessed


def _unfinished(
    table: CellCounts, unseen: Mask, undone: Mask, secret: Mask, threshold: int
) -> Outcome:
    """Of which cells nothing is said, and what is said of the others."""
    size = int(secret.sum())
    looked, every = (
        cells_in_words(int(cells.sum()), threshold) for cells in (secret & ~unseen, secret)
    )
    others = (
        "some of those do, which is a finding of its own" if undone.any() else "none of those does"
    )
    bad = (
        f"Whether the count of a withheld cell follows from what is shown was looked at for {looked} of "
        f"{every} such cells, up to the limit of work: {others}, and of the rest nothing is known."
    )
    return Outcome(table.named(unseen), size, "", bad, "not assessed")


def _outcome(table: CellCounts, undone: Mask, of: int, others: Sequence[str]) -> Outcome:
    source = ("its own totals", "another output", "several other outputs together")[
        min(len(others), 2)
    ]
    beside = f" ({', '.join(repr(name) for name in others)})" if len(others) > 1 else ""
    good = "No withheld cell follows from what is shown."
    bad = f"{some(int(undone.sum()), of, 'withheld cell').capitalize()}: {source}{beside} and the cells that are shown give the count away."
    alone = others[0] if len(others) == 1 else None
    return Outcome(table.named(undone), of, good, bad, other=alone, others=() if alone else others)
