"""A tally of many cliques, counted together batch by batch. Engines differ only in where the
batches come from.

Its kernels work on a block of rows at a time: the cell number of each row is folded from one column
after the other in a small buffer (`key = key * size + code`, which compilers turn into vector
instructions), then the counts are bumped. A 4-way table of 300,000 rows costs about half of what
the loop that does both at once costs (benchmarks/counting.py), and one compiled function serves
every width and every mix of code types.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.checks import check_name
from .._base.compiled import jit
from .._base.errors import InputError, TooLargeError
from .._base.runtime import thread_count, thread_map
from ..table.codes import Codes
from ..table.schema import Schema
from .marginal import Marginal, SparseCounts
from .plan import cover, project

DENSE_CELLS = 1 << 22
"""Marginals with more cells than this are counted sparsely."""

MAX_DENSE_CELLS = 1 << 28
"""Cells that one call may hold in dense arrays, all cliques together: 2 GiB."""

FEW_ROWS = 20_000
"""Rows up to which codes without a schema are counted without compiled kernels, which take a second
to load.
"""

THREADED_FROM = 4_000_000
"""Row visits (rows times cliques) from which threads are worth starting."""

ROOM = (1 << 32) - 1
"""Rows that can be counted before a cell of 32 bits might be full."""

NEAR_CELLS, STRETCH = 1 << 15, 1 << 17
"""Cells of all tables together up to which they stay in near memory while cliques take turns after
each block of rows; and the rows after which they take turns otherwise.
"""

BLOCK = 4096


class CliqueTally:
    """Counts of several cliques, to which batches of codes are added.

    `n_rows`: about how many rows there will be. Where they are many, fewer and wider tables are
    counted, and the cliques summed from them.
    """

    def __init__(
        self,
        schema: Schema,
        cliques: Sequence[Sequence[str]],
        *,
        weighted: bool = False,
        dense_cells: int = DENSE_CELLS,
        threads: int | None = None,
        n_rows: int = 0,
    ) -> None:
        self.names = [tuple(clique) for clique in cliques]
        self.positions = [resolve(schema, clique) for clique in cliques]
        self.schema_sizes = schema.sizes
        self.sizes = [tuple(self.schema_sizes[j] for j in clique) for clique in self.positions]
        self.threads = thread_count(threads)
        self.dense = [q for q, sizes in enumerate(self.sizes) if prod(sizes) <= max(dense_cells, 1)]
        # Sums of weights would hang on which of them are added first.
        self.plan = cover(
            [self.positions[q] for q in self.dense],
            self.schema_sizes,
            n_rows=0 if weighted else n_rows,
        )
        counted = self.plan.counted
        total = sum(prod(self.schema_sizes[j] for j in columns) for columns in counted)
        if total > MAX_DENSE_CELLS:
            raise TooLargeError(
                f"{len(counted):,} marginals with {total:,} cells together are over the limit of {MAX_DENSE_CELLS:,}. "
                "Ask for fewer at a time, or use fewer bins."
            )
        chosen = set(self.dense)
        self.sparse = {
            q: SparseCounts(self.sizes[q], weighted=weighted)
            for q in range(len(cliques))
            if q not in chosen
        }
        n_jobs = min(self.threads, len(counted)) or 1
        self.shares = [range(i, len(counted), n_jobs) for i in range(n_jobs)] if counted else []
        self.jobs = [
            _DenseJob([list(counted[k]) for k in share], self.schema_sizes, weighted=weighted)
            for share in self.shares
        ]

    def add(self, codes: Codes, weights: NDArray[np.float64] | None = None) -> None:
        """Add a batch of rows, with a weight for each row if the tally is weighted."""
        if not codes.n_rows:
            return
        for q, tally in self.sparse.items():
            tally.add([codes[j] for j in self.positions[q]], weights)
        # Starting threads costs about as much as counting a million rows once: small work is done in place.
        small = codes.n_rows * len(self.names) < THREADED_FROM
        thread_map(
            lambda job: job.add(codes, weights), self.jobs, threads=1 if small else self.threads
        )

    def marginals(self) -> list[Marginal]:
        """Return the marginals in the order in which the cliques were given."""
        tables: dict[int, NDArray[Any]] = {}
        for share, job in zip(self.shares, self.jobs, strict=True):
            cells = job.out
            for i, k in enumerate(share):
                shape = [self.schema_sizes[j] for j in self.plan.counted[k]]
                tables[k] = cells[job.offsets[i] : job.offsets[i + 1]].reshape(shape)
        results: dict[int, Marginal] = {}
        for q, k in zip(self.dense, self.plan.sources, strict=True):
            counts = project(tables[k], self.plan.counted[k], self.positions[q])
            results[q] = Marginal(self.names[q], self.sizes[q], counts)
        for q, tally in self.sparse.items():
            results[q] = tally.marginal(self.names[q])
        return [results[q] for q in range(len(self.names))]


def resolve(schema: Schema, clique: Sequence[str]) -> list[int]:
    """Return the positions of a clique's columns among the modelled ones; raise for unknown or
    repeated names.
    """
    if isinstance(clique, str):
        raise InputError(
            f"A clique is a list of column names. Got the text '{clique}': write ('{clique}',)."
        )
    places = schema.places
    for name in clique:
        check_name("column", name, places)
    if len(set(clique)) != len(clique):
        raise InputError(f"A clique names each column once. Got {', '.join(clique)}.")
    return [places[name] for name in clique]


def count_cells(
    columns: Sequence[NDArray[np.integer]],
    sizes: Sequence[int],
    *,
    n_rows: int = 0,
    weights: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Return how many records have each combination of codes, an axis for each column; `n_rows` is
    needed without columns. With `weights` a row stands for so many records.

    For codes without a schema, such as groups of levels; a record with a code below 0 is in no
    cell.

    Examples
    --------
    >>> count_cells([np.array([0, 1, 1, -1]), np.array([0, 2, 2, 0])], [2, 3]).tolist()
    [[1, 0, 0], [0, 0, 2]]
    """
    outside = [column < 0 for column in columns]
    if any(is_outside.any() for is_outside in outside):
        inside = ~np.logical_or.reduce(outside)
        columns = [column[inside] for column in columns]
        weights = None if weights is None else weights[inside]
    codes = Codes.from_columns(columns, sizes, n_rows=n_rows)
    if 0 < codes.n_rows <= FEW_ROWS:
        cell = np.zeros(codes.n_rows, dtype=np.int64)
        for j, size in enumerate(sizes):
            cell = cell * size + codes[j]
        counts = np.bincount(cell, weights=weights, minlength=prod(sizes))
        return counts.astype(np.int64, copy=False).reshape(sizes)
    job = _DenseJob([list(range(len(sizes)))], tuple(sizes), weighted=weights is not None)
    job.add(codes, None if weights is None else weights.astype(float))
    return job.out.astype(np.int64, copy=False).reshape(sizes)


