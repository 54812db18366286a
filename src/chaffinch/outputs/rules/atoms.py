"""The finest cells that tallies tell apart: the unknowns of the one linear system that all outputs make up together.

Two combinations of levels that lie in the same cell of every tally are one atom. A published count is a sum of atoms by definition, whatever the
records are; atoms that nobody is in are unknowns like others, since a reader does not know that they are empty. `CellLookup` has the cell of each
combination of levels for one tally.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domain import Ints
from .cell_counts import COUNT, CellCounts

MOST_ATOMS = 100_000
"""Combinations of classes of levels that are written out; of more, a sample stands in beside those that records have."""
_SAMPLE = 5_000
MOST_COMBINATIONS = 300_000
"""Combinations of levels of one tally that are written out."""


@dataclass(frozen=True, eq=False)
class CellSystem:
    """The cells of some tallies as sums over atoms.

    `cells` has the cell of each atom in each tally (-1 for none), `people` how many people are in each atom; `complete`: whether these are all atoms that there are by
    definition. Cells are numbered over all tallies, one after the other.
    """

    tallies: Sequence[CellCounts]
    cells: Ints
    people: Ints
    complete: bool

    @cached_property
    def starts(self) -> Ints:
        """The number of the first cell of each tally, and how many cells there are."""
        return np.cumsum([0, *(tally.size for tally in self.tallies)])

    @cached_property
    def numbers(self) -> Ints:
        """The number of each atom's cell in each tally; -1 for none."""
        return np.where(self.cells >= 0, self.cells + self.starts[:-1], -1)

    @cached_property
    def matrix(self) -> Any:
        """A row for each cell and a column for each atom, 1 where the atom is in the cell."""
        from scipy.sparse import csr_array

        atom, tally = np.nonzero(self.numbers >= 0)
        entries = np.ones(len(atom), dtype=np.int64), (self.numbers[atom, tally], atom)
        return csr_array(entries, shape=(int(self.starts[-1]), len(self.people)))

    def by_cell(self, values: Callable[[CellCounts], NDArray[Any]]) -> NDArray[Any]:
        """Return what all cells have, in the order of their numbers."""
        return np.concatenate([values(tally) for tally in self.tallies])


def used_columns(tally: CellCounts) -> frozenset[int]:
    """Return the columns whose levels a tally tells apart, its filter included."""
    several = {position for position, group in tally.steps if (group != group[0]).any()}
    return frozenset(several | {column for columns, _ in tally.joint for column in columns})


def _signatures(
    tallies: Iterable[CellCounts], column: int, sizes: Sequence[int]
) -> list[NDArray[np.int64]]:
    """What tallies make of each level of a column: levels alike in all of it are told apart by none."""
    parts: list[NDArray[np.int64]] = []
    for tally in tallies:
        parts += [group for position, group in tally.steps if position == column]
        for columns, mask in tally.joint:
            if column in columns:
                whole = mask.reshape([sizes[c] for c in columns])
                parts.append(
                    _numbered(
                        np.moveaxis(whole, columns.index(column), 0).reshape(sizes[column], -1)
                    )
                )
    return parts


def _numbered(rows: NDArray[np.generic]) -> Ints:
    """The number of each row among those that differ."""
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _classes(tallies: Sequence[CellCounts], column: int, sizes: Sequence[int]) -> Ints:
    parts = _signatures(tallies, column, sizes)
    return _numbered(np.stack(parts, axis=1)) if parts else np.zeros(sizes[column], dtype=np.int64)


def combinations_of(tallies: Sequence[CellCounts], sizes: Sequence[int]) -> float:
    """Return how many combinations of classes of levels tallies have, levels that none tells apart being one class."""
    columns = frozenset[int]().union(*(used_columns(tally) for tally in tallies))
    return float(
        np.prod(
            [int(_classes(tallies, column, sizes).max()) + 1 for column in columns], dtype=float
        )
    )


