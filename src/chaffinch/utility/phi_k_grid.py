"""Two tables on the grid of phi_k, and phi_k of every pair of columns: of all records, and without each group of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..counts.marginal import Marginal
from ..stats.pair import TablePair, counter_of, deal, dealer, dealt_there
from ..table.codec import Categories
from ..table.codes import Codes, narrowest
from ..table.groups import GROUP, group_column
from ..table.long import LongTable, summaries_of
from ..table.schema import NUMERIC_KINDS, Column, Schema
from ..table.table import Table
from ..table.types import to_numbers
from .marginals import in_runs
from .phi_k_coefficient import ContingencyCells

Floats = NDArray[np.float64]

MOST_CELLS = 1 << 22
"""Cells (all groups of records) that are counted at once: 32 MB a table; more pairs are taken in turn."""


@dataclass(frozen=True, eq=False)
class PhiKGrid:
    """Two tables of small codes with a column of groups, and which columns and how many of their levels count."""

    tables: tuple[Table | LongTable, Table | LongTable]
    groups: int
    usable: tuple[str, ...]
    levels: Mapping[str, int]

    def size(self, name: str) -> int:
        """Return the number of codes of a column."""
        return self.tables[0].schema[name].size


def grid_of(pair: TablePair, bins: int | Literal["schema"], groups: int, *, drop: bool) -> PhiKGrid:
    """Return both tables on the grid; usable are the columns of which either table, or both together, use two levels."""
    columns, levels, cut = [], {}, {}
    edges = _ranges(pair.original, bins) if isinstance(bins, int) else {}
    for column in pair.schema:
        assert column.codec is not None
        size, n_values = column.codec.size, column.codec.n_values
        if column.name in edges:
            size, n_values = (
                size - n_values + len(edges[column.name]) + 1,
                len(edges[column.name]) + 1,
            )
            cut[column.name] = edges[column.name]
        levels[column.name] = n_values if drop else size
        columns.append(Column(column.name, "categorical", codec=Categories(tuple(range(size)))))
    schema = replace(pair.schema, columns=tuple(columns))

    coded = _GridCodes(tuple(pair.schema), cut)
    first, second = (_on_grid(table, schema, coded, groups) for table in pair.tables)
    counts = [
        counter_of(table).marginals([(column.name,) for column in columns])
        for table in (first, second)
    ]
    usable = tuple(
        column.name
        for column, ours, theirs in zip(columns, *counts, strict=True)
        if np.count_nonzero((ours.dense() + theirs.dense())[: levels[column.name]]) >= 2
    )
    return PhiKGrid((first, second), groups, usable, levels)


@dataclass(frozen=True, eq=False)
class _GridCodes:
    """What makes codes of the grid of a part: numbers by the inner edges of their bins, all else as the schema has it. It may travel."""

    columns: tuple[Column, ...]
    cut: Mapping[str, Floats]

    def __call__(self, part: Table) -> list[NDArray[Any]]:
        return [
            _binned(part, column, self.cut[column.name])
            if column.name in self.cut
            else part.code(column.name)
            for column in self.columns
        ]


def _on_grid(
    table: Table | LongTable,
    schema: Schema,
    coded: Callable[[Table], list[NDArray[Any]]],
    groups: int,
) -> Table | LongTable:
    """Return a table under the codes of the grid, with a column of groups before the others."""
    column = group_column(groups)
    if isinstance(table, LongTable) and table.remote is not None:
        return dealt_there(
            table.once(f"phi_k {schema.sizes}", lambda: table.recoded(schema, coded)), column
        )
    if isinstance(table, LongTable):
        dealt, recoded = (
            dealer(table.n_rows),
            table.once(f"phi_k {schema.sizes}", lambda: table.recoded(schema, coded)),
        )
        return recoded.with_codes(column, lambda start, stop: dealt(start, stop) % groups)
    group = deal(table.n_rows, table.person_of) % groups
    wide = replace(schema, columns=(column, *schema.columns))
    return Table(wide, table.data, Codes.of([group, *coded(table)], wide.sizes))


def _ranges(original: Table | LongTable, bins: int) -> dict[str, Floats]:
    """Return the inner edges of bins of equal width over the original's range of each column of numbers."""
    ends = (
        original.once("ranges", lambda: _ends(original))
        if isinstance(original, LongTable)
        else _ends(original)
    )
    return {name: _edges(*both, bins) for name, both in ends.items()}