class _DenseJob:
    """Cliques whose cells lie one after the other in one array: the work of one thread."""

    def __init__(self, cliques: list[list[int]], sizes: tuple[int, ...], *, weighted: bool) -> None:
        cells = [prod(sizes[j] for j in clique) for clique in cliques]
        self.offsets = np.concatenate([[0], np.cumsum(cells)]).astype(np.int64)
        self.ends = np.concatenate([[0], np.cumsum([len(clique) for clique in cliques])]).astype(
            np.int64
        )
        self.columns = np.array([j for clique in cliques for j in clique], dtype=np.int64)
        self.sizes = np.array([sizes[j] for j in self.columns], dtype=np.int64)
        self._sums: NDArray[Any] | None = None
        # Half as wide as the sums that are handed out: more of it stays in near memory.
        self._cells: NDArray[Any] = np.zeros(
            int(self.offsets[-1]), dtype=np.float64 if weighted else np.uint32
        )
        self._room = ROOM

    def add(self, codes: Codes, weights: NDArray[np.float64] | None) -> None:

        if weights is not None:
            weigh(self._cells, self.offsets[:-1], self.ends, *self._where(codes), weights)
            return
        stretch = BLOCK if len(self._cells) <= NEAR_CELLS else STRETCH
        for start in range(0, codes.n_rows, ROOM):
            piece = codes.between(start, start + ROOM)
            if piece.n_rows > self._room:
                self._sums, self._cells, self._room = self.out, np.zeros_like(self._cells), ROOM
            self._room -= piece.n_rows
            count(self._cells, self.offsets[:-1], self.ends, *self._where(piece), stretch)

    def _where(self, codes: Codes) -> tuple[Any, ...]:
        """Return the positions of the columns of all cliques, in the form of the kernels."""
        return (
            codes.groups[self.columns],
            codes.rows[self.columns],
            self.sizes,
            *codes.matrices,
            codes.n_rows,
        )

    @property
    def out(self) -> NDArray[Any]:
        """The counts, or sums of weights, of all cells."""
        if self._cells.dtype == np.float64:
            return self._cells
        return self._cells.astype(np.int64) if self._sums is None else self._sums + self._cells


