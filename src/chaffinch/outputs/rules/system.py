"""All that the cells of outputs say together, as one linear system, of counts and of sums.

Each published number is a sum over people of the combinations of levels in its cell. A `CellSystem` lays cells out over atoms, the finest cells that are distinguished
(`atoms.py`), or, where these are too many to write out, over the levels of the columns of each tally by itself (`lookups.py`), and answers questions about any part of
what is shown: which withheld cells follow, which are safe since other records fit as well, the range of a cell, the range of a sum, and groups of few people.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from ..._base.arrays import Floats, Mask
from ..domain import Codes
from . import atoms as atom_layout
from . import feasible_tables, ranges
from .atoms import (
    Atoms,
    connected_tallies,
    count_combinations,
    find_atoms,
    informative_tallies,
    merge_groups,
    used_columns,
)
from .cell_counts import CellCounts
from .feasible_tables import FeasibleTables, Guide
from .lookups import Lookups, counting_tallies
from .ranges import CellRanges, find_ranges
from .small_groups import GroupSearch, SmallGroup, add_up_exactly, find_small_groups

FEW_ATOMS = 10_000
"""Unknowns up to which programmes are asked before walks."""
MAX_SUM_ATOMS = 20_000
"""Unknowns up to which withheld sums are bounded."""
MAX_SUM_PROGRAMMES = 400
"""Linear programmes for the withheld sums of one question, two for each cell."""
MAX_LEVELS = 1_000_000
"""Combinations of levels that are looked at for whether a combination of counts is a group for all of them."""
_SLACK = 1e-6

Method = Literal["rank", "ends", "ranges"]
"""How cells are shown to follow, each method including those before: by the rank of what is known, by the ends of withheld counts, by ranges in whole people."""


@dataclass
class WorkBudget:
    """Work that is left to the questions about a system: size of programmes for ranges, and proposals of walks. Neither may use up the other's."""

    ranges: int = field(default_factory=lambda: ranges.MAX_WORK_OF_ALL)
    proposals: int = field(default_factory=lambda: feasible_tables.MAX_PROPOSALS)


