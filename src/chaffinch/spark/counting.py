"""Counting blocks of codes on workers: tables of a partition in pieces, summed by piece, and
returned as counts or reduced to entropies.

Counts are whole numbers, so no order of adding changes them. A piece is a run of cells of one
table; workers that add up get whole pieces, so what goes to the driver is each sum once, or for
entropies two numbers a piece. Tables of more than 2^22 cells go as rows (table, cell, count)
through Spark's own group-by, which spills to disk.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..counts.entropies import batches as runs_of
from ..counts.marginal import Marginal, SparseCounts
from ..counts.tally import CliqueTally
from .blocks import BlockSource, CodeColumns, codes_of, sum_hashes

PIECE_CELLS = 1 << 16
"""Cells of a piece: at most 512 KiB of counts."""

BATCH_BYTES = 1 << 22
"""Bytes of pieces that travel in one batch, about."""

ROWS = -1
"""The number in place of a table's that stands for rows: how many were counted, and the sum of
their hashes.
"""

PIECE_SHAPE = "clique int, piece int, n long, checksum long, places binary, counts binary"
SPREAD_SHAPE = "clique int, piece int, n long, checksum long, spread double"
CELL_SHAPE = "clique int, cell binary, n long"

Cliques = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class CountPieces:
    """The task that counts dense tables of its partition, and returns their non-empty pieces."""

    source: BlockSource
    columns: CodeColumns
    cliques: Cliques

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from gather_batches(self.pieces(batches))

    def pieces(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the row count and the pieces of this partition."""
        schema = self.columns.schema
        sizes = dict(zip(schema.names, schema.sizes, strict=True))
        # Tables of many sets do not fit into memory together; codes of a partition do, a byte or so for each cell.
        blocks = list(codes_of(self.source.read(batches), schema.sizes))
        yield _piece(
            ROWS,
            0,
            n=sum(codes.n_rows for codes, _ in blocks),
            check=sum_hashes(np.array([check for _, check in blocks], dtype=np.int64)),
        )
        n_rows = sum(codes.n_rows for codes, _ in blocks)
        for run in (
            runs_of([prod(sizes[name] for name in clique) for clique in self.cliques])
            if blocks
            else ()
        ):
            tally = CliqueTally(
                schema,
                [self.cliques[q] for q in run],
                dense_cells=1 << 62,
                threads=1,
                n_rows=n_rows,
            )
            for codes, _ in blocks:
                tally.add(codes)
            for q, marginal in zip(run, tally.marginals(), strict=True):
                cells = marginal.counts.reshape(-1)
                for piece, start in enumerate(range(0, len(cells), PIECE_CELLS)):
                    piece_cells = cells[start : start + PIECE_CELLS]
                    if piece_cells.any():
                        yield _piece(q, piece, piece_cells)


def gather_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in few batches of some megabytes: each batch sent to Spark costs as much
    as counting thousands of rows.
    """
    waiting, n_bytes = [], 0
    for batch in batches:
        waiting.append(batch)
        n_bytes += batch.nbytes
        if n_bytes >= BATCH_BYTES:
            yield pa.concat_batches(waiting)
            waiting, n_bytes = [], 0
    if waiting:
        yield pa.concat_batches(waiting)


def _piece(
    clique: int, piece: int, cells: NDArray[np.int64] | None = None, *, n: int = 0, check: int = 0
) -> pa.RecordBatch:
    places, counts = (b"", b"") if cells is None else pack_counts(cells)
    arrays = [
        pa.array([clique], pa.int32()),
        pa.array([piece], pa.int32()),
        pa.array([n], pa.int64()),
        pa.array([check], pa.int64()),
        pa.array([places], pa.binary()),
        pa.array([counts], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(
        arrays, ["clique", "piece", "n", "checksum", "places", "counts"]
    )


def pack_counts(cells: NDArray[np.int64]) -> tuple[bytes, bytes]:
    """Return the indices and counts of non-zero cells, or no indices and all counts where that is
    shorter.

    Counts are of 4 bytes where they fit, and a first byte says so.
    """
    kind = np.dtype(np.uint32 if cells.max(initial=0) < 1 << 32 else np.int64)
    places = np.flatnonzero(cells)
    if not len(places) or len(places) * (2 + kind.itemsize) >= len(cells) * kind.itemsize:
        return b"", bytes([kind.itemsize]) + cells.astype(kind).tobytes()
    return places.astype(np.uint16).tobytes(), bytes([kind.itemsize]) + cells[places].astype(
        kind
    ).tobytes()


def unpack_counts(places: pa.Scalar, counts: pa.Scalar) -> tuple[NDArray[np.uint16], NDArray[Any]]:
    """Return the indices (none: all) and counts that `packed` wrote."""
    buffer = counts.as_buffer()
    if not buffer.size:
        return np.empty(0, dtype=np.uint16), np.empty(0, dtype=np.int64)
    kind = np.uint32 if memoryview(buffer)[0] == np.dtype(np.uint32).itemsize else np.int64
    return np.frombuffer(places.as_buffer(), dtype=np.uint16), np.frombuffer(
        buffer, dtype=kind, offset=1
    )


@dataclass(frozen=True)
class SumPieces:
    """The task that sums the pieces of all partitions, after all parts of a piece were brought to
    one partition. `lengths`: the cells of each table.
    """

    lengths: tuple[int, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from gather_batches(
            _piece(*key, cells, n=n, check=check) for key, (n, check, cells) in self.sums(batches)
        )

    def sums(
        self, batches: Iterator[pa.RecordBatch]
    ) -> Iterator[tuple[tuple[int, int], tuple[int, int, NDArray[np.int64]]]]:
        """Return each piece of this partition: its table and number, and rows, hashes and cells."""
        rows: dict[tuple[int, int], tuple[int, int]] = {}
        cells: dict[tuple[int, int], NDArray[np.int64]] = {}
        for batch in batches:
            for clique, piece, n, check, places, counts in zip(*batch.columns, strict=True):
                key = (clique.as_py(), piece.as_py())
                if key[0] == ROWS:
                    before = rows.get(key, (0, 0))
                    rows[key] = (
                        before[0] + n.as_py(),
                        sum_hashes(np.array([before[1], check.as_py()])),
                    )
                    continue
                if key not in cells:
                    cells[key] = np.zeros(
                        min(PIECE_CELLS, self.lengths[key[0]] - key[1] * PIECE_CELLS),
                        dtype=np.int64,
                    )
                indices, values = unpack_counts(places, counts)
                if len(indices):
                    cells[key][indices] += values
                else:
                    cells[key] += values
        nothing: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        yield from ((key, (*both, nothing)) for key, both in rows.items())
        yield from ((key, (0, 0, total)) for key, total in cells.items())


@dataclass(frozen=True)
class ReducePieces:
    """The task that sums pieces and reduces each to the sum of c log c over its cells (`spread`)
    and how many are filled (`n`).
    """

    pieces: SumPieces

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from gather_batches(self.reduced(batches))

    def reduced(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the sums of this partition's pieces."""
        for (clique, piece), (n, check, cells) in self.pieces.sums(batches):
            full = cells[cells > 0].astype(np.float64)
            arrays = [
                pa.array([clique], pa.int32()),
                pa.array([piece], pa.int32()),
                pa.array([n if clique == ROWS else len(full)], pa.int64()),
                pa.array([check], pa.int64()),
                pa.array([float((full * np.log(full)).sum())], pa.float64()),
            ]
            yield pa.RecordBatch.from_arrays(arrays, ["clique", "piece", "n", "checksum", "spread"])


