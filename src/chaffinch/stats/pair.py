"""Two tables on one grid, and their counts: whole, and by group of records for intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.seeds import generator
from ..counts.counter import Counter, MemoryCounter, StreamCounter
from ..counts.marginal import Marginal
from ..counts.tally import DENSE_CELLS
from ..table.align import align
from ..table.codes import Codes
from ..table.groups import GROUP, GROUPS, group_column
from ..table.long import LongTable
from ..table.schema import Column, Schema
from ..table.table import Table

DEALT = 1 << 20
"""Records that are dealt at a time."""


@dataclass(frozen=True, eq=False)
class TablePair:
    """An original and a synthetic table with the same schema: same columns, same levels, same bins. Both are in memory, or both in files."""

    original: Table | LongTable
    synthetic: Table | LongTable

    @property
    def schema(self) -> Schema:
        """The schema of both."""
        return self.original.schema

    @property
    def weight(self) -> str | None:
        """The column by which both are counted; None where records are."""
        return self.schema.only("weight")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that are compared: all but the weight."""
        return tuple(name for name in self.schema.names if name != self.weight)

    @property
    def sizes(self) -> dict[str, int]:
        """The number of codes of each column."""
        return dict(zip(self.schema.names, self.schema.sizes, strict=True))

    @cached_property
    def totals(self) -> tuple[float, float]:
        """What the counts of each table add up to: its records, or their weights."""

        def total(table: Table | LongTable) -> float:
            return float(
                table.n_rows
                if self.weight is None or isinstance(table, LongTable)
                else table.weights(self.weight).sum()
            )

        return total(self.original), total(self.synthetic)

    @cached_property
    def tables(self) -> tuple[Table | LongTable, Table | LongTable]:
        """Original, synthetic."""
        return self.original, self.synthetic

    @property
    def in_memory(self) -> tuple[Table, Table]:
        """The same tables, for measures that need their rows."""
        first, second = self.tables
        assert isinstance(first, Table)
        assert isinstance(second, Table)
        return first, second

    def marginals(self, cliques: Sequence[Sequence[str]]) -> tuple[list[Marginal], list[Marginal]]:
        """Return the marginals of the original and of the synthetic table."""
        first, second = (
            counter_of(table, weight=self.weight).marginals(cliques) for table in self.tables
        )
        return first, second

    def marginals_of_groups(
        self, cliques: Sequence[Sequence[str]], *, dense_cells: int = DENSE_CELLS
    ) -> tuple[list[Marginal], list[Marginal]]:
        """Return the same with the group of records (see `grouped`) as the first column."""
        wide = [(GROUP, *clique) for clique in cliques]
        first, second = (
            counter_of(table, weight=self.weight, dense_cells=dense_cells).marginals(wide)
            for table in self._dealt
        )
        return first, second

    def grouped(
        self, cliques: Sequence[Sequence[str]]
    ) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
        """Return counts by group for each clique, original and synthetic: the first axis is the group.

        Records of each table are dealt at random (always in the same way) into `GROUPS` groups of nearly equal size.
        """
        first, second = (
            [np.asarray(marginal.dense()) for marginal in marginals]
            for marginals in self.marginals_of_groups(cliques, dense_cells=1 << 26)
        )
        return first, second

    @cached_property
    def _dealt(self) -> tuple[Table | LongTable, Table | LongTable]:
        first, second = (_dealt(table) for table in self.tables)
        return first, second


def pair_up(original: Table | LongTable, synthetic: Any) -> TablePair:
    """Return two tables on the grid of the original; `synthetic` may be a table, a path or a frame. Files are on one grid already."""
    if isinstance(original, LongTable):
        return TablePair(original, synthetic)
    first, second = align(original, synthetic)
    return TablePair(first, second)


def counter_of(
    table: Table | LongTable, *, weight: str | None = None, dense_cells: int = DENSE_CELLS
) -> Counter:
    """Return what counts a table, in memory, from its file, or where it is."""
    if isinstance(table, LongTable) and table.remote is not None:
        counter: Counter = table.remote.counter(
            table.schema[GROUP] if GROUP in table.schema.names else group_column(), dense_cells
        )
        return counter
    if isinstance(table, LongTable):
        return StreamCounter(table, dense_cells=dense_cells)
    return MemoryCounter(table, weight=weight, dense_cells=dense_cells)


def deal(n_rows: int, person_of: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
    """Return the group of each record: dealt at random, always in the same way, into groups of nearly equal size.

    Rows of one person are dealt together.
    """
    if person_of is None:
        return dealer(n_rows)(0, n_rows)
    persons, numbers = np.unique(person_of, return_inverse=True)
    return deal(len(persons))[numbers]


def dealer(
    n_rows: int, person_of: NDArray[np.int64] | None = None
) -> Callable[[int, int], NDArray[np.uint8]]:
    """Return what gives the groups of the records between two places, as `deal` has them for all: without persons they are not held."""
    if person_of is not None:
        groups = deal(n_rows, person_of)
        return lambda start, stop: groups[start:stop]

    @lru_cache(maxsize=1)
    def block(number: int) -> NDArray[np.uint8]:
        rows = np.arange(number * DEALT, min((number + 1) * DEALT, n_rows))
        groups = (rows % GROUPS).astype(np.uint8)
        generator(np.random.SeedSequence(0, spawn_key=(number,)) if number else 0).shuffle(groups)
        return groups

    def between(start: int, stop: int) -> NDArray[np.uint8]:
        parts = [
            block(number)[max(start - number * DEALT, 0) : stop - number * DEALT]
            for number in range(start // DEALT, -(-stop // DEALT))
        ]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint8)

    return between


def _dealt(table: Table | LongTable) -> Table | LongTable:
    """Return the table with a column that says to which group a record belongs."""
    column = group_column()
    if isinstance(table, LongTable) and table.remote is not None:
        return dealt_there(table, column)
    if isinstance(table, LongTable):
        return table.with_codes(column, dealer(table.n_rows))
    group = deal(table.n_rows, table.person_of)
    schema = replace(table.schema, columns=(column, *table.schema.columns))
    codes = [group, *(table.codes[j] for j in range(len(table.codes)))]
    return Table(schema, table.data, Codes.of(codes, (GROUPS, *table.codes.sizes)))


def dealt_there(table: LongTable, column: Column) -> LongTable:
    """Return a table that stays elsewhere under the schema with a column of groups, into which its records are dealt there."""
    return replace(table, schema=replace(table.schema, columns=(column, *table.schema.columns)))
