"""Counting a file larger than memory, one batch of rows after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._base.runtime import Progress, silent
from ..table.long import LongTable
from ..table.scan import CodedBatch, Scan
from ..table.schema import Schema
from .batch_entropies import batch_entropies
from .coded import CodedScan
from .counter import Columns
from .marginal import Marginal
from .row_entropies import FEW_ROWS, column_entropies
from .tally import DENSE_CELLS, CliqueTally


@dataclass(frozen=True, eq=False)
class StreamCounter:
    """Counts marginals of a scanned file: one pass counts any number of cliques.

    Memory is that of the counts asked for and of a few batches, whatever the size of the file. Ask for
    many cliques at a time: each call reads the file once.
    """

    scan: Scan | CodedScan | LongTable
    weight: str | None = None
    dense_cells: int = DENSE_CELLS
    threads: int | None = None
    progress: Progress = silent

    @property
    def schema(self) -> Schema:
        """The fitted schema of the file."""
        return self.scan.schema

    @property
    def n_rows(self) -> int:
        """The number of records, known from the pass that read the schema."""
        return self.scan.n_rows

    @property
    def total(self) -> float | None:
        """What weights add up to where they are scaled, as those of a cache of codes are: as many records as they tell of; None otherwise."""
        weights = (
            self.scan.weights
            if self.weight is not None and isinstance(self.scan, CodedScan)
            else None
        )
        return None if weights is None or weights.sums is None else weights.sums.effective_rows

    def marginals(self, cliques: Sequence[Sequence[str]]) -> list[Marginal]:
        """Return the marginal of each clique, in the order given."""
        tally = CliqueTally(
            self.schema,
            cliques,
            weighted=self.weight is not None,
            dense_cells=self.dense_cells,
            threads=self.threads,
            n_rows=self.n_rows,
        )
        wanted = {name for clique in tally.names for name in clique}
        seen = 0
        for batch in self.scan.batches(columns=wanted, weight=self.weight):
            tally.add(batch.codes, batch.weights)
            seen += batch.codes.n_rows
            self.progress("counting", seen / max(self.n_rows, 1))
        return tally.marginals()

    def entropies(self, sets: list[Columns]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the joint entropy and the number of filled cells of each set; -1 cells, where a set has too many or records have weights."""
        if self.weight is not None:
            return np.zeros(len(sets)), np.full(len(sets), -1, dtype=np.int64)
        count = column_entropies if 0 < self.n_rows < FEW_ROWS else batch_entropies
        return count(
            lambda: (batch.codes for batch in self.coded()),
            self.schema.sizes,
            sets,
            self.n_rows,
            threads=self.threads,
        )

    def coded(self) -> Iterator[CodedBatch]:
        """Return batches of the codes of all columns: each call reads the file once."""
        seen = 0
        for batch in self.scan.batches(weight=self.weight):
            yield batch
            seen += batch.codes.n_rows
            self.progress("counting", seen / max(self.n_rows, 1))
