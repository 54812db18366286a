"""Joint entropies of many sets of columns from the codes of all rows, which are in memory: one set after the other.

Where rows are few this is the quickest way, since nothing is held but the numbers of the rows' combinations. Of a file that is read in batches only the columns are
in memory whose sets are being counted (`column_entropies`): a table with many columns and few rows takes few passes so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from .._base.runtime import thread_count, thread_map
from ..table.codes import Codes, narrowest
from .counter import Columns
from .scores import count_log_count

FEW_ROWS = 1 << 18
"""Rows up to which counting set after set from all rows is quicker than batch by batch: near memory holds the numbers of all rows."""

SCRATCH_CELLS = 1 << 26
"""Cells of scratch at most; sets that need more are left to be counted otherwise."""

HELD_BYTES = 1 << 26
"""Bytes of the columns of a file that are in memory at a time."""

PIECE_VISITS = 1 << 28
"""Rows times sets that a compiled function works on before anything else can happen: some tenths of a second, for which Ctrl-C waits."""


def padded(sets: Sequence[Columns]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sets as rows of one array, filled up with -1, and their widths."""
    widths = np.fromiter(map(len, sets), dtype=np.int64, count=len(sets))
    out = np.full((len(sets), max(1, int(widths.max(initial=0)))), -1, dtype=np.int64)
    out[np.arange(out.shape[1]) < widths[:, None]] = np.fromiter(
        (c for columns in sets for c in columns), dtype=np.int64, count=int(widths.sum())
    )
    return out, widths


def scratch(sizes: Sequence[int], n_rows: int, width: int) -> int:
    """Return how many cells of scratch a set of `width` columns may need, if its beginning is numbered densely."""
    return int(min(SCRATCH_CELLS, n_rows * max(sizes, default=1), prod(sorted(sizes)[-width:])))


def in_threads(
    work: Callable[[slice], None], n_sets: int, *, n_rows: int, visits: int, threads: int | None
) -> None:
    """Do the work for all sets, in runs of them that take tenths of a second at most, on several threads where that pays."""
    workers = 1 if n_rows * visits < 2_000_000 else thread_count(threads)
    pieces = max(4 * workers if workers > 1 else 1, -(-n_rows * visits // PIECE_VISITS))
    edges = np.linspace(0, n_sets, min(pieces, n_sets) + 1).astype(int)
    thread_map(work, [slice(int(a), int(b)) for a, b in pairwise(edges) if b > a], threads=workers)


def row_entropies(
    codes: Codes,
    sets: Sequence[Columns],
    rows: NDArray[np.int64],
    widths: NDArray[np.int64],
    *,
    threads: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the entropy and the number of filled cells of each set (sorted, none empty), given also as `padded`; -1 cells where that needs too much scratch."""
    from . import kernels

    n_rows, width = codes.n_rows, rows.shape[1]
    c_log_c = count_log_count(np.arange(n_rows + 2), n_rows)
    spread, filled = np.zeros(len(sets), dtype=np.complex128), np.zeros(len(sets), dtype=np.int64)
    where = (codes.groups, codes.rows, np.array(codes.sizes, dtype=np.int64), *codes.matrices)
    most = scratch(codes.sizes, n_rows, width)

    def work(part: slice) -> None:
        ids, cells = np.zeros((width, n_rows), dtype=np.uint32), np.zeros(most, dtype=np.uint32)
        kernels.entropies(
            rows[part], widths[part], *where, ids, cells, c_log_c, spread[part], filled[part]
        )

    in_threads(work, len(sets), n_rows=n_rows, visits=len(sets), threads=threads)
    return np.maximum(np.log(n_rows) - (spread.real + spread.imag) / n_rows, 0.0), filled


def column_entropies(
    batches: Callable[[], Iterable[Codes]],
    sizes: tuple[int, ...],
    sets: list[Columns],
    n_rows: int,
    *,
    threads: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return what `row_entropies` does, of rows that come in batches; `batches` gives all of them once for each run of columns that fits into memory."""
    values, filled = np.zeros(len(sets)), np.zeros(len(sets), dtype=np.int64)
    for run, columns in _runs(sets, sizes, n_rows):
        number = {column: place for place, column in enumerate(columns)}
        renamed = [tuple(number[column] for column in sets[q]) for q in run]
        held = _held(batches(), columns, sizes, n_rows)
        values[run.start : run.stop], filled[run.start : run.stop] = row_entropies(
            held, renamed, *padded(renamed), threads=threads
        )
    return values, filled


def _runs(
    sets: Sequence[Columns], sizes: tuple[int, ...], n_rows: int
) -> Iterator[tuple[range, list[int]]]:
    """Yield runs of sets with the columns that they have between them, ascending, as many as may be held at a time."""
    bytes_of = [np.dtype(narrowest(size)).itemsize * n_rows for size in sizes]
    first, columns, held = 0, set[int](), 0
    for q, some in enumerate(sets):
        new = [column for column in some if column not in columns]
        more = sum(bytes_of[column] for column in new)
        if columns and held + more > HELD_BYTES:
            yield range(first, q), sorted(columns)
            first, columns, held = q, set(some), sum(bytes_of[column] for column in some)
        else:
            columns.update(new)
            held += more
    if sets:
        yield range(first, len(sets)), sorted(columns)


def _held(
    batches: Iterable[Codes], columns: Sequence[int], sizes: tuple[int, ...], n_rows: int
) -> Codes:
    """Return the codes of some columns of all rows."""
    return Codes.gathered(
        (codes.columns(columns) for codes in batches), [sizes[column] for column in columns], n_rows
    )
