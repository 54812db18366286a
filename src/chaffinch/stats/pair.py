"""Two tables with one schema, and their counts: of all records, and by group of records for
intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.seeds import generator
from ..counts.counter import counter_of
from ..counts.marginal import Marginal
from ..counts.tally import DENSE_CELLS
from ..table.align import align
from ..table.codes import Codes
from ..table.groups import GROUP, GROUPS, group_column
from ..table.rows import Names, Rows, Step
from ..table.schema import Schema
from ..table.table import Table

DEALT = 1 << 20
"""Records that are dealt at a time."""


@dataclass(frozen=True, eq=False)
class TablePair:
    """An original and a synthetic table with the same schema: same columns, levels and bins. Both
    are on the same engine.
    """

    original: Rows
    synthetic: Rows

    @property
    def schema(self) -> Schema:
        """The schema of both."""
        return self.original.schema

    @property
    def weight(self) -> str | None:
        """The column of weights of both; None without weights."""
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
        """The total count of each table: its records, or their weights."""

        def total(rows: Rows) -> float:
            if self.weight is None:
                return float(rows.n_rows)
            return float(rows.table().weights(self.weight).sum())

        return total(self.original), total(self.synthetic)

    @cached_property
    def tables(self) -> tuple[Rows, Rows]:
        """Original, synthetic."""
        return self.original, self.synthetic

    def marginals(self, cliques: Sequence[Sequence[str]]) -> tuple[list[Marginal], list[Marginal]]:
        """Return the marginals of the original and of the synthetic table."""
        first, second = (
            counter_of(rows, weight=self.weight).marginals(cliques) for rows in self.tables
        )
        return first, second

    def marginals_of_groups(
        self, cliques: Sequence[Sequence[str]], *, dense_cells: int = DENSE_CELLS
    ) -> tuple[list[Marginal], list[Marginal]]:
        """Return the marginals with the jackknife group (see `grouped`) as the first column."""
        wide = [(GROUP, *clique) for clique in cliques]
        first, second = (
            counter_of(rows, weight=self.weight, dense_cells=dense_cells).marginals(wide)
            for rows in self._grouped
        )
        return first, second

    def grouped(
        self, cliques: Sequence[Sequence[str]]
    ) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
        """Return counts by group for each clique, original and synthetic: the first axis is the
        group.

        Records of each table are dealt at random (always in the same way) into `GROUPS` groups of
        nearly equal size.
        """
        first, second = (
            [np.asarray(marginal.dense()) for marginal in marginals]
            for marginals in self.marginals_of_groups(cliques, dense_cells=1 << 26)
        )
        return first, second

    @cached_property
    def _grouped(self) -> tuple[Rows, Rows]:
        first, second = map(with_groups, self.tables)
        return first, second


def pair_up(original: Any, synthetic: Any) -> TablePair:
    """Return two tables with the schema of the original; `synthetic` may be rows, a path or a
    frame.
    """
    first, second = align(original, synthetic)
    return TablePair(first, second)


def with_groups(rows: Rows, groups: int = GROUPS) -> Rows:
    """Return rows with a first column for the jackknife group of each record; rows that have it are
    returned unchanged.
    """
    if GROUP in rows.schema.names:
        return rows
    schema = replace(rows.schema, columns=(group_column(groups), *rows.schema.columns))
    step = JackknifeGroups(rows.n_rows, schema)
    # The same rows for all who ask: what counts them may remember its answers.
    return rows.once(f"{groups} groups", lambda stack: rows.map(step, schema, notes=rows.notes))


@dataclass(frozen=True, eq=False)
class JackknifeGroups(Step):
    """Assigns records at random, with a fixed seed, to groups of nearly equal size, as the first
    column.

    Rows of one person are dealt together.
    """

    n_rows: int
    schema: Schema

    def needs(self, columns: Names) -> Names:
        """Return the columns without that of the groups."""
        return None if columns is None else [name for name in columns if name != GROUP]

    def __call__(self, chunk: Table) -> Table:
        if chunk.person_of is None:
            last = chunk.first_row + chunk.codes.n_rows
            groups = _groups_between(self.n_rows, chunk.first_row, last)
        else:
            persons, numbers = np.unique(chunk.person_of, return_inverse=True)
            groups = _groups_between(len(persons), 0, len(persons))[numbers]
        codes = [groups % self.schema.sizes[0], *(chunk.codes[j] for j in range(len(chunk.codes)))]
        return replace(
            chunk, schema=self.schema, codes=Codes.from_columns(codes, self.schema.sizes)
        )


def _groups_between(n_rows: int, first: int, last: int) -> NDArray[np.uint8]:
    """Return the groups of the records between two row numbers."""
    blocks = [
        _block_of_groups(n_rows, number)[max(first - number * DEALT, 0) : last - number * DEALT]
        for number in range(first // DEALT, -(-last // DEALT))
    ]
    return np.concatenate(blocks) if blocks else np.zeros(0, dtype=np.uint8)


@lru_cache(maxsize=4)
def _block_of_groups(n_rows: int, number: int) -> NDArray[np.uint8]:
    rows = np.arange(number * DEALT, min((number + 1) * DEALT, n_rows))
    groups = (rows % GROUPS).astype(np.uint8)
    generator(np.random.SeedSequence(0, spawn_key=(number,)) if number else 0).shuffle(groups)
    return groups
