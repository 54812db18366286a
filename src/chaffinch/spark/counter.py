"""Counting on a cluster: the same marginals as on one machine, for any number of partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from math import ceil, prod
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._base.errors import ClusterError, TooLargeError
from ..counts.marginal import Marginal
from ..counts.plan import Columns
from ..counts.tally import DENSE_CELLS, resolve
from ..table.schema import Schema
from .blocks import BlockSource, CodeColumns, sum_hashes
from .counting import (
    CELL_SHAPE,
    PIECE_CELLS,
    PIECE_SHAPE,
    ROWS,
    SPREAD_SHAPE,
    CountCells,
    CountPieces,
    ReducePieces,
    SumPieces,
    marginal_of_cells,
    unpack_counts,
)
from .jobs import collect_table, map_partitions
from .session import parallelism, session_of, spark_functions

MAX_COLLECTED = 1 << 26
"""Cells of dense tables that one call brings to the driver, at most: 512 MiB of counts."""

MAX_PARTS = 1 << 21
"""Cells of all tasks together that the driver adds up itself, at most: it is quicker than a stage
of tasks that do.
"""

MAX_SPARSE_CELLS = 1 << 24
"""Filled cells of large tables that one call brings to the driver, at most."""

CELLS_A_TASK = 1 << 22
"""Cells that one task adds up: 32 MiB of counts."""

MAX_TASKS = 1024
"""Tasks that add up, at most."""


@dataclass(frozen=True)
class RowsSeen:
    """The number of rows of a pass and the sum of their hashes, which must not change between
    passes.
    """

    n_rows: int
    checksum: int

    def check(self, later: RowsSeen, where: str = "") -> None:
        """Raise ClusterError unless a later pass saw the same rows; `where` ends the sentence."""
        if self != later:
            what = (
                "another number of rows"
                if self.n_rows != later.n_rows
                else "as many rows, but other values"
            )
            raise ClusterError(
                f"The data changed between passes: a later one saw {what}{where}. Write the DataFrame to a table first, or fix what makes it differ each time it "
                "is computed (a function of its own, a limit without an order, a table that others write to), and read that."
            )

    def __add__(self, other: RowsSeen) -> RowsSeen:
        checksums = np.array([self.checksum, other.checksum], dtype=np.int64)
        return RowsSeen(self.n_rows + other.n_rows, sum_hashes(checksums))


@dataclass(frozen=True)
class PartitionRows:
    """The rows and hashes of a first pass, by the number of each partition that has rows."""

    seen: Mapping[int, RowsSeen]

    @cached_property
    def total(self) -> RowsSeen:
        """The rows and hashes of all partitions."""
        return sum(self.seen.values(), RowsSeen(0, 0))

    @cached_property
    def first_rows(self) -> dict[int, int]:
        """The number of the first row of each partition, with rows numbered in the order of
        partitions.
        """
        numbers = sorted(self.seen)
        ends = accumulate(self.seen[number].n_rows for number in numbers)
        return dict(zip(numbers, [0, *ends], strict=False))

    def check(self, number: int, later: RowsSeen) -> None:
        """Raise ClusterError unless a later pass saw the same rows in a partition."""
        self.seen.get(number, RowsSeen(0, 0)).check(later, " in a partition")


@dataclass(frozen=True, eq=False)
class SparkCounter:
    """Counts marginals of blocks of codes, held by Spark or in a folder that all workers see. Make
    one with `SparkScan.coded`.

    Each call of `marginals` and of `entropies` is one job (two where tables have more than 2^22
    cells): ask for many at a time. Rows stay where they are: counts alone come to the driver.
    `n_tasks`: how many tasks count, where that is known. Use it in a `with` block: `close` removes
    the cached codes, which are as confidential as the data.
    """

    frame: Any
    source: BlockSource
    schema: Schema
    rows: RowsSeen
    dense_cells: int = DENSE_CELLS
    n_tasks: int | None = None
    on_close: Callable[[], None] = lambda: None
    _state: dict[str, bool] = field(default_factory=lambda: {"closed": False}, repr=False)

    @property
    def n_rows(self) -> int:
        """The number of records, known from the first pass."""
        return self.rows.n_rows

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the cached codes. Marginals that were counted stay valid; no more can be
        counted.
        """
        if not self._state["closed"]:
            self._state["closed"] = True
            self.on_close()

    def marginals(self, cliques: Sequence[Sequence[str]]) -> list[Marginal]:
        """Return the marginal of each clique, in the order given."""
        tables = self._tables(cliques)
        dense = [q for q, table in enumerate(tables) if table.n_cells <= self.dense_cells]
        if (total := sum(tables[q].n_cells for q in dense)) > MAX_COLLECTED:
            raise TooLargeError(
                f"{len(dense):,} marginals with {total:,} cells together are over the limit of {MAX_COLLECTED:,} for the driver of a cluster. Ask for "
                "fewer at a time, or use fewer bins."
            )
        results = (
            dict(zip(dense, self._dense([tables[q] for q in dense]), strict=True))
            if dense or not tables
            else {}
        )
        sparse = [q for q in range(len(tables)) if q not in results]
        if sparse:
            results |= zip(sparse, self._sparse([tables[q] for q in sparse]), strict=True)
        return [results[q] for q in range(len(tables))]

    def entropies(self, sets: list[Columns]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the joint entropy in nats of each column set, and the number of its combinations
        that occur: 16 bytes for each piece of a table are sent.
        """
        names = self.schema.names
        tables = self._tables([[names[j] for j in columns] for columns in sets])
        spread, filled = np.zeros(len(tables)), np.zeros(len(tables), dtype=np.int64)
        dense = [q for q, table in enumerate(tables) if table.n_cells <= self.dense_cells]
        sparse = [q for q in range(len(tables)) if tables[q].n_cells > self.dense_cells]
        if dense:
            lengths = tuple(tables[q].n_cells for q in dense)
            pieces = self._pieces([tables[q] for q in dense])
            sums = self._checked(
                collect_table(
                    map_partitions(pieces, ReducePieces(SumPieces(lengths)), SPREAD_SHAPE)
                )
            )
            # Pieces in their order: sums of fractions then do not depend on which task was first.
            sums = sums.sort_by([("clique", "ascending"), ("piece", "ascending")])
            where = np.array(dense)[sums.column("clique").to_numpy()]
            np.add.at(spread, where, sums.column("spread").to_numpy())
            np.add.at(filled, where, sums.column("n").to_numpy())
        if sparse:
            functions = spark_functions()
            # How many cells have each count: whole numbers, so that these sums do not depend on partitions either.
            word = functions.when(functions.col("clique") == ROWS, functions.col("cell")).alias(
                "cell"
            )
            tallies = (
                self._cells([tables[q] for q in sparse])
                .groupBy("clique", "n", word)
                .agg(functions.count(functions.lit(1)).alias("cells"))
            )
            sums = self._checked_cells(collect_table(tallies)).sort_by(
                [("clique", "ascending"), ("n", "ascending")]
            )
            where, counts = (
                np.array(sparse)[sums.column("clique").to_numpy()],
                sums.column("n").to_numpy(),
            )
            cells = sums.column("cells").to_numpy()
            np.add.at(spread, where, cells * (counts * np.log(counts)))
            np.add.at(filled, where, cells)
        return np.maximum(np.log(max(self.n_rows, 1)) - spread / max(self.n_rows, 1), 0.0), filled

    def _tables(self, cliques: Sequence[Sequence[str]]) -> list[_Clique]:
        if self._state["closed"]:
            raise ClusterError(
                "This counter is closed, and its codes are removed: count inside the with block, or code the scan again."
            )
        sizes = self.schema.sizes
        return [
            _Clique(tuple(clique), tuple(sizes[j] for j in resolve(self.schema, clique)))
            for clique in cliques
        ]

    def _pieces(self, tables: Sequence[_Clique]) -> Any:
        """Return the frame of pieces of dense tables, all parts of a piece in one partition."""
        task = CountPieces(
            self.source,
            CodeColumns.from_schema(self.schema),
            tuple(table.columns for table in tables),
        )
        tasks = min(MAX_TASKS, ceil(sum(table.n_cells for table in tables) / CELLS_A_TASK) or 1)
        return map_partitions(self.frame, task, PIECE_SHAPE).repartition(tasks, "clique", "piece")

    def _dense(self, tables: Sequence[_Clique]) -> list[Marginal]:
        lengths = tuple(table.n_cells for table in tables)
        if self.n_tasks is not None and self.n_tasks * sum(lengths) <= MAX_PARTS:
            task = CountPieces(
                self.source,
                CodeColumns.from_schema(self.schema),
                tuple(table.columns for table in tables),
            )
            parts = collect_table(map_partitions(self.frame, task, PIECE_SHAPE))
            sums = self._checked(
                pa.Table.from_batches(SumPieces(lengths)(iter(parts.to_batches())))
            )
        else:
            sums = self._checked(
                collect_table(map_partitions(self._pieces(tables), SumPieces(lengths), PIECE_SHAPE))
            )
        counts = [np.zeros(length, dtype=np.int64) for length in lengths]
        for clique, piece, places, counts_of_piece in zip(
            *(sums.column(name) for name in ("clique", "piece", "places", "counts")), strict=True
        ):
            start = piece.as_py() * PIECE_CELLS
            indices, values = unpack_counts(places, counts_of_piece)
            cells = counts[clique.as_py()][start : start + PIECE_CELLS]
            if len(indices):
                cells[indices] = values
            else:
                cells[:] = values
        return [
            Marginal(table.columns, table.sizes, cells.reshape(table.sizes))
            for table, cells in zip(tables, counts, strict=True)
        ]

    def _cells(self, tables: Sequence[_Clique]) -> Any:
        """Return the frame of the distinct filled cells of large tables, with their counts."""
        task = CountCells(
            self.source,
            CodeColumns.from_schema(self.schema),
            tuple(table.columns for table in tables),
        )
        return added_cells(map_partitions(self.frame, task, CELL_SHAPE))

    def _sparse(self, tables: Sequence[_Clique]) -> list[Marginal]:
        answer = collect_table(self._cells(tables).limit(MAX_SPARSE_CELLS))
        if answer.num_rows >= MAX_SPARSE_CELLS:
            raise TooLargeError(
                f"Marginals have more than {MAX_SPARSE_CELLS:,} combinations that occur. Ask for fewer columns, or use fewer bins."
            )
        answer = self._checked_cells(answer)
        results = []
        for q, table in enumerate(tables):
            clique_cells = answer.filter(pc.equal(answer.column("clique"), q))
            keys, counts = (
                clique_cells.column("cell").to_pylist(),
                clique_cells.column("n").to_numpy(),
            )
            results.append(marginal_of_cells(table.columns, table.sizes, keys, counts))
        return results

    def _checked(self, answer: pa.Table) -> pa.Table:
        """Return the rows of an answer without those that hold row counts, which must equal the
        first pass's.
        """
        of_rows = pc.equal(answer.column("clique"), ROWS)
        seen = answer.filter(of_rows)
        self.rows.check(
            RowsSeen(sum(seen.column("n").to_pylist()), sum(seen.column("checksum").to_pylist()))
        )
        return answer.filter(pc.invert(of_rows))

    def _checked_cells(self, answer: pa.Table) -> pa.Table:
        """Return the cells of an answer without those that hold row counts, which must equal the
        first pass's.
        """
        of_rows = pc.equal(answer.column("clique"), ROWS)
        seen = answer.filter(of_rows)
        hashes = [
            int.from_bytes(word[:8], "big", signed=True) for word in seen.column("cell").to_pylist()
        ]
        self.rows.check(
            RowsSeen(
                sum(seen.column("n").to_pylist()), sum_hashes(np.array(hashes, dtype=np.int64))
            )
        )
        return answer.filter(pc.invert(of_rows))


def added_cells(cells: Any) -> Any:
    """Return the frame of distinct cells with their counts: Spark adds them up, and spills where
    they are many.

    A task for each core, where Spark would take 200 whatever there is. Tasks gave each cell once,
    so adding up before cells travel would save nothing.
    """
    functions = spark_functions()
    return (
        cells.repartition(parallelism(session_of(cells)), "clique", "cell")
        .groupBy("clique", "cell")
        .agg(functions.sum("n").alias("n"))
    )


@dataclass(frozen=True)
class _Clique:
    """A clique and the sizes of its columns."""

    columns: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def n_cells(self) -> int:
        return prod(self.sizes)