@jit
def count(out, offsets, ends, groups, rows, sizes, c8, c16, c32, n_rows, stretch):  # type: ignore[no-untyped-def]
    """Add to `out` the counts of several cliques in one pass over the rows.

    Clique q owns the cells from `offsets[q]` on and the columns `ends[q]` to `ends[q + 1]` of the
    list (`groups`, `rows`, `sizes`). All of its cell numbers must fit in 32 bits. One clique after
    the other counts a stretch of rows: few where all tables lie in the processor's near memory
    together, many where one does at a time.
    """
    buffer = np.empty(BLOCK, dtype=np.uint32)
    for first in range(0, n_rows, stretch):
        last = min(first + stretch, n_rows)
        for q in range(offsets.size):
            cells = out[offsets[q] :]
            for start in range(first, last, BLOCK):
                stop = min(start + BLOCK, last)
                key = buffer[: stop - start]
                _keys(key, ends[q], ends[q + 1], groups, rows, sizes, c8, c16, c32, start, stop)
                for i in range(key.size):
                    cells[key[i]] += 1


@jit
def weigh(out, offsets, ends, groups, rows, sizes, c8, c16, c32, n_rows, weights):  # type: ignore[no-untyped-def]
    """Add to `out` the summed weights of several cliques: `count` with a weight for each row, in
    row order.
    """
    buffer = np.empty(BLOCK, dtype=np.uint32)
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        key = buffer[: stop - start]
        for q in range(offsets.size):
            _keys(key, ends[q], ends[q + 1], groups, rows, sizes, c8, c16, c32, start, stop)
            cells = out[offsets[q] :]
            for i in range(key.size):
                cells[key[i]] += weights[start + i]


@jit
def _keys(key, first, last, groups, rows, sizes, c8, c16, c32, start, stop):  # type: ignore[no-untyped-def]
    """Fill `key` with the cell numbers of rows start to stop for the columns first to last of the
    list.
    """
    if first == last:
        key[:] = 0
    for c in range(first, last):
        row, size = rows[c], np.uint32(sizes[c])
        if c == first:
            if groups[c] == 0:
                _start(key, c8[row, start:stop])
            elif groups[c] == 1:
                _start(key, c16[row, start:stop])
            else:
                _start(key, c32[row, start:stop])
        elif groups[c] == 0:
            _fold(key, c8[row, start:stop], size)
        elif groups[c] == 1:
            _fold(key, c16[row, start:stop], size)
        else:
            _fold(key, c32[row, start:stop], size)


@jit
def _start(key, codes):  # type: ignore[no-untyped-def]
    for i in range(key.size):
        key[i] = codes[i]


@jit
def _fold(key, codes, size):  # type: ignore[no-untyped-def]
    for i in range(key.size):
        key[i] = key[i] * size + codes[i]
