"""Moves that the search proposes, one or two records in one or two columns; and the random numbers that they are drawn by."""

from __future__ import annotations

import numpy as np

from ...._base.compiled import compiled
from .records import CHANGE, COPY_TWO, NEAR, NEAR_SWAP, STEP, SWAP, cell_of


@compiled
def next_bits(rng):  # type: ignore[no-untyped-def]
    """64 random bits: xoroshiro128+ (Blackman and Vigna 2018); its lowest bits, the weak ones, are not used."""
    one, two = rng[0], rng[1]
    result = one + two
    two ^= one
    rng[0] = ((one << np.uint64(24)) | (one >> np.uint64(40))) ^ two ^ (two << np.uint64(16))
    rng[1] = (two << np.uint64(37)) | (two >> np.uint64(27))
    return result


@compiled
def draw_below(rng, n):  # type: ignore[no-untyped-def]
    """A whole number from 0 to n - 1, n < 2^31."""
    return np.int64(((next_bits(rng) >> np.uint64(33)) * np.uint64(n)) >> np.uint64(31))


@compiled
def draw_uniform(rng):  # type: ignore[no-untyped-def]
    return np.float64(next_bits(rng) >> np.uint64(11)) * 1.1102230246251565e-16


@compiled
def draw_level(rng, size, cdf, first):  # type: ignore[no-untyped-def]
    """A level of a column: uniform where `first` is -1, else by the cumulative chances from `cdf[first]` on."""
    if first < 0:
        return draw_below(rng, size)
    u = draw_uniform(rng)
    low, high = 0, size - 1
    while low < high:
        middle = (low + high) // 2
        if cdf[first + middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def draw_arm(rng, chances):  # type: ignore[no-untyped-def]
    """An arm by the cumulative chances, the last of which is beyond any draw."""
    u = draw_uniform(rng)
    arm = 0
    while chances[arm] <= u:
        arm += 1
    return arm


@compiled
def copy_record(codes, i, rows, r):  # type: ignore[no-untyped-def]
    """Write a record into rows r (before) and r + 2 (after)."""
    for c in range(codes.shape[1]):
        rows[r, c] = codes[i, c]
        rows[r + 2, c] = codes[i, c]


@compiled
def draw_move(arms, arm, codes, proposal):  # type: ignore[no-untyped-def]
    """Fill a proposal; return how many records and columns it has, 0 for a move that changes nothing."""
    rng, kind, column, sizes = arms.bits, arms.kinds[arm], arms.columns[arm], arms.sizes
    rows, records, columns = proposal
    n = codes.shape[0]
    i = draw_below(rng, n)
    if kind in (CHANGE, STEP):
        old = codes[i, column]
        if kind == CHANGE:
            new = draw_level(rng, sizes[column], arms.cdf, arms.cdf_first[column])
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
        copy_record(codes, i, rows, 0)
        rows[2, column] = new
        records[0], columns[0] = i, column
        return 1, 1
    if kind == NEAR_SWAP:
        k = arms.order[column, (arms.places[column, i] + 1 + draw_below(rng, NEAR)) % n]
    else:
        k = draw_below(rng, n)
    if kind in (SWAP, NEAR_SWAP):
        if codes[i, column] == codes[k, column]:
            return 0, 0
        copy_record(codes, i, rows, 0)
        copy_record(codes, k, rows, 1)
        rows[2, column], rows[3, column] = codes[k, column], codes[i, column]
        records[0], records[1], columns[0] = i, k, column
        return 2, 1
    other = column
    if kind == COPY_TWO:
        other = arms.free[draw_below(rng, arms.free.size)]
    m = 0
    copy_record(codes, i, rows, 0)
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


@compiled
def draw_repair(p, arms, codes, wrong, proposal):  # type: ignore[no-untyped-def]
    """As `draw_move`, towards a table: a record of a cell that has too many moves to one of the same table that has too few.

    Which cells are wrong is as of the start of the block; stale ones make useless moves, not wrong ones.
    """
    rng, movable = arms.bits, arms.movable
    rows, records, columns = proposal
    pairs, n_over, n_under = wrong
    n = codes.shape[0]
    i = draw_below(rng, n)
    pick = draw_below(rng, n_over + n_under)
    t = pairs[pick, 0]
    first, last = p.ints[p.table + 3 * t], p.ints[p.table + 3 * t + 1]
    if pick < n_over:
        for _ in range(n):
            if cell_of(p, t, codes, i) == pairs[pick, 1]:
                break
            i += 1
            if i == n:
                i = 0
    goal = -1
    if n_under > 0:
        k = draw_below(rng, n_under)
        for _ in range(n_under):
            if pairs[n_over + k, 0] == t:
                goal = pairs[n_over + k, 1]
                break
            k += 1
            if k == n_under:
                k = 0
    copy_record(codes, i, rows, 0)
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