class CellSystem:
    """The cells of some tallies as one system, of which any part can be asked what it discloses.

    Questions of other records that fit need the `codes` of those that are there.

    Examples
    --------
    Two tables without totals: the second has one of the first's columns, and so shows its total.

    >>> from chaffinch.outputs.document import recipes_of
    >>> from chaffinch.outputs.domain import OutputColumn, OutputDomain
    >>> from chaffinch.outputs.rules.cell_counts import tallies_of
    >>> fields = OutputDomain((OutputColumn("sex", ("f", "m")), OutputColumn("ill", ("no", "yes"))))
    >>> codes = np.array([[0, 0]] * 12 + [[0, 1]] * 3 + [[1, 0]] * 20, dtype=np.int32)
    >>> entries = [{"name": "both", "kind": "table", "by": ["sex", "ill"], "threshold": 10}, {"name": "sex", "kind": "table", "by": ["sex"]}]
    >>> table, sex = (tallies_of(recipe, fields, codes)[0] for recipe in recipes_of(entries, fields).outputs)
    >>> system = CellSystem([table, sex], codes)
    >>> [system.disclosed_cells(table, shown, table.withheld, 1)[0].tolist() for shown in ([], [sex])]
    [[False, False, False, False], [False, True, False, False]]
    """

    def __init__(
        self,
        tallies: Sequence[CellCounts],
        codes: Codes | None = None,
        budget: WorkBudget | None = None,
    ) -> None:
        self.tallies, self.budget, self._codes = tallies, budget or WorkBudget(), codes
        self._tied: dict[bytes, tuple[list[CellCounts], bool]] = {}
        self._looked_at: dict[tuple[bytes, int], tuple[Mask, Mask, Mask]] = {}

    @classmethod
    def connected(cls, tallies: Iterable[CellCounts]) -> list[CellSystem]:
        """Return systems that share no column, groups that only one tally distinguishes added up: what none of them says, all together do not."""
        return [
            cls(group) for group in connected_tallies(merge_groups(informative_tallies(tallies)))
        ]

    @cached_property
    def lookups(self) -> Lookups:
        """The cells by levels of the columns of each tally."""
        return Lookups(self.tallies)

    @cached_property
    def feasible(self) -> FeasibleTables:
        """Other records that fit all that is shown."""
        codes = np.zeros((0, 0), dtype=np.int32) if self._codes is None else self._codes
        return FeasibleTables(self.lookups, codes, self.budget)

    @cached_property
    def published(self) -> Atoms:
        """The cells that are shown, over atoms."""
        return find_atoms(self.tallies).shown()

    @property
    def outputs(self) -> list[str]:
        """The names of the outputs."""
        return list(dict.fromkeys(tally.output for tally in self.tallies))

    def disclosed_cells(
        self,
        table: CellCounts,
        shown: Sequence[CellCounts],
        cells: Mask,
        width: int,
        method: Method = "ranges",
    ) -> tuple[Mask, Mask]:
        """Return which of some withheld cells are left fewer than `width` other counts by what a table and others show, and which were not looked at before the limit of work.

        What the sign itself says ("<3": 1 or 2) is the environment's choice; only what is lost beyond it counts.
        """
        by_rank = method == "rank"
        disclosed = self.lookups.narrow_cells(table, shown, cells, width, by_rank=by_rank)
        rest = cells & ~disclosed
        if method != "ranges" or not rest.any():
            return disclosed, rest & (method == "ranges")
        key = b"".join(tally.shown_key for tally in (table, *shown)), width
        if key not in self._looked_at or (rest & ~self._looked_at[key][0]).any():
            limits = self.ranges(table, shown, rest, enough=width)
            narrow = limits.hi - limits.lo < np.minimum(width, table.hi - table.lo)
            self._looked_at[key] = rest, rest & narrow, rest & ~narrow & ~limits.assessed
        _, narrow, unseen = self._looked_at[key]
        return disclosed | rest & narrow, rest & unseen

    def safe_cells(
        self, table: CellCounts, shown: Sequence[CellCounts], cells: Mask, width: int
    ) -> Mask:
        """Return which of some withheld cells have, in other records that fit all that is shown, a count that is far enough from their own.

        Programmes prove a cell safe in a tenth of a second while atoms are few, and walks that are in vain take seconds; of many atoms it is the other way round.
        """
        if not cells.any():
            return cells
        disclosed, asked = np.zeros_like(cells), cells
        tied, complete = self._tied_tallies(table, shown)
        if complete and count_combinations(tied) <= FEW_ATOMS:
            disclosed, asked = self.disclosed_cells(table, shown, cells, width)
        guide = Guide(
            *self.lookups.ends(table, shown),
            lambda cell, count: self.lookups.near_counts(table, shown, cell, count),
        )
        safe = self.feasible.safe_cells(table, asked, width, guide)
        return safe | cells & ~disclosed & ~asked

    def ranges(
        self,
        table: CellCounts,
        shown: Iterable[CellCounts],
        cells: Mask | None = None,
        *,
        enough: float = np.inf,
    ) -> CellRanges:
        """Return the least and the largest count that each cell of a table can have, given what others show.

        They are worked out for some `cells` (all that are withheld, if absent); others may come back with wider bounds than they have. A
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
        >>> table, *totals = tallies_of(recipes_of([entry], fields).outputs[0], fields, codes)
        >>> system = CellSystem([table, *totals])
        >>> [[end.tolist() for end in system.ranges(table, shown)[:2]] for shown in ([], totals)]
        [[[12, 1], [12, 9]], [[12, 3], [12, 3]]]
        """
        cells = table.withheld if cells is None else cells
        tied, complete = self._tied_tallies(table, shown)
        limits = find_ranges(find_atoms(tied), cells, enough=enough, budget=self.budget)
        # Outputs that were left out may narrow what is open.
        return limits if complete else limits._replace(assessed=limits.assessed & ~cells)

    def sum_ranges(
        self, table: CellCounts, cells: Sequence[int], values: Floats
    ) -> list[tuple[float, float] | None]:
        """Return the least and the largest sum of each of some cells of a table that all sums that are shown allow; None where that is not worked out.

        `values` are those of each record that are summed, at least 0, as are the unknown sums of the atoms.
        """
        from scipy.optimize import linprog

        tallies = [table, *(tally for tally in self.tallies if tally is not table)]
        atoms = find_atoms(tallies, max_atoms=MAX_SUM_ATOMS)
        if not atoms.complete:
            return [None] * len(cells)
        scale = max(float(values.sum()), 1e-300)
        is_shown = np.flatnonzero(atoms.by_cell(lambda tally: ~tally.withheld))
        totals = atoms.by_cell(
            lambda tally: np.bincount(
                tally.labels + 1, weights=values / scale, minlength=tally.size + 1
            )[1:]
        )[is_shown]
        matrix = atoms.matrix[is_shown].astype(float)
        ends: list[tuple[float, float] | None] = [None] * len(cells)
        for index, cell in enumerate(cells[: MAX_SUM_PROGRAMMES // 2]):
            aim = (atoms.numbers[:, 0] == cell).astype(float)
            lowest, largest = (
                linprog(sign * aim, A_eq=matrix, b_eq=totals, bounds=(0, None), method="highs")
                for sign in (1.0, -1.0)
            )
            is_unbounded = largest.status == 3
            if lowest.fun is not None and (is_unbounded or largest.fun is not None):
                ends[index] = scale * lowest.fun, np.inf if is_unbounded else -scale * largest.fun
        return ends

    def small_groups(self, threshold: int) -> GroupSearch:
        """Return groups of 1 to threshold - 1 people whose number follows from the counts that are shown, and whether there can be others."""
        return find_small_groups(self.published, threshold)

    def group_cells(self, group: SmallGroup) -> list[tuple[CellCounts, int]]:
        """Return the cells of which a group is a combination."""
        tally_of, cell_of = self.published.tally_and_cell
        return [(self.tallies[tally_of[cell]], int(cell_of[cell])) for cell in group.weights]

    def fewest_outputs(self, group: SmallGroup) -> list[str]:
        """Return the outputs of which none can be spared, out of those in the combination; those named last are given up first."""
        inside = np.zeros(len(self.published.people))
        inside[group.atoms] = 1.0
        names = {tally.output for tally, _ in self.group_cells(group)}
        outputs = [name for name in self.outputs if name in names]
        output_of = np.array([tally.output for tally in self.tallies])
        output_of_cell = output_of[self.published.tally_and_cell[0]]
        for name in outputs[::-1]:
            rest = [other for other in outputs if other != name]
            columns = self.published.by_atom[:, np.flatnonzero(np.isin(output_of_cell, rest))]
            if rest and columns.shape[1]:
                gram = (columns.T @ columns).toarray()
                weights = np.linalg.lstsq(gram, columns.T @ inside, rcond=None)[0]
                if np.abs(columns @ weights - inside).max() < _SLACK:
                    outputs = rest
        return outputs

    def is_by_definition(self, group: SmallGroup) -> bool:
        """Return whether a combination is a group for every combination of levels of the tallies that are in it; False where these are too many to look at."""
        if self.published.complete:
            return True
        tally_of, cell_of = self.published.tally_and_cell
        weights = {(tally_of[k], cell_of[k]): weight for k, weight in group.weights.items()}
        used = sorted({tally for tally, _ in weights})
        atoms = find_atoms([self.tallies[k] for k in used], max_atoms=MAX_LEVELS)
        if not atoms.complete:
            return False
        layout = atoms.shown()
        pairs = enumerate(zip(*layout.tally_and_cell, strict=True))
        by_cell = {k: weights.get((used[tally], cell), Fraction(0)) for k, (tally, cell) in pairs}
        sums, scale = add_up_exactly(layout, by_cell)
        return bool(np.isin(sums, (0, scale)).all())

    def _tied_tallies(
        self, table: CellCounts, others: Iterable[CellCounts]
    ) -> tuple[list[CellCounts], bool]:
        """A table and what shares columns with it, groups that do not matter added up; and whether that is all of it, or what could be written out."""
        counting = counting_tallies([*others])
        rest = [other for other in counting if other.shown_key != table.shown_key]
        key = b"".join(tally.shown_key for tally in (table, *rest))
        if key not in self._tied:
            self._tied[key] = _tie([table, *rest])
        return self._tied[key]


def _tie(tallies: list[CellCounts]) -> tuple[list[CellCounts], bool]:
    """The first tally and what shares columns with it; and whether that is all, or as much as can be written out."""
    table = tallies[0]
    for _ in range(2):
        if used_columns(table):
            tallies = next(group for group in connected_tallies(tallies) if table in group)
        rest = [tally for tally in tallies if tally is not table]
        tallies = merge_groups([table, *rest], n_unchanged=1)
    if count_combinations(tallies) <= atom_layout.MAX_ATOMS:
        return tallies, True
    columns, chosen = used_columns(table), [table]

    def n_new_and_shared(tally: CellCounts) -> tuple[int, int]:
        return len(used_columns(tally) - columns), -len(used_columns(tally) & columns)

    for tally in sorted(tallies[1:], key=n_new_and_shared):
        if count_combinations([*chosen, tally]) <= atom_layout.MAX_ATOMS:
            chosen.append(tally)
    return chosen, False