def atoms_of(
    tallies: Sequence[CellCounts], sizes: Sequence[int], *, most: int | None = None
) -> CellSystem:
    """Return the atoms of some tallies on columns with so many levels, and the people in each.

    Examples
    --------
    >>> from chaffinch.outputs.document import recipes_of
    >>> from chaffinch.outputs.domain import OutputColumn, OutputDomain
    >>> from chaffinch.outputs.rules.cell_counts import tallies_of
    >>> fields = OutputDomain((OutputColumn("sex", ("f", "m")), OutputColumn("age", (0, 1, 2, 3))))
    >>> entries = [{"name": "s", "kind": "table", "by": ["sex"]}, {"name": "n", "kind": "mean", "of": "age", "where": "age < 2", "n": True}]
    >>> codes = np.array([[0, 0], [0, 1], [1, 3]], dtype=np.int32)
    >>> tallies = [tallies_of(one, fields, codes)[k] for one, k in zip(recipes_of(entries, fields).outputs, (0, 1))]
    >>> atoms = atoms_of(tallies, fields.sizes)
    >>> atoms.cells.tolist(), atoms.people.tolist()
    ([[0, -1], [0, 0], [1, -1], [1, 0]], [0, 2, 1, 0])
    """
    most = MOST_ATOMS if most is None else most
    columns = sorted(frozenset[int]().union(*(used_columns(tally) for tally in tallies)))
    classes = [_classes(tallies, column, sizes) for column in columns]
    widths = [int(of.max()) + 1 for of in classes]
    # One level stands for its class.
    levels = [np.unique(of, return_index=True)[1] for of in classes]
    complete = float(np.prod(widths, dtype=float)) <= most
    if complete:
        places = (
            np.indices(widths).reshape(len(widths), -1)
            if widths
            else np.zeros((0, 1), dtype=np.int64)
        )
    else:
        rng = np.random.default_rng(1)
        places = np.stack([rng.integers(0, width, min(_SAMPLE, most)) for width in widths])
    grid = {column: of[place] for column, of, place in zip(columns, levels, places, strict=True)}
    labels = np.stack([cells_of(tally, grid, places.shape[1], sizes) for tally in tallies], axis=1)
    behind = np.stack([tally.labels for tally in tallies], axis=1)
    return CellSystem(tallies, *_joined(labels, behind, tallies[0].weights), complete)


def cells_of(tally: CellCounts, grid: dict[int, Ints], size: int, sizes: Sequence[int]) -> Ints:
    """Return the cell of each of `size` combinations of levels, given by column; -1 for none. Columns that are absent tell nothing apart."""
    cell, inside = np.zeros(size, dtype=np.int64), np.ones(size, dtype=bool)
    for (position, group), width in zip(tally.steps, tally.shape, strict=True):
        of = group[grid[position]] if position in grid else np.full(size, group[0])
        inside &= of >= 0
        cell = cell * width + of
    for columns, mask in tally.joint:
        inside &= mask[
            np.ravel_multi_index([grid[column] for column in columns], [sizes[c] for c in columns])
        ]
    return np.where(inside, cell, -1)


def _joined(defined: Ints, behind: Ints, weights: Ints | None) -> tuple[Ints, Ints]:
    """Atoms that are defined and atoms that records are in, each once, and the people in each."""
    both = np.concatenate([defined, behind])
    key = np.zeros(len(both), dtype=np.int64)
    for column in both.T:
        width = int(column.max()) + 2
        if int(key.max(initial=0)) > (1 << 62) // width:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
        key = key * width + column + 1
    _, first, of = np.unique(key, return_index=True, return_inverse=True)
    people = np.bincount(of[len(defined) :], weights=weights, minlength=len(first)).astype(np.int64)
    cells = both[first]
    some = (cells >= 0).any(axis=1)
    return cells[some], people[some]


def informative(tallies: Iterable[CellCounts]) -> list[CellCounts]:
    """Return tallies without those that follow from another of the same output, or say the same as one before."""
    chosen: list[CellCounts] = []
    keys = set[bytes]()
    for tally in tallies:
        constant = not used_columns(tally)
        if tally.key in keys or (tally.implied and not constant) or not tally.is_shown.any():
            continue
        keys.add(tally.key)
        chosen.append(tally)
    return chosen


def merged(
    tallies: Sequence[CellCounts], sizes: Sequence[int], *, leave: int = 0
) -> list[CellCounts]:
    """Return tallies with those groups of a column added up that no other tally tells apart; the first `leave` of them as they are.

    A combination of counts is a group of people if it is 0 or 1 for every combination of levels. Where groups are told apart by one tally alone,
    such a combination contains a published cell entirely or not at all; without these cells it weighs the groups alike. So what is lost by adding them
    up is unions of published cells, which are no differences. For ranges it loses nothing either: whatever the sum of such groups is within the sums of
    their ends, it can be dealt out to them.
    """
    some, changed = list(tallies), True
    while changed:
        changed = False
        for number, tally in enumerate(some[leave:], leave):
            others = some[:number] + some[number + 1 :]
            for axis, (column, group) in enumerate(tally.steps):
                width = tally.shape[axis]
                if width < 2 or any(column in columns for columns, _ in tally.joint):
                    continue
                of = _mergeable(tally, axis, _classes(others, column, sizes), group)
                if int(of.max()) + 1 < width:
                    some[number] = tally = _added_up(tally, axis, of)
                    changed = True
    return some


