"""The finest cells that tallies distinguish: the unknowns of the one linear system that all outputs make up together.

Two combinations of levels that lie in the same cell of every tally are one atom. A published count is a sum of atoms by definition, whatever the
records are; atoms that nobody is in are unknowns like others, since a reader does not know that they are empty. This is the layout of a `CellSystem`
for questions about few enough unknowns; `lookups.py` has the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Ints
from .cell_counts import CellCounts

MAX_ATOMS = 100_000
"""Combinations of classes of levels that are written out; of more, a sample is added to those that records have."""
_SAMPLE = 5_000


@dataclass(frozen=True, eq=False)
class Atoms:
    """The cells of some tallies as sums over atoms.

    Cells are numbered over all tallies, one tally after the other. `cells` are those of the system, `numbers` has, by atom and tally, the index in `cells` of the cell
    that the atom is in (-1 for none), `people` how many people are in each atom; `complete`: whether these are all atoms that there are by definition.
    """

    tallies: Sequence[CellCounts]
    cells: Ints
    numbers: Ints
    people: Ints
    complete: bool

    @cached_property
    def tally_and_cell(self) -> tuple[Ints, Ints]:
        """The index of each cell's tally, and the cell's number in that."""
        starts = np.cumsum([0, *(tally.size for tally in self.tallies)])
        tally = np.searchsorted(starts, self.cells, side="right") - 1
        return tally, self.cells - starts[tally]

    @cached_property
    def matrix(self) -> Any:
        """A row for each cell and a column for each atom, 1 where the atom is in the cell."""
        from scipy.sparse import csr_array

        atom, tally = np.nonzero(self.numbers >= 0)
        entries = np.ones(len(atom), dtype=np.int64), (self.numbers[atom, tally], atom)
        return csr_array(entries, shape=(len(self.cells), len(self.people)))

    @cached_property
    def by_atom(self) -> Any:
        """The same with a row for each atom, in floating point."""
        return self.matrix.T.tocsr().astype(float)

    @cached_property
    def counts(self) -> Ints:
        """The number of people of each cell."""
        return self.by_cell(lambda tally: tally.counts)

    def by_cell(self, values: Callable[[CellCounts], NDArray[Any]]) -> NDArray[Any]:
        """Return what the cells have, from what all cells of each tally have."""
        return np.concatenate([values(tally) for tally in self.tallies])[self.cells]

    def shown(self) -> Atoms:
        """Return the cells that are shown; those of nobody are taken out with their atoms, which then are known to be empty."""
        is_shown = self.by_cell(lambda tally: ~tally.withheld)
        inside = (self.numbers >= 0) & is_shown[self.numbers]
        empty = (inside & (self.counts[self.numbers] == 0)).any(axis=1)
        alive = inside.any(axis=1) & ~empty
        return self.renumbered(
            *_add_up(np.where(inside, self.numbers, -1)[alive], self.people[alive])
        )

    def renumbered(self, numbers: Ints, people: Ints) -> Atoms:
        """Return other atoms of the same cells, and of these the cells that some atom is in."""
        used = np.unique(numbers[numbers >= 0])
        new_numbers = np.full(len(self.cells) + 1, -1, dtype=np.int64)
        new_numbers[used] = np.arange(len(used))
        return replace(self, cells=self.cells[used], numbers=new_numbers[numbers], people=people)


def used_columns(tally: CellCounts) -> frozenset[int]:
    """Return the columns whose levels a tally distinguishes, its filter included."""
    grouped = {position for position, group in tally.steps if (group != group[0]).any()}
    return frozenset(grouped | {column for columns, _ in tally.joint for column in columns})


def _signatures(tallies: Iterable[CellCounts], column: int) -> list[NDArray[np.int64]]:
    """The groups of each level of a column, by tally: levels alike in all of it are distinguished by none."""
    signatures: list[NDArray[np.int64]] = []
    for tally in tallies:
        signatures += [group for position, group in tally.steps if position == column]
        for columns, mask in tally.joint:
            if column in columns:
                by_columns = mask.reshape([tally.sizes[c] for c in columns])
                by_level = np.moveaxis(by_columns, columns.index(column), 0)
                signatures.append(_row_ids(by_level.reshape(tally.sizes[column], -1)))
    return signatures


def _row_ids(rows: NDArray[np.generic]) -> Ints:
    """The number of each row among those that differ."""
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _classes(tallies: Sequence[CellCounts], column: int, n_levels: int) -> Ints:
    signatures = _signatures(tallies, column)
    if not signatures:
        return np.zeros(n_levels, dtype=np.int64)
    return _row_ids(np.stack(signatures, axis=1))


def _classes_by_column(tallies: Sequence[CellCounts]) -> dict[int, Ints]:
    """The class of each level of the columns that tallies use, levels that none distinguishes being one class."""
    columns = sorted(frozenset[int]().union(*(used_columns(tally) for tally in tallies)))
    return {column: _classes(tallies, column, tallies[0].sizes[column]) for column in columns}


def count_combinations(tallies: Sequence[CellCounts]) -> float:
    """Return how many combinations of classes of levels tallies have."""
    classes = _classes_by_column(tallies).values()
    return float(np.prod([int(ids.max()) + 1 for ids in classes], dtype=float))


def find_atoms(tallies: Sequence[CellCounts], *, max_atoms: int | None = None) -> Atoms:
    """Return the atoms of some tallies, and the people in each.

    Examples
    --------
    >>> from chaffinch.outputs.document import recipes_of
    >>> from chaffinch.outputs.domain import OutputColumn, OutputDomain
    >>> from chaffinch.outputs.rules.cell_counts import tallies_of
    >>> fields = OutputDomain((OutputColumn("sex", ("f", "m")), OutputColumn("age", (0, 1, 2, 3))))
    >>> entries = [{"name": "s", "kind": "table", "by": ["sex"]}, {"name": "n", "kind": "mean", "of": "age", "where": "age < 2", "n": True}]
    >>> codes = np.array([[0, 0], [0, 1], [1, 3]], dtype=np.int32)
    >>> tallies = [tallies_of(recipe, fields, codes)[k] for recipe, k in zip(recipes_of(entries, fields).outputs, (0, 1))]
    >>> atoms = find_atoms(tallies)
    >>> atoms.numbers.tolist(), atoms.people.tolist()
    ([[0, -1], [0, 2], [1, -1], [1, 2]], [0, 2, 1, 0])
    """
    limit = MAX_ATOMS if max_atoms is None else max_atoms
    classes = _classes_by_column(tallies)
    widths = [int(ids.max()) + 1 for ids in classes.values()]
    complete = float(np.prod(widths, dtype=float)) <= limit
    if complete:
        combinations = np.indices(widths).reshape(len(widths), int(np.prod(widths, dtype=np.int64)))
    else:
        rng = np.random.default_rng(1)
        combinations = np.stack([rng.integers(0, width, min(_SAMPLE, limit)) for width in widths])
    # The first level of a class is taken for all of it.
    grid = {
        column: np.unique(ids, return_index=True)[1][chosen]
        for (column, ids), chosen in zip(classes.items(), combinations, strict=True)
    }
    defined = [find_cells(tally, grid, combinations.shape[1]) for tally in tallies]
    cells = np.concatenate(
        [np.stack(defined, axis=1), np.stack([tally.labels for tally in tallies], axis=1)]
    )
    weights = tallies[0].weights
    recorded = np.ones(len(tallies[0].labels), dtype=np.int64) if weights is None else weights
    people = np.concatenate([np.zeros(combinations.shape[1], dtype=np.int64), recorded])
    atom_cells, atom_people = _add_up(cells, people)
    starts = np.cumsum([0, *(tally.size for tally in tallies)])
    counted = (atom_cells >= 0).any(axis=1)
    numbers = np.where(atom_cells >= 0, atom_cells + starts[:-1], -1)[counted]
    return Atoms(tallies, np.arange(starts[-1]), numbers, atom_people[counted], complete)


def find_cells(tally: CellCounts, grid: dict[int, Ints], size: int) -> Ints:
    """Return the cell of each of `size` combinations of levels, given by column; -1 for none. Columns that are absent distinguish nothing."""
    cells, inside = np.zeros(size, dtype=np.int64), np.ones(size, dtype=bool)
    for (position, group), width in zip(tally.steps, tally.shape, strict=True):
        groups = group[grid[position]] if position in grid else np.full(size, group[0])
        inside &= groups >= 0
        cells = cells * width + groups
    for columns, mask in tally.joint:
        levels = [grid[column] for column in columns]
        inside &= mask[np.ravel_multi_index(levels, [tally.sizes[column] for column in columns])]
    return np.where(inside, cells, -1)


def _add_up(rows: Ints, people: Ints) -> tuple[Ints, Ints]:
    """Rows that differ, each once, in order, and the people of each."""
    keys = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        width = int(column.max(initial=-1)) + 2
        if int(keys.max(initial=0)) > (1 << 62) // width:
            keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
        keys = keys * width + column + 1
    _, first, ids = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], np.bincount(ids, weights=people, minlength=len(first)).astype(np.int64)


def informative_tallies(tallies: Iterable[CellCounts]) -> list[CellCounts]:
    """Return tallies without those that follow from another of the same output, or equal an earlier one."""
    chosen: dict[bytes, CellCounts] = {}
    for tally in tallies:
        if tally.is_shown.any() and not (tally.implied and used_columns(tally)):
            chosen.setdefault(tally.key, tally)
    return list(chosen.values())


def merge_groups(tallies: Sequence[CellCounts], *, n_unchanged: int = 0) -> list[CellCounts]:
    """Return tallies with those groups of a column added up that no other tally distinguishes; the first `n_unchanged` of them as they are.

    A combination of counts is a group of people if it is 0 or 1 for every combination of levels. Where groups are distinguished by one tally alone,
    such a combination contains a published cell entirely or not at all; without these cells it weighs the groups alike. So what is lost by adding them
    up is unions of published cells, which are no differences. For ranges it loses nothing either: whatever the sum of such groups is within the sums of
    their ends, it can be dealt out to them.
    """
    merged, changed = list(tallies), True
    while changed:
        changed = False
        for number, tally in enumerate(merged[n_unchanged:], n_unchanged):
            others = merged[:number] + merged[number + 1 :]
            for axis, (column, group) in enumerate(tally.steps):
                width = tally.shape[axis]
                if width < 2 or any(column in columns for columns, _ in tally.joint):
                    continue
                classes = _classes(others, column, tally.sizes[column])
                new_groups = _mergeable_groups(tally, axis, classes, group)
                if int(new_groups.max()) + 1 < width:
                    merged[number] = tally = _with_groups(tally, axis, new_groups)
                    changed = True
    return merged


def _mergeable_groups(tally: CellCounts, axis: int, classes: Ints, group: Ints) -> Ints:
    """The new number of each group: those with all levels in one class of the others, withheld alike, get the same one."""
    width = tally.shape[axis]
    withheld = np.moveaxis(tally.withheld.reshape(tally.shape), axis, 0).reshape(width, -1)
    withheld_alike = _row_ids(withheld)
    new_groups: dict[tuple[int, ...], int] = {}
    numbers = np.zeros(width, dtype=np.int64)
    for k in range(width):
        own_classes = np.unique(classes[group == k])
        key = (int(own_classes[0]), int(withheld_alike[k])) if len(own_classes) == 1 else (-1, k)
        numbers[k] = new_groups.setdefault(key, len(new_groups))
    return numbers


def _with_groups(tally: CellCounts, axis: int, new_groups: Ints) -> CellCounts:
    width = int(new_groups.max()) + 1
    shape = tuple(width if k == axis else n for k, n in enumerate(tally.shape))
    index = list(np.unravel_index(np.arange(tally.size), tally.shape))
    index[axis] = new_groups[index[axis]]
    cell = np.ravel_multi_index(index, shape)
    size = int(np.prod(shape, dtype=np.int64))
    counts, lo, hi = (
        np.bincount(cell, weights=numbers, minlength=size).astype(np.int64)
        for numbers in (tally.counts, tally.lo, tally.hi)
    )
    withheld, possible = (
        np.bincount(cell, weights=mask, minlength=size) > 0
        for mask in (tally.withheld, tally.possible)
    )
    position, group = tally.steps[axis]
    names = tuple(
        "+".join(
            name for name, k in zip(tally.names[axis], new_groups, strict=True) if k == new_group
        )
        for new_group in range(width)
    )
    return replace(
        tally,
        steps=(
            *tally.steps[:axis],
            (position, np.where(group >= 0, new_groups[group], -1)),
            *tally.steps[axis + 1 :],
        ),
        names=(*tally.names[:axis], names, *tally.names[axis + 1 :]),
        labels=np.where(tally.labels >= 0, cell[tally.labels], -1),
        counts=counts,
        lo=lo,
        hi=hi,
        withheld=withheld,
        possible=possible,
    )


def connected_tallies(tallies: Sequence[CellCounts]) -> list[list[CellCounts]]:
    """Return tallies in parts that share columns; those of everyone, which distinguish no levels, belong to each part.

    Tallies without a column in common are tied by the number of all people alone.
    """
    from scipy.sparse.csgraph import connected_components

    constant = [tally for tally in tallies if not used_columns(tally)]
    rest = [tally for tally in tallies if used_columns(tally)]
    if not rest:
        return [constant] if constant else []
    columns = sorted(frozenset[int]().union(*map(used_columns, rest)))
    uses = np.array([[column in used_columns(tally) for column in columns] for tally in rest])
    n_parts, part_of = connected_components(uses.astype(int) @ uses.T.astype(int))
    return [
        [*(rest[k] for k in np.flatnonzero(part_of == number)), *constant]
        for number in range(n_parts)
    ]
