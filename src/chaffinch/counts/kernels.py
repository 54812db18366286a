"""The compiled counting kernels: the only ones in the package.

A block of rows at a time: the cell number of each row is folded from one column after the other in a
small buffer (`key = key * size + code`, which compilers turn into vector instructions), then the counts
are bumped. Measured on 300,000 rows, a 4-way table costs 0.6 ns a row this way against 1.5 ns for the
loop that does both at once, and one compiled function serves every width and every mix of code types.
"""

from __future__ import annotations

import numba
import numpy as np

__all__ = ["count", "weigh"]

BLOCK = 4096


@numba.njit(nogil=True, cache=True)
def _start(key, codes):  # type: ignore[no-untyped-def]
    for i in range(key.size):
        key[i] = codes[i]


@numba.njit(nogil=True, cache=True)
def _fold(key, codes, size):  # type: ignore[no-untyped-def]
    for i in range(key.size):
        key[i] = key[i] * size + codes[i]


@numba.njit(nogil=True, cache=True)
def _keys(key, first, last, groups, rows, sizes, c8, c16, c32, start, stop):  # type: ignore[no-untyped-def]
    """Fill `key` with the cell numbers of rows start to stop for the columns first to last of the list."""
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


@numba.njit(nogil=True, cache=True)
def count(out, offsets, ends, groups, rows, sizes, c8, c16, c32, n_rows):  # type: ignore[no-untyped-def]
    """Add to `out` the counts of several cliques in one pass over the rows.

    Clique q owns the cells from `offsets[q]` on and the columns `ends[q]` to `ends[q + 1]` of the list
    (`groups`, `rows`, `sizes`). All of its cell numbers must fit in 32 bits.
    """
    buffer = np.empty(BLOCK, dtype=np.uint32)
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        key = buffer[: stop - start]
        for q in range(offsets.size):
            _keys(key, ends[q], ends[q + 1], groups, rows, sizes, c8, c16, c32, start, stop)
            cells = out[offsets[q] :]
            for i in range(key.size):
                cells[key[i]] += 1


@numba.njit(nogil=True, cache=True)
def weigh(out, offsets, ends, groups, rows, sizes, c8, c16, c32, n_rows, weights):  # type: ignore[no-untyped-def]
    """Add to `out` the summed weights of several cliques: `count` with a weight for each row, in row order."""
    buffer = np.empty(BLOCK, dtype=np.uint32)
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        key = buffer[: stop - start]
        for q in range(offsets.size):
            _keys(key, ends[q], ends[q + 1], groups, rows, sizes, c8, c16, c32, start, stop)
            cells = out[offsets[q] :]
            for i in range(key.size):
                cells[key[i]] += weights[start + i]