def _mergeable(tally: CellCounts, axis: int, classes: Ints, group: Ints) -> Ints:
    """The new number of each group: those with all levels in one class of the others, withheld alike, get the same one."""
    width = tally.shape[axis]
    withheld = np.moveaxis(tally.withheld.reshape(tally.shape), axis, 0).reshape(width, -1)
    alike = _numbered(withheld)
    keys: dict[tuple[int, ...], int] = {}
    numbers = np.zeros(width, dtype=np.int64)
    for k in range(width):
        mine = np.unique(classes[group == k])
        key = (int(mine[0]), int(alike[k])) if len(mine) == 1 else (-1, k)
        numbers[k] = keys.setdefault(key, len(keys))
    return numbers


def _added_up(tally: CellCounts, axis: int, of: Ints) -> CellCounts:
    width = int(of.max()) + 1
    shape = tuple(width if k == axis else n for k, n in enumerate(tally.shape))
    places = list(np.unravel_index(np.arange(tally.size), tally.shape))
    places[axis] = of[places[axis]]
    cell = np.ravel_multi_index(places, shape)
    size = int(np.prod(shape, dtype=np.int64))
    counts, lo, hi = (
        np.bincount(cell, weights=w, minlength=size).astype(np.int64)
        for w in (tally.counts, tally.lo, tally.hi)
    )
    withheld, possible = (
        np.bincount(cell, weights=w, minlength=size) > 0 for w in (tally.withheld, tally.possible)
    )
    position, group = tally.steps[axis]
    words = tally.names[axis]
    names = tuple(
        "+".join(word for word, k in zip(words, of, strict=True) if k == new)
        for new in range(width)
    )
    return replace(
        tally,
        steps=(
            *tally.steps[:axis],
            (position, np.where(group >= 0, of[group], -1)),
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


def components(tallies: Sequence[CellCounts]) -> list[list[CellCounts]]:
    """Return tallies by what hangs together over shared columns; those of everyone, which tell no levels apart, belong to each part.

    Tallies without a column in common are tied by the number of all people alone.
    """
    from scipy.sparse.csgraph import connected_components

    every = [tally for tally in tallies if not used_columns(tally)]
    rest = [tally for tally in tallies if used_columns(tally)]
    if not rest:
        return [every] if every else []
    columns = sorted(frozenset[int]().union(*map(used_columns, rest)))
    uses = np.array([[column in used_columns(tally) for column in columns] for tally in rest])
    n_parts, part = connected_components(uses.astype(int) @ uses.T.astype(int))
    return [
        [*(rest[k] for k in np.flatnonzero(part == number)), *every] for number in range(n_parts)
    ]


@dataclass(frozen=True, eq=False)
class CellLookup:
    """`cells` has the cell of each combination of levels of `columns`, in C order of `shape`; -1 for none. `size` is how many cells there are."""

    columns: tuple[int, ...]
    shape: tuple[int, ...]
    cells: Ints
    size: int

    @cached_property
    def strides(self) -> Ints:
        """How far apart two combinations are that differ by one level of a column."""
        return np.array(
            [
                int(np.prod(self.shape[place + 1 :], dtype=np.int64))
                for place in range(len(self.shape))
            ],
            dtype=np.int64,
        )

    def shares(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """Return, by cell and combination of levels of some of its columns, the share of the combinations of the other columns that are in the cell."""
        first = [self.columns.index(column) for column in columns]
        rest = [place for place in range(len(self.shape)) if place not in first]
        width = int(np.prod([self.shape[place] for place in first], dtype=np.int64))
        ordered = self.cells.reshape(self.shape).transpose([*first, *rest]).reshape(width, -1)
        at = np.where(ordered >= 0, ordered, self.size) * width + np.arange(width)[:, None]
        counted = np.bincount(at.reshape(-1), minlength=(self.size + 1) * width).reshape(
            self.size + 1, width
        )
        return np.asarray(counted[:-1] / ordered.shape[1])


def lookup_of(tally: CellCounts) -> CellLookup | None:
    """Return the cells of a tally by the levels of its columns; None where these are too many to write out."""
    columns = tuple(sorted(used_columns(tally)))
    shape = tuple(tally.sizes[column] for column in columns)
    if float(np.prod(shape, dtype=float)) > MOST_COMBINATIONS:
        return None
    places = (
        np.indices(shape).reshape(len(shape), -1) if shape else np.zeros((0, 1), dtype=np.int64)
    )
    grid = dict(zip(columns, places, strict=True))
    return CellLookup(
        columns, shape, cells_of(tally, grid, places.shape[1], tally.sizes), tally.size
    )


def counting(tallies: Sequence[CellCounts]) -> list[CellCounts]:
    """Return the tallies whose counts are known or withheld, without those that follow from another of the same output or say the same as one before."""
    chosen: dict[bytes, CellCounts] = {}
    for tally in tallies:
        if COUNT in tally.quantities and not (tally.implied and used_columns(tally)):
            chosen.setdefault(tally.said, tally)
    return list(chosen.values())
