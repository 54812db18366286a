"""Withheld cells that follow from what is shown: totals, margins and other outputs, new and released, all in one system (`system.py`).

Each number that is shown is a sum of unknown counts, and what its sign says of a withheld cell ("<10": 1 to 9) bounds another. The rule asks the quickest way first: linear
algebra says of most cells that are disclosed that they are, other records that fit say of most others that they are not. What is left to the rest is their range in whole
people (the audit of sdcTable and tau-Argus, over all outputs), up to a limit of work that all tables share; cells whose range is not worked out by then are not
assessed, and that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..._base.arrays import Mask
from .cell_counts import CellCounts
from .evidence import RULES, Rule, RuleOutcome
from .findings import cells_in_words, count_phrase
from .policy import Policy
from .system import CellSystem, Method


@dataclass(frozen=True, eq=False)
class WithheldTable:
    """A table of counts with withheld cells: `rest` is what else the same output shows, `others` what others do, `system` all outputs of a check, new and released.

    Of an output that is out already (`is_new` false) what `rest` alone discloses is not judged.
    """

    table: CellCounts
    rest: Sequence[CellCounts]
    others: Sequence[CellCounts]
    system: CellSystem
    is_new: bool = True

    def disclosed_by(self, names: Sequence[str], cells: Mask, width: int, method: Method) -> Mask:
        """Return which of some cells follow from what the output shows beside some others."""
        shown = [*self.rest, *(other for other in self.others if other.output in names)]
        return self.system.disclosed_cells(self.table, shown, cells, width, method)[0]


@RULES.register(
    Rule(
        "suppression undone",
        "Does a withheld count follow from what is shown?",
        ("threshold", "zeros_are_disclosive", "protection"),
    )
).looks_at(WithheldTable)
def _look_at_withheld(piece: WithheldTable, policy: Policy) -> list[RuleOutcome]:
    """Return whether cells that are withheld for their few people can be worked out after all.

    A withheld cell must be left an interval at least `policy.protection` wide. Cells with the threshold's people or more, withheld to protect others, need none; nor
    do zeros unless they are disclosive.
    """
    table, system, width = piece.table, piece.system, policy.protection
    is_small = (table.counts < policy.threshold) & (
        (table.counts > 0) | policy.zeros_are_disclosive
    )
    secret = table.withheld & is_small
    shown = [*piece.rest, *piece.others]
    by_rank = system.disclosed_cells(table, shown, secret, width, "rank")[0]
    by_ends = system.disclosed_cells(table, shown, secret & ~by_rank, width, "ends")[0]
    follows = by_rank | by_ends
    # What all together leave open is left open by any of them.
    open_cells = secret & ~system.safe_cells(table, shown, secret & ~follows, width)
    alone, unseen = system.disclosed_cells(table, piece.rest, open_cells, width)
    outcomes = [_outcome(table, alone, [])] if piece.is_new else []
    together = np.zeros_like(alone)
    if piece.others:
        unresolved = open_cells & ~alone & ~follows
        together, unseen = system.disclosed_cells(table, shown, unresolved, width)
        together |= follows & ~alone
    # What proved that cells follow from all others says also from which, the quickest way first.
    methods: dict[Method, Mask] = {"rank": by_rank, "ends": by_ends, "ranges": ~follows}
    for method, proven in methods.items():
        outcomes += [
            _outcome(table, disclosed, names)
            for names, disclosed in _find_sources(piece, together & proven, width, method)
        ]
    if unseen.any() and (piece.is_new or piece.others):
        outcomes.append(
            _limit_outcome(table, unseen, alone & piece.is_new | together, secret, policy.threshold)
        )
    return [outcome for outcome in outcomes if outcome.where or len(outcomes) == 1]


def _find_sources(
    piece: WithheldTable, cells: Mask, width: int, method: Method
) -> Iterator[tuple[list[str], Mask]]:
    """The outputs that disclose cells, one alone where one does, else the fewest, and the cells that they do."""
    every_name = list(dict.fromkeys(other.output for other in piece.others))
    for name in every_name:
        if not cells.any():
            return
        disclosed = piece.disclosed_by([name], cells, width, method)
        if disclosed.any():
            yield [name], disclosed
            cells = cells & ~disclosed
    while cells.any():
        first = np.arange(len(cells)) == np.flatnonzero(cells)[0]
        names = _fewest(every_name, _disclose(piece, first, width, method))
        disclosed = piece.disclosed_by(names, cells, width, method)
        # Programmes that the limit of work ended prove nothing of fewer outputs.
        disclosed = disclosed if disclosed.any() else cells
        yield names, disclosed
        cells = cells & ~disclosed


def _disclose(
    piece: WithheldTable, cells: Mask, width: int, method: Method
) -> Callable[[Sequence[str]], bool]:
    """Whether outputs of some names disclose some of some cells."""
    return lambda names: bool(piece.disclosed_by(names, cells, width, method).any())


def _fewest(names: Sequence[str], enough: Callable[[Sequence[str]], bool]) -> list[str]:
    """Names that are enough together and of which none can be spared, those named last given up first; more are never less.

    Looking for the shortest beginning that is enough takes the logarithm of the steps that giving up one after the other would.

    Examples
    --------
    >>> _fewest("abcdef", lambda names: {"b", "e"} <= set(names))
    ['b', 'e']
    """
    needed, end = list[str](), len(names)
    if not enough(names):
        return list(names)
    while end and not enough(needed):
        low, high = 1, end
        while low < high:
            middle = (low + high) // 2
            is_enough = enough([*names[:middle], *needed])
            low, high = (low, middle) if is_enough else (middle + 1, high)
        end = high - 1
        needed.insert(0, names[end])
    return needed


def _limit_outcome(
    table: CellCounts, unseen: Mask, disclosed: Mask, secret: Mask, threshold: int
) -> RuleOutcome:
    """Of which cells nothing is said, and what is said of the others."""
    size = int(secret.sum())
    n_looked_at = cells_in_words(int((secret & ~unseen).sum()), threshold)
    others = (
        "some of those do, which is a finding of its own"
        if disclosed.any()
        else "none of those does"
    )
    return RuleOutcome(
        table.named(unseen),
        size,
        sentence=f"Whether the count of a withheld cell follows from what is shown was looked at for {n_looked_at} of "
        f"{cells_in_words(size, threshold)} such cells, up to the limit of work: {others}, and of the rest nothing is known.",
        status="not assessed",
    )


def _outcome(table: CellCounts, disclosed: Mask, others: Sequence[str]) -> RuleOutcome:
    sources = "its own totals", "another output", "several other outputs together"
    quoted = f" ({', '.join(repr(name) for name in others)})" if len(others) > 1 else ""
    total = int(table.withheld.sum())
    which = count_phrase(int(disclosed.sum()), total, "withheld cell").capitalize()
    alone = others[0] if len(others) == 1 else None
    several = () if alone else others
    return RuleOutcome(
        table.named(disclosed),
        total,
        clear_sentence="No withheld cell follows from what is shown.",
        sentence=f"{which}: {sources[min(len(others), 2)]}{quoted} and the cells that are shown give the count away.",
        other=alone,
        others=several,
    )