def _ends(original: Table | LongTable) -> dict[str, tuple[float, float]]:
    """Return the lowest and the highest number of each column of numbers; 0 and 0 where it has none."""
    columns = tuple(column for column in original.schema if column.kind in NUMERIC_KINDS)
    low, high = np.full(len(columns), np.inf), np.full(len(columns), -np.inf)
    for own in (
        summaries_of(original, _EndsOfNumbers(columns), [column.name for column in columns])
        if columns
        else ()
    ):
        low, high = (
            np.minimum(low, own.column("low").to_numpy()),
            np.maximum(high, own.column("high").to_numpy()),
        )
    return {
        column.name: (float(low[j]), float(high[j])) if low[j] <= high[j] else (0.0, 0.0)
        for j, column in enumerate(columns)
    }


@dataclass(frozen=True, eq=False)
class _EndsOfNumbers:
    """What finds the lowest and the highest number of each column in parts: infinite the wrong way round where there is none. It may travel."""

    columns: tuple[Column, ...]

    def __call__(self, parts: Iterator[Table]) -> pa.Table:
        low, high = np.full(len(self.columns), np.inf), np.full(len(self.columns), -np.inf)
        for part in parts:
            for j, column in enumerate(self.columns):
                numbers = to_numbers(part.data.column(column.name))[0].astype(np.float64)
                numbers = numbers[
                    (part.code(column.name) < column.fitted_codec.n_values) & np.isfinite(numbers)
                ]
                low[j], high[j] = numbers.min(initial=low[j]), numbers.max(initial=high[j])
        return pa.table({"low": low, "high": high})


def _binned(part: Table, column: Column, edges: Floats) -> NDArray[Any]:
    """Return the bin of each number, right-closed; then missing levels."""
    n_values, bins = column.fitted_codec.n_values, len(edges) + 1
    code = part.code(column.name)
    absent = code >= n_values
    numbers = to_numbers(part.data.column(column.name))[0].astype(np.float64)
    binned = np.searchsorted(edges, numbers, side="left").astype(
        narrowest(column.fitted_codec.size - n_values + bins)
    )
    binned[absent] = (code[absent] - n_values + bins).astype(binned.dtype)
    return binned


def _edges(low: float, high: float, bins: int) -> Floats:
    """Return the inner edges of the bins: from just below the lowest number, as the phik library has them; one place for all if constant."""
    if low == high:
        return np.full(bins - 1, np.inf)
    return np.linspace(low - max(1e-14 * abs(low), np.finfo(np.float64).tiny), high, bins + 1)[1:-1]


def batches(grid: PhiKGrid) -> Iterator[list[tuple[str, str]]]:
    """Yield the pairs of usable columns, in order, in runs whose counts fit in memory together."""
    return in_runs(
        combinations(grid.usable, 2),
        lambda pair: grid.groups * prod(map(grid.size, pair)),
        MOST_CELLS,
    )


def phi_k_of_pairs(grid: PhiKGrid, pairs: list[tuple[str, str]], noise_correction: bool) -> Floats:
    """Return phi_k of pairs of columns: original and synthetic; of all records, then without each group; by pair."""
    cliques = [(GROUP, *pair) for pair in pairs]
    firsts, seconds = (counter_of(table).marginals(cliques) for table in grid.tables)
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
    cells = ContingencyCells(
        which, row + starts[which, 0], column + starts[which, 1], of_row, of_column, len(pairs)
    )
    sets = [with_and_without(part[:, keep].astype(np.float64)) for part in counts]
    shapes = cells.used(sets[0][0] + sets[1][0])
    return np.stack([cells.phi_k(part, shapes, noise_correction=noise_correction) for part in sets])


def with_and_without(by_group: Floats) -> Floats:
    """Return the sum over groups, then the sums without each group; the sum alone where there is one group."""
    total = by_group.sum(axis=0)
    return np.concatenate([total[None], total - by_group]) if len(by_group) > 1 else total[None]


def _listed(
    first: Marginal, second: Marginal
) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]:
    """Return the cells of two columns, as row times columns plus column, and both tables' counts by group.

    All cells of dense marginals; of sparse ones those that either table fills.
    """
    groups, rows, columns = first.sizes
    if first.cells is None and second.cells is None:
        return (
            np.arange(rows * columns),
            first.counts.reshape(groups, -1),
            second.counts.reshape(groups, -1),
        )
    filled = [m.nonzero() for m in (first, second)]
    each = [cells[:, 1].astype(np.int64) * columns + cells[:, 2] for cells, _ in filled]
    keys = np.unique(np.concatenate(each))
    counts = [np.zeros((groups, len(keys)), dtype=np.int64) for _ in filled]
    for tally, key, (cells, values) in zip(counts, each, filled, strict=True):
        tally[cells[:, 0], np.searchsorted(keys, key)] = values
    return keys, counts[0], counts[1]
