"""Two tables on the grid of phi_k, and phi_k of every pair of columns: of all records, and without each group of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..counts.marginal import Marginal
from ..counts.memory import MemoryCounter
from ..stats.pair import GROUP, TablePair, deal
from ..table.codec import Categories
from ..table.codes import Codes, narrowest
from ..table.grid import to_numbers
from ..table.schema import NUMERIC_KINDS, Column
from ..table.table import Table
from .marginals import in_runs
from .phi_k_coefficient import ContingencyCells

__all__ = ["PhiKGrid", "batches", "grid_of", "phi_k_of_pairs", "with_and_without"]

Floats = NDArray[np.float64]

MOST_CELLS = 1 << 22
"""Cells (all groups of records) that are counted at once: 32 MB a table; more pairs are taken in turn."""


@dataclass(frozen=True, eq=False)
class PhiKGrid:
    """Two tables of small codes with a column of groups, and which columns and how many of their levels count."""

    tables: tuple[Table, Table]
    groups: int
    usable: tuple[str, ...]
    levels: Mapping[str, int]

    def size(self, name: str) -> int:
        """Return the number of codes of a column."""
        return self.tables[0].schema[name].size


def grid_of(pair: TablePair, bins: int | Literal["schema"], groups: int, *, drop: bool) -> PhiKGrid:
    """Return both tables on the grid; usable are the columns of which either table, or both together, use two levels."""
    columns = [Column(GROUP, "categorical", codec=Categories(tuple(range(groups))))]
    codes: list[list[NDArray[Any]]] = [[deal(table.n_rows, table.person_of) % groups] for table in pair.tables]
    levels: dict[str, int] = {}
    usable = []
    for column in pair.schema:
        assert column.codec is not None
        size, n_values = column.codec.size, column.codec.n_values
        coded: Sequence[NDArray[Any]] = [table.code(column.name) for table in pair.tables]
        if bins != "schema" and column.kind in NUMERIC_KINDS:
            coded = _binned(pair, column, bins)
            size, n_values = size - n_values + bins, bins
        levels[column.name] = n_values if drop else size
        used = np.bincount(coded[0], minlength=size) + np.bincount(coded[1], minlength=size)
        if np.count_nonzero(used[: levels[column.name]]) >= 2:
            usable.append(column.name)
        columns.append(Column(column.name, "categorical", codec=Categories(tuple(range(size)))))
        for columns_of_table, column_codes in zip(codes, coded, strict=True):
            columns_of_table.append(column_codes)
    schema = replace(pair.schema, columns=tuple(columns))
    first, second = (
        Table(schema, table.data, Codes.of(arrays, schema.sizes))
        for table, arrays in zip(pair.tables, codes, strict=True)
    )
    return PhiKGrid((first, second), groups, tuple(usable), levels)


def _binned(pair: TablePair, column: Column, bins: int) -> list[NDArray[Any]]:
    """Return the bin of each number, right-closed and of equal width over the original's range; then missing levels."""
    assert column.codec is not None
    n_values = column.codec.n_values
    edges: Floats | None = None
    out = []
    for table in pair.tables:
        code = table.code(column.name)
        absent = code >= n_values
        numbers = to_numbers(table.data.column(column.name))[0].astype(np.float64)
        if edges is None:
            edges = _edges(numbers[~absent & np.isfinite(numbers)], bins)
        binned = np.searchsorted(edges, numbers, side="left").astype(narrowest(column.codec.size - n_values + bins))
        binned[absent] = (code[absent] - n_values + bins).astype(binned.dtype)
        out.append(binned)
    return out


def _edges(numbers: Floats, bins: int) -> Floats:
    """Return the inner edges of the bins: from just below the lowest number, as the phik library has them; none if constant."""
    if not len(numbers) or numbers.min() == numbers.max():
        return np.empty(0)
    low = float(numbers.min())
    return np.linspace(low - max(1e-14 * abs(low), np.finfo(np.float64).tiny), float(numbers.max()), bins + 1)[1:-1]


def batches(grid: PhiKGrid) -> Iterator[list[tuple[str, str]]]:
    """Yield the pairs of usable columns, in order, in runs whose counts fit in memory together."""
    return in_runs(combinations(grid.usable, 2), lambda pair: grid.groups * prod(map(grid.size, pair)), MOST_CELLS)


def phi_k_of_pairs(grid: PhiKGrid, pairs: list[tuple[str, str]], noise_correction: bool) -> Floats:
    """Return phi_k of pairs of columns: original and synthetic; of all records, then without each group; by pair."""
    cliques = [(GROUP, *pair) for pair in pairs]
    firsts, seconds = (MemoryCounter(table).marginals(cliques) for table in grid.tables)
    listed = [_listed(a, b) for a, b in zip(firsts, seconds, strict=True)]
    which = np.repeat(np.arange(len(pairs)), [len(keys) for keys, _, _ in listed])
    sizes = np.array([a.sizes[1:] for a in firsts])
    levels = np.array([[grid.levels[name] for name in pair] for pair in pairs])
    row, column = np.divmod(np.concatenate([keys for keys, _, _ in listed]), sizes[which, 1])
    counts = [np.concatenate([entry[t] for entry in listed], axis=1) for t in (1, 2)]
    filled = counts[0].any(axis=0) | counts[1].any(axis=0)
    keep = np.flatnonzero(filled & (row < levels[which, 0]) & (column < levels[which, 1]))
    which, row, column = which[keep], row[keep], column[keep]
    starts = np.cumsum(sizes, axis=0) - sizes
    of_row, of_column = (np.repeat(np.arange(len(pairs)), sizes[:, axis]) for axis in (0, 1))
    cells = ContingencyCells(which, row + starts[which, 0], column + starts[which, 1], of_row, of_column, len(pairs))
    sets = [with_and_without(part[:, keep].astype(np.float64)) for part in counts]
    shapes = cells.used(sets[0][0] + sets[1][0])
    return np.stack([cells.phi_k(part, shapes, noise_correction=noise_correction) for part in sets])


def with_and_without(by_group: Floats) -> Floats:
    """Return the sum over groups, then the sums without each group; the sum alone where there is one group."""
    total = by_group.sum(axis=0)
    return np.concatenate([total[None], total - by_group]) if len(by_group) > 1 else total[None]


def _listed(first: Marginal, second: Marginal) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]:
    """Return the cells of two columns, as row times columns plus column, and both tables' counts by group.

    All cells of dense marginals; of sparse ones those that either table fills.
    """
    groups, rows, columns = first.sizes
    if first.cells is None and second.cells is None:
        return np.arange(rows * columns), first.counts.reshape(groups, -1), second.counts.reshape(groups, -1)
    filled = [m.nonzero() for m in (first, second)]
    each = [cells[:, 1].astype(np.int64) * columns + cells[:, 2] for cells, _ in filled]
    keys = np.unique(np.concatenate(each))
    counts = [np.zeros((groups, len(keys)), dtype=np.int64) for _ in filled]
    for tally, key, (cells, values) in zip(counts, each, filled, strict=True):
        tally[cells[:, 0], np.searchsorted(keys, key)] = values
    return keys, counts[0], counts[1]