@dataclass(frozen=True)
class CountCells:
    """The task that counts tables too large for an array, and returns a row for each cell that
    occurs in its partition.
    """

    source: BlockSource
    columns: CodeColumns
    cliques: Cliques

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = self.columns.schema
        positions = [[schema.names.index(name) for name in clique] for clique in self.cliques]
        tallies = [SparseCounts([schema.sizes[j] for j in places]) for places in positions]
        n_rows = 0
        checks = np.zeros(1, dtype=np.int64)
        for codes, check in codes_of(self.source.read(batches), schema.sizes):
            for places, tally in zip(positions, tallies, strict=True):
                tally.add([codes[j] for j in places])
            n_rows += codes.n_rows
            checks[0] = sum_hashes(np.array([checks[0], check]))
        # In place of a cell: the sum of hashes, and a word of this task's own, so that no group-by joins it with another's.
        yield cell_batch(
            ROWS,
            [int(checks[0]).to_bytes(8, "big", signed=True) + secrets.token_bytes(8)],
            np.array([n_rows]),
        )
        for q, tally in enumerate(tallies):
            keys = cell_keys(tally)
            for start in range(0, len(keys), PIECE_CELLS):
                yield cell_batch(
                    q,
                    keys[start : start + PIECE_CELLS].tolist(),
                    tally.counts[start : start + PIECE_CELLS],
                )


def cell_batch(clique: int, keys: Sequence[bytes], counts: NDArray[Any]) -> pa.RecordBatch:
    """Return cells of a table as an Arrow batch."""
    arrays = [
        pa.array([clique] * len(keys), pa.int32()),
        pa.array(keys, pa.binary()),
        pa.array(counts, pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(arrays, ["clique", "cell", "n"])


def cell_keys(tally: SparseCounts) -> NDArray[np.bytes_]:
    """Return the cells of a tally as bytes that sort in the order of cells."""
    width = 8 * len(tally.keys)
    stacked = np.stack(tally.keys, axis=1).astype(
        ">i8"
    )  # after stacking, which gives bytes the order of the machine
    return (
        np.frombuffer(stacked.tobytes(), dtype=f"V{width}")
        if len(stacked)
        else np.empty(0, dtype=f"V{width}")
    )


def marginal_of_cells(
    columns: tuple[str, ...],
    sizes: tuple[int, ...],
    keys: Sequence[bytes],
    counts: NDArray[np.int64],
) -> Marginal:
    """Return the sparse marginal of cells given by their keys."""
    tally = SparseCounts(sizes)
    spans = len(tally.keys)
    table = np.frombuffer(b"".join(keys), dtype=">i8").astype(np.int64).reshape(-1, spans)
    order = np.lexsort([table[:, k] for k in reversed(range(spans))])
    tally.keys, tally.counts = (
        [table[order, k] for k in range(spans)],
        np.asarray(counts, dtype=np.int64)[order],
    )
    return tally.marginal(columns)
