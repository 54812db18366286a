"""Two tables on one grid, and their counts: whole, and by group of records for intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.seeds import generator
from ..counts.marginal import Marginal
from ..counts.memory import MemoryCounter
from ..table.align import align
from ..table.codec import Categories
from ..table.codes import Codes
from ..table.schema import Column, Schema
from ..table.table import Table

__all__ = ["GROUP", "GROUPS", "TablePair", "deal", "pair_up"]

GROUPS = 20
"""Groups of records that are left out in turn for an interval."""

GROUP = "\x00group"
"""The name of the column of groups: none that a file has."""


@dataclass(frozen=True, eq=False)
class TablePair:
    """An original and a synthetic table with the same schema: same columns, same levels, same bins."""

    original: Table
    synthetic: Table

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
        weights = self.row_weights
        first, second = (float(table.n_rows if w is None else w.sum()) for table, w in zip(self.tables, weights, strict=True))
        return first, second

    @cached_property
    def row_weights(self) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
        """The weight of each row of each table; None where records are counted."""
        if self.weight is None:
            return None, None
        first, second = (table.weights(self.weight) for table in self.tables)
        return first, second

    @cached_property
    def tables(self) -> tuple[Table, Table]:
        """Original, synthetic."""
        return self.original, self.synthetic

    def marginals(self, cliques: Sequence[Sequence[str]]) -> tuple[list[Marginal], list[Marginal]]:
        """Return the marginals of the original and of the synthetic table."""
        first, second = (MemoryCounter(table, weight=self.weight).marginals(cliques) for table in self.tables)
        return first, second

    def grouped(self, cliques: Sequence[Sequence[str]]) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
        """Return counts by group for each clique, original and synthetic: the first axis is the group.

        Records of each table are dealt at random (always in the same way) into `GROUPS` groups of nearly equal size.
        """
        wide = [(GROUP, *clique) for clique in cliques]
        first, second = (
            [np.asarray(m.dense()) for m in MemoryCounter(table, weight=self.weight, dense_cells=1 << 26).marginals(wide)]
            for table in self._dealt
        )
        return first, second

    @cached_property
    def _dealt(self) -> tuple[Table, Table]:
        first, second = (_dealt(table) for table in self.tables)
        return first, second


def pair_up(original: Table, synthetic: Any) -> TablePair:
    """Return two tables on the grid of the original; `synthetic` may be a table, a path or a frame."""
    first, second = align(original, synthetic)
    return TablePair(first, second)


def deal(n_rows: int, person_of: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
    """Return the group of each record: dealt at random, always in the same way, into groups of nearly equal size.

    Rows of one person are dealt together.
    """
    if person_of is None:
        return generator(0).permutation(np.arange(n_rows) % GROUPS).astype(np.uint8)
    persons, numbers = np.unique(person_of, return_inverse=True)
    return deal(len(persons))[numbers]


def _dealt(table: Table) -> Table:
    """Return the table with a column that says to which group a record belongs."""
    group = deal(table.n_rows, table.person_of)
    column = Column(GROUP, "categorical", codec=Categories(tuple(range(GROUPS))))
    schema = replace(table.schema, columns=(column, *table.schema.columns))
    codes = [group, *(table.codes[j] for j in range(len(table.codes)))]
    return Table(schema, table.data, Codes.of(codes, (GROUPS, *table.codes.sizes)))
