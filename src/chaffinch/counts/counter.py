"""The protocol of counting engines, and the engines for a table in memory and for a file larger
than memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .._base.runtime import Progress, silent
from ..table.refit import rebin_finely
from ..table.rows import CodedBatch, LocalRows, Rows
from ..table.schema import Schema
from ..table.table import Origin, Table
from ..table.weights import weight_sums
from .code_entropies import (
    FEW_ROWS,
    batch_entropies,
    column_entropies,
    nothing_counted,
    table_entropies,
)
from .coded import CodedScan
from .marginal import Marginal
from .plan import Columns
from .tally import DENSE_CELLS, CliqueTally, resolve


@runtime_checkable
class Counter(Protocol):
    """Counts marginals of data that may be in memory, in a file or elsewhere.

    Synthesisers learn from a counter and never see rows, so data can stay where they are.
    """

    @property
    def schema(self) -> Schema:
        """The fitted schema whose codes are counted."""

    @property
    def n_rows(self) -> int:
        """The number of records."""

    def marginals(self, cliques: Sequence[Sequence[str]]) -> list[Marginal]:
        """Return the marginal of each clique (a list of column names), in the order given."""


@runtime_checkable
class RowCounter(Counter, Protocol):
    """A counter that also returns the codes of its rows, in batches and always in the same order:
    trees are counted from these.
    """

    def coded(self) -> Iterator[CodedBatch]:
        """Return batches of the codes of all columns, with the weights of records."""


@runtime_checkable
class EntropyCounter(Counter, Protocol):
    """A counter that returns joint entropies without sending the tables: structure searches use
    these.
    """

    def entropies(self, sets: list[Columns]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the joint entropy in nats and the number of filled cells of each column set; -1
        cells mark a set that is left to `marginals`.
        """


@dataclass(frozen=True, eq=False)
class MemoryCounter:
    """Counts marginals of a table in memory; `weight` names a column to count by instead of by
    records.

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

    def entropies(self, sets: list[Columns]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the joint entropy and the number of filled cells of each column set; -1 cells
        where a set needs too much scratch or records have weights.
        """
        if self.weight is not None or not self.n_rows:
            return nothing_counted(len(sets))
        return table_entropies(self.table.codes, sets, threads=self.threads)

    def coded(self) -> Iterator[CodedBatch]:
        """Return the codes of all rows, in one batch."""
        yield CodedBatch(self.table.codes, self._weights)

    def rebin_finely(self) -> MemoryCounter:
        """Return a counter of the same rows with finer bins of numbers."""
        return replace(self, table=rebin_finely(self.table))

    @property
    def look(self) -> Origin:
        """The format of the table (kind of object, types, file), which drawn tables follow."""
        return self.table.look

    @cached_property
    def _weights(self) -> NDArray[np.float64] | None:
        weights = None if self.weight is None else self.table.weights(self.weight)
        if weights is not None and self.total is not None:
            weights = weights * (self.total / (weight_sums([weights]).total or 1.0))
        return weights


@dataclass(frozen=True, eq=False)
class StreamCounter:
    """Counts marginals of a scanned file: one pass counts any number of cliques.

    Memory is that of the counts asked for and of a few batches, whatever the size of the file. Ask
    for many cliques at a time: each call reads the file once.
    """

    scan: LocalRows | Table | CodedScan
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
        """The sum of scaled weights, which is the number of records; None where weights are not
        scaled.
        """
        return None if self.weight is None else getattr(self.scan, "total_weight", None)

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
        columns = {name for clique in tally.names for name in clique}
        n_read = 0
        for batch in self.scan.batches(columns=columns, weight=self.weight):
            tally.add(batch.codes, batch.weights)
            n_read += batch.codes.n_rows
            self.progress("counting", n_read / max(self.n_rows, 1))
        return tally.marginals()

    def entropies(self, sets: list[Columns]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the joint entropy and the number of filled cells of each column set; -1 cells
        where a set has too many combinations or records have weights.
        """
        if self.weight is not None:
            return nothing_counted(len(sets))
        count = column_entropies if 0 < self.n_rows < FEW_ROWS else batch_entropies
        return count(
            lambda: (batch.codes for batch in self.coded()),
            self.schema.sizes,
            sets,
            self.n_rows,
            threads=self.threads,
        )

    def rebin_finely(self) -> StreamCounter:
        """Return a counter of the same rows with finer bins of numbers."""
        return replace(self, scan=self.scan.rebin_finely(progress=self.progress))  # type: ignore[union-attr]

    @property
    def look(self) -> Origin | None:
        """The format of the file, which drawn tables follow; None where it is not known."""
        return getattr(self.scan, "look", None)

    def coded(self) -> Iterator[CodedBatch]:
        """Return batches of the codes of all columns: each call reads the file once."""
        n_read = 0
        for batch in self.scan.batches(weight=self.weight):
            yield batch
            n_read += batch.codes.n_rows
            self.progress("counting", n_read / max(self.n_rows, 1))


@dataclass(frozen=True, eq=False)
class ReferenceCounter:
    """Counts marginals row by row. For tests and for reading: hours where the others take a
    second.
    """

    table: Table
    weight: str | None = None

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
        weights = (
            [1] * self.n_rows if self.weight is None else self.table.weights(self.weight).tolist()
        )
        dtype = np.int64 if self.weight is None else np.float64
        out = []
        for clique in cliques:
            positions = resolve(self.schema, clique)
            sizes = tuple(self.schema.sizes[j] for j in positions)
            totals: dict[tuple[int, ...], float] = {}
            for row in range(self.n_rows):
                cell = tuple(int(self.table.codes[j][row]) for j in positions)
                totals[cell] = totals.get(cell, 0) + weights[row]
            cells = sorted(cell for cell, value in totals.items() if value)
            counts = np.array([totals[cell] for cell in cells], dtype=dtype)
            sparse = Marginal(
                tuple(clique),
                sizes,
                counts,
                np.array(cells, dtype=np.uint32).reshape(len(cells), len(sizes)),
            )
            small = prod(sizes) <= 1 << 16
            out.append(Marginal(sparse.columns, sizes, sparse.dense()) if small else sparse)
        return out

    def rebin_finely(self) -> ReferenceCounter:
        """Return a counter of the same rows with finer bins of numbers."""
        return replace(self, table=rebin_finely(self.table))

    def coded(self) -> Iterator[CodedBatch]:
        """Return the codes of all rows, in one batch."""
        yield CodedBatch(
            self.table.codes, None if self.weight is None else self.table.weights(self.weight)
        )


def counter_of(
    rows: Rows,
    *,
    weight: str | None = None,
    dense_cells: int = DENSE_CELLS,
    threads: int | None = None,
    progress: Progress = silent,
) -> Counter:
    """Return the counter of rows: the engine's own, or one that streams chunks."""
    counter = rows.counter(dense_cells)
    if counter is not None:
        return counter
    return StreamCounter(rows, weight, dense_cells, threads, progress)  # type: ignore[arg-type]
