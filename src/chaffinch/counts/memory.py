"""Counting a table in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..table.scan import CodedBatch
from ..table.schema import Schema
from ..table.table import Table
from ..table.weights import weight_sums
from .marginal import Marginal
from .tally import DENSE_CELLS, CliqueTally


@dataclass(frozen=True, eq=False)
class MemoryCounter:
    """Counts marginals of a table in memory; `weight` names a column to count by instead of by records.

    `total`: what weights are scaled to add up to; None: they stay as they are.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> table = chaffinch.read(pa.table({"sex": ["f", "m"] * 30, "ill": ["no", "no", "yes"] * 20}))
    >>> MemoryCounter(table).marginals([("sex", "ill")])[0].counts
    array([[20, 10],
           [20, 10]])
    """

    table: Table
    weight: str | None = None
    dense_cells: int = DENSE_CELLS
    threads: int | None = None
    total: float | None = None

    def __post_init__(self) -> None:
        if self.weight is not None:
            self.table.weights(self.weight)  # raises for an unknown or unfit column

    @property
    def schema(self) -> Schema:
        """The fitted schema of the table."""
        return self.table.schema

    @property
    def n_rows(self) -> int:
        """The number of records."""
        return self.table.n_rows

    def marginals(self, cliques: Sequence[Sequence[str]]) -> list[Marginal]:
        """Return the marginal of each clique, in the order given."""
        weights = self._weights
        tally = CliqueTally(
            self.schema,
            cliques,
            weighted=weights is not None,
            dense_cells=self.dense_cells,
            threads=self.threads,
            n_rows=self.n_rows,
        )
        tally.add(self.table.codes, weights)
        return tally.marginals()

    def coded(self) -> Iterator[CodedBatch]:
        """Return the codes of all rows, in one batch."""
        yield CodedBatch(self.table.codes, self._weights)

    @cached_property
    def _weights(self) -> NDArray[np.float64] | None:
        weights = None if self.weight is None else self.table.weights(self.weight)
        if weights is not None and self.total is not None:
            weights = weights * (self.total / (weight_sums([weights]).total or 1.0))
        return weights
