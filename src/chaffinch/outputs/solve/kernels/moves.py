"""Moves that the search proposes: one or two records, one or two columns."""

from __future__ import annotations

import numpy as np

from .layout import CHANGE, COPY_TWO, NEAR, NEAR_SWAP, STEP, SWAP, njit
from .randoms import draw_below, draw_level, next_bits
from .records import cell_of


@njit
def draw_move(rng, kind, column, codes, sizes, cdf, cdf_first, free, order, places, rows, records, columns):  # type: ignore[no-untyped-def]
    """Fill `rows` (old 0, 1; new 2, 3), `records` and `columns`; return how many of each, 0 for a move that changes nothing."""
    n, width = codes.shape
    i = draw_below(rng, n)
    if kind in (CHANGE, STEP):
        old = codes[i, column]
        if kind == CHANGE:
            new = draw_level(rng, sizes[column], cdf, cdf_first[column])
        else:
            reach = 1
            while reach * 8 < sizes[column] and next_bits(rng) >> np.uint64(63):
                reach *= 2
            by = 1 + draw_below(rng, reach)
            new = old + by if next_bits(rng) >> np.uint64(63) else old - by
            if new < 0 or new >= sizes[column]:
                return 0, 0
        if new == old:
            return 0, 0
        for c in range(width):
            rows[0, c] = codes[i, c]
            rows[2, c] = codes[i, c]
        rows[2, column] = new
        records[0], columns[0] = i, column
        return 1, 1
    k = order[column, (places[column, i] + 1 + draw_below(rng, NEAR)) % n] if kind == NEAR_SWAP else draw_below(rng, n)
    if kind in (SWAP, NEAR_SWAP):
        if codes[i, column] == codes[k, column]:
            return 0, 0
        for c in range(width):
            rows[0, c] = codes[i, c]
            rows[2, c] = codes[i, c]
            rows[1, c] = codes[k, c]
            rows[3, c] = codes[k, c]
        rows[2, column], rows[3, column] = codes[k, column], codes[i, column]
        records[0], records[1], columns[0] = i, k, column
        return 2, 1
    other = column
    if kind == COPY_TWO:
        other = free[draw_below(rng, free.size)]
    m = 0
    for c in range(width):
        rows[0, c] = codes[i, c]
        rows[2, c] = codes[i, c]
    if codes[k, column] != codes[i, column]:
        rows[2, column] = codes[k, column]
        columns[m] = column
        m += 1
    if other != column and codes[k, other] != codes[i, other]:
        rows[2, other] = codes[k, other]
        columns[m] = other
        m += 1
    records[0] = i
    return (1, m) if m else (0, 0)


@njit
def draw_repair(rng, p, codes, movable, wrong, n_over, n_under, rows, records, columns):  # type: ignore[no-untyped-def]
    """As `draw_move`, towards a table: a record of a cell that has too many moves to one of the same table that has too few.

    `wrong` holds (table, cell) pairs as of the start of the block, too full ones first; stale ones make useless moves, not wrong ones.
    """
    n, width = codes.shape
    i = draw_below(rng, n)
    pick = draw_below(rng, n_over + n_under)
    t = wrong[pick, 0]
    first, last = p.ints[p.table + 3 * t], p.ints[p.table + 3 * t + 1]
    if pick < n_over:
        for _ in range(n):
            if cell_of(p, t, codes, i) == wrong[pick, 1]:
                break
            i += 1
            if i == n:
                i = 0
    goal = -1
    if n_under > 0:
        k = draw_below(rng, n_under)
        for _ in range(n_under):
            if wrong[n_over + k, 0] == t:
                goal = wrong[n_over + k, 1]
                break
            k += 1
            if k == n_under:
                k = 0
    for c in range(width):
        rows[0, c] = codes[i, c]
        rows[2, c] = codes[i, c]
    records[0] = i
    m = 0
    if first == last:
        return 0, 0
    if goal < 0:  # nowhere has too few: out of the cell, or out of the table, will do
        j = first + draw_below(rng, last - first)
        column = p.ints[p.table_columns + 4 * j]
        level = draw_below(rng, p.ints[p.table_columns + 4 * j + 2])
        if level == codes[i, column] or not movable[column]:
            return 0, 0
        rows[2, column] = level
        columns[0] = column
        return 1, 1
    rest = goal - p.ints[p.table + 3 * t + 2]
    for j in range(first, last):
        column, start = p.ints[p.table_columns + 4 * j], p.ints[p.table_columns + 4 * j + 1]
        size = p.ints[p.table_columns + 4 * j + 2]
        stride = p.ints[p.table_columns + 4 * j + 3]
        step = rest // stride * stride
        rest -= step
        if p.ints[start + codes[i, column]] == step:
            continue
        if not movable[column]:
            return 0, 0
        level = draw_below(rng, size)
        for _ in range(size):
            if p.ints[start + level] == step:
                break
            level += 1
            if level == size:
                level = 0
        rows[2, column] = level
        columns[m] = column
        m += 1
    return (1, m) if m else (0, 0)
